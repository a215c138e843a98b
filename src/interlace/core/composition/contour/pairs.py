"""Bounds of |phi| over blocks of t from pairs of masses, whatever the rest of a law is.

|a + b e^(itd)|^2 = (a + b)^2 - 4ab sin^2(td/2) for two masses at distance d; the rest adds at most
its mass. The same holds for two groups of values, d the worst of the distances between them: both
can be split alike into parts of masses in the ratio of a to b.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from interlace.core.composition.contour.rounding import UNIT
from interlace.core.composition.contour.values import Floats

Indices = npt.NDArray[np.int64]

#: How many pairs there are at most.
PAIRS = 64


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of masses, the distance of each over 2 pi, and by how much that may be off."""

    first: Floats
    second: Floats
    gap: Floats
    around: Floats

    @classmethod
    def alike(cls, x: Floats, masses: Floats, away: Floats) -> Pairs:
        """Of about equal masses, the largest ones; ``away`` is by how much ``x`` may be off."""
        kept = np.argsort(-masses, kind="stable")[: 2 * PAIRS]
        last = kept.size // 2 * 2
        return cls._of(x, masses, away, kept[:last:2], kept[1:last:2])

    @classmethod
    def opposite(cls, x: Floats, masses: Floats, away: Floats) -> Pairs:
        """The first with the last, and so on inwards: distances of all sizes."""
        half = np.arange(x.size // 2)
        return cls._of(x, masses, away, half, x.size - 1 - half)

    @classmethod
    def _of(cls, x: Floats, masses: Floats, away: Floats, i: Indices, j: Indices) -> Pairs:
        gap = np.abs(x[j] - x[i]) / (2 * np.pi)
        return cls(masses[i], masses[j], gap, (away[i] + away[j]) / 6)

    def lost(self, low: Floats, high: Floats) -> Floats:
        """By how much |phi| is less than 1 on each block, at least."""
        a, b = self.first, self.second
        y = np.outer((low + high) / 2, self.gap)
        reach = np.outer((high - low) / 2, self.gap) + np.outer(high, self.around)
        reach += 8 * UNIT * (1 + y)
        y = np.maximum(np.abs(y - np.rint(y)) - reach, 0)
        # sin(pi y) >= 3y - 4y^3 on [0, 1/2].
        y *= 3 - 4 * y * y
        return np.asarray(
            ((a + b) - np.sqrt(np.maximum((a + b) ** 2 - 4 * a * b * (y * y), 0))).sum(1)
        )
