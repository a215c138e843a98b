"""The Rényi rule: add the divergences at one order, then convert (Theorem 2, FORMULAS 2.6).

Valid for pure and zCDP parts together, at any size and at the cost of one pass over the
distinct parameters. It gives upper ends only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from interlace.core.composition.pool import Pool
from interlace.core.guarantees import conversions
from interlace.core.guarantees.enclosures import log_roughly, roughly
from interlace.core.interval import Interval

_BINS = 16

RULE = "Rényi divergences at one order (concurrent: Lyu 2022, Thm 2), then FORMULAS 7.2"


def total_renyi(pool: Pool, alpha: Fraction) -> Interval:
    """The divergence of order alpha >= 1 of the part without leaks."""
    total = Interval.of(alpha * pool.rho)
    for epsilon, count in pool.losses:
        total = total + Interval.of(count) * conversions.response_renyi(epsilon, alpha)
    return total


def epsilon_bound(pool: Pool, share: Interval) -> Interval:
    """Encloses the rule's epsilon where the part without leaks may fail with ``share`` > 0."""
    log_delta, curve = log_roughly(Fraction(share.lower)), _rough_curve(pool)
    orders = [
        conversions.least_order(
            lambda x: conversions.float_epsilon(x, curve(x), log_delta)[0],
        ),
        conversions.least_order(
            lambda x: conversions.float_epsilon(x, curve(x), log_delta)[1],
        ),
    ]
    found = [conversions.renyi_to_epsilon(a, total_renyi(pool, a), share) for a in orders]
    return min(found, key=lambda i: i.upper)


def delta_bound(pool: Pool, epsilon: Fraction) -> Interval:
    """Encloses the rule's delta, of the part without leaks, at ``epsilon`` >= 0."""
    e, curve = roughly(epsilon) if epsilon else 0.0, _rough_curve(pool)
    orders = [
        conversions.least_order(lambda x: conversions.float_log_delta(x, curve(x), e)[0]),
    ]
    if epsilon:
        orders.append(
            conversions.least_order(lambda x: conversions.float_log_delta(x, curve(x), e)[1])
        )
    at = Interval.of(epsilon)
    found = [conversions.renyi_to_delta(a, total_renyi(pool, a), at) for a in orders]
    return min(found, key=lambda i: i.upper)


def _rough_curve(pool: Pool) -> Callable[[float], float]:
    """``total_renyi`` at order 1 + x in plain floats, near losses taken together: it only
    serves to find a good order."""
    rho = roughly(pool.rho) if pool.rho else 0.0
    near: dict[int, list[float]] = {}
    for epsilon, count in pool.losses:
        e = roughly(epsilon)
        entry = near.setdefault(round(_BINS * math.log(e)), [0.0, 0.0])
        entry[0] += e * count
        entry[1] += count
    groups = [(total / count, count) for total, count in near.values()]
    return lambda x: (1 + x) * rho + sum(n * _rough_response(e, x) for e, n in groups)


def _rough_response(e: float, excess: float) -> float:
    if excess < 1e-6 or e * (1 + excess) < 1e-4:
        return min(e, (1 + excess) * e * e / 2)
    low = math.log1p(math.exp(-(2 * excess + 1) * e))
    return max(0.0, e - (math.log1p(math.exp(-e)) - low) / excess)
