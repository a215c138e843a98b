"""Moments of the privacy loss, sum P^alpha Q^(1-alpha), and Rényi divergences (FORMULAS 2.6).

The recursion is that of delta with another value at its leaves. Leaves are rational for a whole
order; else, and where the exact sum would be long, each leaf is rounded outwards.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from interlace.core.finite.fold import Game, Number, Value, numeric
from interlace.core.interval import DOWN, UP, Interval

#: Rounded leaves are multiples of 2**-512.
_ONE = 2**512
_DECIMAL_ONE = Decimal(_ONE)
#: Whole orders up to this are powers of integers; others go through logarithms.
_POWERS = 8
_LogOf = Callable[[Number, int], Interval]


def exact_moment(game: Game, alpha: int) -> Fraction | None:
    """The greatest moment over both orders; None where it is infinite."""
    if infinite(game):
        return None
    found = []
    for first in (0, 1):
        own, other = game.scales[first], game.scales[1 - first]

        def leaf(x: Number, y: Number, first: int = first) -> Fraction:
            p, q = (x, y) if first == 0 else (y, x)
            return Fraction(p**alpha) / q ** (alpha - 1) if p else Fraction(0)

        total = game.solve(numeric(leaf))
        found.append(Fraction(total) * Fraction(other ** (alpha - 1), own**alpha))
    return max(found)


def moment(game: Game, alpha: Fraction, *, up: bool) -> Fraction | None:
    """The greatest moment over both orders, rounded; None where it is infinite."""
    if infinite(game):
        return None
    return max(_total(game, rounded(game, alpha, first, up=up)) for first in (0, 1))


def divergence(game: Game, *, up: bool) -> Fraction | None:
    """The greatest Kullback-Leibler divergence over both orders, rounded."""
    if infinite(game):
        return None
    return max(_total(game, _information(game, first, up=up)) for first in (0, 1))


def infinite(game: Game) -> bool:
    """Whether some history is impossible in one of the two systems only."""
    impossible = numeric(lambda x, y: int((x == 0) != (y == 0)))
    return game.solve(impossible) > 0


def rounded(game: Game, alpha: Fraction, first: int, *, up: bool) -> Value[Number]:
    """The moment with rounded leaves, as a multiple of 2**-512."""
    own, other = game.scales[first], game.scales[1 - first]
    if alpha.denominator == 1 and alpha <= _POWERS:
        n = int(alpha)
        above, below = _ONE * other ** (n - 1), own**n

        def whole(x: Number, y: Number) -> Number:
            p, q = (x, y) if first == 0 else (y, x)
            return _divide(Fraction(p) ** n * above, Fraction(q) ** (n - 1) * below, up=up)

        return numeric(whole)
    log = _logarithms()
    power, rest = Interval.of(alpha), Interval.of(alpha - 1)

    def leaf(x: Number, y: Number) -> Number:
        p, q = (x, y) if first == 0 else (y, x)
        if not p:
            return 0
        found = (power * log(p, own) - rest * log(q, other)).exp()
        return _integer(found, up=up)

    return numeric(leaf)


def _information(game: Game, first: int, *, up: bool) -> Value[Number]:
    own, other = game.scales[first], game.scales[1 - first]
    log = _logarithms()

    def leaf(x: Number, y: Number) -> Number:
        p, q = (x, y) if first == 0 else (y, x)
        if not p:
            return 0
        found = Interval.of(Fraction(p, own)) * (log(p, own) - log(q, other))
        return _integer(found, up=up)

    return numeric(leaf)


def _total(game: Game, value: Value[Number]) -> Fraction:
    return Fraction(game.solve(value), _ONE)


def _divide(above: Number, below: Number, *, up: bool) -> int:
    if not above:
        return 0
    return math.ceil(Fraction(above) / below) if up else math.floor(Fraction(above) / below)


def _integer(value: Interval, *, up: bool) -> int:
    # Not by way of a Fraction: an end next to an exact 0 has 10**18 zeros behind its point.
    end, context = (value.upper, UP) if up else (value.lower, DOWN)
    return int(context.multiply(end, _DECIMAL_ONE).to_integral_value(context.rounding, context))


def _logarithms() -> _LogOf:
    known: dict[Number, Interval] = {}

    def log(mass: Number, scale: int) -> Interval:
        # The two systems' masses have scales of their own.
        key = Fraction(mass, scale)
        if key not in known:
            known[key] = Interval.of(key).log()
        return known[key]

    return log
