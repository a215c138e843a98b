"""Mechanisms that are not what they claim, in the shape of the protocol, for tests of the verifier.
Nothing is tested here; each one's sound sibling is named beside it.

The names Alg. 3 to 6 are those of Lyu, Su and Li 2017 (LSL17)."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations

from interlace.core.composition import Composition, Filter, compose
from interlace.core.errors import BudgetExceeded, ParameterError
from interlace.core.exact import float_down
from interlace.core.guarantees import ApproxDP, PureDP
from interlace.core.laws import DiscreteLaplace, Law, Point, Vector
from interlace.core.mechanisms import GuessAndCheck, Laplace, SparseVector
from interlace.core.mechanisms.additive import Additive
from interlace.core.mechanisms.protocol import (
    Add,
    Answer,
    Compare,
    Mechanism,
    Move,
    Outcome,
    Program,
    Secret,
    Within,
)
from interlace.core.queries import Plan, Query, Sensitivity


class Claiming(SparseVector):
    """A sparse vector that claims its ``epsilon`` whatever its noise is."""

    @cached_property
    def guarantee(self) -> Composition:
        return compose([PureDP(self.epsilon)])


class ReleasesCompared(Claiming):
    """Alg. 3: a pass releases the value that was compared. Sound: ``SparseVector``."""

    def move(self, public: int, query: Query) -> Move:
        return dataclasses.replace(super().move(public, query), kernel=Add(self.query_noise()))

    def answer(self, secret: Secret, public: int, query: Query, outcome: Outcome) -> Answer:
        del public, query
        passed = outcome[0] >= secret[0]
        return Answer(outcome[0] if passed else False, verdict=passed)


class ForgetsCutoff(Claiming):
    """Alg. 4: the noise of comparisons does not grow with the cut-off, nor with the threshold's
    own shift. Sound: ``SparseVector``."""

    def query_noise(self) -> DiscreteLaplace:
        return DiscreteLaplace(self.sensitivity / (self.epsilon * (1 - self.threshold_share)))


class NoQueryNoise(Claiming):
    """Alg. 5: values are compared as they are. Sound: ``SparseVector``."""

    def move(self, public: int, query: Query) -> Move:
        return dataclasses.replace(super().move(public, query), kernel=Compare(Point()))


class NoCutoff(ForgetsCutoff):
    """Alg. 6: it never halts. Sound: ``SparseVector``."""

    def left(self, public: int) -> int:
        del public
        return 1

    def after(self, public: int, query: Query, answer: Answer) -> int:
        del query, answer
        return public


class HaltsLate(SparseVector):
    """It halts after one pass more than it is charged for. Sound: ``SparseVector``."""

    def left(self, public: int) -> int:
        return public + 1


class Strict(SparseVector):
    """Passes above the threshold only, not at it. Sound: it is ``SparseVector`` one further up."""

    def move(self, public: int, query: Query) -> Move:
        found = super().move(public, query)
        assert found.comparison is not None
        above = dataclasses.replace(found.comparison, margin=found.comparison.margin + 1)
        return dataclasses.replace(found, comparison=above)


class ThreeWay(SparseVector):
    """Tells above, at or below the noisy threshold, and charges for at least: sound, since what
    is free, below, is all that a threshold one further up makes no less probable."""

    def move(self, public: int, query: Query) -> Move:
        return dataclasses.replace(super().move(public, query), kernel=Add(self.query_noise()))

    def answer(self, secret: Secret, public: int, query: Query, outcome: Outcome) -> Answer:
        del public, query
        sign = (outcome[0] > secret[0]) - (outcome[0] < secret[0])
        return Answer(sign, verdict=self._charged(sign))

    def _charged(self, sign: int) -> bool:
        return sign >= 0


class StrictlyCharged(ThreeWay):
    """Charges for above only, > for >=: what is at the threshold is told for nothing."""

    def _charged(self, sign: int) -> bool:
        return sign > 0


class MonotoneBothWays(SparseVector):
    """Takes the halved noise of monotone values for at_least= and at_most= together: one unit
    moves those in opposite directions. Sound: ``SparseVector(monotone=False)``."""

    def _check(self, query: Query) -> None:
        self._check_plan(query.plan)
        if query.comparison is None:
            raise ParameterError("at_least", "a sparse vector needs at_least= or at_most=")


@dataclass(frozen=True)
class NumericSparse:
    """A check, and a measured value with fresh noise after each pass: the two composed
    concurrently."""

    check: SparseVector
    measure: Laplace
    sensitivity: int = 1

    @property
    def children(self) -> Mapping[str, Mechanism]:
        return {"check": self.check, "measure": self.measure}

    @property
    def guarantee(self) -> Composition:
        return compose(list(self.children.values()))

    def start(self) -> int:
        return self.check.cutoff

    def left(self, public: int) -> int:
        return public

    def program(self, public: int, query: Query) -> Program:
        del public
        found = yield "check", query
        if not found.verdict:
            return found
        measured = yield "measure", Query(query.plan)
        return dataclasses.replace(measured, verdict=True)

    def within(self, plan: Plan, confidence: Fraction) -> Within:
        return Within(0, self.measure.within(plan, confidence).radius)

    def after(self, public: int, query: Query, answer: Answer) -> int:
        del query
        return public - 1 if answer.verdict else public


class NumericReusing(ReleasesCompared):
    """A numeric sparse vector that charges for a measured value, and takes for it the value that
    was compared. Sound: ``NumericSparse``."""

    @cached_property
    def guarantee(self) -> Composition:
        measured = PureDP(self.sensitivity / self.query_noise().scale)
        return compose([PureDP(self.epsilon), (measured, self.cutoff)])


@dataclass(frozen=True)
class GuessReusing:
    """Guess-and-check that tells the value with the noise of its check. Sound: ``like``."""

    like: GuessAndCheck

    @property
    def tolerance(self) -> int:
        return self.like.tolerance

    @property
    def sensitivity(self) -> int:
        return self.like.sensitivity

    @property
    def guarantee(self) -> Composition:
        return self.like.guarantee

    def opening(self) -> Law:
        return self.like.check.opening()

    def start(self) -> int:
        return self.like.cutoff

    def left(self, public: int) -> int:
        return public

    def move(self, public: int, query: Query) -> Move:
        del public
        if query.guess is None:
            raise ParameterError("guess", "guess-and-check needs guess=")
        return Move(query.plan, Add(self.like.check.query_noise()))

    def within(self, plan: Plan, confidence: Fraction) -> Within:
        return self.like.within(plan, confidence)

    def answer(self, secret: Secret, public: int, query: Query, outcome: Outcome) -> Answer:
        del public
        assert query.guess is not None
        off = abs(outcome[0] - query.guess) >= self.tolerance + secret[0]
        return Answer(outcome[0] if off else query.guess, verdict=off)

    def after(self, public: int, query: Query, answer: Answer) -> int:
        del query
        return public - 1 if answer.verdict else public


@dataclass(frozen=True)
class RoundedDown(Additive):
    """Laplace noise of scale 1/epsilon in the float below it. Sound: ``Laplace``."""

    epsilon: Fraction
    answers: int = 1
    sensitivity: int = 1

    @property
    def guarantee(self) -> Composition:
        return compose([(PureDP(self.epsilon), self.answers)])

    def law_of(self, moved: Sensitivity, parts: int) -> Law:
        del moved, parts
        return DiscreteLaplace(float_down(1 / self.epsilon))


class Leaf(ABC):
    """Adds noise and tells a function of the sums; no secret."""

    @abstractmethod
    def law(self, public: Hashable, size: int) -> Law:
        """Of the noise."""

    def opening(self) -> Law:
        return Point()

    def move(self, public: Hashable, query: Query) -> Move:
        if query.comparison is not None or query.guess is not None:
            raise ParameterError("query", "takes values only")
        return Move(query.plan, Add(self.law(public, query.plan.size)))

    def within(self, plan: Plan, confidence: Fraction) -> Within:
        return Within(self.law(None, plan.size).radius(confidence))


@dataclass(frozen=True)
class NoisyMax(Leaf):
    """Which of several cells is the largest, each with noise of scale ``factor``/epsilon: sound
    for factor 2, since one unit may raise one cell and lower another; for 1 it is not."""

    epsilon: Fraction
    factor: int

    @property
    def guarantee(self) -> Composition:
        return compose([PureDP(self.epsilon)])

    def law(self, public: Hashable, size: int) -> Law:
        del public
        return Vector(DiscreteLaplace(self.factor / self.epsilon), size)

    def start(self) -> int:
        return 1

    def left(self, public: int) -> int:
        return public

    def answer(self, secret: Secret, public: int, query: Query, outcome: Outcome) -> Answer:
        del secret, public, query
        return Answer(outcome.index(max(outcome)))

    def after(self, public: int, query: Query, answer: Answer) -> int:
        del query, answer
        return public - 1


Bits = tuple[int, ...]


@dataclass(frozen=True)
class Filtered(Leaf):
    """Randomised responses, opened one after another: ``wanted`` says of which epsilon after
    which answers, and they are opened as long as the rule of ``admits`` takes the list of what was
    opened. An answer is whether value + noise is above 0. It claims what the rule promises."""

    claimed: ApproxDP
    wanted: tuple[tuple[Bits, Fraction], ...]
    admits: Callable[[ApproxDP, tuple[PureDP, ...]], bool]

    @property
    def guarantee(self) -> Composition:
        return compose([self.claimed])

    def _opened(self, public: Bits) -> tuple[PureDP, ...]:
        """What is open once the next one is, if it is wanted."""
        named = dict(self.wanted)
        prefixes = [public[:i] for i in range(len(public) + 1)]
        return tuple(PureDP(named[bits]) for bits in prefixes if bits in named)

    def law(self, public: Hashable, size: int) -> Law:
        del size
        epsilon = dict(self.wanted)[public if isinstance(public, tuple) else ()]
        return DiscreteLaplace(1 / epsilon)

    def start(self) -> Bits:
        return ()

    def left(self, public: Bits) -> int:
        wanted = public in dict(self.wanted)
        return int(wanted and self.admits(self.claimed, self._opened(public)))

    def answer(self, secret: Secret, public: Bits, query: Query, outcome: Outcome) -> Answer:
        del secret, public, query
        return Answer(int(outcome[0] > 0))

    def after(self, public: Bits, query: Query, answer: Answer) -> Bits:
        del query
        assert isinstance(answer.value, int)
        return (*public, answer.value)


def by_optimal_composition(budget: ApproxDP, opened: tuple[PureDP, ...]) -> bool:
    """No filter (FORMULAS 6.4): whether the list, had it been fixed in advance, would fit."""
    return compose(opened).delta(budget.epsilon0) <= budget.delta0


def by_sums(budget: ApproxDP, opened: tuple[PureDP, ...]) -> bool:
    """The library's filter of the budget, asked for one after another."""
    rule = Filter(budget)
    try:
        for guarantee in opened:
            rule.admit(guarantee)
    except BudgetExceeded:
        return False
    return True


def permute_and_flip(ratio: Fraction, scores: Sequence[int]) -> dict[int, Fraction]:
    """Candidates in random order; one whose score is g below the best is taken with probability
    ratio^g when it is met (e^(-epsilon/2) = ``ratio`` at sensitivity 1)."""
    best, found = max(scores), dict.fromkeys(range(len(scores)), Fraction(0))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = Fraction(1, len(orders))
        for i in order:
            taken = ratio ** (best - scores[i])
            found[i] += left * taken
            left *= 1 - taken
    return found


def exponential(ratio: Fraction, scores: Sequence[int]) -> dict[int, Fraction]:
    """The exponential mechanism: bounded range, hence (epsilon^2)/8-zCDP (FORMULAS 8.5)."""
    weights = [ratio ** (max(scores) - score) for score in scores]
    return {i: weight / sum(weights) for i, weight in enumerate(weights)}
