"""Random pairs of finite interactive systems for the experiments, and pairs in words.

Laws are exact; each is drawn where a place of the two trees of histories is filled in, so that a
pair depends on the generator's state alone. Nothing is checked here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from interlace.core.finite import FinitePair
from interlace.core.finite.laws import History, Query
from interlace.core.finite.worst import WorstCase

_Table = dict[History, dict[Query, dict[str, Fraction]]]

#: Weights of a response are drawn up to this.
_HEAVIEST = 5


@dataclass(frozen=True)
class Shape:
    """How many queries, responses and rounds a pair has."""

    queries: int
    responses: int
    rounds: int

    @property
    def nodes(self) -> int:
        """How many histories there are."""
        branches = self.queries * self.responses
        return sum(branches**depth for depth in range(self.rounds + 1))


def shapes(rng: Random, count: int, nodes: int) -> list[Shape]:
    """``count`` random shapes of at most 3 queries, responses and rounds each, with at most
    ``nodes`` tuples of histories together."""
    while True:
        found = [_shape(rng) for _ in range(count)]
        if math.prod(shape.nodes for shape in found) <= nodes:
            return found


def _shape(rng: Random) -> Shape:
    return Shape(rng.randint(1, 3), rng.randint(2, 3), rng.randint(1, 3))


def random_pair(rng: Random, shape: Shape, *, common: bool = False) -> FinitePair:
    """A pair with zeros, with supports that differ unless they are ``common``, with laws that
    agree in places, and now and then everywhere.

    >>> pair = random_pair(Random(1), Shape(queries=2, responses=3, rounds=2))
    >>> pair.exact, pair.queries, pair.rounds
    (True, ('a', 'b'), 2)
    """
    zeros, alike = rng.choice([0, 0.2, 0.5]), rng.choice([0, 0.5, 0.5, 0.9, 1])
    tables: tuple[_Table, _Table] = ({}, {})
    queries = "abc"[: shape.queries]

    def weights(like: list[int] | None = None) -> list[int]:
        if like is not None:
            return [rng.randint(1, _HEAVIEST) if weight else 0 for weight in like]
        drawn = [
            0 if rng.random() < zeros else rng.randint(1, _HEAVIEST) for _ in range(shape.responses)
        ]
        return drawn if any(drawn) else weights()

    def fill(history: History) -> None:
        for table in tables:
            table[history] = {}
        for query in queries:
            first = weights()
            second = first if rng.random() < alike else weights(first if common else None)
            for table, drawn in zip(tables, (first, second), strict=True):
                table[history][query] = {
                    str(i): Fraction(weight, sum(drawn)) for i, weight in enumerate(drawn)
                }
            if len(history) + 1 < shape.rounds:
                for i in range(shape.responses):
                    fill((*history, (query, str(i))))

    fill(())
    return FinitePair.tables(*tables)


def randomised_response(ratio: Fraction, delta: Fraction) -> FinitePair:
    """Approximate randomised response, asked once: of all (log ``ratio``, ``delta``) mechanisms
    the one that tells most (FORMULAS 2.1)."""

    def step(bit: int, _history: object, _query: object) -> dict[str, Fraction]:
        kept = (1 - delta) / (1 + ratio)
        return {f"I am {bit}": delta, str(bit): kept * ratio, str(1 - bit): kept}

    return FinitePair(step, queries=["ask"], rounds=1)


def described(pair: WorstCase) -> str:
    """All laws of a pair, one history and query a line.

    >>> print(described(randomised_response(Fraction(3), Fraction(0))))
    after (): 'ask' -> {'0': 3/4, '1': 1/4} or {'1': 3/4, '0': 1/4}
    """
    return "\n".join(_lines(pair, (), (True, True)))


def _lines(pair: WorstCase, history: History, alive: tuple[bool, bool]) -> Iterator[str]:
    for query in pair.queries:
        laws = [pair.law(bit, history, query) if alive[bit] else {} for bit in (0, 1)]
        told = [", ".join(f"{y!r}: {p}" for y, p in law.items()) for law in laws]
        yield f"after {history!r}: {query!r} -> {{{told[0]}}} or {{{told[1]}}}"
        if len(history) + 1 < pair.rounds:
            for y in {**laws[0], **laws[1]}:
                yield from _lines(pair, (*history, (query, y)), (y in laws[0], y in laws[1]))
