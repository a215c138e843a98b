"""The largest parameter that fits, by bisection over floats."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from interlace.core.errors import ParameterError

T = TypeVar("T")

#: Parameters beyond these powers of 2 are not looked at.
_FARTHEST = 1000


def largest(shape: Callable[[float], T], fits: Callable[[T], bool]) -> T | None:
    """What ``shape`` makes of the largest float for which it fits, its loss growing with the
    float; None where nothing fits.

    A float that ``shape`` refuses with a ParameterError counts as one that does not fit.

    >>> largest(lambda x: 10 * x, lambda y: y <= 3)
    3.0
    """

    def tried(x: float) -> T | None:
        try:
            found = shape(x)
        except ParameterError:
            return None
        return found if fits(found) else None

    low, best, high = _bracket(tried)
    if best is None:
        return None
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            return best
        found = tried(middle)
        if found is None:
            high = middle
        else:
            low, best = middle, found


def _bracket(tried: Callable[[float], T | None]) -> tuple[float, T | None, float]:
    """A power of 2 that fits, what it is, and the next, which does not."""
    best = tried(1.0)
    power = 0
    if best is not None:
        while power < _FARTHEST and (found := tried(2.0 ** (power + 1))) is not None:
            power, best = power + 1, found
        top = 2.0 ** (power + 1) if power < _FARTHEST else 2.0**power
        return 2.0**power, best, top
    while best is None and power > -_FARTHEST:
        power -= 1
        best = tried(2.0**power)
    return 2.0**power, best, 2.0 ** (power + 1)
