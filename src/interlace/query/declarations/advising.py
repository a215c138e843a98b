"""What one unit can do under a declaration: the sensitivities of the usual questions, and advice.

The numbers are those of the planner that serves: the questions are parsed and not computed by a
second rule. Knows the declaration alone, no data.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from interlace.core.errors import QueryRefused
from interlace.query.columns import Category, Column, Day
from interlace.query.keys import MOST_KEYS
from interlace.query.parse import parse
from interlace.query.plan import LARGEST_SENSITIVITY, Plan
from interlace.query.schema import Dataset, Table
from interlace.query.text import quoted

#: Above it the noise of a plain count is large, whatever the budget.
_MANY_ROWS = 1000
#: Above it, in units of the last digit, so is that of a plain sum.
_WIDE = 2**32


@dataclass(frozen=True)
class ColumnFacts:
    """A column and what one unit can do through it: move SUM by ``sum_moves`` in the column's
    own unit, None where SUM is refused; count in ``keys_of_unit`` of the ``keys`` by which
    GROUP BY makes rows, None where it needs a bucket or a list."""

    name: str
    kind: Column
    sum_moves: Fraction | None
    keys: int | None
    keys_of_unit: int | None


@dataclass(frozen=True)
class TableFacts:
    """A table and what one unit can do to COUNT(*); COUNT(DISTINCT unit) moves by 1."""

    table: Table
    count_moves: int
    columns: tuple[ColumnFacts, ...]


@dataclass(frozen=True)
class Advice:
    """Something that is allowed and may not be meant: ``where`` in dotted names."""

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


def facts_of(dataset: Dataset) -> tuple[TableFacts, ...]:
    """What one unit can do, table by table.

    >>> from interlace.query.columns import Integer
    >>> labs = Table("labs", {"value": Integer(-5, 500)}, rows_per_unit=60)
    >>> [found] = facts_of(Dataset("clinic", "id", (labs,)))
    >>> found.count_moves, found.columns[0].sum_moves, found.columns[0].keys
    (60, Fraction(30000, 1), 506)
    """
    return tuple(_table(dataset, table) for table in dataset.tables)


def advice_on(dataset: Dataset) -> tuple[Advice, ...]:
    """What a custodian may want to think about once more.

    >>> people = Table("people", {"sex": Category(["f", "m"])})
    >>> print(*advice_on(Dataset("clinic", "id", (people,))))
    tables.people.columns.sex: rows with a text that is not listed are dropped: ...
    """
    return tuple(advice for found in facts_of(dataset) for advice in _advice(found))


def _table(dataset: Dataset, table: Table) -> TableFacts:
    count = _plan(dataset, f"SELECT COUNT(*) FROM {quoted(table.name)}")
    assert count is not None
    columns = (_column(dataset, table, name, kind) for name, kind in table.columns)
    return TableFacts(table, count.sensitivity.linf, tuple(columns))


def _column(dataset: Dataset, table: Table, name: str, kind: Column) -> ColumnFacts:
    column, source, unit = quoted(name), quoted(table.name), quoted(dataset.unit)
    total = _plan(dataset, f"SELECT SUM({column}) FROM {source}")
    groups = _plan(
        dataset, f"SELECT {column}, COUNT(DISTINCT {unit}) FROM {source} GROUP BY {column}"
    )
    moves = None if total is None else Fraction(total.sensitivity.linf, 10**kind.digits)
    if groups is None:
        return ColumnFacts(name, kind, moves, None, None)
    return ColumnFacts(name, kind, moves, groups.size, groups.sensitivity.l0)


def _plan(dataset: Dataset, sql: str) -> Plan | None:
    """What the question comes to, or None where it is refused."""
    try:
        return parse(sql, dataset)
    except QueryRefused:
        return None


def _advice(found: TableFacts) -> Iterator[Advice]:
    table = found.table
    where = f"tables.{table.name}"
    if found.count_moves > _MANY_ROWS:
        yield Advice(
            f"{where}.rows_per_unit",
            f"one unit moves COUNT(*) by {found.count_moves:,}, and its noise is larger by that: "
            "declare how many rows a usual unit has, even if a few have more",
        )
    declared = {name for keys in table.key_sets for name in keys.columns}
    for column in found.columns:
        place = f"{where}.columns.{column.name}"
        kind = column.kind
        if isinstance(kind, Category):
            yield from _category_advice(place, column, kind, column.name in declared)
        elif not isinstance(kind, Day):
            yield from _sum_advice(place, column)


def _sum_advice(place: str, column: ColumnFacts) -> Iterator[Advice]:
    remedy = "narrow the bounds, or declare fewer rows of a unit"
    if column.sum_moves is None:
        yield Advice(
            place,
            f"one unit could move SUM by more than {LARGEST_SENSITIVITY:,} units of the last digit, "
            f"so it is refused without CLAMP: {remedy}",
        )
    elif column.sum_moves * 10**column.kind.digits > _WIDE:
        yield Advice(
            place,
            f"one unit moves SUM by {column.sum_moves.numerator // column.sum_moves.denominator:,}, "
            f"and its noise is as large: {remedy}",
        )


def _category_advice(
    place: str, column: ColumnFacts, kind: Category, declared: bool
) -> Iterator[Advice]:
    if kind.unknown_code is None:
        yield Advice(
            place,
            "rows with a text that is not listed are dropped: list one for all others, and name it "
            'as unknown = "..." if they are to count',
        )
    if column.keys is None:
        yield Advice(
            place, f"GROUP BY has {MOST_KEYS:,} keys at most, and these are more: list some"
        )
    elif column.keys_of_unit is not None and column.keys_of_unit > 1 and not declared:
        yield Advice(
            place,
            f"in GROUP BY one unit counts for up to {column.keys_of_unit:,} of the {column.keys:,} "
            f'groups: if fewer will do, declare key_sets = [{{ columns = ["{column.name}"], '
            "keys_per_unit = ... }]",
        )
