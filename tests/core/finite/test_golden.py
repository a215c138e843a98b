"""Golden values that were computed independently, in exact rationals or 50 digits."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from interlace.core.finite import FinitePair, evaluate, interleave
from interlace.core.finite.interleave import Power
from tests.core.finite import mechanisms, random_pairs
from tests.core.finite.mechanisms import sparse_vector

F = Fraction
SWAPPED = ((0, 1), (1, 0))

RESPONSE = [
    (1, [F(1, 2), F(1, 4), F(0), F(0)]),
    (2, [F(1, 2), F(7, 16), F(3, 8), F(0)]),
    (3, [F(11, 16), F(17, 32), F(3, 8), F(9, 32)]),
]
SPARSE = [
    ((1, 1), [F(4, 27), F(0), F(0)], F(11, 7), F(39, 35)),
    ((1, 2), [F(4, 27), F(4, 63), F(0)], F(11, 4), F(58, 45)),
    ((1, 3), [F(298, 1701), F(188, 2835), F(172, 8505)], F(239, 49), F(4431603, 3186470)),
]


@pytest.mark.parametrize(("rounds", "deltas"), RESPONSE)
def test_randomised_response(rounds: int, deltas: list[Fraction]) -> None:
    pair = random_pairs.randomised_response(F(3), rounds)
    profile = pair.profile()
    for factor, delta in zip((1, 2, 3, 9), deltas, strict=True):
        assert pair.delta(exp_epsilon=factor) == delta
        assert profile.delta(exp_epsilon=factor) == delta
    assert pair.exp_epsilon(0) == 3**rounds


@pytest.mark.parametrize(
    ("alpha", "divergence"),
    [
        (1, 0.5493061443340548),
        (2, 0.8472978603872036),
        (4, 1.002870645472551),
        (32, 1.089332221814826),
    ],
)
def test_renyi_divergence_of_randomised_response(alpha: int, divergence: float) -> None:
    pair = random_pairs.randomised_response(F(3), 1)
    found = pair.renyi(alpha)
    assert divergence <= math.nextafter(found, 2)
    assert found == pytest.approx(divergence, rel=1e-15)


def test_randomised_response_with_a_leak() -> None:
    leak, part = F(1, 100), F(99, 100)

    def law(bit: int, _history: object, _query: object) -> dict[object, Fraction]:
        return {f"I am {bit}": leak, bit: part * F(3, 4), 1 - bit: part * F(1, 4)}

    pair = FinitePair(law, queries=["ask"], rounds=2)
    assert pair.delta(exp_epsilon=3) == F(6199, 16000)
    assert pair.epsilon(0) == pair.renyi(2) == pair.renyi_moment(2) == pair.renyi(1) == math.inf


@pytest.mark.parametrize(("size", "deltas", "ratio", "moment"), SPARSE)
@pytest.mark.parametrize("make", [sparse_vector, random_pairs.sparse_vector])
def test_sparse_vector(
    size: tuple[int, int], deltas: list[Fraction], ratio: Fraction, moment: Fraction, make: object
) -> None:
    cutoff, rounds = size
    pair = (
        sparse_vector(rounds, cutoff)
        if make is sparse_vector
        else random_pairs.sparse_vector(rounds, cutoff)
    )
    for factor, delta in zip((1, 2, 4), deltas, strict=True):
        assert pair.delta(exp_epsilon=factor) == delta
        assert pair.profile().delta(exp_epsilon=factor) == delta
    assert pair.exp_epsilon(0) == ratio
    assert pair.renyi_moment(2) == moment


@pytest.mark.parametrize("rounds", [2, 3, 4])
@pytest.mark.parametrize("factor", [1, 4, 10**9])
def test_a_sparse_vector_without_query_noise_is_not_private(rounds: int, factor: int) -> None:
    pair = sparse_vector(rounds, noise=False)
    assert pair.delta(exp_epsilon=factor) == F(1, 6)
    assert pair.exp_epsilon(F(1, 7)) == math.inf
    # At its least delta any epsilon will do.
    assert pair.epsilon(F(1, 6)) == 0


CONCURRENT: list[tuple[Power, Fraction, Fraction]] = [
    ("concurrent", F(424, 1701), F(424, 3969)),
    ("fixed", F(424, 1701), F(3112, 35721)),
]


@pytest.mark.parametrize(("power", "at_one", "at_two"), CONCURRENT)
def test_two_sparse_vectors_at_once(power: Power, at_one: Fraction, at_two: Fraction) -> None:
    pair = sparse_vector(2, queries=SWAPPED)
    both = interleave(pair, pair, power=power)
    assert both.delta(exp_epsilon=1) == at_one
    assert both.delta(exp_epsilon=2) == at_two
    assert both.profile().delta(exp_epsilon=2) == at_two
    assert evaluate(both.worst_adversary(exp_epsilon=2), both, exp_epsilon=2) == at_two
    assert both.renyi_moment(2) == F(58, 45) ** 2


def test_the_game_stays_below_what_composing_the_profiles_allows() -> None:
    # The bound on two of them at e^epsilon = 2 from their profiles alone is 4520/35721.
    pair = sparse_vector(2, queries=SWAPPED)
    assert interleave(pair, pair).delta(exp_epsilon=2) < F(4520, 35721)


def test_the_large_sparse_vector_merges_to_few_nodes() -> None:
    # Of 1.2e9 histories; merged by the multiset of pairs of factors they are 8,811.
    assert len(sparse_vector(10, 2).graph()) == 4611
    floats = mechanisms.truncated_sparse_vector(10, 2)
    exact = sparse_vector(10, 2)
    for factor in (1, 2, 5):
        low, high = floats.delta_interval(exp_epsilon=factor)
        # What the truncation moved, 2^-30 of the threshold's noise, is in no interval.
        assert high - low < 1e-12
        assert low - 1e-8 < exact.delta(exp_epsilon=factor) < high + 1e-8
