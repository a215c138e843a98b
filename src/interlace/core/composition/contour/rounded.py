"""The privacy loss of a Gaussian that was rounded to integers: all cells that count at a tilt.

With P(x) = W(x)/N the mass of the cell of x around 0, Q(x) = P(x + shift), W(x) =
e^(-x^2/(2 sigma^2)) S(x) and S(x) the integral over |u| <= 1/2 of cosh(xu/sigma^2)
e^(-u^2/(2 sigma^2)), the loss of x is shift (2x + shift)/(2 sigma^2) + log S(x) - log S(x + shift).
With y = (x/(2 sigma^2))^2, S(x)/S(0) = 1 + b_1 y + b_2 y^2 + ... where b_k = 4^k m_2k/((2k)! m_0),
m_2k the integral of u^2k e^(-u^2/(2 sigma^2)) over |u| <= 1/2: all terms are positive, so that floats
sum them without cancellation, and b_k <= 1/(2k)! as |2u| <= 1.

What lies beyond the cells of x in [-r, c shift + r], r = 16 sigma: under P it is at most twice the
normal tail T beyond r. Tilted by c it is at most e^(c(c+1) mu^2/2) 2T, mu = shift/sigma, for
a^(1+c) b^(-c) is convex in (a, b) and homogeneous: P(x)^(1+c) Q(x)^(-c) of a cell is at most the
integral of the same of both densities over it, and that is e^(c(c+1) mu^2/2) times the mass of the
cell under a normal law around c shift. Likewise E[e^(cL)] is between 1 and e^(c(c+1) mu^2/2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from interlace.core.composition.contour.gaussian import GaussianLoss
from interlace.core.composition.contour.rounding import CHAIN, UNIT
from interlace.core.composition.contour.sums import Complexes
from interlace.core.composition.contour.tilted import Law, Tilted
from interlace.core.composition.contour.values import Cumulants, Floats, Nodes
from interlace.core.guarantees.losses.normal_blocks import cell_moments
from interlace.core.interval import Interval

#: How far cells are looked at, in sigmas, and the normal tail beyond that (it is 6.4e-58).
_REACH, _TAIL = 16, 1e-57
#: A tilt by more than so many sigmas is left to the bounds.
_FARTHEST = 60.0
#: The series ends where its next term is less than this.
_CUT = 1e-30


@dataclass(frozen=True)
class RoundedGaussianLoss:
    """``count`` answers with noise of this ``sigma`` >= 1, the exact values ``shift`` apart."""

    sigma: Fraction
    shift: int
    count: int

    @property
    def size(self) -> int:
        """How many cells count, about."""
        return 25 * math.ceil(self.sigma)

    @property
    def _mu_squared(self) -> float:
        return float((self.shift / self.sigma) ** 2)

    def _far(self, c: float) -> bool:
        return c * float(self.shift / self.sigma) > _FARTHEST

    @cached_property
    def _tilts(self) -> Callable[[float], tuple[Tilted, float, float]]:
        return lru_cache(maxsize=64)(self._tilt)

    def _tilt(self, c: float) -> tuple[Tilted, float, float]:
        """The tilted law of one answer, log E[e^(cL)] and a bound of its error."""
        law = _cells(self.sigma, self.shift, math.ceil(c * self.shift))
        value, error = law.log_moment(c)
        most = c * (c + 1) * self._mu_squared / 2 * (1 + CHAIN)
        # Of the whole, which is not less than what was found.
        missed = 3 * _TAIL * (1 + math.exp(min(most - value + error, 700.0)))
        return law.tilted(c, missed), value, error + 2 * missed

    def cumulants(self, c: float) -> Cumulants:
        n = self.count
        if self._far(c):
            normal = GaussianLoss(n * self._mu_squared).cumulants(c)
            half = normal.value / 2
            return Cumulants(half, normal.slope, normal.bend, half + 2 * normal.error)
        tilted, value, error = self._tilts(c)
        rounded = 4 * UNIT * abs(n * value)
        return Cumulants(n * value, n * tilted.mean, n * tilted.bend, n * error + rounded)

    def moved(self, c: float) -> float:
        """It has no largest value."""
        del c
        return math.inf

    def nodes(self, c: float, t: Floats) -> Nodes:
        if self._far(c):
            nothing = np.zeros(t.size)
            return Nodes.settled(nothing, nothing, nothing, nothing > 0)
        return self._tilts(c)[0].nodes(self.count, t)

    def numbers(self, c: float, row: Floats, place: Floats) -> tuple[Complexes, Floats]:
        """phi at ``row`` + ``place``, all pairs, and bounds of its absolute errors."""
        if self._far(c):
            shape = row.size, place.size
            return np.ones(shape, dtype=np.complex128), np.full(shape, 2.0)
        return self._tilts(c)[0].numbers(self.count, row, place)

    def log_bounds(self, c: float, low: Floats, high: Floats) -> Floats:
        if self._far(c):
            return np.zeros(low.size)
        return self._tilts(c)[0].log_bounds(self.count, low, high)


@lru_cache(maxsize=8)
def _cells(sigma: Fraction, shift: int, middle: int) -> Law:
    """The cells from -16 sigma to 16 sigma beyond ``middle``. The tilt need not be known better."""
    reach = math.ceil(_REACH * sigma)
    x = np.arange(-reach, middle + reach + 1.0)
    # A round number, so that few series are made.
    farthest = reach << (1 + (middle + shift) // reach).bit_length()
    sums, relative = _log_sums(sigma, farthest)
    here, there = sums(x), sums(x + shift)
    line = (2 * x + shift) * float(shift / (2 * sigma**2))
    fall = x * x * float(1 / (2 * sigma**2))
    values, logs = line + (here - there), here - fall
    value_errors = 4 * UNIT * (np.abs(line) + np.abs(values)) + (here + there) * (relative + UNIT)
    log_errors = here * relative + 4 * UNIT * (fall + np.abs(logs))
    return Law(values, value_errors, logs, log_errors)


@lru_cache(maxsize=32)
def _log_sums(sigma: Fraction, farthest: int) -> tuple[Callable[[Floats], Floats], float]:
    """log S(x)/S(0) for |x| <= ``farthest``, and a bound of its relative error.

    The first term is at least y/9 (m_2 >= m_0 e^(-1/8)/12), so that what follows the last one, at
    most twice the bound of the first left out, is a part of it.
    """
    scale = float(1 / (2 * sigma**2))
    last = (farthest * scale * (1 + CHAIN)) ** 2
    moment = cell_moments(sigma)
    whole = moment(0)
    coefficients: list[float] = []
    k, bound = 1, 0.5
    # ``bound`` is last^(k - 1)/(2k)!.
    while bound > _CUT or 2 * last > (2 * k + 1) * (2 * k + 2):
        factor = Interval.of(Fraction(4**k, math.factorial(2 * k)))
        coefficients.append(float((moment(k) / whole * factor).upper))
        k += 1
        bound *= last / ((2 * k - 1) * (2 * k))
    coefficients.reverse()

    def value(x: Floats) -> Floats:
        y = (x * scale) ** 2
        total = np.zeros(x.size)
        for coefficient in coefficients:
            total = total * y + coefficient
        return np.log1p(total * y)

    return value, (10 * k + 16) * UNIT + CHAIN
