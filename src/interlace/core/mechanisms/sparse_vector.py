"""The sparse vector of Lyu, Su and Li, with one threshold noise for all its answers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from interlace.core.composition import Composition, compose
from interlace.core.errors import ParameterError
from interlace.core.exact import Real, natural, rational
from interlace.core.guarantees import PureDP
from interlace.core.laws import DiscreteLaplace
from interlace.core.mechanisms.additive import servable
from interlace.core.mechanisms.protocol import Answer, Compare, Move, Outcome, Secret, Within
from interlace.core.mechanisms.shown import shown
from interlace.core.queries import LARGEST_INTEGER, Plan, Query


@dataclass(frozen=True, repr=False)
class SparseVector:
    """Tells whether a comparison with a public threshold passes; pays only for the passes.

    ``epsilon`` is the whole loss; the session halts after ``cutoff`` passes, however many
    comparisons fail before. The threshold's noise is drawn once, for plans that move by at
    most ``sensitivity``. With ``monotone`` the noise of each comparison is halved: then only
    monotone plans (counts, sums of non-negative columns) and ``at_least`` are taken.

    ``threshold_share`` is the part of epsilon that the threshold's noise gets; by default
    1 : (2 cutoff)^(2/3), or 1 : cutoff^(2/3) when monotone, as the authors advise.

    Source: FORMULAS 8.6 (Alg. 1 of Lyu, Su, Li; Lemma 6): the loss is
    sensitivity/b + 2 cutoff sensitivity/b' for noise scales b, b' (half the second term when
    monotone), with discrete Laplace noise; it holds against adaptive queries.

    Raises ParameterError for parameters out of range.

    >>> SparseVector(epsilon=1, cutoff=4).guarantee.epsilon(0) <= 1
    True
    """

    epsilon: Fraction
    cutoff: int
    sensitivity: int
    monotone: bool
    threshold_share: Fraction

    def __init__(
        self,
        *,
        epsilon: Real,
        cutoff: int = 1,
        sensitivity: int = 1,
        monotone: bool = False,
        threshold_share: Real | None = None,
    ) -> None:
        exact = rational(epsilon, "epsilon", above=True)
        passes = natural(cutoff, "cutoff", maximum=10**6)
        if not isinstance(monotone, bool):
            raise ParameterError("monotone", f"must be True or False, got {monotone!r}")
        if threshold_share is None:
            factor = passes if monotone else 2 * passes
            share = Fraction(1000, 1000 + round(1000 * factor ** (2 / 3)))
        else:
            share = rational(threshold_share, "threshold_share", above=True, maximum=1)
            if share == 1:
                raise ParameterError("threshold_share", "must be below 1: queries need noise too")
        object.__setattr__(self, "epsilon", exact)
        object.__setattr__(self, "cutoff", passes)
        object.__setattr__(
            self, "sensitivity", natural(sensitivity, "sensitivity", maximum=LARGEST_INTEGER)
        )
        object.__setattr__(self, "monotone", monotone)
        object.__setattr__(self, "threshold_share", share)
        self.opening(), self.query_noise()  # refuses scales out of range now, not at a query

    def __repr__(self) -> str:
        return shown(self)

    @cached_property
    def guarantee(self) -> Composition:
        shifts = Fraction(self._shifts)
        epsilon = self.sensitivity / self.opening().scale + shifts / self.query_noise().scale
        return compose([PureDP(epsilon)])

    @property
    def _shifts(self) -> int:
        """How far the passing comparisons move together: the 2 is the threshold's own shift,
        which comes on top of the value's unless all move the same way."""
        return (1 if self.monotone else 2) * self.cutoff * self.sensitivity

    def opening(self) -> DiscreteLaplace:
        scale = self.sensitivity / (self.epsilon * self.threshold_share)
        return DiscreteLaplace(servable(scale, "epsilon"))

    def query_noise(self) -> DiscreteLaplace:
        """The law of the noise of each comparison."""
        scale = self._shifts / (self.epsilon * (1 - self.threshold_share))
        return DiscreteLaplace(servable(scale, "epsilon"))

    def start(self) -> int:
        """The public state: how many passes are left."""
        return self.cutoff

    def left(self, public: int) -> int:
        return public

    def move(self, public: int, query: Query) -> Move:
        del public
        self._check(query)
        return Move(query.plan, Compare(self.query_noise()), query.comparison)

    def _check(self, query: Query) -> None:
        if query.guess is not None or query.comparison is None:
            raise ParameterError("at_least", "a sparse vector needs at_least= or at_most=")
        self._check_plan(query.plan)
        if self.monotone and not (query.plan.monotone and query.comparison.rising):
            raise ParameterError(
                "at_least",
                "a monotone sparse vector takes only counts and sums of non-negative columns, "
                "and only at_least=: open one with monotone=False",
            )

    def _check_plan(self, plan: Plan) -> None:
        if plan.size != 1:
            raise ParameterError("sql", "a sparse vector compares one number at a time")
        if plan.sensitivity.linf > self.sensitivity:
            raise ParameterError(
                "sql",
                f"one unit moves this by up to {plan.sensitivity.linf}, and the session was "
                f"opened for {self.sensitivity}: open one with "
                f"sensitivity={plan.sensitivity.linf}",
            )

    def within(self, plan: Plan, confidence: Fraction) -> Within:
        """Of the threshold: a value that is further from it gets the right verdict.

        Each of the two noises is beyond its radius, on the one side that matters, with half
        of 1 - confidence."""
        self._check_plan(plan)
        noises = (self.opening(), self.query_noise())
        return Within(sum(law.radius(confidence) for law in noises))

    def answer(self, secret: Secret, public: int, query: Query, outcome: Outcome) -> Answer:
        del secret, public, query
        passed = outcome[0] == 1
        return Answer(passed, verdict=passed)

    def after(self, public: int, query: Query, answer: Answer) -> int:
        del query
        return public - 1 if answer.verdict else public
