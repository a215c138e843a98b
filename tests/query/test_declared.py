"""Declaring columns, tables and datasets: what is refused, and that nothing is lost on the way."""

from __future__ import annotations

import datetime
from decimal import Decimal as Exact
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from interlace.core.errors import DataError, ParameterError
from interlace.query.column_types import COLUMN_TYPES
from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer
from interlace.query.declarations.reading import parse_declaration, read_declaration
from interlace.query.schema import Dataset, KeySet, PublicTable, Table
from tests.query.support import CLINIC

NAN, INF = float("nan"), float("inf")

BAD_COLUMNS: list[tuple[type[Column], tuple[Any, ...], dict[str, Any], str]] = [
    (Integer, (5, 4), {}, "lower"),
    (Integer, (0.5, 4), {}, "lower"),
    (Integer, (NAN, 4), {}, "lower"),
    (Integer, (0, INF), {}, "upper"),
    (Integer, (0, 2**63), {}, "upper"),
    (Integer, (-(2**62) - 1, 0), {}, "lower"),
    (Integer, (False, 4), {}, "lower"),
    (Integer, ("0", 4), {}, "lower"),
    (Integer, (0, 4), {"missing": 5}, "missing"),
    (Integer, (0, 4), {"missing": "zero"}, "missing"),
    (Integer, (0, 4), {"missing": None}, "missing"),
    (Integer, (0, 4), {"out_of_range": "keep"}, "out_of_range"),
    (Decimal, (5, 4, 2), {}, "lower"),
    (Decimal, (NAN, 4, 2), {}, "lower"),
    (Decimal, (0, INF, 2), {}, "upper"),
    (Decimal, (0, "four", 2), {}, "upper"),
    (Decimal, (0, "1e999999999", 2), {}, "upper"),
    (Decimal, (0, 1.005, 2), {}, "upper"),
    (Decimal, (0, 10**18, 2), {}, "upper"),
    (Decimal, (0, 4, -1), {}, "digits"),
    (Decimal, (0, 4, 16), {}, "digits"),
    (Decimal, (0, 4, 1.0), {}, "digits"),
    (Decimal, (0, 4, 2), {"missing": 4.01}, "missing"),
    (Decimal, (0, 4, 2), {"missing": 0.001}, "missing"),
    (Decimal, (0, 4, 2), {"out_of_range": None}, "out_of_range"),
    (Category, ([],), {}, "values"),
    (Category, (["a", "a"],), {}, "values"),
    (Category, (["a", ""],), {}, "values"),
    (Category, (["drop"],), {}, "values"),
    (Category, (["a\nb"],), {}, "values"),
    (Category, (["a", 1],), {}, "values"),
    (Category, ("abc",), {}, "values"),
    (Category, (7,), {}, "values"),
    (Category, (["a"],), {"missing": "b"}, "missing"),
    (Category, (["a"],), {"unknown": "b"}, "unknown"),
    (Day, ("2020-01-02", "2020-01-01"), {}, "lower"),
    (Day, ("2020-02-30", "2021-01-01"), {}, "lower"),
    (Day, (datetime.datetime(2020, 1, 1), "2021-01-01"), {}, "lower"),  # noqa: DTZ001
    (Day, (18262, "2021-01-01"), {}, "lower"),
    (Day, ("2020-01-01", "2021-01-01"), {"missing": "1999-01-01"}, "missing"),
    (Boolean, (), {"missing": 1}, "missing"),
]


@pytest.mark.parametrize(("kind", "arguments", "named", "name"), BAD_COLUMNS)
def test_a_bad_column_is_refused_by_the_name_of_its_argument(
    kind: type[Column], arguments: tuple[Any, ...], named: dict[str, Any], name: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        kind(*arguments, **named)
    assert caught.value.name == name


def test_codes() -> None:
    assert Integer(-2, 7).codes == (-2, 7)
    assert Decimal(Fraction(-1, 2), "9.99", 2).codes == (-50, 999)
    assert Decimal(0.1, Exact("0.3"), 1).codes == (1, 3)  # as they print
    assert Category(["b", "a"]).codes == (0, 1)
    assert Day("1969-12-31", datetime.date(1970, 1, 2)).codes == (-1, 1)
    assert Boolean().codes == (0, 1)
    defaults: list[Column] = [
        Integer(0, 4, 3),
        Decimal(0, 4, 1, "0.5"),
        Category(["a", "b"], "b", "a"),
    ]
    defaults += [Day("1970-01-01", "1971-01-01", "1970-02-01"), Boolean(True)]
    assert [kind.missing_code for kind in defaults] == [3, 5, 1, 31, 1]
    assert Category(["a", "b"], "b", "a").unknown_code == 0
    assert [Integer(0, 4).missing_code, Category(["a"]).unknown_code] == [None, None]


def test_values_are_frozen_and_equal_by_content() -> None:
    assert Category(["a", "b"]) == Category(("a", "b"))
    assert hash(Category(["a", "b"])) == hash(Category(("a", "b")))
    assert Decimal("0.10", 1, 2) == Decimal(Fraction(1, 10), 1, 2)
    with pytest.raises(AttributeError):
        Integer(0, 4).lower = 3  # type: ignore[misc]


XY: dict[str, Column] = {"x": Integer(0, 9), "y": Boolean()}
WIDE: dict[str, Column] = {f"x{i}": Boolean() for i in range(17)}


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Table("", {}), "name"),
        (lambda: Table('a"b', {}), "name"),
        (lambda: Table("a\nb", {}), "name"),
        (lambda: Table(" a", {}), "name"),
        (lambda: Table("e\u0301", {}), "name"),
        (lambda: Table("a" * 101, {}), "name"),
        (lambda: Table("a", {"x": Boolean(), "X": Boolean()}), "columns"),
        (lambda: Table("a", (("x", Boolean()), ("x", Boolean()))), "columns"),
        (lambda: Table("a", {"x": 7}), "columns"),  # type: ignore[dict-item]
        (lambda: Table("a", {}, 0), "rows_per_unit"),
        (lambda: Table("a", {}, 1.5), "rows_per_unit"),  # type: ignore[arg-type]
        (lambda: Table("a", {}, 10**6 + 1), "rows_per_unit"),
        (lambda: KeySet("lab", 1), "columns"),  # type: ignore[arg-type]
        (lambda: KeySet((), 1), "columns"),
        (lambda: KeySet(7, 1), "columns"),  # type: ignore[arg-type]
        (lambda: KeySet((7,), 1), "columns"),  # type: ignore[arg-type]
        (lambda: KeySet(("a", "A"), 1), "columns"),
        (lambda: KeySet(("a",), 0), "keys_per_unit"),
        (lambda: KeySet(("a",), True), "keys_per_unit"),
        (lambda: KeySet(("a",), 10**6 + 1), "keys_per_unit"),
        (lambda: Table("a", {"x": Boolean()}, 2, [KeySet(("X",), 1)]), "key_sets"),
        (lambda: Table("a", {}, 2, [KeySet(("x",), 1)]), "key_sets"),
        (lambda: Table("a", XY, 2, [KeySet(("x", "y"), 1), KeySet(("y", "x"), 2)]), "key_sets"),
        (lambda: Table("a", XY, 2, [("x",)]), "key_sets"),  # type: ignore[list-item]
        (lambda: Table("a", XY, 2, 7), "key_sets"),  # type: ignore[arg-type]
        (lambda: Table("a", WIDE, 2, [KeySet((name,), 1) for name in WIDE]), "key_sets"),
        (lambda: PublicTable("", "x", XY), "name"),
        (lambda: PublicTable("p", "z", XY), "key"),
        (lambda: PublicTable("p", "X", XY), "key"),
        (lambda: PublicTable("p", ["x"], XY), "key"),  # type: ignore[arg-type]
        (lambda: PublicTable("p", "x", {"x": 7}), "columns"),  # type: ignore[dict-item]
        (lambda: PublicTable("p", "x", {"x": Boolean(), "X": Boolean()}), "columns"),
        (lambda: Dataset("d", "id", (Table("a", {}),), (PublicTable("A", "x", XY),)), "public"),
        (lambda: Dataset("d", "Y", (Table("a", {}),), (PublicTable("p", "x", XY),)), "public"),
        (lambda: Dataset("d", "id", ()), "tables"),
        (lambda: Dataset("d", "id", (Table("a", {}), Table("A", {}))), "tables"),
        (lambda: Dataset("d", "ID", (Table("a", {"id": Boolean()}),)), "unit"),
        (lambda: Dataset("d", "", (Table("a", {}),)), "unit"),
        (lambda: Dataset(7, "id", (Table("a", {}),)), "name"),  # type: ignore[arg-type]
    ],
)
def test_a_bad_table_is_refused_by_the_name_of_its_argument(make: Any, name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.name == name


def test_a_column_that_is_no_domain_is_told_what_there_is() -> None:
    with pytest.raises(ParameterError, match="'x' must be Integer, Decimal, Category, Boolean or"):
        Table("a", {"x": int})  # type: ignore[dict-item]


def test_names_are_found_by_the_rule_of_sql() -> None:
    labs = CLINIC.tables[0]
    assert CLINIC.table("LABS") is CLINIC.table("labs", quoted=True) is labs
    assert CLINIC.table("LABS", quoted=True) is None
    assert (labs.column("Case.ID"), labs.column("Case.ID", quoted=True)) == ("case.id", None)
    assert labs.kind("value") == Integer(-5, 500)


def test_json_keeps_everything() -> None:
    text = CLINIC.to_json()
    assert Dataset.from_json(text) == CLINIC
    assert Dataset.from_json(text).to_json() == text
    rules = Dataset(
        "d",
        "id",
        (
            Table(
                "a",
                {
                    "i": Integer(0, 2**62, 7, "drop"),
                    "d": Decimal("-0.005", "0.3", 3, "0.1", "drop"),
                    "c": Category(["ä", "'"], "ä", "'"),
                    "t": Day("2020-01-01", "2020-02-01", "2020-01-15", "drop"),
                    "b": Boolean(False),
                },
                7,
            ),
        ),
    )
    assert Dataset.from_json(rules.to_json()) == rules
    assert Dataset.from_json(rules.to_json()).tables[0].kind("b") == Boolean(False)


RICH = Dataset(
    "d",
    "id",
    (
        Table("a", XY, 7, [KeySet(("y",), 1), KeySet(("y", "x"), 3)]),
        Table("b", XY),
    ),
    (PublicTable("Wards", "x", XY),),
)


def test_json_keeps_key_sets_and_public_tables() -> None:
    assert Dataset.from_json(RICH.to_json()) == RICH
    assert Dataset.from_json(RICH.to_json()).to_json() == RICH.to_json()
    assert RICH.tables[0].key_sets[1] == KeySet(["y", "x"], 3)  # type: ignore[arg-type]


def test_json_of_what_has_none_is_as_it_always_was() -> None:
    dataset = Dataset("d", "id", (Table("a", {"x": Boolean()}, 2),))
    assert dataset.to_json() == (
        '{"name":"d","unit":"id","tables":[{"name":"a","rows_per_unit":2,'
        '"columns":[["x",{"type":"boolean","missing":"drop"}]]}]}'
    )


def test_public_tables_stand_apart_from_those_of_units() -> None:
    wards = RICH.public[0]
    assert RICH.every_table == (*RICH.tables, *RICH.public)
    assert RICH.table("wards") is None
    assert (wards.column("X"), wards.column("X", quoted=True)) == ("x", None)
    assert wards.kind("y") == Boolean()


def test_no_column_is_a_float_so_no_key_is() -> None:
    for kind in (Integer(-3, 3), Decimal("-0.5", "0.5", 1), Category(["a"]), Boolean()):
        assert {type(code) for code in kind.codes} == {int}
    assert set(COLUMN_TYPES) == {"integer", "decimal", "category", "day", "boolean"}


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"name":1}', CLINIC.to_json()[:-2], "7"])
def test_other_json_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        Dataset.from_json(text)


GOOD = """
name = "clinic"
unit = "id"
[tables.labs]
source = "labs.parquet"
rows_per_unit = 60
[tables.labs.columns]
value = { type = "integer", lower = 0, upper = 500, missing = 0, out_of_range = "drop" }
price = { type = "decimal", lower = 0.1, upper = 0.3, digits = 1 }
test = { type = "category", values = ["hdl", "chol"], unknown = "hdl" }
seen = { type = "day", lower = 2020-01-01, upper = "2020-12-31" }
male = { type = "boolean", missing = false }
[tables.people]
rows_per_unit = 1
[tables.people.columns]
age = { type = "integer", lower = 0, upper = 120 }
"""

KEYED = """
name = "clinic"
unit = "id"
[tables.labs]
rows_per_unit = 60
key_sets = [{ columns = ["lab"], keys_per_unit = 3 }, { columns = ["lab", "odd"], keys_per_unit = 4 }]
[tables.labs.columns]
lab = { type = "integer", lower = 0, upper = 500 }
odd = { type = "boolean" }
[public.wards]
source = "wards.csv"
key = "ward"
[public.wards.columns]
ward = { type = "integer", lower = 0, upper = 9 }
beds = { type = "integer", lower = 0, upper = 99 }
[public.days]
key = "day"
[public.days.columns]
day = { type = "day", lower = 2020-01-01, upper = 2020-12-31 }
"""


def test_key_sets_and_public_tables_are_read(tmp_path: Path) -> None:
    file = tmp_path / "clinic.toml"
    file.write_text(KEYED, encoding="utf-8")
    declared = read_declaration(file)
    assert declared.sources == {"wards": tmp_path / "wards.csv"}
    labs = Table(
        "labs",
        {"lab": Integer(0, 500), "odd": Boolean()},
        60,
        [KeySet(("lab",), 3), KeySet(("lab", "odd"), 4)],
    )
    wards = PublicTable("wards", "ward", {"ward": Integer(0, 9), "beds": Integer(0, 99)})
    days = PublicTable("days", "day", {"day": Day("2020-01-01", "2020-12-31")})
    assert declared.dataset == Dataset("clinic", "id", (labs,), (wards, days))


def test_a_declaration_is_read(tmp_path: Path) -> None:
    file = tmp_path / "clinic.toml"
    file.write_text(GOOD, encoding="utf-8")
    declared = read_declaration(file)
    assert declared.sources == {"labs": tmp_path / "labs.parquet"}
    assert declared.dataset == Dataset(
        "clinic",
        "id",
        (
            Table(
                "labs",
                {
                    "value": Integer(0, 500, 0, "drop"),
                    "price": Decimal("0.1", "0.3", 1),
                    "test": Category(["hdl", "chol"], unknown="hdl"),
                    "seen": Day("2020-01-01", "2020-12-31"),
                    "male": Boolean(missing=False),
                },
                60,
            ),
            Table("people", {"age": Integer(0, 120)}),
        ),
    )


@pytest.mark.parametrize(
    ("written", "instead", "name"),
    [
        ('unit = "id"', "", "declaration.unit"),
        ('unit = "id"', 'unit = "id"\nkey = 1', "declaration.key"),
        ("rows_per_unit = 60", "", "tables.labs.rows_per_unit"),
        ("rows_per_unit = 60", "rows_per_unit = 0", "tables.labs.rows_per_unit"),
        ("rows_per_unit = 60", "rows_per_unit = 60\nrow_limit = 1", "tables.labs.row_limit"),
        ('source = "labs.parquet"', "source = 7", "tables.labs.source"),
        ('"integer", lower = 0, upper = 500', '"integer", lower = 0', "tables.labs.columns.value.upper"),
        ("upper = 500", "uper = 500", "tables.labs.columns.value.uper"),
        ("upper = 500", "upper = -1", "tables.labs.columns.value.lower"),
        ("upper = 500", "upper = nan", "tables.labs.columns.value.upper"),
        ('"integer", lower = 0, upper = 500', '"int", lower = 0', "tables.labs.columns.value.type"),
        ('type = "day", ', "", "tables.labs.columns.seen.type"),
        ('["hdl", "chol"]', "[]", "tables.labs.columns.test.values"),
        ("missing = false", "lower = 0", "tables.labs.columns.male.lower"),
        ("digits = 1", "digits = 0", "tables.labs.columns.price.lower"),
        ("age = {", "id = {", "unit"),
        ("age = { type = \"integer\", lower = 0, upper = 120 }", "age = 7", "tables.people.columns.age"),
        ("age = { type = \"integer\", lower = 0, upper = 120 }", "", "tables.people.columns"),
    ],
)  # fmt: skip
def test_a_bad_declaration_is_refused_by_the_place_in_it(
    written: str, instead: str, name: str
) -> None:
    assert written in GOOD
    with pytest.raises(ParameterError) as caught:
        parse_declaration(GOOD.replace(written, instead, 1))
    assert caught.value.name == name


@pytest.mark.parametrize(
    ("written", "instead", "name"),
    [
        ('["lab"], keys_per_unit = 3', '["lab"]', "tables.labs.key_sets.0.keys_per_unit"),
        ('columns = ["lab"], ', "", "tables.labs.key_sets.0.columns"),
        ('columns = ["lab"],', 'columns = "lab",', "tables.labs.key_sets.0.columns"),
        ("keys_per_unit = 4", "keys_per_unit = 0", "tables.labs.key_sets.1.keys_per_unit"),
        ("keys_per_unit = 4", "keys_per_unit = 4, rows = 1", "tables.labs.key_sets.1.rows"),
        ('["lab", "odd"]', '["lab", "even"]', "tables.labs.key_sets"),
        ('["lab", "odd"]', '["lab"]', "tables.labs.key_sets"),
        ("key_sets = [", "key_sets = 7 # [", "tables.labs.key_sets"),
        ("key_sets = [", "key_sets = [7] # [", "tables.labs.key_sets.0"),
        ('key = "ward"', "", "public.wards.key"),
        ('key = "ward"', 'key = "wards"', "public.wards.key"),
        ('key = "ward"', 'key = "ward"\nrows_per_unit = 1', "public.wards.rows_per_unit"),
        ('"wards.csv"', "7", "public.wards.source"),
        ("upper = 99", "uper = 99", "public.wards.columns.beds.uper"),
        ("beds =", "id =", "public"),
        ("public.wards", "public.labs", "public"),
        ("[public.days]", "[public]\ndays = 7\n[more]", "public.days"),
    ],
)
def test_bad_keys_and_public_tables_are_refused_by_the_place(
    written: str, instead: str, name: str
) -> None:
    assert written in KEYED
    text = KEYED.replace(written, instead)
    if name == "public.days":
        text = text.partition("[public")[0] + "[public]\ndays = 7\n"
    with pytest.raises(ParameterError) as caught:
        parse_declaration(text)
    assert caught.value.name == name


def test_a_file_that_is_no_declaration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        read_declaration(tmp_path / "none.toml")
    with pytest.raises(DataError, match="not TOML"):
        parse_declaration("name = ")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="UTF-8"):
        read_declaration(tmp_path / "bytes.toml")
