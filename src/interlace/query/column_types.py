"""Types of columns by what a declaration calls them, and columns as plain values for JSON."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from typing import Any

from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer

COLUMN_TYPES: Mapping[str, type[Column]] = {
    "integer": Integer,
    "decimal": Decimal,
    "category": Category,
    "day": Day,
    "boolean": Boolean,
}


def type_of(kind: Column) -> str:
    """What a declaration calls the type of a column.

    >>> type_of(Boolean())
    'boolean'
    """
    return next(name for name, cls in COLUMN_TYPES.items() if cls is type(kind))


def encode_column(kind: Column) -> dict[str, Any]:
    """A column as JSON."""
    values = {item.name: getattr(kind, item.name) for item in fields(kind) if item.init}
    return {"type": type_of(kind)} | {name: _plain(value) for name, value in values.items()}


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return str(value)
    return value.isoformat() if isinstance(value, datetime.date) else value


def decode_column(value: Mapping[str, Any]) -> Column:
    """The column whose ``encode_column`` is ``value``. Raises ParameterError, LookupError."""
    arguments = {name: part for name, part in value.items() if name != "type"}
    if value["type"] == "decimal":  # exact rationals were written as n/d
        for name in ("lower", "upper", "missing"):
            if arguments[name] != "drop":
                arguments[name] = Fraction(arguments[name])
    return COLUMN_TYPES[value["type"]](**arguments)
