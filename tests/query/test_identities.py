"""The text of a plan is its identity: it is a query that means the plan, and so do no two plans."""

from __future__ import annotations

import pytest

from interlace.core.errors import QueryRefused
from interlace.query.columns import Boolean, Decimal, Integer
from interlace.query.parse import parse
from interlace.query.schema import Dataset, Table
from tests.query.support import CLINIC, same

#: Conditions that the public bounds decide, where an expression stands.
DECIDED = [
    "SELECT SUM(1 = 1) FROM labs",
    "SELECT SUM(value >= -5), SUM(value < -5) FROM labs",
    "SELECT AVG(NOT value >= -5) FROM labs WHERE male = (value >= -5)",
    "SELECT SUM(CASE WHEN male THEN (value >= -5) ELSE (value < -5) END) FROM labs",
    "SELECT CASE WHEN male THEN (value >= -5) ELSE male END AS k, COUNT(*) FROM labs GROUP BY k",
    "SELECT COUNT(*) FROM labs WHERE (value >= -5) = (test = 'hdl') AND (1 = 2) <> male",
]


@pytest.mark.parametrize("sql", DECIDED)
def test_a_decided_condition_is_a_constant(sql: str) -> None:
    plan = parse(sql, CLINIC)
    assert same(plan, parse(plan.text, CLINIC))
    assert "None" not in plan.text


def test_a_decided_condition_is_no_key() -> None:
    with pytest.raises(QueryRefused, match="constant"):
        parse("SELECT COUNT(*) FROM labs GROUP BY value >= -5", CLINIC)


@pytest.mark.parametrize("name", ["VAR", "VAR_POP", "STDDEV", "STDDEV_POP", "VARIANCE"])
def test_squares_of_too_many_decimals_are_refused(name: str) -> None:
    fine = Decimal("-0.00000001", "0.00000001", 8)
    table = Table("t", {"fine": fine, "n": Integer(0, 9), "b": Boolean()}, rows_per_unit=2)
    dataset = Dataset("d", "id", (table,))
    for of in ("fine", "n * 0.000000000000001", "1e-15", "CASE WHEN b THEN fine ELSE 0 END"):
        with pytest.raises(QueryRefused, match="decimals"):
            parse(f"SELECT {name}({of}) FROM t", dataset)


@pytest.mark.parametrize(
    ("item", "key"),
    [("MEDIAN(value)", "date"), ("QUANTILE(value, 0.9)", "date"), ("STDDEV(value)", "value"),
     ("AVG(value)", "value")],
)  # fmt: skip
def test_what_items_are_made_of_is_limited(item: str, key: str) -> None:
    """It is made after the draw: 600 quantiles in four groups took a minute and a half."""
    few, many = (", ".join(f"{item} AS a{i}" for i in range(count)) for count in (8, 400))
    parse(f"SELECT {few} FROM labs GROUP BY {key}", CLINIC)
    with pytest.raises(QueryRefused, match="fewer items"):
        parse(f"SELECT {many} FROM labs GROUP BY {key}", CLINIC)
