"""A dataset as its custodian declares it: tables, columns, the privacy unit. Sees no data.

Everything here is public metadata; the ledger keeps it as JSON.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any

from interlace.core.errors import ParameterError
from interlace.core.exact import natural
from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer
from interlace.query.names import check_distinct, checked_name, find

#: What one unit may contribute to a table at most.
MOST_ROWS_PER_UNIT = 10**6

COLUMN_TYPES: Mapping[str, type[Column]] = {
    "integer": Integer,
    "decimal": Decimal,
    "category": Category,
    "day": Day,
    "boolean": Boolean,
}


@dataclass(frozen=True)
class Table:
    """A table of the dataset: its columns in order, and the rows that one unit may contribute.

    A unit's count or sum over its rows is clamped to what ``rows_per_unit`` rows can give;
    no row is dropped for being one too many. With 1 the table must hold at most one row for
    each unit. ``columns`` may be handed over as a mapping.

    >>> Table("labs", {"value": Integer(0, 500)}, rows_per_unit=60).column("VALUE")
    'value'
    """

    name: str
    columns: tuple[tuple[str, Column], ...]
    rows_per_unit: int = 1

    def __init__(
        self,
        name: str,
        columns: Mapping[str, Column] | tuple[tuple[str, Column], ...],
        rows_per_unit: int = 1,
    ) -> None:
        pairs = tuple(columns.items() if isinstance(columns, Mapping) else columns)
        for column, kind in pairs:
            checked_name(column, "columns")
            if not isinstance(kind, Column):
                kinds = "Integer, Decimal, Category, Boolean or Day"
                raise ParameterError(
                    "columns", f"{column!r} must be {kinds}, as il.Integer(0, 120)"
                )
        check_distinct((column for column, _ in pairs), "columns")
        object.__setattr__(self, "name", checked_name(name, "name"))
        object.__setattr__(self, "columns", pairs)
        rows = natural(rows_per_unit, "rows_per_unit", maximum=MOST_ROWS_PER_UNIT)
        object.__setattr__(self, "rows_per_unit", rows)

    def column(self, identifier: str, quoted: bool = False) -> str | None:
        """The declared name that an identifier means, or None."""
        return find(identifier, quoted, (name for name, _ in self.columns))

    def kind(self, name: str) -> Column:
        """What the column of that declared name may hold."""
        return dict(self.columns)[name]


@dataclass(frozen=True)
class Dataset:
    """Tables that share one privacy unit, identified by the column ``unit`` of each (R10).

    Raises ParameterError for duplicate or ambiguous names and for a unit that is also a
    data column.

    >>> people = Table("people", {"age": Integer(0, 120)})
    >>> Dataset.from_json(Dataset("clinic", "id", (people,)).to_json()).unit
    'id'
    """

    name: str
    unit: str
    tables: tuple[Table, ...]

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        checked_name(self.unit, "unit")
        object.__setattr__(self, "tables", tuple(self.tables))
        if not self.tables:
            raise ParameterError("tables", "must hold at least one table")
        check_distinct((table.name for table in self.tables), "tables")
        for table in self.tables:
            check_distinct((self.unit, *(name for name, _ in table.columns)), "unit")

    def table(self, identifier: str, quoted: bool = False) -> Table | None:
        """The table that an identifier means, or None."""
        name = find(identifier, quoted, (table.name for table in self.tables))
        return next((table for table in self.tables if table.name == name), None)

    def to_json(self) -> str:
        """The declaration as JSON text, the same for equal declarations."""
        tables = [
            {
                "name": table.name,
                "rows_per_unit": table.rows_per_unit,
                "columns": [[name, _column_json(kind)] for name, kind in table.columns],
            }
            for table in self.tables
        ]
        value = {"name": self.name, "unit": self.unit, "tables": tables}
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Dataset:
        """The dataset whose ``to_json`` is ``text``. Raises ParameterError for anything else."""
        try:
            value = json.loads(text)
            tables = tuple(
                Table(
                    table["name"],
                    tuple((name, _column(kind)) for name, kind in table["columns"]),
                    table["rows_per_unit"],
                )
                for table in value["tables"]
            )
            return cls(value["name"], value["unit"], tables)
        except (LookupError, TypeError, ValueError) as error:
            if isinstance(error, ParameterError):
                raise
            raise ParameterError("text", "is not the JSON of a dataset") from None


def _column_json(kind: Column) -> dict[str, Any]:
    label = next(label for label, cls in COLUMN_TYPES.items() if cls is type(kind))
    values = {item.name: getattr(kind, item.name) for item in fields(kind) if item.init}
    return {"type": label} | {name: _plain(value) for name, value in values.items()}


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return str(value)
    return value.isoformat() if isinstance(value, datetime.date) else value


def _column(value: dict[str, Any]) -> Column:
    arguments = {name: part for name, part in value.items() if name != "type"}
    if value["type"] == "decimal":  # exact rationals were written as n/d
        for name in ("lower", "upper", "missing"):
            if arguments[name] != "drop":
                arguments[name] = Fraction(arguments[name])
    return COLUMN_TYPES[value["type"]](**arguments)
