"""Broken mechanisms are caught, each by a witness whose two probabilities prove it; their sound
siblings pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import pytest

from interlace.core.finite import AdaptiveGame, Child, FinitePair, evaluate
from interlace.core.guarantees import ApproxDP, PureDP
from interlace.core.interval import Interval
from interlace.core.laws import DiscreteLaplace, Vector
from interlace.core.mechanisms import GuessAndCheck, Laplace, SparseVector
from interlace.core.mechanisms.protocol import Composite, Mechanism
from interlace.core.queries import Query, Sensitivity
from interlace.verify import Question, Report, verify
from interlace.verify.questions import Plan, Values
from tests.verify.gallery import (
    Filtered,
    ForgetsCutoff,
    GuessReusing,
    HaltsLate,
    MonotoneBothWays,
    NoCutoff,
    NoisyMax,
    NoQueryNoise,
    NumericReusing,
    NumericSparse,
    ReleasesCompared,
    RoundedDown,
    Strict,
    StrictlyCharged,
    ThreeWay,
    by_optimal_composition,
    by_sums,
    exponential,
    permute_and_flip,
)

HALF, ONE, TWO = Fraction(1, 2), Fraction(1), Fraction(2)
BOTH = ((0, 1), (1, 0))
DOWNWARDS = (Question(1, 0, at_least=0),)
ABOVE_AND_BELOW = (Question(0, 1, at_least=0), Question(0, 1, at_most=0))
GUESSES = (Question(1, 0, guess=-2),)
CHECKED = GuessAndCheck(epsilon=2, tolerance=2)
TRAP = (((), HALF), ((1,), 3 * HALF), ((0,), ONE), ((0, 1), ONE))
BUDGET = ApproxDP(1, Fraction(338, 1000))


@dataclass(frozen=True)
class Case:
    """A broken mechanism, its sound sibling, and what shows the difference."""

    broken: Mechanism
    sound: Mechanism | Composite
    rounds: int
    values: Values | None = None
    epsilon: int | None = None


CASES = {
    "Alg. 3, the compared value is released": Case(
        ReleasesCompared(epsilon=2), SparseVector(epsilon=2), 4, DOWNWARDS
    ),
    "Alg. 4, noise without the cut-off": Case(
        ForgetsCutoff(epsilon=2, cutoff=2, threshold_share=HALF / 2),
        SparseVector(epsilon=2, cutoff=2, threshold_share=HALF / 2),
        4,
    ),
    "Alg. 5, comparisons without noise": Case(
        NoQueryNoise(epsilon=1), SparseVector(epsilon=1), 2, BOTH
    ),
    "Alg. 6, no cut-off": Case(
        NoCutoff(epsilon=1, threshold_share=HALF), SparseVector(epsilon=1), 4
    ),
    "a numeric sparse vector measures with the compared noise": Case(
        NumericReusing(epsilon=4),
        NumericSparse(SparseVector(epsilon=4), Laplace(scale=NumericReusing(epsilon=4).query_noise().scale)),
        5,
        DOWNWARDS,
    ),
    "guess-and-check measures with the noise of the check": Case(
        GuessReusing(CHECKED), CHECKED, 5, GUESSES
    ),
    "it halts one pass too late": Case(
        HaltsLate(epsilon=2, threshold_share=HALF / 2),
        SparseVector(epsilon=2, threshold_share=HALF / 2),
        4,
    ),
    "> for >= in what is charged": Case(
        StrictlyCharged(epsilon=2), ThreeWay(epsilon=2), 5, BOTH
    ),
    "halved noise for values that move both ways": Case(
        MonotoneBothWays(epsilon=1, monotone=True), SparseVector(epsilon=1), 3, ABOVE_AND_BELOW
    ),
    "optimal composition as a filter": Case(
        Filtered(BUDGET, TRAP, by_optimal_composition),
        Filtered(BUDGET, TRAP, by_sums),
        3,
        BOTH,
        epsilon=1,
    ),
    "a scale rounded down": Case(RoundedDown(Fraction(3)), Laplace(epsilon=3), 1),
}  # fmt: skip


@cache
def caught(name: str) -> Report:
    case = CASES[name]
    return verify(case.broken, rounds=case.rounds, values=case.values, epsilon=case.epsilon)


def greatest(report: Report) -> tuple[float, float]:
    """Around the least epsilon, at delta 0 or next to it."""
    [point] = [p for p in report.points if p.kind == "epsilon"]
    return point.worst


def proves(report: Report) -> bool:
    """Whether the attack's adversary, evaluated alone, and its event both refute the claim."""
    attack = report.attack
    assert attack is not None
    factor = Fraction(Interval.of(Fraction(attack.epsilon)).exp().upper)
    reached = evaluate(attack.adversary, report.pair, exp_epsilon=factor)
    slack = Fraction(report.distance) * (1 + factor)
    above = Fraction(reached) - slack > Fraction(attack.delta)
    return above and Fraction(attack.p) > factor * Fraction(attack.q) + Fraction(attack.delta)


@pytest.mark.parametrize("name", CASES)
def test_the_broken_one_is_caught_with_a_proof_and_its_sibling_passes(name: str) -> None:
    found, case = caught(name), CASES[name]
    assert found.verdict == "violated"
    assert proves(found)
    sibling = verify(case.sound, rounds=case.rounds, values=case.values, epsilon=case.epsilon)
    assert sibling.verdict in {"tight", "slack", "holds"}
    assert sibling.attack is None


def test_without_query_noise_an_answer_tells_the_neighbour() -> None:
    # Values 0, 1 against 1, 0: fail, pass happens just for a threshold of 1, and never.
    found = caught("Alg. 5, comparisons without noise")
    r = math.exp(-1 / NoQueryNoise(epsilon=1).opening().scale)
    [point] = [p for p in found.points if p.kind == "delta" and p.at == 1]
    assert point.worst[0] == pytest.approx((1 - r) / (1 + r) * r, rel=1e-12)
    assert math.isinf(greatest(found)[1])


def test_noise_without_the_cutoff_loses_no_more_than_its_authors_say() -> None:
    # LSL17: (1 + 6c) epsilon / 4.
    once = verify(ForgetsCutoff(epsilon=2, threshold_share=HALF / 2), rounds=4)
    twice = caught("Alg. 4, noise without the cut-off")
    for cutoff, report in enumerate((once, twice), 1):
        low, high = greatest(report)
        assert 2 < low <= high <= 2 * (1 + 6 * cutoff) / 4


def test_without_a_cutoff_every_pair_of_queries_costs_half_epsilon() -> None:
    # FORMULAS 10: at least m epsilon / 2 at 2m queries, so no epsilon holds for all m.
    broken = NoCutoff(epsilon=1, threshold_share=HALF)
    lows = [greatest(verify(broken, rounds=2 * m, values=BOTH))[0] for m in (1, 2, 3)]
    assert all(low >= m / 2 for m, low in enumerate(lows, 1))
    assert all(after - before > 0.5 for before, after in pairwise(lows))


def test_telling_the_compared_noise_costs_with_every_query() -> None:
    # FORMULAS 10: (m - 1) times 1/scale at m + 1 queries; with a window of values even m + 1.
    broken = ReleasesCompared(epsilon=4)
    scale = broken.query_noise().scale
    for rounds in (2, 3):
        told = verify(broken, rounds=rounds, values=DOWNWARDS)
        assert greatest(told)[0] == pytest.approx(rounds / scale, abs=1e-6)
        reused = verify(GuessReusing(CHECKED), rounds=rounds, values=GUESSES)
        assert greatest(reused)[0] == pytest.approx(2 * rounds, abs=1e-6)


def test_one_pass_more_costs_no_more_than_one_pass_more() -> None:
    low, high = greatest(caught("it halts one pass too late"))
    assert 2 < low <= high <= 2 / 4 + 2 * 6 / 4


def test_above_for_at_least_is_a_threshold_one_further_up_and_costs_nothing() -> None:
    # Every threshold is public: the noise makes no difference between the two.
    strict = verify(Strict(epsilon=1), rounds=3)
    moved = [Question(a, b, at_least=1) for a, b in product((0, 1), repeat=2)]
    other = verify(SparseVector(epsilon=1), rounds=3, values=moved)
    assert strict.points == other.points
    assert strict.verdict == other.verdict == "slack"


def test_a_scale_rounded_down_by_half_an_ulp_is_seen() -> None:
    broken = RoundedDown(Fraction(3))
    law = broken.law(Query(PLAN))
    assert isinstance(law, DiscreteLaplace)
    assert 0 < Fraction(1, 3) - law.scale < Fraction(1, 2**54)
    [point] = [p for p in verify(broken).points if p.kind == "delta" and p.at == 3]
    assert 0 < point.worst[0] < 1e-15


def test_a_filter_by_optimal_composition_reaches_what_the_game_says() -> None:
    # FORMULAS 10: 0.401083.
    points = caught("optimal composition as a filter").points
    [point] = [p for p in points if p.kind == "delta" and p.at == 1]
    assert point.claimed == 0.338
    assert point.worst[0] == pytest.approx(0.401083, abs=5e-7)
    game = AdaptiveGame(MENU, Listed(by_optimal_composition_of=BUDGET)).worst(epsilon=1)
    # Up to the scale 2/3, which is served rounded up.
    assert point.worst[0] == pytest.approx(float(game.lower), rel=1e-15)


def test_the_basic_filter_keeps_its_promise_where_it_admits_most_of_the_trap() -> None:
    wider = Filtered(ApproxDP(2, 0), TRAP, by_sums)
    assert (wider.left((1,)), wider.left((0,)), wider.left((0, 1))) == (1, 1, 0)
    found = verify(wider, rounds=3)
    assert found.verdict == "tight"
    assert greatest(found)[1] <= 2


@dataclass(frozen=True)
class Listed:
    """The unsound rule for the game: what was admitted, as a list."""

    by_optimal_composition_of: ApproxDP
    admitted: tuple[PureDP, ...] = ()

    def admitting(self, guarantee: Hashable) -> Listed | None:
        assert isinstance(guarantee, PureDP)
        budget = self.by_optimal_composition_of
        after = tuple(sorted((*self.admitted, guarantee), key=repr))
        return Listed(budget, after) if by_optimal_composition(budget, after) else None


MENU = [
    Child.randomised_response(
        f"RR({epsilon})", epsilon=epsilon, guarantee=PureDP(epsilon), copies=copies
    )
    for epsilon, copies in ((HALF, 1), (3 * HALF, 1), (ONE, 2))
]
PLAN = Plan(Sensitivity.scalar(1), monotone=False)


def enumerated(mechanism: NoisyMax, scores: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]) -> FinitePair:  # fmt: skip
    """One answer of a mechanism of several cells, by its own code over a window of noise; what
    lies beyond is the response None, so that each probability lacks at most its mass."""
    size = len(scores[0][0])
    law = mechanism.law((), size)
    assert isinstance(law, Vector)
    window = range(-law.radius(1 - Fraction(1, 10**6)), law.radius(1 - Fraction(1, 10**6)) + 1)
    pmf = {z: Fraction(math.floor(Fraction(law.pmf(z).lower) * 2**80), 2**80) for z in window}

    def step(bit: int, _history: object, query: object) -> Mapping[Hashable, Fraction]:
        assert isinstance(query, tuple)
        found: dict[Hashable, Fraction] = {}
        for noise in product(window, repeat=size):
            outcome = tuple(v + z for v, z in zip(query[bit], noise, strict=True))
            answer = mechanism.answer((0,), 1, Query(PLAN), outcome).value
            found[answer] = found.get(answer, Fraction(0)) + math.prod(pmf[z] for z in noise)
        return {**found, None: 1 - sum(found.values(), Fraction(0))}

    return FinitePair(step, queries=scores, rounds=1)


def test_a_noisy_maximum_needs_twice_the_scale() -> None:
    # One unit raises the first candidate and lowers the second.
    scores = tuple(((gap, 0), (gap - 1, 1)) for gap in (-3, 0, 1))
    broken = enumerated(NoisyMax(TWO, factor=1), scores)
    e = Fraction(Interval.of(2).exp().upper)
    attack = broken.worst_adversary(exp_epsilon=e)
    beyond = max(Fraction(broken.law(bit, (), q)[None]) for bit in (0, 1) for q in scores)
    assert beyond < Fraction(1, 10**5)
    assert evaluate(attack, broken, exp_epsilon=e) > Fraction(1, 1000) > beyond * (1 + e)
    sound = enumerated(NoisyMax(TWO, factor=2), scores)
    assert sound.delta(exp_epsilon=e) <= Fraction(1, 10**5)


# Scores of two candidates; each moves by at most 1 between neighbours, in any direction.
SCORES = (((0, 0), (1, -1)), ((1, 0), (0, 1)), ((2, 1), (1, 1)))


def chosen(rule: Callable[[Fraction, Sequence[int]], Mapping[int, Fraction]]) -> FinitePair:
    return FinitePair(lambda bit, _history, query: rule(HALF, query[bit]), queries=SCORES, rounds=1)


def test_permute_and_flip_is_no_bounded_range() -> None:
    # e^(-epsilon/2) = 1/2. Both are epsilon-DP, the exponential mechanism is epsilon^2/8-zCDP.
    epsilon = 2 * math.log(2)
    flip, other = chosen(permute_and_flip), chosen(exponential)
    assert (flip.exp_epsilon(0), other.exp_epsilon(0)) == (4, Fraction(5, 2))
    charged, all_of_it = epsilon**2 / 8, epsilon * math.tanh(epsilon / 2)
    for alpha in (Fraction(3, 2), 2, 3, 8):
        assert other.renyi(alpha) <= alpha * charged
        assert flip.renyi(alpha) <= alpha * all_of_it
    # The witness: an adversary whose second moment is above e^(2 rho), (3/4, 1/4) against
    # (1/4, 3/4), where the exponential mechanism has 2/3 and 1/3.
    attack = flip.worst_adversary(alpha=2)
    assert evaluate(attack, flip, alpha=2) == Fraction(7, 3) > math.exp(2 * charged)
    assert evaluate(other.worst_adversary(alpha=2), other, alpha=2) < math.exp(2 * charged)
