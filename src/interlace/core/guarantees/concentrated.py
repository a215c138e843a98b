"""Zero-concentrated differential privacy, and what the other notions say in it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

from interlace.core.errors import Unproven
from interlace.core.exact import Real, rational
from interlace.core.guarantees import conversions
from interlace.core.guarantees.approximate import ApproxDP
from interlace.core.guarantees.base import Parametric, Relation, read_relation
from interlace.core.guarantees.enclosures import (
    INFINITE,
    fitting,
    one_minus_exp,
    roughly,
    shorten_up,
    smaller,
)
from interlace.core.guarantees.pure import PureDP
from interlace.core.interval import ONE, ZERO, Interval

#: Beyond, a chord is as good as the trivial bound.
_FARTHEST_CHORD = 700.0


@dataclass(frozen=True, init=False, repr=False)
class ZCDP(Parametric):
    """rho-zCDP: the Rényi divergence of every order alpha is at most alpha * rho.

    Raises ParameterError for a negative, infinite or NaN ``rho``. Conversion to
    (epsilon, delta): FORMULAS 7.2, the better of its two bounds at a good order, and near
    epsilon = 0 the chord of the profile with its mirror image.

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

    def epsilon_enclosure(self, delta: Fraction) -> Interval:
        if self.rho == 0 or delta >= 1:
            return ZERO
        return INFINITE if delta == 0 else zcdp_epsilon(self.rho, delta)

    def delta_enclosure(self, epsilon: Fraction) -> Interval:
        return ZERO if self.rho == 0 else zcdp_delta(self.rho, epsilon)

    def renyi_enclosure(self, alpha: Fraction | None) -> Interval:
        if alpha is None:
            return ZERO if self.rho == 0 else INFINITE
        return Interval.of(alpha * self.rho)

    def scaled(self, size: int) -> Self:
        return type(self)(fitting(self.rho * size * size), relation=self.relation)


def zcdp_epsilon(rho: Fraction, delta: Fraction) -> Interval:
    """The certified epsilon of rho-zCDP at delta, rho > 0 and 0 < delta < 1."""
    rough, exactly = _curves(rho)
    share = Interval.of(delta)
    found = conversions.best_epsilon(rough, exactly, share)
    at, value = chord(rho)
    if value.upper > share.lower:
        return found
    # The line of ``chord`` solved for e^epsilon.
    w = Interval.of(-at).exp()
    room = ONE + w * value - share * (ONE + w)
    reached = (room / (w * (ONE - value))).clip(1)
    return smaller(found, reached.log().clip(0))


def zcdp_delta(rho: Fraction, epsilon: Fraction) -> Interval:
    """The certified delta of rho-zCDP at epsilon >= 0, rho > 0."""
    rough, exactly = _curves(rho)
    found = conversions.best_delta(rough, exactly, epsilon)
    at, value = chord(rho)
    return smaller(found, below_chord(at, value, epsilon)) if epsilon < at else found


def below_chord(at: Fraction, value: Interval, epsilon: Fraction) -> Interval:
    """The height at ``epsilon`` of the chord of a profile between -at and at.

    Let d be a profile that bounds both directions, H_x(P, Q) and H_x(Q, P) at x = e^epsilon.
    H_(1/x)(P, Q) = 1 - 1/x + H_x(Q, P)/x gives d(e^-a) <= 1 - e^-a (1 - d(e^a)), and H is
    convex in x, so between the two it lies below the chord. With w = e^-a and d = d(e^a)
    the chord is (1 - w x + w d (1 + x)) / (1 + w).
    """
    w, x = Interval.of(-at).exp(), Interval.of(epsilon).exp()
    return ((one_minus_exp(Interval.of(at - epsilon)) + w * value * (ONE + x)) / (ONE + w)).clip(
        0, 1
    )


@lru_cache(maxsize=64)
def chord(rho: Fraction) -> tuple[Fraction, Interval]:
    """The a whose chord, from -a to a, lies lowest, and the certified delta at it.

    By symmetry that chord is a common tangent, hence the best one at every epsilon below a.
    """
    rough, exactly = _curves(rho)
    r = rough(0.0)

    def touching(excess: float) -> float:
        return (1 + 2 * excess) * r - math.log1p(1 / excess)

    def height(excess: float) -> float:
        at = touching(excess)
        if not 0 < at < _FARTHEST_CHORD:
            return 1.0
        log_d = min(conversions.float_log_delta(excess, (1 + excess) * r, at))
        w = math.exp(-at)
        return (-math.expm1(-at) + 2 * w * math.exp(min(0.0, log_d))) / (1 + w)

    excess = float(conversions.least_order(height) - 1)
    at = Fraction(min(_FARTHEST_CHORD, max(touching(excess), 0.0)))
    return at, conversions.best_delta(rough, exactly, at)


def _curves(rho: Fraction) -> tuple[conversions.RoughCurve, conversions.Curve]:
    r = roughly(rho)
    return lambda excess: (1 + excess) * r, lambda alpha: Interval.of(alpha * rho)


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
