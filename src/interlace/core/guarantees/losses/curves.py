"""Trade-off curves as exact vertices: inverse, the curve below two, group composition.

A curve is convex and non-increasing from (0, f(0)) to (1, 0), given by its vertices alone. A
vertex moved down or to the left gives a curve below, hence a weaker claim: that is how long
fractions are shortened.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise

from interlace.core.errors import ParameterError
from interlace.core.guarantees.enclosures import LONGEST_PARAMETER, length
from interlace.core.guarantees.losses.atoms import MOST_ATOMS

Point = tuple[Fraction, Fraction]
Points = tuple[Point, ...]
_ZERO, _ONE = Fraction(0), Fraction(1)


def checked(points: Points) -> Points:
    """The vertices of the curve through ``points``; ParameterError where it is none.

    >>> checked(((_ZERO, _ONE), (_ONE, _ZERO))) == checked(((_ZERO, _ONE), (_ONE / 2, _ONE / 2),
    ...     (_ONE, _ZERO)))
    True
    """
    if not points or points[0][0] != 0 or points[-1][1] != 0:
        raise ParameterError("points", "must begin at a = 0 and end at f(a) = 0")
    for (a, b), (c, d) in pairwise(points):
        if a >= c or b < d:
            raise ParameterError("points", "a must ascend, and f(a) must not")
    if points[-1][0] < 1:
        points = (*points, (_ONE, _ZERO))
    for index in range(1, len(points) - 1):
        if _height(*points[index - 1 : index + 2]) > 0:
            raise ParameterError(f"points[{index}]", "lies above a chord: f must be convex")
    return lower_hull(points)


def lower_hull(points: Iterable[Point]) -> Points:
    """The vertices of the largest convex curve that is nowhere above the points, from the
    leftmost to the last, a ascending; of points with one a, the lowest counts."""
    hull: list[Point] = []
    for point in sorted(points):
        if hull and hull[-1][0] == point[0]:
            continue
        while len(hull) > 1 and _height(hull[-2], hull[-1], point) >= 0:
            hull.pop()
        hull.append(point)
    return tuple(hull)


def _height(first: Point, middle: Point, last: Point) -> Fraction:
    """Positive where the middle point lies above the chord of its neighbours, 0 on it."""
    rise = (middle[1] - first[1]) * (last[0] - first[0])
    return rise - (last[1] - first[1]) * (middle[0] - first[0])


def inverse(points: Points) -> Points:
    """The curve with the two errors exchanged."""
    turned = [(b, a) for a, b in reversed(points) if a < 1 or b > 0]
    # The curve falls to 0 before 1: the inverse starts below 1 and needs its last vertex.
    found = [(_ZERO, _ONE)] if points[-2:-1] and points[-2][1] > 0 else []
    end = [(_ONE, _ZERO)] if points[0][1] < 1 else []
    return lower_hull([*found, *turned, *end])


def below_both(first: Points, second: Points) -> Points:
    """The largest curve that is nowhere above either."""
    return lower_hull([*first, *second])


def of_outcomes(p: Sequence[Fraction], q: Sequence[Fraction]) -> Points:
    """The curve of two laws whose outcomes ascend in p/q: reject what is likeliest under q."""
    a, b = _ZERO, _ONE
    points: list[Point] = []
    for x, y in zip(p, q, strict=True):
        if x and not points:
            points.append((a, b))
        a, b = a + x, b - y
        if x:
            points.append((a, b))
    return tuple(points) if points else ((_ZERO, _ZERO),)


def outcomes(points: Points) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Two laws with this curve, outcomes in strictly ascending order of p/q."""
    p, q = [], []
    if points[0][1] < 1:
        p.append(_ZERO)
        q.append(1 - points[0][1])
    for (a, b), (c, d) in pairwise(points):
        p.append(c - a)
        q.append(b - d)
    return tuple(p), tuple(q)


def power(points: Points, size: int) -> Points:
    """1 - (1 - f) composed ``size`` times with itself (FORMULAS 7.7)."""
    result: Points | None = None
    base = points
    while True:
        if size & 1:
            result = base if result is None else after(result, base)
        size >>= 1
        if not size:
            return points if result is None else result
        base = after(base, base)


def after(first: Points, second: Points) -> Points:
    """a -> second(1 - first(a)), shortened from below where its fractions are long."""
    found: list[Point] = []
    k = 0
    for (a, b), (c, d) in pairwise(first):
        low, high = 1 - b, 1 - d
        while second[k][0] < low:
            k += 1
        found.append((a, _at(second, k, low)))
        while k < len(second) and second[k][0] < high:
            u, v = second[k]
            if u > low:
                found.append((a + (c - a) * (u - low) / (high - low), v))
            k += 1
    found.append((_ONE, _ZERO))
    if len(found) > MOST_ATOMS:
        raise ParameterError("size", f"its trade-off curve has more than {MOST_ATOMS} points")
    return lower_hull((_shorter(a), _shorter(b)) for a, b in found)


def _at(points: Points, k: int, a: Fraction) -> Fraction:
    """The height at ``a``, where k is the first vertex not before it."""
    u, v = points[k]
    if u == a:
        return v
    x, y = points[k - 1]
    return y + (v - y) * (a - x) / (u - x)


def _shorter(value: Fraction) -> Fraction:
    if length(value) <= LONGEST_PARAMETER:
        return value
    return Fraction(
        (value.numerator << LONGEST_PARAMETER) // value.denominator, 1 << LONGEST_PARAMETER
    )
