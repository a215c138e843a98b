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
from interlace.core.finite.graph import END, Labels, Options
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


_Node = tuple[int | None, int | None]
_Row = tuple[Labels, tuple[tuple[int, ...], ...], bool]
"""The replies to all queries, and whether all of them are idle."""

_NOTHING = Reply((), (), idle=True)


class Paired:
    """The two systems in step: a node is a pair of summaries, None for an impossible one."""

    merges = True

    def __init__(
        self, systems: tuple[Filtered, Filtered], queries: tuple[Query, ...], size: int
    ) -> None:
        self._first, self._second = systems
        self._queries, self.size = queries, size
        self._labels: dict[Labels, Labels] = {}
        self._rows: tuple[dict[int, _Row], dict[int, _Row]] = ({}, {})

    def root(self) -> _Node:
        return 0, 0

    def masses(self, node: _Node) -> tuple[Fraction, Fraction]:
        m, n = node
        return (
            Fraction(0) if m is None else self._first.mass(m),
            Fraction(0) if n is None else self._second.mass(n),
        )

    def options(self, node: _Node) -> Options:
        m, n = node
        if m is not None and n is not None:
            first = self._rows[0].get(m) or self._row(0, m)
            second = self._rows[1].get(n) or self._row(1, n)
            if first[0] is second[0]:
                # Where no question tells or changes anything any more, all is over.
                if first[2] and second[2]:
                    return END
                following = zip(first[1], second[1], strict=True)
                return first[0], [tuple(zip(a, b, strict=True)) for a, b in following]
        return self._apart(m, n)

    def _row(self, bit: int, number: int) -> _Row:
        replies = (self._first, self._second)[bit].replies(number)
        # One object for equal labels, so that they are compared at once.
        labels = tuple((q, r.responses) for q, r in zip(self._queries, replies, strict=False))
        labels = self._labels.setdefault(labels, labels)
        row = labels, tuple(r.following for r in replies), all(r.idle for r in replies)
        self._rows[bit][number] = row
        return row

    def _apart(self, m: int | None, n: int | None) -> Options:
        """Where the two systems do not have the same responses."""
        none = (_NOTHING,) * len(self._queries)
        first = none if m is None else self._first.replies(m)
        second = none if n is None else self._second.replies(n)
        labels, options, idle = [], [], True
        # At the end one of the two may be without replies.
        for query, one, other in zip(self._queries, first, second, strict=False):
            p = dict(zip(one.responses, one.following, strict=True))
            q = dict(zip(other.responses, other.following, strict=True))
            responses = tuple({**p, **q})
            labels.append((query, responses))
            options.append(tuple((p.get(r), q.get(r)) for r in responses))
            idle = idle and one.idle and other.idle and len(responses) == 1
        return END if idle else (tuple(labels), options)


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
