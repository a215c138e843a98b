"""What one unit can do is what the planner says, checked by hand, and advice comes where it is due."""

from __future__ import annotations

from fractions import Fraction

from interlace.query.columns import Boolean, Category, Day, Decimal, Integer
from interlace.query.declarations.advising import advice_on, facts_of
from interlace.query.schema import Dataset, KeySet, Table

LABS = Table(
    "labs",
    {
        "value": Decimal(-700, 500, digits=1),
        "test": Category(["a", "b", "c", "d", "other"], unknown="other"),
        "ward": Category([f"w{i}" for i in range(9)], unknown="w0"),
        "seen": Day("2020-01-01", "2020-12-31"),
        "late": Boolean(),
    },
    rows_per_unit=60,
    key_sets=[KeySet(("test",), 3)],
)


def _advised(*tables: Table) -> list[str]:
    return [advice.where for advice in advice_on(Dataset("clinic", "id", tables))]


def test_what_one_unit_can_do() -> None:
    [found] = facts_of(Dataset("clinic", "id", (LABS,)))
    facts = {c.name: (c.sum_moves, c.keys, c.keys_of_unit) for c in found.columns}
    assert found.count_moves == 60
    assert facts == {
        "value": (Fraction(42_000), None, None),  # 60 times 700; 12,001 keys are too many
        "test": (None, 5, 3),  # by its key set
        "ward": (None, 9, 9),
        "seen": (None, 366, 60),  # one for each row
        "late": (Fraction(60), 2, 2),
    }


def test_a_plain_table_needs_no_advice() -> None:
    sex = Category(["f", "m", "other"], unknown="other")
    assert _advised(Table("people", {"age": Integer(0, 120), "sex": sex})) == []


def test_a_set_of_several_columns_bounds_each_of_them() -> None:
    ward = Category([f"w{i}" for i in range(9)], unknown="w0")
    sets = [KeySet(("ward", "late"), 2)]
    table = Table("labs", {"ward": ward, "late": Boolean()}, 60, sets)
    assert _advised(table) == []
    [found] = facts_of(Dataset("clinic", "id", (table,)))
    assert [column.keys_of_unit for column in found.columns] == [2, 2]


def test_advice_comes_where_it_is_due() -> None:
    assert _advised(LABS) == ["tables.labs.columns.ward"]  # no key set
    assert _advised(Table("t", {"x": Boolean()}, 1001)) == ["tables.t.rows_per_unit"]
    assert _advised(Table("t", {"x": Boolean()}, 1000)) == []
    assert _advised(Table("t", {"x": Category(["a"])})) == ["tables.t.columns.x"]  # unknown
    many = Category([f"{i}" for i in range(5000)], unknown="1")
    assert _advised(Table("t", {"x": many})) == ["tables.t.columns.x"]
    for upper, expected in (
        (2**32, []),
        (2**32 + 1, ["tables.t.columns.x"]),
        (2**60, ["tables.t.columns.x"]),
    ):
        assert _advised(Table("t", {"x": Integer(0, upper)})) == expected
    assert _advised(Table("t", {"x": Decimal(0, 2**29, digits=1)})) == ["tables.t.columns.x"]
