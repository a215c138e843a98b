"""Reads a custodian's TOML declaration of a dataset. Public metadata only; opens no source.

Every key is checked: a bound that was misspelt would otherwise silently not hold.
"""

from __future__ import annotations

import decimal
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError, ParameterError
from interlace.query.column_types import COLUMN_TYPES
from interlace.query.columns import Column
from interlace.query.schema import Dataset, KeySet, PublicTable, Table

#: The rules of a column for what does not fit, which have defaults.
RULES = ("missing", "out_of_range", "unknown")


@dataclass(frozen=True)
class Declaration:
    """A dataset and where its tables come from, public ones too. A table without a source of its
    own is to be handed over by the caller. ``domain`` names the population of its units, if it was given."""

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
    except RecursionError:
        raise DataError("the declaration nests too deep: no declaration needs that") from None
    _check_keys(
        value, "declaration", required=("name", "unit", "tables"), optional=("domain", "public")
    )
    tables = _parts(value["tables"], "tables")
    public = _parts(value["public"], "public") if "public" in value else {}
    dataset = Dataset(
        value["name"],
        value["unit"],
        tuple(_table(name, part) for name, part in tables.items()),
        tuple(_public_table(name, part) for name, part in public.items()),
    )
    sources = _sources(tables, "tables") | _sources(public, "public")
    return Declaration(dataset, sources, value.get("domain"))


def _parts(value: object, where: str) -> dict[str, Mapping[str, Any]]:
    """A TOML table of TOML tables."""
    parts = _mapping(value, where)
    return {name: _mapping(part, f"{where}.{name}") for name, part in parts.items()}


def _sources(tables: Mapping[str, Mapping[str, Any]], where: str) -> dict[str, Path]:
    sources = {name: part["source"] for name, part in tables.items() if "source" in part}
    for name, source in sources.items():
        if not isinstance(source, str):
            raise ParameterError(f"{where}.{name}.source", "must be a path, as text")
    return {name: Path(source) for name, source in sources.items()}


def _table(name: str, value: Mapping[str, Any]) -> Table:
    where = f"tables.{name}"
    _check_keys(
        value, where, required=("rows_per_unit", "columns"), optional=("source", "key_sets")
    )
    kinds = _columns(where, value["columns"])
    key_sets = _key_sets(f"{where}.key_sets", value.get("key_sets", []))
    try:
        return Table(name, kinds, value["rows_per_unit"], key_sets)
    except ParameterError as error:
        raise _within(where, error) from None


def _public_table(name: str, value: Mapping[str, Any]) -> PublicTable:
    where = f"public.{name}"
    _check_keys(value, where, required=("key", "columns"), optional=("source",))
    kinds = _columns(where, value["columns"])
    try:
        return PublicTable(name, value["key"], kinds)
    except ParameterError as error:
        raise _within(where, error) from None


def _key_sets(where: str, value: object) -> list[KeySet]:
    if not isinstance(value, list):
        raise ParameterError(where, 'must be a list, as [{ columns = ["lab"], keys_per_unit = 3 }]')
    return [_key_set(f"{where}.{j}", part) for j, part in enumerate(value)]


def _key_set(where: str, value: object) -> KeySet:
    parts = _mapping(value, where)
    _check_keys(parts, where, required=("columns", "keys_per_unit"))
    try:
        return KeySet(parts["columns"], parts["keys_per_unit"])
    except ParameterError as error:
        raise _within(where, error) from None


def _columns(where: str, value: object) -> dict[str, Column]:
    parts = _mapping(value, f"{where}.columns")
    return {name: _column(f"{where}.columns.{name}", part) for name, part in parts.items()}


def _column(where: str, value: object) -> Column:
    arguments = dict(_mapping(value, where))
    label = arguments.pop("type", None)
    if not isinstance(label, str) or label not in COLUMN_TYPES:
        raise ParameterError(f"{where}.type", f"must be one of {', '.join(COLUMN_TYPES)}")
    kind = COLUMN_TYPES[label]
    _check_keys(arguments, where, *keys_of(kind))
    try:
        return kind(**arguments)
    except ParameterError as error:
        raise _within(where, error) from None


def keys_of(kind: type[Column]) -> tuple[list[str], list[str]]:
    """The keys that declare a column of that type: those that are required, and the rules."""
    names = [item.name for item in fields(kind) if not item.name.startswith("_")]
    return [n for n in names if n not in RULES], [n for n in names if n in RULES]


def _within(where: str, error: ParameterError) -> ParameterError:
    """The same complaint, naming the place in the file."""
    return ParameterError(f"{where}.{error.name}", error.problem)


def _mapping(value: object, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict) or not value:
        raise ParameterError(where, "must be a TOML table with at least one key")
    return value


def _check_keys(
    value: Mapping[str, Any],
    where: str,
    required: Sequence[str],
    optional: Sequence[str] = (),
) -> None:
    allowed = ", ".join((*required, *optional)) or "none but type"
    for name in value:
        if name not in (*required, *optional):
            raise ParameterError(f"{where}.{name}", f"is not a key here; allowed are: {allowed}")
    for name in required:
        if name not in value:
            raise ParameterError(f"{where}.{name}", f"is missing; a key here is each of: {allowed}")
