"""What the differential tests share: registering small rows, reading back the secret order in
which they count, and comparing tables of answers. Nothing is tested here.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from interlace.core.queries import Sensitivity
from interlace.engines.base import Snapshot
from interlace.engines.duckdb.register import register
from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer
from interlace.query.schema import Dataset, Table
from tests.differential.evaluator import Answer, Data, Near, Root, Stored, Within
from tests.differential.meaning import Values
from tests.differential.syntax import Value

KEY = b"the key of these tests"
#: Rows of a table of units: each with the unit's number and the columns' values.
Rows = Sequence[tuple[int, Values]]


def keyed(unit: int) -> int:
    """The stored id of a unit: 64 bits of SHA-256(key : id)."""
    digest = hashlib.sha256(f"{KEY.hex()}:{unit}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


def sources_of(
    dataset: Dataset, rows: Mapping[str, Rows], public: Mapping[str, Sequence[Values]]
) -> dict[str, Any]:
    """The rows as tables of Arrow, each of its column's own type."""
    sources = {
        table.name: _arrow(
            [{dataset.unit: unit, **values} for unit, values in rows[table.name]],
            [(dataset.unit, pa.int64()), *_fields(table.columns)],
        )
        for table in dataset.tables
    }
    for known in dataset.public:
        given = [dict(row) for row in public[known.name]]
        sources[known.name] = _arrow(given, _fields(known.columns))
    return sources


def snapshot_of(
    dataset: Dataset,
    rows: Mapping[str, Rows],
    public: Mapping[str, Sequence[Values]],
    folder: Path,
) -> Snapshot:
    """Registers the rows, without a rule of the declaration being needed."""
    return register(sources_of(dataset, rows, public), dataset, folder, KEY).snapshot


def _fields(columns: Sequence[tuple[str, Column]]) -> list[tuple[str, Any]]:
    return [(name, _arrow_type(kind)) for name, kind in columns]


def _arrow_type(kind: Column) -> Any:
    match kind:
        case Integer():
            return pa.int64()
        case Decimal():
            return pa.decimal128(30, kind.digits)
        case Category():
            return pa.string()
        case Day():
            return pa.date32()
    return pa.bool_()


def _arrow(rows: list[dict[str, Any]], fields: list[tuple[str, Any]]) -> Any:
    columns = [pa.array([_plain(row[name], kind) for row in rows], kind) for name, kind in fields]
    return pa.Table.from_arrays(columns, names=[name for name, _ in fields])


def _plain(value: Any, kind: Any) -> Any:
    if not isinstance(value, Fraction):
        return value
    if not pa.types.is_decimal(kind):
        return int(value)
    return decimal.Decimal(int(value * 10**kind.scale)).scaleb(-kind.scale)


def data_of(
    snapshot: Snapshot, rows: Mapping[str, Rows], public: Mapping[str, Sequence[Values]]
) -> Data:
    """The rows with their ranks, as they stand in the snapshot; fails unless they are exactly the
    registered ones, and the ranks such as docs/queries.md says."""
    found = {}
    with duckdb.connect(str(snapshot.path), read_only=True) as connection:
        for place, table in enumerate(snapshot.dataset.tables):
            cursor = connection.execute(f"SELECT * FROM t{place}")
            names = [item[0] for item in cursor.description or ()]
            stored = [
                _stored(dict(zip(names, row, strict=True)), table) for row in cursor.fetchall()
            ]
            expected = [(keyed(unit), values) for unit, values in rows[table.name]]
            assert Counter((row.unit, _frozen(row.values)) for row in stored) == Counter(
                (unit, _frozen(values)) for unit, values in expected
            )
            _check_ranks(stored, table)
            found[table.name] = stored
    return Data(found, public)


def _frozen(values: Values) -> tuple[tuple[str, Value], ...]:
    return tuple(sorted(values.items()))


def _stored(row: Mapping[str, int], table: Table) -> Stored:
    values = {
        name: decoded(kind, row[f"c{place}"]) for place, (name, kind) in enumerate(table.columns)
    }
    ranks = tuple(row[f"k{place}"] for place in range(len(table.key_sets)))
    return Stored(row["unit"], values, row["rank"] if table.rows_per_unit > 1 else 1, ranks)


def _check_ranks(stored: Sequence[Stored], table: Table) -> None:
    for unit in {row.unit for row in stored}:
        own = [row for row in stored if row.unit == unit]
        assert sorted(row.rank for row in own) == [*range(1, len(own) + 1)]
        for place, keys in enumerate(table.key_sets):
            numbered = {
                (row.key_ranks[place], *(row.values[name] for name in keys.columns)) for row in own
            }
            assert sorted(item[0] for item in numbered) == [*range(1, len(numbered) + 1)]


def decoded(kind: Column, code: int) -> Value:
    match kind:
        case Boolean():
            return code == 1
        case Category(values):
            return values[code]
        case Day():
            return datetime.date(1970, 1, 1) + datetime.timedelta(code)
        case Integer():
            return Fraction(code)
    return Fraction(code, 10**kind.digits)


def limits(sensitivity: Sensitivity) -> tuple[int, int, int, int]:
    return sensitivity.l0, sensitivity.l1, sensitivity.l2_squared, sensitivity.linf


def exact(cell: Any) -> Value:
    """A key as the evaluator knows it."""
    number = isinstance(cell, int | decimal.Decimal) and not isinstance(cell, bool)
    value: Value = Fraction(cell) if number else cell
    return value


def check_table(got: Sequence[Mapping[str, Any]], wanted: Sequence[Mapping[str, Answer]]) -> None:
    """Fails unless the tables are the same, row by row and in order."""
    names = [*wanted[0]] if wanted else []
    shown = [[row[name] for name in names] for row in got]
    assert len(got) == len(wanted), (len(got), len(wanted), shown)
    for row, expected in zip(shown, wanted, strict=True):
        for cell, answer in zip(row, expected.values(), strict=True):
            assert agrees(cell, answer), (cell, answer, row, expected)


#: A mean is told to 4 decimals more than its numbers have, and so is a root.
HALF_A_STEP, A_STEP = Fraction(1, 2 * 10**4), Fraction(1, 10**4)


def agrees(cell: Any, answer: Answer) -> bool:
    """Whether what was answered is the exact answer; a quotient or root to 4 decimals."""
    match answer:
        case bool() | str() | datetime.date():
            return type(cell) is type(answer) and bool(cell == answer)
        case Within(lower, upper):
            return bool(lower <= cell <= upper)
        case Near(value):
            return abs(Fraction(cell) - value) <= HALF_A_STEP
        case Root(square):
            return math.isclose(cell, math.sqrt(square), rel_tol=1e-12, abs_tol=float(A_STEP))
    return not isinstance(cell, bool) and bool(cell == answer)
