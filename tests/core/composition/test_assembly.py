"""Plans put together step by step, and batches from arrays, against the composition of a list."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.composition import Assembly, Batch, compose
from interlace.core.errors import ParameterError, RelationMismatch
from interlace.core.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, Relation
from tests.effort import examples

_parts: st.SearchStrategy[Guarantee] = st.one_of(
    st.floats(0.001, 1).map(PureDP),
    st.integers(1, 9).map(lambda n: PureDP(Fraction(n, 10))),
    st.builds(ApproxDP, st.floats(0.01, 0.5), st.sampled_from([1e-9, 1e-4])),
    st.floats(0.01, 1).map(GaussianDP),
    st.just(PureDP(0)),
)


def _meet(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return max(one[0], other[0]) <= min(one[1], other[1])


@settings(max_examples=examples(12))
@given(st.lists(_parts, min_size=1, max_size=14), st.sampled_from([0.4, 1e-3, 1e-6, 1e-12]))
def test_every_step_agrees_with_the_composition_so_far(
    parts: list[Guarantee], delta: float
) -> None:
    plan = Assembly()
    for k, part in enumerate(parts):
        plan.add(part)
        assert _meet(plan.epsilon_interval(delta), compose(parts[: k + 1]).epsilon_interval(delta))
    assert plan.composition() == compose(parts)


@pytest.mark.parametrize(
    "draw",
    [lambda _: PureDP(0.1), lambda x: PureDP(0.05 + x / 10), lambda x: GaussianDP(x / 10)],
    ids=["equal", "real", "gaussian"],
)
def test_a_long_assembly_stays_certified_and_narrow(draw: Callable[[float], Guarantee]) -> None:
    random = np.random.default_rng(5)
    parts = [draw(float(x)) for x in random.uniform(0, 1, 150)]
    plan, widths = Assembly(), []
    for k, part in enumerate(parts):
        plan.add(part)
        if k % 10 == 0 and k > 20:
            lower, upper = plan.epsilon_interval(1e-6)
            assert _meet((lower, upper), compose(parts[: k + 1]).epsilon_interval(1e-6))
            widths.append((upper - lower) / upper)
    assert max(widths) < 1e-2
    assert widths[-1] < 1e-3


def test_other_parts_are_composed_whole() -> None:
    plan = Assembly([PureDP(0.1), (ZCDP(0.01), 3)])
    assert plan.epsilon(1e-6) == compose([PureDP(0.1), (ZCDP(0.01), 3)]).epsilon(1e-6)
    plan.add(ApproxDP(1, 1))
    assert plan.epsilon(0.5) == math.inf


def test_a_refused_item_changes_nothing() -> None:
    plan = Assembly([PureDP(0.1)])
    before = plan.epsilon_interval(1e-6)
    with pytest.raises(RelationMismatch):
        plan.add(PureDP(0.1, relation=Relation.CHANGE_ONE))
    with pytest.raises(ParameterError, match=r"items\[0\]"):
        plan.add("0.1")  # type: ignore[arg-type]  # what is refused
    assert plan.epsilon_interval(1e-6) == before
    assert plan.composition() == compose([PureDP(0.1)])


@settings(max_examples=examples(10))
@given(
    st.lists(st.floats(0.001, 1.5), min_size=1, max_size=12),
    st.sampled_from([0.0, 1e-9, 1e-3]),
    st.sampled_from([0.3, 1e-2, 1e-6]),
)
def test_a_batch_is_its_list(epsilons: list[float], leak: float, delta: float) -> None:
    batch, listed = Batch(epsilons, leak), compose([ApproxDP(e, leak) for e in epsilons])
    assert compose([batch]).epsilon_interval(delta) == listed.epsilon_interval(delta)
    assert batch.epsilon(delta) == listed.epsilon(delta)
    assert compose([batch, PureDP(0.5)]).delta(0.7) == compose([listed, PureDP(0.5)]).delta(0.7)


def test_a_long_batch_meets_its_list() -> None:
    random = np.random.default_rng(2)
    epsilons, deltas = random.uniform(0.01, 0.2, 5000), random.uniform(0, 1e-9, 5000)
    batch = compose([Batch(epsilons, deltas)])
    listed = compose([ApproxDP(float(e), float(d)) for e, d in zip(epsilons, deltas, strict=True)])
    for delta in (0.3, 1e-4):
        one, other = batch.epsilon_interval(delta), listed.epsilon_interval(delta)
        assert _meet(one, other)
        assert one[1] - one[0] <= 1e-8 * one[1]
    assert batch.epsilon(1e-7) == math.inf
    twice = compose([(Batch(epsilons, deltas), 2)])
    assert _meet(twice.epsilon_interval(1e-4), compose([(listed, 2)]).epsilon_interval(1e-4))


def test_batches_compare_by_their_numbers() -> None:
    assert Batch([0.1, 0.2]) == Batch(np.array([0.2, 0.1]))
    assert len({Batch([0.1, 0.2]), Batch([0.2, 0.1]), Batch([0.1])}) == 2
    values = np.array([0.1, 0.2])
    batch = Batch(values)
    values[0] = 9.0
    assert batch == Batch([0.1, 0.2])


@pytest.mark.parametrize(
    ("epsilons", "deltas", "said"),
    [
        ([0.1, math.nan], 0.0, r"epsilons\[1\]"),
        ([0.1, -1.0], 0.0, r"epsilons\[1\]"),
        ([math.inf], 0.0, r"epsilons\[0\]"),
        ([0.1], [0.1, 0.2], "as many"),
        ([0.1], [1.5], r"deltas\[0\]"),
        (0.1, 0.0, "one list"),
        (["x"], 0.0, "numbers"),
    ],
)
def test_bad_batches_are_refused_by_index(epsilons: object, deltas: object, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Batch(epsilons, deltas)  # type: ignore[arg-type]  # what is refused


@settings(max_examples=examples(6))
@given(st.lists(_parts, min_size=1, max_size=6), st.lists(st.floats(0, 8), max_size=6))
def test_a_profile_is_delta_at_each_epsilon(parts: list[Guarantee], epsilons: list[float]) -> None:
    c = compose([(part, 4) for part in parts])
    found = c.profile(epsilons)
    assert len(found) == len(epsilons)
    for value, epsilon in zip(found, epsilons, strict=True):
        lower, upper = c.delta_interval(epsilon)
        assert lower <= value <= upper * (1 + 1e-6)
