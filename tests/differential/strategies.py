"""Random small datasets, with rows, for the differential test. Nothing is tested here."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from hypothesis import strategies as st

from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer
from interlace.query.schema import Dataset, KeySet, PublicTable, Table
from tests.differential.meaning import Values
from tests.differential.support import Rows, decoded
from tests.differential.syntax import Value

FIRST = datetime.date(2019, 12, 20)
TEXTS = ("hdl", "chol", "it's")
UNITS = (1, 2, 3, 4, 5)
_LABEL = Category(TEXTS)
_FLAG = Boolean()


@dataclass(frozen=True)
class World:
    """A dataset, its rows, and the unit that leaves."""

    dataset: Dataset
    rows: Mapping[str, Rows]
    public: Mapping[str, Sequence[Values]]
    leaver: int

    def without_leaver(self) -> World:
        rows = {
            name: [row for row in rows if row[0] != self.leaver] for name, rows in self.rows.items()
        }
        return replace(self, rows=rows)


@st.composite
def _columns(draw: st.DrawFn, fewest: int = 2) -> dict[str, Column]:
    """Columns of a table, of names that other tables may have too."""
    low, high = sorted(draw(st.tuples(st.integers(-6, 6), st.integers(-6, 6))))
    start, length = draw(st.integers(0, 100)), draw(st.integers(0, 40))
    first = FIRST + datetime.timedelta(start)
    digits = draw(st.integers(0, 3))
    fine = draw(st.integers(0, 10**digits - 1))
    kinds: dict[str, Column] = {
        "amount": Integer(low, high),
        "Price": Decimal(low, high + Fraction(fine, 10**digits), digits),
        "test": _LABEL,
        "kind": Category(draw(st.permutations(["b", "a", "größe", "B"]))),
        "seen": Day(first, first + datetime.timedelta(length)),
        "male": _FLAG,
        "case no.": Integer(0, draw(st.integers(1, 3))),
    }
    names = draw(
        st.lists(st.sampled_from([*kinds]), min_size=fewest, max_size=len(kinds), unique=True)
    )
    return {name: kinds[name] for name in names}


def _values(columns: Sequence[tuple[str, Column]]) -> st.SearchStrategy[Values]:
    """Values of a row; often its bounds, where clamping bites."""
    return st.fixed_dictionaries({name: _value(kind) for name, kind in columns})


def _value(kind: Column) -> st.SearchStrategy[Value]:
    low, high = kind.codes
    codes = st.integers(low, high) | st.sampled_from([low, high])
    return codes.map(lambda code: decoded(kind, code))


@st.composite
def _tables(draw: st.DrawFn, name: str) -> Table:
    columns = draw(_columns())
    sets = draw(
        st.lists(
            st.lists(st.sampled_from([*columns]), min_size=1, max_size=2, unique=True).map(sorted),
            max_size=2,
            unique_by=tuple,
        )
    )
    key_sets = [KeySet(tuple(names), draw(st.sampled_from([1, 1, 2, 3]))) for names in sets]
    return Table(name, columns, draw(st.integers(1, 3)), key_sets)


@st.composite
def _public(draw: st.DrawFn, name: str, tables: Sequence[Table]) -> PublicTable:
    """A public table whose key is a column such as one of the tables of units has."""
    table = draw(st.sampled_from(tables))
    key, kind = draw(st.sampled_from(table.columns))
    others = {other: kind for other, kind in draw(_columns(1)).items() if other != key}
    return PublicTable(name, key, {key: kind, **others})


@st.composite
def worlds(draw: st.DrawFn) -> World:
    names = ["people", "Labs", "visits"][: draw(st.integers(1, 3))]
    tables = [draw(_tables(name)) for name in names]
    names = ["sites", "lab names"][: draw(st.sampled_from([0, 1, 1, 2]))]
    public = [draw(_public(name, tables)) for name in names]
    unit = draw(st.sampled_from(["id", "Person"]))
    dataset = Dataset("clinic", unit, tuple(tables), tuple(public))
    rows = {table.name: draw(_rows(table)) for table in tables}
    known = {table.name: draw(_known(table)) for table in public}
    return World(dataset, rows, known, draw(st.sampled_from(UNITS)))


def _known(table: PublicTable) -> st.SearchStrategy[list[Values]]:
    low, high = table.kind(table.key).codes
    row, size = _values(table.columns), high - low + 1
    return st.lists(
        row, min_size=min(size, 4), max_size=min(size, 12), unique_by=lambda row: row[table.key]
    )


@st.composite
def _rows(draw: st.DrawFn, table: Table) -> Rows:
    """Of some units, also more than rows_per_unit, but not where that is 1."""
    rows: list[tuple[int, Values]] = []
    for unit in UNITS:
        most = 1 if table.rows_per_unit == 1 else table.rows_per_unit + 2
        fewest = draw(st.sampled_from([0, 1, most]))
        own = draw(st.lists(_values(table.columns), min_size=fewest, max_size=most))
        rows += [(unit, values) for values in own]
    return draw(st.permutations(rows))
