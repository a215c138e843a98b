"""A privacy loss with finitely many values, and the same one many times."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from interlace.core.composition.contour.rounding import UNIT
from interlace.core.composition.contour.sums import Complexes
from interlace.core.composition.contour.tilted import Law, Tilted
from interlace.core.composition.contour.values import Cumulants, Floats, Nodes


@dataclass(frozen=True, eq=False)
class FiniteLoss:
    """``values`` ascending, the logarithms of their masses under P (which may add up to less than
    1), and how often this loss occurs. Floats within a rounding of the exact numbers, and so is
    ``log_total``, the logarithm of the sum of the masses."""

    values: Floats
    log_masses: Floats
    count: float
    log_total: float | None = None

    @property
    def size(self) -> int:
        return int(self.values.size)

    @cached_property
    def law(self) -> Law:
        values, errors = UNIT * np.abs(self.values), UNIT * np.abs(self.log_masses)
        if self.log_total is not None:
            missed = UNIT * abs(self.log_total)
            return Law(self.values, values, self.log_masses, errors, self.log_total, missed)
        most = float(self.log_masses.max())
        masses = np.exp(self.log_masses - most)
        total = most + float(np.log(masses.sum()))
        missed = float((masses / masses.sum()) @ errors) * 2 + (self.size + 64) * 2 * UNIT
        missed += 4 * UNIT * (abs(most) + abs(total))
        return Law(self.values, values, self.log_masses, errors, total, missed)

    @cached_property
    def _known(self) -> dict[float, Tilted]:
        return {}

    def _tilted(self, c: float) -> Tilted:
        if c not in self._known:
            self._known.clear()
            self._known[c] = self.law.tilted(c)
        return self._known[c]

    def cumulants(self, c: float) -> Cumulants:
        found, n = self._tilted(c), self.count
        value, error = self.law.log_moment(c)
        rounded = 4 * UNIT * abs(n * value)
        return Cumulants(n * value, n * found.mean, n * found.bend, n * error + rounded)

    def moved(self, c: float) -> float:
        """The mean number of values below the largest under the law tilted by c."""
        exponent = c * (self.values - self.values[-1]) + (self.log_masses - self.log_masses[-1])
        others = float(np.exp(np.minimum(exponent[:-1], 600.0)).sum())
        return self.count * others / (1 + others)

    def nodes(self, c: float, t: Floats) -> Nodes:
        return self._tilted(c).nodes(self.count, t)

    def numbers(self, c: float, row: Floats, place: Floats) -> tuple[Complexes, Floats]:
        """phi at ``row`` + ``place``, all pairs, and bounds of its absolute errors."""
        return self._tilted(c).numbers(int(self.count), row, place)

    def log_bounds(self, c: float, low: Floats, high: Floats) -> Floats:
        return self._tilted(c).log_bounds(self.count, low, high)
