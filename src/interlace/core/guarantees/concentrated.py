"""Zero-concentrated differential privacy, and what the other notions say in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from interlace.core.errors import Unproven
from interlace.core.exact import Real, rational
from interlace.core.guarantees import conversions
from interlace.core.guarantees.approximate import ApproxDP
from interlace.core.guarantees.base import (
    Guarantee,
    Relation,
    briefly,
    describe,
    exactly,
    read_relation,
)
from interlace.core.guarantees.enclosures import (
    log_roughly,
    roughly,
    shorten_up,
    smaller,
)
from interlace.core.guarantees.pure import PureDP, fitting
from interlace.core.interval import ONE, ZERO, Interval


@dataclass(frozen=True, init=False, repr=False)
class ZCDP(Guarantee):
    """rho-zCDP: the Rényi divergence of every order alpha is at most alpha * rho.

    Raises ParameterError for a negative, infinite or NaN ``rho``. Conversion to
    (epsilon, delta): FORMULAS 7.2, the better of its two bounds at a good order.

    >>> ZCDP(0.5).renyi(2), ZCDP(0.5).group(3)
    (1.0, ZCDP(4.5))
    >>> 5.22 < ZCDP(0.5).epsilon(1e-6) < 5.23
    True
    """

    rho: Fraction
    relation: Relation

    def __init__(self, rho: Real, *, relation: Relation = Relation.ADD_REMOVE) -> None:
        object.__setattr__(self, "rho", rational(rho, "rho"))
        object.__setattr__(self, "relation", read_relation(relation))

    def epsilon_enclosure(self, delta: Fraction) -> Interval | None:
        if self.rho == 0 or delta >= 1:
            return ZERO
        return None if delta == 0 else zcdp_epsilon(self.rho, delta)

    def delta_enclosure(self, epsilon: Fraction) -> Interval:
        return ZERO if self.rho == 0 else zcdp_delta(self.rho, epsilon)

    def renyi_enclosure(self, alpha: Fraction | None) -> Interval | None:
        if alpha is None:
            return ZERO if self.rho == 0 else None
        return Interval.of(alpha * self.rho)

    def scaled(self, size: int) -> Self:
        return type(self)(fitting(self.rho * size * size), relation=self.relation)

    def __repr__(self) -> str:
        return describe("ZCDP", (exactly(self.rho),), self.relation)

    def __str__(self) -> str:
        return describe("ZCDP", (briefly(self.rho),), self.relation)


def zcdp_epsilon(rho: Fraction, delta: Fraction) -> Interval:
    """The certified epsilon of rho-zCDP at delta, rho > 0 and 0 < delta < 1."""
    r, log_delta = roughly(rho), log_roughly(delta)

    def slope(excess: float) -> float:
        return excess * excess * r + log_delta + math.log1p(excess)

    def second(excess: float) -> float:
        return conversions.float_epsilon(excess, (1 + excess) * r, log_delta)[1]

    orders = (conversions.order_where_positive(slope), conversions.least_order(second))
    first, other = (
        conversions.renyi_to_epsilon(a, Interval.of(a * rho), Interval.of(delta)) for a in orders
    )
    return smaller(first, other)


def zcdp_delta(rho: Fraction, epsilon: Fraction) -> Interval:
    """The certified delta of rho-zCDP at epsilon >= 0, rho > 0."""
    r, e = roughly(rho), roughly(epsilon) if epsilon else 0.0

    def slope(excess: float) -> float:
        return (1 + 2 * excess) * r - e - math.log1p(1 / excess)

    def second(excess: float) -> float:
        return conversions.float_log_delta(excess, (1 + excess) * r, e)[1]

    orders = [conversions.order_where_positive(slope)]
    if epsilon:
        orders.append(conversions.least_order(second))
    best = ONE
    for a in orders:
        found = conversions.renyi_to_delta(a, Interval.of(a * rho), Interval.of(epsilon))
        best = smaller(best, found)
    return best


def to_zcdp(guarantee: PureDP | ApproxDP | ZCDP) -> ZCDP:
    """What the guarantee says in zCDP: epsilon * tanh(epsilon / 2), rounded up (FORMULAS 7.3).

    Raises Unproven for delta > 0: the structural rule for approximate zCDP is not offered.

    >>> 0.2310 < to_zcdp(PureDP(0.7)).rho < 0.2370
    True
    """
    if isinstance(guarantee, ZCDP):
        return guarantee
    if isinstance(guarantee, ApproxDP) and guarantee.delta0 > 0:
        raise Unproven(
            f"{guarantee} has delta > 0 and says nothing in zCDP: the structural rule for "
            "approximate zCDP is not offered yet. Use an account in (epsilon, delta)."
        )
    return ZCDP(response_rho(guarantee.epsilon0), relation=guarantee.relation)


def response_rho(epsilon: Fraction) -> Fraction:
    """epsilon * tanh(epsilon / 2), rounded up to a rational of moderate length."""
    loss = Interval.of(epsilon)
    return shorten_up(Fraction((loss * conversions.tanh_half(loss)).upper))
