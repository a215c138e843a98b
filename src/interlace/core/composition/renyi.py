"""The Rényi rule: add the divergences at one order, then convert (Theorem 2, FORMULAS 2.6).

Valid for pure and zCDP parts together, at any size and at the cost of one pass over the
distinct parameters. It gives upper ends only.
"""

from __future__ import annotations

import math
from fractions import Fraction

from interlace.core.composition.pool import Pool
from interlace.core.guarantees import conversions
from interlace.core.guarantees.enclosures import log_roughly, roughly
from interlace.core.interval import ONE, ZERO, Interval

RULE = "Rényi divergences at one order (concurrent: Lyu 2022, Thm 2), then FORMULAS 7.2"


def total_renyi(pool: Pool, alpha: Fraction) -> Interval:
    """The divergence of order alpha >= 1 of the part without leaks."""
    total = Interval.of(alpha * pool.rho)
    for epsilon, count in pool.losses:
        total = total + Interval.of(count) * conversions.response_renyi(epsilon, alpha)
    return total


def epsilon_bound(pool: Pool, share: Interval) -> Interval:
    """Encloses the rule's epsilon where the part without leaks may fail with ``share`` > 0."""
    log_delta = log_roughly(Fraction(share.lower))
    candidates = [
        conversions.least_order(
            lambda x, w=which: conversions.float_epsilon(x, _float_renyi(pool, x), log_delta)[w]
        )
        for which in (0, 1)
    ]
    found = [
        conversions.renyi_to_epsilon(a, total_renyi(pool, a), share).clip(0) for a in candidates
    ]
    return min(found, key=lambda i: i.upper)


def delta_bound(pool: Pool, epsilon: Fraction) -> Interval:
    """Encloses the rule's delta, of the part without leaks, at ``epsilon`` >= 0."""
    if not pool.losses and not pool.rho:
        return ZERO
    e = roughly(epsilon) if epsilon else 0.0
    candidates = [
        conversions.least_order(
            lambda x, w=which: conversions.float_log_delta(x, _float_renyi(pool, x), e)[w]
        )
        for which in ((0, 1) if epsilon else (0,))
    ]
    found = [
        conversions.renyi_to_delta(a, total_renyi(pool, a), Interval.of(epsilon))
        for a in candidates
    ]
    return min([*found, ONE], key=lambda i: i.upper)


def _float_renyi(pool: Pool, excess: float) -> float:
    """``total_renyi`` in plain floats, for the search."""
    total = (1 + excess) * roughly(pool.rho) if pool.rho else 0.0
    for epsilon, count in pool.losses:
        total += count * _float_response(roughly(epsilon), excess)
    return total


def _float_response(e: float, excess: float) -> float:
    if excess < 1e-6 or e * (1 + excess) < 1e-4:
        return min(e, (1 + excess) * e * e / 2)
    low = math.log1p(math.exp(-(2 * excess + 1) * e))
    return max(0.0, e - (math.log1p(math.exp(-e)) - low) / excess)
