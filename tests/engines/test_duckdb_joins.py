"""Rows of one unit beyond its bounds are not multiplied in a join: what a query takes tells of no unit."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.duckdb.register import register
from interlace.query.columns import Integer
from interlace.query.explain import explain
from interlace.query.parse import parse
from interlace.query.rewrite import rewrite
from interlace.query.schema import Dataset, Table

LOTS = 40_000
TABLES = (
    Table("visits", {"x": Integer(1, 1)}, rows_per_unit=2),
    Table("labs", {"y": Integer(-3, -3)}, rows_per_unit=3),
    Table("people", {"z": Integer(2, 2)}),
)
CLINIC = Dataset("clinic", "id", TABLES)
JOINED = "FROM visits JOIN labs USING (id) JOIN people USING (id)"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> DuckDBEngine:
    """Of two units one has far more rows than its bounds, the other just as many as them."""
    folder: Path = tmp_path_factory.mktemp("joined")
    sources = {
        "visits": pa.table({"id": [1] * LOTS + [2] * 2, "x": [1] * (LOTS + 2)}),
        "labs": pa.table({"id": [1] * LOTS + [2] * 3, "y": [-3] * (LOTS + 3)}),
        "people": pa.table({"id": [1, 2], "z": [2, 2]}),
    }
    return DuckDBEngine(register(sources, CLINIC, folder, b"the key of these tests").snapshot)


@pytest.mark.parametrize(
    ("items", "cells"),
    [
        ("COUNT(*)", (12,)),
        ("SUM(x * y)", (-36,)),
        ("COUNT(DISTINCT id), SUM(z), COUNT(*)", (2, 24, 12)),
        ("CLAMP(SUM(y), -4, 0), CLAMP(COUNT(*), 0, 5)", (-8, 10)),
        ("COUNT(*), MEDIAN(x)", (12, 12)),
    ],
)
def test_rows_beyond_the_bounds_are_not_multiplied(
    engine: DuckDBEngine, items: str, cells: tuple[int, ...]
) -> None:
    plan = parse(f"SELECT {items} {JOINED}", CLINIC)
    for statement in rewrite(plan, "duckdb"):  # before they meet
        assert '"t0"."rank" <= 2' in statement.sql
        assert '"t1"."rank" <= 3' in statement.sql
    assert engine.read(plan) == cells


def test_one_table_of_many_rows_leaves_none_out(engine: DuckDBEngine) -> None:
    sql = "SELECT CLAMP(COUNT(*), 0, 2), SUM(z - 2 * x) FROM visits JOIN people USING (id)"
    assert engine.read(parse(sql, CLINIC)) == (4, 0)
    told = explain("SELECT COUNT(*) FROM labs JOIN people USING (id)", CLINIC)
    assert any("beyond the clamp" in line for line in told.bias)
    assert not any("left out" in line for line in told.bias)


def test_what_is_left_out_is_told() -> None:
    told = explain(f"SELECT COUNT(*) {JOINED}", CLINIC)
    assert "labs: a unit's rows beyond 3 are left out" in told.bias
    assert "visits: rows of rank 1 to 2 count" in told.bounded
    assert not any("clamp" in line for line in told.bias)
