"""Tails of the normal law, on the line and on the integers, enclosed at any sigma.

No guarantee is computed here. Relative widths are below 1e-25 down to tails of 1e-340, which
is what a delta of 1e-300 needs.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache

from interlace.core.gaussian_sums import theta, weights_from
from interlace.core.interval import ONE, PI, ZERO, Interval

_HALF, _TWO = Interval.of(Fraction(1, 2)), Interval.of(2)
ROOT_TWO_PI = (_TWO * PI).sqrt()
#: Where the power series of a normal tail hands over to the continued fraction.
_SERIES_BELOW = 5
#: No delta can tell the tail beyond so many sigma from 0.
_FARTHEST = 10**8
#: Up to here the integers are summed one by one, down to 1e-360.
_TABLE_SIGMA, _TABLE_WIDTH = 64, 41
#: Beyond, the Euler-Maclaurin sum has so many terms.
_ORDER = 15
_CUT = Decimal("1e-64")


@lru_cache(maxsize=512)
def normal_weight(t: Fraction) -> Interval:
    """The integral of exp(-x^2/2) over x >= t >= 0.

    >>> (normal_weight(Fraction(0)) * normal_weight(Fraction(0)) * _TWO / PI).contains(1)
    True
    """
    if t > _FARTHEST:
        return Interval(Decimal(0), normal_weight(Fraction(_FARTHEST)).upper)
    x, density = Interval.of(t), Interval.of(-t * t / 2).exp()
    if t < _SERIES_BELOW:
        return ROOT_TWO_PI * _HALF - density * _series(x)
    # 1/(x + 1/(x + 2/(x + 3/(x + ...)))): each remainder from n on lies in [x, x + n/x], and
    # after n steps the two differ by a factor of about exp(-2 x sqrt(2 n)).
    depth = 12 + math.ceil(2500 / (t * t))
    value = Interval(x.lower, (x + Interval.of(depth) / x).upper)
    for k in range(depth - 1, 0, -1):
        value = x + Interval.of(k) / value
    return density / value


def _series(x: Interval) -> Interval:
    """x + x^3/3 + x^5/(3 5) + ..., until what follows is below 1e-64 of it."""
    term = total = x
    square = x * x
    odd = 1
    while odd < square.upper * 2 or term.upper > total.upper * _CUT:
        odd += 2
        term = term * square / Interval.of(odd)
        total = total + term
    # The ratios are below 1/2 from here on.
    return total + Interval(Decimal(0), term.upper)


def normal_tail(t: Fraction) -> Interval:
    """The chance that a standard normal variable exceeds t, of any sign."""
    if t < 0:
        return (ONE - normal_tail(-t)).clip(0, 1)
    return normal_weight(t) / ROOT_TWO_PI


def integer_tail(sigma: Fraction, m: int) -> Interval:
    """The chance that a discrete Gaussian is at least m, of any sign.

    >>> whole = integer_tail(Fraction(3), 1) + integer_tail(Fraction(3), 0)
    >>> whole.contains(1)
    True
    """
    if m <= 0:
        return (ONE - integer_tail(sigma, 1 - m)).clip(0, 1)
    return (_weights(sigma, m) / theta(sigma)).clip(0, 1)


def _weights(sigma: Fraction, m: int) -> Interval:
    """The sum of exp(-z^2/(2 sigma^2)) over z >= m >= 1."""
    if m > _FARTHEST * sigma:
        # The square of z is at least that of m and that of z - m.
        bound = theta(sigma) * Interval.of(-(_FARTHEST**2) // 2).exp()
        return Interval(Decimal(0), bound.upper)
    if sigma > _TABLE_SIGMA:
        return _euler_maclaurin(sigma, m)
    table = _table(sigma)
    return table[m] if m < len(table) else weights_from(sigma, m)


@lru_cache(maxsize=32)
def _table(sigma: Fraction) -> tuple[Interval, ...]:
    """The weights of z >= m for every m up to 41 sigma."""
    last = math.ceil(_TABLE_WIDTH * sigma) + 2
    weights = point_weights(sigma, last)
    total = weights_from(sigma, last + 1)
    sums = [total]
    for weight in reversed(weights):
        total = total + weight
        sums.append(total)
    sums.reverse()
    return tuple(sums)


def point_weights(sigma: Fraction, last: int) -> list[Interval]:
    """exp(-z^2/(2 sigma^2)) for z = 0..last, each from the one before it."""
    precision = 1 / (2 * sigma**2)
    weight, ratio = ONE, Interval.of(-precision).exp()
    shrink = Interval.of(-2 * precision).exp()
    weights = [weight]
    for _ in range(last):
        weight, ratio = weight * ratio, ratio * shrink
        weights.append(weight)
    return weights


@lru_cache(maxsize=512)
def _euler_maclaurin(sigma: Fraction, m: int) -> Interval:
    """The sum over z >= m as the integral from a = m - 1/2, less the midpoint corrections.

    With w = exp(-x^2/(2 sigma^2)) and t = a/sigma, w^(n)(a) = (-1/sigma)^n He_n(t) w(a), He the
    Hermite polynomials. The sum is the integral minus B_2j(1/2)/(2j)! w^(2j-1)(a) over
    j = 1..15, up to |B_30|/30! times the integral of |w^(30)|.
    """
    t = (m - Fraction(1, 2)) / sigma
    x, scale = Interval.of(t), Interval.of(1 / sigma)
    density = Interval.of(-t * t / 2).exp()
    hermite, before, power = x, ONE, scale
    corrections = ZERO
    for n in range(1, 2 * _ORDER):
        # Here ``hermite`` is He_n(t) and ``power`` is sigma^-n.
        if n % 2:
            term = Interval.of(_midpoint((n + 1) // 2)) * power * scale
            corrections = corrections + term * hermite
        hermite, before = x * hermite - Interval.of(n) * before, hermite
        power = power * scale
    # Now He_30 and He_29, and sigma^-30.
    if t * t > 8 * _ORDER + 2:
        # Beyond the zeros of He_30, which lie below sqrt(4 * 30 + 2), the integral is exact.
        size = density * before
    else:
        # |He_n(u)| exp(-u^2/4) <= 1.09 sqrt(n!) (Cramér).
        bound = Interval.of(Fraction(109, 100)) * Interval.of(math.factorial(2 * _ORDER)).sqrt()
        size = bound * _TWO.sqrt() * normal_weight(t / Fraction(3, 2))
    error = (Interval.of(4) / (_TWO * PI).power(2 * _ORDER) * power * size).upper
    total = normal_weight(t) + density * corrections + Interval(error.copy_negate(), error)
    return Interval.of(sigma) * total


@lru_cache(maxsize=_ORDER)
def _midpoint(j: int) -> Fraction:
    """B_2j(1/2)/(2j)!."""
    return -(1 - Fraction(2, 4**j)) * bernoulli(2 * j) / math.factorial(2 * j)


@cache
def bernoulli(n: int) -> Fraction:
    """The Bernoulli number B_n, B_1 = -1/2.

    >>> bernoulli(4)
    Fraction(-1, 30)
    """
    if n == 0:
        return Fraction(1)
    lower = sum((math.comb(n + 1, k) * bernoulli(k) for k in range(n)), Fraction(0))
    return -lower / (n + 1)
