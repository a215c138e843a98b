"""Systems with a hidden state: what matters of a history is how likely each state is with it.

For one bit a history is summed up by its weights, the probabilities of history and hidden
state together. Histories of equal weights are one node. Weights are integers over a common
denominator to the power of what was multiplied, also for floats: they are read as the dyadic
numbers that they are, so that nothing is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, Protocol

from interlace.core.errors import ParameterError
from interlace.core.finite.graph import Move
from interlace.core.finite.laws import (
    History,
    Law,
    Query,
    Response,
    checked_twice,
    deviation,
    is_exact,
    repaired,
)

Hidden = Hashable
#: initial(bit) -> {hidden state: probability}.
Initial = Callable[[int], Mapping[Any, Any]]
#: transition(bit, hidden state, query) -> {(response, next hidden state): probability}.
Transition = Callable[[int, Any, Any], Mapping[Any, Any]]

#: Hidden states that a machine may have.
MOST_STATES = 100_000

_Kernel = Mapping[Response, Sequence[tuple[int, int, int]]]


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


def machines(
    initial: Initial,
    transition: Transition,
    queries: tuple[Query, ...],
    rounds: int,
    exact: bool | None,
) -> Filter:
    """The step of a machine with a hidden state."""
    first, second = (Machine(bit, initial, transition, queries, rounds, exact) for bit in (0, 1))
    return Filter((first, second), queries, exact=first.exact and second.exact)


class Machine:
    """One bit's system whose hidden state moves with each response."""

    def __init__(
        self,
        bit: int,
        initial: Initial,
        transition: Transition,
        queries: tuple[Query, ...],
        rounds: int,
        exact: bool | None,
    ) -> None:
        self._bit, self._rounds = bit, rounds
        opening = checked_twice(lambda: initial(bit), f"initial(bit={bit})", exact=exact)
        raw = _reached(bit, opening, transition, queries, exact)
        self.deviation = max(map(deviation, [opening, *raw.values()]))
        self.exact = is_exact([opening, *raw.values()])
        laws = {place: repaired(law) for place, law in raw.items()}
        self._names = {hidden: i for i, hidden in enumerate(dict.fromkeys(h for h, _ in laws))}
        self._unit = math.lcm(*(p.denominator for law in laws.values() for p in law.values()))
        self._kernels = [self._kernel(laws, query) for query in queries]
        start = repaired(opening)
        self._scale = math.lcm(*(p.denominator for p in start.values()))
        weights = [0] * len(self._names)
        for hidden, p in start.items():
            weights[self._names[hidden]] = int(p * self._scale)
        self._weights: list[tuple[int, tuple[int, ...]]] = [(0, tuple(weights))]
        self._numbers = {self._weights[0]: 0}
        self._known: dict[int, tuple[Reply, ...]] = {}

    def _kernel(
        self, laws: Mapping[tuple[Hidden, Query], Mapping[Response, Fraction]], query: Query
    ) -> _Kernel:
        kernel: dict[Response, list[tuple[int, int, int]]] = {}
        for hidden, i in self._names.items():
            for outcome, p in laws[hidden, query].items():
                response, following = _pair(outcome)
                weight = int(p * self._unit)
                kernel.setdefault(response, []).append((i, self._names[following], weight))
        return kernel

    def replies(self, number: int) -> Sequence[Reply]:
        if number not in self._known:
            ended = self._weights[number][0] >= self._rounds
            kernels = () if ended else self._kernels
            self._known[number] = tuple(self._reply(number, kernel) for kernel in kernels)
        return self._known[number]

    def _reply(self, number: int, kernel: _Kernel) -> Reply:
        depth, weights = self._weights[number]
        found = {}
        for response, steps in kernel.items():
            moved = [0] * len(weights)
            for i, j, weight in steps:
                moved[j] += weights[i] * weight
            if any(moved):
                found[response] = self._number((depth + 1, tuple(moved)))
        same = tuple(weight * self._unit for weight in weights)
        idle = len(found) == 1 and all(self._weights[n][1] == same for n in found.values())
        return Reply(tuple(found), tuple(found.values()), idle)

    def _number(self, key: tuple[int, tuple[int, ...]]) -> int:
        number = self._numbers.setdefault(key, len(self._weights))
        if number == len(self._weights):
            self._weights.append(key)
        return number

    def mass(self, number: int) -> Fraction:
        depth, weights = self._weights[number]
        return Fraction(sum(weights), self._scale * self._unit**depth)


def _reached(
    bit: int,
    opening: Law,
    transition: Transition,
    queries: tuple[Query, ...],
    exact: bool | None,
) -> dict[tuple[Hidden, Query], Law]:
    """The law of every state that can be reached."""
    laws: dict[tuple[Hidden, Query], Law] = {}
    waiting = list(opening)
    seen = set(waiting)
    while waiting:
        hidden = waiting.pop()
        for query in queries:
            where = f"transition(bit={bit}, hidden={hidden!r}, query={query!r})"
            law = checked_twice(partial(transition, bit, hidden, query), where, exact=exact)
            laws[hidden, query] = law
            for _, following in map(_pair, law):
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
        if len(seen) > MOST_STATES:
            raise ParameterError(
                "transition",
                f"reaches more than {MOST_STATES:,} hidden states: describe the "
                "system by a step, or give it fewer states",
            )
    return laws


def _pair(outcome: Response) -> tuple[Response, Hidden]:
    if not isinstance(outcome, tuple) or len(outcome) != 2:
        raise ParameterError(
            "transition", "its laws must be over pairs (response, next hidden state)"
        )
    return outcome[0], outcome[1]
