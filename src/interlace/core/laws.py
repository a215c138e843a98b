"""Noise described as data: integer laws with certified probabilities. Nothing is drawn here.

One description has two interpreters (R9): the centre samples it, the verifier enumerates
it, and the guarantee is computed from it. So the scale of a law is exactly a float64,
rounded *up* from what was asked, and bounded.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Protocol

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, float_up, natural, rational
from interlace.core.interval import ONE, PI, ZERO, Interval

SMALLEST_SCALE = Fraction(1, 2**30)
#: A draw beyond 2**62, where answers are cut off, has probability below exp(-4e6).
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

    size: int = 1

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
    size: int = 1

    def __init__(self, scale: Real) -> None:
        object.__setattr__(self, "scale", scale_up(scale, "scale"))
        object.__setattr__(self, "size", 1)

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
    size: int = 1

    def __init__(self, sigma: Real) -> None:
        object.__setattr__(self, "sigma", scale_up(sigma, "sigma"))
        object.__setattr__(self, "size", 1)

    def _weight(self, z: int) -> Interval:
        return Interval.of(-(z**2) / (2 * self.sigma**2)).exp()

    def pmf(self, z: int) -> Interval:
        return self._weight(z) / _theta(self.sigma)

    def tail(self, z: int) -> Interval:
        if z <= 0:
            return ONE - self.tail(1 - z)
        return (_weights_from(self.sigma, z) / _theta(self.sigma)).clip(0, 1)

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


@lru_cache(maxsize=256)
def _theta(sigma: Fraction) -> Interval:
    """The sum of exp(-z^2 / (2 sigma^2)) over all integers.

    Poisson summation turns it into sigma sqrt(2 pi) (1 + 2 sum_k exp(-2 pi^2 sigma^2 k^2)),
    which converges fast for sigma >= 1; below 1 the sum itself does.
    """
    if sigma < 1:
        ones = _weights_from(sigma, 1)
        return ONE + ones + ones
    q = (-(PI * PI * Interval.of(2 * sigma**2))).exp()
    total = ONE
    for k in range(1, 5):
        total = total + Interval.of(2) * q.power(k * k)
    # The rest is below twice its first term: the ratios are far below 1/2.
    rest = Interval(ZERO.lower, (Interval.of(4) * q.power(25)).upper)
    return Interval.of(sigma) * (Interval.of(2) * PI).sqrt() * (total + rest)


@lru_cache(maxsize=4096)
def _weights_from(sigma: Fraction, start: int) -> Interval:
    """The sum of exp(-z^2 / (2 sigma^2)) over z >= start >= 1.

    Term by term where at most some 8,500 terms count, else as an integral.
    """
    if sigma > 500 and 50 * start < sigma**2:
        return _integral_around(sigma, start)
    precision = 1 / (2 * sigma**2)
    weight = Interval.of(-(start**2) * precision).exp()
    # w(z + 1) = w(z) * ratio(z), and each ratio is the last times one constant.
    ratio = Interval.of(-(2 * start + 1) * precision).exp()
    shrink = Interval.of(-2 * precision).exp()
    total = ZERO
    # In interval's context, rounded up: in the caller's it could be 0, which no weight reaches.
    cut = (Interval.of(weight.upper) * Interval.of(Decimal("1e-64"))).upper
    while weight.upper > cut:
        total = total + weight
        weight, ratio = weight * ratio, ratio * shrink
    # What is left falls at least as fast as a geometric series.
    return total + Interval(ZERO.lower, (weight / (ONE - ratio)).upper)


def _integral_around(sigma: Fraction, start: int) -> Interval:
    """The same sum by the midpoint rule: the integral from a = start - 1/2, less an error.

    The error is the integral of K w'' with a kernel K in [0, 1/8] (Peano). For a >= sigma, w
    is convex and it lies between 0 and -w'(a)/8; else it is at most 1/8 of the integral of
    |w''| over x >= 0, which is 2 exp(-1/2)/sigma < 5/(4 sigma).
    """
    a = start - Fraction(1, 2)
    total = Interval.of(sigma) * _normal_from(a / sigma)
    if a >= sigma:
        slope = Interval.of(a / sigma**2) * Interval.of(-((a / sigma) ** 2) / 2).exp()
        return total - Interval(ZERO.lower, (slope / Interval.of(8)).upper)
    error = Interval.of(Fraction(5, 32) / sigma).upper
    return total + Interval(-error, error)


def _normal_from(t: Fraction) -> Interval:
    """The integral of exp(-x^2 / 2) over x >= t > 0."""
    x, density = Interval.of(t), Interval.of(-t * t / 2).exp()
    if t < 8:
        # From 0 to t it is exp(-t^2/2) times the sum of t^n/n!! over odd n; the terms end
        # below 1e-70 and fall at least sixfold each.
        term = total = x
        for n in range(3, 403, 2):
            term = term * x * x / Interval.of(n)
            total = total + term
        series = density * (total + Interval(ZERO.lower, term.upper))
        return (PI / Interval.of(2)).sqrt() - series
    # Mills' ratio is 1/(t + 1/(t + 2/(t + 3/(t + ...)))); each part lies in [t, t + n/t].
    part = Interval(x.lower, (x + Interval.of(201) / x).upper)
    for n in range(200, 0, -1):
        part = x + Interval.of(n) / part
    return density / part
