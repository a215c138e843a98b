"""The tree of a pair that is known by its step alone: every history is a node of its own."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from interlace.core.finite.graph import END, Move, Options
from interlace.core.finite.laws import History, Law, Query, repaired

Node = tuple[History, Fraction, Fraction]


class Stepped:
    """A source of histories with their probabilities."""

    merges = False

    def __init__(
        self,
        law: Callable[[int, History, Query], Law],
        queries: tuple[Query, ...],
        rounds: int,
    ) -> None:
        self._law, self._queries, self._rounds = law, queries, rounds

    @property
    def size(self) -> int:
        """From the number of responses in the first round."""
        wide = sum(
            len({**self._law(0, (), query), **self._law(1, (), query)}) for query in self._queries
        )
        # A sum of powers; exact is not needed, and 10**300 is refused like 10**400.
        return sum(wide**t for t in range(min(self._rounds, 600) + 1))

    def root(self) -> Node:
        return (), Fraction(1), Fraction(1)

    def masses(self, node: Node) -> tuple[Fraction, Fraction]:
        return node[1], node[2]

    def options(self, node: Node) -> Options:
        history, p, q = node
        if len(history) == self._rounds:
            return END
        moves = [self._move(history, p, q, query) for query in self._queries]
        return tuple(move[:2] for move in moves), [move[2] for move in moves]

    def _move(self, history: History, p: Fraction, q: Fraction, query: Query) -> Move:
        # Where a history cannot be, its law is arbitrary and is not asked for.
        first = repaired(self._law(0, history, query)) if p else {}
        second = repaired(self._law(1, history, query)) if q else {}
        responses = tuple(dict.fromkeys([*first, *second]))
        return (
            query,
            responses,
            tuple(
                (
                    (*history, (query, response)),
                    p * first.get(response, 0),
                    q * second.get(response, 0),
                )
                for response in responses
            ),
        )
