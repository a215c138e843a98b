"""Drafts of declarations: all that a schema tells, nothing of the data, and nothing that
registers before a person filled it in."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import DataError, ParameterError
from interlace.query.declarations.checking import check_declaration
from interlace.query.declarations.drafting import draft
from interlace.query.declarations.source_schema import Field, Found, field_of, header_of, tables_of
from tests.effort import examples
from tests.query.declarations import NAMES

_POSTGRES = """
    CREATE TYPE mood AS ENUM ('sad', 'glad');
    CREATE TABLE public.people (
        id bigserial PRIMARY KEY, "case.id" int NOT NULL, fee numeric(9,2), whole numeric(9),
        weight double precision, mood mood, seen date, at timestamp, zoned timestamptz,
        ok bool DEFAULT true, tags text[], note jsonb, CONSTRAINT a CHECK (fee > 0)
    );
    CREATE INDEX i ON people (fee);
    INSERT INTO people VALUES (31337);
"""


@pytest.mark.parametrize(
    ("sql_type", "label", "digits"),
    [
        ("BIGINT", "integer", None),
        ("UTINYINT", "integer", None),
        ("HUGEINT", "integer", None),
        ("DECIMAL(9,2)", "decimal", 2),
        ("DECIMAL(9,0)", "integer", None),
        ("FLOAT", "decimal", None),
        ("DOUBLE", "decimal", None),
        ("VARCHAR", "category", None),
        ("UUID", "category", None),
        ("DATE", "day", None),
        ("TIMESTAMP", "day", None),
        ("TIMESTAMP_NS", "day", None),
        ("BOOLEAN", "boolean", None),
        ("TIMESTAMP WITH TIME ZONE", None, None),
        ("BLOB", None, None),
        ("TIME", None, None),
        ("INTEGER[]", None, None),
        ("STRUCT(a INTEGER)", None, None),
        ("MAP(VARCHAR, INTEGER)", None, None),
        ('"NULL"', None, None),
    ],
)
def test_types_of_parquet_files(sql_type: str, label: str | None, digits: int | None) -> None:
    assert field_of(sql_type) == Field(label, sql_type, (), digits)


def test_values_of_a_file_with_data_are_not_taken_even_from_its_type() -> None:
    assert field_of("ENUM('x', 'y')") == Field("category", "ENUM('x', 'y')")


def test_a_schema_in_sql() -> None:
    [people] = tables_of(_POSTGRES)
    labels = {name: field.type for name, field in people.fields.items()}
    assert people.name == "people"
    assert labels == {
        "id": "integer",
        "case.id": "integer",
        "fee": "decimal",
        "whole": "integer",
        "weight": "decimal",
        "mood": "category",
        "seen": "day",
        "at": "day",
        "zoned": None,
        "ok": "boolean",
        "tags": None,
        "note": None,
    }
    assert people.fields["fee"].digits == 2
    assert "31337" not in draft([people])


@pytest.mark.parametrize(
    ("sql", "dialect"),
    [
        ("CREATE TABLE `t` (`id` int unsigned, `sex` enum('f','m')) ENGINE=InnoDB", None),
        ("CREATE TABLE t (id UINTEGER, sex ENUM('f', 'm'))", "duckdb"),
    ],
)
def test_values_that_a_schema_lists_are_taken(sql: str, dialect: str | None) -> None:
    [table] = tables_of(sql, dialect)
    assert table.fields["sex"].values == ("f", "m")
    assert 'values = ["f", "m"]   # as the schema lists them' in draft([table])


def test_other_dialects_and_columns_without_a_type() -> None:
    [table] = tables_of("CREATE TABLE [dbo].[t] ([id] INT IDENTITY(1,1), [b] BIT)")
    assert {n: f.type for n, f in table.fields.items()} == {"id": "integer", "b": "boolean"}
    [table] = tables_of("CREATE TABLE t (id, x INTEGER)", "sqlite")
    assert table.fields["id"] == Field(None)


@pytest.mark.parametrize("sql", ["", "SELECT 1", "CREATE TABLE", "CREATE TABLE t AS SELECT 1", "a"])
def test_a_text_without_a_schema_is_refused(sql: str) -> None:
    with pytest.raises(DataError, match="no CREATE TABLE"):
        tables_of(sql)
    with pytest.raises(DataError, match="no CREATE TABLE"):
        tables_of(_POSTGRES, "no such dialect")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"17,ada\n",
        b"ada,1.5",
        b"ada,,bob",
        b"a,a",
        b"\xff\xfe,b",
        b'"a',
        b"id,-7",
        b"x,.5",
    ],
)
def test_a_first_line_that_is_no_header_is_refused_and_not_shown(line: bytes) -> None:
    with pytest.raises(DataError, match="first line") as refused:
        header_of(line)
    assert "ada" not in str(refused.value)


def test_a_header_may_be_quoted_and_marked() -> None:
    assert list(header_of(b'\xef\xbb\xbfid,"a, b","say ""x"""\r\n')) == ["id", "a, b", 'say "x"']
    assert list(header_of(b"id\tage\n", "\t")) == ["id", "age"]


_FIELDS = st.one_of(
    st.builds(Field, st.sampled_from(["integer", "day", "boolean", None]), st.just("X\n= Y")),
    st.builds(Field, st.just("category"), st.none(), st.sampled_from([(), ("a", 'b"'), ("drop",)])),
    st.builds(Field, st.just("decimal"), st.none(), st.just(()), st.none() | st.integers(0, 9)),
)
#: What fills in each line that is missing, so that the draft is complete.
_FILLED = {
    "name": '"x"', "unit": '"the unit"', "rows_per_unit": "3", "lower": "0", "upper": "9",
    "digits": "1", "values": '["a"]', "type": '"boolean"',
}  # fmt: skip


@settings(max_examples=examples(60))
@given(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
    st.dictionaries(st.sampled_from(NAMES), _FIELDS, min_size=1, max_size=5),
    st.sampled_from([None, "c"]),
)
def test_a_draft_is_complete_once_filled_in_and_not_before(
    tables: list[str], fields: dict[str, Field], name: str | None
) -> None:
    text = draft([Found(table, fields, "x.csv") for table in tables], name)
    before = check_declaration(text)
    assert before.declaration is None
    missing = [line for line in text.splitlines() if "# MISSING:" in line]
    assert len(before.problems) == len(missing)
    filled = re.sub(r"^# (\w+) = ( +# MISSING)", _fill, text, flags=re.MULTILINE)
    days = re.sub(
        r'(type = "day"\nlower = )0(.*\nupper = )9', r"\g<1>2020-01-01\g<2>2021-01-01", filled
    )
    after = check_declaration(days)
    assert after.problems == ()
    assert after.declaration is not None
    dataset = after.declaration.dataset
    assert [table.name for table in dataset.tables] == tables
    assert [column for column, _ in dataset.tables[0].columns] == list(fields)


def _fill(found: re.Match[str]) -> str:
    return f"{found[1]} = {_FILLED[found[1]]}{found[2]}"


def test_the_unit_is_no_column_where_it_is_known() -> None:
    tables = [Found(t, {"ID": Field("integer"), "x": Field("boolean")}) for t in ("a", "b")]
    text = draft(tables, "c", "id")
    assert 'unit = "id"' in text
    assert '"ID"' not in text
    assert 'in all tables there is "ID" and "x"' in draft(tables)
    with pytest.raises(ParameterError, match=r"unit: table 'c' has no column 'id'.*--public"):
        draft([*tables, Found("c", {"x": Field("boolean")})], "c", "id")


def test_a_public_table_lacks_its_key_and_its_domains() -> None:
    tables = [Found("a", {"id": Field("integer"), "x": Field("boolean")})]
    codes = Found("codes", {"code": Field("category"), "beds": Field("integer")}, "codes.csv")
    text = draft(tables, "c", "id", [codes])
    lacking = [str(p).partition(": ")[2] for p in check_declaration(text).problems]
    public = [told for told in lacking if told.startswith("public")]
    assert public == [
        "public.codes.key is missing",
        "public.codes.columns.code.values is missing",
        "public.codes.columns.beds.lower is missing",
        "public.codes.columns.beds.upper is missing",
    ]
    assert 'one of "code", "beds"' in text
    with pytest.raises(ParameterError, match="public: table 'codes' has the column 'CODE'"):
        draft([Found("a", {"code": Field("integer")})], "c", "CODE", [codes])
    with pytest.raises(ParameterError, match="tables"):
        draft(tables, "c", "id", [Found("a", {"y": Field("boolean")})])


def test_names_that_no_declaration_could_have_are_refused() -> None:
    for table, column in (("a", 'b"'), ('a"', "b"), (" a", "b"), ("a", "")):
        with pytest.raises(ParameterError):
            draft([Found(table, {column: Field(None)})])
    with pytest.raises(ParameterError, match="one name to SQL"):
        draft([Found("a", {"b": Field(None), "B": Field(None)})])
