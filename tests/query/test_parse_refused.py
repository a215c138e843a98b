"""What is refused, as what, and where."""

from __future__ import annotations

from typing import Any

import pytest

from interlace.core.errors import QueryRefused
from interlace.query.columns import Integer
from interlace.query.parse import parse
from interlace.query.schema import Dataset, Table
from interlace.query.screen import DEEPEST, LONGEST_TEXT, MOST_TOKENS
from tests.query.corpus import CONDITIONS, WHOLE
from tests.query.support import CLINIC

COUNT = "SELECT COUNT(*) FROM labs"


def _check(marked: str, construct: str) -> QueryRefused:
    text, offset = marked.replace("¶", ""), marked.find("¶")
    with pytest.raises(QueryRefused) as caught:
        parse(text, CLINIC)
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


#: What the parser would pass over.
PASSED_OVER = [
    "SELECT ¶AS COUNT(*) FROM labs",
    "SELECT ¶, COUNT(*) FROM labs",
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
    f"{COUNT} WHERE value = +5",
    "SELECT COUNT(*) FROM labſ",
    "SELECT\u3000COUNT(*) FROM labs",
    "SELECT ALL COUNT(*) FROM labs",
    f"{COUNT} WHERE value = -. 5",
    "SELECT COUNT(*) FROM labs *",
    *(text.replace("¶", "") for text in PASSED_OVER),
    "SELECT COUNT(*) /*+ hint */ FROM labs",
    'SELECT COUNT(*) AS "n\u202e" FROM labs',
    'SELECT COUNT(*) AS "\ud800" FROM labs',
}
MARKED = [
    *PASSED_OVER,
    *(marked for marked, _ in WHOLE),
    *(f"{COUNT} WHERE {marked}" for marked, _ in CONDITIONS),
]


@pytest.mark.parametrize("marked", MARKED)
def test_the_tree_refuses_by_itself(marked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlace.query.parse.screened", lambda *_: [])
    text = marked.replace("¶", "")
    if text in HARMLESS:
        assert parse(text, CLINIC).text.startswith("SELECT COUNT(*)")
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
    with pytest.raises(QueryRefused, match="words"):
        parse(f"{COUNT} WHERE value IN ({'1,' * (MOST_TOKENS // 2)}1)", CLINIC)


def test_a_long_chain_is_not_deep() -> None:
    plan = parse(f"{COUNT} WHERE {' AND '.join(['value < 7'] * 1200)}", CLINIC)
    assert plan == parse(f"{COUNT} WHERE value < 7", CLINIC)


@pytest.mark.parametrize("words", ["+", "GROUP BY", "LIMIT", "LEFT", "IS", "NULL", "CASE", "["])
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
    assert "SELECT COUNT(*) | COUNT(DISTINCT unit) | SUM(column)" in str(refusal)
    assert refusal.__cause__ is None
    assert refusal.__suppress_context__


def test_text_only() -> None:
    asked: Any = b"SELECT COUNT(*) FROM labs"
    with pytest.raises(QueryRefused, match="must be text"):
        parse(asked, CLINIC)


@pytest.mark.parametrize(
    ("sql", "hint"),
    [
        ("SELECT AVG(value) FROM labs", "ask SUM(column) and COUNT(*), two queries, and divide"),
        ("SELECT MAX(value) FROM labs", "COUNT(*) with WHERE column <= bound"),
        ("SELECT test FROM labs", "rows are never shown; the allowed form is SELECT COUNT(*)"),
        ("SELECT * FROM labs", "rows are never shown"),
        ("SELECT COUNT(value) FROM labs", "nothing is missing in a registered table: COUNT(*)"),
        ("SELECT COUNT(*) / 2 FROM labs", "calculate with the answers"),
        ("SELECT COUNT(*) FROM labs GROUP BY test", "one query for each group"),
        ("SELECT COUNT(*) FROM labs JOIN people USING (id)", "query the tables one by one"),
        ("SELECT COUNT(*) FROM labs, people", "query the tables one by one"),
        ("SELECT COUNT(*) FROM labs l", "named alone or after its table's own name"),
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
        (f"{COUNT} WHERE year(seen) = 2020", "column BETWEEN DATE '2024-01-01'"),
    ],
)
def test_a_refusal_tells_what_to_write_instead(sql: str, hint: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        parse(sql, CLINIC)
    assert hint in str(caught.value)


def test_the_corpus_is_large_and_names_nothing_twice() -> None:
    assert len(set(MARKED)) == len(MARKED) >= 350
