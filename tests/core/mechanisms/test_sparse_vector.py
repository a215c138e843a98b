"""The sparse vector: its loss by enumeration, its noise, and what it must refuse to keep it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.composition import compose
from interlace.core.guarantees import PureDP
from interlace.core.mechanisms import SparseVector
from interlace.core.queries import Comparison, Query
from tests.core.mechanisms.doubles import Run, reading, scripted
from tests.core.mechanisms.enumeration import Losses, Step, precise_loss

MOST = 6
UP, DOWN, BOTH = (1,), (-1,), (-1, 0, 1)


def transcripts(cutoff: int, low: tuple[int, ...], high: tuple[int, ...]) -> Iterator[list[Step]]:
    """Transcripts of up to six queries, all failing ones alike and all passing ones alike:
    order does not matter, and the worst is among such. ``low`` and ``high`` are the moves
    allowed to the failing and to the passing ones."""
    for passes in range(cutoff + 1):
        for fails in range(MOST - passes + 1):
            for at, over, a, b in product(range(-24, 25, 3), range(-12, 25, 3), low, high):
                yield [(at, at + a, False)] * fails + [(over, over + b, True)] * passes


def losses(mechanism: SparseVector) -> Losses:
    return Losses(mechanism.opening().scale, mechanism.query_noise().scale)


CASES = [
    SparseVector(epsilon=1, cutoff=1),
    SparseVector(epsilon=1, cutoff=2),
    SparseVector(epsilon=2.5, cutoff=1, threshold_share=0.5),
    SparseVector(epsilon=0.7, cutoff=2, threshold_share=Fraction(1, 3)),
]


@pytest.mark.parametrize("mechanism", CASES, ids=str)
def test_the_worst_transcript_loses_epsilon_and_nearly_all_of_it(mechanism: SparseVector) -> None:
    # Thm: Lyu, Su, Li, Alg. 1; FORMULAS 5 and 8.6.
    exact = losses(mechanism)
    found = [(abs(exact.loss(t)), t) for t in transcripts(mechanism.cutoff, (1, -1), (1, -1)) if t]
    worst, steps = max(found, key=lambda pair: pair[0])
    epsilon = float(mechanism.epsilon)
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= 0.8 * epsilon
    # A slower sum at 40 digits says the same.
    again = precise_loss(mechanism.opening().scale, mechanism.query_noise().scale, steps)
    assert abs(abs(again) - worst) < 1e-9
    assert abs(again) <= mechanism.epsilon.numerator / mechanism.epsilon.denominator


@pytest.mark.parametrize("mechanism", CASES, ids=str)
def test_no_mixed_transcript_is_worse(mechanism: SparseVector) -> None:
    exact, source = losses(mechanism), random.Random(5)
    for _ in range(3000):
        steps: list[Step] = []
        while len(steps) < MOST and sum(p for *_, p in steps) < mechanism.cutoff:
            value = source.randint(-20, 20)
            steps.append((value, value + source.choice(BOTH), source.random() < 0.3))
        assert abs(exact.loss(steps)) <= float(mechanism.epsilon) * (1 + 1e-9)


@pytest.mark.parametrize("cutoff", [1, 2])
def test_monotone_moves_lose_epsilon_at_most(cutoff: int) -> None:
    mechanism = SparseVector(epsilon=1, cutoff=cutoff, monotone=True)
    exact = losses(mechanism)
    # Removing a unit only lowers, adding it only raises; some may not move at all.
    risen = [exact.loss(t) for t in transcripts(cutoff, (0, 1), (0, 1)) if t]
    fallen = [exact.loss(t) for t in transcripts(cutoff, (0, -1), (0, -1)) if t]
    worst = max(abs(loss) for loss in risen + fallen)
    assert 0.6 < worst <= 1 + 1e-9


@pytest.mark.parametrize("cutoff", [1, 2])
def test_the_monotone_noise_would_not_do_for_other_moves(cutoff: int) -> None:
    # So the enumeration does find a broken claim, and the refusals below are needed.
    exact = losses(SparseVector(epsilon=1, cutoff=cutoff, monotone=True))
    assert max(abs(exact.loss(t)) for t in transcripts(cutoff, UP, DOWN) if t) > 1.2


def test_a_larger_move_than_declared_would_break_the_claim() -> None:
    exact = losses(SparseVector(epsilon=1))
    assert max(abs(exact.loss(t)) for t in transcripts(1, (2,), (-2,)) if t) > 1.5


epsilons = st.fractions(Fraction(1, 1000), 20, max_denominator=10**6) | st.floats(1e-3, 20)


@given(epsilons, st.integers(1, 10**4), st.integers(1, 1000), st.booleans())
def test_the_guarantee_is_that_of_the_noise_served(
    epsilon: float | Fraction, cutoff: int, sensitivity: int, monotone: bool
) -> None:
    made = SparseVector(epsilon=epsilon, cutoff=cutoff, sensitivity=sensitivity, monotone=monotone)
    factor = 1 if monotone else 2
    loss = sensitivity / made.opening().scale
    loss += factor * cutoff * sensitivity / made.query_noise().scale
    assert made.guarantee == compose([PureDP(loss)])
    assert made.epsilon * (1 - Fraction(1, 2**50)) < loss <= made.epsilon


def test_the_noise_of_the_textbook() -> None:
    made = SparseVector(epsilon=1, cutoff=4, sensitivity=3, threshold_share=0.5)
    assert made.opening().scale == 6  # Delta / epsilon_1
    assert made.query_noise().scale == 48  # 2 c Delta / epsilon_2
    monotone = SparseVector(epsilon=1, cutoff=4, sensitivity=3, threshold_share=0.5, monotone=True)
    assert monotone.opening().scale == 6
    assert monotone.query_noise().scale == 24


def test_huge_cutoffs_are_refused_or_served_within_epsilon() -> None:
    made = SparseVector(epsilon=1, cutoff=10**6)
    assert made.guarantee.epsilon(0) <= 1
    assert made.left(made.start()) == 10**6


def test_a_verdict_compares_with_the_one_threshold_drawn_at_opening() -> None:
    mechanism = SparseVector(epsilon=1, cutoff=3)
    # The threshold's noise is 4, drawn first; then one draw for each comparison.
    run = Run(mechanism, scripted([4, 3, 4, 5, -100, 4]))
    answers = [run.ask(Query(reading(50), Comparison.at_least(50))) for _ in range(4)]
    assert [a.verdict for a in answers] == [False, True, True, False]
    assert [a.value for a in answers] == [False, True, True, False]
    # Nothing numeric leaves.
    assert all(a.spans == () for a in answers)
    assert run.laws == [mechanism.opening()] + [mechanism.query_noise()] * 4
    assert run.left == 1
    assert run.ask(Query(reading(7), Comparison.at_most(7))).verdict
    assert run.left == 0


@given(st.integers(-50, 50), st.integers(-50, 50), st.integers(-9, 9), st.integers(-9, 9))
def test_every_comparison_is_a_test_of_the_noisy_value(
    value: int, threshold: int, rho: int, nu: int
) -> None:
    def verdict(comparison: Comparison) -> bool | None:
        run = Run(SparseVector(epsilon=1), scripted([rho, nu]))
        return run.ask(Query(reading(value), comparison)).verdict

    assert verdict(Comparison.at_least(threshold)) == (value + nu >= threshold + rho)
    assert verdict(Comparison.at_most(threshold)) == (-value + nu >= -threshold + rho)
    off = verdict(Comparison.distance(threshold, 3))
    assert off == (abs(value - threshold) + nu >= 3 + rho)


def test_failing_comparisons_are_free() -> None:
    run = Run(SparseVector(epsilon=1, cutoff=1), lambda law: (0,) * law.size)
    for _ in range(500):
        assert not run.ask(Query(reading(0), Comparison.at_least(1))).verdict
    assert run.left == 1
