"""EXPLAIN PRIVACY: its numbers against the definitions, from metadata alone."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import QueryRefused
from interlace.core.mechanisms import Gaussian, Laplace, SparseVector
from interlace.query.columns import Category, Integer
from interlace.query.columns import Decimal as DecimalColumn
from interlace.query.explain import explain
from interlace.query.schema import Dataset, KeySet, Table
from interlace.query.selection import quantile_scores, score_sensitivity
from tests.effort import examples

CLINIC = Dataset(
    "clinic",
    "id",
    (
        Table("people", {"age": Integer(0, 120, out_of_range="drop")}),
        Table(
            "labs",
            {"lab": Category(["a", "b", "c"], unknown="c"), "value": DecimalColumn(-1, 5, 1)},
            rows_per_unit=7,
            key_sets=[KeySet(("lab",), 2)],
        ),
    ),
)


def test_each_part_has_its_sensitivities() -> None:
    found = explain("explain privacy SELECT AVG(value) FROM labs GROUP BY lab", CLINIC)
    total, count = found.parts
    assert (count.text, count.cells, count.lower, count.upper) == (
        'COUNT(*) for each "lab"',
        3,
        0,
        7,
    )
    assert (count.l0, count.l1, count.l2_squared, count.linf) == (2, 7, 49, 7)
    # Numbers from -1 to 5 are read around 2: seven rows of 3 in one group, its square 441.
    assert (total.lower, total.upper) == (Decimal("-21.0"), Decimal("21.0"))
    assert (total.l1, total.l2_squared, total.linf) == (Decimal(21), Decimal(441), Decimal(21))


def test_groups_are_counted_by_the_tables_that_they_come_from() -> None:
    """A unit of one row in people is in one group of ages, however many rows it has elsewhere."""
    joined = "SELECT COUNT(DISTINCT id), COUNT(*) FROM labs JOIN people USING (id) GROUP BY "
    by_age, rows = explain(joined + "BUCKET(age, 40)", CLINIC).parts
    assert (by_age.l0, by_age.l1, by_age.l2_squared, by_age.linf) == (1, 1, 1, 1)
    assert (rows.l0, rows.l1, rows.linf) == (1, 7, 7)
    by_both = explain(joined + "BUCKET(age, 40), lab", CLINIC).parts[0]
    assert (by_both.l0, by_both.l1) == (2, 2)
    by_value = explain(joined + "age > 9, value > 3", CLINIC).parts[0]
    assert by_value.l0 == 4  # seven rows, and four groups


def test_the_price_of_two_parts_is_that_of_one() -> None:
    one = explain("SELECT COUNT(*) FROM people", CLINIC, [Laplace(epsilon=1), Gaussian(rho=2)])
    two = explain("SELECT AVG(age) FROM people", CLINIC, [Laplace(epsilon=1), Gaussian(rho=2)])
    for alone, shared in zip(one.prices, two.prices, strict=True):
        assert alone.guarantee == shared.guarantee
    # Twice the scale, and 60 times that for ages around 60; sigma grows by the root.
    p = math.exp(-1 / 2)
    assert two.prices[0].expected_error[1] == pytest.approx(2 * p / (1 - p * p))
    assert two.prices[1].expected_error[0] == pytest.approx(
        60 * math.sqrt(2) * one.prices[1].expected_error[0], rel=1e-6
    )


def test_what_a_mechanism_does_not_take_is_told() -> None:
    found = explain("SELECT AVG(age) FROM people", CLINIC, [SparseVector(epsilon=1)])
    assert "one number at a time" in str(found.prices[0].refused)
    assert "does not take it" in str(found)


def test_bias_is_what_the_rules_may_change() -> None:
    grouped = explain("SELECT COUNT(*) FROM labs WHERE value > 0 GROUP BY lab", CLINIC)
    assert "labs: a unit's rows beyond 7 are left out" in grouped.bias
    assert "labs: a unit counts for 2 of its keys, others are left out" in grouped.bias
    assert "labs.value: values outside -1.0 to 5.0 were moved to the bounds" in grouped.bias
    assert "labs.lab: texts that are not listed: they count as 'c'" in grouped.bias
    plain = explain("SELECT COUNT(*) FROM people WHERE age > 3", CLINIC)
    assert "people.age: values outside 0 to 120 were dropped" in plain.bias
    assert explain("SELECT COUNT(*) FROM people", CLINIC).bias == (
        "none: nothing is cut or left out",
    )


def test_positions_count_the_prefix() -> None:
    with pytest.raises(QueryRefused) as caught:
        explain("EXPLAIN PRIVACY\nSELECT COUNT(*) FROM nowhere", CLINIC)
    assert caught.value.position == (2, 22)


@settings(max_examples=examples(100))
@given(
    counts=st.lists(st.integers(0, 9), min_size=1, max_size=8),
    removed=st.data(),
    share=st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=20),
)
def test_scores_mark_the_quantiles_and_move_as_told(
    counts: list[int], removed: st.DataObject, share: Fraction
) -> None:
    rows = [place for place, count in enumerate(counts) for _ in range(count)]
    scores = quantile_scores(counts, share)
    for place, score in enumerate(scores):
        below, upto = (sum(r < place for r in rows), sum(r <= place for r in rows))
        assert (score == 0) == (below <= share * len(rows) <= upto)
    gone = [removed.draw(st.integers(0, count)) for count in counts]
    left = [count - less for count, less in zip(counts, gone, strict=True)]
    bound = score_sensitivity(sum(gone), share)
    moved = zip(scores, quantile_scores(left, share), strict=True)
    assert all(abs(before - after) <= bound for before, after in moved)
