"""The values that the recursion is run with: hockey sticks, events, polygons."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from interlace.core.finite import polygon
from interlace.core.finite.fold import Game, Number, Value, Walk, numeric

Scales = tuple[int, int]
Point = tuple[Number, Number]


def chains(first: int) -> Value[polygon.Chain]:
    """All events at once, by their probabilities in the system of ``first`` and in the other."""

    def leaf(x: Number, y: Number) -> polygon.Chain:
        return polygon.segment(x, y) if first == 0 else polygon.segment(y, x)

    return Value(leaf, polygon.add, polygon.hull)


def stick(factor: Fraction, first: int, scales: Scales) -> tuple[Value[Number], int]:
    """The hockey stick (FORMULAS 3.1), and the unit that its value counts."""
    a, b, unit = _weights(factor, first, scales)

    def leaf(x: Number, y: Number) -> Number:
        return max(a * x + b * y, 0)

    return numeric(leaf), unit


def event(game: Game, factor: Fraction, first: int) -> tuple[Fraction, Fraction]:
    """The best event at a factor: its probabilities in the system of ``first`` and in the other.

    A number that the adversary maximises holds the hockey stick in its high digits and the
    event's own probability in its low ones, so that the recursion is that of ``stick``. Masses
    must be integers for that; those of a walk are not.
    """
    a, b, _ = _weights(factor, first, game.scales)
    own, other = game.scales[first], game.scales[1 - first]
    if isinstance(game, Walk):
        found = game.solve(_pair(a, b))
        return Fraction(found[first]), Fraction(found[1 - first])
    shift = 1 << own.bit_length() + 8

    def leaf(x: Number, y: Number) -> Number:
        gained = a * x + b * y
        return gained * shift + (x, y)[first] if gained > 0 else 0

    gained, p = divmod(int(game.solve(numeric(leaf))), shift)
    q = ((a, b)[first] * p - gained) // -(a, b)[1 - first]
    return Fraction(p, own), Fraction(q, other)


def _pair(a: int, b: int) -> Value[Point]:
    def score(at: Point) -> Number:
        return a * at[0] + b * at[1]

    def leaf(x: Number, y: Number) -> Point:
        return (x, y) if a * x + b * y > 0 else (0, 0)

    def best(points: Sequence[Point]) -> Point:
        return max(points, key=score)

    return Value(leaf, _added, best)


def certain(first: int) -> Value[Number]:
    """The probability of what the other system never does: the hockey stick at infinity."""

    def leaf(x: Number, y: Number) -> Number:
        own, other = (x, y) if first == 0 else (y, x)
        return 0 if other else own

    return numeric(leaf)


def _weights(factor: Fraction, first: int, scales: Scales) -> tuple[int, int, int]:
    """a, b, u with P - factor Q = (a x + b y) / u where x = P scales[0], y = Q scales[1]; with
    ``first`` = 1 of Q - factor P."""
    own, other = (scales[first], scales[1 - first])
    plus, minus = factor.denominator * other, -factor.numerator * own
    unit = factor.denominator * own * other
    return (plus, minus, unit) if first == 0 else (minus, plus, unit)


def _added(points: Sequence[Point]) -> Point:
    return sum(x for x, _ in points), sum(y for _, y in points)
