"""A privacy loss with finitely many values, and the same one many times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from interlace.core.composition.contour.rounding import CHAIN, UNIT, summed
from interlace.core.composition.contour.values import Cumulants, Floats, Nodes

#: How many pairs of values bound |phi|, and how many numbers are held at once.
_PAIRS, _TABLE = 64, 1 << 19


@dataclass(frozen=True, eq=False)
class FiniteLoss:
    """``values`` ascending, the logarithms of their masses under P (which may add up to less than
    1), and how often this loss occurs. Floats within a rounding of the exact numbers."""

    values: Floats
    log_masses: Floats
    count: float

    @property
    def size(self) -> int:
        return int(self.values.size)

    @cached_property
    def _farthest(self) -> float:
        return float(np.abs(self.values).max())

    def _tilted(self, c: float) -> tuple[Floats, float]:
        """The masses tilted by c, adding up to 1, and the logarithm of what they were divided by."""
        exponent = c * self.values + self.log_masses
        most = float(exponent.max())
        weights = np.exp(exponent - most)
        total = float(weights.sum())
        return weights / total, most + float(np.log(total))

    def cumulants(self, c: float) -> Cumulants:
        weights, value = self._tilted(c)
        mean = float(weights @ self.values)
        bend = float(weights @ (self.values - mean) ** 2)
        error = self._relative(c)
        n = self.count
        return Cumulants(n * value, n * mean, n * bend, n * error + abs(n * value) * CHAIN)

    def moved(self, c: float) -> float:
        """The mean number of values below the largest under the law tilted by c."""
        return self.count * float(self._tilted(c)[0][:-1].sum())

    def _relative(self, c: float) -> float:
        """A bound of the relative error of a tilted mass, and of their sum."""
        moved = c * self._farthest + float(np.abs(self.log_masses).max())
        return 8 * UNIT * moved + summed(self.size)

    def nodes(self, c: float, t: Floats) -> Nodes:
        weights, _ = self._tilted(c)
        size = max(1, _TABLE // self.size)
        parts = [self._some_nodes(c, weights, t[i : i + size]) for i in range(0, t.size, size)]
        return Nodes.joined(parts)

    def _some_nodes(self, c: float, weights: Floats, t: Floats) -> Nodes:
        middle = float(weights @ self.values)
        x = np.outer(t, self.values - middle)
        real, imaginary = np.cos(x) @ weights, np.sin(x) @ weights
        modulus = np.hypot(real, imaginary)
        lost = 2 * self._relative(c) + 16 * UNIT * t * self._farthest
        known = modulus > 20 * lost
        error = np.where(known, 2 * lost / np.where(known, modulus, 1.0), 0.0)
        # Where the angle is unknown the modulus has to be a bound.
        log_modulus = np.log(np.where(known, modulus, modulus + lost))
        phase = np.arctan2(imaginary, real) + t * middle
        n = self.count
        rounded = CHAIN * (1 + np.abs(log_modulus) + np.abs(phase))
        return Nodes.settled(n * log_modulus, n * phase, n * (error + rounded), known)

    def log_bounds(self, c: float, low: Floats, high: Floats) -> Floats:
        """|a + b e^(itd)|^2 = (a + b)^2 - 4ab sin^2(td/2) for two values at distance d; the rest
        adds at most its mass."""
        weights, _ = self._tilted(c)
        kept = np.sort(np.argsort(-weights)[: 2 * _PAIRS])
        half = kept.size // 2
        first, second = kept[:half], kept[half : 2 * half]
        a, b = weights[first], weights[second]
        gap = (self.values[second] - self.values[first]) / (2 * np.pi)
        y = np.outer((low + high) / 2, gap)
        far = 8 * UNIT * (1 + high * self._farthest)
        around = np.outer((high - low) / 2, gap) + far[:, None]
        y = np.maximum(np.abs(y - np.rint(y)) - around, 0)
        y *= 3 - 4 * y * y
        lost = (a + b) - np.sqrt(np.maximum((a + b) ** 2 - 4 * a * b * (y * y), 0))
        bound = 1 - lost.sum(axis=1) * (1 - 4 * self._relative(c)) + summed(self.size)
        return np.asarray(self.count * np.log(np.minimum(bound, 1.0)))
