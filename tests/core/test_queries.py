"""Queries: comparisons that cannot stretch a sensitivity, and public numbers within bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import ParameterError
from interlace.core.queries import LARGEST_INTEGER, Comparison, Query, Sensitivity
from tests.core.mechanisms.doubles import reading

integers = st.integers(-LARGEST_INTEGER, LARGEST_INTEGER)
comparisons = st.one_of(
    st.builds(Comparison.at_least, integers),
    st.builds(Comparison.at_most, integers),
    st.builds(Comparison.distance, integers, st.integers(0, LARGEST_INTEGER)),
)


@given(integers, integers, integers.map(abs))
def test_a_comparison_passes_where_it_says(value: int, bound: int, tolerance: int) -> None:
    assert (Comparison.at_least(bound)(value) >= 0) == (value >= bound)
    assert (Comparison.at_most(bound)(value) >= 0) == (value <= bound)
    distance = Comparison.distance(bound, tolerance)
    assert (distance(value) >= 0) == (abs(value - bound) >= tolerance)


@given(comparisons, integers, st.integers(0, LARGEST_INTEGER))
def test_a_comparison_moves_no_further_than_the_value(
    comparison: Comparison, value: int, step: int
) -> None:
    moved = comparison(value + step) - comparison(value)
    assert abs(moved) <= step
    if comparison.rising:
        assert moved == step


def test_only_at_least_rises() -> None:
    assert Comparison.at_least(3).rising
    assert not Comparison.at_most(3).rising
    assert not Comparison.distance(3, 1).rising


@pytest.mark.parametrize("sign", [0, 2, -2, 10**9])
def test_no_comparison_stretches(sign: int) -> None:
    with pytest.raises(ParameterError, match=r"^sign: "):
        Comparison(sign=sign)


@pytest.mark.parametrize("value", [LARGEST_INTEGER + 1, -LARGEST_INTEGER - 1, 1.5, True, "1", None])
def test_public_numbers_are_integers_within_bounds(value: Any) -> None:
    makers: dict[str, Callable[[Any], Comparison]] = {
        "at_least": Comparison.at_least,
        "at_most": Comparison.at_most,
        "guess": lambda v: Comparison.distance(v, 1),
        "tolerance": lambda v: Comparison.distance(1, v),
    }
    for argument, make in makers.items():
        with pytest.raises(ParameterError) as refused:
            make(value)
        assert refused.value.name == argument
    if value is not None:
        with pytest.raises(ParameterError, match=r"^guess: "):
            Query(reading(1), guess=value)


def test_a_guess_becomes_a_plain_integer() -> None:
    # A numpy integer would wrap around in |value - guess|.
    guess: Any = np.int64(2**62)
    query = Query(reading(1), guess=guess)
    assert type(query.guess) is int
    assert type(Comparison.at_most(guess).offset) is int
    assert Comparison.at_most(guess)(-(2**62)) == 2**63


def test_a_query_has_one_test_at_most() -> None:
    with pytest.raises(ParameterError, match=r"^guess: "):
        Query(reading(1), Comparison.at_least(1), guess=1)


def test_equal_queries_are_equal_values() -> None:
    one, other = (Query(reading(1), Comparison.at_least(3)) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != Query(reading(1), Comparison.at_most(3))


@pytest.mark.parametrize("bound", [0, 1, 7, 2**62])
def test_the_sensitivity_of_a_scalar(bound: int) -> None:
    assert Sensitivity.scalar(bound) == Sensitivity(min(1, bound), bound, bound**2, bound)


@pytest.mark.parametrize("at", range(4))
def test_no_sensitivity_is_negative(at: int) -> None:
    with pytest.raises(ParameterError, match=r"^sensitivity: "):
        Sensitivity(*(-1 if k == at else 1 for k in range(4)))
    with pytest.raises(ParameterError, match=r"^sensitivity: "):
        Sensitivity.scalar(-1)
