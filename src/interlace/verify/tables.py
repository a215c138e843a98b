"""A mechanism as a pair of finite systems: every round played for every secret and every answer.

The mechanism's own code is run by ``play``, as the centre runs it. What the finite systems
differ by from the mechanism is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from interlace.core.errors import ParameterError, SessionHalted
from interlace.core.finite import FinitePair
from interlace.core.finite.secret import OneSecret, summed
from interlace.core.mechanisms.play import State, play, start
from interlace.core.mechanisms.protocol import (
    Answer,
    Composite,
    Mechanism,
    Public,
    Secret,
    composite,
)
from interlace.core.queries import Query
from interlace.verify.kernels import Asked, Kernels, Step
from interlace.verify.mistakes import released
from interlace.verify.noise import BITS
from interlace.verify.opening import shape, window
from interlace.verify.questions import Plan, Question, identity
from interlace.verify.responses import Kind, Way, responses
from interlace.verify.sizes import MOST_ENTRIES, MOST_NODES, bound, refuse

Progress = Callable[[str, int, int], None]
"""Told what is done, and how much of how much."""

#: Mass that is cut off a law: where only comparisons are made, and where outcomes are listed.
_FINE, _COARSE = Fraction(1, 2**120), Fraction(1, 2**70)
#: Answers that the mechanism is asked to give for one question after another.
_MOST_ANSWERS = 5_000_000
#: Of all weights, one for each node and secret: what fits into memory.
_MOST_BYTES = 10**9
_ONE = Fraction(1)


@dataclass(frozen=True)
class Table:
    """One question in one public state: the laws of the response under each secret on the two
    neighbours, and the state after each response."""

    laws: tuple[list[dict[str, Fraction]], list[dict[str, Fraction]]]
    after: dict[str, int]


class System:
    """The pair of finite systems of a mechanism that is asked ``questions``.

    Secrets are those of a window, and outcomes too unless they are compared. ``distance()``
    bounds, for every adversary, by how much the probabilities of all transcripts together are
    off, once the pair was solved. Answers in which one likelihood ratio and one next state go
    together are one response: an adversary gains nothing by telling them apart.

    Raises ParameterError where the mechanism is no frozen value, and for what is too large.
    """

    def __init__(
        self,
        mechanism: Mechanism | Composite,
        plan: Plan,
        questions: tuple[Question, ...],
        rounds: int,
        progress: Progress,
    ) -> None:
        self._mechanism, self._plan = mechanism, plan
        self._questions = {str(question): question for question in questions}
        self._rounds, self._progress = rounds, progress
        folded = composite(mechanism) is None
        values = sorted({v for question in questions for v in question.values})
        # A first look at the kernels tells how fine the window must be.
        self._kernels = Kernels(plan, values, _COARSE, folded=folded)
        self._shape, laws = shape(mechanism)
        self._secrets, self._opening, self._opened = window(laws, _COARSE)
        # By state and query, then by the numbers of the leaves' answers: hashing answers is slow.
        self._plays: dict[tuple[int, Query], dict[tuple[int, ...], Asked | tuple[int, int]]] = {}
        self._answers: list[Answer] = []
        self._known: dict[Hashable, int] = {}
        self._states: list[State] = []
        self._numbers: dict[Hashable, int] = {}
        self._tables: dict[tuple[int, str], Table] = {}
        self._entries, self._depth = 0, 1
        self._number(start(mechanism))
        if folded and self._only_compares():
            self._kernels = Kernels(plan, values, _FINE, folded=folded)
            self._secrets, self._opening, self._opened = window(laws, _FINE)
            self._plays.clear()
        self.pair = self._paired()

    def _paired(self) -> FinitePair:
        """Refused where it is too large, as early as that is known."""
        asked, rounds = tuple(self._questions), self._rounds
        system = OneSecret(
            lambda _bit: self._opening,
            lambda bit, secret, state, asked: self._table(state, asked).laws[bit][secret],
            0,
            lambda state, asked, response: self._table(state, asked).after[response],
            exact=True,
        )
        step = summed(system, asked, rounds)
        limit = max(2000, _MOST_BYTES // (len(self._secrets) * _bytes(rounds)))
        source = step.source(rounds)
        # What was walked is remembered by the step, and fits: no estimate may refuse it again.
        bound(source, rounds, min(limit, MOST_NODES), self._progress)
        limit = max(limit, min(source.size, 10**12))
        return FinitePair(step, queries=asked, rounds=rounds, exact=True, limit=limit)

    @property
    def closed(self) -> bool:
        """Whether the finite systems have all of the mechanism's transcripts."""
        return self._kernels.closed

    def distance(self) -> Fraction:
        """Of the transcripts' probabilities, summed, for every adversary."""
        return self._opened + self._rounds * self._depth * self._kernels.error

    def _only_compares(self) -> bool:
        # Of one secret's answers: closed is what no Add leaves, unless its tails are folded.
        for question in self._questions.values():
            list(self._ways(self._secrets[0], 0, question))
        return self._kernels.closed

    def _number(self, state: State) -> int:
        try:
            number = self._numbers.setdefault(_key(state), len(self._states))
        except TypeError:
            raise ParameterError(
                "mechanism", "its public states must be frozen values: one is not hashable"
            ) from None
        if number == len(self._states):
            self._states.append(state)
        return number

    def _table(self, state: int, asked: str) -> Table:
        key = state, asked
        if key not in self._tables:
            self._tables[key] = self._built(state, self._questions[asked])
        return self._tables[key]

    def _built(self, state: int, question: Question) -> Table:
        try:
            rows = list(self._rows(state, question))
        except SessionHalted:
            return self._silent(state, "halted")
        after: dict[int, int] = {}
        for way in (way for row in rows for way in row):
            if after.setdefault(way.answer, way.after) != way.after:
                raise ParameterError(
                    "mechanism",
                    "its public state must follow from what it released: after equal answers it "
                    "differs",
                )
        names = responses(rows, self._answers)
        laws: tuple[list[dict[str, Fraction]], list[dict[str, Fraction]]] = ([], [])
        for row in rows:
            for bit, found in enumerate(laws):
                law: dict[str, Fraction] = {}
                for way in row:
                    name = names[way.answer]
                    law[name] = law.get(name, Fraction(0)) + way.masses[bit]
                found.append(law)
                self._entries += len(law)
                if self._entries > MOST_ENTRIES:
                    refuse("probabilities", self._rounds, MOST_ENTRIES)
        return Table(laws, {names[answer]: number for answer, number in after.items()})

    def _silent(self, state: int, name: str) -> Table:
        law = {name: Fraction(1)}
        count = len(self._secrets)
        return Table(([law] * count, [law] * count), {name: state})

    def _rows(self, state: int, question: Question) -> Iterator[list[Way]]:
        total = len(self._secrets)
        for i, draws in enumerate(self._secrets):
            row = list(self._ways(draws, state, question))
            count = max(self._kernels.listed, len(row)) * total
            if i == 0 and count > _MOST_ANSWERS:
                raise ParameterError(
                    "mechanism",
                    f"about {count:.1g} answers would be listed for one question, more than "
                    f"{_MOST_ANSWERS:,}: verify it with less noise, a larger epsilon, or let it "
                    "compare by the kernel Compare",
                )
            self._progress(f"answers to {question}", i + 1, total)
            yield row

    def _ways(self, draws: tuple[int, ...], state: int, question: Question) -> Iterator[Way]:
        query = question.query(self._plan)
        plays = self._plays.setdefault((state, query), {})
        waiting: list[tuple[Step, ...]] = [()]
        while waiting:
            script = waiting.pop()
            place = tuple(step.number for step in script)
            if place not in plays:
                plays[place] = self._play(state, query, script)
            found = plays[place]
            if isinstance(found, Asked):
                secret = tuple(draws[i] for i in found.places)
                steps = self._kernels.steps(found, secret, question.values)
                waiting += [(*script, step) for step in reversed(steps)]
            else:
                yield self._way(script, *found)

    def _way(self, script: tuple[Step, ...], answer: int, number: int) -> Way:
        self._depth = max(self._depth, len(script))
        path = tuple(step.number for step in script[:-1])
        side = script[-1].side if script else None
        kind = None if side is None else Kind(path, number, side)
        first, second = (
            math.prod((step.masses[bit] for step in script), start=_ONE) for bit in (0, 1)
        )
        return Way(answer, number, (first, second), kind)

    def _play(self, state: int, query: Query, script: tuple[Step, ...]) -> Asked | tuple[int, int]:
        """The round where its leaves have given these answers: the leaf that is asked next, or the
        number of what is answered and of the state after it. Secrets have no part in it."""
        recalled = iter([step.answer for step in script])

        def respond(leaf: Mechanism, places: Secret, public: Public, asked: Query) -> Answer:
            answer = next(recalled, None)
            if answer is None:
                raise _Unknown(leaf, places, public, asked)
            return answer

        try:
            # In place of secrets the leaves hand on where theirs are.
            answer, after = play(self._mechanism, self._shape, self._states[state], query, respond)
        except _Unknown as unknown:
            return self._kernels.asked(*unknown.asked)
        known = self._known.setdefault(
            identity(released(self._mechanism, answer)), len(self._answers)
        )
        if known == len(self._answers):
            self._answers.append(answer)
        return known, self._number(after)


def _bytes(rounds: int) -> int:
    """Of one weight: an integer of as many digits as there are factors."""
    return 32 + (rounds + 1) * BITS // 8


class _Unknown(Exception):
    """A leaf's answer is needed that the script does not hold."""

    def __init__(self, leaf: Mechanism, places: Secret, public: Public, query: Query) -> None:
        super().__init__()
        self.asked = leaf, places, public, query


def _key(state: State) -> Hashable:
    return state.public, tuple(sorted((name, _key(c)) for name, c in state.children.items()))
