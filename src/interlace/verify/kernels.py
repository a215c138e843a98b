"""The laws of a leaf's answers: the kernel of its move with an enumerator in place of a sampler.

``Compare`` has two outcomes, with closed-form tails. Of ``Add`` the outcomes in a window are
answered one by one by the mechanism's own code; the rest is given to the outermost answers, and
what that moves is counted.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import NamedTuple

from interlace.core.errors import ParameterError
from interlace.core.laws import DiscreteLaplace, Law
from interlace.core.mechanisms.additive import Additive
from interlace.core.mechanisms.protocol import (
    Answer,
    Compare,
    Mechanism,
    Move,
    Public,
    Secret,
)
from interlace.core.queries import Query
from interlace.verify.noise import UNIT, Mass, Noise, completed
from interlace.verify.questions import Plan

#: Outcomes of one kernel that are listed.
_WIDEST = 100_000


class Step(NamedTuple):
    """One answer of a leaf, its probability on the two neighbours, and whether its outcomes
    lie beyond both values: there discrete Laplace noise has one likelihood ratio."""

    answer: Answer
    masses: tuple[Fraction, Fraction]
    side: str | None


class Run(NamedTuple):
    """Neighbouring outcomes with one answer."""

    low: int
    high: int
    answer: Answer


class Kernels:
    """What the leaves of one mechanism answer.

    ``error`` bounds the sum of what the probabilities of one law are off; ``closed`` tells
    whether no outcome was cut off and none has probability zero; ``listed`` counts the answers
    that were asked for. With ``folded`` a mechanism that derives from ``Additive``, whose state
    counts its answers and nothing else, has both tails of its discrete Laplace noise folded into
    the outermost answers: they tell no more, so nothing is cut.
    """

    def __init__(self, plan: Plan, values: Sequence[int], cut: Fraction, *, folded: bool) -> None:
        self._plan, self._values, self._cut, self._folded = plan, values, cut, folded
        self.error, self.closed, self.listed = Fraction(0), True, 0
        self._noises: dict[Law, Noise] = {}
        self._runs: dict[Hashable, list[Run]] = {}

    def steps(
        self, leaf: Mechanism, secret: Secret, public: Public, query: Query, pair: tuple[int, int]
    ) -> list[Step]:
        """The law of one answer, where the plan's value is one of ``pair``.

        Raises ParameterError where the leaf takes no such query or reads what was not asked."""
        move = leaf.move(public, query)
        if move.plan != self._plan:
            raise ParameterError("mechanism", "must read the plan that it is asked")
        read = [v if move.comparison is None else move.comparison(v) for v in pair]
        noise = self._noise(move.kernel.law)
        if isinstance(move.kernel, Compare):
            return self._compared(leaf, secret, public, query, [noise, *read])
        return self._added(leaf, secret, public, query, (move, noise, read))

    def _noise(self, law: Law) -> Noise:
        if law.size != 1:
            raise ParameterError("mechanism", "must add one draw of noise to one number")
        if law not in self._noises:
            self._noises[law] = Noise(law, self._cut)
        return self._noises[law]

    def _compared(
        self, leaf: Mechanism, secret: Secret, public: Public, query: Query, by: list[object]
    ) -> list[Step]:
        noise, *read = by
        assert isinstance(noise, Noise)
        answers = [leaf.answer((), public, query, (reached,)) for reached in (0, 1)]
        laws = []
        for value in read:
            assert isinstance(value, int)
            above = noise.between(secret[0] - value, None)
            if not noise.certain:
                # What is possible stays so.
                above = Mass(min(above.value, UNIT - 1), above.error + 1)
            laws.append([Mass(UNIT - above.value, above.error), above])
        self.closed = self.closed and not noise.certain
        return self._paired(answers, [None, None], laws)

    def _added(
        self,
        leaf: Mechanism,
        secret: Secret,
        public: Public,
        query: Query,
        by: tuple[Move, Noise, list[int]],
    ) -> list[Step]:
        move, noise, read = by
        runs = self._answers(leaf, secret, public, query, (move, noise))
        geometric = isinstance(move.kernel.law, DiscreteLaplace)
        folded = self._folded and geometric and _counts_only(leaf)
        self.closed = self.closed and folded
        sides = [_side(run, read) if geometric else None for run in runs]
        ends = [
            (None if i == 0 else run.low, None if i == len(runs) - 1 else run.high)
            for i, run in enumerate(runs)
        ]
        laws = [
            [
                noise.between(
                    None if low is None else low - value, None if high is None else high - value
                )
                for low, high in ends
            ]
            for value in read
        ]
        cut = 0 if folded or noise.certain else 2 * self._cut
        return self._paired([run.answer for run in runs], sides, laws, cut)

    def _answers(
        self,
        leaf: Mechanism,
        secret: Secret,
        public: Public,
        query: Query,
        by: tuple[Move, Noise],
    ) -> list[Run]:
        key = leaf, secret, public, query
        if key not in self._runs:
            move, noise = by
            read = [v if move.comparison is None else move.comparison(v) for v in self._values]
            window = range(min(read) - noise.radius, max(read) + noise.radius + 1)
            if len(window) > _WIDEST:
                raise ParameterError(
                    "mechanism",
                    f"its noise spreads over {len(window):,} outcomes, more than the {_WIDEST:,} "
                    "that are listed: verify it with less noise, a larger epsilon",
                )
            self.listed += len(window)
            runs: list[Run] = []
            for k in window:
                answer = leaf.answer(secret, public, query, (k,))
                if runs and runs[-1].answer == answer:
                    runs[-1] = runs[-1]._replace(high=k)
                else:
                    runs.append(Run(k, k, answer))
            self._runs[key] = runs
        return self._runs[key]

    def _paired(
        self,
        answers: list[Answer],
        sides: Sequence[str | None],
        laws: list[list[Mass]],
        cut: Fraction | int = 0,
    ) -> list[Step]:
        numbers = []
        for law in laws:
            values, error = completed(law)
            self.error = max(self.error, Fraction(error, UNIT) + cut)
            numbers.append([Fraction(value, UNIT) for value in values])
        pairs = zip(*numbers, strict=True)
        return [Step(*step) for step in zip(answers, pairs, sides, strict=True)]


def _counts_only(leaf: Mechanism) -> bool:
    # Final methods, but only to a type checker.
    return isinstance(leaf, Additive) and type(leaf).after is Additive.after


def _side(run: Run, read: Sequence[int]) -> str | None:
    if run.low >= max(read):
        return "or more"
    return "or less" if run.high <= min(read) else None
