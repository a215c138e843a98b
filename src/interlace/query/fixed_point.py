"""Codes as the values that they stand for, and exact fractions as decimals of a few digits."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction

Number = int | Decimal
Value = Number | str | bool | datetime.date


def in_units(value: int, digits: int) -> Number:
    """An integer of 10^-digits as the number that it stands for.

    >>> in_units(-1250, 2)
    Decimal('-12.50')
    """
    if digits == 0:
        return value
    # From its digits: arithmetic would round in the caller's decimal context.
    return Decimal((int(value < 0), tuple(map(int, str(abs(value)))), -digits))


def decimal_text(code: int, digits: int) -> str:
    """The same as SQL takes it: written out, without an exponent.

    >>> decimal_text(-1250, 2), decimal_text(1, 8)
    ('-12.50', '0.00000001')
    """
    if digits == 0:
        return str(code)
    whole, part = divmod(abs(code), 10**digits)
    return f"{'-' if code < 0 else ''}{whole}.{part:0{digits}d}"


def nearest(value: Fraction, digits: int) -> Number:
    """The nearest number of so many decimals."""
    return in_units(round(value * 10**digits), digits)


def outwards(low: Fraction, high: Fraction, digits: int) -> tuple[Number, Number]:
    """The interval with ends of so many decimals, rounded outwards.

    >>> outwards(Fraction(1, 3), Fraction(2, 3), 2)
    (Decimal('0.33'), Decimal('0.67'))
    """
    unit = 10**digits
    return in_units(math.floor(low * unit), digits), in_units(math.ceil(high * unit), digits)


def root(value: Fraction, digits: int) -> Fraction:
    """The square root of a fraction >= 0, to so many decimals, rounded down."""
    unit = 10**digits
    return Fraction(math.isqrt(math.floor(value * unit * unit)), unit)
