"""The hockey stick of a loss whose outcomes are ordered, and its inverse, by one threshold.

With outcomes m in ascending order of loss, H_x(P, Q) = max over m of P(>= m) - x Q(>= m), and
the best m is the first whose ratio P/Q exceeds x. Every m gives a lower bound, so that only
thresholds which intervals cannot decide are tried beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Protocol

from interlace.core.guarantees.enclosures import INFINITE
from interlace.core.interval import ONE, ZERO, Interval

_INFINITY = Decimal("Infinity")


class Staircase(Protocol):
    """Outcomes m = first, first + 1, ... in strictly ascending order of loss."""

    @property
    def first(self) -> int: ...

    @property
    def last(self) -> int | None:
        """The last outcome of a finite loss; None where they never end."""

    def ratio(self, m: int) -> Interval:
        """P/Q at m."""

    def above(self, m: int) -> tuple[Interval, Interval]:
        """The masses under P and under Q of m and all outcomes of larger loss."""


def least(good: Callable[[int], bool], guess: int, first: int, last: int | None) -> int:
    """The least m in [first, last] that is good, last + 1 where none is; good for good.

    Sought in growing steps from ``guess``, then by halving.

    >>> least(lambda m: m >= 100, 7, 0, None), least(lambda m: m >= 100, 7, 0, 50)
    (100, 51)
    """
    high = max(first, guess if last is None else min(guess, last))
    low, step = first - 1, 1
    while not (last is not None and high > last) and not good(high):
        low, high = high, high + step
        step *= 2
    if last is not None:
        high = min(high, last + 1)
    step = 1
    while high - step > low:
        if not good(high - step):
            low = high - step
            break
        high, step = high - step, 2 * step
    while high - low > 1:
        middle = (high + low) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def profile_at(stairs: Staircase, m: int, x: Interval) -> Interval:
    """P(>= m) - x Q(>= m): the hockey stick at x where m is the first with ratio above x."""
    p, q = stairs.above(m)
    return (p - x * q).clip(0, 1)


def profile(stairs: Staircase, x: Interval, guess: int) -> Interval:
    """H_x(P, Q) for an x that no ratio of an outcome before ``first`` exceeds."""
    m = least(lambda m: stairs.ratio(m).lower > x.upper, guess, stairs.first, stairs.last)
    found = profile_at(stairs, m, x)
    while m > stairs.first and stairs.ratio(m - 1).upper > x.lower:
        m -= 1
        other = profile_at(stairs, m, x)
        found = Interval(max(found.lower, other.lower), max(found.upper, other.upper))
    return found


def inverse(stairs: Staircase, delta: Fraction, guess: int) -> Interval:
    """The least epsilon >= 0 at which the hockey stick is at most ``delta``.

    It is the largest of log((P(>= m) - delta)/Q(>= m)): the tangent from (0, delta) to the
    concave curve of (Q, P). So the best m is the first whose own ratio exceeds that of what
    comes after it.
    """
    target = Interval.of(delta)

    def good(m: int) -> bool:
        p, q = stairs.above(m + 1)
        return (stairs.ratio(m) * q).lower > (p - target).upper

    m = least(good, guess, stairs.first, stairs.last)
    p, q = stairs.above(m)
    if stairs.last is not None and m > stairs.last:
        return _at_the_leak(stairs, p - target)
    if (p - target).upper <= 0:
        return ZERO
    if q.lower <= 0:
        return Interval(Decimal(0), _INFINITY)
    found = (p - target) / q
    # What was not added lies below the tangent, up to what intervals cannot tell.
    upper = found.upper if m == stairs.first else max(found.upper, stairs.ratio(m - 1).upper)
    if upper <= 1:
        return ZERO
    high = Interval(upper, upper).log().upper
    if found.lower <= 1:
        return Interval(Decimal(0), high)
    return Interval(Interval(found.lower, found.lower).log().lower, high)


def _at_the_leak(stairs: Staircase, excess: Interval) -> Interval:
    """Where the leak is not certainly below delta; ``excess`` is the difference."""
    if excess.lower > 0:
        return INFINITE
    if excess.upper > 0:
        return Interval(Decimal(0), _INFINITY)
    if stairs.last is None or stairs.last < stairs.first:
        return ZERO
    largest = stairs.ratio(stairs.last)
    return largest.log().clip(0) if largest.upper > 1 else ZERO


def exponential(epsilon: Fraction) -> Interval:
    """e^epsilon, exactly 1 at 0."""
    return Interval.of(epsilon).exp() if epsilon else ONE
