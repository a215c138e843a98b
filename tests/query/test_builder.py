"""The builder writes SQL that means what its methods say: compared with hand-written queries."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from interlace import sql
from interlace.core.errors import ParameterError
from interlace.query.columns import Boolean, Category, Day, Integer
from interlace.query.columns import Decimal as DecimalColumn
from interlace.query.parse import parse
from interlace.query.schema import Dataset, PublicTable, Table

LABS = ["hdl", "o'neil"]
CLINIC = Dataset(
    "clinic",
    "id",
    (
        Table("people", {"age": Integer(0, 120), "male": Boolean()}),
        Table(
            "labs",
            {
                "lab": Category(LABS),
                "value": DecimalColumn(0, 500, 2),
                "day": Day("2019-01-01", "2020-12-31"),
            },
            rows_per_unit=60,
        ),
    ),
    (PublicTable("names", "lab", {"lab": Category(LABS), "group": Integer(1, 3)}),),
)
AGE, MALE, LAB, VALUE, DAY = map(sql.col, ("age", "male", "lab", "value", "day"))
NEW_YEAR = datetime.date(2020, 1, 1)


@pytest.mark.parametrize(
    ("built", "text"),
    [
        (sql.table("people").select(sql.count()), "SELECT COUNT(*) FROM people"),
        (
            sql.table("people")
            .where(AGE > 3)
            .where(MALE | (AGE * 2 - 1 <= 7))
            .select(sql.units("id")),
            "SELECT COUNT(DISTINCT id) FROM people WHERE age > 3 AND (male OR age * 2 - 1 <= 7)",
        ),
        (
            sql.table("labs")
            .where(~LAB.isin("hdl", "o'neil") | (LAB == "o'neil"))
            .select(sql.count()),
            "SELECT COUNT(*) FROM labs WHERE lab NOT IN ('hdl', 'o''neil') OR lab = 'o''neil'",
        ),
        (
            sql.table("labs")
            .where(DAY.between(NEW_YEAR, "2020-02-01") & (sql.col("value") != Decimal("1.50")))
            .select(total=sql.sum_(VALUE + 0.25), mean=sql.avg("value")),
            "SELECT SUM(value + 0.25) AS total, AVG(value) AS mean FROM labs "
            "WHERE day BETWEEN DATE '2020-01-01' AND DATE '2020-02-01' AND value <> 1.5",
        ),
        (
            sql.table("labs")
            .join("people", using="id")
            .join("names", on=sql.col("lab", "labs") == sql.col("lab", "names"))
            .group_by("group", DAY.trunc("month"))
            .select(n=sql.count(), v=sql.variance("value"), s=sql.stddev("value", sample=True)),
            "SELECT COUNT(*) AS n, VAR_POP(value) AS v, STDDEV(value) AS s FROM labs "
            "JOIN people USING (id) JOIN names ON labs.lab = names.lab "
            "GROUP BY \"group\", DATE_TRUNC('month', day)",
        ),
        (
            sql.table("people")
            .group_by(sql.case((AGE < 18, "child"), otherwise="adult"))
            .select(sql.sum_(1 - abs(-AGE)).clamp(-5, Fraction(5, 1))),
            "SELECT CLAMP(SUM(1 - ABS(-age)), -5, 5) FROM people "
            "GROUP BY CASE WHEN age < 18 THEN 'child' ELSE 'adult' END",
        ),
        (
            sql.table("labs").select(
                q=sql.quantile(VALUE.clamp(0, 100).bucket(5), Fraction(1, 4)),
                w=sql.sum_(DAY.part("isodow")),
                b=sql.sum_(2 * VALUE.bucket(5, 1) + 1),
            ),
            "SELECT QUANTILE(BUCKET(CLAMP(value, 0, 100), 5), 0.25) AS q, SUM(ISODOW(day)) AS w, "
            "SUM(2 * BUCKET(value, 5, 1) + 1) AS b FROM labs",
        ),
    ],
)
def test_what_is_built_is_what_is_meant(built: sql.Select, text: str) -> None:
    ours, theirs = parse(built.sql, CLINIC), parse(text, CLINIC)
    assert ours.text == theirs.text
    assert ours.parts == theirs.parts


def test_names_are_taken_exactly() -> None:
    assert sql.table("labs").select(**{"the count": sql.count()}).sql == (
        'SELECT COUNT(*) AS "the count" FROM "labs"'
    )
    with pytest.raises(ParameterError, match=r"^name: "):
        sql.col('a"b')


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), Decimal("NaN"), Decimal("1E+999999999"), Decimal("-1E-999999999"),
     Fraction(1, 3), None, b"x", NEW_YEAR.ctime],
)  # fmt: skip
def test_what_is_no_constant_is_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^value: "):
        sql.written(value)


def test_the_negative_of_a_negative_is_no_comment() -> None:
    built = sql.table("people").where(-sql.written(-5) < AGE).select(sql.count())
    assert parse(built.sql, CLINIC).text == 'SELECT COUNT(*) FROM "people" WHERE "age" >= 6'


def test_a_condition_is_not_true_or_false() -> None:
    with pytest.raises(TypeError, match="combine with &"):
        bool(AGE > 3)


def test_a_query_selects_something_and_joins_by_one_thing() -> None:
    with pytest.raises(ParameterError, match=r"^items: "):
        _ = sql.table("labs").sql
    with pytest.raises(ParameterError, match=r"^using: "):
        sql.table("labs").join("people")
