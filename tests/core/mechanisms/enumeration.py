"""The exact loss of threshold tests, summed up by hand: shares nothing with the code it tests.

Only the noise scales are handed in. A deterministic adversary's queries are functions of
the verdicts, so the worst ratio of a transcript is that of fixed query values (FORMULAS 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import numpy.typing as npt
from mpmath import mp

Step = tuple[int, int, bool]
"""The compared value on the two neighbours (0 is the threshold), and the verdict."""


def _mass(scale: Fraction, z: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    b = float(scale)
    return np.asarray(np.exp(-np.abs(z) / b) * math.tanh(1 / (2 * b)))


def _tail(scale: Fraction, z: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """P(Z >= z)."""
    b = float(scale)
    outer = np.exp(-np.maximum(np.abs(z), np.where(z <= 0, np.abs(z) + 1, 0)) / b)
    outer = outer / (1 + math.exp(-1 / b))
    return np.where(z > 0, outer, 1 - outer)


class Losses:
    """log P(verdicts) on one neighbour less that on the other, for many transcripts fast."""

    def __init__(self, threshold: Fraction, noise: Fraction) -> None:
        reach = math.ceil(60 * max(threshold, noise)) + 60
        self._z = np.arange(-reach, reach + 1, dtype=np.float64)
        self._threshold = _mass(threshold, self._z)
        self._noise = noise
        self._known: dict[tuple[int, bool], npt.NDArray[np.float64]] = {}

    def _verdict(self, value: int, passed: bool) -> npt.NDArray[np.float64]:
        """P(verdict | threshold noise z), for all z."""
        if (value, passed) not in self._known:
            # value + noise >= z, or < z: for the symmetric law -noise >= value - z + 1.
            distance = self._z - value if passed else value - self._z + 1
            self._known[value, passed] = _tail(self._noise, distance)
        return self._known[value, passed]

    def log_probability(self, verdicts: Sequence[tuple[int, bool]]) -> float:
        product = self._threshold.copy()
        for value, passed in verdicts:
            product *= self._verdict(value, passed)
        return math.log(product.sum())

    def loss(self, steps: Sequence[Step]) -> float:
        first = self.log_probability([(a, passed) for a, _, passed in steps])
        return first - self.log_probability([(b, passed) for _, b, passed in steps])


def precise_loss(threshold: Fraction, noise: Fraction, steps: Sequence[Step]) -> mpmath.mpf:
    """The same at 40 digits, straight from the definition."""
    with mp.workdps(40):
        b, n = (mpmath.mpf(x.numerator) / x.denominator for x in (threshold, noise))
        reach = math.ceil(100 * max(threshold, noise)) + 60

        @cache
        def tail(z: int) -> mpmath.mpf:
            if z <= 0:
                return 1 - tail(1 - z)
            return mp.exp(-z / n) / (1 + mp.exp(-1 / n))

        totals = [mpmath.mpf(0), mpmath.mpf(0)]
        for z in range(-reach, reach + 1):
            for side in (0, 1):
                product = mp.exp(-abs(z) / b)
                for step in steps:
                    above = tail(z - step[side])
                    product *= above if step[2] else 1 - above
                totals[side] += product
        return mp.log(totals[0] / totals[1])
