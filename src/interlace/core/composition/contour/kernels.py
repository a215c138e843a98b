"""What max(1 - e^(epsilon - L), 0) becomes on the line s = c + it, for real and lattice losses."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import numpy.typing as npt

from interlace.core.composition.contour.model import Lattice
from interlace.core.composition.contour.rounding import CHAIN, UNIT
from interlace.core.composition.contour.values import Floats

Complexes = npt.NDArray[np.complex128]


class Kernel(Protocol):
    """The factor W with which delta = (1/2 pi) * integral of E[e^(s(L - at))] W(s) dt: a sum of
    functions of t with coefficients that may depend on epsilon."""

    def at(self, epsilon: Fraction) -> Fraction:
        """The point that stands for epsilon in E[e^(s(L - at))]."""

    def functions(self, c: float, t: Floats) -> tuple[Complexes, ...]:
        """The functions of t."""

    def coefficients(self, epsilon: Fraction) -> tuple[float, ...]:
        """Their coefficients, none of them negative."""

    def rounded(self, c: float) -> float:
        """What rounding may have moved W by, relative to the sum of the moduli of its parts."""

    def bounds(self, c: float, t: Floats) -> Floats:
        """Upper bounds of |W| at all arguments >= ``t``, for every epsilon."""


@dataclass(frozen=True)
class RealKernel:
    """1/(s(s + 1)), the transform of max(1 - e^-x, 0)."""

    def at(self, epsilon: Fraction) -> Fraction:
        return epsilon

    def functions(self, c: float, t: Floats) -> tuple[Complexes, ...]:
        return (np.asarray(1 / ((c + 1j * t) * (c + 1 + 1j * t)), dtype=np.complex128),)

    def coefficients(self, epsilon: Fraction) -> tuple[float, ...]:
        del epsilon
        return (1.0,)

    def rounded(self, c: float) -> float:
        del c
        return CHAIN

    def bounds(self, c: float, t: Floats) -> Floats:
        return np.asarray(1 / (np.hypot(c, t) * np.hypot(c + 1, t)))


@dataclass(frozen=True)
class LatticeKernel:
    """The sum over the points of the lattice above epsilon: with x the distance to the first and
    a the spacing, a e^(-sx) ((1 - e^-x) + e^(-sa) (e^-x - e^-a)) / (1 - e^-sa)(1 - e^-(s+1)a).

    e^(-sx) is left to the point ``at``."""

    lattice: Lattice

    def at(self, epsilon: Fraction) -> Fraction:
        return epsilon + self._distance(epsilon)

    def _distance(self, epsilon: Fraction) -> Fraction:
        return (self.lattice.largest - epsilon) % self.lattice.spacing

    def functions(self, c: float, t: Floats) -> tuple[Complexes, ...]:
        a = float(self.lattice.spacing)
        below = _one_minus_exp(c * a, t * a) * _one_minus_exp(c * a + a, t * a)
        first = np.asarray(a / below, dtype=np.complex128)
        turned = np.cos(t * a) - 1j * np.sin(t * a)
        return first, np.asarray(math.exp(-c * a) * turned * first)

    def coefficients(self, epsilon: Fraction) -> tuple[float, ...]:
        x = float(self._distance(epsilon))
        rest = float(self.lattice.spacing - self._distance(epsilon))
        return -math.expm1(-x), -math.expm1(-rest) * math.exp(-x)

    def rounded(self, c: float) -> float:
        return CHAIN + 4 * UNIT * c * float(self.lattice.spacing)

    def bounds(self, c: float, t: Floats) -> Floats:
        a = float(self.lattice.spacing)
        # The two weights add up to 1 - e^-a; both moduli grow up to t = pi/a.
        below = np.minimum(t * a, math.pi)
        moduli = np.abs(_one_minus_exp(c * a, below)) * np.abs(_one_minus_exp(c * a + a, below))
        return np.asarray(a * -math.expm1(-a) / moduli)


def _one_minus_exp(x: float, y: Floats) -> Complexes:
    """1 - e^-(x + iy) for x > 0, without cancellation."""
    fall = math.exp(-x)
    real = -math.expm1(-x) + 2 * fall * np.sin(y / 2) ** 2
    return np.asarray(real + 1j * fall * np.sin(y))
