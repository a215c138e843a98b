"""What is refused, as what, and where: ¶ stands before the character that is pointed at."""

from __future__ import annotations

from typing import Any

import pytest

from interlace.core.errors import QueryRefused
from interlace.query.columns import Integer
from interlace.query.parse import parse
from interlace.query.schema import Dataset, Table
from interlace.query.screen import DEEPEST, LONGEST_TEXT, MOST_TOKENS
from tests.query.support import CLINIC

COUNT = "SELECT COUNT(*) FROM labs"

WHOLE = [
    # not one SELECT ... FROM one declared table
    ("¶", "empty query"),
    ("¶;", ";"),
    ("SELECT", "SELECT without FROM"),
    ("SELECT COUNT(*)", "SELECT without FROM"),
    ("¶FROM labs SELECT COUNT(*)", "FROM"),
    ("¶FROM labs", "FROM"),
    ("¶INSERT INTO labs VALUES (1)", "INSERT"),
    ("¶DROP TABLE labs", "DROP"),
    ("¶PRAGMA database_list", "PRAGMA"),
    ("¶COPY labs TO 'x.csv'", "COPY"),
    ("¶EXPLAIN SELECT COUNT(*) FROM labs", "EXPLAIN"),
    ("¶WITH a AS (SELECT 1) SELECT COUNT(*) FROM a", "WITH"),
    ("¶(SELECT COUNT(*) FROM labs)", "("),
    ("SELECT COUNT(*) FROM labs¶; SELECT COUNT(*) FROM labs", ";"),
    ("SELECT COUNT(*) FROM labs¶;;", ";"),
    ("SELECT COUNT(*) FROM labs ¶UNION SELECT COUNT(*) FROM labs", "UNION"),
    ("SELECT COUNT(*) FROM ¶nope", "unknown table"),
    ('SELECT COUNT(*) FROM ¶"LABS"', "unknown table"),
    ("SELECT COUNT(*) FROM ¶main.labs", "qualified table"),
    ("SELECT COUNT(*) FROM ¶'labs'", "text in place of a table"),
    ("SELECT COUNT(*) FROM ¶read_csv('labs')", "function READ_CSV"),
    ("SELECT COUNT(*) FROM (SELECT ¶1)", "subquery"),
    ("SELECT COUNT(*) FROM labs AS ¶l", "alias of a table"),
    ("SELECT COUNT(*) FROM labs ¶l", "alias of a table"),
    ("SELECT COUNT(*) FROM labs, ¶people", "JOIN"),
    ("SELECT COUNT(*) FROM labs ¶JOIN people USING (id)", "JOIN"),
    ("SELECT COUNT(*) FROM labs ¶LEFT JOIN people ON TRUE", "LEFT"),
    ("SELECT COUNT(*) FROM labs ¶TABLESAMPLE 10%", "TABLESAMPLE"),
    ("SELECT COUNT(*) FROM labs ¶GROUP BY test", "GROUP BY"),
    ("SELECT COUNT(*) FROM labs ¶HAVING COUNT(*) > 5", "HAVING"),
    ("SELECT COUNT(*) FROM labs\n¶ORDER BY 1", "ORDER BY"),
    ("SELECT COUNT(*) FROM labs ¶LIMIT 1", "LIMIT"),
    ("SELECT COUNT(*) FROM labs ¶OFFSET 1", "OFFSET"),
    ("SELECT COUNT(*) FROM labs ¶QUALIFY TRUE", "QUALIFY"),
    # not one of the aggregates
    ("SELECT ¶* FROM labs", "*"),
    ("SELECT ¶value FROM labs", "column"),
    ("SELECT ¶1 FROM labs", "constant"),
    ("SELECT DISTINCT ¶COUNT(*) FROM labs", "SELECT DISTINCT"),
    ("SELECT COUNT(*), ¶SUM(value) FROM labs", "SELECT list"),
    ("SELECT n¶: COUNT(*) FROM labs", ":"),
    ("SELECT COUNT(¶value) FROM labs", "COUNT"),
    ("SELECT COUNT(¶1) FROM labs", "COUNT"),
    ("SELECT COUNT(DISTINCT ¶value) FROM labs", "COUNT(DISTINCT)"),
    ("SELECT COUNT(DISTINCT ¶id, value) FROM labs", "COUNT"),
    ("SELECT COUNT(* ¶EXCLUDE (value)) FROM labs", "EXCLUDE"),
    ("SELECT COUNT(*) ¶FILTER (WHERE male) FROM labs", "FILTER"),
    ("SELECT COUNT(*) ¶OVER () FROM labs", "OVER"),
    ("SELECT SUM(DISTINCT ¶value) FROM labs", "SUM of DISTINCT"),
    ("SELECT SUM(¶test) FROM labs", "SUM of 'test'"),
    ("SELECT SUM(¶seen) FROM labs", "SUM of 'seen'"),
    ("SELECT SUM(¶id) FROM labs", "unit 'id'"),
    ("SELECT SUM(¶nope) FROM labs", "unknown column"),
    ("SELECT SUM(¶age) FROM labs", "unknown column"),
    ("SELECT SUM(¶people.age) FROM labs", "qualified column"),
    ("SELECT SUM(value ¶+ 1) FROM labs", "operator +"),
    ("SELECT SUM(¶1) FROM labs", "SUM of constant"),
    ("SELECT SUM(¶*) FROM labs", "SUM of *"),
    ("SELECT ¶AVG(value) FROM labs", "function AVG"),
    ("SELECT ¶MAX(value) FROM labs", "function MAX"),
    ("SELECT ¶COUNT(*) * 2 FROM labs", "arithmetic"),
    ("SELECT ¶SUM(huge) FROM labs", "SUM"),
]

CONDITIONS = [
    ("¶nope = 1", "unknown column"),
    ('¶"VALUE" = 1', "unknown column"),
    ("¶people.value = 1", "qualified column"),
    ("¶id = 7", "unit 'id'"),
    ("value = ¶'x'", "comparison with 'value'"),
    ("¶value = TRUE", "comparison with 'value'"),
    ("test = ¶1", "comparison with 'test'"),
    ("test = ¶'zzz'", "text that 'test' does not list"),
    ("test = ¶'HDL'", "text that 'test' does not list"),
    ("test IN ('hdl', ¶'ldl')", "text that 'test' does not list"),
    ("¶test < 'hdl'", "order of 'test'"),
    ("¶test BETWEEN 'hdl' AND 'chol'", "order of 'test'"),
    ("¶male >= FALSE", "order of 'male'"),
    ("male = ¶1", "comparison with 'male'"),
    ("seen > ¶'2020-01-01'", "comparison with 'seen'"),
    ("seen > ¶5", "comparison with 'seen'"),
    ("seen > DATE ¶'2020-02-30'", "DATE"),
    ("seen > DATE ¶'20200101'", "DATE"),
    ("seen > ¶TIMESTAMP '2020-01-01'", "TIMESTAMP"),
    ("¶value", "column 'value'"),
    ("¶1", "constant"),
    ("¶'x'", "constant"),
    ("value = ¶price", "column beside column"),
    ("1 = ¶1", "constant"),
    ("¶abs(value) = 1", "function ABS"),
    ("¶nope(value) = 1", "function NOPE"),
    ("value ¶+ 1 = 2", "operator +"),
    ("value = ¶2 * 3", "arithmetic"),
    ("¶value - 1 = 2", "arithmetic"),
    ("value ¶% 2 = 0", "operator %"),
    ("value = - -¶1", "minus sign"),
    ("- ¶value = 1", "minus sign"),
    ("value = -¶'1'", "minus sign"),
    ("value = ¶1e5", "number"),
    ("value = 0¶x10", "syntax"),
    (f"value = ¶{'9' * 61}", "number"),
    ("value ¶IS NULL", "IS"),
    ("value ¶IS NOT NULL", "IS"),
    ("value = ¶NULL", "NULL"),
    ("test ¶LIKE 'h%'", "LIKE"),
    ("test ¶ILIKE 'h%'", "ILIKE"),
    ("test ¶SIMILAR TO 'h'", "SIMILAR TO"),
    ("¶CASE WHEN male THEN TRUE END", "CASE"),
    ("¶CAST(value AS VARCHAR) = '1'", "CAST"),
    ("value¶::VARCHAR = '1'", "::"),
    ("value IN (SELECT ¶1)", "subquery"),
    ("¶EXISTS (SELECT 1)", "EXISTS"),
    ("value > (SELECT ¶1)", "subquery"),
    ("value > ¶ALL (SELECT 1)", "ALL"),
    ("value IN ¶people", "IN without parentheses"),
    ("¶value IN ()", "IN"),
    ("(¶value, price) = (1, 2)", "list"),
    ("¶value BETWEEN SYMMETRIC 1 AND 2", "BETWEEN SYMMETRIC"),
    ("¶value = 1 = 1", "comparison"),
    ("¶value = 1 = TRUE", "comparison"),
    ("test = ¶'h' 'dl'", "function CONCAT"),
    ("test = ¶E'hdl'", "HDL"),
    ("value = ¶$1", "$"),
    ("value = ¶?", "?"),
    ("value ¶[1] = 1", "["),
    ("value = 1 ¶-- AND male", "comment"),
    ("value ¶/* = 1", "comment"),
    ("test = ¶'hdl", "quotation"),
    ('¶"value = 1', "quotation"),
    ("¶ｖalue = 1", "character U+FF56"),
    ("value ¶\u2265 1", "character U+2265"),
    ("value\u00a0= 1", "character U+00A0"),
    ("value = 1¶\x00", "control character"),
    ("(value = ¶1", "syntax"),
    ("value = 1)", "syntax"),
    ("AND male", "syntax"),
    ("value = 1 ¶XOR male", "XOR"),
    ("¶COUNT(*) > 5", "function COUNT"),
]


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


#: What only the first look refuses: to the tree these say nothing that is not allowed.
HARMLESS = {
    "FROM labs SELECT COUNT(*)",
    "SELECT COUNT(*) FROM labs;;",
    "SELECT n: COUNT(*) FROM labs",
    f"{COUNT} WHERE value = 1 -- AND male",
    f"{COUNT} WHERE value\u00a0= 1",
}
MARKED = [marked for marked, _ in WHOLE] + [f"{COUNT} WHERE {marked}" for marked, _ in CONDITIONS]


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
