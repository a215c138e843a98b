"""The privacy loss of a bounded-range mechanism: what every exponential mechanism has."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self, final

from interlace.core.exact import Real, rational
from interlace.core.guarantees.base import Relation, read_relation
from interlace.core.guarantees.conversions import tanh_half
from interlace.core.guarantees.enclosures import (
    fitting,
    minus_log_one_minus,
    one_minus_exp,
    roughly,
)
from interlace.core.guarantees.losses.atoms import USUAL_ATOMS, Atoms, Direction, read_most
from interlace.core.guarantees.losses.base import PrivacyLoss
from interlace.core.guarantees.losses.moments import NEAREST_ORDER, below, moved
from interlace.core.interval import ONE, ZERO, Interval

_HALF = Fraction(1, 2)


@final
@dataclass(frozen=True, init=False, repr=False)
class BoundedRange(PrivacyLoss):
    """The losses of all answers lie in some interval of length ``eta``, as those of an
    exponential mechanism with weights e^(eta score/(2 sensitivity)) do (FORMULAS 8.5).

    Every such mechanism is a post-processing of one with two answers, of losses t and t - eta
    for some t in [0, eta]. The profile is the largest of theirs, (1 - e^((epsilon - eta)/2))^2 /
    (1 - e^-eta), the divergences likewise; they are at most alpha eta^2/8. A group of k has
    the range k eta.

    As a law (``atoms``) the upper version is the one pair that has this profile, of density
    e^((loss - eta)/2)/(2 (1 - e^-eta)) on [-eta, eta], on a grid; the lower version is one of
    the mechanisms with two answers. Raises ParameterError for a negative, infinite or NaN
    ``eta``.

    >>> BoundedRange(1).delta(0), BoundedRange(1).renyi(1) <= 1 / 8
    (0.24491866240370913, True)
    """

    eta: Fraction
    relation: Relation

    def __init__(self, eta: Real, *, relation: Relation = Relation.ADD_REMOVE) -> None:
        object.__setattr__(self, "eta", rational(eta, "eta"))
        object.__setattr__(self, "relation", read_relation(relation))

    @property
    def symmetric(self) -> bool:
        return True

    def profile(self, direction: Direction, epsilon: Fraction) -> Interval:
        # t has loss mass (e^eta - e^t)/(e^eta - 1) at t; the best t is (eta + epsilon)/2.
        del direction
        if epsilon >= self.eta:
            return ZERO
        gap = one_minus_exp(Interval.of((self.eta - epsilon) / 2))
        return gap * gap / one_minus_exp(Interval.of(self.eta))

    def inverse(self, direction: Direction, delta: Fraction) -> Interval:
        del direction
        full = Interval.of(self.eta)
        if delta == 0 or self.eta == 0:
            return full
        gap = (Interval.of(delta) * one_minus_exp(full)).sqrt()
        if gap.lower >= 1:
            return ZERO
        lost = minus_log_one_minus(Interval(gap.lower, gap.lower))
        upper = (full - lost - lost).clip(0).upper
        if gap.upper >= 1:
            return Interval(ZERO.lower, upper)
        lost = minus_log_one_minus(gap)
        return Interval((full - lost - lost).clip(0).lower, upper)

    def divergence(self, direction: Direction, alpha: Fraction | None) -> Interval:
        del direction
        full = Interval.of(self.eta)
        if alpha is None or self.eta == 0:
            return full
        # By Hoeffding's lemma: K(s) - s (s + 1) eta^2/8 is concave, and 0 at s = -1 and s = 0.
        bound = below(full, Interval.of(alpha * self.eta**2 / 8))
        if alpha == 1:
            return below(_kl(self.eta), bound)
        order = max(alpha, NEAREST_ORDER)
        return moved(below(_divergence(self.eta, order), bound), alpha, order)

    def scaled(self, size: int) -> Self:
        return type(self)(fitting(self.eta * size), relation=self.relation)

    def atoms(
        self,
        direction: Direction = Direction.REMOVE,
        *,
        upper: bool = True,
        most: int | None = None,
    ) -> Atoms:
        del direction
        number = read_most(most, USUAL_ATOMS)
        if self.eta == 0:
            return Atoms((self.eta,), (ONE,))
        return _grid(self.eta, number - 1) if upper else _member(self.eta)


def _kl(eta: Fraction) -> Interval:
    """The largest over t of t - eta (e^t - 1)/(e^eta - 1): log((e^eta - 1)/eta) - 1 +
    eta/(e^eta - 1)."""
    full = Interval.of(eta)
    whole = one_minus_exp(full)
    rest = full * (-full).exp() / whole
    return ((whole / full).log() + full - ONE + rest).clip(0)


def _divergence(eta: Fraction, order: Fraction) -> Interval:
    """The largest over t of D_alpha, alpha > 1.

    With b = alpha - 1, A = e^eta and u = e^t the moment is u^b ((A - A^-b) - u (1 - A^-b)) /
    (A - 1), largest at u = b (A - A^-b)/(alpha (1 - A^-b)).
    """
    alpha, b = Interval.of(order), Interval.of(order - 1)
    # log(b/alpha) = log(1 - 1/alpha)
    inner = _log_one_minus(Interval.of(1 / order)) - _log_rise((order - 1) * eta)
    outer = alpha * _log_rise(order * eta) - alpha.log() - _log_rise(eta)
    return (Interval.of(eta) + inner + outer / b).clip(0)


def _log_rise(x: Fraction) -> Interval:
    """log(1 - e^-x) for x > 0."""
    if x > 1:
        return -minus_log_one_minus(Interval.of(-x).exp())
    return one_minus_exp(Interval.of(x)).log()


def _log_one_minus(x: Interval) -> Interval:
    return -minus_log_one_minus(x)


@lru_cache(maxsize=8)
def _grid(eta: Fraction, cells: int) -> Atoms:
    """Each cell of the continuous pair spread to its two ends: their masses are geometric."""
    step = 2 * eta / cells
    unit = tanh_half(Interval.of(step / 2)) / one_minus_exp(Interval.of(eta))
    losses = [-eta + j * step for j in range(cells + 1)]
    mass = unit * Interval.of(-eta).exp()
    rise = Interval.of(step / 2).exp()
    masses = [mass]
    mass = mass + mass
    for _ in range(cells - 1):
        mass = mass * rise
        masses.append(mass)
    return Atoms(tuple(losses), (*masses, unit), step=step)


def _member(eta: Fraction) -> Atoms:
    """The mechanism with two answers whose mean loss is about the largest."""
    rough = roughly(eta)
    t = rough + math.log(-math.expm1(-rough) / rough)
    top = min(max(Fraction(t), Fraction(0)), eta)
    if not 0 < top < eta:
        top = eta * _HALF
    whole = one_minus_exp(Interval.of(eta))
    high = one_minus_exp(Interval.of(eta - top)) / whole
    low = one_minus_exp(Interval.of(top)) * Interval.of(top - eta).exp() / whole
    return Atoms((top - eta, top), (low.clip(0, 1), high.clip(0, 1)), step=eta)
