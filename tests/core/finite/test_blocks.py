"""Large trees in blocks: the same numbers as the exact recursion, rounded outwards."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import ParameterError
from interlace.core.finite import FinitePair, blocks
from interlace.core.finite.blocks import Blocks
from tests.core.finite.mechanisms import random_opening, weights
from tests.effort import examples

F = Fraction


def machine(
    seed: int, number: type[Fraction | float], rounds: int = 3, limit: int = 10**6
) -> FinitePair:
    """Three hidden states, two queries of which the second has more responses; under bit 1 one
    state and some of the responses may be missing."""

    def transition(bit: int, hidden: int, query: int) -> dict[tuple[int, int], Fraction | float]:
        law = weights((seed, bit, hidden, query), 3 * (query + 2))
        return {(i // 3, i % 3): number(p) for i, p in enumerate(law)}

    def opening(bit: int) -> dict[object, Fraction | float]:
        return {state: number(p) for state, p in random_opening(seed, bit, 3).items()}

    return FinitePair.hidden(opening, transition, queries=range(2), rounds=rounds, limit=limit)


def in_blocks(seed: int, rounds: int = 3) -> FinitePair:
    """The same with hardly a node allowed, so that it is walked in blocks."""
    return machine(seed, float, rounds, limit=100)


seeds = st.integers(0, 10**9)


@given(seeds, st.sampled_from([1, 7, 2**14]))
@settings(max_examples=examples(40))
def test_blocks_enclose_the_exact_values(seed: int, rows: int) -> None:
    exact = machine(seed, Fraction)
    with (
        mock.patch.object(blocks, "_ROWS", rows),
        mock.patch("interlace.core.finite.pair.spreads", return_value=True),
    ):
        large = in_blocks(seed)
        assert isinstance(large._game(), Blocks)
        for factor in (F(1), F(3, 2), F(20)):
            low, high = large.delta_interval(exp_epsilon=factor)
            assert low - 1e-15 <= exact.delta(exp_epsilon=factor) <= high + 1e-15
            assert high - low < 1e-11
        for delta in (0, F(1, 10)):
            low, high = large.epsilon_interval(delta)
            least = exact.epsilon(delta)
            assert low <= least + 1e-13
            assert high >= least - 1e-13
            assert high == low or high - low < 1e-11


@given(seeds)
@settings(max_examples=examples(25))
def test_what_blocks_round_lies_within_the_ends(seed: int) -> None:
    large = in_blocks(seed, rounds=4)

    def divided(law: dict[Any, float]) -> dict[Any, Fraction]:
        total = sum(map(F, law.values()))
        return {y: F(p) / total for y, p in law.items()}

    truth = FinitePair.hidden(
        lambda bit: divided({h: float(p) for h, p in random_opening(seed, bit, 3).items()}),
        lambda bit, hidden, query: divided(
            {
                (i // 3, i % 3): float(p)
                for i, p in enumerate(weights((seed, bit, hidden, query), 3 * (query + 2)))
            }
        ),
        queries=range(2),
        rounds=4,
    )
    with mock.patch("interlace.core.finite.pair.spreads", return_value=True):
        for factor in (F(1), F(3, 2), F(20)):
            low, high = large.delta_interval(exp_epsilon=factor)
            assert low <= truth.delta(exp_epsilon=factor) <= high
        assert truth.exp_epsilon(F(1, 10)) <= large.exp_epsilon(F(1, 10))


def _generic(bit: int, hidden: int, query: int) -> dict[tuple[int, int], float]:
    base = weights((hidden, query), 10)
    law = [0.9 * float(p) + 0.01 for p in base]
    law[bit] += 1 - math.fsum(law)
    return {(i % 5, i // 5): p for i, p in enumerate(law)}


def _pair(rounds: int, limit: int = 10**6) -> FinitePair:
    return FinitePair.hidden(
        lambda _: {0: 0.5, 1: 0.5}, _generic, queries=range(2), rounds=rounds, limit=limit
    )


def test_a_tree_that_does_not_merge_is_walked_in_blocks() -> None:
    pair = _pair(5, limit=20_000)
    assert pair.delta(epsilon=0.1) == pytest.approx(_pair(5).delta(epsilon=0.1), rel=1e-12)
    assert isinstance(pair._game(), Blocks)
    assert not isinstance(_pair(4)._game(), Blocks)


REFUSED: list[Callable[[FinitePair], object]] = [
    lambda pair: pair.profile(),
    lambda pair: pair.renyi_moment(2),
    lambda pair: pair.worst_adversary(epsilon=1),
    lambda pair: pair.graph(),
]


@pytest.mark.parametrize("ask", REFUSED)
def test_what_needs_all_histories_at_once_is_refused(ask: Callable[[FinitePair], object]) -> None:
    with pytest.raises(ParameterError, match=r"limit: about 1e\+05 histories"):
        ask(_pair(5, limit=20_000))


def test_too_many_histories_for_blocks_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"limit: about 1e\+12 histories"):
        _pair(12, limit=10_000).delta(epsilon=1)


def test_probabilities_that_floats_cannot_hold_are_refused() -> None:
    def transition(bit: int, _hidden: int, query: int) -> dict[tuple[int, int], float]:
        tiny = 1e-80 * (1 + bit + query)
        return {(0, 0): 1.0, (1, 0): tiny, (1, 1): tiny}

    pair = FinitePair.hidden(
        lambda _: {0: 0.5, 1: 0.5}, transition, queries=range(2), rounds=5, limit=500
    )
    with (
        mock.patch("interlace.core.finite.pair.spreads", return_value=True),
        pytest.raises(ParameterError, match="floats cannot hold"),
    ):
        pair.delta(epsilon=1)
