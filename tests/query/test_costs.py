"""No accepted or refused text costs much: nested and long ones are read, written and rewritten in a
time that grows with their length, and far from the depth at which Python gives up."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest

from interlace.core.errors import QueryRefused
from interlace.query.columns import Integer
from interlace.query.parse import parse
from interlace.query.plan import Plan
from interlace.query.rewrite import rewrite
from interlace.query.schema import Dataset, Table
from tests.query.support import CLINIC, HOSPITAL, same

COUNT = "SELECT COUNT(*) FROM labs WHERE"
#: Of this thread's own time. Twice what the slowest takes on a slow machine; what grew
#: exponentially took minutes.
MOST_SECONDS = 3.0
#: Frames beyond those of the test itself; Python allows 1,000 in all.
MOST_FRAMES = 750


def _nested(opened: str, inner: str, closed: str, depth: int = 16) -> str:
    return opened * depth + inner + closed * depth


NESTED = [
    ("YEAR(", "seen", ")"),
    ("DATE_TRUNC('year', ", "seen", ")"),
    ("DATE_TRUNC('week', ", "seen", ")"),
    ("EXTRACT(YEAR FROM ", "seen", ")"),
    ("DATE_PART('year', ", "seen", ")"),
    ("CLAMP(", "value", ", 0, 5)"),
    ("CLAMP(1, 0, ", "5", ")"),
    ("BUCKET(", "value", ", 5)"),
    ("BUCKET(5, ", "5", ")"),
    ("BUCKET(", "seen", ", 5)"),
    ("ABS(", "value", ")"),
    ("ABS(- ", "value", ")"),
    ("VAR(", "value", ")"),
    ("SUM(", "value", ")"),
    ("COUNT(", "value", ")"),
    ("QUANTILE(", "value", ", 0.5)"),
    ("MEDIAN(", "value", ")"),
    ("(", "value", ")"),
    ("1 + (", "value", ")"),
    ("(value + ", "value", ")"),
    ("1 = (", "1", ")"),
    ("TRUE = (", "male", ")"),
    ("(male = ", "male", ")"),
    ("NOT (", "male", ")"),
    ("male AND (", "male", ")"),
    ("male OR NOT (", "value = 1", ")"),
    ("value IN (", "1", ")"),
    ("DATE (", "1", ")"),
    ("CASE WHEN male THEN ", "1", " ELSE 0 END"),
    ("CASE WHEN male THEN 0 ELSE ", "1", " END"),
    ("CASE WHEN 1 = ", "value", " THEN 1 ELSE 0 END"),
    ("CASE WHEN ", "value", " = 1 THEN 1 ELSE 0 END"),
    ("CASE WHEN value = ", "value", " THEN 1 ELSE 0 END"),
    ("CASE WHEN ", "value", " <> 5 THEN 1 ELSE 9 END"),
    ("CASE WHEN male AND ", "value", " <> 5 THEN 1 ELSE 9 END"),
    ("CASE WHEN ", "value", " NOT BETWEEN 1 AND 5 THEN 1 ELSE 9 END"),
    ("CASE WHEN NOT ", "male", " THEN TRUE ELSE FALSE END"),
    ("CASE WHEN 1 IN (", "1", ") THEN 1 ELSE 0 END"),
    ("CASE WHEN TRUE = ", "male", " THEN TRUE ELSE FALSE END"),
]


def _read(sql: str, dataset: Dataset = CLINIC) -> Plan | None:
    """The plan; None if it is refused. Fails if that takes long, or if its text is another's."""
    began = time.thread_time()
    try:
        plan = parse(sql, dataset)
    except QueryRefused:
        return None
    else:
        assert rewrite(plan, "duckdb")
        assert same(parse(plan.text, dataset), plan)
        assert repr(plan.where)
        return plan
    finally:
        assert time.thread_time() - began < MOST_SECONDS


@pytest.mark.parametrize("depth", [6, 16])
@pytest.mark.parametrize("parts", NESTED)
def test_nesting_costs_little(parts: tuple[str, str, str], depth: int) -> None:
    text = _nested(*parts, depth=depth)
    for sql in (
        f"SELECT {text} FROM labs",
        f"SELECT SUM({text}) FROM labs",
        f"{COUNT} {text}",
        f"{COUNT} {text} = 1",
        f"{COUNT} male AND NOT {text} = 1 OR value = 3",
        f"SELECT COUNT(*) FROM labs GROUP BY {text}",
    ):
        _read(sql)


@pytest.fixture
def shallow() -> Iterator[None]:
    """As few frames as are promised to be enough."""
    before, depth, frame = sys.getrecursionlimit(), 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    sys.setrecursionlimit(depth + MOST_FRAMES)
    yield
    sys.setrecursionlimit(before)


CHAIN = "value" + " + value" * 60
DEEP = [
    f"SELECT SUM({CHAIN} + price * 2) FROM labs",
    f"SELECT SUM({' * '.join(['CLAMP(value, 0, 1)'] * 65)}) FROM labs",
    f"SELECT SUM({_nested('CASE WHEN male THEN ', CHAIN, ' ELSE 0 END', 15)}) FROM labs",
    f"{COUNT} {_nested('CASE WHEN ', f'{CHAIN} = 1', ' THEN TRUE ELSE FALSE END', 15)}",
    f"SELECT SUM({_nested('BUCKET(', CHAIN, ', 5)', 15)}) FROM labs",
    f"{COUNT} {_nested('CLAMP(', CHAIN, ', 0, 5)')} = 1",
    f"{COUNT} {_nested('(male = ', f'({CHAIN} = 2)', ')', 15)}",
    f"{COUNT} {_nested('ABS(- ', 'value' + ' + value' * 45, ')', 15)} = 1",
    f"{COUNT} {_nested('DATE_TRUNC(' + chr(39) + 'week' + chr(39) + ', ', 'seen', ')')} = '2020-01-06'",
]  # fmt: skip


@pytest.mark.parametrize("sql", DEEP)
@pytest.mark.usefixtures("shallow")
def test_the_deepest_are_far_from_too_deep(sql: str) -> None:
    assert _read(sql) is not None


LONG = [
    f"SELECT SUM(CASE {' '.join(f'WHEN value = {i % 500} THEN {i}' for i in range(650))} ELSE 0 END) "
    "FROM labs",
    f"SELECT COUNT(*) FROM labs GROUP BY CASE {'WHEN male THEN 1 ' * 900}ELSE 0 END",
    f"{COUNT} {' OR '.join(f'(value = {n} AND huge = {n})' for n in range(380))}",
    f"{COUNT} {' AND '.join(f'value + {n % 9} <> {n}' for n in range(60))}",
    f"{COUNT} male = {' = '.join(['male'] * 1500)}",
    f"{COUNT} {' IN (TRUE) '.join(['male'] + [''] * 900)}",
    f"{COUNT} value{' BETWEEN 1 AND 2' * 1000}",
    f"{COUNT} {' AND '.join(['(((((((((((((((1 = (1))))))))))))))))'] * 120)}",
    f"{COUNT} labs{'.labs' * 2000} = 1",
    "SELECT " + ", ".join(f"VAR_POP(BUCKET(value, {i})) AS n{i}" for i in range(1, 380)) + " FROM labs",
    "SELECT " + ", ".join(f"QUANTILE(value, 0.{i}) AS n{i}" for i in range(1, 500)) + " FROM labs",
    "SELECT " + ", ".join(f"COUNT(*) AS n{i}" for i in range(600)) + " FROM labs",
    "SELECT COUNT(*) FROM labs GROUP BY " + ", ".join(f"BUCKET(value, {i})" for i in range(1, 650)),
    "SELECT COUNT(*) FROM labs " + "JOIN people USING (id) " * 500,
    "SELECT COUNT(*) FROM labs JOIN people USING (" + ", ".join(["id"] * 2000) + ")",
    "SELECT COUNT(*) FROM labs JOIN people ON " + " AND ".join(["labs.id = people.id"] * 600),
    f"SELECT SUM({' * '.join(['1e99'] * 60)}) FROM labs",
    f"{COUNT} value < {' * '.join(['1e99'] * 60)}",
]  # fmt: skip


@pytest.mark.parametrize("place", range(len(LONG)))
def test_length_costs_little(place: int) -> None:
    _read(LONG[place])


def test_rows_of_a_unit_without_end_are_refused_soon() -> None:
    tables = [Table(f"t{i}", {f"x{i}": Integer(0, 99)}, rows_per_unit=10**6) for i in range(4)]
    joins = " ".join(f"JOIN t{i} USING (id)" for i in range(1, 4))
    dataset = Dataset("d", "id", tuple(tables))
    for item in ("COUNT(*)", "VAR_POP(x0)", "STDDEV(x3)", "MEDIAN(x0)", "AVG(x1)"):
        with pytest.raises(QueryRefused, match="one unit could move"):
            parse(f"SELECT {item} FROM t0 {joins}", dataset)


def test_a_bucket_at_the_ends_of_64_bits_is_refused() -> None:
    wide = Dataset("d", "id", (Table("t", {"x": Integer(-(2**62), 2**62)}),))
    for width in (1, 3, 2**62):
        with pytest.raises(QueryRefused, match="CLAMP"):
            parse(f"SELECT COUNT(*) FROM t WHERE BUCKET(x, {width}) = 0", wide)
    assert parse("SELECT COUNT(*) FROM t WHERE BUCKET(ABS(x), 3) = 0", wide).size == 1


def test_joins_of_public_tables_cost_little() -> None:
    sql = "SELECT COUNT(*) FROM visits JOIN rooms USING (room) JOIN wards USING (ward)"
    assert _read(f"{sql} GROUP BY beds", HOSPITAL) is not None
    assert _read(f"{sql} WHERE {' AND '.join(['beds <> 3'] * 900)}", HOSPITAL) is not None
