"""What is accepted, and what it is taken to mean: the canonical text, written by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import QueryRefused
from interlace.core.queries import Plan, Sensitivity
from interlace.query.parse import parse
from tests.query.support import CLINIC

COUNT = "SELECT COUNT(*) FROM labs"

WHOLE = [
    ("SELECT COUNT(*) FROM labs", 'SELECT COUNT(*) FROM "labs"'),
    ("select count(*) as n from LABS;", 'SELECT COUNT(*) FROM "labs"'),
    ('SELECT COUNT(*) "the count" FROM "labs"', 'SELECT COUNT(*) FROM "labs"'),
    ("SELECT\n\tCOUNT ( * )\r\nFROM labs ;", 'SELECT COUNT(*) FROM "labs"'),
    ("SELECT COUNT(DISTINCT id) FROM labs", 'SELECT COUNT(DISTINCT "id") FROM "labs"'),
    ('SELECT COUNT(DISTINCT labs."id") FROM labs', 'SELECT COUNT(DISTINCT "id") FROM "labs"'),
    ("SELECT SUM(Value) FROM labs", 'SELECT SUM("value") FROM "labs"'),
    ("SELECT SUM(labs.price) FROM labs", 'SELECT SUM("price") FROM "labs"'),
    ("SELECT SUM(male) FROM labs", 'SELECT SUM("male") FROM "labs"'),
    ("SELECT SUM(date) FROM labs", 'SELECT SUM("date") FROM "labs"'),
    ("SELECT SUM(age) FROM people", 'SELECT SUM("age") FROM "people"'),
    ("SELECT COUNT(*) FROM labs WHERE FALSE", 'SELECT COUNT(*) FROM "labs" WHERE FALSE'),
    ("SELECT COUNT(*) FROM labs WHERE TRUE OR male", 'SELECT COUNT(*) FROM "labs"'),
]

CONDITIONS = [
    ("value = 7", '"value" = 7'),
    ("value == 7", '"value" = 7'),
    ("7 = value", '"value" = 7'),
    ("value <> 7", '"value" <= 6 OR "value" >= 8'),
    ("value != 7", '"value" <= 6 OR "value" >= 8'),
    ("value < 7", '"value" <= 6'),
    ("7 > value", '"value" <= 6'),
    ("value <= -2", '"value" <= -2'),
    ("-2.5 < value", '"value" >= -2'),
    ("value >= .5", '"value" >= 1'),
    ("value > 1.", '"value" >= 2'),
    ("value = 1.5", "FALSE"),
    ("value < 1000", None),
    ("value > 500", "FALSE"),
    ("value >= 100000000000000000000000000000000", "FALSE"),
    ("value BETWEEN 1 AND 5", '"value" BETWEEN 1 AND 5'),
    ("value BETWEEN 5 AND 1", "FALSE"),
    ("value NOT BETWEEN 1 AND 499", '"value" <= 0 OR "value" = 500'),
    ("value IN (1, 2, 3, 7, 1.5, 9999)", '"value" BETWEEN 1 AND 3 OR "value" = 7'),
    ("value NOT IN (1, -5)", '"value" BETWEEN -4 AND 0 OR "value" >= 2'),
    ("price >= 1.005", '"price" >= 1.01'),
    ("price > 1.00", '"price" >= 1.01'),
    ("price < 1.005", '"price" <= 1.00'),
    ("price = 1.005", "FALSE"),
    ("price = 0.5", '"price" = 0.50'),
    ("test = 'hdl'", "\"test\" = 'hdl'"),
    ("'it''s' <> test", "\"test\" <> 'it''s'"),
    ("test IN ('hdl', 'größe')", "\"test\" IN ('hdl', 'größe')"),
    ("test NOT IN ('hdl')", "\"test\" <> 'hdl'"),
    ("seen >= DATE '2020-06-01'", "\"seen\" >= DATE '2020-06-01'"),
    ("seen > date '2030-01-01'", "FALSE"),
    ("DATE '2020-06-01' = seen", "\"seen\" = DATE '2020-06-01'"),
    ("seen > '2020-06-01'", "\"seen\" >= DATE '2020-06-02'"),
    ("'2020-06-01' = seen", "\"seen\" = DATE '2020-06-01'"),
    ("seen IN ('2020-06-01', '1999-01-01')", "\"seen\" = DATE '2020-06-01'"),
    ("seen BETWEEN '2020-12-30' AND '2021-12-31'", "\"seen\" >= DATE '2020-12-30'"),
    ("male = 1", '"male" = TRUE'),
    ("0 = male", '"male" = FALSE'),
    ("male <> 1.0", '"male" = FALSE'),
    ("male IN (0, 1)", None),
    ("value = 3e2", '"value" = 300'),
    ("value = 0.3E+1", '"value" = 3'),
    ("value < -2e-99", '"value" <= -1'),
    ("value < 9e99", None),
    ("price = 5e-1", '"price" = 0.50'),
    ("value = 1_00", '"value" = 100'),
    ("labs.value = 7", '"value" = 7'),
    ('LABS."value" = 7', '"value" = 7'),
    ("male", '"male" = TRUE'),
    ("NOT male", '"male" = FALSE'),
    ("male = FALSE", '"male" = FALSE'),
    ("male <> TRUE", '"male" = FALSE'),
    ("TRUE = male", '"male" = TRUE'),
    ("male IN (TRUE, FALSE)", None),
    ('"case.id" = 1', '"case.id" = 1'),
    ("date = 1", '"date" = 1'),
    ("NOT NOT male", '"male" = TRUE'),
    ("NOT value = 7 AND value < 8", '"value" <= 6'),
    ("(value > 3) AND ((value < 9))", '"value" BETWEEN 4 AND 8'),
    ("value > 3 AND value < 3", "FALSE"),
    ("value > 3 OR value < 9", None),
    ("NOT (male OR value < 3)", '"male" = FALSE AND "value" >= 3'),
    ("value < 3 AND male", '"male" = TRUE AND "value" <= 2'),
    ("male AND test = 'hdl' OR value = 1", '"male" = TRUE AND "test" = \'hdl\' OR "value" = 1'),
    ("male AND (test = 'hdl' OR value = 1)", '("test" = \'hdl\' OR "value" = 1) AND "male" = TRUE'),
    ("male AND value <> 1", '"male" = TRUE AND ("value" <= 0 OR "value" >= 2)'),
]


@pytest.mark.parametrize(("sql", "text"), WHOLE)
def test_a_query_is_accepted(sql: str, text: str) -> None:
    assert parse(sql, CLINIC).text == text
    assert parse(text, CLINIC) == parse(sql, CLINIC)


@pytest.mark.parametrize(("condition", "text"), CONDITIONS)
def test_a_condition_is_accepted(condition: str, text: str | None) -> None:
    plan = parse(f"{COUNT} WHERE {condition}", CLINIC)
    whole = 'SELECT COUNT(*) FROM "labs"'
    # The parts of a conjunction have an order of their own, whatever was written first.
    assert plan.text == (whole if text is None else f"{whole} WHERE {text}")
    assert parse(plan.text, CLINIC) == plan
    assert hash(parse(plan.text, CLINIC)) == hash(plan)


@pytest.mark.parametrize(
    ("sql", "sensitivity", "bounds", "monotone", "digits"),
    [
        ("SELECT COUNT(*) FROM labs", 60, (0, 60), True, 0),
        ("SELECT COUNT(DISTINCT id) FROM labs", 1, (0, 1), True, 0),
        ("SELECT SUM(value) FROM labs", 30_000, (-300, 30_000), False, 0),
        ("SELECT SUM(price) FROM labs", 60_000, (0, 60_000), True, 2),
        ("SELECT SUM(male) FROM labs", 60, (0, 60), True, 0),
        ("SELECT COUNT(*) FROM people", 1, (0, 1), True, 0),
        ("SELECT SUM(age) FROM people", 120, (0, 120), True, 0),
        # A unit without a row adds 0: the clamp reaches from the least value up to 0.
        ("SELECT SUM(debt) FROM people", 100, (-100, 0), False, 0),
        ("SELECT SUM(debt) FROM people WHERE FALSE", 100, (-100, 0), False, 0),
    ],
)
def test_what_a_plan_promises(
    sql: str, sensitivity: int, bounds: tuple[int, int], monotone: bool, digits: int
) -> None:
    plan = parse(sql, CLINIC)
    asked: Plan = plan  # it is what the core asks for
    assert asked.size == 1
    assert asked.sensitivity == Sensitivity(1, sensitivity, sensitivity**2, sensitivity)
    assert (asked.monotone, plan.bounds, plan.digits) == (monotone, (bounds,), digits)


def _sound(sql: str) -> bool:
    """Whether the text is answered, or refused with a construct and a place in the text."""
    try:
        return parse(sql, CLINIC).sensitivity.linf >= 1
    except QueryRefused as refusal:
        line, column = refusal.position or (1, 1)
        return bool(refusal.construct) and line >= 1 and column >= 1


@given(st.text())
def test_any_text_is_answered_or_refused(sql: str) -> None:
    assert _sound(sql)
    assert _sound(f"{COUNT} WHERE {sql}")


SOUP = """
    SELECT COUNT SUM ( ) ( ) * , . ; FROM WHERE labs people value test id male price seen AND OR
    NOT IN BETWEEN = <> < >= - + / DISTINCT AS DATE TRUE FALSE NULL IS 1 2.5 1e9 'hdl' '2020-01-01'
    "labs" "value" "id" GROUP BY ORDER LIMIT JOIN ON USING WITH UNION CASE WHEN THEN END OVER CAST
    :: [ ] { } $1 ? : @ # ~ || -> INTERVAL EXISTS ALL ANY VALUES PIVOT UNNEST LATERAL STRUCT MAP
    FILTER QUALIFY WINDOW EXCLUDE x'00' E'a' $$ a$b % \\ ` ' -- /* */
"""
WORDS = st.sampled_from(SOUP.split())


@given(st.lists(WORDS, max_size=25))
def test_any_soup_of_words_is_answered_or_refused(words: list[str]) -> None:
    assert _sound(" ".join(words))
    assert _sound(f"{COUNT} WHERE {' '.join(words)}")
    assert _sound(f"SELECT {' '.join(words)} FROM labs")


def test_reading_a_query_reaches_for_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(*_: object, **__: object) -> None:
        raise AssertionError("an engine was reached for")

    monkeypatch.setattr("duckdb.connect", reached)
    for sql, _ in WHOLE:
        parse(sql, CLINIC)
    for name in ("labs", "nowhere"):
        assert _sound(f"SELECT COUNT(*) FROM {name} WHERE value = 'x'")
