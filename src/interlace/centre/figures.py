"""Numbers as a statement prints them: exact, or rounded in the direction that holds (R8).

The text itself is the bound, not a float near it: a float's decimal may lie below the float.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

_DIGITS = 12
INFINITE = "infinite"


def upper(value: Fraction) -> str:
    """A decimal that is not below ``value``, of at most 12 digits.

    >>> upper(Fraction(1, 10)), upper(Fraction(1, 3))
    ('0.1', '0.333333333334')
    """
    return _decimal(value, ROUND_CEILING)


def lower(value: Fraction) -> str:
    """A decimal that is not above ``value``, of at most 12 digits.

    >>> lower(Fraction(10)), lower(Fraction(2, 3))
    ('10', '0.666666666666')
    """
    return _decimal(value, ROUND_FLOOR)


def certified(bound: float) -> str:
    """The decimal that is printed for a certified upper end.

    >>> certified(0.1), certified(math.inf)
    ('0.100000000001', 'infinite')
    """
    return INFINITE if bound == math.inf else upper(Fraction(bound))


def _decimal(value: Fraction, rounding: str) -> str:
    context = Context(prec=_DIGITS, rounding=rounding, Emin=-9999, Emax=9999, traps=[])
    found = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    if found == found.to_integral_value() and abs(found) < 10**_DIGITS:
        return str(int(found))
    return str(found.normalize(context)).lower()
