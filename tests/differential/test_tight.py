"""What is stated of a query is attained: a unit with suitable rows moves the cells by all of L0,
by all of L1, by all of L2^2 and by all of Linf. The numbers are worked out by hand.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.query.columns import Boolean, Category, Decimal, Integer
from interlace.query.parse import parse
from interlace.query.schema import Dataset, KeySet, PublicTable, Table
from tests.differential.meaning import Values
from tests.differential.stated import Bounds, moved
from tests.differential.support import Rows, limits, snapshot_of

LABS = ("a", "b", "c", "d")
DATASET = Dataset(
    "clinic",
    "id",
    (
        Table("people", {"age": Integer(0, 9), "male": Boolean()}),
        Table(
            "labs",
            {"lab": Category(LABS), "value": Integer(-5, 10), "price": Decimal(0, "2.5", 2)},
            rows_per_unit=3,
            key_sets=[KeySet(("lab", "value"), 3)],
        ),
        Table(
            "visits",
            {"ward": Integer(1, 5), "days": Integer(1, 4)},
            rows_per_unit=4,
            key_sets=[KeySet(("ward",), 2)],
        ),
    ),
    (PublicTable("wards", "ward", {"ward": Integer(1, 5), "beds": Integer(0, 9)}),),
)
WARDS: list[Values] = [
    {"ward": Fraction(ward), "beds": Fraction(10 - ward)} for ward in range(1, 6)
]

#: What one unit moves at most: L0, L1, L2^2, Linf of each part. R is 3 for labs and 4 for visits.
STATED: list[tuple[str, list[Bounds]]] = [
    ("SELECT COUNT(*) FROM people", [(1, 1, 1, 1)]),
    ("SELECT COUNT(DISTINCT id) FROM labs", [(1, 1, 1, 1)]),
    ("SELECT COUNT(*) FROM labs", [(1, 3, 9, 3)]),
    ("SELECT SUM(value) FROM labs", [(1, 30, 900, 30)]),
    ("SELECT SUM(-value) FROM labs", [(1, 30, 900, 30)]),
    ("SELECT SUM(price) FROM labs", [(1, 750, 562500, 750)]),
    ("SELECT SUM(price * value) FROM labs", [(1, 7500, 56250000, 7500)]),
    ("SELECT COUNT(*), SUM(value) FROM labs", [(1, 3, 9, 3), (1, 30, 900, 30)]),
    ("SELECT AVG(value) FROM labs", [(1, 24, 576, 24), (1, 3, 9, 3)]),
    ("SELECT SUM(CLAMP(value, -5, 4)) FROM labs", [(1, 15, 225, 15)]),
    ("SELECT SUM(CASE WHEN lab = 'a' THEN value ELSE 0 END) FROM labs", [(1, 30, 900, 30)]),
    ("SELECT CLAMP(COUNT(*), 0, 2) FROM labs", [(1, 2, 4, 2)]),
    ("SELECT CLAMP(SUM(value), -4, 7) FROM labs", [(1, 7, 49, 7)]),
    ("SELECT COUNT(*) FROM labs GROUP BY lab", [(3, 3, 9, 3)]),
    ("SELECT COUNT(DISTINCT id) FROM labs GROUP BY lab", [(3, 3, 3, 1)]),
    ("SELECT SUM(value) FROM labs GROUP BY lab", [(3, 30, 900, 30)]),
    ("SELECT CLAMP(COUNT(*), 0, 1) FROM labs GROUP BY lab", [(3, 3, 3, 1)]),
    ("SELECT CLAMP(COUNT(*), 0, 2) FROM labs GROUP BY lab", [(3, 3, 5, 2)]),
    ("SELECT CLAMP(SUM(value), -4, 7) FROM labs GROUP BY lab", [(3, 21, 147, 7)]),
    ("SELECT CLAMP(SUM(value), 0, 20) FROM labs GROUP BY lab", [(3, 30, 500, 20)]),
    ("SELECT COUNT(*) FROM labs WHERE lab IN ('a', 'b') GROUP BY lab", [(2, 3, 9, 3)]),
    ("SELECT MEDIAN(price) FROM labs", [(3, 3, 9, 3)]),
    ("SELECT COUNT(*) FROM labs GROUP BY BUCKET(value, 8)", [(3, 3, 9, 3)]),
    ("SELECT COUNT(*) FROM visits GROUP BY ward", [(2, 4, 16, 4)]),
    ("SELECT COUNT(DISTINCT id) FROM visits GROUP BY ward", [(2, 2, 2, 1)]),
    ("SELECT CLAMP(COUNT(*), 0, 1) FROM visits GROUP BY ward", [(2, 2, 2, 1)]),
    ("SELECT SUM(days) FROM visits GROUP BY ward", [(2, 16, 256, 16)]),
    ("SELECT COUNT(*) FROM visits GROUP BY ward, days", [(4, 4, 16, 4)]),
    ("SELECT COUNT(DISTINCT id) FROM visits JOIN wards USING (ward) GROUP BY beds", [(2, 2, 2, 1)]),
    ("SELECT SUM(beds) FROM visits JOIN wards USING (ward)", [(1, 36, 1296, 36)]),
    ("SELECT COUNT(*) FROM labs JOIN visits USING (id)", [(1, 12, 144, 12)]),
    ("SELECT SUM(value * days) FROM labs JOIN visits USING (id)", [(1, 480, 230400, 480)]),
    ("SELECT COUNT(*) FROM labs JOIN visits USING (id) GROUP BY lab, days", [(12, 12, 144, 12)]),
    ("SELECT COUNT(*) FROM labs JOIN people USING (id)", [(1, 3, 9, 3)]),
]


def _labs(*rows: tuple[str, int, str]) -> Rows:
    return [(1, {"lab": a, "value": Fraction(b), "price": Fraction(c)}) for a, b, c in rows]


def _visits(*rows: tuple[int, int]) -> Rows:
    return [(1, {"ward": Fraction(ward), "days": Fraction(days)}) for ward, days in rows]


#: Of one unit: rows that are all alike, or all different, or two of three alike.
WORLDS: list[dict[str, Rows]] = [
    {"labs": _labs(*[("a", 10, "2.5")] * 5), "visits": _visits(*[(1, 4)] * 6)},
    {"labs": _labs(*[("a", -5, "2.5")] * 5), "visits": _visits(*[(1, 1)] * 6)},
    {
        "labs": _labs(("a", 10, "2.5"), ("b", 10, "1"), ("c", 10, "0")),
        "visits": _visits((1, 1), (2, 2), (1, 3), (2, 4)),
    },
    {
        "labs": _labs(("a", -5, "2.5"), ("b", 2, "1"), ("c", 9, "0")),
        "visits": _visits((1, 1), (2, 2), (1, 3), (2, 4)),
    },
    {"labs": _labs(*[("a", 10, "2.5")] * 2, ("b", 10, "2.5")), "visits": []},
]
PERSON: Rows = [(1, {"age": Fraction(3), "male": True})]


@contextmanager
def _engine(rows: dict[str, Rows]) -> Iterator[DuckDBEngine]:
    with tempfile.TemporaryDirectory() as folder:
        snapshot = snapshot_of(DATASET, rows, {"wards": WARDS}, Path(folder))
        engine = DuckDBEngine(snapshot, threads=1)
        yield engine
        engine.close()


@pytest.fixture(scope="module")
def engines() -> Iterator[Sequence[DuckDBEngine]]:
    """One for each world; without the unit there is nothing, and every cell is 0."""
    with ExitStack() as stack:
        yield [stack.enter_context(_engine({"people": PERSON, **rows})) for rows in WORLDS]


@pytest.mark.parametrize(("sql", "expected"), STATED)
def test_all_that_is_stated_is_attained(
    sql: str, expected: list[Bounds], engines: Sequence[DuckDBEngine]
) -> None:
    plan = parse(sql, DATASET)
    assert [limits(part.sensitivity) for part in plan.parts] == expected
    found: list[Bounds] = [(0, 0, 0, 0)] * len(plan.parts)
    for engine in engines:
        values, start = engine.read(plan), 0
        for place, part in enumerate(plan.parts):
            cells = values[start : start + part.size]
            pairs = zip(found[place], moved(cells, [0] * part.size), strict=True)
            l0, l1, l2_squared, linf = (max(pair) for pair in pairs)
            found[place] = l0, l1, l2_squared, linf
            start += part.size
    assert found == expected
