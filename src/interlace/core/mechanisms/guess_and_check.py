"""Guess-and-check: a sparse vector beside a Laplace mechanism, composed concurrently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from interlace.core.composition import Composition, compose
from interlace.core.errors import ParameterError
from interlace.core.exact import Real, natural, rational
from interlace.core.mechanisms.laplace import Laplace
from interlace.core.mechanisms.protocol import CONFIDENCE, Answer, Mechanism, Program, Within
from interlace.core.mechanisms.shown import shown
from interlace.core.mechanisms.sparse_vector import SparseVector
from interlace.core.queries import LARGEST_INTEGER, Comparison, Plan, Query


@dataclass(frozen=True, repr=False)
class GuessAndCheck:
    """Checks the analyst's guess; only where it is off by about ``tolerance`` a noisy value
    is measured. Halts after ``cutoff`` measured values, however many guesses were right.

    The paper's Algorithm 1 (appendix B; FORMULAS 5): ``epsilon`` is the paper's, so the
    check costs 3 epsilon and the values epsilon, 4 epsilon together by the concurrent
    composition theorem. Plans may move by at most ``sensitivity``; ``tolerance`` is in
    integer units of the value.

    An answer's ``verdict`` tells whether the guess was off. Its ``value`` is then the
    measured one, else the guess; the interval covers the noise of the check, too.

    Raises ParameterError for parameters out of range.

    >>> GuessAndCheck(epsilon=0.1, tolerance=50, cutoff=3).guarantee.epsilon(0)
    0.4
    """

    epsilon: Fraction
    tolerance: int
    cutoff: int
    sensitivity: int

    def __init__(
        self, *, epsilon: Real, tolerance: int, cutoff: int = 1, sensitivity: int = 1
    ) -> None:
        object.__setattr__(self, "epsilon", rational(epsilon, "epsilon", above=True))
        object.__setattr__(
            self, "tolerance", natural(tolerance, "tolerance", maximum=LARGEST_INTEGER)
        )
        object.__setattr__(self, "cutoff", natural(cutoff, "cutoff", maximum=10**6))
        object.__setattr__(
            self, "sensitivity", natural(sensitivity, "sensitivity", maximum=LARGEST_INTEGER)
        )
        self.guarantee  # noqa: B018  builds the children: refuses what they refuse, now

    def __repr__(self) -> str:
        return shown(self)

    @cached_property
    def check(self) -> SparseVector:
        """Noise of scale 1/epsilon once for the threshold, cutoff/epsilon for each check."""
        return SparseVector(
            epsilon=3 * self.epsilon,
            cutoff=self.cutoff,
            sensitivity=self.sensitivity,
            threshold_share=Fraction(1, 3),
        )

    @cached_property
    def measure(self) -> Laplace:
        """Fresh noise of scale cutoff/epsilon for each value."""
        return Laplace(
            epsilon=self.epsilon / self.cutoff, answers=self.cutoff, sensitivity=self.sensitivity
        )

    @property
    def children(self) -> Mapping[str, Mechanism]:
        return {"check": self.check, "measure": self.measure}

    @cached_property
    def guarantee(self) -> Composition:
        return compose(list(self.children.values()))

    def start(self) -> int:
        """The public state: how many values may still be measured."""
        return self.cutoff

    def left(self, public: int) -> int:
        return public

    def program(self, public: int, query: Query) -> Program:
        del public
        if query.comparison is not None or query.guess is None:
            raise ParameterError("guess", "guess-and-check needs guess=, what you expect")
        # Before the check: nothing but the measure may depend on its verdict.
        within = self.within(query.plan, CONFIDENCE)
        test = Comparison.distance(query.guess, self.tolerance)
        off = yield "check", Query(query.plan, comparison=test)
        if off.verdict:
            assert within.measured is not None
            measured = yield "measure", Query(query.plan)
            return _around(measured.value, True, within.measured)
        return _around(query.guess, False, within.radius)

    def within(self, plan: Plan, confidence: Fraction) -> Within:
        """Of the exact value: ``radius`` of a guess that is confirmed, ``measured`` of a value.

        Both may miss in the same round: half of 1 - confidence each. A guess is confirmed
        where |value - guess| < tolerance + threshold noise - query noise."""
        share = 1 - (1 - confidence) / 2
        slack = self.check.within(plan, share).radius
        return Within(self.tolerance + slack, self.measure.within(plan, share).radius)

    def after(self, public: int, query: Query, answer: Answer) -> int:
        del query
        return public - 1 if answer.verdict else public


def _around(value: int | tuple[int, ...], verdict: bool, radius: int) -> Answer:
    assert isinstance(value, int)  # a check reads one number
    return Answer(value, verdict, ((value - radius, value + radius),))
