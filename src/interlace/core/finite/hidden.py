"""Systems with a hidden state: what matters of a history is how likely each state is with it.

For one bit a history is summed up by its weights, the probabilities of history and hidden
state together. Histories of equal weights are one node. Weights are integers over a common
denominator to the power of what was multiplied, also for floats: they are read as the dyadic
numbers that they are, so that nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, Protocol

from interlace.core.finite.blocks import Kernel
from interlace.core.finite.graph import Move
from interlace.core.finite.laws import (
    History,
    Law,
    Query,
    Response,
)


class Reply(NamedTuple):
    """What may come back to one query: responses of positive probability, the summary after
    each, and whether it is one that tells nothing and changes nothing."""

    responses: tuple[Response, ...]
    following: tuple[int, ...]
    idle: bool


class Filtered(Protocol):
    """The system of one bit: numbered summaries of histories. The first one is 0."""

    @property
    def deviation(self) -> float: ...

    def replies(self, number: int) -> Sequence[Reply]:
        """In the order of the queries; nothing at the end."""

    def mass(self, number: int) -> Fraction:
        """M^b(h)."""

    def kernel(self) -> Kernel | None:
        """The laws of what follows each hidden state, where there is such a kernel."""


_NOTHING = Reply((), (), idle=True)


class Paired:
    """The two systems in step: a node is a pair of summaries, None for an impossible one."""

    merges = True

    def __init__(
        self, systems: tuple[Filtered, Filtered], queries: tuple[Query, ...], size: int
    ) -> None:
        self._first, self._second = systems
        self._queries, self.size = queries, size
        self._none = (_NOTHING,) * len(queries)

    def root(self) -> tuple[int | None, int | None]:
        return 0, 0

    def masses(self, node: tuple[int | None, int | None]) -> tuple[Fraction, Fraction]:
        m, n = node
        return (
            Fraction(0) if m is None else self._first.mass(m),
            Fraction(0) if n is None else self._second.mass(n),
        )

    def moves(self, node: tuple[int | None, int | None]) -> Sequence[Move]:
        m, n = node
        first = self._none if m is None else self._first.replies(m)
        second = self._none if n is None else self._second.replies(n)
        found: list[Move] = []
        idle = True
        # At the end one of the two may be without replies.
        for query, one, other in zip(self._queries, first, second, strict=False):
            if one.responses == other.responses:
                children = tuple(zip(one.following, other.following, strict=True))
                found.append((query, one.responses, children))
                idle = idle and one.idle and other.idle
            else:
                found.append(_joined(query, one, other))
                idle = idle and one.idle and other.idle and len(found[-1][1]) == 1
        # Where no question tells or changes anything any more, all is over.
        return () if idle else found


def _joined(query: Query, one: Reply, other: Reply) -> Move:
    first = dict(zip(one.responses, one.following, strict=True))
    second = dict(zip(other.responses, other.following, strict=True))
    responses = tuple({**first, **second})
    return query, responses, tuple((first.get(r), second.get(r)) for r in responses)


class Filter:
    """Both systems, as a step and as a source of nodes."""

    def __init__(
        self,
        systems: tuple[Filtered, Filtered],
        queries: tuple[Query, ...],
        *,
        exact: bool,
    ) -> None:
        self._systems, self._exact = systems, exact
        self._queries = queries
        self._index = {query: i for i, query in enumerate(queries)}

    def source(self, rounds: int) -> Paired:
        """The nodes of both."""
        wide = sum(
            len({*one.responses, *other.responses})
            for one, other in zip(*(s.replies(0) for s in self._systems), strict=True)
        )
        return Paired(self._systems, self._queries, wide ** min(rounds, 600))

    @property
    def exact(self) -> bool:
        """Whether no law held a float."""
        return self._exact

    def kernels(self) -> tuple[Kernel, Kernel] | None:
        """What ``blocks`` needs of a machine with a hidden state."""
        first, second = (system.kernel() for system in self._systems)
        return None if first is None or second is None else (first, second)

    @property
    def deviation(self) -> float:
        """How far from 1 the worst law sums."""
        return max(system.deviation for system in self._systems)

    def __call__(self, bit: int, history: History, query: Query) -> Law:
        """The law of the response, by the weights after the history. Where that is impossible
        the law is arbitrary: it is the first round's."""
        system = self._systems[bit]
        number: int | None = 0
        for asked, response in history:
            if number is not None:
                reply = system.replies(number)[self._index[asked]]
                number = dict(zip(reply.responses, reply.following, strict=True)).get(response)
        number = number or 0
        whole = system.mass(number)
        responses, following, _ = system.replies(number)[self._index[query]]
        law: Law = {r: system.mass(n) / whole for r, n in zip(responses, following, strict=True)}
        return law if self._exact else {r: float(p) for r, p in law.items()}
