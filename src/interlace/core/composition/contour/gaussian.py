"""The privacy loss of Gaussian mechanisms together: normal, with variance mu^2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from interlace.core.composition.contour.rounding import CHAIN
from interlace.core.composition.contour.values import Cumulants, Floats, Nodes


@dataclass(frozen=True)
class GaussianLoss:
    """mu-GDP: log E[e^(sL)] = s(s + 1) mu^2/2 (FORMULAS 2.11), mu^2 within a rounding."""

    mu_squared: float
    size = 1

    def cumulants(self, c: float) -> Cumulants:
        value = c * (c + 1) * self.mu_squared / 2
        return Cumulants(value, (c + 0.5) * self.mu_squared, self.mu_squared, value * CHAIN)

    def nodes(self, c: float, t: Floats) -> Nodes:
        fall, turn = t * t * self.mu_squared / 2, t * ((c + 0.5) * self.mu_squared)
        return Nodes.settled(-fall, turn, CHAIN * (fall + turn))

    def log_bounds(self, c: float, low: Floats, high: Floats) -> Floats:
        del c, high
        return np.asarray(-low * low * (self.mu_squared / 2 * (1 - CHAIN)))

    def moved(self, c: float) -> float:
        """It has no largest value."""
        del c
        return np.inf if self.mu_squared else 0.0
