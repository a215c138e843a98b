"""Items made of noisy parts: by their definitions where there is no noise, and within bounds always."""

from __future__ import annotations

import statistics
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.query.estimates import Cell, Estimator, Mean, Quantile, Spread, body_of, estimator_of
from interlace.query.shape import KeyColumn, Shape, nonnegative
from tests.effort import examples

LOWER, UPPER, DIGITS = -30, 50, 1
MEAN = Mean("m", 1, 0, LOWER, UPPER, DIGITS)


def number(value: object) -> Fraction:
    assert isinstance(value, int | Decimal)
    return Fraction(value)


numbers = st.lists(st.integers(LOWER, UPPER), max_size=12)
noise = st.integers(-40, 40)


def parts(codes: list[int]) -> list[list[int]]:
    """Count, sum, sum of squares, histogram."""
    histogram = [codes.count(code) for code in range(LOWER, UPPER + 1)]
    return [[len(codes)], [sum(codes)], [sum(code**2 for code in codes)], histogram]


def spans_of(cells: list[list[int]]) -> list[list[tuple[int, int]]]:
    return [[(value, value) for value in part] for part in cells]


def spread(sample: bool, root: bool) -> Spread:
    return Spread("v", 2, 1, MEAN, sample, root)


@settings(max_examples=examples(200))
@given(numbers.filter(lambda codes: len(codes) > 1))
def test_without_noise_they_are_what_statistics_says(codes: list[int]) -> None:
    cells = parts(codes)
    values = [Fraction(code, 10**DIGITS) for code in codes]
    assert abs(
        number(MEAN.estimate(cells, spans_of(cells)).value) - statistics.mean(values)
    ) <= Fraction(1, 10**5)
    for sample, expected in ((False, statistics.pvariance), (True, statistics.variance)):
        exact = expected(values)
        found = spread(sample, root=False).estimate(cells, spans_of(cells)).value
        assert abs(number(found) - exact) <= Fraction(1, 10**6)
        deviation = number(spread(sample, root=True).estimate(cells, spans_of(cells)).value)
        assert abs(deviation**2 - exact) <= Fraction(1, 10**3)


@settings(max_examples=examples(200))
@given(numbers.filter(bool), st.fractions(Fraction(1, 50), Fraction(49, 50), max_denominator=50))
def test_a_quantile_is_the_least_value_that_its_share_reaches(
    codes: list[int], share: Fraction
) -> None:
    cells = parts(codes)
    column = Quantile("q", 3, str(share), tuple(range(LOWER, UPPER + 1)), DIGITS, day=False)
    expected = next(
        code for code in sorted(codes) if sum(c <= code for c in codes) >= share * len(codes)
    )
    found = column.estimate(cells, spans_of(cells))
    assert found.value == Decimal(expected) / 10
    assert found.interval == (found.value, found.value)


@settings(max_examples=examples(400))
@given(numbers, st.data())
def test_intervals_hold_what_the_exact_parts_give(codes: list[int], data: st.DataObject) -> None:
    exact = parts(codes)
    noisy = [[value + data.draw(noise) for value in part] for part in exact[:3]]
    moved = data.draw(st.lists(st.integers(-2, 2), min_size=81, max_size=81))
    noisy.append([value + move for value, move in zip(exact[3], moved, strict=True)])
    around = [
        [(min(a, b), max(a, b) + 1) for a, b in zip(one, other, strict=True)]
        for one, other in zip(exact, noisy, strict=True)
    ]
    columns: list[Estimator] = [
        MEAN,
        *(spread(sample, root) for sample in (False, True) for root in (False, True)),
        Quantile("q", 3, "1/3", tuple(range(LOWER, UPPER + 1)), DIGITS, day=False),
        Cell("c", 1, DIGITS),
    ]
    for column in columns:
        true = number(column.estimate(exact, spans_of(exact)).value)
        value, ends = column.estimate(noisy, around)
        low, high = map(number, ends)
        assert low <= true <= high
        assert low <= number(value) <= high or isinstance(column, Spread | Quantile)


@settings(max_examples=examples(200))
@given(st.lists(noise, min_size=3, max_size=3), st.lists(noise, min_size=81, max_size=81))
def test_whatever_the_noise_items_stay_within_bounds(few: list[int], many: list[int]) -> None:
    cells = [[few[0]], [few[1]], [few[2]], many]
    mean = number(MEAN.estimate(cells, spans_of(cells)).value)
    assert Fraction(LOWER, 10) <= mean <= Fraction(UPPER, 10)
    for sample in (False, True):
        variance = number(spread(sample, root=False).estimate(cells, spans_of(cells)).value)
        # A sample of two at the ends has twice the population's.
        assert 0 <= variance <= Fraction((UPPER - LOWER) ** 2, 400) * (1 + sample)
    column = Quantile("q", 3, "1/2", tuple(range(LOWER, UPPER + 1)), DIGITS, day=False)
    assert -3 <= number(column.estimate(cells, spans_of(cells)).value) <= 5


def test_an_empty_group_gives_something_within_bounds() -> None:
    cells = parts([])
    assert MEAN.estimate(cells, spans_of(cells)).value == 0
    assert spread(sample=True, root=True).estimate(cells, spans_of(cells)).value == 0


@settings(max_examples=examples(200))
@given(st.lists(st.integers(-20, 20), min_size=1, max_size=7), st.integers(0, 40))
def test_consistent_counts_are_the_nearest(counts: list[int], total: int) -> None:
    found = nonnegative(counts, total)
    assert sum(found) == total
    assert min(found) >= 0
    # No unit moved from one cell to another would come nearer.
    distance = sum((a - b) ** 2 for a, b in zip(found, counts, strict=True))
    for i in range(len(found)):
        for j in range(len(found)):
            if found[i] > 0 and i != j:
                moved = list(found)
                moved[i] -= 1
                moved[j] += 1
                assert sum((a - b) ** 2 for a, b in zip(moved, counts, strict=True)) >= distance
    assert nonnegative(counts, None) == [max(count, 0) for count in counts]


def test_a_shape_travels_as_json() -> None:
    shape = Shape(
        (KeyColumn("day", "day", 0, (0, 31)), KeyColumn("lab", "text", 0, ("a", "b"))),
        (1, 1, 1, 81),
        (True, False, False, True),
        (
            Cell("n", 0, 0),
            MEAN,
            spread(sample=True, root=True),
            Quantile("q", 3, "1/2", tuple(range(LOWER, UPPER + 1)), DIGITS, day=False),
        ),
    )
    assert Shape.read(shape.body()) == shape
    assert shape.groups == 4
    for column in shape.columns:
        assert estimator_of(body_of(column)) == column


def test_rows_come_with_the_last_key_fastest() -> None:
    keys = (KeyColumn("male", "truth", 0, (0, 1)), KeyColumn("x", "number", 1, (5, 10)))
    shape = Shape(keys, (1, 2), (True, True), (Cell("n", 0, 0),))
    table = shape.table([1, 2, 3, 4, *range(8)], [(0, 0)] * 12)
    assert table.rows == (
        {"male": False, "x": Decimal("0.5"), "n": 1},
        {"male": False, "x": Decimal("1.0"), "n": 2},
        {"male": True, "x": Decimal("0.5"), "n": 3},
        {"male": True, "x": Decimal("1.0"), "n": 4},
    )
    assert shape.consistent([-1, 2, 3, 4, *range(8)])[:4] == (0, 2, 3, 4)


@pytest.mark.parametrize("digits", [0, 2])
def test_one_number_has_a_shape_too(digits: int) -> None:
    shape = Shape.number("value", digits)
    assert shape.scalar
    assert shape.table([150], [(1, 2)]).rows == ({"value": Decimal(150).scaleb(-digits)},)
