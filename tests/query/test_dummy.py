"""Dummy data keeps to its declaration, is decided by it and the seed alone, and spreads."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer
from interlace.query.declarations.dummy import dummy_tables
from interlace.query.fixed_point import Value
from interlace.query.schema import Dataset, KeySet, PublicTable, Table
from tests.effort import examples
from tests.query.declarations import datasets


def _fits(kind: Column, value: Value) -> bool:
    """Whether a source's value needs no rule of its column; written without the code."""
    match kind:
        case Category():
            return value in kind.values
        case Boolean():
            return value is True or value is False
        case Day():
            return kind.lower <= value <= kind.upper  # type: ignore[operator]  # else it raises
        case Decimal():
            number = Fraction(value)  # type: ignore[arg-type]  # else it raises
            return kind.lower <= number <= kind.upper and number.denominator in _powers(kind.digits)
        case Integer():
            return isinstance(value, int) and kind.lower <= value <= kind.upper


def _powers(digits: int) -> set[int]:
    """The denominators of numbers with so many decimals."""
    return {2**a * 5**b for a in range(digits + 1) for b in range(digits + 1)}


@settings(max_examples=examples(60))
@given(datasets(), st.integers(1, 30), st.integers(0, 2**63))
def test_it_keeps_to_the_declaration(dataset: Dataset, units: int, seed: int) -> None:
    found = dummy_tables(dataset, units, seed)
    names = [table.name for table in dataset.tables]
    assert list(found) == names + [table.name for table in dataset.public]
    for table in dataset.tables:
        columns = found[table.name]
        assert list(columns) == [dataset.unit, *(name for name, _ in table.columns)]
        ids = columns[dataset.unit]
        rows = Counter(ids)
        assert set(rows) <= set(range(1, units + 1))
        assert max(rows.values(), default=0) <= table.rows_per_unit
        for name, kind in table.columns:
            assert len(columns[name]) == len(ids)
            assert all(_fits(kind, value) for value in columns[name])
        for keys in table.key_sets:
            pairs = set(zip(ids, *(columns[name] for name in keys.columns), strict=True))
            assert all(n <= keys.keys_per_unit for n in Counter(p[0] for p in pairs).values())
    for public in dataset.public:
        columns = found[public.name]
        assert len(set(columns[public.key])) == len(columns[public.key]) >= 1
        assert all(_fits(kind, value) for name, kind in public.columns for value in columns[name])


@settings(max_examples=examples(30))
@given(datasets(), st.integers(0, 2**63))
def test_one_seed_gives_one_set_of_tables(dataset: Dataset, seed: int) -> None:
    found = dummy_tables(dataset, 9, seed)
    assert dummy_tables(Dataset.from_json(dataset.to_json()), 9, seed) == found


def test_a_table_stays_when_another_is_declared_beside_it() -> None:
    people = Table("people", {"age": Integer(0, 120)})
    wards = PublicTable("wards", "ward", {"ward": Integer(1, 9)})
    alone = dummy_tables(Dataset("d", "id", (people,)), 50, 3)
    labs = Table("labs", {"x": Integer(0, 9)}, rows_per_unit=3)
    beside = dummy_tables(Dataset("d", "id", (labs, people), (wards,)), 50, 3)
    assert beside["people"] == alone["people"]
    assert dummy_tables(Dataset("d", "id", (people,)), 50, 4) != alone
    assert beside["wards"] == {"ward": list(range(1, 10))}


def test_values_spread_over_their_domains_and_units_over_rows() -> None:
    # A fixed seed. 20,000 draws over 10 values: 7 standard deviations are 297 of 2,000.
    visits = Table("visits", {"x": Integer(-4, 5)}, rows_per_unit=60)
    people = Table("people", {"age": Integer(0, 120)})
    found = dummy_tables(Dataset("d", "id", (visits, people)), 4000, 1)
    values = Counter(found["visits"]["x"][:20_000])
    assert set(values) == set(range(-4, 6))
    assert all(abs(count - 2000) < 297 for count in values.values())
    rows = Counter(found["visits"]["id"])
    assert 0.86 < len(rows) / 4000 < 0.94  # one in ten has none
    assert 5 < sum(rows.values()) / len(rows) < 10
    assert len(set(rows.values())) > 20
    assert found["people"]["id"] == list(range(1, 4001))


def test_keys_of_overlapping_sets_are_kept_together() -> None:
    columns = {"a": Integer(1, 50), "b": Integer(1, 50), "c": Integer(1, 50)}
    sets = [KeySet(("a", "b"), 2), KeySet(("b", "c"), 3), KeySet(("a",), 1)]
    table = Table("t", columns, 40, sets)
    found = dummy_tables(Dataset("d", "id", (table,)), 200, 9)["t"]
    for names, most in ((("a", "b"), 2), (("b", "c"), 3), (("a",), 1)):
        pairs = set(zip(found["id"], *(found[name] for name in names), strict=True))
        assert max(Counter(pair[0] for pair in pairs).values()) <= most
    assert max(Counter(found["id"]).values()) > 10


def test_of_a_large_public_domain_some_keys_are_there_and_spread() -> None:
    wards = PublicTable("wards", "ward", {"ward": Integer(0, 10**9), "beds": Integer(0, 9)})
    found = dummy_tables(Dataset("d", "id", (Table("t", {"x": Boolean()}),), (wards,)), 1, 1)
    keys = found["wards"]["ward"]
    assert len(set(keys)) == len(keys) == 10_000
    gaps = {b - a for a, b in itertools.pairwise(keys)}  # type: ignore[operator]  # integers
    assert gaps <= {100_000, 100_001}
