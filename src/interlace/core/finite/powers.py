"""Adversaries of less power: what they ask one part does not depend on another part's answers.

So the best of them is no recursion over tuples of nodes. Strategies for single parts are listed,
with how often each end is reached; of several that reach equally much, one is kept. Values of
the ends scale with their probabilities, which all values of this package do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

from interlace.core.finite import polygon
from interlace.core.finite.fold import Number, Numbered, Value
from interlace.core.finite.graph import Graph, Move
from interlace.core.finite.laws import Query
from interlace.core.finite.strategy import Ask

V = TypeVar("V")
Mass = tuple[Number, Number]
State = tuple[int, int]
"""A node, and how many questions were asked before it."""


@dataclass(frozen=True)
class Listed:
    """One strategy for one part: its move in a state (None at the end), and the masses of its
    ends, with equal likelihood ratios put together."""

    move: Callable[[State], Move | None]
    masses: tuple[Mass, ...]


class Fixed:
    """All queries, to all parts, are fixed before the first answer."""

    def __init__(
        self,
        parts: Sequence[Graph],
        queries: Sequence[tuple[Sequence[Query], int]],
        *,
        exact: bool,
    ) -> None:
        self._parts = tuple(parts)
        self._listed = [
            _best_kept(_sequences(part, asked, rounds), exact=exact)
            for part, (asked, rounds) in zip(parts, queries, strict=True)
        ]
        self.size = math.prod(sum(len(one.masses) for one in listed) for listed in self._listed)

    @property
    def scales(self) -> tuple[int, int]:
        return _scales(self._parts)

    def solve(self, value: Value[V]) -> V:
        return value.best([_reached(value, chosen) for chosen in product(*self._listed)])

    def plan(self, value: Value[Number]) -> Ask | None:
        best = max(product(*self._listed), key=lambda chosen: _reached(value, chosen))
        return _played([one.move for one in best])


class Within:
    """Queries to a part depend on the answers of that part alone."""

    def __init__(self, parts: Sequence[Graph], *, exact: bool) -> None:
        self._parts = tuple(parts)
        # The part with the most strategies is solved by recursion, the others are listed.
        self._last = max(range(len(parts)), key=lambda i: strategies(parts[i]))
        self._others = [i for i in range(len(parts)) if i != self._last]
        self._listed = [_best_kept(_choices(parts[i]), exact=exact) for i in self._others]
        self.size = len(parts[self._last]) * math.prod(map(len, self._listed))

    @property
    def scales(self) -> tuple[int, int]:
        return _scales(self._parts)

    def solve(self, value: Value[V]) -> V:
        last = Numbered(self._parts[self._last])
        return value.best(
            [last.solve(_weighted(value, chosen)) for chosen in product(*self._listed)]
        )

    def plan(self, value: Value[Number]) -> Ask | None:
        graph = self._parts[self._last]
        last = Numbered(graph)
        best = max(product(*self._listed), key=lambda chosen: last.solve(_weighted(value, chosen)))
        moves = dict(zip(self._others, [one.move for one in best], strict=True))
        moves[self._last] = _following(graph, last.chosen(_weighted(value, best)))
        return _played([moves[i] for i in range(len(self._parts))])


def strategies(graph: Graph) -> int:
    """How many strategies a part has at most; cut at 10**100."""
    found = [1] * len(graph)
    for node in range(len(graph) - 1, -1, -1):
        options = graph.options(node)
        if options:
            counted = sum(math.prod(found[c] for c in option) for option in options)
            found[node] = min(counted, 10**100)
    return found[0]


def _choices(graph: Graph) -> Iterator[Listed]:
    """Every strategy that asks the same at the same node; others do no better, since an end's
    value, given what the other parts do, depends on its node alone."""
    waiting: list[tuple[dict[int, int], dict[int, int]]] = [({}, {0: 1})]
    while waiting:
        choice, counts = waiting.pop()
        # Children have larger numbers: the least open node is reached by nothing else.
        node = min((n for n in counts if graph.options(n)), default=None)
        if node is None:
            yield Listed(_following(graph, choice.__getitem__), _masses(graph, counts))
            continue
        rest = {n: count for n, count in counts.items() if n != node}
        for i, option in enumerate(graph.options(node)):
            waiting.append((choice | {node: i}, _spread(rest, option, counts[node])))


def _sequences(graph: Graph, queries: Sequence[Query], rounds: int) -> Iterator[Listed]:
    for sequence in product(queries, repeat=rounds):
        counts = {0: 1}
        for query in sequence:
            following: dict[int, int] = {}
            for node, count in counts.items():
                move = _named(graph, node, query)
                following = _spread(following, move[2] if move else [node], count)
            counts = following
        yield Listed(_recited(graph, sequence), _masses(graph, counts))


def _spread(counts: dict[int, int], nodes: Sequence[int], count: int) -> dict[int, int]:
    found = dict(counts)
    for node in nodes:
        found[node] = found.get(node, 0) + count
    return found


def _named(graph: Graph, node: int, query: Query) -> Move | None:
    """The move with this query; None where it is refused, or nothing is answered any more."""
    return next((move for move in graph.moves(node) if move[0] == query), None)


def _following(graph: Graph, choose: Callable[[int], int]) -> Callable[[State], Move | None]:
    def move(state: State) -> Move | None:
        node, asked = state
        if not graph.options(node):
            return None
        query, responses, children = graph.moves(node)[choose(node)]
        return query, responses, tuple((child, asked + 1) for child in children)

    return move


def _recited(graph: Graph, sequence: Sequence[Query]) -> Callable[[State], Move | None]:
    def move(state: State) -> Move | None:
        node, asked = state
        for position in range(asked, len(sequence)):
            found = _named(graph, node, sequence[position])
            if found is not None:
                query, responses, children = found
                return query, responses, tuple((child, position + 1) for child in children)
        return None

    return move


def _masses(graph: Graph, counts: Mapping[int, int]) -> tuple[Mass, ...]:
    together: dict[tuple[int, int], int] = {}
    for node, count in counts.items():
        p, q = graph.masses(node)
        common = math.gcd(p, q)
        ratio = p // common, q // common
        together[ratio] = together.get(ratio, 0) + common * count
    return tuple(sorted((p * n, q * n) for (p, q), n in together.items()))


def _best_kept(listed: Iterator[Listed], *, exact: bool) -> list[Listed]:
    """Those whose polygon lies in no other's: by Blackwell's theorem the others see a garbling,
    which stays one beside whatever is seen of other parts. Of rounded masses, those that differ."""
    if not exact:
        return list({one.masses: one for one in listed}.values())
    found: dict[polygon.Chain, Listed] = {}
    for one in listed:
        chain = polygon.of_atoms(one.masses)
        if any(polygon.hull([chain, other]) == other for other in found):
            continue
        found = {c: kept for c, kept in found.items() if polygon.hull([chain, c]) != chain}
        found[chain] = one
    return list(found.values())


def _reached(value: Value[V], chosen: Sequence[Listed]) -> V:
    return value.add([value.leaf(*_product(ends)) for ends in product(*(o.masses for o in chosen))])


def _weighted(value: Value[V], chosen: Sequence[Listed]) -> Value[V]:
    """The value of one part's end, with all that is seen of the others."""
    weights = [_product(ends) for ends in product(*(one.masses for one in chosen))]

    def leaf(x: Number, y: Number) -> V:
        return value.add([value.leaf(p * x, q * y) for p, q in weights])

    return Value(leaf, value.add, value.best)


def _product(masses: Sequence[Mass]) -> Mass:
    return math.prod(p for p, _ in masses), math.prod(q for _, q in masses)


def _scales(parts: Sequence[Graph]) -> tuple[int, int]:
    first, second = zip(*(part.scales for part in parts), strict=True)
    return math.prod(first), math.prod(second)


def _played(moves: Sequence[Callable[[State], Move | None]]) -> Ask | None:
    """One part after the other: the order makes no difference to such an adversary."""
    known: dict[tuple[int, State], Ask | None] = {}

    def at(part: int, state: State) -> Ask | None:
        if part == len(moves):
            return None
        if (part, state) not in known:
            move = moves[part](state)
            if move is None:
                return at(part + 1, (0, 0))
            query, responses, states = move
            after = tuple(zip(responses, [at(part, s) for s in states], strict=True))
            known[part, state] = Ask((part, query), after)
        return known[part, state]

    return at(0, (0, 0))
