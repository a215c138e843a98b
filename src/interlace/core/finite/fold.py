"""The max-sum recursion (FORMULAS 3.1) once, for every value that it is run with.

A value is told by three functions: of a history at its end, of the values after each response
(a sum), of the values after each query (the adversary's best). Numbers, pairs of probabilities
and whole polygons are such values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

from interlace.core.finite.graph import Graph, Move, Node, Source, refuse_size
from interlace.core.finite.strategy import Ask

V = TypeVar("V")
Number = Fraction | int


@dataclass(frozen=True)
class Value(Generic[V]):
    """What is computed: of M^0(h) and M^1(h) at the end, each times the game's scale; of sums;
    and of the best."""

    leaf: Callable[[Number, Number], V]
    add: Callable[[Sequence[V]], V]
    best: Callable[[Sequence[V]], V]


def numeric(leaf: Callable[[Number, Number], Number]) -> Value[Number]:
    """A number, of which the adversary wants the greatest."""
    return Value(leaf, sum, max)


class Game(Protocol):
    """What an adversary of some power can do with a pair."""

    @property
    def scales(self) -> tuple[int, int]: ...

    @property
    def size(self) -> int:
        """About how many nodes are looked at."""

    def solve(self, value: Value[V]) -> V:
        """The value of the best adversary."""

    def plan(self, value: Value[Number]) -> Ask | None:
        """A best adversary."""


class Walk:
    """Every history of a source, depth first: only one path is kept."""

    scales = (1, 1)

    def __init__(self, source: Source, limit: int) -> None:
        self._source, self.size, self._limit = source, source.size, limit
        self._visited = 0

    def solve(self, value: Value[V]) -> V:
        self._visited = 0
        return self._at(self._source.root(), value)

    def plan(self, value: Value[Number]) -> Ask | None:
        return self._choice(self._source.root(), value)

    def _at(self, node: Node, value: Value[V]) -> V:
        # The size was an estimate.
        self._visited += 1
        if self._visited > self._limit:
            refuse_size(max(self.size, self._visited), self._limit)
        options = self._source.options(node)[1]
        if not options:
            return value.leaf(*self._source.masses(node))
        return value.best([value.add(self._after(option, value)) for option in options])

    def _after(self, children: Sequence[Node], value: Value[V]) -> list[V]:
        return [self._at(child, value) for child in children]

    def _choice(self, node: Node, value: Value[Number]) -> Ask | None:
        labels, options = self._source.options(node)
        if not options:
            return None
        # Solved again below the choice: that is a geometric series in the number of queries.
        scores = [sum(self._after(option, value)) for option in options]
        chosen = scores.index(max(scores))
        query, responses = labels[chosen]
        following = [self._choice(child, value) for child in options[chosen]]
        return Ask(query, tuple(zip(responses, following, strict=True)))


class Numbered:
    """The nodes of a graph, from the last one to the first."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    @property
    def scales(self) -> tuple[int, int]:
        return self._graph.scales

    @property
    def size(self) -> int:
        return len(self._graph)

    def solve(self, value: Value[V]) -> V:
        return self._all(value)[0]

    def plan(self, value: Value[Number]) -> Ask | None:
        return plan(self._graph, self.chosen(value))

    def chosen(self, value: Value[Number]) -> Callable[[int], int]:
        """Which query is best at a node that has any."""
        graph, values = self._graph, self._all(value)

        def choose(node: int) -> int:
            scores = [sum([values[c] for c in option]) for option in graph.options(node)]
            return scores.index(max(scores))

        return choose

    def _all(self, value: Value[V]) -> list[V]:
        graph, leaf, add, best = self._graph, value.leaf, value.add, value.best
        size = len(graph)
        values: list[V] = [leaf(0, 0)] * size
        for node in range(size - 1, -1, -1):
            options = graph.options(node)
            if options:
                values[node] = best([add([values[c] for c in option]) for option in options])
            else:
                values[node] = leaf(*graph.masses(node))
        return values


def plan(graph: Graph, choose: Callable[[int], int]) -> Ask | None:
    """The adversary that asks the ``choose(node)``-th query of each node that it reaches."""
    chosen: dict[int, Move] = {}
    waiting = [0]
    while waiting:
        node = waiting.pop()
        if node not in chosen and graph.options(node):
            chosen[node] = graph.moves(node)[choose(node)]
            waiting += chosen[node][2]
    asks: dict[int, Ask] = {}
    for node in sorted(chosen, reverse=True):
        query, responses, children = chosen[node]
        following = [asks.get(child) for child in children]
        asks[node] = Ask(query, tuple(zip(responses, following, strict=True)))
    return asks.get(0)
