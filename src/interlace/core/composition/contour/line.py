"""delta on one line of integration, as an enclosure (FORMULAS 2.11).

For c > 0 and L the loss under P, with F(s) = E[e^(s(L - epsilon))] / (s(s + 1)),
    delta(epsilon) = (1/2 pi) * integral of F(c + it) over t,
and the trapezoid rule of step h gives the sum of e^(cmP) delta(epsilon + mP) over all integers m,
P = 2 pi/h: what it adds has one sign, and Chernoff bounds it. Where L lies on a lattice of spacing
a the integral ends at |t| = pi/a, the kernel being a geometric sum.

Where it does not, nothing proves that |phi| stays small for ever, and what is known of it up to
t = T tells epsilon to some 1/T^2 at best: the loss may be one on a lattice of spacing 2 pi/T. One
more Gaussian mechanism of mu^2 = v, some 20/T^2, makes F fall. With G(s) = e^(v(s^2 + s)/2) it
gives the transform G(s)/(s(s + 1)) of f_v, its profile at L - epsilon, and
    f_v - M <= max(1 - e^-x, 0) <= f_v,  M(x) = (v/2 pi)^(1/2) e^(-x/2 - x^2/2v).
For, with 2h = v^(1/2), u = |x|/2h, n the normal density and R the Mills ratio of its tail to it,
e^(x/2) (f_v(x) - max(1 - e^-x, 0)) = n(u) e^(-h^2/2) (R(u - h) - R(u + h)); R falls and is convex,
so that this is >= 0 and the difference is largest at u = 0, where e^(-h^2/2) times it is
P(|N| <= h)/n(0) <= 2h. The transform of M is v e^(v/8) G(s). So both ends are sums over the same
nodes, with 1/(s(s + 1)) and with 1/(s(s + 1)) - v e^(v/8) in front of G; and as M > 0 the trapezoid
rule only makes E[M(L - epsilon)] larger. A line so cut is as narrow as v times the density of L at
epsilon, whatever the losses are.

Nodes where |phi| is known to be small are not evaluated: their bound widens the enclosure, as
rounding does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from interlace.core.composition.contour.grid import Grid
from interlace.core.composition.contour.kernels import Kernel
from interlace.core.composition.contour.rounding import CHAIN, UNIT, around
from interlace.core.composition.contour.sums import Complexes, Sums, numbers
from interlace.core.composition.contour.values import Cumulants, Floats, Nodes
from interlace.core.interval import ZERO, Interval


@dataclass(frozen=True, eq=False)
class Line:
    """All that does not depend on epsilon: nodes on the line through c, and bounds."""

    kernel: Kernel
    c: float
    step: float
    axis: Cumulants
    t: Floats
    nodes: Nodes
    grid: Grid | None
    """Successive nodes that are not in ``t``."""
    tail: float
    """An upper bound of step/pi times the sum of |phi W| over all other nodes."""
    variance: float
    """mu^2 of the Gaussian mechanism that is in the nodes and not in the loss."""
    rest: float
    """An upper bound of step/pi times the sum of |phi| over all other nodes, for that."""
    shifts: tuple[tuple[float, float], ...]
    """(c' - c, log E[e^(c'L)] + log of the most that e^(-c'x)(1 - e^-x) can be) at other c'."""

    def delta(self, epsilon: Fraction) -> Interval:
        """An enclosure of delta at ``epsilon``."""
        low, high = self.log_delta(epsilon)
        least = around(low, 0.0).exp() if low > -math.inf else ZERO
        return Interval(least.lower, around(high, 0.0).exp().upper).clip(0, 1)

    def log_delta(self, epsilon: Fraction) -> tuple[float, float]:
        """A lower and an upper bound of log delta at ``epsilon``; the lower may be -inf."""
        value, error = self._value(epsilon), self._error(epsilon)
        exponent, past = self._exponents(epsilon)
        lost = self.axis.error + 8 * UNIT * (
            abs(self.axis.value) + self.c * abs(float(epsilon)) + past
        )
        most = (value + error + self.tail) * (1 + 8 * UNIT)
        least = (value - error - self.tail) * math.exp(-past) * (1 - 8 * UNIT)
        least -= self._aliases(float(epsilon)) + self.added(epsilon)
        # What is not a number bounds nothing.
        high = _logarithm(most, 1) + exponent - past + lost if most > 0 else 0.0
        low = _logarithm(least, -1) + exponent - lost if least > 0 else -math.inf
        return low if low <= 0 else -math.inf, min(high, 0.0) if high < math.inf else 0.0

    def about(self, epsilon: Fraction) -> float:
        """The logarithm of delta, in floats; -inf where rounding hides it."""
        value = self._value(epsilon)
        exponent, past = self._exponents(epsilon)
        return math.log(value) + exponent - past if value > 0 else -math.inf

    def _exponents(self, epsilon: Fraction) -> tuple[float, float]:
        """K(c) - c epsilon, and c times the distance to where the kernel starts."""
        past = self.c * float(self.kernel.at(epsilon) - epsilon)
        return self.axis.value - self.c * float(epsilon), past

    def _value(self, epsilon: Fraction) -> float:
        """step/2 pi times the sum over all nodes, in units of e^(K(c) - c at)."""
        at, factors = float(self.kernel.at(epsilon)), self.kernel.coefficients(epsilon)
        return sum(part.about(at, factors) for part in self._sums) * (self.step / math.pi)

    def _error(self, epsilon: Fraction) -> float:
        """How far that may be off."""
        at, factors = float(self.kernel.at(epsilon)), self.kernel.coefficients(epsilon)
        error = sum(part.error(at, factors) for part in self._sums)
        return error * (self.step / math.pi * (1 + CHAIN))

    def added(self, epsilon: Fraction) -> float:
        """An upper bound of what smoothing adds to delta, of E[M(L - epsilon)], in units of
        e^(K(c) - c epsilon)."""
        if not self.variance:
            return 0.0
        at, factors = float(epsilon), [*(0.0 for _ in self.kernel.coefficients(epsilon)), 1.0]
        value = sum(part.about(at, factors) for part in self._sums)
        error = sum(part.error(at, factors) for part in self._sums)
        most = (abs(value) + error) * (self.step / math.pi) * (1 + CHAIN) + self.rest
        return self.variance * math.exp(self.variance / 8) * most * (1 + CHAIN)

    @cached_property
    def _sums(self) -> list[Sums]:
        """phi at t >= 0 with the kernel's functions, and with 1 where something smooths."""
        phi, lost = numbers(self.nodes)
        phi[:1] /= 2  # t = 0 occurs once, all others twice.
        origin = np.zeros(1)
        found = [self._part((origin, self.t), phi[None], lost[None])]
        if self.grid is not None:
            at = (self.grid.row, self.grid.place)
            found.append(self._part(at, self.grid.phi, self.grid.lost))
        return found

    def _part(self, at: tuple[Floats, Floats], phi: Complexes, lost: Floats) -> Sums:
        functions: list[Complexes | None] = [*self.kernel.functions(self.c, np.add.outer(*at))]
        if self.variance:
            functions.append(None)
        return Sums.of(at, phi, lost, functions, self.kernel.rounded(self.c) + CHAIN)

    def _aliases(self, epsilon: float) -> float:
        """An upper bound of what the trapezoid rule adds, in units of e^(K(c) - c epsilon)."""
        period = 2 * math.pi / self.step
        total = 0.0
        for side in (1, -1):
            exponents = [
                (found - self.axis.value - shift * epsilon)
                - abs(shift) * period
                # K(c) may be less, and these numbers may be large.
                + self.axis.error
                + 16 * UNIT * (abs(found) + abs(self.axis.value) + abs(shift) * (epsilon + period))
                for shift, found in self.shifts
                if shift * side > 0
            ]
            shift = min(abs(s) for s, _ in self.shifts if s * side > 0)
            total += math.exp(min(*exponents, 700.0)) / -math.expm1(-shift * period)
        return total * (1 + 1e-9)


def _logarithm(value: float, side: int) -> float:
    """The logarithm, rounded to this side."""
    found = math.log(value)
    return found + side * 32 * UNIT * (1 + abs(found))
