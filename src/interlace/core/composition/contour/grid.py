"""Very many successive nodes: phi as a number, not as its logarithm.

Few losses let |phi| fall so little that every node up to the end of the line counts. With
t = a + b, a the first node of a row and b the place in it, e^(ixt) = e^(ixa) e^(ixb): functions
of t that are sums of a few exponentials are products of two narrow matrices. No sine is taken node
by node. Errors are absolute: |phi| of one loss is at most 1, so that where each factor is within
e_i of the true one the product is within prod(1 + e_i) - 1 <= e^(sum e_i) - 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from interlace.core.composition.contour.finite import FiniteLoss
from interlace.core.composition.contour.gaussian import GaussianLoss
from interlace.core.composition.contour.responses import Responses
from interlace.core.composition.contour.rounded import RoundedGaussianLoss
from interlace.core.composition.contour.rounding import CHAIN, UNIT
from interlace.core.composition.contour.sums import Complexes, numbers, turned
from interlace.core.composition.contour.tilted import power
from interlace.core.composition.contour.values import Floats

if TYPE_CHECKING:
    from interlace.core.composition.contour.model import Kind

#: How many losses are multiplied out into exponentials at once.
_TOGETHER = 3
#: Beyond this error a node is only known to be at most 1.
_LOST = 0.25


@dataclass(frozen=True, eq=False)
class Grid:
    """phi at the nodes ``row`` + ``place``, all pairs, and the sum of the absolute errors of its
    factors. Of the last row only as many places count as make ``size`` nodes in all."""

    row: Floats
    place: Floats
    size: int
    phi: Complexes
    error: Floats

    @classmethod
    def of(cls, first: int, last: int, step: float) -> Grid:
        """Of no loss, at the nodes number ``first`` to ``last``."""
        size = last + 1 - first
        places = max(1, math.isqrt(size))
        rows = -(-size // places)
        phi = np.ones((rows, places), dtype=np.complex128)
        phi.ravel()[size:] = 0
        return cls(
            (first + np.arange(float(rows)) * places) * step,
            np.arange(float(places)) * step,
            size,
            phi,
            np.zeros((rows, places)),
        )

    @property
    def t(self) -> Floats:
        return np.asarray(np.add.outer(self.row, self.place))

    def plus(self, kinds: Sequence[Kind], c: float) -> Grid:
        """With more losses, under the law tilted by ``c``."""
        phi, error = self.phi.copy(), self.error.copy()
        for kind in kinds:
            if isinstance(kind, Responses):
                self._times(kind, c, phi, error)
            elif isinstance(kind, GaussianLoss):
                self._times_normal(kind, c, phi, error)
            elif isinstance(kind, FiniteLoss | RoundedGaussianLoss):
                factor, lost = kind.numbers(c, self.row, self.place)
                phi *= factor
                error += lost
            else:
                factor, lost = numbers(kind.nodes(c, self.t.ravel()))
                phi *= factor.reshape(phi.shape)
                error += lost.reshape(phi.shape)
        return replace(self, phi=phi, error=error)

    def _times(self, losses: Responses, c: float, phi: Complexes, error: Floats) -> None:
        """cos(x) + i tau sin(x) = ((1 + tau)/2) e^(ix) + ((1 - tau)/2) e^(-ix), x = epsilon t."""
        epsilon, count = losses.epsilon, losses.count
        down = 1 / (1 + np.exp(np.minimum(2 * epsilon * (c + 0.5), 700.0)))
        once = np.flatnonzero(count == 1)
        for i in range(0, once.size, _TOGETHER):
            phi *= self._factor(epsilon[once[i : i + _TOGETHER]], down[once[i : i + _TOGETHER]])
        # Both exponentials' arguments are off by some roundings of x.
        error += once.size * CHAIN * 2
        error += self.t * (float(epsilon[once].sum()) * 16 * UNIT * (1 + 1e-9))
        for i in np.flatnonzero(count != 1).tolist():
            factor = self._factor(epsilon[i : i + 1], down[i : i + 1])
            phi *= power(factor, int(count[i]))
            off = 2 * CHAIN + self.t * (float(epsilon[i]) * 16 * UNIT * (1 + 1e-9))
            # (|f| + d)^n - |f|^n is at most n d (|f| + d)^(n - 1).
            exponent = (float(count[i]) - 1) * np.log(np.abs(factor) * (1 + CHAIN) + off)
            error += float(count[i]) * off * np.exp(np.clip(exponent, -690.0, 690.0)) * (1 + 1e-6)

    def _times_normal(self, loss: GaussianLoss, c: float, phi: Complexes, error: Floats) -> None:
        """e^(-mu^2 t^2/2 + i mu^2 (c + 1/2) t), FORMULAS 2.11."""
        t, turn = self.t, (c + 0.5) * loss.mu_squared
        phi *= np.exp(t * t * (-loss.mu_squared / 2))
        phi *= turned(self.row * turn)[:, None]
        phi *= turned(self.place * turn)
        # x e^-x is less than 1.
        error += 2 * CHAIN
        error += t * (turn * 16 * UNIT)

    def _factor(self, epsilon: Floats, down: Floats) -> Complexes:
        place, weight = np.zeros(1), np.ones(1)
        for e, q in zip(epsilon.tolist(), down.tolist(), strict=True):
            place = np.concatenate([place + e, place - e])
            weight = np.concatenate([weight * (1 - q), weight * q])
        rows = turned(np.outer(self.row, place)) * weight
        return np.asarray(rows @ turned(np.outer(place, self.place)))

    @property
    def lost(self) -> Floats:
        """The absolute errors of phi."""
        lost = np.where(self.error < _LOST, np.expm1(np.minimum(self.error, 1.0)), 2.0)
        lost.ravel()[self.size :] = 0
        return np.asarray(lost * (1 + CHAIN))
