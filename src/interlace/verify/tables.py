"""A mechanism as a pair of finite systems: every round played for every secret and every answer.

The mechanism's own code is run by ``play``, as the centre runs it. What the finite systems
differ by from the mechanism is counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from interlace.core.errors import ParameterError, SessionHalted
from interlace.core.finite import FinitePair
from interlace.core.laws import Law
from interlace.core.mechanisms.play import Secrets, State, openings, play, start
from interlace.core.mechanisms.protocol import (
    Answer,
    Composite,
    Mechanism,
    Public,
    Secret,
    composite,
)
from interlace.core.queries import Query
from interlace.verify.kernels import Kernels, Step
from interlace.verify.noise import UNIT, Noise, completed
from interlace.verify.questions import Plan, Question, described

Progress = Callable[[str, int, int], None]
"""Told what is done, and how much of how much."""

#: Mass that is cut off a law: where only comparisons are made, and where outcomes are listed.
_FINE, _COARSE = Fraction(1, 2**120), Fraction(1, 2**70)
#: Answers that the mechanism is asked to give for one question after another.
_MOST_ANSWERS = 5_000_000
_MOST_SECRETS = 100_000
#: Of nodes times secrets: what fits into memory.
_MOST_WEIGHTS = 30_000_000


class Kind(NamedTuple):
    """Of ways whose answers have the same likelihood ratio and the same state after them."""

    path: tuple[Answer, ...]
    after: int
    side: str


class Way(NamedTuple):
    """One way a round may go under one secret."""

    answer: Answer
    after: int
    masses: tuple[Fraction, Fraction]
    kind: Kind | None


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
        self._secrets, self._opening, self._opened = _opening(mechanism, _COARSE)
        self._states: list[State] = []
        self._numbers: dict[Hashable, int] = {}
        self._tables: dict[tuple[int, str], Table] = {}
        self._depth = 1
        self._number(start(mechanism))
        if folded and self._only_compares():
            self._kernels = Kernels(plan, values, _FINE, folded=folded)
            self._secrets, self._opening, self._opened = _opening(mechanism, _FINE)
        self.pair = FinitePair.one_secret(
            lambda _bit: self._opening,
            lambda bit, secret, state, asked: self._table(state, asked).laws[bit][secret],
            queries=list(self._questions),
            rounds=rounds,
            start=0,
            after=lambda state, asked, response: self._table(state, asked).after[response],
            exact=True,
            limit=max(2000, _MOST_WEIGHTS // len(self._secrets)),
        )

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
        after: dict[Answer, int] = {}
        for way in (way for row in rows for way in row):
            if after.setdefault(way.answer, way.after) != way.after:
                raise ParameterError(
                    "mechanism",
                    "its public state must follow from what it released: after equal answers it "
                    "differs",
                )
        names = _names(rows)
        laws: tuple[list[dict[str, Fraction]], list[dict[str, Fraction]]] = ([], [])
        for row in rows:
            for bit, found in enumerate(laws):
                law: dict[str, Fraction] = {}
                for way in row:
                    name = names[way.answer]
                    law[name] = law.get(name, Fraction(0)) + way.masses[bit]
                found.append(law)
        return Table(laws, {names[answer]: number for answer, number in after.items()})

    def _silent(self, state: int, name: str) -> Table:
        law = {name: Fraction(1)}
        count = len(self._secrets)
        return Table(([law] * count, [law] * count), {name: state})

    def _rows(self, state: int, question: Question) -> Iterator[list[Way]]:
        total = len(self._secrets)
        for i, secrets in enumerate(self._secrets):
            before = self._kernels.listed
            row = list(self._ways(secrets, state, question))
            count = (self._kernels.listed - before + len(row)) * total
            if i == 0 and count > _MOST_ANSWERS:
                raise ParameterError(
                    "mechanism",
                    f"about {count:.1g} answers would be listed for one question, more than "
                    f"{_MOST_ANSWERS:,}: verify it with less noise, a larger epsilon, or let it "
                    "compare by the kernel Compare",
                )
            self._progress(f"answers to {question}", i + 1, total)
            yield row

    def _ways(self, secrets: Secrets, state: int, question: Question) -> Iterator[Way]:
        query = question.query(self._plan)
        waiting: list[tuple[Step, ...]] = [()]
        while waiting:
            script = waiting.pop()
            recalled = iter(script)

            def respond(
                leaf: Mechanism,
                secret: Secret,
                public: Public,
                asked: Query,
                recalled: Iterator[Step] = recalled,
            ) -> Answer:
                step = next(recalled, None)
                if step is None:
                    raise _Unknown(leaf, secret, public, asked)
                return step.answer

            try:
                answer, after = play(self._mechanism, secrets, self._states[state], query, respond)
            except _Unknown as leaf:
                steps = self._kernels.steps(*leaf.asked, question.values)
                waiting += [(*script, step) for step in reversed(steps)]
                continue
            self._depth = max(self._depth, len(script))
            number = self._number(after)
            masses = [math.prod(step.masses[bit] for step in script) for bit in (0, 1)]
            path = tuple(step.answer for step in script[:-1])
            side = script[-1].side if script else None
            kind = None if side is None else Kind(path, number, side)
            yield Way(answer, number, (Fraction(masses[0]), Fraction(masses[1])), kind)


class _Unknown(Exception):
    """A leaf's answer is needed that the script does not hold."""

    def __init__(self, leaf: Mechanism, secret: Secret, public: Public, query: Query) -> None:
        super().__init__()
        self.asked = leaf, secret, public, query


def _key(state: State) -> Hashable:
    return state.public, tuple(sorted((name, _key(c)) for name, c in state.children.items()))


def _opening(
    mechanism: Mechanism | Composite, cut: Fraction
) -> tuple[list[Secrets], dict[int, Fraction], Fraction]:
    """The secrets of a window, their weights, and how far these are off together."""
    laws: list[Law] = []

    def note(law: Law) -> Secret:
        laws.extend([law] * law.size)
        return tuple(range(len(laws) - law.size, len(laws)))

    shape = openings(mechanism, note)
    ranges, numbers, off = [], [], Fraction(0)
    for law in laws:
        noise = Noise(law, cut)
        window = range(-noise.radius, noise.radius + 1)
        ranges.append(window)
        values, error = completed([noise.between(z, z) for z in window])
        numbers.append([Fraction(value, UNIT) for value in values])
        # What is left out is given to the greatest weight.
        off += Fraction(error, UNIT) + (0 if noise.certain else 2 * cut)
    count = math.prod(map(len, ranges))
    if count > _MOST_SECRETS:
        raise ParameterError(
            "mechanism",
            f"about {count:.1g} secrets would be looked at, more than {_MOST_SECRETS:,}: verify it "
            "with less noise at its opening, a larger epsilon",
        )
    secrets = [_filled(shape, draws) for draws in product(*ranges)]
    weights = {i: math.prod(w, start=Fraction(1)) for i, w in enumerate(product(*numbers))}
    return secrets, weights, off


def _filled(shape: Secrets, draws: tuple[int, ...]) -> Secrets:
    if isinstance(shape, Mapping):
        return {name: _filled(part, draws) for name, part in shape.items()}
    return tuple(draws[i] for i in shape)


def _names(rows: list[list[Way]]) -> dict[Answer, str]:
    """A response for each answer, one for all those that may go together."""
    together = _together(rows)
    names: dict[Answer, str] = {}
    taken: set[str] = set()
    for way in (way for row in rows for way in row):
        if way.answer in names:
            continue
        members, text = {way.answer}, described(way.answer)
        if way.kind in together:
            members = together[way.kind]
            text = _ranged(members, way.kind.side)
        while text in taken:
            text += "'"
        taken.add(text)
        names |= dict.fromkeys(members, text)
    return names


def _together(rows: list[list[Way]]) -> dict[Kind, set[Answer]]:
    """The answers of each kind, where under every secret they are all possible, each in this one
    way; or none of them is."""
    kinds: dict[Kind, set[Answer]] = {}
    for way in (way for row in rows for way in row):
        if way.kind is not None:
            kinds.setdefault(way.kind, set()).add(way.answer)
    found = {kind: answers for kind, answers in kinds.items() if len(answers) > 1}
    for row in rows:
        times = Counter(way.answer for way in row)
        own: dict[Kind | None, set[Answer]] = {}
        for way in row:
            if times[way.answer] == 1:
                own.setdefault(way.kind, set()).add(way.answer)
        for kind, answers in list(found.items()):
            if own.get(kind, set()) != answers and answers & times.keys():
                del found[kind]
    return found


def _ranged(answers: set[Answer], side: str) -> str:
    def place(answer: Answer) -> tuple[int, ...]:
        return answer.value if isinstance(answer.value, tuple) else (answer.value,)

    first = min(answers, key=place) if side == "or more" else max(answers, key=place)
    return f"{described(first)} {side}"
