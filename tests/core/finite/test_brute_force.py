"""The recursion against every deterministic adversary and every event, listed."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.finite import FinitePair, evaluate, moments
from interlace.core.finite import pair as pairs
from tests.core.finite import brute
from tests.core.finite.brute import History
from tests.core.finite.mechanisms import (
    random_opening,
    random_step,
    random_transition,
    weights,
)
from tests.effort import examples

F = Fraction
FACTORS = [F(1), F(5, 4), F(2), F(7)]
#: Queries, responses, rounds.
SIZES = [(1, 3, 2), (2, 2, 2), (3, 2, 2), (2, 3, 2), (2, 2, 3), (1, 2, 3), (3, 3, 1)]
seeds = st.integers(0, 10**9)
sizes = st.sampled_from(SIZES)


@given(seeds, st.sampled_from([(1, 2, 2), (2, 2, 2), (3, 2, 2), (2, 3, 1)]))
@settings(max_examples=examples(40))
def test_delta_is_the_best_over_all_adversaries_and_all_events(
    seed: int, size: tuple[int, int, int]
) -> None:
    pair = random_step(seed, *size)
    for factor in FACTORS:
        found = brute.best_event(brute.adversaries(pair), factor)
        assert pair.delta(exp_epsilon=factor) == found


@given(seeds, sizes)
@settings(max_examples=examples(50))
def test_delta_profile_and_adversary_agree_with_all_adversaries(
    seed: int, size: tuple[int, int, int]
) -> None:
    pair = random_step(seed, *size)
    profile = random_step(seed, *size).profile()
    for factor in FACTORS:
        found = brute.best(brute.adversaries(pair), brute.stick(factor))
        assert pair.delta(exp_epsilon=factor) == found
        assert profile.delta(exp_epsilon=factor) == found
        adversary = pair.worst_adversary(exp_epsilon=factor)
        assert evaluate(adversary, pair, exp_epsilon=factor) == found


@given(seeds, sizes, st.sampled_from([F(0), F(1, 50), F(1, 5), F(1, 2)]))
@settings(max_examples=examples(60))
def test_epsilon_is_the_least_that_suffices(
    seed: int, size: tuple[int, int, int], delta: Fraction
) -> None:
    pair = random_step(seed, *size)
    least = pair.exp_epsilon(delta)
    assert random_step(seed, *size).profile().exp_epsilon(delta) == least
    if isinstance(least, float):
        assert least == math.inf
        assert pair.delta(exp_epsilon=10**30) > delta
        return
    assert pair.delta(exp_epsilon=least) <= delta
    if least > 1:
        assert pair.delta(exp_epsilon=1 + (least - 1) * F(99, 100)) > delta
    low, high = pair.epsilon_interval(delta)
    assert low <= math.log(least) * (1 + 1e-15)
    assert math.log(least) <= high * (1 + 1e-15)
    assert high - low <= 1e-15 * max(1, high)


@given(seeds, sizes, st.sampled_from([2, 3]))
@settings(max_examples=examples(50))
def test_moments_are_the_greatest_over_all_adversaries(
    seed: int, size: tuple[int, int, int], alpha: int
) -> None:
    pair = random_step(seed, *size)
    if any(bool(p) != bool(q) for seen in brute.adversaries(pair) for p, q in seen):
        # Where one bit makes a history impossible alone, that adversary sees it for sure.
        assert pair.renyi_moment(alpha) == pair.renyi(1.5) == pair.renyi(1) == math.inf
        adversary = pair.worst_adversary(alpha=alpha)
        assert evaluate(adversary, pair, alpha=alpha) == math.inf
        return
    found = brute.best(brute.adversaries(pair), brute.moment(alpha))
    assert pair.renyi_moment(alpha) == found
    assert evaluate(pair.worst_adversary(alpha=alpha), pair, alpha=alpha) == found
    assert pair.renyi(alpha) == pytest.approx(math.log(found) / (alpha - 1), rel=1e-13, abs=1e-15)


@given(seeds, st.sampled_from([1.5, 2.25, 9, 40]))
@settings(max_examples=examples(30))
def test_rounded_moments_lie_just_above(seed: int, alpha: float) -> None:
    pair = random_step(seed, 2, 2, 2)

    def gain(p: Fraction, q: Fraction) -> Fraction:
        return F(float(p) ** alpha * float(q) ** (1 - alpha)) if p else F(0)

    if pair.renyi(2) < math.inf:
        found = float(brute.best(brute.adversaries(pair), gain))
        assert pair.renyi_moment(alpha) == pytest.approx(found, rel=1e-12)
        log = math.log(found) / (alpha - 1)
        assert pair.renyi(alpha) == pytest.approx(log, rel=1e-11, abs=1e-14)


@given(seeds, st.sampled_from([2, 3, 9, 13]))
@settings(max_examples=examples(20))
def test_rounded_moments_enclose_the_exact_one(seed: int, alpha: int) -> None:
    # Up to order 8 leaves are powers of integers, beyond that they go through logarithms.
    game = random_step(seed, 2, 2, 2)._game()
    exact = moments.exact_moment(game, alpha)
    low, high = (moments.moment(game, F(alpha), up=up) for up in (False, True))
    if exact is None:
        assert low is high is None
        return
    assert low is not None
    assert high is not None
    assert low <= exact <= high < low + F(1, 10**40) * exact


@given(seeds, sizes)
@settings(max_examples=examples(30))
def test_a_walk_finds_what_the_graph_finds(seed: int, size: tuple[int, int, int]) -> None:
    kept, walked = random_step(seed, *size), random_step(seed, *size)
    with mock.patch.object(pairs, "_KEPT", 1):
        assert walked.delta(exp_epsilon=2) == kept.delta(exp_epsilon=2)
        assert walked.exp_epsilon(F(1, 9)) == kept.exp_epsilon(F(1, 9))
        assert walked.renyi_moment(2) == kept.renyi_moment(2)
        adversary = walked.worst_adversary(exp_epsilon=2)
        assert evaluate(adversary, walked, exp_epsilon=2) == kept.delta(exp_epsilon=2)
        assert walked.profile() == kept.profile()


@given(seeds, sizes)
@settings(max_examples=examples(30))
def test_the_profile_turns_at_its_corners_only(seed: int, size: tuple[int, int, int]) -> None:
    pair = random_step(seed, *size)
    corners = pair.profile().corners
    assert corners[0][0] == 1
    assert all(pair.delta(exp_epsilon=at) == delta for at, delta in corners)
    for (a, x), (b, y) in pairwise(corners):
        assert pair.delta(exp_epsilon=(a + b) / 2) == (x + y) / 2
    assert pair.delta(exp_epsilon=corners[-1][0] * 100) == corners[-1][1]


@cache
def _hidden_paths(
    seed: int, bit: int, history: tuple[tuple[int, int], ...], states: int
) -> Fraction:
    """P(history), summed over all hidden paths."""
    total = F(0)
    opening = random_opening(seed, bit, states)
    for path in product(range(2), repeat=len(history) + 1):
        mass = opening[path[0]]
        for (query, response), now, then in zip(history, path, path[1:], strict=False):
            mass *= random_transition(seed, bit, now, query)[response, then]
        total += mass
    return total


@given(seeds, st.integers(1, 3))
@settings(max_examples=examples(20))
def test_a_hidden_state_machine_is_the_pair_of_its_laws(seed: int, rounds: int) -> None:
    machine = FinitePair.hidden(
        lambda bit: random_opening(seed, bit, 2),
        lambda bit, hidden, query: random_transition(seed, bit, hidden, query),
        queries=range(2),
        rounds=rounds,
    )

    def step(bit: int, history: tuple[tuple[int, int], ...], query: int) -> dict[int, Fraction]:
        whole = _hidden_paths(seed, bit, history, 2)
        if not whole:
            return {0: F(1)}
        return {y: _hidden_paths(seed, bit, (*history, (query, y)), 2) / whole for y in range(2)}

    plain = FinitePair(step, queries=range(2), rounds=rounds)
    _same(machine, plain)
    for history in _possible(plain):
        for bit, query in product((0, 1), range(2)):
            if _hidden_paths(seed, bit, history, 2):
                assert machine.law(bit, history, query) == plain.law(bit, history, query)


def _possible(pair: FinitePair) -> Iterator[tuple[tuple[int, int], ...]]:
    for length in range(pair.rounds):
        yield from product(product(range(2), range(2)), repeat=length)


def test_a_state_that_moves_unseen_in_one_system_only_is_no_end() -> None:
    def transition(bit: int, hidden: int, _query: object) -> dict[tuple[int, int], int]:
        return {(int(hidden == 2), min(2, hidden + bit)): 1}

    pair = FinitePair.hidden(lambda _: {0: 1}, transition, queries=["ask"], rounds=3)
    assert pair.delta(exp_epsilon=100) == 1
    shorter = FinitePair.hidden(lambda _: {0: 1}, transition, queries=["ask"], rounds=2)
    assert shorter.delta(exp_epsilon=1) == 0


def test_certain_responses_that_differ_tell_all() -> None:
    machine = FinitePair.hidden(
        lambda _: {0: 1}, lambda bit, *_: {(f"I am {bit}", 0): 1}, queries=["ask"], rounds=2
    )
    secret = FinitePair.one_secret(
        lambda _: {0: 1}, lambda bit, *_: {f"I am {bit}": 1}, queries=["ask"], rounds=2
    )
    for pair in (machine, secret):
        assert pair.delta(exp_epsilon=100) == 1
        assert pair.renyi(2) == math.inf


@given(seeds, st.integers(1, 3))
@settings(max_examples=examples(30))
def test_one_secret_is_the_pair_of_its_laws(seed: int, rounds: int) -> None:
    def answer(bit: int, secret: object, public: object, query: object) -> dict[object, Fraction]:
        # The public state counts the ones; the secret's state 0 is silent after one of them.
        if public and not secret:
            return {0: F(1)}
        return dict(enumerate(weights((seed, bit, secret, query), 2)))

    def after(public: int, _query: object, response: object) -> int:
        return min(1, public + (response == 1))

    def mass(bit: int, history: History) -> Fraction:
        total = F(0)
        for secret, p in random_opening(seed, bit, 3).items():
            public, product_ = 0, p
            for query, response in history:
                product_ *= answer(bit, secret, public, query).get(response, F(0))
                public = after(public, query, response)
            total += product_
        return total

    def step(bit: int, history: History, query: object) -> dict[object, Fraction]:
        whole = mass(bit, history)
        if not whole:
            return {0: F(1)}
        return {y: mass(bit, (*history, (query, y))) / whole for y in range(2)}

    secret = FinitePair.one_secret(
        lambda bit: random_opening(seed, bit, 3),
        answer,
        queries=range(2),
        rounds=rounds,
        start=0,
        after=after,
    )
    _same(secret, FinitePair(step, queries=range(2), rounds=rounds))


def _same(merged: FinitePair, plain: FinitePair) -> None:
    for factor in FACTORS:
        assert merged.delta(exp_epsilon=factor) == plain.delta(exp_epsilon=factor)
        found = evaluate(merged.worst_adversary(exp_epsilon=factor), plain, exp_epsilon=factor)
        assert found == plain.delta(exp_epsilon=factor)
    assert merged.profile().corners == plain.profile().corners
    assert merged.renyi_moment(2) == plain.renyi_moment(2)


@given(seeds, sizes, st.booleans())
@settings(max_examples=examples(40))
def test_the_interval_of_floats_holds_the_law_divided_by_its_sum(
    seed: int, size: tuple[int, int, int], off: bool
) -> None:
    queries, _, rounds = size
    exact = random_step(seed, *size)

    def floats(bit: int, history: History, query: object) -> dict[object, float]:
        law = {y: float(p) for y, p in exact.law(bit, history, query).items()}
        if off:
            first = min(law, key=repr)
            law[first] *= 1 - 4e-13 * (1 + (seed % 3) - 1)
        return law

    def divided(bit: int, history: History, query: object) -> dict[object, Fraction]:
        law = {y: F(p) for y, p in floats(bit, history, query).items()}
        return {y: p / sum(law.values()) for y, p in law.items()}

    pair = FinitePair(floats, queries=range(queries), rounds=rounds)
    truth = FinitePair(divided, queries=range(queries), rounds=rounds)
    assert not pair.exact
    assert truth.exact
    for factor in FACTORS:
        low, high = pair.delta_interval(exp_epsilon=factor)
        assert low <= truth.delta(exp_epsilon=factor) <= high
        assert high - low < 1e-10
        assert pair.profile().delta_interval(exp_epsilon=factor)[1] == pytest.approx(
            high, abs=1e-14
        )
    low, high = pair.epsilon_interval(0.05)
    least = truth.exp_epsilon(F(1, 20))
    assert least <= pair.exp_epsilon(F(1, 20))
    assert low <= math.log(least) * (1 + 1e-15)
    assert math.log(least) <= high * (1 + 1e-15)
    moment = truth.renyi_moment(3)
    assert moment <= pair.renyi_moment(3)
    assert pair.renyi_moment(3) == math.inf or pair.renyi_moment(3) <= float(moment) * (1 + 1e-9)
    assert truth.renyi(1) <= pair.renyi(1) * (1 + 1e-15)


def test_what_a_law_lacks_of_one_is_in_epsilon() -> None:
    # The greatest probability is made to fill the law up to 1: here it is 7.5e-13 too large.
    more = 0.75 * (1 + 1e-12)
    pair = FinitePair(
        lambda bit, _history, _query: {bit: more, 1 - bit: 0.25}, queries=["ask"], rounds=1
    )
    least = F(more) / F(0.25)
    assert 3 < least <= pair.exp_epsilon(0) < least + F(1, 10**10)
    assert least <= pair.profile().exp_epsilon(0)


@pytest.mark.parametrize("limit", [10**6, 100])
@given(seeds)
@settings(max_examples=examples(20))
def test_rounded_masses_lie_within_the_ends(limit: int, seed: int) -> None:
    # The sums are exactly 1 and the products have 200 digits: all that is off is rounding, of
    # masses in the graph or of floats in blocks.
    def law(bit: int, hidden: int, query: int) -> dict[tuple[int, int], Fraction]:
        rng = random.Random(repr((seed, hidden, query)))
        parts = [rng.randrange(2**47, 2**48) | 1 for _ in range(3)]
        parts[bit] += rng.randrange(2**47)
        parts.append(2**50 - sum(parts))
        return {(i % 2, i // 2): F(part, 2**50) for i, part in enumerate(parts)}

    def floats(bit: int, hidden: int, query: int) -> dict[tuple[int, int], float]:
        return {y: float(p) for y, p in law(bit, hidden, query).items()}

    truth = FinitePair.hidden(lambda _: {0: F(1, 2), 1: F(1, 2)}, law, queries=range(2), rounds=4)
    pair = FinitePair.hidden(
        lambda _: {0: 0.5, 1: 0.5}, floats, queries=range(2), rounds=4, limit=limit
    )
    with mock.patch.object(pairs, "spreads", return_value=True):
        for factor in (F(1), F(6, 5), F(2)):
            low, high = pair.delta_interval(exp_epsilon=factor)
            assert low <= truth.delta(exp_epsilon=factor) <= high < low + 1e-10
        assert truth.exp_epsilon(F(1, 99)) <= pair.exp_epsilon(F(1, 99))
        assert truth.exp_epsilon(0) <= pair.exp_epsilon(0)


@given(seeds, st.sampled_from([0.0, 0.1, 0.5, 1.0, F(1, 3)]))
@settings(max_examples=examples(40))
def test_delta_at_an_irrational_factor_is_rounded_up(seed: int, epsilon: float | Fraction) -> None:
    pair = random_step(seed, 2, 2, 2)
    factor = F(math.exp(epsilon))
    low, high = pair.delta_interval(epsilon=epsilon)
    assert low <= pair.delta(epsilon=epsilon) <= high
    assert high - low < 1e-15
    assert pair.delta(exp_epsilon=max(F(1), factor)) == pytest.approx(high, abs=1e-14)
    assert pair.delta(exp_epsilon=factor * (1 + F(1, 10**14))) <= high
