"""What plain float arithmetic may have lost: the constants that every bound here uses.

The elementary functions of the platform (exp, log1p, expm1, sin, cos, tan, sinh, tanh, arctan2)
are taken to be within 8 units in the last place; tests measure them against 50 digits, and the
libraries in use stay within 2. Sums of n terms are taken at n units, the worst order.
"""

from __future__ import annotations

from fractions import Fraction

from interlace.core.interval import Interval

#: The unit roundoff of a float64.
UNIT = 2.0**-53
#: The relative error of a short chain of elementary functions and products.
CHAIN = 64 * UNIT


def summed(count: int) -> float:
    """The relative error of a sum of ``count`` terms, of the sum of their moduli, each term
    being a short chain."""
    return CHAIN + (count + 8) * UNIT


def around(value: float, error: float) -> Interval:
    """All numbers within ``error`` of ``value``."""
    exact, gap = Fraction(value), Fraction(error)
    return Interval(Interval.of(exact - gap).lower, Interval.of(exact + gap).upper)
