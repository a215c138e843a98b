"""Two-point losses in arrays: +-epsilon_i, n_i times each, by their log-moments.

With P(+epsilon) = 1/(1 + e^-epsilon), log E[e^(sL)] = log cosh(epsilon(s + 1/2)) - log
cosh(epsilon/2) (FORMULAS 2.11). On the line s = c + it and under the law tilted by c, the
characteristic function of one loss is cos(x) + i tau sin(x), x = epsilon t and
tau = tanh(epsilon(c + 1/2)). Everything comes with a bound of what rounding may have lost.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from interlace.core.composition.contour.rounding import CHAIN, UNIT, product, summed
from interlace.core.composition.contour.values import Cumulants, Floats, Nodes

#: Where e^(2x) is so large that hyperbolic functions are their exponential halves.
_FAR = 15.0
_LARGEST_COSH = 350.0
#: An angle, in radians; blocks whose widths differ by this factor count as equally wide.
_HALF_AROUND, _ALIKE = 1.6, 1.01
#: How many numbers of a table of nodes by losses are held at once, and of one of blocks.
_TABLE = 1 << 19
_CACHED = 1 << 15


@dataclass(frozen=True, eq=False)
class Responses:
    """``epsilon`` > 0, ascending, and how often each occurs: a weight, which may be negative where
    it comes from an interpolation. Floats within a rounding of the exact parameters."""

    epsilon: Floats
    count: Floats
    spread: Floats | None = None
    """Where one epsilon stands for many: how far they lie from it at most. For bounds only."""

    @property
    def size(self) -> int:
        return int(self.epsilon.size)

    @cached_property
    def _weights(self) -> Floats:
        return np.abs(self.count)

    def cumulants(self, c: float) -> Cumulants:
        """log E[e^(cL)], its first two derivatives, and a bound of the error of the first."""
        if self.epsilon.size == 1 and self.epsilon[0] * (abs(c) + 1) < _FAR:
            return self._one(c)
        e, n = self.epsilon, self.count
        x = e * c
        near = np.minimum(x, _FAR)
        half = np.sinh(near / 2)
        value = np.log1p(2 * half * half + np.tanh(e / 2) * np.sinh(near))
        if x.size and x.max() > _FAR:
            # p e^x + q e^-x = e^x (1 + q (e^-2x - 1)).
            far = x + np.log1p(np.expm1(-2 * x) / (1 + np.exp(np.minimum(e, 700.0))))
            value = np.where(x > _FAR, far, value)
        y = e * (c + 0.5)
        slope = e * np.tanh(y)
        bend = (e / np.cosh(np.minimum(y, _LARGEST_COSH))) ** 2
        error = float(self._weights @ value) * summed(e.size)
        return Cumulants(float(n @ value), float(n @ slope), float(n @ bend), error)

    def _one(self, c: float) -> Cumulants:
        """The same for one epsilon that is not large, without arrays: plans grow by one loss."""
        e, n = float(self.epsilon[0]), float(self.count[0])
        half, y = math.sinh(e * c / 2), e * (c + 0.5)
        value = math.log1p(2 * half * half + math.tanh(e / 2) * math.sinh(e * c))
        bend = (e / math.cosh(y)) ** 2
        error = abs(n) * value * summed(1)
        return Cumulants(n * value, n * e * math.tanh(y), n * bend, error)

    def moved(self, c: float) -> float:
        """The mean number of -epsilon under the law tilted by c."""
        return float(self.count @ (0.5 - np.tanh(self.epsilon * (c + 0.5)) / 2))

    def nodes(self, c: float, t: Floats) -> Nodes:
        """log phi(t) of the tilted law at ``t`` >= 0, in its two real parts."""
        size = max(1, _TABLE // max(1, self.epsilon.size))
        parts = [self._some_nodes(c, t[i : i + size]) for i in range(0, t.size, size)]
        return Nodes.joined(parts)

    def _some_nodes(self, c: float, t: Floats) -> Nodes:
        y = self.epsilon * (c + 0.5)
        tau = np.tanh(y)
        drop = 1 / np.cosh(np.minimum(y, _LARGEST_COSH)) ** 2
        x = np.outer(t, self.epsilon)
        sine, cosine = np.sin(x), np.cos(x)
        lost = drop * sine * sine
        # 1 - drop sin^2, without cancellation where it is small.
        left = cosine * cosine + (tau * sine) ** 2
        # x is off by the roundings of epsilon, of t (four, on a lattice), and its own.
        slack = CHAIN + 8 * UNIT * x
        known = left > (40 * slack) ** 2
        safe = np.where(known, left, (np.sqrt(left) + 2 * slack) ** 2)
        # Where the angle is unknown the modulus has to be a bound.
        log_modulus = np.where(lost < 0.5, np.log1p(-np.minimum(lost, 0.5)), np.log(safe)) / 2
        phase = np.arctan2(tau * sine, cosine)
        # Relative errors of the parts, and of x, carried through the derivatives.
        turned = np.abs(sine * cosine)
        moved = CHAIN * (lost + tau * turned) + 8 * UNIT * x * (drop * turned + tau)
        error = product(np.where(known, moved / safe, 0.0), self._weights)
        sums = summed(self.epsilon.size) * product(
            np.abs(log_modulus) + np.abs(phase), self._weights
        )
        return Nodes.settled(
            product(log_modulus, self.count),
            product(phase, self.count),
            error + sums,
            known.all(axis=1),
        )

    def log_bounds(self, c: float, low: Floats, high: Floats) -> Floats:
        """Upper bounds of log |phi| on each [low, high]; needs counts >= 0.

        |phi|^2 = 1 - sin^2(x)/cosh^2(epsilon(c + 1/2)), and sin^2(pi u) grows with the distance y
        of u to the nearest integer: sin(pi y) >= 3y - 4y^3 on [0, 1/2].
        """
        if self.spread is not None and self.size:
            # Where each stands for angles that go half around, they say nothing.
            near = low * float(self.spread.min()) < _HALF_AROUND
            if not near.all():
                bound = np.zeros(low.size)
                if near.any():
                    bound[near] = self.log_bounds(c, low[near], high[near])
                return bound
        rows = max(1, _CACHED // max(1, self.size))
        parts = [
            self._some_bounds(c, low[i : i + rows], high[i : i + rows])
            for i in range(0, low.size, rows)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def _some_bounds(self, c: float, low: Floats, high: Floats) -> Floats:
        spread = np.zeros(self.size) if self.spread is None else self.spread
        most = (self.epsilon + spread) / np.pi
        drop = (1 - CHAIN) / np.cosh(np.minimum(np.pi * most * (c + 0.5), _LARGEST_COSH)) ** 2
        middle = (low + high) / 2
        y = np.outer(middle, self.epsilon / np.pi)
        # Half a block; and what rounding, and another epsilon, may move y by.
        reach = (high - low) / 2 + middle * (8 * UNIT)
        if self.spread is None and reach.max() <= reach.min() * _ALIKE:
            around = float(reach.max()) * most + 8 * UNIT
        else:
            around = np.outer(reach, most) + 8 * UNIT
        if self.spread is not None:
            around += np.outer(middle, spread / np.pi)
        y -= np.rint(y)
        np.abs(y, out=y)
        y -= around
        np.maximum(y, 0, out=y)
        y *= 3 - 4 * y * y
        lost = drop * (y * y)
        if self._once:
            # One logarithm a block; a product that vanishes bounds nothing.
            bound = np.log(np.maximum((1 - lost).prod(axis=1), 1e-300)) / 2
        else:
            # Of many losses the tiniest part counts: 1 - lost may not be rounded.
            bound = product(np.log1p(-lost), self.count) / 2
        return np.asarray(bound * (1 - summed(self.epsilon.size)))

    @cached_property
    def _once(self) -> bool:
        return bool((self.count == 1).all())
