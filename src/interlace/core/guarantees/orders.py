"""The best order of a Rényi curve for a conversion, and what the curve gives there.

A bound of any one order holds, so orders are searched for in floats; a badly chosen one only
costs tightness. Numbers only, enclosed (FORMULAS 7.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from interlace.core.guarantees import one_order
from interlace.core.guarantees import one_order_search as search
from interlace.core.guarantees.enclosures import log_roughly, roughly
from interlace.core.interval import Interval

#: A divergence as a function of its order: alpha - 1 in floats, or alpha and an enclosure.
RoughCurve = Callable[[float], float]
Curve = Callable[[Fraction], Interval]

#: log(alpha - 1) lies in this range.
_LOWEST, _HIGHEST = -46, 100
#: The first step of a walk downhill.
_STEP = 0.5
#: How near golden section gets; how far apart the points of the first parabola are, and of the
#: later ones; the least step to another one, and the most of them.
_COARSE, _NEAR, _NEARER, _CLOSE, _PARABOLAS = 0.15, 0.01, 0.001, 1e-4, 8
_GOLDEN = (math.sqrt(5) - 1) / 2


def best_epsilon(
    rough: RoughCurve, curve: Curve, share: Interval, limit: Fraction | None = None
) -> Interval:
    """The least epsilon that an order up to ``limit`` gives at ``share`` in (0, 1)."""
    log_share = log_roughly(Fraction(share.lower))
    order = _best_order(
        lambda x: search.cks_epsilon(x, rough(x), log_share),
        lambda x: search.rough_epsilon(x, rough(x), log_share),
        limit,
    )
    return one_order.epsilon(order, curve(order), share)


def best_delta(
    rough: RoughCurve, curve: Curve, epsilon: Fraction, limit: Fraction | None = None
) -> Interval:
    """The least delta that an order up to ``limit`` gives at ``epsilon`` >= 0."""
    order = order_for_delta(rough, epsilon, limit)
    return one_order.delta(order, curve(order), epsilon)


def order_for_delta(
    rough: RoughCurve, epsilon: Fraction, limit: Fraction | None = None
) -> Fraction:
    """About the order that gives the least delta at ``epsilon`` >= 0."""
    e = roughly(epsilon) if epsilon else 0.0
    return _best_order(
        lambda x: search.cks_log_delta(x, rough(x), e),
        lambda x: search.rough_log_delta(x, rough(x), e),
        limit,
    )


def _best_order(simple: RoughCurve, exact: RoughCurve, limit: Fraction | None) -> Fraction:
    """An order near the least of ``exact``, looked for around the least of ``simple``."""
    top = float(_HIGHEST) if limit is None else min(float(_HIGHEST), log_roughly(limit - 1))
    start = _narrowed(simple, *_around(simple, top), _COARSE)
    found = _narrowed(exact, *_descended(exact, start, (float(_LOWEST), top)), _COARSE)
    found = min(max(_polished(exact, found), float(_LOWEST)), top)
    if found > top - 2 * _COARSE and exact(math.exp(top)) <= exact(math.exp(found)):
        found = top
    order = 1 + Fraction(math.exp(found))
    if limit is None:
        return order
    # Never above, whatever the floats were rounded to.
    return min(order, limit) if found < top else limit


def _around(value: RoughCurve, top: float) -> tuple[float, float]:
    """The least on a grid of step 1 in log(alpha - 1), and its neighbours."""
    grid = [float(i) for i in range(_LOWEST, math.floor(top) + 1)]
    best = min([*grid, top], key=lambda i: value(math.exp(i)))
    return max(best - 1, _LOWEST), min(best + 1, top)


def _descended(value: RoughCurve, start: float, ends: tuple[float, float]) -> tuple[float, float]:
    """Two places around a least value, found by walking down from the start in growing steps."""
    for first in (-_STEP, _STEP):
        before = at = start
        best, step = value(math.exp(start)), first
        following = min(ends[1], max(ends[0], at + step))
        while following != at and (found := value(math.exp(following))) < best:
            before, at, best, step = at, following, found, 2 * step
            following = min(ends[1], max(ends[0], at + step))
        if at != start:
            return min(before, following), max(before, following)
    return max(ends[0], start - _STEP), min(ends[1], start + _STEP)


def _narrowed(value: RoughCurve, low: float, high: float, width: float) -> float:
    """Golden section for the least value over log(alpha - 1)."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = value(math.exp(left)), value(math.exp(right))
    while high - low > width and at_left != at_right:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = value(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = value(math.exp(right))
    return (low + high) / 2


def _polished(value: RoughCurve, at: float) -> float:
    """The same, nearer, by parabolas."""
    near = _NEAR
    for _ in range(_PARABOLAS):
        left, middle, right = (value(math.exp(at + d)) for d in (-near, 0.0, near))
        bend = left - 2 * middle + right
        if not 0 < bend < math.inf:
            break
        step, near = near * (left - right) / (2 * bend), _NEARER
        at += min(_COARSE, max(-_COARSE, step))
        if abs(step) < _CLOSE:
            break
    return at
