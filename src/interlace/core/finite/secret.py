"""Systems with one secret, drawn at the opening, and a public state folded from the transcript.

Given the secret, each response has a factor: its probability. The order of questions does not
matter to their product, so a history is summed up by how often each factor occurred, one
integer, and by the public state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from interlace.core.errors import ParameterError
from interlace.core.finite.hidden import Filter, Reply
from interlace.core.finite.laws import (
    Law,
    Query,
    Response,
    checked_twice,
    deviation,
    is_exact,
    repaired,
    weights,
)

Secret = Hashable
Public = Hashable
#: opening(bit) -> {secret: probability}.
Opening = Callable[[int], Mapping[Any, Any]]
#: answer(bit, secret, public state, query) -> {response: probability}.
Answering = Callable[[int, Any, Any, Any], Mapping[Any, Any]]
#: after(public state, query, response) -> the next public state.
After = Callable[[Any, Any, Any], Any]


@dataclass(frozen=True)
class OneSecret:
    """What describes such a pair."""

    opening: Opening
    answer: Answering
    start: Public
    after: After
    exact: bool | None


@dataclass(frozen=True)
class _Summary:
    depth: int
    public: Public
    counts: int
    """How often each factor occurred, in one integer."""
    weights: list[int]
    unit: int
    """The weights times one over this are probabilities of history and secret."""


@dataclass(frozen=True)
class _Factor:
    """The probabilities of one response under each secret, times ``unit``."""

    step: int
    """What it adds to the counts; 0 where it is certain under every secret."""
    values: tuple[int, ...]
    unit: int
    public: Public


class Summed:
    """The system of one bit."""

    def __init__(
        self, bit: int, system: OneSecret, queries: tuple[Query, ...], rounds: int
    ) -> None:
        self._bit, self._system, self._queries, self._rounds = bit, system, queries, rounds
        law = weights(lambda: system.opening(bit), f"opening(bit={bit})", exact=system.exact)
        self._secrets = tuple(law)
        start = repaired(law)
        self.deviation, self.exact = deviation(law), is_exact([law])
        unit = math.lcm(*(w.denominator for w in start.values()))
        first = [int(w * unit) for w in start.values()]
        self._summaries = [_Summary(0, system.start, 0, first, unit)]
        self._numbers: dict[tuple[int, Public, int], int] = {(0, system.start, 0): 0}
        self._steps: dict[tuple[int, tuple[int, ...]], int] = {}
        self._factors: dict[tuple[Public, Query], dict[Response, _Factor]] = {}
        self._known: dict[int, tuple[Reply, ...]] = {}
        self._masses: dict[int, Fraction] = {}

    def replies(self, number: int) -> Sequence[Reply]:
        if number not in self._known:
            ended = self._summaries[number].depth >= self._rounds
            asked = () if ended else self._queries
            self._known[number] = tuple(self._reply(number, query) for query in asked)
        return self._known[number]

    def _reply(self, number: int, query: Query) -> Reply:
        now = self._summaries[number]
        answers = self._answers(now.public, query)
        idle = len(answers) == 1 and all(
            not factor.step and factor.public == now.public for factor in answers.values()
        )
        moved = {response: self._moved(now, factor) for response, factor in answers.items()}
        found = {
            response: following for response, following in moved.items() if self.mass(following)
        }
        return Reply(tuple(found), tuple(found.values()), idle)

    def mass(self, number: int) -> Fraction:
        if number not in self._masses:
            now = self._summaries[number]
            total = Fraction(sum(now.weights), now.unit)
            if total < 0:
                raise ParameterError(
                    f"opening(bit={self._bit})",
                    f"its negative weights give a history of {now.depth} rounds a negative "
                    "probability: they do not stand for a tail of these answers",
                )
            self._masses[number] = total
        return self._masses[number]

    def kernel(self) -> None:
        """There is none: the public state is no hidden one."""

    def _moved(self, now: _Summary, factor: _Factor) -> int:
        key = now.depth + 1, factor.public, now.counts + factor.step
        number = self._numbers.setdefault(key, len(self._summaries))
        if number == len(self._summaries):
            moved, unit = now.weights, now.unit
            if factor.step:
                moved = [w * v for w, v in zip(moved, factor.values, strict=True)]
                unit *= factor.unit
            self._summaries.append(_Summary(*key, moved, unit))
        return number

    def _answers(self, public: Public, query: Query) -> dict[Response, _Factor]:
        if (public, query) not in self._factors:
            laws = [repaired(self._law(secret, public, query)) for secret in self._secrets]
            responses = dict.fromkeys(response for law in laws for response in law)
            self._factors[public, query] = {
                response: self._factor(
                    [law.get(response, Fraction(0)) for law in laws],
                    self._system.after(public, query, response),
                )
                for response in responses
            }
        return self._factors[public, query]

    def _law(self, secret: Secret, public: Public, query: Query) -> Law:
        bit, exact = self._bit, self._system.exact
        law = checked_twice(
            lambda: self._system.answer(bit, secret, public, query),
            f"answer(bit={bit}, secret={secret!r}, public={public!r}, query={query!r})",
            exact=exact,
        )
        self.deviation = max(self.deviation, deviation(law))
        self.exact = self.exact and is_exact([law])
        return law

    def _factor(self, values: list[Fraction], public: Public) -> _Factor:
        unit = math.lcm(*(value.denominator for value in values))
        whole = tuple(value.numerator * (unit // value.denominator) for value in values)
        if all(value == unit for value in whole):
            return _Factor(0, whole, unit, public)
        # A digit of the counts for each factor, wide enough for all rounds.
        width = (self._rounds + 1).bit_length()
        step = self._steps.setdefault((unit, whole), 1 << width * len(self._steps))
        return _Factor(step, whole, unit, public)


def summed(system: OneSecret, queries: tuple[Query, ...], rounds: int) -> Filter:
    """The step of a mechanism with one secret. Exact where its first round is, unless said."""
    first, second = (Summed(bit, system, queries, rounds) for bit in (0, 1))
    first.replies(0), second.replies(0)
    exact = first.exact and second.exact
    if system.exact is None:
        return summed(replace(system, exact=exact), queries, rounds)
    return Filter((first, second), queries, exact=exact)
