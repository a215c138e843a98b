"""Rényi differential privacy at one order. A value and its curves; no composition here."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from interlace.core.errors import Unproven
from interlace.core.exact import Real, rational
from interlace.core.guarantees.base import Parametric, Relation, briefly, hash_of, read_relation
from interlace.core.guarantees.enclosures import fitting, fitting_down, shorten_up
from interlace.core.guarantees.lines import RenyiLine, read_order
from interlace.core.guarantees.one_order import LEAST_ORDER
from interlace.core.interval import Interval

#: Terms of the sum over a group that are added one by one.
_ADDED = 100


@dataclass(frozen=True, init=False, repr=False)
class RenyiDP(Parametric):
    """(alpha, epsilon)-RDP: the Rényi divergence of order alpha is at most epsilon, both ways.

    ``alpha`` > 1 and ``epsilon0`` are the exact parameters. Raises ParameterError for an
    ``alpha`` of at most 1, and for infinite, NaN and negative parameters; order infinity is
    PureDP.

    >>> RenyiDP(4, 0.5).renyi(2), RenyiDP(4, 0.5).renyi(4.5)
    (0.5, inf)
    """

    alpha: Fraction
    epsilon0: Fraction
    relation: Relation

    def __init__(
        self, alpha: Real, epsilon: Real, *, relation: Relation = Relation.ADD_REMOVE
    ) -> None:
        object.__setattr__(self, "alpha", read_order(alpha, "alpha", "PureDP"))
        object.__setattr__(self, "epsilon0", rational(epsilon, "epsilon"))
        object.__setattr__(self, "relation", read_relation(relation))

    @property
    def line(self) -> RenyiLine:
        """The same bound at every order up to alpha: divergences do not fall in the order."""
        return RenyiLine(self.epsilon0, Fraction(0), self.alpha)

    def __hash__(self) -> int:
        return hash_of(self.alpha, self.epsilon0)

    def epsilon_enclosure(self, delta: Fraction) -> Interval:
        return self.line.epsilon(delta)

    def delta_enclosure(self, epsilon: Fraction) -> Interval:
        return self.line.delta(epsilon)

    def renyi_enclosure(self, alpha: Fraction | None) -> Interval:
        return self.line.renyi(alpha)

    def scaled(self, size: int) -> Self:
        """At order alpha / size: epsilon times the sum of alpha / (alpha - j) over j < size.

        By D_a(P, Q) <= ka/(ka - 1) D_((ka - 1)/(k - 1))(P, R) + D_(ka)(R, Q), k times, with
        a = alpha / k (FORMULAS 7.7). Raises Unproven for a ``size`` of alpha or more.
        """
        if size == 1:
            return self
        order = fitting_down(self.alpha / size)
        if order < LEAST_ORDER:
            raise Unproven(
                f"{briefly(self.alpha)} is an order too low for a group of {size}: nothing is "
                "proven in RDP for groups of alpha or more units. Use a bound of a higher order, "
                "or ask for epsilon at a delta first, and for the group of that ApproxDP."
            )
        total = fitting(self.epsilon0 * _weight(self.alpha, size))
        return type(self)(order, total, relation=self.relation)


def _weight(alpha: Fraction, size: int) -> Fraction:
    """The sum of alpha / (alpha - j) over 0 <= j < size < alpha, rounded up."""
    first = max(0, size - _ADDED)
    total = Fraction(0)
    for j in range(first, size):
        total = fitting(total + 1 / (alpha - j))
    if first:
        # 1/(alpha - x) is convex: at each j it lies below its mean over [j - 1/2, j + 1/2].
        half = Fraction(1, 2)
        ratio = Interval.of((alpha + half) / (alpha - first + half))
        total += shorten_up(Fraction(ratio.log().upper))
    return alpha * total
