"""Machines whose hidden state moves with each response."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

from interlace.core.errors import ParameterError
from interlace.core.finite.blocks import Kernel
from interlace.core.finite.hidden import Filter, Reply
from interlace.core.finite.laws import (
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

    def kernel(self) -> Kernel:
        """The law of the first state, and of what follows each state."""
        return Kernel(
            [Fraction(weight, self._scale) for weight in self._weights[0][1]],
            [
                {
                    response: [(i, j, Fraction(weight, self._unit)) for i, j, weight in steps]
                    for response, steps in kernel.items()
                }
                for kernel in self._kernels
            ],
        )

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
