"""Expressions at the ends of what is accepted: none overflows in the engine, nor on its way there."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.duckdb.register import register
from interlace.query.columns import Column, Day, Integer
from interlace.query.parse import parse
from interlace.query.schema import Dataset, Table

LARGEST = 2**62
COLUMNS: dict[str, Column] = {
    "low": Integer(-LARGEST, LARGEST),
    "high": Integer(-LARGEST, LARGEST),
    "small": Integer(0, 5),
    "always": Integer(7, 7),
    "first": Day("0001-01-01", "9999-12-31"),
    "last": Day("0001-01-01", "9999-12-31"),
}
SOURCE = pa.table(
    {
        "id": [1, 2],
        "low": [-LARGEST, -LARGEST],
        "high": [LARGEST, LARGEST],
        "small": [0, 5],
        "always": [7, 7],
        "first": ["0001-01-01", "0001-01-01"],
        "last": ["9999-12-31", "9999-12-31"],
    }
)
WIDE = Dataset("wide", "id", (Table("t", COLUMNS),))

#: Each holds for both rows; what is large in it would overflow if two constants met.
TRUE = [
    f"CLAMP(small, 0, 0) * {LARGEST} * {LARGEST} <= small",
    f"small + {LARGEST} * (BUCKET(small, {LARGEST}) * {LARGEST}) = small",
    f"BUCKET(always, {LARGEST}) + 0.000000000000001 * small < 1",
    f"BUCKET(ABS(last - first), {LARGEST}) * 1000000000 <= small",
    f"BUCKET(CLAMP(low, -{LARGEST}, 0), {LARGEST}) = -{LARGEST}",
    f"BUCKET(CLAMP(high, 0, {LARGEST}), {LARGEST}) = {LARGEST}",
    f"ABS(low) = {LARGEST}",
    f"CLAMP(low, -{LARGEST}, {LARGEST}) = -{LARGEST}",
    "YEAR(first) = 1 AND YEAR(last) = 9999",
    "DATE_TRUNC('week', first) = first AND DATE_TRUNC('week', last) = DATE '9999-12-27'",
    "DATE_TRUNC('quarter', first) = first AND DATE_TRUNC('month', last) = DATE '9999-12-01'",
    "ISODOW(first) = 1 AND ISODOW(last) = 5",
    "last - first = 3652058 AND first - last = -3652058",
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> DuckDBEngine:
    folder: Path = tmp_path_factory.mktemp("wide")
    made = register({"t": SOURCE}, WIDE, folder, b"the key of these tests")
    return DuckDBEngine(made.snapshot)


@pytest.mark.parametrize("condition", TRUE)
def test_what_is_accepted_does_not_overflow(engine: DuckDBEngine, condition: str) -> None:
    assert engine.read(parse(f"SELECT COUNT(*) FROM t WHERE {condition}", WIDE)) == (2,)


@pytest.mark.parametrize(
    ("sql", "cells"),
    [
        (f"SELECT SUM(BUCKET(always, {LARGEST}) * {LARGEST}) FROM t", (0,)),
        (f"SELECT SUM(CLAMP(small, 3, 3) - {LARGEST} + {LARGEST}) FROM t", (6,)),
        (f"SELECT BUCKET(small, {LARGEST}) AS k, COUNT(*) FROM t GROUP BY k", (2,)),
        ("SELECT MEDIAN(CLAMP(small, 3, 3)) FROM t", (2,)),
        ("SELECT always, SUM(always) FROM t GROUP BY always", (14,)),
    ],
)
def test_what_is_constant_is_added_up(
    engine: DuckDBEngine, sql: str, cells: tuple[int, ...]
) -> None:
    assert engine.read(parse(sql, WIDE)) == cells
