"""Exact losses beside bounds on Rényi divergences.

Mechanisms with such bounds are together one interactive mechanism, whose profile is bounded by the
conversion of their sum (FORMULAS 2.8, 6.11). A bound of a profile at some points, joined by straight
lines in e^epsilon, is the profile of a loss of finitely many values that dominates; it composes
with the exact losses. From below the mechanisms may be Gaussian ones, and that of one
order the best two-point pair. Fixed parameters only.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

from interlace.core.composition import exactly
from interlace.core.composition.terms import NO_LINE, Terms
from interlace.core.guarantees import one_order, orders, two_points
from interlace.core.guarantees.enclosures import shorten_up
from interlace.core.guarantees.lines import RenyiLine
from interlace.core.guarantees.losses import Atoms
from interlace.core.interval import ONE, UP, ZERO, Interval

RULE = (
    "the profile of the Rényi bounds (Lyu 2022, Thm 2 and Cor. 1; at one order the optimum over "
    "two-point pairs) composed with the exact losses (Lyu 2022, Thm 1; Vadhan and Zhang 2023)"
)
#: At how many points the profile is bounded; up to how many digits below what is asked for, and at
#: most in all.
_POINTS, _CUT, _DEEPEST = 192, 4, 100_000
#: The least depth in digits; how many points share an order.
_DEPTH, _APART = 12, 6
#: From where on a profile is not taken for 1.
_CERTAIN = Decimal("0.999999")
#: By how much, relatively, rho may have been rounded up.
_ROUNDED = Fraction(1, 2**78)


def upper_epsilon(terms: Terms, share: Decimal) -> Decimal:
    """A certified epsilon at ``share`` > 0."""
    others = replace(terms, line=NO_LINE)
    return exactly.upper_epsilon(others, _dominating(terms.line, share), share)


def upper_delta(terms: Terms, epsilon: Fraction, known: Decimal) -> Decimal:
    """A certified delta at ``epsilon``, ``known`` being one already."""
    others = replace(terms, line=NO_LINE)
    return exactly.upper_delta(others, _dominating(terms.line, known), epsilon)


def lower_epsilon(terms: Terms, share: Interval) -> Decimal:
    """An epsilon that some mechanisms with these guarantees need."""
    found = exactly.epsilon(_attained(terms), share)[0].lower
    if terms.single.limit is None:
        return found
    pair = two_points.attained_epsilon(terms.single.limit, terms.single.constant, share)
    return max(found, pair)


def lower_delta(terms: Terms, epsilon: Fraction) -> Decimal:
    """A delta that some mechanisms with these guarantees need."""
    found = exactly.delta(_attained(terms), epsilon)[0].lower
    if terms.single.limit is None:
        return found
    pair = two_points.attained_delta(terms.single.limit, terms.single.constant, epsilon)
    return max(found, pair)


def _attained(terms: Terms) -> Terms:
    """The same with Gaussian mechanisms for all that has bounds on divergences only."""
    more = 2 * terms.attained * (1 - _ROUNDED)
    return replace(terms, line=NO_LINE, mu_squared=terms.mu_squared + more)


def _dominating(line: RenyiLine, least: Decimal) -> Atoms:
    """A loss on a lattice whose profile lies above that of ``line``; what of it is far less likely
    than ``least`` leaks."""
    # One of few depths, so that near questions are answered from the same loss.
    digits = _DEPTH
    while digits < min(-least.adjusted(), _DEEPEST) + _CUT:
        digits *= 2
    return _dominating_to(line, -digits)


@lru_cache(maxsize=8)
def _dominating_to(line: RenyiLine, digits: int) -> Atoms:
    end = _first(line, UP.scaleb(Decimal(1), digits))
    start = _first(line, _CERTAIN) / 2
    low = start if start > 0 else -end
    step = shorten_up((end - low) / _POINTS, 8)
    first = low // step
    points = [(first + k) * step for k in range(_POINTS + 2)]
    known = _profile(line, sorted({abs(x) for x in points}))
    return _chords(points, [_value(x, known) for x in points], step)


def _profile(line: RenyiLine, points: list[Fraction]) -> dict[Fraction, Decimal]:
    """Upper bounds of the profile at ascending points >= 0, with orders that are good at some."""
    anchors = points[::_APART]
    found = [orders.order_for_delta(line.rough, x, line.limit) for x in (*anchors, points[-1])]
    known = {}
    for k, x in enumerate(points):
        near = {found[k // _APART], found[k // _APART + 1]}
        known[x] = min(one_order.delta(a, line.at(a), x).upper for a in near)
    return known


def _value(epsilon: Fraction, known: dict[Fraction, Decimal]) -> Decimal:
    """An upper bound of the profile at any real ``epsilon``, the bounds being ``known`` from 0 on."""
    at = known[abs(epsilon)]
    if epsilon >= 0:
        return at
    # H_(1/g)(P, Q) = 1 - 1/g + H_g(Q, P)/g, and the bounds hold both ways.
    return (ONE - Interval.of(epsilon).exp() * (ONE - Interval(Decimal(0), at))).upper


def _first(line: RenyiLine, least: Decimal) -> Fraction:
    """About the first epsilon >= 0 where the profile is at most ``least``."""
    low, high = Fraction(0), Fraction(1, 2**40)
    if line.delta(low).upper <= least:
        return low
    while line.delta(high).upper > least:
        low, high = high, 4 * high
    while (high - low) * 32 > high:
        middle = (low + high) / 2
        low, high = (middle, high) if line.delta(middle).upper > least else (low, middle)
    return high


def _chords(points: list[Fraction], values: list[Decimal], step: Fraction) -> Atoms:
    """The loss whose profile is the largest convex function of e^epsilon below the values at the
    points, 1 at minus infinity, and constant beyond the last."""
    at = [Decimal(0), *(Interval.of(x).exp().lower for x in points)]
    height = [Decimal(1), *values]
    kept = [0]
    for k in range(1, len(at)):
        while len(kept) > 1 and _above(at, height, kept[-2], kept[-1], k):
            kept.pop()
        kept.append(k)
    slopes = [_slope(at, height, j, k) for j, k in pairwise(kept)]
    bends = [after - before for before, after in pairwise([*slopes, ZERO])]
    losses = [points[j - 1] for j in kept[1:]]
    masses = [
        (Interval.of(x).exp() * bend).clip(0, 1).upper
        for x, bend in zip(losses, bends, strict=True)
    ]
    # Rounded up: more mass is more loss.
    held = [(x, Interval(m, m)) for x, m in zip(losses, masses, strict=True) if m > 0]
    last = height[kept[-1]]
    return Atoms(tuple(x for x, _ in held), tuple(m for _, m in held), Interval(last, last), step)


def _slope(at: list[Decimal], height: list[Decimal], j: int, k: int) -> Interval:
    rise = Interval(height[k], height[k]) - Interval(height[j], height[j])
    return rise / (Interval(at[k], at[k]) - Interval(at[j], at[j]))


def _above(at: list[Decimal], height: list[Decimal], i: int, j: int, k: int) -> bool:
    """Whether point j lies on or above the line from i to k."""
    return _slope(at, height, i, j).upper >= _slope(at, height, j, k).lower
