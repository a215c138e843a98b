"""The Rényi rule: add the divergences at one order, then convert (Theorem 2, FORMULAS 2.6).

Valid for all parts together, at any size and at the cost of one pass over the
distinct parameters. It gives upper ends only.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial

from interlace.core.composition.terms import Terms, counted, moved
from interlace.core.guarantees import conversions, orders
from interlace.core.guarantees.enclosures import INFINITE, roughly, shorten_up
from interlace.core.interval import Interval

_BINS = 16
#: More distinct losses than this are first rounded up to _COARSE_BITS significant bits.
_MOST_GROUPS, _COARSE_BITS = 4096, 10

RULE = (
    "Rényi divergences added at one order (concurrent: Lyu 2022, Thm 2), converted by the optimum "
    "over two-point pairs"
)


def total_renyi(terms: Terms, alpha: Fraction) -> Interval:
    """The divergence of order alpha >= 1 of the part without leaks; INFINITE beyond the limit."""
    total = terms.line.renyi(alpha)
    if total == INFINITE:
        return INFINITE
    if terms.arrays:
        terms = _few(terms)
    total = total + Interval.of(alpha * terms.mu_squared / 2)
    for loss, count in terms.known:
        more = loss.renyi_enclosure(alpha)
        if more == INFINITE:
            return INFINITE
        total = total + Interval.of(count) * more
    for epsilon, count in terms.losses:
        total = total + Interval.of(count) * conversions.response_renyi(epsilon, alpha)
    return total


def epsilon_bound(terms: Terms, share: Interval) -> Decimal:
    """The rule's epsilon where the part without leaks may fail with ``share`` > 0."""
    few = _few(terms)
    found = orders.best_epsilon(
        _rough_curve(few), partial(total_renyi, few), share, terms.line.limit
    )
    return found.upper


def delta_bound(terms: Terms, epsilon: Fraction) -> Decimal:
    """The rule's delta, of the part without leaks, at ``epsilon`` >= 0."""
    few = _few(terms)
    found = orders.best_delta(
        _rough_curve(few), partial(total_renyi, few), epsilon, terms.line.limit
    )
    return found.upper


def _few(terms: Terms) -> Terms:
    """The terms themselves, or with losses rounded up to few values where there are many."""
    losses = counted(
        [*terms.losses, *((e, n * k) for batch, k in terms.arrays for e, n in batch.coarse)]
    )
    if len(losses) > _MOST_GROUPS:
        losses = moved(losses, lambda e: shorten_up(e, _COARSE_BITS))
    return replace(terms, losses=losses, arrays=())


def _rough_curve(terms: Terms) -> orders.RoughCurve:
    """``total_renyi`` at order 1 + x in plain floats, near losses taken together: it only
    serves to find a good order."""
    half = roughly(terms.mu_squared / 2) if terms.mu_squared else 0.0
    near: dict[int, list[float]] = {}
    for epsilon, count in terms.losses:
        e = roughly(epsilon)
        entry = near.setdefault(round(_BINS * math.log(e)), [0.0, 0.0])
        entry[0] += e * count
        entry[1] += count
    groups = [(total / count, count) for total, count in near.values()]
    # Known losses by their slope at order 1: good enough to choose an order.
    for loss, count in terms.known:
        half += count * min(loss.renyi_enclosure(Fraction(1)).up(), 1e300)
    return lambda x: (
        terms.line.rough(x) + (1 + x) * half + sum(n * _rough_response(e, x) for e, n in groups)
    )


def _rough_response(e: float, excess: float) -> float:
    if excess < 1e-6 or e * (1 + excess) < 1e-4:
        return min(e, (1 + excess) * e * e / 2)
    low = math.log1p(math.exp(-(2 * excess + 1) * e))
    return max(0.0, e - (math.log1p(math.exp(-e)) - low) / excess)
