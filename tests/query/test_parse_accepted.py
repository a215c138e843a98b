"""What is accepted, and what it is taken to mean: the canonical text, written by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core import queries as core
from interlace.core.errors import QueryRefused
from interlace.core.queries import Sensitivity
from interlace.query.columns import Integer
from interlace.query.parse import parse
from interlace.query.plan import Plan
from interlace.query.schema import Dataset, Table
from tests.query.support import CLINIC, HOSPITAL, same

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
    (
        "SELECT COUNT(*) FROM labs AS l WHERE l.male",
        'SELECT COUNT(*) FROM "labs" WHERE "male" = TRUE',
    ),
    ("SELECT COUNT(*), SUM(value) FROM labs l", 'SELECT COUNT(*), SUM("value") FROM "labs"'),
    ("SELECT MEDIAN(value) FROM labs", 'SELECT QUANTILE("value", 0.5) FROM "labs"'),
    ("SELECT STDDEV(value) FROM labs", 'SELECT STDDEV_SAMP("value") FROM "labs"'),
    ("SELECT VAR(value) FROM labs", 'SELECT VAR_SAMP("value") FROM "labs"'),
    ("SELECT AVG(-value) FROM labs", 'SELECT AVG(0 - "value") FROM "labs"'),
    (
        "SELECT SUM(value - (1 - price)) FROM labs",
        'SELECT SUM("value" - (1.00 - "price")) FROM "labs"',
    ),
    ("SELECT SUM((value + 1) * 2) FROM labs", 'SELECT SUM(("value" + 1) * 2) FROM "labs"'),
    ("SELECT SUM(1) FROM labs", 'SELECT SUM(1) FROM "labs"'),
    ("SELECT COUNT(*) FROM labs GROUP BY (male)", 'SELECT COUNT(*) FROM "labs" GROUP BY "male"'),
    (
        "SELECT YEAR(seen) AS y, COUNT(*) FROM labs GROUP BY Y",
        'SELECT COUNT(*) FROM "labs" GROUP BY YEAR("seen")',
    ),
    (
        "SELECT COUNT(*) FROM labs GROUP BY EXTRACT(MONTH FROM seen), DATE_PART('day', seen)",
        'SELECT COUNT(*) FROM "labs" GROUP BY MONTH("seen"), DAY("seen")',
    ),
    (
        "SELECT COUNT(*) FROM labs GROUP BY BUCKET(seen, 7, '2020-01-06')",
        'SELECT COUNT(*) FROM "labs" GROUP BY BUCKET("seen", 7, DATE \'2020-01-06\')',
    ),
    (
        "SELECT COUNT(*) FROM labs GROUP BY CASE WHEN male THEN 'm' ELSE 'f' END",
        "SELECT COUNT(*) FROM \"labs\" GROUP BY CASE WHEN \"male\" = TRUE THEN 'm' ELSE 'f' END",
    ),
]

JOINED = [
    (
        "SELECT COUNT(*) FROM visits v JOIN labs l ON v.id = l.id",
        'SELECT COUNT(*) FROM "labs" JOIN "visits" USING ("id")',
    ),
    (
        "SELECT COUNT(*) FROM labs INNER JOIN names n ON n.lab = labs.lab WHERE rural",
        'SELECT COUNT(*) FROM "labs" JOIN "names" ON "labs"."lab" = "names"."lab" '
        'WHERE "names"."rural" = TRUE',
    ),
    (
        "SELECT lab, COUNT(*) FROM labs JOIN names USING (lab) GROUP BY lab",
        'SELECT COUNT(*) FROM "labs" JOIN "names" ON "labs"."lab" = "names"."lab" '
        'GROUP BY "labs"."lab"',
    ),
    (
        "SELECT SUM(beds) FROM visits JOIN rooms USING (room) JOIN wards USING (ward)",
        'SELECT SUM("wards"."beds") FROM "visits" JOIN "rooms" ON "visits"."room" = "rooms"."room" '
        'JOIN "wards" ON "rooms"."ward" = "wards"."ward"',
    ),
    (
        "SELECT COUNT(*) FROM labs JOIN visits USING (id) WHERE labs.seen > visits.seen",
        'SELECT COUNT(*) FROM "labs" JOIN "visits" USING ("id") '
        'WHERE "labs"."seen" - "visits"."seen" >= 1',
    ),
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
    ("value = price", '"value" - "price" = 0.00'),
    ("abs(value) = 1", 'ABS("value") = 1'),
    ("value + 1 = 2", '"value" + 1 = 2'),
    ("value = 2 * 3", '"value" = 6'),
    ("value = - -1", '"value" = 1'),
    ("value = +5", '"value" = 5'),
    ("- value = 1", '0 - "value" = 1'),
    ("(value) IN ((1), 2)", '"value" BETWEEN 1 AND 2'),
    ("value = (1)", '"value" = 1'),
    ("year(seen) = 2020", None),
    ("month(seen) = 2", 'MONTH("seen") = 2'),
    ("1 = 1", None),
    ("TRUE = FALSE", "FALSE"),
    ("1 = TRUE", None),
    ("'a' <> 'b'", None),
    ("'2020-01-01' < DATE '2020-01-02'", None),
    ("(value = 1) = male", '"male" = ("value" = 1)'),
    ("male = (NOT male)", '"male" = ("male" = FALSE)'),
    ("seen - DATE '2020-01-01' < 31", "\"seen\" - DATE '2020-01-01' <= 30"),
    (
        "CASE WHEN male THEN value ELSE 0 END > 3",
        'CASE WHEN "male" = TRUE THEN "value" ELSE 0 END >= 4',
    ),
    # Texts and names in double quotes are read in Unicode's form NFC.
    ("test = 'gro\u0308ße'", "\"test\" = 'größe'"),
    ("test NOT IN ('gro\u0308ße')", "\"test\" <> 'größe'"),
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


def _read(sql: str, dataset: Dataset = CLINIC) -> Plan:
    """The plan; fails unless its text gives it again."""
    plan = parse(sql, dataset)
    again = parse(plan.text, dataset)
    assert same(again, plan)
    return plan


@pytest.mark.parametrize(("sql", "text"), WHOLE)
def test_a_query_is_accepted(sql: str, text: str) -> None:
    assert _read(sql).text == text


@pytest.mark.parametrize(("sql", "text"), JOINED)
def test_a_join_is_accepted(sql: str, text: str) -> None:
    assert _read(sql, HOSPITAL).text == text


@pytest.mark.parametrize(("condition", "text"), CONDITIONS)
def test_a_condition_is_accepted(condition: str, text: str | None) -> None:
    plan = _read(f"{COUNT} WHERE {condition}")
    whole = 'SELECT COUNT(*) FROM "labs"'
    # The parts of a conjunction have an order of their own, whatever was written first.
    assert plan.text == (whole if text is None else f"{whole} WHERE {text}")


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
        ("SELECT SUM(-debt) FROM people", 100, (0, 100), True, 0),
        ("SELECT SUM(debt * debt) FROM people", 10_000, (0, 10_000), True, 0),
        ("SELECT SUM(debt * age) FROM people", 12_000, (-12_000, 0), False, 0),
        ("SELECT SUM(age - 60) FROM people", 60, (-60, 60), False, 0),
        ("SELECT SUM(price * price) FROM labs", 60_000_000, (0, 60_000_000), True, 4),
        ("SELECT CLAMP(SUM(value), -7, 9) FROM labs", 9, (-7, 9), False, 0),
        ("SELECT CLAMP(SUM(value), -1000, 9) FROM labs", 300, (-300, 9), False, 0),
        ("SELECT CLAMP(SUM(price), 0, 2.5) FROM labs", 250, (0, 250), True, 2),
        ("SELECT CLAMP(COUNT(*), 0, 7) FROM labs", 7, (0, 7), True, 0),
        ("SELECT SUM(CLAMP(value, 3, 8)) FROM labs", 480, (0, 480), True, 0),
        ("SELECT SUM(CASE WHEN male THEN 2.5 ELSE -1 END) FROM labs", 1_500, (-600, 1_500), False, 1),
        # Noise always has a scale.
        ("SELECT SUM(0) FROM labs", 1, (0, 0), True, 0),
        ("SELECT CLAMP(COUNT(*), 0, 0) FROM labs", 1, (0, 0), True, 0),
    ],
)  # fmt: skip
def test_what_a_plan_promises(
    sql: str, sensitivity: int, bounds: tuple[int, int], monotone: bool, digits: int
) -> None:
    plan = parse(sql, CLINIC)
    asked: core.Plan = plan  # it is what the core asks for
    assert asked.size == 1
    assert asked.sensitivity == Sensitivity(1, sensitivity, sensitivity**2, sensitivity)
    [part] = plan.parts
    assert (asked.monotone, part.bounds, plan.digits) == (monotone, bounds, digits)


@pytest.mark.parametrize(
    ("sql", "moved"),
    [
        # L0 groups, L1 together, the square of L2, Linf in one: worked out by hand.
        ("SELECT COUNT(*) FROM labs GROUP BY open", (2, 5, 25, 5)),
        ("SELECT COUNT(DISTINCT id) FROM labs GROUP BY open", (2, 2, 2, 1)),
        ("SELECT COUNT(DISTINCT id) FROM labs GROUP BY MONTH(seen)", (5, 5, 5, 1)),
        ("SELECT COUNT(*) FROM labs GROUP BY lab", (2, 5, 25, 5)),
        # A declared key set bounds the groups of what its columns determine, and of no other.
        ("SELECT COUNT(DISTINCT id) FROM labs GROUP BY lab, kind", (2, 2, 2, 1)),
        ("SELECT COUNT(DISTINCT id) FROM labs GROUP BY kind = 'a', kind", (2, 2, 2, 1)),
        ("SELECT COUNT(DISTINCT id) FROM labs GROUP BY kind, open", (5, 5, 5, 1)),
        (
            "SELECT COUNT(DISTINCT id) FROM labs JOIN names USING (lab) GROUP BY rural, kind",
            (2, 2, 2, 1),
        ),
        ("SELECT CLAMP(COUNT(*), 0, 2) FROM labs GROUP BY open", (2, 4, 8, 2)),
        ("SELECT CLAMP(COUNT(*), 0, 3) FROM labs GROUP BY open", (2, 5, 13, 3)),
        ("SELECT CLAMP(COUNT(*), 0, 4) FROM labs GROUP BY kind", (2, 5, 17, 4)),
        ("SELECT SUM(value) FROM labs GROUP BY open", (2, 2_500, 2_500**2, 2_500)),
        ("SELECT CLAMP(SUM(value), 0, 60) FROM labs GROUP BY MONTH(seen)", (5, 2_500, 1_450_000, 600)),
        ("SELECT COUNT(*) FROM labs JOIN visits USING (id)", (1, 15, 225, 15)),
        # The groups of a unit come from rows of the key's table: three visits, one person.
        ("SELECT COUNT(DISTINCT id) FROM labs JOIN visits USING (id) GROUP BY room", (3, 3, 3, 1)),
        ("SELECT COUNT(*) FROM visits JOIN people USING (id) GROUP BY male", (1, 3, 9, 3)),
        ("SELECT QUANTILE(age, 0.5) FROM people", (1, 1, 1, 1)),
        ("SELECT MEDIAN(BUCKET(value, 10)) FROM labs", (5, 5, 25, 5)),
        # Two parts: what they move by adds up.
        ("SELECT AVG(age) FROM people", (2, 61, 3_601, 60)),
    ],
)  # fmt: skip
def test_what_groups_and_joins_promise(sql: str, moved: tuple[int, int, int, int]) -> None:
    assert parse(sql, HOSPITAL).sensitivity == Sensitivity(*moved)


def test_what_several_items_need_is_read_once() -> None:
    plan = parse("SELECT COUNT(*), SUM(value), AVG(value), STDDEV(value) AS s FROM labs", CLINIC)
    assert [part.kind for part in plan.parts] == ["rows", "sum", "sum", "sum"]
    assert len(parse("SELECT VAR_POP(value), VAR_SAMP(value) FROM labs", CLINIC).parts) == 3


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


def test_a_name_is_read_in_form_c() -> None:
    dataset = Dataset("d", "id", (Table("tür", {"höhe": Integer(0, 9)}),))
    plan = parse('SELECT SUM("ho\u0308he") AS "u\u0308" FROM "tu\u0308r"', dataset)
    assert plan.text == 'SELECT SUM("höhe") FROM "tür"'
    assert plan.items[0].column.name == "ü"


def test_reading_a_query_reaches_for_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(*_: object, **__: object) -> None:
        raise AssertionError("an engine was reached for")

    monkeypatch.setattr("duckdb.connect", reached)
    for sql, _ in WHOLE:
        parse(sql, CLINIC)
    for name in ("labs", "nowhere"):
        assert _sound(f"SELECT COUNT(*) FROM {name} WHERE value = 'x'")
