"""Enclosures in decimals of as many digits as a question needs, for the second proof of steps.

Rounding is directed at every operation. Slow, and nothing like fixed.py: the two check each other.
"""

from __future__ import annotations

import decimal
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property

Ends = tuple[Decimal, Decimal]

_TRAPS = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]


@cache
def line_of(digits: int) -> Line:
    """The enclosures of that many digits."""
    return Line(digits)


class Line:
    """Real numbers between two decimals of a given length."""

    def __init__(self, digits: int) -> None:
        self.down, self.up = (
            decimal.Context(digits, side, decimal.MIN_EMIN, decimal.MAX_EMAX, traps=_TRAPS)
            for side in (decimal.ROUND_FLOOR, decimal.ROUND_CEILING)
        )
        # No operator, here or below: it would round to the caller's ambient context.
        self.least = Decimal((0, (1,), -digits))

    def of(self, value: Fraction) -> Ends:
        parts = Decimal(value.numerator), Decimal(value.denominator)
        return self.down.divide(*parts), self.up.divide(*parts)

    def plus(self, x: Ends, y: Ends) -> Ends:
        return self.down.add(x[0], y[0]), self.up.add(x[1], y[1])

    def minus(self, x: Ends, y: Ends) -> Ends:
        return self.down.subtract(x[0], y[1]), self.up.subtract(x[1], y[0])

    def times(self, x: Ends, y: Ends) -> Ends:
        corners = [(a, b) for a in x for b in y]
        return (
            min(self.down.multiply(*c) for c in corners),
            max(self.up.multiply(*c) for c in corners),
        )

    def over(self, x: Ends, y: Ends) -> Ends:
        corners = [(a, b) for a in x for b in y]
        return min(self.down.divide(*c) for c in corners), max(self.up.divide(*c) for c in corners)

    def exp(self, x: Ends) -> Ends:
        # Correctly rounded half to even whatever the context: one step outwards.
        return (
            max(Decimal(0), self.down.exp(x[0]).next_minus(self.down)),
            self.up.exp(x[1]).next_plus(self.up),
        )

    def value(self, y: Fraction, w: Fraction) -> Ends:
        """Phi(y/sqrt(w) + sqrt(w)/2) - e^-y Phi(y/sqrt(w) - sqrt(w)/2)."""
        if w == 0:
            if y <= 0:
                return Decimal(0), Decimal(0)
            return self.minus(self.of(Fraction(1)), self.exp(self.of(-y)))
        square = self.of(w)
        root = (
            self.down.sqrt(square[0]).next_minus(self.down),
            self.up.sqrt(square[1]).next_plus(self.up),
        )
        middle, half = self.over(self.of(y), root), self.over(root, self.of(Fraction(2)))
        lost = self.times(self.exp(self.of(-y)), self.normal(self.minus(middle, half)))
        return self.minus(self.normal(self.plus(middle, half)), lost)

    def normal(self, x: Ends) -> Ends:
        """The normal distribution function: it grows, by less than half of its argument."""
        low, high = self._at(x[0])
        return low, self.up.fma(self.up.subtract(x[1], x[0]), Decimal("0.5"), high)

    def _at(self, x: Decimal) -> Ends:
        if x < 0:
            return self.minus(self.of(Fraction(1)), self._at(x.copy_negate()))
        # 1 - phi(x)/x and 1 hold the value where the series would be long for nothing.
        exponent = self.over((x, x), self.of(Fraction(-2))) if x else (x, x)
        density = self.exp(self.times((x, x), exponent))
        if density[1] < self.least:
            return self.minus(self.of(Fraction(1)), (Decimal(0), self.least))
        # 1/2 + phi(x) (x + x**3/3 + x**5/(3 5) + ...); the rest is below a geometric series.
        low = high = x
        total_low = total_high = x
        low_square, high_square = self.down.multiply(x, x), self.up.multiply(x, x)
        n = 3
        while high > self.least or high_square > n:
            low = self.down.divide(self.down.multiply(low, low_square), n)
            high = self.up.divide(self.up.multiply(high, high_square), n)
            total_low, total_high = self.down.add(total_low, low), self.up.add(total_high, high)
            n += 2
        ratio = self.up.divide(high_square, n)
        rest = self.up.divide(self.up.multiply(high, ratio), self.down.subtract(1, ratio))
        part = self.times(density, (total_low, self.up.add(total_high, rest)))
        return self.plus(self.of(Fraction(1, 2)), self.over(part, self._root))

    @cached_property
    def _root(self) -> Ends:
        """sqrt(2 pi), from pi = 16 arctan(1/5) - 4 arctan(1/239)."""
        five, other = self._arctangent(5), self._arctangent(239)
        pi = self.minus(
            self.times(self.of(Fraction(16)), five), self.times(self.of(Fraction(4)), other)
        )
        return (
            self.down.sqrt(self.down.multiply(2, pi[0])).next_minus(self.down),
            self.up.sqrt(self.up.multiply(2, pi[1])).next_plus(self.up),
        )

    def _arctangent(self, n: int) -> Ends:
        # The series alternates and falls: the value lies between two sums in succession.
        total = self.of(Fraction(0))
        k, sign = 1, 1
        while True:
            term = self.of(Fraction(sign, k * n**k))
            following = self.plus(total, term)
            if term[0].copy_abs() < self.least:
                return min(total[0], following[0]), max(total[1], following[1])
            total, k, sign = following, k + 2, -sign
