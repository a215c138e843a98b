"""A declaration as TOML text, as ``read_declaration`` reads it. Opens no file, sees no data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from interlace.query.column_types import type_of
from interlace.query.columns import Boolean, Category, Column, Decimal
from interlace.query.schema import Columns, Dataset


def declaration_text(
    dataset: Dataset, sources: Mapping[str, str] | None = None, domain: str | None = None
) -> str:
    """The dataset in TOML, with the paths of its ``sources`` by the names of the tables.

    >>> from interlace.query.columns import Integer
    >>> from interlace.query.schema import Table
    >>> clinic = Dataset("clinic", "id", (Table("people", {"age": Integer(0, 120)}),))
    >>> print(declaration_text(clinic, {"people": "people.parquet"}))
    name = "clinic"
    unit = "id"
    <BLANKLINE>
    [tables."people"]
    source = "people.parquet"
    rows_per_unit = 1
    [tables."people".columns]
    "age" = { type = "integer", lower = 0, upper = 120 }
    <BLANKLINE>
    """
    return "\n".join(_lines(dataset, sources or {}, domain)) + "\n"


def quoted(text: str) -> str:
    """A text, or a key, as TOML writes it. Printable text has one form in TOML and in JSON."""
    return json.dumps(text, ensure_ascii=False)


def _lines(dataset: Dataset, sources: Mapping[str, str], domain: str | None) -> Iterator[str]:
    yield f"name = {quoted(dataset.name)}"
    yield f"unit = {quoted(dataset.unit)}"
    if domain is not None:
        yield f"domain = {quoted(domain)}"
    for table in dataset.tables:
        yield from _head("tables", table.name, sources)
        yield f"rows_per_unit = {table.rows_per_unit}"
        if table.key_sets:
            parts = (
                f"{{ columns = [{', '.join(map(quoted, keys.columns))}], "
                f"keys_per_unit = {keys.keys_per_unit} }}"
                for keys in table.key_sets
            )
            yield f"key_sets = [{', '.join(parts)}]"
        yield from _columns("tables", table.name, table.columns)
    for public in dataset.public:
        yield from _head("public", public.name, sources)
        yield f"key = {quoted(public.key)}"
        yield from _columns("public", public.name, public.columns)


def _head(where: str, name: str, sources: Mapping[str, str]) -> Iterator[str]:
    yield ""
    yield f"[{where}.{quoted(name)}]"
    if name in sources:
        yield f"source = {quoted(sources[name])}"


def _columns(where: str, name: str, columns: Columns) -> Iterator[str]:
    yield f"[{where}.{quoted(name)}.columns]"
    for column, kind in columns:
        parts = [f'type = "{type_of(kind)}"', *_domain(kind), *_rules(kind)]
        yield f"{quoted(column)} = {{ {', '.join(parts)} }}"


def _domain(kind: Column) -> Iterator[str]:
    if isinstance(kind, Boolean):
        return
    if isinstance(kind, Category):
        yield f"values = [{', '.join(map(quoted, kind.values))}]"
        return
    lower, upper = kind.codes
    yield f"lower = {_literal(kind, lower)}"
    yield f"upper = {_literal(kind, upper)}"
    if isinstance(kind, Decimal):
        yield f"digits = {kind.digits}"


def _rules(kind: Column) -> Iterator[str]:
    """Those that are not the defaults."""
    if kind.missing_code is not None:
        yield f"missing = {_literal(kind, kind.missing_code)}"
    if isinstance(kind, Category):
        if kind.unknown_code is not None:
            yield f"unknown = {_literal(kind, kind.unknown_code)}"
    elif not isinstance(kind, Boolean) and kind.out_of_range != "clamp":
        yield f"out_of_range = {quoted(kind.out_of_range)}"


def _literal(kind: Column, code: int) -> str:
    """A value of a column: numbers and days as SQL shows them, without its words."""
    if isinstance(kind, Category):
        return quoted(kind.values[code])
    return kind.show(code).removeprefix("DATE ").strip("'").lower()
