"""What is no pair, or too large a one, is refused, and the error names the place."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

from interlace.core.errors import ParameterError
from interlace.core.finite import Adversary, FinitePair, evaluate, fold
from interlace.core.finite.strategy import LINES, Ask
from tests.core.finite.brute import History
from tests.core.finite.mechanisms import random_step, sparse_vector
from tests.core.finite.random_pairs import randomised_response

F = Fraction
PLACE = (("ask", 1),)


def spoiled(law: object) -> FinitePair:
    """A fair coin but for one law, after a 1."""

    def step(bit: int, history: History, _query: object) -> Any:
        return law if history == PLACE and bit == 1 else {0: F(1, 2), 1: F(1, 2)}

    return FinitePair(step, queries=["ask"], rounds=2)


@pytest.mark.parametrize(
    ("law", "problem"),
    [
        ({0: F(1, 2), 1: F(1, 3)}, "must sum to 1, not to 5/6"),
        ({0: F(1, 2), 1: F(1, 2), 2: F(1, 10**40)}, "must sum to 1"),
        ({0: F(-1, 2), 1: F(3, 2)}, "must lie between 0 and 1, got -1/2"),
        ({0: math.nan, 1: F(1)}, "must lie between 0 and 1, got nan"),
        ({0: math.inf}, "must lie between 0 and 1, got inf"),
        ({0: True, 1: 0}, "must be a Fraction, an int or a float, not bool"),
        ({0: "1"}, "must be a Fraction, an int or a float, not str"),
        ({0: 0.5, 1: 0.5}, "holds a float where the first laws were exact"),
        ({}, "must sum to 1, not to 0"),
        ([1], "must be a mapping from responses to probabilities, not list"),
    ],
)
def test_a_law_that_is_none_is_refused_with_its_history(law: object, problem: str) -> None:
    pair = spoiled(law)
    with pytest.raises(ParameterError) as caught:
        pair.delta(exp_epsilon=2)
    assert caught.value.name == f"step(bit=1, history={PLACE!r}, query='ask')"
    assert problem in str(caught.value)
    with pytest.raises(ParameterError):
        pair.law(1, PLACE, "ask")


@pytest.mark.parametrize("total", [1 + 2e-12, 1 - 2e-12])
def test_floats_that_are_too_far_off_are_refused(total: float) -> None:
    with pytest.raises(ParameterError, match="must sum to 1 within 1e-12"):
        FinitePair(lambda *_: {0: total / 2, 1: total / 2}, queries=["ask"], rounds=1)


def test_a_step_that_depends_on_more_than_its_arguments_is_refused() -> None:
    calls: Iterator[int] = itertools.count(4)

    def step(_bit: int, history: History, _query: object) -> dict[int, Fraction]:
        if not history:
            return {0: F(1)}
        p = F(1, next(calls))
        return {0: p, 1: 1 - p}

    pair = FinitePair(step, queries=["ask"], rounds=2)
    with pytest.raises(ParameterError, match=r"history=\(\('ask', 0\),\).*two laws when called"):
        pair.delta(exp_epsilon=1)


def test_laws_of_machines_are_checked_too() -> None:
    with pytest.raises(ParameterError, match=r"transition\(bit=0, hidden=0, query='ask'\): .* 3/4"):
        FinitePair.hidden(lambda _: {0: 1}, lambda *_: {(0, 0): F(3, 4)}, queries=["ask"], rounds=1)
    with pytest.raises(ParameterError, match="must be over pairs"):
        FinitePair.hidden(lambda _: {0: 1}, lambda *_: {0: 1}, queries=["ask"], rounds=1)
    with pytest.raises(ParameterError, match=r"initial\(bit=1\)"):
        FinitePair.hidden(
            lambda bit: {0: F(1, 1 + bit)}, lambda *_: {(0, 0): 1}, queries=["ask"], rounds=1
        )
    with pytest.raises(ParameterError, match="more than 100,000 hidden states"):
        FinitePair.hidden(
            lambda _: {0: 1}, lambda _bit, h, _query: {(0, h + 1): 1}, queries=["ask"], rounds=1
        )
    with pytest.raises(ParameterError, match=r"answer\(bit=0, secret='s', public=None"):
        FinitePair.one_secret(
            lambda _: {"s": 1}, lambda *_: {0: F(3, 4)}, queries=["ask"], rounds=1
        )


def test_negative_weights_must_stand_for_a_tail() -> None:
    opening = {0: F(-1), 1: F(2)}
    with pytest.raises(ParameterError, match="negative probability"):
        FinitePair.one_secret(
            lambda _: opening,
            lambda _bit, secret, *_: {secret: 1},
            queries=["ask"],
            rounds=1,
        ).delta(exp_epsilon=1)
    with pytest.raises(ParameterError, match="must be exact and sum to 1"):
        FinitePair.one_secret(
            lambda _: {0: F(-1), 1: 2.0}, lambda *_: {0: 1}, queries=["ask"], rounds=1
        )


@pytest.mark.parametrize("rounds", [0, 3, 7])
def test_a_folded_tail_sums_polynomials_exactly(rounds: int) -> None:
    mass, ratio = F(1, 3), F(2, 5)
    weights = fold(mass, ratio, rounds)
    for power in range(rounds + 1):
        found = sum(w * ratio ** (power * i) for i, w in enumerate(weights, 1))
        assert found == mass * ratio**power / (1 - mass * ratio**power)


def test_tables_name_what_they_lack() -> None:
    coin = {"ask": {0: F(1, 2), 1: F(1, 2)}}
    table: dict[History, dict[str, dict[int, Fraction]]] = {(): coin, (("ask", 0),): coin}
    with pytest.raises(ParameterError, match="both need the empty history"):
        FinitePair.tables({}, {(): coin})
    pair = FinitePair.tables(table, table)
    assert pair.rounds == 2
    with pytest.raises(ParameterError, match=r"history=\(\('ask', 1\),\).*no such entry"):
        pair.delta(exp_epsilon=1)


def test_sizes_are_estimated_and_a_limit_lets_one_go_on() -> None:
    def step(bit: int, _history: History, _query: object) -> dict[int, Fraction]:
        return {bit: F(2, 3), 1 - bit: F(1, 3)}

    large = FinitePair(step, queries=range(4), rounds=10)
    with pytest.raises(ParameterError, match=r"limit: about 1.2e\+09 histories"):
        large.delta(exp_epsilon=2)
    small = FinitePair(step, queries=range(2), rounds=3, limit=50)
    with pytest.raises(ParameterError, match="limit: about 85 histories, and more than 50"):
        small.delta(exp_epsilon=2)
    allowed = FinitePair(step, queries=range(2), rounds=3, limit=85)
    assert allowed.delta(exp_epsilon=1) == F(13, 27)


def test_a_tree_that_turns_out_larger_than_estimated_is_refused() -> None:
    def step(_bit: int, history: History, _query: object) -> dict[int, Fraction]:
        return {i: F(1, 10) for i in range(10)} if history else {0: F(1)}

    with pytest.raises(ParameterError, match="limit"):
        FinitePair(step, queries=["ask"], rounds=5, limit=1000).delta(exp_epsilon=1)


def test_merged_nodes_are_limited_too() -> None:
    pair = FinitePair.one_secret(
        lambda bit: {0: F(1, 2 + bit), 1: F(1 + bit, 2 + bit)},
        lambda _bit, secret, _public, query: {
            0: F(1, 2 + query + secret),
            1: F(1 + query + secret, 2 + query + secret),
        },
        queries=range(3),
        rounds=12,
        limit=100,
    )
    with pytest.raises(ParameterError, match=r"limit: about 2.2e\+09 histories, and more than 100"):
        pair.delta(exp_epsilon=1)


def test_arguments_out_of_range_are_named() -> None:
    pair = randomised_response(F(3), 2)
    for call, name in (
        (pair.delta, "epsilon"),
        (lambda: pair.delta(epsilon=1, exp_epsilon=2), "epsilon"),
        (lambda: pair.delta(exp_epsilon=F(1, 2)), "exp_epsilon"),
        (lambda: pair.epsilon(2), "delta"),
        (lambda: pair.epsilon(math.nan), "delta"),
        (lambda: pair.renyi_moment(1), "alpha"),
        (lambda: pair.renyi(0.5), "alpha"),
        (pair.worst_adversary, "epsilon"),
        (lambda: pair.worst_adversary(alpha=2, epsilon=1), "alpha"),
        (lambda: pair.law(2, (), "ask"), "bit"),
        (lambda: pair.law(0, (), "tell"), "query"),
        (lambda: pair.law(0, (("ask", 0), ("ask", 0)), "ask"), "history"),
        (lambda: FinitePair(pair.law, queries=[], rounds=1), "queries"),
        (lambda: FinitePair(pair.law, queries=["ask"], rounds=0), "rounds"),
        (lambda: evaluate(Adversary(None, 0), pair), "epsilon"),
    ):
        with pytest.raises(ParameterError) as caught:
            call()
        assert caught.value.name == name


def test_an_adversary_is_replayed_and_drawn() -> None:
    adversary = sparse_vector(2).worst_adversary(exp_epsilon=2)
    first = adversary(())
    assert first is not None
    assert adversary(((first, "pass"),)) is None
    second = adversary(((first, "fail"),))
    assert second is not None
    text = str(adversary)
    assert text.startswith("tells bit ")
    assert f"ask {first!r}" in text
    assert f"'fail': ask {second!r}" in text
    with pytest.raises(ParameterError, match="no response"):
        adversary(((first, "perhaps"),))
    with pytest.raises(ParameterError, match="none that this adversary can see"):
        adversary((("something else", "pass"),))


def test_a_large_tree_is_drawn_up_to_a_line() -> None:
    root: Ask | None = None
    for i in range(30):
        root = Ask(i, ((0, root), (1, None if root is None else Ask(-i, root.after))))
    text = str(Adversary(root, 1))
    assert text.endswith(f"... (the first {LINES} lines)")
    assert len(text.splitlines()) == LINES + 2


def test_only_possible_histories_are_asked_for() -> None:
    def step(bit: int, history: History, _query: object) -> dict[int, Fraction]:
        for _, response in history:
            assert response == bit
        return {bit: F(1)}

    pair = FinitePair(step, queries=["ask"], rounds=3)
    assert pair.delta(exp_epsilon=10) == 1
    assert pair.exp_epsilon(F(99, 100)) == math.inf
    assert pair.epsilon(1) == 0


def test_the_law_that_is_returned_is_a_copy() -> None:
    pair = random_step(3, 1, 2, 1)
    pair.law(0, (), 0).clear()
    assert sum(pair.law(0, (), 0).values()) == 1
