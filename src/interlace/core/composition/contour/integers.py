"""The privacy loss of discrete Gaussian noise that is wide enough to be almost a normal law.

With a = s * shift, E[e^(sL)] = e^(s(s + 1) mu^2/2) * theta(a)/theta(0), mu = shift/sigma, where by
Poisson summation theta(a) is proportional to the sum over k of e^(-2 pi^2 sigma^2 k^2) cos(2 pi k a):
1 but for a part that is tiny until t comes near pi sigma^2/shift. The loss lies on a lattice of
spacing shift/sigma^2, so that |phi| has the period 2 pi sigma^2/shift.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from interlace.core.composition.contour.gaussian import GaussianLoss
from interlace.core.composition.contour.rounding import CHAIN
from interlace.core.composition.contour.values import Cumulants, Floats, Nodes


@dataclass(frozen=True)
class DiscreteGaussianLoss:
    """``count`` answers with noise of this ``sigma`` >= 4 (so that e^(-2 pi^2 sigma^2) is below
    1e-137), the exact values ``shift`` apart."""

    sigma: float
    shift: int
    count: int
    size = 1

    @property
    def _normal(self) -> GaussianLoss:
        return GaussianLoss(self.count * (self.shift / self.sigma) ** 2)

    @property
    def _half(self) -> float:
        """Half the period of |phi|."""
        return math.pi * self.sigma * self.sigma / self.shift

    def _ripple(self, t: Floats) -> Floats:
        """A bound of |theta(a)/theta(0) - 1| for |t| up to half the period: of the sum over k the
        first term is the largest there, and each later one less than a hundredth of it."""
        exponent = 2 * math.pi * (np.abs(t) * self.shift - math.pi * self.sigma * self.sigma)
        return np.asarray(3 * np.exp(np.minimum(exponent * (1 - CHAIN) + CHAIN, 0.1)))

    def cumulants(self, c: float) -> Cumulants:
        found = self._normal.cumulants(c)
        more = self.count * float(self._ripple(np.zeros(1))[0])
        return found + Cumulants(0.0, 0.0, 0.0, 2 * more)

    def moved(self, c: float) -> float:
        """It has no largest value."""
        del c
        return math.inf

    def nodes(self, c: float, t: Floats) -> Nodes:
        period = 2 * self._half
        turns = np.rint(t / period)
        near = t - period * turns
        found = self._normal.nodes(c, np.abs(near))
        # A whole period turns each loss by pi * shift.
        phase = np.sign(near) * found.phase + self.count * math.pi * ((turns * self.shift) % 2)
        ripple = self._ripple(near)
        moved = CHAIN * t * self.count * (c + 1 + np.abs(near)) * (self.shift / self.sigma) ** 2
        small = ripple < 0.25
        # log(1 + x) for small x; else nothing is known but a bound of the modulus.
        error = np.where(small, 4 * ripple, 2 * np.log1p(ripple)) * self.count + moved
        return found + Nodes.settled(np.zeros(t.size), phase - found.phase, error, small)

    def log_bounds(self, c: float, low: Floats, high: Floats) -> Floats:
        """|phi| falls like the normal one to half the period, and rises again as it fell."""
        period = 2 * self._half
        middle, reach = (low + high) / 2, (high - low) / 2 * (1 + CHAIN) + CHAIN * high
        near = np.abs(middle - period * np.rint(middle / period))
        first, last = np.maximum(near - reach, 0), np.minimum(near + reach, self._half)
        bound = self._normal.log_bounds(c, first, last)
        more = np.log1p(self._ripple(last)) + 2 * self._ripple(np.zeros(1))
        return np.asarray(bound + self.count * more)
