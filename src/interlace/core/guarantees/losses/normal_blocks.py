"""Gaussian losses of large sigma on a grid of blocks, with proven masses.

A block is a run of neighbouring outcomes around c, by the distance from the middle of P. With
w(x) = exp(-x^2/(2 sigma^2)), the sum (or integral) of w(c + x) over it is w(c) S(c) with
S(c) = sum over x of exp(-c x/sigma^2) w(x): an even power series in c with positive
coefficients, few of which count.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache, partial

from interlace.core.gaussian_sums import theta
from interlace.core.guarantees.enclosures import one_minus_exp
from interlace.core.guarantees.losses.atoms import Atoms, ended, merged
from interlace.core.guarantees.losses.lattice import (
    ROOT_TWO_PI,
    bernoulli,
    integer_tail,
    normal_tail,
)
from interlace.core.interval import ONE, ZERO, Interval

_CUT = Decimal("1e-45")
_LONGEST_REACH = 8


@lru_cache(maxsize=8)
def blocks(
    sigma: Fraction, shift: int, reach: int, most: int, *, upper: bool, integers: bool
) -> Atoms:
    """Atoms of the loss of Gaussian noise, from blocks that cover -reach..reach.

    ``integers``: of the discrete Gaussian, else of the continuous one (of which any rounding
    is a post-processing). Upper: each block is spread to the two ends of its losses, on a
    lattice. Lower: each is merged into one outcome.
    """
    # An odd number of blocks of an odd number of points each, one of them around 0.
    size = -(-(2 * reach + 1) // (most - 4)) | 1
    side = -(-(reach - size // 2) // size)
    series = block_sums(sigma, size, side * size + shift, integers=integers)
    unit = ONE / _norm(sigma, integers)
    step = size * shift / sigma**2
    width = Interval.of(step)
    half = Interval.of(-step / 2).exp()
    middle = shift**2 / (2 * sigma**2)
    centres = range(-side, side + 1)
    weights = _centre_weights(sigma, size, side)
    masses = [ZERO] * (len(centres) + 1)
    losses: list[Fraction | Interval] = []
    for index, j in enumerate(centres):
        # Both parts still lack the factor e^-(loss at the centre) of Q.
        weight = weights[abs(j)] * unit
        p, q = weight * series(j * size), weight * series(j * size + shift)
        if upper:
            # As ``spread``, around the centre: low is half a width below it.
            high = ((p - q * half) / one_minus_exp(width)).clip(0)
            high = Interval(min(high.lower, p.upper), min(high.upper, p.upper))
            masses[index] = masses[index] + (p - high).clip(0)
            masses[index + 1] = high
            losses.append(middle + j * step - step / 2)
        else:
            masses[index] = p
            losses.append(Interval.of(middle + j * step) + merged(p, q))
    edge = side * size + size // 2
    rest = _beyond(sigma, edge, integers)
    if upper:
        losses.append(middle + side * step + step / 2)
        return ended(losses, masses, (rest, rest), upper=True, step=step)
    return ended(losses, masses[:-1], (rest, rest), upper=False)


def _beyond(sigma: Fraction, edge: int, integers: bool) -> Interval:
    if integers:
        return integer_tail(sigma, edge + 1)
    return normal_tail((edge + Fraction(1, 2)) / sigma)


def _centre_weights(sigma: Fraction, size: int, side: int) -> list[Interval]:
    """w(j size) for j = 0..side."""
    precision = Fraction(size**2) / (2 * sigma**2)
    weight, ratio = ONE, Interval.of(-precision).exp()
    shrink = Interval.of(-2 * precision).exp()
    weights = [weight]
    for _ in range(side):
        weight, ratio = weight * ratio, ratio * shrink
        weights.append(weight)
    return weights


def block_sums(
    sigma: Fraction, size: int, farthest: int, *, integers: bool
) -> Callable[[int], Interval]:
    """S as a function of c, for |c| <= farthest and blocks of ``size`` around c, an odd number.

    Not yet divided by the norm of w. By its series, or where that is long as a difference of
    tails, which then loses no digits.
    """
    reach = farthest * Fraction(size, 2) / sigma**2
    if reach > _LONGEST_REACH:
        return partial(_by_tails, sigma, size // 2, integers)
    return _even_series(sigma, size, reach, integers)


def _by_tails(sigma: Fraction, half: int, integers: bool, c: int) -> Interval:
    def tail(m: int) -> Interval:
        return _beyond(sigma, m - 1, integers)

    at = abs(c)
    if at <= half:
        share = ONE - tail(half - at + 1) - tail(half + at + 1)
    else:
        share = tail(at - half) - tail(at + half + 1)
    return share * _norm(sigma, integers) * Interval.of((c / sigma) ** 2 / 2).exp()


def _norm(sigma: Fraction, integers: bool) -> Interval:
    return theta(sigma) if integers else Interval.of(sigma) * ROOT_TWO_PI


@lru_cache(maxsize=16)
def _even_series(
    sigma: Fraction, size: int, reach: Fraction, integers: bool
) -> Callable[[int], Interval]:
    """S as a power series for |c| size/2 <= reach sigma^2.

    With half = size/2, term 2k of S is at most size (|c| half/sigma^2)^2k/(2k)!, so that the
    rest behind a first left-out bound b is below 2 b once the bounds fall by half each.
    """
    moments = _moments(sigma, size, integers)
    coefficients: list[Interval] = []
    bound, k, falls = Interval.of(size), 0, False
    while not (falls and bound.upper < coefficients[0].lower * _CUT):
        # Even moments over (2k)! sigma^4k.
        coefficients.append(moments(k) / Interval.of(math.factorial(2 * k) * sigma ** (4 * k)))
        k += 1
        bound = bound * Interval.of(reach * reach / ((2 * k - 1) * (2 * k)))
        falls = 2 * reach * reach < (2 * k + 1) * (2 * k + 2)
    rest = Interval(Decimal(0), (bound + bound).upper)
    coefficients.reverse()

    def value(c: int) -> Interval:
        square = Interval.of(c * c)
        total = coefficients[0]
        for coefficient in coefficients[1:]:
            total = total * square + coefficient
        return total + rest

    return value


def _moments(sigma: Fraction, size: int, integers: bool) -> Callable[[int], Interval]:
    """The sum over |x| <= size//2, or the integral over |x| <= size/2, of x^2k w(x).

    w is its power series in x^2/(2 sigma^2), alternating, and falling from some term on. Power
    sums of integers are exact (Faulhaber).
    """
    largest = Fraction(size**2) / (8 * sigma**2)
    power_sum = _integer_powers(size // 2) if integers else _integral_powers(Fraction(size, 2))

    def moment(k: int) -> Interval:
        total, i = Fraction(0), 0
        factor = Fraction(1)
        while True:
            term = factor * power_sum(2 * k + 2 * i)
            total += term
            i += 1
            factor *= Fraction(-1, i) / (2 * sigma**2)
            left = abs(factor) * power_sum(2 * k + 2 * i)
            if i + 1 > largest and left * 10**60 <= total:
                break
        # The first term that is left out bounds all of them.
        return Interval(Interval.of(total - left).lower, Interval.of(total + left).upper)

    return moment


@lru_cache(maxsize=8)
def cell_moments(sigma: Fraction) -> Callable[[int], Interval]:
    """k -> the integral over |u| <= 1/2 of u^2k exp(-u^2/(2 sigma^2)).

    >>> round(cell_moments(Fraction(10**9))(1).upper, 12)
    Decimal('0.083333333333')
    """
    return cache(_moments(sigma, 1, integers=False))


def _integral_powers(half: Fraction) -> Callable[[int], Fraction]:
    return lambda n: 2 * half ** (n + 1) / (n + 1)


def _integer_powers(half: int) -> Callable[[int], Fraction]:
    """x -> the sum of x^n over |x| <= half, for even n."""

    @cache
    def power_sum(n: int) -> Fraction:
        if n == 0:
            return Fraction(2 * half + 1)
        total = Fraction(0)
        for j in range(n + 1):
            total += math.comb(n + 1, j) * (-1) ** j * bernoulli(j) * half ** (n + 1 - j)
        return 2 * total / (n + 1)

    return power_sum
