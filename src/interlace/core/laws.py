"""Noise described as data: integer laws with certified probabilities. Nothing is drawn here.

One description has two interpreters (R9): the centre samples it, the verifier enumerates
it, and the guarantee is computed from it. So the scale of a law is exactly a float64,
rounded *up* from what was asked, and bounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Protocol

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, float_up, natural, rational
from interlace.core.gaussian_sums import theta, weights_from
from interlace.core.interval import ONE, Interval

SMALLEST_SCALE = Fraction(1, 2**30)
#: A draw beyond 2**62, far within where answers are cut off, has probability below exp(-4e6).
LARGEST_SCALE = Fraction(2**40)


def scale_up(value: Real, name: str) -> Fraction:
    """The least float64 that is not below ``value``, as an exact rational (R9).

    Raises ParameterError, naming ``name``, outside [2**-30, 2**40].

    >>> scale_up(Fraction(1, 3), "scale") > Fraction(1, 3)
    True
    """
    exact = rational(value, name, minimum=SMALLEST_SCALE, maximum=LARGEST_SCALE)
    return Fraction(float_up(exact))


class Law(Protocol):
    """The law of an integer, symmetric about 0. Probabilities are enclosures."""

    def __hash__(self) -> int: ...

    @property
    def size(self) -> int:
        """How many integers one draw has: 1, except for a ``Vector``."""

    def pmf(self, z: int) -> Interval:
        """P(Z = z)."""

    def tail(self, z: int) -> Interval:
        """P(Z >= z)."""

    def cdf(self, z: int) -> Interval:
        """P(Z <= z)."""

    def radius(self, confidence: Fraction) -> int:
        """The least t for which P(|Z| <= t) >= confidence is proven.

        For a Vector: for all cells at once. Raises ParameterError, naming ``confidence``,
        outside (0, 1)."""


@dataclass(frozen=True)
class Point:
    """No noise: always 0."""

    size = 1

    def pmf(self, z: int) -> Interval:
        return Interval.of(int(z == 0))

    def tail(self, z: int) -> Interval:
        return Interval.of(int(z <= 0))

    def cdf(self, z: int) -> Interval:
        return Interval.of(int(z >= 0))

    def radius(self, confidence: Fraction) -> int:
        del confidence
        return 0


@dataclass(frozen=True)
class DiscreteLaplace:
    """P(Z = z) = (1 - r)/(1 + r) r^|z| with r = exp(-1/scale) (FORMULAS 8.2).

    Moving the mean by s changes every probability by at most a factor exp(s/scale).

    >>> law = DiscreteLaplace(10)
    >>> round(law.pmf(0).up(), 6), law.radius(Fraction(19, 20))
    (0.049958, 30)
    """

    scale: Fraction
    size = 1

    def __init__(self, scale: Real) -> None:
        object.__setattr__(self, "scale", scale_up(scale, "scale"))

    def _power(self, z: int) -> Interval:
        return Interval.of(-z / self.scale).exp()

    def pmf(self, z: int) -> Interval:
        r = self._power(1)
        return (ONE - r) / (ONE + r) * self._power(abs(z))

    def tail(self, z: int) -> Interval:
        if z <= 0:
            return ONE - self.tail(1 - z)
        return self._power(z) / (ONE + self._power(1))

    def cdf(self, z: int) -> Interval:
        return self.tail(-z)

    def radius(self, confidence: Fraction) -> int:
        beta = _miss(confidence)
        start = float(self.scale) * math.log(2 / (beta * (1 + math.exp(-1 / self.scale)))) - 1
        return _radius(self, confidence, start)


@dataclass(frozen=True)
class DiscreteGaussian:
    """P(Z = z) proportional to exp(-z^2 / (2 sigma^2)) on the integers (FORMULAS 8.4).

    ``sigma`` is the parameter; the variance is at most its square. Tails are exact up to
    rounding for sigma <= 500 and enclosed within a relative 1e-4 beyond; ``radius`` is then
    at most 1 above the least.

    >>> law = DiscreteGaussian(10)
    >>> round(law.pmf(0).up(), 6), law.radius(Fraction(19, 20))
    (0.039894, 20)
    """

    sigma: Fraction
    size = 1

    def __init__(self, sigma: Real) -> None:
        object.__setattr__(self, "sigma", scale_up(sigma, "sigma"))

    def _weight(self, z: int) -> Interval:
        return Interval.of(-(z**2) / (2 * self.sigma**2)).exp()

    def pmf(self, z: int) -> Interval:
        return self._weight(z) / theta(self.sigma)

    def tail(self, z: int) -> Interval:
        if z <= 0:
            return ONE - self.tail(1 - z)
        return (weights_from(self.sigma, z) / theta(self.sigma)).clip(0, 1)

    def cdf(self, z: int) -> Interval:
        return self.tail(-z)

    def radius(self, confidence: Fraction) -> int:
        beta = _miss(confidence)
        start = -float(self.sigma) * NormalDist().inv_cdf(beta / 2) - 1
        return _radius(self, confidence, start)


@dataclass(frozen=True)
class Vector:
    """``size`` independent draws of one law."""

    law: Law
    size: int

    def __init__(self, law: Law, size: int) -> None:
        if law.size != 1 or isinstance(law, Vector):
            raise ParameterError("law", "a vector is made of scalar laws")
        object.__setattr__(self, "law", law)
        object.__setattr__(self, "size", natural(size, "size"))

    def joint(self, values: Sequence[int]) -> Interval:
        """P(Z = values)."""
        if len(values) != self.size:
            raise ParameterError("values", f"must have {self.size} entries, got {len(values)}")
        product = ONE
        for z in values:
            product = product * self.law.pmf(z)
        return product

    def pmf(self, z: int) -> Interval:
        """Of one cell, like ``tail`` and ``cdf``."""
        return self.law.pmf(z)

    def tail(self, z: int) -> Interval:
        return self.law.tail(z)

    def cdf(self, z: int) -> Interval:
        return self.law.cdf(z)

    def radius(self, confidence: Fraction) -> int:
        # Union bound: each cell misses with at most an equal share.
        return self.law.radius(1 - (1 - _confidence(confidence)) / self.size)


@dataclass(frozen=True)
class Joint:
    """Independent laws side by side, for the parts of a plan."""

    laws: tuple[Law, ...]

    @property
    def size(self) -> int:
        """How many integers one draw has."""
        return sum(law.size for law in self.laws)

    def radii(self, confidence: Fraction) -> tuple[int, ...]:
        """For each law the least t for which all cells of all laws lie within theirs with that
        probability, each cell missing with at most an equal share (a union bound)."""
        miss = (1 - _confidence(confidence)) / self.size
        return tuple(law.radius(1 - miss * law.size) for law in self.laws)


def parts_of(law: Law | Joint) -> tuple[Law, ...]:
    """The laws that stand side by side; one law is its own only part."""
    return law.laws if isinstance(law, Joint) else (law,)


def _confidence(value: Fraction) -> Fraction:
    exact = rational(value, "confidence", above=True, maximum=1)
    if exact == 1:
        raise ParameterError("confidence", "must be below 1: integer noise has no last value")
    return exact


def _miss(confidence: Fraction) -> float:
    """1 - confidence, or what is left of it in a float: a place to start a search from."""
    return max(float(1 - _confidence(confidence)), 1e-300)


@lru_cache(maxsize=1024)
def _radius(law: Law, confidence: Fraction, start: float) -> int:
    """The least t >= 0 with a proven 2 P(Z > t) <= 1 - confidence, sought from ``start``."""
    beta = Interval.of(1 - confidence).lower

    def covers(t: int) -> bool:
        return (law.tail(t + 1) + law.tail(t + 1)).upper <= beta

    high, step = max(0, math.ceil(start)), 1
    while not covers(high):
        high, step = high + step, 2 * step
    low, step = high - 1, 1
    while low >= 0 and covers(low):
        high, low, step = low, low - step, 2 * step
    low = max(low, -1)
    while high - low > 1:
        middle = (high + low) // 2
        low, high = (low, middle) if covers(middle) else (middle, high)
    return high
