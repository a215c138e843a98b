"""A noise law in numbers of one denominator, with how far each may be off. Nothing is rounded
without being counted.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from interlace.core.interval import Interval
from interlace.core.laws import Law, Point, Vector

BITS = 176
UNIT = 2**BITS


class Mass(NamedTuple):
    """A probability: ``value`` / UNIT, at most ``error`` / UNIT off. A positive one has a
    positive value."""

    value: int
    error: int


class Noise:
    """The probabilities of a law of one integer, and the ``radius`` that it leaves with a
    probability of at most ``cut``.

    >>> from interlace.core.laws import DiscreteLaplace
    >>> noise = Noise(DiscreteLaplace(1), Fraction(1, 2**70))
    >>> noise.radius, round(noise.between(0, 0).value / UNIT, 6), noise.between(None, None)
    (48, 0.462117, Mass(value=95780971304118053647396689196894323976171195136475136, error=0))
    """

    def __init__(self, law: Law, cut: Fraction) -> None:
        self._law = law.law if isinstance(law, Vector) else law
        self.certain = isinstance(law, Point)
        self.radius = 0 if self.certain else self._law.radius(1 - cut)
        self._at = lru_cache(maxsize=None)(lambda z: mass(self._law.pmf(z)))
        self._above = lru_cache(maxsize=None)(lambda z: mass(self._law.tail(z)))

    def between(self, low: int | None, high: int | None) -> Mass:
        """P(low <= Z <= high); None is infinite."""
        if low is None and high is None:
            return Mass(UNIT, 0)
        if low is None:
            assert high is not None
            return self._above(-high)  # the laws are symmetric
        if high is None:
            return self._above(low)
        if low == high:
            return self._at(low)
        first, second = self._above(low), self._above(high + 1)
        found = Mass(first.value - second.value, first.error + second.error)
        return found if found.value > 0 or self.certain else Mass(1, found.error + 1)


def mass(enclosed: Interval) -> Mass:
    """The middle of an enclosure, on the grid.

    >>> mass(Interval.of(Fraction(1, 2))) == Mass(UNIT // 2, 0)
    True
    """
    if enclosed.upper * UNIT < 1:
        return Mass(1, 1) if enclosed.upper else Mass(0, 0)
    low = math.floor(Fraction(enclosed.lower) * UNIT)
    high = math.ceil(Fraction(enclosed.upper) * UNIT)
    value = max((low + high) // 2, 1)
    return Mass(value, max(value - low, high - value))


def completed(masses: list[Mass]) -> tuple[list[int], int]:
    """The values, the greatest changed so that they sum to UNIT, and how far they may be off
    together. The exact probabilities sum to one."""
    values, error = [m.value for m in masses], sum(m.error for m in masses)
    greatest = max(range(len(values)), key=values.__getitem__)
    values[greatest] += UNIT - sum(values)
    # What the greatest one was changed by makes up for the errors of all.
    return values, 2 * error
