"""The rule "advanced": sums of rho beside a share of delta, structurally.

An (epsilon, delta)-DP mechanism is, with probability 1 - delta and whatever is asked of it, a pure
one (Lyu 2022, Theorem 3), hence rho-zCDP with rho = epsilon tanh(epsilon/2) (FORMULAS 7.3). On
every path the deltas sum to D at most, so the interaction is (1 - D) of one whose rho sum to R
(FORMULAS 6.6), and gives (E, D + (1 - D) d) where R-zCDP gives (E, d) by the better conversion
(7.2). For approximate zCDP in the distributional sense the concurrent filter is an open question;
this one needs the structural sense, which Theorem 3 supplies.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from interlace.core.composition.composed import compose
from interlace.core.composition.filters.costs import rho_of, summed
from interlace.core.composition.filters.rule import (
    Budget,
    Charge,
    Parts,
    parameter_down,
    parameter_up,
)
from interlace.core.composition.filters.sums import Cost, Numbers, SumRule
from interlace.core.guarantees import ZCDP, ApproxDP, Notion
from interlace.core.guarantees.concentrated import response_rho, zcdp_delta, zcdp_epsilon
from interlace.core.guarantees.enclosures import log_roughly, shorten_down

#: In log rho: where the search ends, how many turns it has, and how near it comes.
_FARTHEST, _TURNS, _NARROW = 1500.0, 40, 1e-11
_MARGIN = Fraction(1, 2**30)


def advanced(budget: ApproxDP, structural: Fraction) -> SumRule:
    """The rule with D = ``structural``."""
    rho = _widest(budget.epsilon0, _rest(budget.delta0, structural))
    return SumRule("advanced", budget, _COST, (rho, structural))


def _rest(delta: Fraction, structural: Fraction) -> Fraction:
    """What is left of delta for the good branches."""
    return (delta - structural) / (1 - structural)


@lru_cache(maxsize=256)
def _widest(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A rho, close to the largest, whose certified delta at ``epsilon`` is at most ``delta``;
    0 where none was found."""
    if delta == 0:
        return Fraction(0)
    wanted = log_roughly(delta)

    def missing(log_rho: float) -> float:
        found = Fraction(zcdp_delta(Fraction(math.exp(log_rho)), epsilon).upper)
        if found <= delta:
            return min(log_roughly(found) - wanted, 0.0) if found else -_FARTHEST
        return max(log_roughly(found) - wanted, 2.0**-60)

    low, high = _bracket(missing, _first(float(epsilon), -wanted))
    if low[1] > 0:
        return Fraction(0)
    side = 0
    for _ in range(_TURNS):
        if high[0] - low[0] <= _NARROW:
            break
        # Regula falsi, with the end that stays halved, so that both ends move.
        at = (low[0] * high[1] - high[0] * low[1]) / (high[1] - low[1])
        found = at, missing(at)
        if found[1] <= 0:
            low = found
            high = (high[0], high[1] / 2) if side < 0 else high
            side = -1
        else:
            high = found
            low = (low[0], low[1] / 2) if side > 0 else low
            side = 1
    return Fraction(math.exp(low[0]))


def _first(epsilon: float, log: float) -> float:
    """Where to start: rho + 2 sqrt(rho log(1/delta)) = epsilon solved (FORMULAS 7.1)."""
    root = math.sqrt(log + epsilon) - math.sqrt(log)
    return math.log(max(root * root, 1e-250))


End = tuple[float, float]


def _bracket(missing: Callable[[float], float], start: float) -> tuple[End, End]:
    step = 0.25
    low = start, missing(start)
    if low[1] > 0:
        high = low
        while low[1] > 0 and low[0] > -_FARTHEST:
            high, low = low, (low[0] - step, missing(low[0] - step))
            step *= 2
        return low, high
    high = low
    while high[1] <= 0 and high[0] < _FARTHEST:
        low, high = high, (high[0] + step, missing(high[0] + step))
        step *= 2
    return low, high


def _charge(parts: Parts, budget: Budget) -> Charge:
    """rho, and the sum of the deltas as a leak beside it."""
    rhos, leaks = [], []
    for guarantee, count in parts:
        if isinstance(guarantee, ApproxDP):
            rhos.append((response_rho(guarantee.epsilon0), count))
            leaks.append((guarantee.delta0, count))
        else:
            rhos.append((rho_of(guarantee), count))
    rho = ZCDP(summed(rhos), relation=budget.relation)
    leak = min(Fraction(1), summed(leaks))
    if not leak:
        return rho
    return compose([rho, ApproxDP(0, leak, relation=budget.relation)])


def _numbers(guarantee: Notion) -> Numbers:
    if isinstance(guarantee, ZCDP):
        return guarantee.rho, Fraction(0)
    assert isinstance(guarantee, ApproxDP)
    return Fraction(0), guarantee.delta0


def _reading(left: Numbers, limits: Numbers, budget: Budget) -> tuple[Budget, Budget]:
    """What remains is (e, d) with a rule of its own that would start with what is left."""
    assert isinstance(budget, ApproxDP)
    rest = _rest(budget.delta0, limits[1])
    epsilon = budget.epsilon0
    if left != limits:
        epsilon, rest = _point_left(left[0], rest)
        epsilon = min(epsilon, budget.epsilon0)
    delta = left[1] + (1 - left[1]) * rest
    remaining = ApproxDP(epsilon, parameter_down(delta), relation=budget.relation)
    spent = ApproxDP(
        parameter_up(budget.epsilon0 - epsilon),
        parameter_up(budget.delta0 - delta),
        relation=budget.relation,
    )
    return spent, remaining


def _point_left(rho: Fraction, rest: Fraction) -> Numbers:
    """A point (e, d) with d at most ``rest`` of which a new rule has no more than ``rho``."""
    if not rho or not rest:
        return Fraction(0), Fraction(0)
    # A little less, since neither conversion is exactly the other's inverse.
    epsilon = shorten_down(Fraction(zcdp_epsilon(rho, rest).lower) * (1 - _MARGIN))
    if epsilon:
        return epsilon, rest
    delta = Fraction(zcdp_delta(rho, epsilon).lower) * (1 - _MARGIN)
    return epsilon, min(rest, shorten_down(delta))


def _most(left: Numbers, budget: Budget) -> Notion:
    return ZCDP(parameter_down(left[0]), relation=budget.relation)


def _within(left: Numbers, limits: Numbers, budget: Budget) -> bool:
    assert isinstance(budget, ApproxDP)
    if left[0] > limits[0]:
        # Another version may have found a wider limit: proved, it stands.
        rest = _rest(budget.delta0, limits[1])
        if not rest or Fraction(zcdp_delta(left[0], budget.epsilon0).upper) > rest:
            return False
    return left[1] <= limits[1]


_COST = Cost(("rho", "delta"), _charge, _numbers, _reading, _most, _within)
