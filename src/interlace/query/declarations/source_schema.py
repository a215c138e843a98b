"""The schema that a source has by itself: names of columns and types, as a draft starts from.

Only what stands in a schema is known here: the types of a Parquet file, the first line of a CSV
file, the text of a CREATE TABLE. No value was read, nor anything that was computed from values.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from interlace.core.errors import DataError

#: Tried in this order, unless one is named.
_DIALECTS = ("postgres", "duckdb", "mysql", "tsql", "oracle", "sqlite")
_INTEGERS = frozenset(
    {"TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "INT128", "INT256", "UTINYINT"}
    | {"USMALLINT", "UMEDIUMINT", "UINT", "UBIGINT", "UINT128", "UINT256"}
    | {"SERIAL", "SMALLSERIAL", "BIGSERIAL", "YEAR"}
)
_NUMBERS = frozenset({"DECIMAL", "UDECIMAL", "BIGDECIMAL", "FLOAT", "DOUBLE", "UDOUBLE"})
_TEXTS = frozenset(
    {"TEXT", "VARCHAR", "NVARCHAR", "CHAR", "NCHAR", "BPCHAR", "NAME", "UUID"}
    | {"TINYTEXT", "MEDIUMTEXT", "LONGTEXT", "ENUM", "USERDEFINED"}
)
_DAYS = frozenset(
    {"DATE", "DATE32", "DATETIME", "DATETIME2", "SMALLDATETIME", "TIMESTAMP"}
    | {"TIMESTAMPNTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
)


@dataclass(frozen=True)
class Field:
    """A column: the type that a declaration would give it, or None where that is not known.

    ``given`` is the source's own type, if it has one. ``values`` are those that a schema lists
    for an ENUM, ``digits`` the decimals of a DECIMAL.
    """

    type: str | None
    given: str | None = None
    values: tuple[str, ...] = ()
    digits: int | None = None


@dataclass(frozen=True)
class Found:
    """A table as its source's schema has it. ``source`` is a path for the declaration, if the
    schema is that of a file with data."""

    name: str
    fields: Mapping[str, Field]
    source: str | None = None


def field_of(sql_type: str) -> Field:
    """The field of a column of a Parquet file. What a type lists is not taken from there: the
    writer of a file may have listed what it found.

    >>> field_of("DECIMAL(9,2)")
    Field(type='decimal', given='DECIMAL(9,2)', values=(), digits=2)
    """
    try:
        kind = exp.DataType.build(sql_type, dialect="duckdb")
    except SqlglotError:
        return Field(None, sql_type)
    found = _field(kind, sql_type)
    return Field(found.type, found.given, (), found.digits)


def header_of(line: bytes, separator: str = ",") -> dict[str, Field]:
    """The columns of a CSV file by its first line; their types are not known from it.

    Raises DataError for a line that names no columns: whoever has a file without a header would
    otherwise find its first row in the draft.

    >>> list(header_of(b"id,age"))
    ['id', 'age']
    """
    try:
        text = line.decode("utf-8-sig").rstrip("\r\n")
        names = next(csv.reader([text], delimiter=separator, strict=True), [])
    except (UnicodeDecodeError, csv.Error):
        names = []
    if not names or len(set(names)) < len(names) or any(map(_is_value, names)):
        raise DataError(
            "the first line of a CSV file must name every column once, in UTF-8: it holds "
            "something else, perhaps data"
        )
    return dict.fromkeys(names, Field(None))


def _is_value(cell: str) -> bool:
    """Whether a cell of the first line is rather a value than a name."""
    return not cell.strip() or re.match(r"[\s+-]*[.]?[0-9]", cell) is not None


def tables_of(sql: str, dialect: str | None = None) -> list[Found]:
    """The tables of a text of CREATE TABLE statements; other statements are passed over.

    Raises DataError for a text without any, or that no dialect of SQL reads.

    >>> [labs] = tables_of("CREATE TABLE labs (id INT, sex ENUM('f', 'm'), fee DECIMAL(9,2))")
    >>> labs.fields["sex"].values, labs.fields["fee"].digits
    (('f', 'm'), 2)
    """
    for name in _DIALECTS if dialect is None else (dialect,):
        try:
            statements = sqlglot.parse(sql, dialect=name)
        except (SqlglotError, ValueError):  # ValueError: no such dialect
            continue
        found = [_table(s.this) for s in statements if s is not None and _creates(s)]
        if found:
            return found
    raise DataError(
        "no CREATE TABLE with columns was found: give the schema's statements, as text, and its "
        "dialect if it is an unusual one"
    )


def _creates(statement: exp.Expr) -> bool:
    return (
        isinstance(statement, exp.Create)
        and statement.args.get("kind") == "TABLE"
        and isinstance(statement.this, exp.Schema)
    )


def _table(schema: exp.Expr) -> Found:
    return Found(schema.this.name, dict(_columns(schema)))


def _columns(schema: exp.Expr) -> Iterator[tuple[str, Field]]:
    for part in schema.expressions:
        if isinstance(part, exp.ColumnDef):
            kind = part.args.get("kind")
            yield part.name, Field(None) if kind is None else _field(kind, kind.sql())
        elif isinstance(part, exp.Identifier):  # SQLite's column without a type
            yield part.name, Field(None)


def _field(kind: exp.DataType, given: str) -> Field:
    name = getattr(kind.this, "name", str(kind.this))
    if name in _INTEGERS:
        return Field("integer", given)
    if name in _NUMBERS:
        return _number(kind, given)
    if name in _TEXTS:
        listed = [p.name for p in kind.expressions if isinstance(p, exp.Literal) and p.is_string]
        return Field("category", given, tuple(listed))
    if name in _DAYS:
        return Field("day", given)
    return Field("boolean" if name in ("BOOLEAN", "BIT") else None, given)


def _number(kind: exp.DataType, given: str) -> Field:
    sizes = [part.name for part in kind.expressions]
    if "DECIMAL" in str(kind.this) and sizes:
        digits = int(sizes[1]) if len(sizes) > 1 and sizes[1].isdigit() else 0
        return Field("decimal", given, (), digits) if digits else Field("integer", given)
    return Field("decimal", given)
