"""The values that the recursion is run with: hockey sticks, events, polygons."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from interlace.core.finite import polygon
from interlace.core.finite.fold import Number, Value, numeric

Scales = tuple[int, int]
Point = tuple[Number, Number]

#: All events at once; the values are the vertices of polygons.
CHAINS: Value[polygon.Chain] = Value(polygon.segment, polygon.add, polygon.hull)


def stick(factor: Fraction, first: int, scales: Scales) -> tuple[Value[Number], int]:
    """The hockey stick (FORMULAS 3.1), and the unit that its value counts."""
    a, b, unit = _weights(factor, first, scales)

    def leaf(x: Number, y: Number) -> Number:
        return max(a * x + b * y, 0)

    return numeric(leaf), unit


def event(factor: Fraction, first: int, scales: Scales) -> Value[Point]:
    """The best event at a factor: its two probabilities, scaled."""
    a, b, _ = _weights(factor, first, scales)

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
