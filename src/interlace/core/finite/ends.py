"""From exact sums to what is told: both ends, rounded outwards (R8).

``growth`` is by which factor the probability of a history may be off in a pair of floats, at
most; it is 1 for an exact pair. If D(g) is the profile of the numbers as they stand, the true
profile lies between D(g growth^2)/growth and growth D(g/growth^2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from interlace.core.exact import float_up
from interlace.core.interval import ONE, Interval

Stick = Callable[[Fraction], Fraction]
"""From e^epsilon to delta, the worse order."""
Event = Callable[[Fraction | None], tuple[Fraction, Fraction]]
"""From e^epsilon (None: infinite) to the probabilities of the best event of the worse order,
the favoured system's first."""

#: Irrational factors are rounded to multiples of this.
_UNIT = Fraction(1, 2**96)


def growth(deviation: float, rounds: int) -> Fraction:
    """What a deviation of each law makes of a history in a pair of floats, rounded up; with
    what rounding its masses to 62 bits adds."""
    part = ONE / (ONE - Interval.of(Fraction(deviation)))
    return _up(Fraction(part.power(rounds).upper) * (1 + Fraction(1, 2**61)))


def upper_delta(stick: Stick, factor: Fraction | Interval, grown: Fraction) -> Fraction:
    """The upper end of delta: delta itself for an exact pair and a rational factor."""
    low = below(factor)
    if grown > 1:
        low = _down(low / (grown * grown))
    return min(Fraction(1), grown * stick(low))


def lower_delta(stick: Stick, factor: Fraction | Interval, grown: Fraction) -> Fraction:
    """The lower end."""
    high = factor if isinstance(factor, Fraction) else _up(Fraction(factor.upper))
    if grown > 1:
        high = _up(high * grown * grown)
    return stick(high) / grown


def least_factor(event: Event, share: Fraction, grown: Fraction = Fraction(1)) -> Fraction | None:
    """The least e^epsilon >= 1 at which delta is at most ``share``, never too small; None where
    none is. Exact with ``grown`` 1.

    Newton's method: delta is convex in e^epsilon and piecewise linear, so that the steps from
    the left never pass the root and end at it.
    """
    share /= grown
    if event(None)[0] > share:
        return None
    factor = Fraction(1)
    while True:
        p, q = event(factor)
        if p - factor * q <= share:
            return factor * grown * grown
        factor = (p - share) / q


def most_factor(event: Event, share: Fraction, grown: Fraction) -> Fraction | None:
    """As ``least_factor``, never too large."""
    found = least_factor(event, min(Fraction(1), share * grown))
    return None if found is None else max(Fraction(1), found / (grown * grown))


def log_up(factor: Fraction | None) -> float:
    """Its logarithm, rounded up."""
    if factor is None:
        return math.inf
    return Interval.of(factor).log().up() if factor > 1 else 0.0


def log_down(factor: Fraction | None) -> float:
    """Its logarithm, rounded down."""
    if factor is None:
        return math.inf
    return max(0.0, Interval.of(factor).log().down()) if factor > 1 else 0.0


def below(factor: Fraction | Interval) -> Fraction:
    """The factor, or its lower end."""
    return factor if isinstance(factor, Fraction) else _down(Fraction(factor.lower))


def told(upper: Fraction, factor: Fraction | Interval, *, exact: bool) -> Fraction | float:
    """The exact value of an exact pair at a rational factor, or the upper end."""
    return upper if exact and isinstance(factor, Fraction) else float_up(upper)


def _down(value: Fraction) -> Fraction:
    return math.floor(value / _UNIT) * _UNIT


def _up(value: Fraction) -> Fraction:
    return math.ceil(value / _UNIT) * _UNIT
