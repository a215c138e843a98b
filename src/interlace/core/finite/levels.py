"""All transcripts of an exact pair, level by level: the joint functions of FORMULAS 1.2."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeVar

from interlace.core.errors import ParameterError
from interlace.core.finite.laws import History, Law, Query, Response

Both = tuple[Fraction, Fraction]
"""One number for each bit."""

#: A certificate lists every transcript with six numbers: beyond this it is no text any more.
MOST_TRANSCRIPTS = 200_000
#: A text nests four deep for each.
MOST_ROUNDS = 100


class Pair(Protocol):
    """What can be listed: a ``FinitePair``, or anything else that gives its laws so."""

    @property
    def queries(self) -> tuple[Query, ...]:
        """What may be asked in every round."""

    @property
    def rounds(self) -> int:
        """How many questions are answered."""

    def law(self, bit: int, history: History, query: Query) -> Law:
        """The law of one response; asked only after what is possible under ``bit``."""


@dataclass(frozen=True)
class Group:
    """The transcripts of one level that answer one query after one transcript above."""

    parent: int
    query: int
    first: int
    stop: int


@dataclass(frozen=True)
class Level:
    """The transcripts of one length that are possible under some bit: ``answers`` last given,
    ``joint`` = (M^0, M^1), and how they hang on the level above."""

    groups: tuple[Group, ...]
    answers: tuple[Response, ...]
    joint: tuple[Both, ...]


def enumerate_levels(pair: Pair) -> list[Level]:
    """The levels 0 to ``pair.rounds``. Float laws are taken at their exact values, divided by
    their sum, as ``FinitePair`` says.

    Raises ParameterError, with an estimate of the whole, where there are too many transcripts.
    """
    if pair.rounds > MOST_ROUNDS:
        raise ParameterError("rounds", f"must be at most {MOST_ROUNDS} to list every transcript")
    one = Fraction(1)
    levels = [Level((), (None,), ((one, one),))]
    histories: list[History] = [()]
    total = 1
    for depth in range(pair.rounds):
        level, histories = _below(pair, levels[-1], histories, MOST_TRANSCRIPTS - total)
        total += len(level.joint)
        levels.append(level)
        _refuse_if_hopeless(total, len(level.joint), len(levels[-2].joint), pair.rounds - depth - 1)
    return levels


def _below(
    pair: Pair, above: Level, histories: list[History], room: int
) -> tuple[Level, list[History]]:
    groups: list[Group] = []
    answers: list[Response] = []
    joint: list[Both] = []
    longer: list[History] = []
    last = pair.rounds == len(histories[0]) + 1
    for parent, (history, weights) in enumerate(zip(histories, above.joint, strict=True)):
        for number, query in enumerate(pair.queries):
            zero, one = (_law(pair, bit, history, query, weights[bit]) for bit in (0, 1))
            responses = list(zero | one)
            groups.append(Group(parent, number, len(joint), len(joint) + len(responses)))
            answers += responses
            joint += [(zero.get(y, Fraction(0)), one.get(y, Fraction(0))) for y in responses]
            if not last:
                longer += [(*history, (query, y)) for y in responses]
        if len(joint) > room:
            raise _too_many(f"more than {MOST_TRANSCRIPTS}")
    return Level(tuple(groups), tuple(answers), tuple(joint)), longer


def _law(
    pair: Pair, bit: int, history: History, query: Query, weight: Fraction
) -> dict[Response, Fraction]:
    """The joint function just below ``history``, which has ``weight``: nothing where the history
    is impossible, and the step is not even asked."""
    if not weight:
        return {}
    exact = {y: Fraction(p) for y, p in pair.law(bit, history, query).items()}
    total = sum(exact.values(), Fraction(0))
    return {y: weight * p / total for y, p in exact.items()}


T = TypeVar("T")
Below = list[tuple[int, list[tuple[Response, T]]]]
"""For each query, by number: the answers and what was made of them."""


def folded(levels: list[Level], make: Callable[[int, int, Below[T]], T]) -> T:
    """Build something from the last level up: ``make(depth, place in its level, below)``."""
    made: list[T] = []
    for depth in range(len(levels) - 1, -1, -1):
        below: list[Below[T]] = [[] for _ in levels[depth].joint]
        if made:
            level = levels[depth + 1]
            for group in level.groups:
                answers = [(level.answers[i], made[i]) for i in range(group.first, group.stop)]
                below[group.parent].append((group.query, answers))
        made = [make(depth, i, rest) for i, rest in enumerate(below)]
    return made[0]


def _refuse_if_hopeless(total: int, wide: int, above: int, rounds: int) -> None:
    """After the first levels: if they go on to widen as the last did, will it fit?"""
    expected = wide * (Fraction(wide, above) ** min(rounds, 64) if rounds else 0)
    # A mechanism that halts stops widening, so only what is far too much is refused ahead.
    if expected > 1000 * MOST_TRANSCRIPTS:
        raise _too_many(f"about {float(min(expected + total, Fraction(10**300))):.2g}")


def _too_many(how_many: str) -> ParameterError:
    return ParameterError(
        "rounds",
        f"there are {how_many} transcripts, and a certificate lists each: take fewer rounds, "
        f"queries or responses (at most {MOST_TRANSCRIPTS} transcripts); the worst case alone "
        "needs no list",
    )
