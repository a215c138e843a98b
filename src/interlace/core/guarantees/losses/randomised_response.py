"""The privacy loss of randomised response with any number of categories."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

from interlace.core.exact import Real, natural, rational
from interlace.core.guarantees.base import Relation, read_relation
from interlace.core.guarantees.enclosures import fitting, minus_log_one_minus, one_minus_exp
from interlace.core.guarantees.losses.atoms import Atoms, Direction, read_most
from interlace.core.guarantees.losses.base import PrivacyLoss
from interlace.core.guarantees.losses.moments import NEAREST_ORDER, capped_by_pure, moved
from interlace.core.interval import ONE, ZERO, Interval


@final
@dataclass(frozen=True, init=False, repr=False)
class RandomisedResponse(PrivacyLoss):
    """Tells the true one of ``categories`` with probability e^epsilon/(e^epsilon + categories
    - 1), each other one with 1/(e^epsilon + categories - 1).

    The loss is epsilon, 0 or -epsilon; with two categories it is that of every epsilon-DP
    mechanism (FORMULAS 7.3, 7.4). A group of k has at most k epsilon, and is given the loss of
    two categories at it. ``epsilon0`` is the exact parameter.

    Raises ParameterError for a negative, infinite or NaN ``epsilon`` and for fewer than 2
    categories.

    >>> RandomisedResponse(1).delta(0), RandomisedResponse(1, categories=4).delta(0)
    (0.4621171572600098, 0.30048918189156226)
    """

    epsilon0: Fraction
    categories: int
    relation: Relation

    def __init__(
        self, epsilon: Real, categories: int = 2, *, relation: Relation = Relation.ADD_REMOVE
    ) -> None:
        object.__setattr__(self, "epsilon0", rational(epsilon, "epsilon"))
        object.__setattr__(self, "categories", natural(categories, "categories", minimum=2))
        object.__setattr__(self, "relation", read_relation(relation))

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def response(self) -> Fraction | None:
        return self.epsilon0 if self.categories == 2 else None

    @property
    def _true(self) -> Interval:
        """The probability of the true category."""
        others = Interval.of(self.categories - 1)
        return ONE / (ONE + others * Interval.of(-self.epsilon0).exp())

    def profile(self, direction: Direction, epsilon: Fraction) -> Interval:
        del direction
        if epsilon >= self.epsilon0:
            return ZERO
        return self._true * one_minus_exp(Interval.of(self.epsilon0 - epsilon))

    def inverse(self, direction: Direction, delta: Fraction) -> Interval:
        del direction
        full, lost = Interval.of(self.epsilon0), Interval.of(delta) / self._true
        if delta == 0:
            return full
        if lost.lower >= 1:
            return ZERO
        if lost.upper >= 1:
            least = Interval(lost.lower, lost.lower)
            return Interval(ZERO.lower, (full - minus_log_one_minus(least)).clip(0).upper)
        return (full - minus_log_one_minus(lost)).clip(0)

    def divergence(self, direction: Direction, alpha: Fraction | None) -> Interval:
        del direction
        loss, true = Interval.of(self.epsilon0), self._true
        if alpha is None or self.epsilon0 == 0:
            return loss
        if alpha == 1:
            return capped_by_pure(true * loss * one_minus_exp(loss), self.epsilon0, alpha)
        order = max(alpha, NEAREST_ORDER)
        turned = Interval.of(-(2 * order - 1) * self.epsilon0).exp()
        neither = Interval.of(self.categories - 2) * Interval.of(-order * self.epsilon0).exp()
        total = true * (ONE + turned + neither)
        found = (loss + total.log() / Interval.of(order - 1)).clip(0)
        return capped_by_pure(moved(found, alpha, order), self.epsilon0, alpha)

    def scaled(self, size: int) -> Self:
        if size == 1:
            return self
        return type(self)(fitting(self.epsilon0 * size), relation=self.relation)

    def atoms(
        self,
        direction: Direction = Direction.REMOVE,
        *,
        upper: bool = True,
        most: int | None = None,
    ) -> Atoms:
        del direction, upper
        read_most(most)
        loss, true = self.epsilon0, self._true
        if loss == 0:
            return Atoms((loss,), (ONE,))
        wrong = true * Interval.of(-loss).exp()
        if self.categories == 2:
            return Atoms((-loss, loss), (wrong, true), step=2 * loss)
        neither = Interval.of(self.categories - 2) * wrong
        return Atoms((-loss, Fraction(0), loss), (wrong, neither, true), step=loss)
