"""Small helpers around ``Interval``: differences without cancellation, directed exits.

Nothing here knows a privacy notion. Every function returns an enclosure or a number rounded
towards more loss (R8).
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from interlace.core.exact import float_up
from interlace.core.interval import ONE, ZERO, Interval

_SERIES_BELOW = Decimal("1e-10")
_SERIES_TERMS = 7

#: Significant bits of a parameter that was rounded up.
ROUNDED_BITS = 128

#: Parameters that would become longer than this are rounded up.
LONGEST_PARAMETER = 2048

#: The value of an epsilon or a divergence that has no finite bound.
INFINITE = Interval(Decimal("Infinity"), Decimal("Infinity"))

_LOWEST_FLOAT = 1e-300


def one_minus_exp(x: Interval) -> Interval:
    """1 - e^(-x) for x >= 0, to full relative precision also where x is tiny.

    >>> one_minus_exp(Interval.of(Fraction(1, 10**100))).lower > 0
    True
    """
    if x.upper > _SERIES_BELOW:
        return (ONE - (-x).exp()).clip(0, 1)
    # x(1 - x/2(1 - x/3(1 - ...))): the innermost bracket lies in [1 - x/n, 1].
    inner = Interval(Decimal(0), (x / Interval.of(_SERIES_TERMS)).upper)
    for k in range(_SERIES_TERMS - 1, 1, -1):
        inner = x / Interval.of(k) * (ONE - inner)
    return (x * (ONE - inner)).clip(0, 1)


def minus_log_one_minus(x: Interval) -> Interval:
    """-log(1 - x) for 0 <= x < 1, to full relative precision also where x is tiny."""
    if x.upper > _SERIES_BELOW:
        return (-(ONE - x).log()).clip(0)
    # x + x^2/2 + ...; what follows the last term is at most x times it.
    total, power = ZERO, ONE
    for k in range(1, _SERIES_TERMS + 1):
        power = power * x
        total = total + power / Interval.of(k)
    return total + Interval(Decimal(0), (power * x).upper)


def expm1(x: Interval) -> Interval:
    """e^x - 1 for x >= 0."""
    return x.exp() * one_minus_exp(x)


def smaller(first: Interval, second: Interval) -> Interval:
    """An enclosure of the smaller of two enclosed numbers."""
    return Interval(min(first.lower, second.lower), min(first.upper, second.upper))


def loss_up(value: Decimal | Fraction) -> float:
    """A float not below ``value``, neither in binary nor as the decimal that it prints.

    Both matter: a float that leaves as a bound may come back as a parameter, and is then
    read as a decimal (R8). Never negative.

    >>> loss_up(Fraction(1, 3)) > Fraction(1, 3), loss_up(Fraction(-1))
    (True, 0.0)
    """
    if value <= 0:
        return 0.0
    found = float_up(value)
    while math.isfinite(found) and type(value)(repr(found)) < value:
        found = math.nextafter(found, math.inf)
    return found


def shorten_up(value: Fraction, bits: int = ROUNDED_BITS) -> Fraction:
    """A binary fraction of about ``bits`` significant bits, not below ``value``.

    >>> shorten_up(Fraction(1, 3), 4)
    Fraction(11, 32)
    """
    if value <= 0:
        return Fraction(0)
    shift = bits - value.numerator.bit_length() + value.denominator.bit_length()
    if shift < 0:
        unit = 1 << -shift
        return Fraction(-(-value.numerator // (value.denominator * unit)) * unit)
    return Fraction(-(-(value.numerator << shift) // value.denominator), 1 << shift)


def shorten_down(value: Fraction, bits: int = ROUNDED_BITS) -> Fraction:
    """Such a binary fraction that is not above ``value``."""
    if value <= 0:
        return Fraction(0)
    shift = max(0, bits - value.numerator.bit_length() + value.denominator.bit_length())
    return Fraction((value.numerator << shift) // value.denominator, 1 << shift)


def fitting(value: Fraction, longest: int = LONGEST_PARAMETER) -> Fraction:
    """``value``, or a little more where its exact form has more than ``longest`` bits."""
    return value if length(value) <= longest else shorten_up(value)


def fitting_down(value: Fraction, longest: int = LONGEST_PARAMETER) -> Fraction:
    """``value``, or a little less where its exact form has more than ``longest`` bits."""
    return value if length(value) <= longest else shorten_down(value)


def length(value: Fraction) -> int:
    """The bits of the longer of numerator and denominator."""
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def roughly(value: Fraction) -> float:
    """A float near a positive number, kept away from 0 and infinity. For searches only."""
    if value <= 0 or value * 10**300 < 1:
        return _LOWEST_FLOAT
    return float(min(value, Fraction(10) ** 300))


def log_roughly(value: Fraction) -> float:
    """The logarithm of a positive fraction of any size, as a plain float. For searches only."""
    return math.log(value.numerator) - math.log(value.denominator)
