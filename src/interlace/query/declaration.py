"""Reads a custodian's TOML declaration of a dataset. Public metadata only; opens no source.

Every key is checked: a bound that was misspelt would otherwise silently not hold.
"""

from __future__ import annotations

import decimal
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError, ParameterError
from interlace.query.columns import Column
from interlace.query.schema import COLUMN_TYPES, Dataset, Table

_OPTIONAL = ("missing", "out_of_range", "unknown")


@dataclass(frozen=True)
class Declaration:
    """A dataset and where its tables come from. A table without a source of its own is to be
    handed over by the caller. ``domain`` names the population of its units, if it was given."""

    dataset: Dataset
    sources: Mapping[str, Path]
    domain: str | None = None


def read_declaration(file: Path) -> Declaration:
    """The declaration in a TOML file; paths of sources are relative to that file.

    Raises DataError if the file cannot be read as TOML, and ParameterError, naming table,
    column and key, for unknown or missing keys and for bounds that do not hold together.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"declaration {file} does not exist") from None
    except (OSError, UnicodeDecodeError):
        raise DataError(f"declaration {file} cannot be read as UTF-8 text") from None
    declaration = parse_declaration(text)
    paths = {name: file.parent / source for name, source in declaration.sources.items()}
    return Declaration(declaration.dataset, paths, declaration.domain)


def parse_declaration(text: str) -> Declaration:
    """The declaration in a TOML text; raises as ``read_declaration`` does.

    >>> parse_declaration('''
    ... name = "clinic"
    ... unit = "id"
    ... [tables.labs]
    ... source = "labs.parquet"
    ... rows_per_unit = 60
    ... [tables.labs.columns]
    ... value = { type = "integer", lower = 0, upper = 500 }
    ... ''').dataset.table("labs").rows_per_unit
    60
    """
    try:
        value = tomllib.loads(text, parse_float=decimal.Decimal)  # 0.1 stays 0.1
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"the declaration is not TOML: {error}") from None
    _check_keys(value, "declaration", required=("name", "unit", "tables"), optional=("domain",))
    tables = _mapping(value["tables"], "tables")
    declared = tuple(
        _table(name, _mapping(part, f"tables.{name}")) for name, part in tables.items()
    )
    with_source = {name: part["source"] for name, part in tables.items() if "source" in part}
    for name, source in with_source.items():
        if not isinstance(source, str):
            raise ParameterError(f"tables.{name}.source", "must be a path, as text")
    sources = {name: Path(source) for name, source in with_source.items()}
    dataset = Dataset(value["name"], value["unit"], declared)
    return Declaration(dataset, sources, value.get("domain"))


def _table(name: str, value: Mapping[str, Any]) -> Table:
    where = f"tables.{name}"
    _check_keys(value, where, required=("rows_per_unit", "columns"), optional=("source",))
    columns = _mapping(value["columns"], f"{where}.columns")
    kinds = {column: _column(f"{where}.columns.{column}", part) for column, part in columns.items()}
    try:
        return Table(name, kinds, value["rows_per_unit"])
    except ParameterError as error:
        raise _within(where, error) from None


def _column(where: str, value: object) -> Column:
    arguments = dict(_mapping(value, where))
    label = arguments.pop("type", None)
    if not isinstance(label, str) or label not in COLUMN_TYPES:
        raise ParameterError(f"{where}.type", f"must be one of {', '.join(COLUMN_TYPES)}")
    kind = COLUMN_TYPES[label]
    names = [item.name for item in fields(kind) if not item.name.startswith("_")]
    required = [name for name in names if name not in _OPTIONAL]
    optional = [name for name in names if name in _OPTIONAL]
    _check_keys(arguments, where, required, optional)
    try:
        return kind(**arguments)
    except ParameterError as error:
        raise _within(where, error) from None


def _within(where: str, error: ParameterError) -> ParameterError:
    """The same complaint, naming the place in the file."""
    return ParameterError(f"{where}.{error.name}", str(error).removeprefix(f"{error.name}: "))


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not value:
        raise ParameterError(where, "must be a TOML table with at least one key")
    return value


def _check_keys(
    value: Mapping[str, Any],
    where: str,
    required: tuple[str, ...] | list[str],
    optional: tuple[str, ...] | list[str] = (),
) -> None:
    allowed = ", ".join((*required, *optional)) or "none but type"
    for name in value:
        if name not in (*required, *optional):
            raise ParameterError(f"{where}.{name}", f"is not a key here; allowed are: {allowed}")
    for name in required:
        if name not in value:
            raise ParameterError(f"{where}.{name}", f"is missing; a key here is each of: {allowed}")
