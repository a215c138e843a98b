"""Zero-concentrated differential privacy, and what the other notions say in it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self, assert_never

from interlace.core.errors import Unproven
from interlace.core.exact import Real, rational
from interlace.core.guarantees import conversions
from interlace.core.guarantees.approximate import ApproxDP
from interlace.core.guarantees.base import Parametric, Relation, hash_of, read_relation
from interlace.core.guarantees.enclosures import fitting, shorten_up
from interlace.core.guarantees.gaussian import GaussianDP
from interlace.core.guarantees.lines import RenyiLine
from interlace.core.guarantees.pure import PureDP
from interlace.core.guarantees.renyi import RenyiDP
from interlace.core.guarantees.truncated import TCDP
from interlace.core.interval import Interval


@dataclass(frozen=True, init=False, repr=False)
class ZCDP(Parametric):
    """rho-zCDP: the Rényi divergence of every order alpha is at most alpha * rho.

    Raises ParameterError for a negative, infinite or NaN ``rho``. Conversion to
    (epsilon, delta): the best that one order gives, at the best order (FORMULAS 7.2). The pair
    that attains it was within every other order wherever that was tried: no better one is known.

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

    @property
    def line(self) -> RenyiLine:
        return RenyiLine(Fraction(0), self.rho)

    def __hash__(self) -> int:
        return hash_of(self.rho)

    def epsilon_enclosure(self, delta: Fraction) -> Interval:
        return self.line.epsilon(delta)

    def delta_enclosure(self, epsilon: Fraction) -> Interval:
        return self.line.delta(epsilon)

    def renyi_enclosure(self, alpha: Fraction | None) -> Interval:
        return self.line.renyi(alpha)

    def scaled(self, size: int) -> Self:
        return type(self)(fitting(self.rho * size * size), relation=self.relation)


def zcdp_epsilon(rho: Fraction, delta: Fraction) -> Interval:
    """The certified epsilon of rho-zCDP at delta, 0 <= delta <= 1."""
    return RenyiLine(Fraction(0), rho).epsilon(delta)


def zcdp_delta(rho: Fraction, epsilon: Fraction) -> Interval:
    """The certified delta of rho-zCDP at epsilon >= 0."""
    return RenyiLine(Fraction(0), rho).delta(epsilon)


def to_zcdp(guarantee: PureDP | ApproxDP | ZCDP | RenyiDP | TCDP | GaussianDP) -> ZCDP:
    """What the guarantee says in zCDP: epsilon * tanh(epsilon / 2), rounded up, for pure DP
    (FORMULAS 7.3), mu^2 / 2 for Gaussian DP (7.5).

    Raises Unproven for delta > 0: the structural rule for approximate zCDP is not offered;
    and for RenyiDP and TCDP, which bound no orders beyond their own.

    >>> 0.2310 < to_zcdp(PureDP(0.7)).rho < 0.2370
    True
    >>> to_zcdp(GaussianDP(0.5))
    ZCDP(0.125)
    """
    match guarantee:
        case ZCDP():
            return guarantee
        case GaussianDP():
            return ZCDP(fitting(guarantee.mu**2 / 2), relation=guarantee.relation)
        case RenyiDP() | TCDP():
            raise Unproven(
                f"{guarantee} says nothing in zCDP: it bounds divergences up to its own order, "
                "and zCDP is about all of them. Use an account in its own notion."
            )
        case ApproxDP(delta0=delta) if delta > 0:
            raise Unproven(
                f"{guarantee} has delta > 0 and says nothing in zCDP: the structural rule for "
                "approximate zCDP is not offered yet. Use an account in (epsilon, delta)."
            )
        case PureDP() | ApproxDP():
            return ZCDP(response_rho(guarantee.epsilon0), relation=guarantee.relation)
        case _:
            assert_never(guarantee)


def response_rho(epsilon: Fraction) -> Fraction:
    """epsilon * tanh(epsilon / 2), rounded up to a rational of moderate length."""
    loss = Interval.of(epsilon)
    return shorten_up(Fraction((loss * conversions.tanh_half(loss)).upper))
