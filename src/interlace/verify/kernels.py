"""The laws of a leaf's answers: the kernel of its move with an enumerator in place of a sampler.

``Compare`` has two outcomes, with closed-form tails. Of ``Add`` the outcomes in a window are
answered one by one by the mechanism's own code; the rest is given to the outermost answers, and
what that moves is counted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from interlace.core.errors import ParameterError
from interlace.core.laws import DiscreteLaplace, Joint, Law
from interlace.core.mechanisms.additive import Additive
from interlace.core.mechanisms.protocol import (
    Add,
    Answer,
    Compare,
    Mechanism,
    Move,
    Public,
    Secret,
)
from interlace.core.queries import Query
from interlace.verify.mistakes import answered, moved
from interlace.verify.noise import UNIT, Mass, Noise, completed
from interlace.verify.questions import Plan, identity

#: Outcomes of one kernel that are listed.
_WIDEST = 100_000


class Step(NamedTuple):
    """One answer of a leaf and its number, its probability on the two neighbours, and whether its
    outcomes lie beyond both values: there discrete Laplace noise has one likelihood ratio."""

    answer: Answer
    number: int
    masses: tuple[Fraction, Fraction]
    side: str | None


class Run(NamedTuple):
    """Neighbouring outcomes with one answer."""

    low: int
    high: int
    answer: Answer
    number: int


@dataclass(frozen=True)
class Asked:
    """A leaf that is asked for an answer: the places of its secret in a list of draws, what it
    knows in public, its move with the noise of it, and its number among all such."""

    leaf: Mechanism
    places: tuple[int, ...]
    public: Public
    query: Query
    move: Move
    noise: Noise
    number: int

    def read(self, values: Iterable[int]) -> list[int]:
        """What the kernel is given."""
        comparison = self.move.comparison
        return [v if comparison is None else comparison(v) for v in values]


class Kernels:
    """What the leaves of one mechanism answer.

    ``error`` bounds the sum of what the probabilities of one law are off; ``closed`` tells
    whether no outcome was cut off and none has probability zero; ``listed`` is the
    greatest number of outcomes that were answered one by one. With ``folded`` a mechanism that derives from ``Additive``, whose state
    counts its answers and nothing else, has both tails of its discrete Laplace noise folded into
    the outermost answers: they tell no more, so nothing is cut.
    """

    def __init__(self, plan: Plan, values: Sequence[int], cut: Fraction, *, folded: bool) -> None:
        self._plan, self._values, self._cut, self._folded = plan, values, cut, folded
        self.error, self.closed, self.listed = Fraction(0), True, 0
        self._noises: dict[Law, Noise] = {}
        self._numbers: dict[Hashable, int] = {}
        self._count = 0
        self._runs: dict[tuple[int, Secret], list[Run]] = {}
        self._steps: dict[tuple[int, Secret, tuple[int, int]], list[Step]] = {}
        self._verdicts: dict[tuple[int, int], tuple[Fraction, Fraction]] = {}

    def asked(
        self, leaf: Mechanism, places: tuple[int, ...], public: Public, query: Query
    ) -> Asked:
        """Raises ParameterError where the leaf takes no such query or reads what was not asked."""
        move = moved(leaf, public, query)
        if move.plan != self._plan:
            raise ParameterError("mechanism", "must read the plan that it is asked")
        law = move.kernel.law
        if law.size != 1 or isinstance(law, Joint):
            raise ParameterError("mechanism", "must add one draw of noise to one number")
        if law not in self._noises:
            self._noises[law] = Noise(law, self._cut)
        self._count += 1
        return Asked(leaf, places, public, query, move, self._noises[law], self._count)

    def steps(self, asked: Asked, secret: Secret, pair: tuple[int, int]) -> list[Step]:
        """The law of one answer, where the plan's value is one of ``pair``."""
        key = asked.number, secret, pair
        if key not in self._steps:
            compares = isinstance(asked.move.kernel, Compare)
            law = self._compared if compares else self._added
            self._steps[key] = law(asked, secret, asked.read(pair))
        return self._steps[key]

    def _compared(self, asked: Asked, secret: Secret, read: list[int]) -> list[Step]:
        failed, passed = self._answers(asked, (), range(2))
        laws = [self._verdict(asked, secret[0] - value) for value in read]
        self.closed = self.closed and not asked.noise.certain
        return [
            Step(run.answer, run.number, (laws[0][i], laws[1][i]), None)
            for i, run in enumerate((failed, passed))
        ]

    def _verdict(self, asked: Asked, gap: int) -> tuple[Fraction, Fraction]:
        """The probabilities that the noise does not reach the gap, and that it does."""
        key = asked.number, gap
        if key not in self._verdicts:
            above = asked.noise.between(gap, None)
            if not asked.noise.certain:
                # What is possible stays so.
                above = Mass(min(above.value, UNIT - 1), above.error + 1)
            self.error = max(self.error, Fraction(2 * above.error, UNIT))
            self._verdicts[key] = Fraction(UNIT - above.value, UNIT), Fraction(above.value, UNIT)
        return self._verdicts[key]

    def _added(self, asked: Asked, secret: Secret, read: list[int]) -> list[Step]:
        noise, reached = asked.noise, asked.read(self._values)
        window = range(min(reached) - noise.radius, max(reached) + noise.radius + 1)
        runs = self._answers(asked, secret, window)
        geometric = isinstance(asked.move.kernel.law, DiscreteLaplace)
        folded = self._folded and geometric and _counts_only(asked.leaf)
        self.closed = self.closed and folded
        cut = 0 if folded or noise.certain else 2 * self._cut
        numbers = []
        for value in read:
            lows = [None, *(run.low - value for run in runs[1:])]
            highs = [*(run.high - value for run in runs[:-1]), None]
            law = [noise.between(low, high) for low, high in zip(lows, highs, strict=True)]
            values, error = completed(law)
            self.error = max(self.error, Fraction(error, UNIT) + cut)
            numbers.append([Fraction(v, UNIT) for v in values])
        return [
            Step(run.answer, run.number, masses, _side(run, read) if geometric else None)
            for run, *masses_ in zip(runs, *numbers, strict=True)
            for masses in [(masses_[0], masses_[1])]
        ]

    def _answers(self, asked: Asked, secret: Secret, window: range) -> list[Run]:
        key = asked.number, secret
        if key not in self._runs:
            if len(window) > _WIDEST:
                raise ParameterError(
                    "mechanism",
                    f"its noise spreads over {len(window):,} outcomes, more than the {_WIDEST:,} "
                    "that are listed: verify it with less noise, a larger epsilon",
                )
            self.listed = max(self.listed, len(window))
            runs: list[Run] = []
            for k in window:
                given = answered(asked.leaf, secret, asked.public, asked.query, (k,))
                number = self._numbers.setdefault(identity(given), len(self._numbers))
                if runs and runs[-1].number == number and isinstance(asked.move.kernel, Add):
                    runs[-1] = runs[-1]._replace(high=k)
                else:
                    runs.append(Run(k, k, given, number))
            self._runs[key] = runs
        return self._runs[key]


def _counts_only(leaf: Mechanism) -> bool:
    # Final methods, but only to a type checker.
    return isinstance(leaf, Additive) and type(leaf).after is Additive.after


def _side(run: Run, read: Sequence[int]) -> str | None:
    if run.low >= max(read):
        return "or more"
    return "or less" if run.high <= min(read) else None
