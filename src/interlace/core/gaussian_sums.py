"""Sums over the discrete Gaussian's weights exp(-z^2 / (2 sigma^2)), enclosed; nothing else.

The weights are not normalised: ``laws`` divides one sum by another (FORMULAS 8.4).
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from interlace.core.interval import ONE, PI, ZERO, Interval


@lru_cache(maxsize=256)
def theta(sigma: Fraction) -> Interval:
    """The sum of exp(-z^2 / (2 sigma^2)) over all integers.

    Poisson summation turns it into sigma sqrt(2 pi) (1 + 2 sum_k exp(-2 pi^2 sigma^2 k^2)),
    which converges fast for sigma >= 1; below 1 the sum itself does.
    """
    if sigma < 1:
        ones = weights_from(sigma, 1)
        return ONE + ones + ones
    q = (-(PI * PI * Interval.of(2 * sigma**2))).exp()
    total = ONE
    for k in range(1, 5):
        total = total + Interval.of(2) * q.power(k * k)
    # The rest is below twice its first term: the ratios are far below 1/2.
    rest = Interval(ZERO.lower, (Interval.of(4) * q.power(25)).upper)
    return Interval.of(sigma) * (Interval.of(2) * PI).sqrt() * (total + rest)


@lru_cache(maxsize=4096)
def weights_from(sigma: Fraction, start: int) -> Interval:
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
