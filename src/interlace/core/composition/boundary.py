"""The float at which something that depends on one number begins to fit.

Nothing here knows what fits into what. What is found was tried, and so was a number just beyond
it; nothing else is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, TypeVar

T = TypeVar("T")

#: Numbers beyond these powers of 2 are not looked at.
FARTHEST = 1000
#: Two numbers whose quotient is within this of 1 are told apart no further, but for round ones.
NARROW = 1e-12
#: What an unknown measure counts as: enough to be bisected.
_UNKNOWN = 1.0
_MOST_DIGITS = 16


@dataclass(frozen=True)
class Tried(Generic[T]):
    """What a number gave: a value, whether it fits, and, for a quicker search alone, the logarithm
    of what it takes in parts of what there is."""

    value: T
    fits: bool
    taken: float | None = None


Trial = Callable[[float], Tried[T] | None]
"""None for a number that is refused."""


@dataclass(frozen=True)
class Boundary(Generic[T]):
    """The last number that fits, what it gave, and whether anything beyond it does not."""

    at: float
    value: T
    reached: bool


def boundary(trial: Trial[T], *, grows: bool) -> Boundary[T] | None:
    """The largest float that fits where the loss ``grows`` with it, the least where it falls;
    None where no power of 2 fits.

    A number beyond it by a part of 1e-12 was tried too: it does not fit, or is refused. Of the
    numbers between the two a round one is taken, if it fits.

    >>> boundary(lambda x: Tried(x, x <= 0.3), grows=True).at
    0.3
    >>> boundary(lambda x: Tried(x, x >= 0.3), grows=False).at
    0.3
    """
    worse = 1 if grows else -1
    power = _fitting_power(trial, worse)
    if power is None:
        return None
    found = _accepted(trial, 2.0**power)
    while found is not None and abs(power + worse) <= FARTHEST:
        beyond = trial(2.0 ** (power + worse))
        if beyond is None or not beyond.fits:
            near, far = 2.0**power, 2.0 ** (power + worse)
            return _round(trial, *_between(trial, (near, found), (far, beyond)))
        power, found = power + worse, beyond
    return None if found is None else Boundary(2.0**power, found.value, reached=False)


def _accepted(trial: Trial[T], x: float) -> Tried[T] | None:
    found = trial(x)
    return found if found is not None and found.fits else None


def _fitting_power(trial: Trial[T], worse: int) -> int | None:
    """A power of 2 that fits, near 1."""
    first = trial(1.0)
    if first is not None and first.fits:
        return 0
    for step in range(1, FARTHEST + 1):
        if _accepted(trial, 2.0 ** (-worse * step)) is not None:
            return -worse * step
    if first is not None:
        return None
    # 1 itself was refused: all that is allowed may lie on its other side.
    for step in range(1, FARTHEST + 1):
        tried = trial(2.0 ** (worse * step))
        if tried is not None:
            return worse * step if tried.fits else None
    return None


def _between(
    trial: Trial[T], near: tuple[float, Tried[T]], far: tuple[float, Tried[T] | None]
) -> tuple[float, Tried[T], float]:
    """A number that fits with what it gave, and one beyond that does not, next to each other."""
    (good, found), (bad, beyond) = near, far
    low, high = -_taken(found, -1), _taken(beyond, 1)
    while abs(bad - good) > NARROW * good:
        # The chord of the logarithms; the end that stays twice counts half (Illinois).
        share = low / (low + high)
        middle = good * (bad / good) ** share
        least = NARROW * good / 2
        low_end, high_end = sorted((good, bad))
        middle = min(max(middle, low_end + least), high_end - least)
        tried = trial(middle)
        if tried is not None and tried.fits:
            good, found, low, high = middle, tried, -_taken(tried, -1), high / 2
        else:
            bad, low, high = middle, low / 2, _taken(tried, 1)
    return good, found, bad


def _taken(tried: Tried[T] | None, sign: int) -> float:
    """What is known of the measure, of the sign that the comparison gave."""
    if tried is None or tried.taken is None or not math.isfinite(tried.taken):
        return sign * _UNKNOWN
    return sign * max(abs(tried.taken), 1e-15)


def _round(trial: Trial[T], good: float, found: Tried[T], bad: float) -> Boundary[T]:
    """The roundest number strictly between the two, if it fits; else the one that does."""
    low, high = sorted((Fraction(repr(good)), Fraction(repr(bad))))
    first = math.floor(math.log10(good))
    for digits in range(_MOST_DIGITS):
        step = Fraction(10) ** (first - digits)
        middle = float(step * (low // step + 1))
        if low < Fraction(repr(middle)) < high:
            tried = _accepted(trial, middle)
            if tried is not None:
                return Boundary(middle, tried.value, reached=True)
            break
    return Boundary(good, found.value, reached=True)
