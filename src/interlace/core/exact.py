"""Exact parameters in, directed floats out.

A privacy parameter enters as an exact rational and leaves as a float rounded in a stated
direction (R8). These are the only places where that happens.
"""

from __future__ import annotations

import math
import numbers
from decimal import Decimal
from fractions import Fraction

from interlace.core.errors import ParameterError

#: What a caller may hand in wherever a real number is expected.
Real = int | float | Fraction | Decimal

#: The longest exact form, in bits, that a parameter may have.
LARGEST_BITS = 4096


def rational(
    value: Real,
    name: str,
    *,
    minimum: int | Fraction = 0,
    maximum: int | Fraction | None = None,
    above: bool = False,
) -> Fraction:
    """Read ``value`` as an exact rational in [minimum, maximum] (R8).

    A float is read as the decimal that it prints, so that ten times 0.1 is 1. With
    ``above`` the minimum itself is excluded.

    Raises ParameterError, naming ``name``, for NaN, infinities, booleans, text, numbers out
    of range, and numbers whose exact form is unreasonably long.

    >>> rational(0.1, "epsilon") * 10 == 1
    True
    """
    exact = _read(value, name)
    # In integers: fractions compare some ten times as slowly, and plans have 100,000 numbers.
    numerator, denominator = exact.as_integer_ratio()
    least = minimum * denominator
    if numerator < least or (above and numerator == least):
        raise ParameterError(
            name, f"must be {'above' if above else 'at least'} {minimum}, got {value!r}"
        )
    if maximum is not None and exact > maximum:
        raise ParameterError(name, f"must be at most {maximum}, got {value!r}")
    return exact


def _read(value: Real, name: str) -> Fraction:
    if type(value) is float and math.isfinite(value):
        # No float is too long.
        return Fraction(Decimal(repr(value)))
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, Decimal)):
        raise ParameterError(
            # Its type alone: the object may be a table.
            name,
            f"must be a number (int, float, Fraction or Decimal), not {type(value).__name__}",
        )
    if type(value) is Fraction:
        exact = value
    elif isinstance(value, numbers.Rational):
        exact = Fraction(int(value.numerator), int(value.denominator))
    else:
        # float.__repr__ and not repr: a numpy float prints its type's name.
        text = float.__repr__(value) if isinstance(value, float) else str(value)
        decimal = Decimal(text)
        if not decimal.is_finite():
            raise ParameterError(name, f"must be finite, got {text}")
        # Checked before the fraction is built: 1e999999999 is short text and a huge number.
        if abs(decimal.adjusted()) > 1000 or len(decimal.as_tuple().digits) > 1000:
            raise ParameterError(name, "its magnitude or precision is beyond what is supported")
        exact = Fraction(decimal)
    if max(exact.numerator.bit_length(), exact.denominator.bit_length()) > LARGEST_BITS:
        raise ParameterError(name, "its exact form is longer than 4096 bits")
    return exact


def natural(value: int, name: str, *, minimum: int = 1, maximum: int = 10**12) -> int:
    """Read a count. Raises ParameterError, naming ``name``, for anything but such an integer.

    >>> natural(3, "answers")
    3
    """
    # Whether it is a plain int is asked first: that is quick.
    if type(value) is not int and (
        isinstance(value, bool) or not isinstance(value, numbers.Integral)
    ):
        raise ParameterError(name, f"must be an integer, not {type(value).__name__}")
    if not minimum <= value <= maximum:
        # Not the value itself: Python refuses to print integers of some thousand digits.
        raise ParameterError(name, f"must be an integer between {minimum} and {maximum}")
    return int(value)


def near(value: Fraction) -> float:
    """The float nearest to ``value``, infinite beyond the largest: it never falls where the exact
    numbers grow, so that it puts most of them in order.

    >>> near(Fraction(1, 10)), near(Fraction(10**400))
    (0.1, inf)
    """
    numerator, denominator = value.as_integer_ratio()
    try:
        return numerator / denominator
    except OverflowError:
        return math.inf if numerator > 0 else -math.inf


def float_up(value: Fraction | Decimal | int) -> float:
    """The least float that is not below ``value``: for every number that bounds a loss.

    >>> float_up(Fraction(1, 3)) > Fraction(1, 3)
    True
    """
    return _directed(value, math.inf)


def float_down(value: Fraction | Decimal | int) -> float:
    """The greatest float that is not above ``value``: for lower ends of intervals."""
    return _directed(value, -math.inf)


def _directed(value: Fraction | Decimal | int, towards: float) -> float:
    if isinstance(value, Decimal) and not value.is_finite():
        return float(value)
    try:
        near = float(value)
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    if math.isinf(near):
        # The true value is finite: only the outward infinity is on the safe side.
        return near if near == towards else math.copysign(_LARGEST_FLOAT, near)
    # Both comparisons are exact in Python, whatever the types. from_float and not Decimal():
    # that is a signal where the caller's context traps floats.
    exact = Fraction(near) if isinstance(value, Fraction | int) else Decimal.from_float(near)  # noqa: FURB164  see above
    wrong = exact < value if towards > 0 else exact > value
    return math.nextafter(near, towards) if wrong else near


_LARGEST_FLOAT = math.nextafter(math.inf, 0)
