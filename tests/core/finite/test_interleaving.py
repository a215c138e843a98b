"""Interleavings against every adversary that names a part and a query each round."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import ParameterError
from interlace.core.finite import FinitePair, evaluate, interleave
from interlace.core.finite.interleave import Power
from tests.core.finite import brute
from tests.core.finite.mechanisms import random_step, random_transition, sparse_vector
from tests.core.finite.random_pairs import randomised_response
from tests.effort import examples

F = Fraction
FACTORS = [F(1), F(3, 2), F(4)]
POWERS: list[Power] = ["fixed", "within", "sequential", "concurrent"]
seeds = st.integers(0, 10**9)
#: Queries, responses, rounds of two pairs, so small that all adversaries can be listed.
SIZES = [
    ((2, 2, 1), (2, 2, 1)),
    ((2, 2, 2), (1, 2, 1)),
    ((1, 2, 2), (2, 2, 1)),
    ((2, 2, 1), (2, 2, 2)),
    ((1, 2, 2), (1, 3, 1)),
]


def listed(power: Power, first: FinitePair, second: FinitePair) -> list[brute.Seen]:
    if power == "fixed":
        return list(brute.side_by_side(brute.fixed(first), brute.fixed(second)))
    if power == "within":
        return list(brute.side_by_side(brute.adversaries(first), brute.adversaries(second)))
    sequential = power == "sequential"
    return list(brute.interleavings([first, second], ((), ()), sequential=sequential))


@pytest.mark.parametrize("power", POWERS)
@given(seeds, st.sampled_from(SIZES))
@settings(max_examples=examples(12))
def test_every_power_is_the_best_of_all_its_adversaries(
    power: Power, seed: int, sizes: tuple[tuple[int, int, int], tuple[int, int, int]]
) -> None:
    first, second = random_step(seed, *sizes[0]), random_step(seed + 1, *sizes[1])
    both = interleave(first, second, power=power)
    profile = interleave(first, second, power=power).profile()
    seen = listed(power, first, second)
    for factor in FACTORS:
        found = brute.best(iter(seen), brute.stick(factor))
        assert both.delta(exp_epsilon=factor) == found
        assert profile.delta(exp_epsilon=factor) == found
        adversary = both.worst_adversary(exp_epsilon=factor)
        assert evaluate(adversary, both, exp_epsilon=factor) == found


@given(seeds, st.sampled_from(SIZES), st.sampled_from([2, 3]))
@settings(max_examples=examples(30))
def test_moments_multiply_whatever_the_power(
    seed: int, sizes: tuple[tuple[int, int, int], tuple[int, int, int]], alpha: int
) -> None:
    first, second = random_step(seed, *sizes[0]), random_step(seed + 1, *sizes[1])
    product = first.renyi_moment(alpha) * second.renyi_moment(alpha)
    finite = product < math.inf
    for power in POWERS:
        found = interleave(first, second, power=power).renyi_moment(alpha)
        # In one order each; the two orders of a pair need not have their greatest in the same.
        assert found <= product
        if not finite:
            assert found == math.inf
    joint = interleave(first, first)
    assert joint.renyi_moment(alpha) == first.renyi_moment(alpha) ** 2


@given(seeds)
@settings(max_examples=examples(15))
def test_more_power_is_never_worse(seed: int) -> None:
    first, second = random_step(seed, 2, 2, 2), random_step(seed + 1, 2, 2, 2)
    for factor in FACTORS:
        deltas = [
            interleave(first, second, power=power).delta(exp_epsilon=factor) for power in POWERS
        ]
        assert deltas == sorted(deltas)


@given(seeds)
@settings(max_examples=examples(15))
def test_merged_histories_are_interleaved_as_plain_ones(seed: int) -> None:
    machine = FinitePair.hidden(
        lambda _: {0: F(1, 2), 1: F(1, 2)},
        partial(random_transition, seed),
        queries=range(2),
        rounds=2,
    )
    plain = FinitePair(machine.law, queries=range(2), rounds=2)
    other = random_step(seed, 2, 2, 1)
    for power in POWERS:
        merged = interleave(machine, other, power=power)
        unmerged = interleave(plain, other, power=power)
        for factor in FACTORS:
            assert merged.delta(exp_epsilon=factor) == unmerged.delta(exp_epsilon=factor)


@pytest.mark.parametrize("power", POWERS)
def test_histories_that_merge_are_counted_as_often_as_they_occur(power: Power) -> None:
    def toss(bit: int, _hidden: object, _query: object) -> dict[tuple[int, int], Fraction]:
        return {(bit, 0): F(2, 3), (1 - bit, 0): F(1, 3)}

    coins = FinitePair.hidden(lambda _: {0: 1}, toss, queries=["toss"], rounds=3)
    sparse = sparse_vector(2, queries=((0, 1), (1, 0)))
    plain = [FinitePair(p.law, queries=p.queries, rounds=p.rounds) for p in (coins, sparse)]
    assert len(coins.graph()) == 10
    for factor in FACTORS:
        found = interleave(coins, sparse, power=power).delta(exp_epsilon=factor)
        assert found == interleave(*plain, power=power).delta(exp_epsilon=factor)
    # The other way round, so that each of the two is once the one that is listed.
    turned = interleave(sparse, sparse, coins, power=power)
    listed_ = interleave(plain[1], plain[1], plain[0], power=power)
    assert turned.delta(exp_epsilon=2) == listed_.delta(exp_epsilon=2)


def naive(parts: list[FinitePair], factor: Fraction, *, sequential: bool) -> Fraction:
    """The recursion over interleavings themselves, as one writes it down."""

    def at(histories: tuple[brute.History, ...], p: Fraction, q: Fraction, bit: int) -> Fraction:
        left = [i for i, part in enumerate(parts) if len(histories[i]) < part.rounds]
        if sequential and any(histories[i] for i in left):
            left = [i for i in left if histories[i]]
        if not left:
            return max(p - factor * q, F(0))
        found = []
        for i in left:
            for query in parts[i].queries:
                here = parts[i].law(bit, histories[i], query) if p else {}
                there = parts[i].law(1 - bit, histories[i], query) if q else {}
                total = F(0)
                for y in {**here, **there}:
                    longer = list(histories)
                    longer[i] = (*histories[i], (query, y))
                    a, b = F(here.get(y, 0)), F(there.get(y, 0))
                    total += at(tuple(longer), p * a, q * b, bit)
                found.append(total)
        return max(found)

    start = tuple(() for _ in parts)
    return max(at(start, F(1), F(1), bit) for bit in (0, 1))


def test_sequential_and_concurrent_adversaries_differ() -> None:
    smaller = 0
    for seed in (0, 1, 2, 26):
        pair = [random_step(1000 * seed + i, 2, 2, 2) for i in (0, 1)]
        apart, together = (naive(pair, F(3, 2), sequential=s) for s in (True, False))
        assert interleave(*pair, power="sequential").delta(exp_epsilon=F(3, 2)) == apart
        assert interleave(*pair).delta(exp_epsilon=F(3, 2)) == together
        smaller += apart < together
    assert smaller > 0


@given(seeds)
@settings(max_examples=examples(15))
def test_three_pairs_are_two_of_which_one_is_an_interleaving(seed: int) -> None:
    one, two, three = (random_step(seed + i, 2, 2, 1) for i in range(3))
    flat = interleave(one, two, three)
    nested = interleave(interleave(one, two), three)
    for factor in FACTORS:
        assert flat.delta(exp_epsilon=factor) == nested.delta(exp_epsilon=factor)
        adversary = nested.worst_adversary(exp_epsilon=factor)
        assert evaluate(adversary, nested, exp_epsilon=factor) == flat.delta(exp_epsilon=factor)
    assert nested.queries[0] == (0, (0, 0))


@given(seeds)
@settings(max_examples=examples(15))
def test_an_interleaving_is_the_pair_of_its_laws(seed: int) -> None:
    first, second = random_step(seed, 2, 2, 1), random_step(seed + 1, 1, 3, 1)
    both = interleave(first, second)
    plain = FinitePair(both.law, queries=both.queries, rounds=both.rounds)
    for factor in FACTORS:
        assert both.delta(exp_epsilon=factor) == plain.delta(exp_epsilon=factor)
    found = both.certify(exp_epsilon=2, delta=both.delta(exp_epsilon=2))
    assert found.check(both).kind == "certificate"


def test_a_float_pair_makes_the_whole_one_of_floats() -> None:
    exact = randomised_response(F(3), 1)
    floats = FinitePair(
        lambda bit, _history, _query: {bit: 0.75, 1 - bit: 0.25}, queries=["ask"], rounds=1
    )
    both = interleave(exact, floats)
    assert not both.exact
    assert both.law(0, (), (0, "ask")) == {0: 0.75, 1: 0.25}
    low, high = both.delta_interval(exp_epsilon=2)
    assert low <= F(7, 16) <= high
    assert high - low < 1e-14


def test_a_pair_that_has_ended_answers_none() -> None:
    both = interleave(randomised_response(F(3), 1), randomised_response(F(3), 2))
    history = (((0, "ask"), 0),)
    assert both.rounds == 3
    assert both.law(0, history, (0, "ask")) == {None: 1}
    assert both.law(0, history, (1, "ask")) == {0: F(3, 4), 1: F(1, 4)}


def test_refusals_name_the_argument() -> None:
    pair = randomised_response(F(3), 1)
    with pytest.raises(ParameterError, match="pairs: must be one or more"):
        interleave()
    wrong: Any = "parallel"
    with pytest.raises(ParameterError, match="power: must be one of"):
        interleave(pair, power=wrong)
    with pytest.raises(ParameterError, match="must be concurrent"):
        interleave(interleave(pair, pair, power="fixed"), pair)
    both = interleave(pair, pair)
    with pytest.raises(ParameterError, match="query: must be"):
        both.law(0, (), "ask")
    with pytest.raises(ParameterError, match="history: has 2 of 2"):
        both.law(0, (((0, "ask"), 0), ((1, "ask"), 0)), (0, "ask"))


@pytest.mark.parametrize("power", POWERS)
def test_what_is_too_large_is_refused_beforehand(power: Power) -> None:
    pair = sparse_vector(6)
    with pytest.raises(ParameterError, match=r"limit: about \S+ .*more than 1,000 of them"):
        interleave(pair, pair, pair, power=power, limit=1000).delta(exp_epsilon=2)
