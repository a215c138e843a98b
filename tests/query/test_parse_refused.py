"""What is refused, as what, and where."""

from __future__ import annotations

from typing import Any

import pytest

from interlace.core.errors import QueryRefused
from interlace.query.columns import Integer
from interlace.query.parse import parse
from interlace.query.parsing.screen import DEEPEST, LONGEST_TEXT, MOST_OPERATORS, MOST_TOKENS
from interlace.query.schema import Dataset, Table
from tests.query.corpus import CONDITIONS, WHOLE
from tests.query.corpus_expressions import EXPRESSIONS
from tests.query.corpus_groups import ITEMS, JOINS, KEYS
from tests.query.support import CLINIC, HOSPITAL

COUNT = "SELECT COUNT(*) FROM labs"


def _check(marked: str, construct: str, dataset: Dataset = CLINIC) -> QueryRefused:
    text, offset = marked.replace("¶", ""), marked.find("¶")
    with pytest.raises(QueryRefused) as caught:
        parse(text, dataset)
    assert caught.value.construct == construct
    if offset >= 0:
        lines = text[:offset].split("\n")
        assert caught.value.position == (len(lines), len(lines[-1]) + 1)
    return caught.value


@pytest.mark.parametrize(("marked", "construct"), WHOLE)
def test_a_query_of_another_form_is_refused(marked: str, construct: str) -> None:
    _check(marked, construct)


@pytest.mark.parametrize(("marked", "construct"), CONDITIONS)
def test_another_condition_is_refused(marked: str, construct: str) -> None:
    _check(f"{COUNT} WHERE {marked}", construct)
    _check(f"{COUNT} WHERE male AND {marked}", construct)


@pytest.mark.parametrize(("marked", "construct"), ITEMS + KEYS)
def test_another_item_or_key_is_refused(marked: str, construct: str) -> None:
    _check(marked, construct)


@pytest.mark.parametrize(("marked", "construct"), EXPRESSIONS)
def test_another_expression_is_refused(marked: str, construct: str) -> None:
    _check(f"SELECT SUM({marked}) FROM labs", construct)
    _check(f"SELECT COUNT(*), SUM({marked}) FROM labs", construct)


@pytest.mark.parametrize(("marked", "construct"), JOINS)
def test_another_join_is_refused(marked: str, construct: str) -> None:
    _check(f"SELECT COUNT(*) FROM {marked}", construct, HOSPITAL)


#: What the parser would pass over.
PASSED_OVER = [
    "SELECT ¶AS COUNT(*) FROM labs",
    "SELECT ¶, COUNT(*) FROM labs",
    "SELECT COUNT(*)¶, FROM labs",
    "SELECT COUNT(*)¶,, SUM(value) FROM labs",
    "SELECT COUNT(*) FROM labs GROUP BY male¶,",
    "SELECT SUM(value¶,) FROM labs",
    f"{COUNT} WHERE value IN (1¶, )",
    "SELECT COUNT(*) AS ¶1 FROM labs",
    "SELECT COUNT(*) AS ¶>= FROM labs",
    "SELECT COUNT(*) FROM ¶. labs",
    "SELECT COUNT(¶, *) FROM labs",
    f"{COUNT} * ¶WHERE male",
    f"{COUNT} WHERE (male AS ¶)",
]


@pytest.mark.parametrize("marked", PASSED_OVER)
def test_a_word_out_of_place_is_not_passed_over(marked: str) -> None:
    _check(marked, "syntax")


#: What only the first look refuses: to the tree these say nothing that is not allowed.
HARMLESS = {
    "FROM labs SELECT COUNT(*)",
    "SELECT COUNT(*) FROM labs;;",
    "SELECT n: COUNT(*) FROM labs",
    f"{COUNT} WHERE value = 1 -- AND male",
    f"{COUNT} WHERE value\u00a0= 1",
    "SELECT COUNT(*) FROM labſ",
    "SELECT\u3000COUNT(*) FROM labs",
    "SELECT ALL COUNT(*) FROM labs",
    f"{COUNT} WHERE value = -. 5",
    "SELECT COUNT(*) FROM labs *",
    *(text.replace("¶", "") for text in PASSED_OVER),
    "SELECT COUNT(*) /*+ hint */ FROM labs",
    # A function's name in quotes, and others that mean what they say.
    'SELECT "COUNT"(*) FROM labs',
    'SELECT "SUM"(value) FROM labs',
    'SELECT SUM("ABS"(value)) FROM labs',
    "SELECT COUNT(*) FROM labs GROUP BY test,",
    "SELECT COUNT(*) FROM labs GROUP BY test,,male",
    "SELECT SUM(CASE WHEN male 1 ELSE 0 END) FROM labs",
    "SELECT SUM(@value) FROM labs",
    "SELECT SUM(value /* c */) FROM labs",
    "SELECT SUM(value\u00a0+ 1) FROM labs",
}
MARKED = [
    *PASSED_OVER,
    *(marked for marked, _ in WHOLE + ITEMS + KEYS),
    *(f"SELECT SUM({marked}) FROM labs" for marked, _ in EXPRESSIONS),
    *(f"{COUNT} WHERE {marked}" for marked, _ in CONDITIONS),
]


@pytest.mark.parametrize("marked", MARKED)
def test_the_tree_refuses_by_itself(marked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlace.query.parse.screened", lambda *_: [])
    text = marked.replace("¶", "")
    if text in HARMLESS:
        assert parse(text, CLINIC).text.startswith(("SELECT COUNT(*)", "SELECT SUM("))
    else:
        with pytest.raises(QueryRefused):
            parse(text, CLINIC)


def test_a_query_may_be_only_so_long_and_so_deep() -> None:
    longest = f"{COUNT} WHERE male{' ' * LONGEST_TEXT}"[:LONGEST_TEXT]
    assert parse(longest, CLINIC).text.endswith('"male" = TRUE')
    with pytest.raises(QueryRefused, match="length"):
        parse(longest + " ", CLINIC)
    deepest = f"{COUNT} WHERE {'(' * DEEPEST}male{')' * DEEPEST}"
    assert parse(deepest, CLINIC).text.endswith('"male" = TRUE')
    for opened in ("(", "NOT ", "- "):
        with pytest.raises(QueryRefused, match="nesting"):
            parse(f"{COUNT} WHERE {opened * (DEEPEST + 1)}male{')' * (DEEPEST + 1)}", CLINIC)
    for opened, closed in (("CASE WHEN male THEN ", " ELSE 1 END"), ("ABS(", ")"), ("- ", "")):
        deep = f"{COUNT} WHERE {opened * DEEPEST}value{closed * DEEPEST} = 1"
        assert parse(deep, CLINIC).text.endswith(" = 1")
        with pytest.raises(QueryRefused, match="nesting"):
            parse(deep.replace("value", f"{opened}value{closed}"), CLINIC)
    chain = " + ".join(["age"] * (MOST_OPERATORS + 1))
    assert parse(f"SELECT SUM({chain}) FROM people", CLINIC).text.count("+") == MOST_OPERATORS
    _check(f"SELECT SUM({chain} ¶+ age) FROM people", "length")
    with pytest.raises(QueryRefused, match="words"):
        parse(f"{COUNT} WHERE value IN ({'1,' * (MOST_TOKENS // 2)}1)", CLINIC)


def test_a_long_chain_is_not_deep() -> None:
    plan = parse(f"{COUNT} WHERE {' AND '.join(['value < 7'] * 1200)}", CLINIC)
    assert plan == parse(f"{COUNT} WHERE value < 7", CLINIC)


@pytest.mark.parametrize("words", ["/", "ORDER BY", "LIMIT", "LEFT", "IS", "NULL", "CASE", "["])
def test_a_declared_name_opens_no_door(words: str) -> None:
    # The first look lets declared names pass as words: the tree must still refuse their syntax.
    table = Table("labs", {"value": Integer(0, 9), words: Integer(0, 9)})
    dataset = Dataset("d", "id", (table,))
    assert parse(f'{COUNT} WHERE "{words}" = 1', dataset).text.endswith(f'"{words}" = 1')
    for tail in (
        f"WHERE value {words} 1 = 2",
        f"WHERE value {words} NULL",
        f"{words} 1",
        f"{words} value",
        f"WHERE {words} WHEN 1 THEN 2 END = 1",
        f"{words} JOIN labs ON TRUE",
        f"WHERE value {words} 1] = 1",
    ):
        with pytest.raises(QueryRefused):
            parse(f"{COUNT} {tail}", dataset)


def test_a_refusal_tells_what_is_allowed_and_nothing_of_the_parser() -> None:
    refusal = _check(f"{COUNT} WHERE value = ¶= 7", "syntax")
    assert str(refusal).startswith("syntax at line 1, column 41")
    assert "the allowed form is SELECT aggregate [AS name], ... FROM table" in str(refusal)
    assert refusal.__cause__ is None
    assert refusal.__suppress_context__


def test_text_only() -> None:
    asked: Any = b"SELECT COUNT(*) FROM labs"
    with pytest.raises(QueryRefused, match="must be text"):
        parse(asked, CLINIC)


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT MAX(value) FROM labs", "ask for QUANTILE(e, 0.05) or QUANTILE(e, 0.95)"),
        ("SELECT MEAN(value) FROM labs", "write AVG(e)"),
        ("SELECT test FROM labs", "rows are never shown: it must stand in GROUP BY"),
        ("SELECT * FROM labs", "rows are never shown"),
        ("SELECT COUNT(value) FROM labs", "nothing is missing in a registered table: COUNT(*)"),
        ("SELECT COUNT(*) / 2 FROM labs", "divide the answers"),
        ("SELECT SUM(COUNT(*)) FROM labs", "an aggregate stands alone in SELECT"),
        ("SELECT SUM(DISTINCT value) FROM labs", "only COUNT(DISTINCT unit) takes it"),
        ("SELECT SUM(huge) FROM labs", "CLAMP the expression or the aggregate"),
        ("SELECT QUANTILE(huge, 0.5) FROM labs", "QUANTILE(BUCKET(e, width), share)"),
        ("SELECT COUNT(*) FROM labs GROUP BY huge", "put it into a BUCKET, or list its values"),
        ("SELECT COUNT(*) FROM labs GROUP BY value, seen", "group by fewer keys, or by wider"),
        ("SELECT SUM(CASE WHEN male THEN 1 END) FROM labs", "ELSE 0"),
        ("SELECT SUM(CASE value WHEN 1 THEN 2 ELSE 3 END) FROM labs", "CASE WHEN column = 1 THEN"),
        (
            "SELECT COUNT(*) FROM labs, people",
            "tables of units are joined on the unit, USING (unit)",
        ),
        ("SELECT COUNT(*) FROM labs LEFT JOIN people USING (id)", "joins are inner"),
        (f"{COUNT} ORDER BY 1", "rows come in the public order of their keys"),
        (f"{COUNT} HAVING COUNT(*) > 5", "every public group has a row"),
        (f'{COUNT} WHERE test = "hdl"', "text stands in single quotes"),
        (f"{COUNT} WHERE test = hdl", "text stands in single quotes"),
        (f"{COUNT} WHERE male IS TRUE", "write column, or column = TRUE"),
        (f"{COUNT} WHERE male IS NOT TRUE", "write NOT column, or column = FALSE"),
        (f"{COUNT} WHERE male IS FALSE", "write NOT column, or column = FALSE"),
        (f"{COUNT} WHERE male IS NOT FALSE", "write column, or column = TRUE"),
        (f"{COUNT} WHERE value IS DISTINCT FROM 1", "write column <> constant"),
        (f"{COUNT} WHERE value IS NOT DISTINCT FROM 1", "write column = constant"),
        (f"{COUNT} WHERE value IS NULL", "the column's rule dropped the row or put a value there"),
        (f"{COUNT} WHERE value = NULL", "the column's rule dropped the row or put a value there"),
        (f"{COUNT} WHERE test LIKE 'h%'", "column IN ('a', 'b')"),
        (f"{COUNT} WHERE value = '5'", "a number without quotes"),
        (f"{COUNT} WHERE value IN 5", "column IN (1, 2)"),
        (f"{COUNT} WHERE male && male", "write AND"),
        (f"{COUNT} WHERE value = ?", "write the constant itself"),
        (f"{COUNT} WHERE seen > CURRENT_DATE", "write the date that you mean"),
        (f"{COUNT} WHERE week(seen) = 7", "is made of columns and constants by"),
        (f"{COUNT} WHERE round(value) = 7", "write BUCKET(e, width)"),
        (f"{COUNT} WHERE datediff('day', seen, seen) = 7", "write day - day"),
        (f"{COUNT} WHERE strftime(seen, '%m') = '7'", "YEAR(day) and MONTH(day)"),
        (f"{COUNT} WHERE upper(test) = 'HDL'", "CASE WHEN makes groups of several"),
        ("SELECT CORR(value, value) FROM labs", "AVG(a * b)"),
        ("SELEC COUNT(*) FROM labs", "the allowed form is SELECT aggregate"),
        (
            f"WITH t AS ({COUNT}) SELECT COUNT(*) FROM t",
            "a query is one SELECT over declared tables",
        ),
        (f"{COUNT} WHERE male = TRUE = TRUE", "put that in parentheses"),
        (f"{COUNT} WHERE test < 'hdl'", "use =, <> or IN"),
    ],
)
def test_a_refusal_tells_what_to_write_instead(sql: str, hint: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        parse(sql, CLINIC)
    assert hint in str(caught.value)


def test_the_corpus_is_large_and_names_nothing_twice() -> None:
    joined = [marked for marked, _ in JOINS]
    assert len(set(MARKED)) == len(MARKED) >= 500
    assert len(set(joined)) == len(joined) >= 30
