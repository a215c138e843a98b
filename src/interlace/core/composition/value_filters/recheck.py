"""A second proof of every step of a certificate; shares no code with what made it.

The inequality is taken as it stands, with the normal distribution function itself, in decimals of
as many digits as the question needs; rounding is directed at every operation. Slow beside a step.
"""

from __future__ import annotations

import decimal
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache, cached_property

from interlace.core.errors import CheckFailed

_DIGITS = (40, 80, 160, 320, 640, 1280)
Ends = tuple[Decimal, Decimal]


def recheck(document: object) -> int:
    """Prove every step of a certificate of "reach" or "residue"; how many steps there are.

    Checked: the first w gives no more than the budget; each step starts where the one before
    ended; each pure step satisfies

        p v(epsilon - y0, w') + q v(-epsilon - y0, w') <= v(-y0, w),  w' < w, or w' = w = 0,

    at the y0 that this file computes from the epsilons so far; a Gaussian takes its mu**2; the
    product of 1 - delta is at least 1 - structural.

    Raises CheckFailed, naming the first step that is not proved.

    >>> from interlace.core.composition.value_filters import PureChild, Residue, certificate
    >>> rule, child = Residue.of(mu=1), PureChild.of(0.5)
    >>> recheck(certificate(rule, rule.start(), [(child, rule.step(rule.start(), child))]))
    1
    """
    whole = _mapping(document, "certificate")
    if (whole.get("format"), whole.get("version")) != ("interlace value filter", 1):
        raise CheckFailed("format", "is not an interlace value filter of version 1")
    steps = whole.get("steps")
    if not isinstance(steps, list):
        raise CheckFailed("steps", "must be a list")
    walk = _Walk(whole)
    for number, step in enumerate(steps):
        walk.take(_mapping(step, f"step {number}"), f"step {number}")
    return len(steps)


class _Walk:
    def __init__(self, whole: Mapping[str, object]) -> None:
        self.w = _number(whole, "w", "budget")
        self.floor = 1 - _number(whole, "structural", "budget")
        self.good, self.total = Fraction(1), Fraction(0)
        self.limit: Fraction | None = None
        if self.floor <= 0:
            raise CheckFailed("budget", "structural must be below 1")
        if whole.get("rule") == "residue":
            if self.w > _number(whole, "mu_squared", "budget"):
                raise CheckFailed("budget", "w is larger than mu_squared")
        elif whole.get("rule") == "reach":
            self.limit = _number(whole, "epsilon", "budget")
            delta = 1 - (1 - _number(whole, "delta", "budget")) / self.floor
            if delta < 0 or not _starts(self.limit, self.w, delta):
                raise CheckFailed("budget", "w gives more than delta")
        else:
            raise CheckFailed("budget", "the rule must be reach or residue")

    def take(self, step: Mapping[str, object], place: str) -> None:
        if _number(step, "w", place) != self.w:
            raise CheckFailed(place, "does not start with the w of the step before")
        after = _number(step, "after", place)
        if step.get("kind") == "gaussian":
            self._gaussian(_number(step, "mu_squared", place), after, place)
        elif step.get("kind") == "pure":
            self._pure(step, after, place)
        else:
            raise CheckFailed(place, "its kind must be pure or gaussian")
        self.w = after

    def _gaussian(self, mu_squared: Fraction, after: Fraction, place: str) -> None:
        if after > self.w - mu_squared:
            raise CheckFailed(place, "takes less than mu_squared")
        if mu_squared:
            self.limit = None

    def _pure(self, step: Mapping[str, object], after: Fraction, place: str) -> None:
        self.good *= 1 - _number(step, "delta", place)
        if self.good < self.floor:
            raise CheckFailed(place, "the product of 1 - delta is below 1 - structural")
        epsilon = _number(step, "epsilon", place)
        nearest = Fraction(0) if self.limit is None else max(self.limit - self.total, Fraction(0))
        y0 = _number(step, "y0", place)
        if y0 > nearest:
            raise CheckFailed(place, "its y0 leaves out losses that can occur")
        if epsilon and not _holds(y0, epsilon, self.w, after):
            raise CheckFailed(place, "its inequality is not proved")
        if after > self.w:
            raise CheckFailed(place, "w grows")
        self.total += epsilon


def _mapping(value: object, place: str) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise CheckFailed(place, "must be an object")
    return value


def _number(part: Mapping[str, object], name: str, place: str) -> Fraction:
    text = part.get(name)
    if not isinstance(text, str) or len(text) > 4000 or not text.replace("/", "", 1).isdecimal():
        raise CheckFailed(place, f"{name} must be an exact fraction that is not negative")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise CheckFailed(place, f"{name} is no fraction") from None


def _starts(epsilon: Fraction, w: Fraction, delta: Fraction) -> bool:
    if w == 0:
        return True
    return _decided(lambda line: line.minus(line.of(delta), line.value(-epsilon, w)))


def _holds(y0: Fraction, epsilon: Fraction, w: Fraction, after: Fraction) -> bool:
    if after == 0 and epsilon <= y0:
        return True  # both outcomes have the value 0
    if after >= w:
        return False

    def room(line: _Line) -> Ends:
        fall = line.exp(line.of(-epsilon))
        # Times 1 + e^-epsilon: v (1 + e^-epsilon) - v(up) - e^-epsilon v(down).
        kept = line.times(line.value(-y0, w), line.plus(line.of(Fraction(1)), fall))
        up, down = line.value(epsilon - y0, after), line.value(-epsilon - y0, after)
        return line.minus(kept, line.plus(up, line.times(fall, down)))

    return _decided(room)


def _decided(room: Callable[[_Line], Ends]) -> bool:
    for digits in _DIGITS:
        low, high = room(_line(digits))
        if low >= 0:
            return True
        if high < 0:
            return False
    return False


@cache
def _line(digits: int) -> _Line:
    return _Line(digits)


class _Line:
    """Real numbers between two decimals of a given length."""

    def __init__(self, digits: int) -> None:
        self.down, self.up = (
            decimal.Context(digits, side, decimal.MIN_EMIN, decimal.MAX_EMAX)
            for side in (decimal.ROUND_FLOOR, decimal.ROUND_CEILING)
        )
        self.least = Decimal(10) ** -digits

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
            if abs(term[0]) < self.least:
                return min(total[0], following[0]), max(total[1], following[1])
            total, k, sign = following, k + 2, -sign
