"""check-config: all problems at once, each in its place, and none where the reader has none."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import DataError, ParameterError
from interlace.query.declarations.checking import WHY, check_declaration, lines_of
from interlace.query.declarations.reading import parse_declaration
from interlace.query.declarations.writing import declaration_text
from interlace.query.schema import Dataset
from tests.effort import examples
from tests.query.declarations import datasets

_BROKEN = """\
name = "clinic"
uint = "id"

[tables.people]
rows_per_unit = 0
[tables.people.columns]
age = { type = "integer", lower = 9, upper = 0, missing = "x" }
sex = { type = "category" }
id = { type = "text" }
day = { type = "day", lower = 2020-01-01, uper = 2021-01-01 }

[tables.labs]
source = 7
key_sets = [{ columns = ["nothing"], keys_per_unit = 2 }, { columns = ["fee"] }]
[tables.labs.columns.fee]
type = "decimal"
lower = 0.001
upper = 1
digits = 2
out_of_range = "keep"

[public.wards]
key = "bed"
[public.wards.columns]
ward = { type = "integer", lower = 1, upper = 9 }
"""


def test_all_problems_are_told_at_once_each_on_its_line() -> None:
    found = check_declaration(_BROKEN)
    assert found.declaration is None
    assert [(problem.line, problem.where) for problem in found.problems] == [
        (None, "unit"),
        (2, "uint"),
        (5, "tables.people.rows_per_unit"),
        (7, "tables.people.columns.age.lower"),
        (8, "tables.people.columns.sex.values"),
        (9, "tables.people.columns.id.type"),
        (10, "tables.people.columns.day.upper"),
        (10, "tables.people.columns.day.uper"),
        (12, "tables.labs.rows_per_unit"),
        (13, "tables.labs.source"),
        (14, "tables.labs.key_sets.1.keys_per_unit"),
        (14, "tables.labs.key_sets"),
        (17, "tables.labs.columns.fee.lower"),
        (23, "public.wards.key"),
    ]
    told = {problem.where: problem.why for problem in found.problems}
    assert told["unit"] == WHY["unit"]
    assert "never from the data" in str(told["tables.people.columns.day.upper"])


@pytest.mark.parametrize(
    ("text", "line"), [("a = \n", 1), ('name = "x"\nunit = "a\n', 2), ("[a]\n[a]\n", 2)]
)
def test_what_is_not_toml_is_one_problem(text: str, line: int) -> None:
    [problem] = check_declaration(text).problems
    assert (problem.where, problem.line) == ("declaration", line)


def test_what_concerns_several_tables_is_told_too() -> None:
    table = "rows_per_unit = 1\n[{0}.columns]\nx = {{ type = 'boolean' }}\n"
    text = "name = 'a'\nunit = 'id'\n[tables.t]\n" + table.format("tables.t")
    twice = text + "[tables.T]\n" + table.format("tables.T")
    [problem] = check_declaration(twice).problems
    assert "one name to SQL" in problem.what
    [problem] = check_declaration(text.replace("x =", "ID =")).problems
    assert (problem.where, problem.line) == ("tables.t.columns.ID", 6)
    assert "is the unit" in problem.what


def test_the_empty_declaration_lacks_everything_and_says_why() -> None:
    found = check_declaration("")
    assert [problem.where for problem in found.problems] == ["name", "unit", "tables"]
    assert all(problem.why for problem in found.problems)


@settings(max_examples=examples(100))
@given(datasets())
def test_what_is_complete_is_read_as_the_reader_reads_it(dataset: Dataset) -> None:
    text = declaration_text(dataset, {}, "units")
    found = check_declaration(text)
    assert found.problems == ()
    assert found.declaration == parse_declaration(text)


#: What a slip of the hand makes of a line.
_SLIPS: list[tuple[str, str]] = [
    (r"lower = \S+", "lower = 'x'"), (r"upper = [^,}\s]+,?", ""), (r"rows_per_unit", "rows"),
    (r"rows_per_unit = \d+", "rows_per_unit = true"), (r"type = \"\w+\"", "type = 3"),
    (r"type = \"\w+\",?", ""), (r"unit = .*", ""), (r"name = .*", 'name = ""'),
    (r"keys_per_unit = \d", "keys_per_unit = 0"), (r"columns = \[", "columns = ['none', "),
    (r"key = .*", "key = 7"), (r"values = \[", "values = [5, "), (r"missing = \S+", "missing = []"),
    (r"out_of_range = \S+", "out_of_range = 'keep' }"), (r"digits = \d", "digits = 99"),
    (r"key_sets = .*", "key_sets = 3"), (r"\]\n\"", "]\nmore = {}\n\""), (r"domain = .*", "domain = 3"),
]  # fmt: skip


@settings(max_examples=examples(200))
@given(datasets(), st.sampled_from(_SLIPS), st.integers(0, 3))
def test_it_finds_a_problem_exactly_where_the_reader_does(
    dataset: Dataset, slip: tuple[str, str], where: int
) -> None:
    text = declaration_text(dataset, {}, "units")
    places = list(re.finditer(slip[0], text))
    if places:
        start, end = places[where % len(places)].span()
        text = text[:start] + slip[1] + text[end:]
    found = check_declaration(text)
    read: Any
    try:
        read = parse_declaration(text)
    except (ParameterError, DataError):
        read = None
    assert (found.declaration is None) == (read is None) == bool(found.problems)


def test_lines_are_found_behind_comments_quotes_and_long_values() -> None:
    text = """# a = 1
"b.c" = 1 # d = 2
e = [
  1,
]
  [ f . "g" ]
h.i = 2
'j' = 3
[[k]]
l = 4
"""
    assert lines_of(text) == {
        ("b.c",): 2,
        ("e",): 3,
        ("f", "g"): 6,
        ("f", "g", "h", "i"): 7,
        ("f", "g", "j"): 8,
        ("k",): 9,
        ("k", "l"): 10,
    }


@given(st.text(alphabet="ab.\"'=[]#{}\\\n ,0", max_size=40))
def test_any_text_is_judged(text: str) -> None:
    assert check_declaration(text).problems
    assert all(0 < line <= len(text.splitlines()) for line in lines_of(text).values())


@pytest.mark.parametrize("text", ["a = " + "[" * 5000, "a = " + "{ b = " * 5000])
def test_a_text_that_nests_too_deep_is_refused(text: str) -> None:
    assert "deep" in str(check_declaration(text).problems[0])
    with pytest.raises(DataError, match="deep"):
        parse_declaration(text)
