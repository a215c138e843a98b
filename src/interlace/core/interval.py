"""Rigorous interval arithmetic on decimals of 60 digits.

Every irrational number that a guarantee rests on is computed here, so that each result is
an enclosure: the exact value lies between ``lower`` and ``upper``, whatever was rounded on
the way. Decimals have no underflow in the range that matters (a probability of 1e-100000
keeps its 60 digits) and their exp, ln and sqrt are correctly rounded.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from interlace.core.exact import float_down, float_up

DIGITS = 60


def _context(rounding: str) -> decimal.Context:
    return decimal.Context(
        prec=DIGITS,
        rounding=rounding,
        Emin=decimal.MIN_EMIN,
        Emax=decimal.MAX_EMAX,
        traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
    )


DOWN = _context(decimal.ROUND_FLOOR)
UP = _context(decimal.ROUND_CEILING)
_ZERO = Decimal(0)
_NARROW = Decimal("1e-20")


@dataclass(frozen=True, slots=True)
class Interval:
    """A closed interval [lower, upper] of decimals that contains one exact real number.

    >>> third = Interval.of(Fraction(1, 3))
    >>> third.lower < third.upper and (third * Interval.of(3)).contains(Fraction(1))
    True
    """

    lower: Decimal
    upper: Decimal

    @classmethod
    def of(cls, value: Fraction | Decimal | int) -> Interval:
        """The tightest interval around an exact number."""
        if isinstance(value, Fraction):
            n, d = Decimal(value.numerator), Decimal(value.denominator)
            return cls(DOWN.divide(n, d), UP.divide(n, d))
        exact = Decimal(value)
        return cls(DOWN.plus(exact), UP.plus(exact))

    def __add__(self, other: Interval) -> Interval:
        return Interval(DOWN.add(self.lower, other.lower), UP.add(self.upper, other.upper))

    def __sub__(self, other: Interval) -> Interval:
        return Interval(
            DOWN.subtract(self.lower, other.upper), UP.subtract(self.upper, other.lower)
        )

    def __neg__(self) -> Interval:
        # Not the unary minus: it rounds to the caller's ambient context.
        return Interval(self.upper.copy_negate(), self.lower.copy_negate())

    def __mul__(self, other: Interval) -> Interval:
        a, b, c, d = self.lower, self.upper, other.lower, other.upper
        if a >= 0 and c >= 0:
            return Interval(DOWN.multiply(a, c), UP.multiply(b, d))
        corners = ((a, c), (a, d), (b, c), (b, d))
        return Interval(
            min(DOWN.multiply(x, y) for x, y in corners),
            max(UP.multiply(x, y) for x, y in corners),
        )

    def __truediv__(self, other: Interval) -> Interval:
        """Raises ZeroDivisionError (decimal.DivisionByZero) when ``other`` contains 0."""
        if other.lower <= 0 <= other.upper:
            raise decimal.DivisionByZero("the divisor's interval contains 0")
        a, b, c, d = self.lower, self.upper, other.lower, other.upper
        corners = ((a, c), (a, d), (b, c), (b, d))
        return Interval(
            min(DOWN.divide(x, y) for x, y in corners),
            max(UP.divide(x, y) for x, y in corners),
        )

    def exp(self) -> Interval:
        # exp and ln are rounded half-even whatever the context says: step one unit outwards.
        low = DOWN.exp(self.lower)
        width = UP.subtract(self.upper, self.lower)
        if width < _NARROW:
            # e^(x + w) <= e^x (1 + w + w^2): the second exponential is not needed.
            grown = UP.add(1, UP.fma(width, width, width))
            high = UP.multiply(low.next_plus(UP), grown)
        else:
            high = UP.exp(self.upper).next_plus(UP)
        return Interval(max(_ZERO, low.next_minus(DOWN)), high)

    def log(self) -> Interval:
        """The natural logarithm; the interval must be positive."""
        low = DOWN.ln(self.lower)
        part = UP.divide(UP.subtract(self.upper, self.lower), self.lower)
        if part < _NARROW:
            # log(x + w) <= log(x) + w/x.
            high = UP.add(low.next_plus(UP), part)
        else:
            high = UP.ln(self.upper).next_plus(UP)
        return Interval(low.next_minus(DOWN), high)

    def sqrt(self) -> Interval:
        return Interval(
            max(_ZERO, DOWN.sqrt(self.lower).next_minus(DOWN)),
            UP.sqrt(self.upper).next_plus(UP),
        )

    def power(self, exponent: int) -> Interval:
        """An integer power >= 0 of a non-negative interval, by repeated squaring."""
        result, base = ONE, self
        while exponent:
            if exponent & 1:
                result = result * base
            base, exponent = base * base, exponent >> 1
        return result

    def clip(self, least: int, most: int | None = None) -> Interval:
        """Both ends moved into [least, most]: for a value known to lie there."""
        ends = [max(Decimal(least), x) for x in (self.lower, self.upper)]
        if most is not None:
            ends = [min(Decimal(most), x) for x in ends]
        return Interval(*ends)

    def contains(self, value: Fraction | Decimal | int) -> bool:
        if isinstance(value, Fraction):
            return Fraction(self.lower) <= value <= Fraction(self.upper)
        return self.lower <= value <= self.upper

    def up(self) -> float:
        """The upper end as a float, rounded up."""
        return float_up(self.upper)

    def down(self) -> float:
        """The lower end as a float, rounded down."""
        return float_down(self.lower)


ZERO = Interval.of(0)
ONE = Interval.of(1)
#: The circle constant to 60 digits, cut and raised in the last.
PI = Interval(
    Decimal("3.14159265358979323846264338327950288419716939937510582097494"),
    Decimal("3.14159265358979323846264338327950288419716939937510582097495"),
)
