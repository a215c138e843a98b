"""Queries by hand, on DuckDB through the plan and on DuckDB from the raw rows as SQL that the
analyst wrote; where no bound bites both give the same table.
"""

from __future__ import annotations

import datetime
import decimal
import itertools
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from interlace.core.errors import QueryRefused
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.query.parse import parse
from tests.differential.clinic import CLINIC, PUBLIC, ROWS
from tests.differential.queries import QUERIES
from tests.differential.support import A_STEP, snapshot_of, sources_of

MEDIAN = re.compile(r"MEDIAN\(((?:[^()]|\([^()]*\))*)\)")
TOTALS = re.compile(r"(?:COUNT|SUM)\((?:[^()]|\([^()]*\))*\) AS (\w+)")
MACROS = """
CREATE MACRO clamp(x, low, high) AS least(greatest(x, low), high);
CREATE MACRO bucket(x, width) AS floor(x / width) * width,
    (x, width, origin) AS origin + floor((x - origin) / width) * width;
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckDBEngine]:
    snapshot = snapshot_of(CLINIC, ROWS, PUBLIC, tmp_path_factory.mktemp("clinic"))
    engine = DuckDBEngine(snapshot, threads=1)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def peer() -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB of its own that holds the values themselves."""
    connection = duckdb.connect(config={"threads": 1})
    for name, rows in sources_of(CLINIC, ROWS, PUBLIC).items():
        assert isinstance(rows, pa.Table)
        connection.register(f"given_{name}", rows)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM given_{name}")
    connection.execute(MACROS)
    yield connection
    connection.close()


def test_there_are_many_and_no_bound_bites() -> None:
    assert len({sql for sql, _ in QUERIES}) == len(QUERIES) >= 180
    for table in CLINIC.tables:
        units = [unit for unit, _ in ROWS[table.name]]
        assert max(units.count(unit) for unit in units) <= table.rows_per_unit
        for keys in table.key_sets:
            for unit in units:
                found = {
                    tuple(values[name] for name in keys.columns)
                    for other, values in ROWS[table.name]
                    if other == unit
                }
                assert len(found) <= keys.keys_per_unit


@pytest.mark.parametrize("place", range(len(QUERIES)))
def test_the_answer_is_that_of_the_analysts_own_sql(
    place: int, engine: DuckDBEngine, peer: duckdb.DuckDBPyConnection
) -> None:
    sql, keys = QUERIES[place]
    plan = parse(sql, CLINIC)
    values = engine.read(plan)
    rows = plan.shape.table(values, [(value, value) for value in values]).rows
    key_names = [key.name for key in plan.shape.keys]
    found = _answered(sql, peer)
    # Every combination of keys has its row, in order.
    assert [tuple(row[name] for name in key_names) for row in rows] == list(
        itertools.product(*keys)
    )
    by_key = {tuple(row[name] for name in key_names): row for row in found}
    assert len(by_key) == len(found)
    for row in rows:
        other = by_key.pop(tuple(row[name] for name in key_names), None)
        _check(row, other, set(row) - {*key_names}, {*TOTALS.findall(sql)})
    assert by_key == {}
    assert engine.read(parse(plan.text, CLINIC)) == values


def _answered(sql: str, peer: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """DuckDB's own rows; its MEDIAN goes between values, and the language's never does."""
    cursor = peer.execute(MEDIAN.sub(r"QUANTILE_DISC(\1, 0.5)", sql))
    names = [item[0] for item in cursor.description or ()]
    return [dict(zip(names, map(_value, row), strict=True)) for row in cursor.fetchall()]


def _value(cell: Any) -> Any:
    if isinstance(cell, datetime.datetime):
        return cell.date()
    return Fraction(cell) if isinstance(cell, decimal.Decimal | float) else cell


def _check(
    row: Mapping[str, Any], other: Mapping[str, Any] | None, names: set[str], totals: set[str]
) -> None:
    """What no row adds to is 0 if it is a count or a sum, and anything within bounds if not."""
    for name in names:
        expected = None if other is None else other[name]
        if expected is None:
            assert name not in totals or row[name] == 0
        elif isinstance(expected, Fraction):  # DuckDB's own means and roots are floats
            assert abs(Fraction(row[name]) - expected) <= A_STEP + abs(expected) / 10**12, name
        else:
            assert row[name] == expected, name


@pytest.mark.parametrize(
    ("sql", "construct"),
    [
        ("SELECT lab, COUNT(*) AS n FROM labs GROUP BY lab, labs.lab", "key given twice"),
        ("SELECT lab AS a, COUNT(*) AS n FROM labs GROUP BY a, lab", "key given twice"),
        ("SELECT lab AS a, lab AS b, COUNT(*) AS n FROM labs GROUP BY lab", "key shown twice"),
        (
            "SELECT COUNT(*) AS n FROM labs JOIN names USING (lab) GROUP BY labs.lab, names.lab",
            "key given twice",
        ),
        ("SELECT CLAMP(SUM(value), 1, 9) AS s FROM labs", "CLAMP"),
        ("SELECT CLAMP(SUM(value), -9.5, 9) AS s FROM labs", "CLAMP"),
    ],
)
def test_what_has_two_readings_or_none_is_refused(sql: str, construct: str) -> None:
    with pytest.raises(QueryRefused) as refusal:
        parse(sql, CLINIC)
    assert refusal.value.construct == construct
