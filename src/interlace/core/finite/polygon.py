"""What an adversary can achieve, for every epsilon at once.

An adversary and an event S give a point (P(S), Q(S)). The points that can be reached from a
node form a convex polygon from (0, 0) to (M^0(h), M^1(h)), symmetric about its centre since
S has its complement; so its lower chain, from the one corner to the other with ever steeper
edges, tells all of it. Responses add: the Minkowski sum of the chains. The adversary chooses
a query: the hull of their union, which drops whatever is dominated. A chain is the tuple of
its vertices without (0, 0).

Everything is exact: coordinates are integers or Fractions that are added and compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cmp_to_key
from itertools import chain as joined
from itertools import groupby, pairwise

Number = Fraction | int
Point = tuple[Number, Number]
Chain = tuple[Point, ...]

_ORIGIN: Point = (0, 0)


def segment(p: Number, q: Number) -> Chain:
    """The chain of one history: take it into the event, or not."""
    return ((p, q),) if p or q else ()


def of_atoms(atoms: Iterable[Point]) -> Chain:
    """The chain of histories that are all reached: the likelihood ratio test."""
    return _from_edges([atom for atom in atoms if atom != _ORIGIN])


def add(chains: Sequence[Chain]) -> Chain:
    """The Minkowski sum: all edges in the order of their slopes."""
    if len(chains) == 1:
        return chains[0]
    return _from_edges([edge for chain in chains for edge in edges(chain)])


def hull(chains: Sequence[Chain]) -> Chain:
    """The lower chain of the hull of a union, for chains that end in one and the same point."""
    if len(chains) == 1 or all(chain == chains[0] for chain in chains):
        return chains[0]
    found = [_ORIGIN]
    for x, y in sorted(set(joined.from_iterable(chains))):
        # Andrew's scan: a vertex stays where the chain turns left.
        while len(found) > 1:
            (a, b), (c, d) = found[-2], found[-1]
            if (c - a) * (y - b) > (d - b) * (x - a):
                break
            found.pop()
        found.append((x, y))
    return tuple(found[1:])


def mirrored(
    corners: tuple[tuple[Fraction, Fraction], ...],
) -> tuple[tuple[Fraction, Fraction], ...]:
    """The corners of the other order, where all ends in (1, 1): by symmetry its best events are
    the complements."""
    before = (Fraction(0), Fraction(0)), *corners[:-1]
    return tuple((1 - q, 1 - p) for p, q in reversed(before))


def edges(chain: Chain) -> list[Point]:
    """Differences of consecutive vertices, the first one from (0, 0)."""
    return [(c - a, d - b) for (a, b), (c, d) in pairwise((_ORIGIN, *chain))]


def best(chain: Chain, factor: Fraction) -> Number:
    """The greatest P(S) - factor Q(S)."""
    p, q = best_event(chain, factor)
    return p - factor * q


def best_event(chain: Chain, factor: Fraction | None) -> Point:
    """The event with the greatest P(S) - factor Q(S), or P(S) with Q(S) = 0 for None."""
    if factor is None:
        return max(point for point in (_ORIGIN, *chain) if point[1] == 0)
    return max((_ORIGIN, *chain), key=lambda point: point[0] - factor * point[1])


def _from_edges(steps: list[Point]) -> Chain:
    found = []
    x, y = dx, dy = _ORIGIN
    for a, b in _by_slope(steps):
        if dx * b != dy * a:
            found.append((x, y))
            dx, dy = a, b
        elif not (dx or dy):
            dx, dy = a, b
        x, y = x + a, y + b
    return (*found, (x, y)) if x or y else ()


def _by_slope(steps: list[Point]) -> list[Point]:
    exact = cmp_to_key(_turn)
    try:
        # Division of integers is rounded correctly, so that it can only make slopes equal.
        slopes = [(b / a if a else math.inf) for a, b in steps]
    except OverflowError:
        return sorted(steps, key=exact)
    order = sorted(range(len(steps)), key=slopes.__getitem__)
    found: list[Point] = []
    for _, run in groupby(order, key=slopes.__getitem__):
        alike = [steps[i] for i in run]
        found += alike if len(alike) == 1 else sorted(alike, key=exact)
    return found


def _turn(first: Point, second: Point) -> int:
    """Negative where the first edge is the flatter one."""
    across = first[1] * second[0] - second[1] * first[0]
    return (across > 0) - (across < 0)
