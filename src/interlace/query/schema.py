"""A dataset as its custodian declares it: tables, columns, the privacy unit. Sees no data.

Everything here is public metadata; the ledger keeps it as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from interlace.core.errors import ParameterError
from interlace.core.exact import natural
from interlace.query.column_types import decode_column, encode_column
from interlace.query.columns import Column
from interlace.query.names import check_distinct, checked_name, find

#: What one unit may contribute to a table at most.
MOST_ROWS_PER_UNIT = 10**6
#: Each key set is one more sort of the table when it is registered.
MOST_KEY_SETS = 16

Columns = tuple[tuple[str, Column], ...]


@dataclass(frozen=True)
class KeySet:
    """Columns whose values together are a key by which queries may group, and the number of
    distinct keys for which one unit counts at most.

    >>> KeySet(("lab", "year"), keys_per_unit=3).columns
    ('lab', 'year')
    """

    columns: tuple[str, ...]
    keys_per_unit: int

    def __post_init__(self) -> None:
        if isinstance(self.columns, str) or not isinstance(self.columns, Iterable):
            raise ParameterError("columns", "must list names of columns of the table")
        names = tuple(checked_name(column, "columns") for column in self.columns)
        if not names:
            raise ParameterError("columns", "must list at least one column")
        check_distinct(names, "columns")
        keys = natural(self.keys_per_unit, "keys_per_unit", maximum=MOST_ROWS_PER_UNIT)
        object.__setattr__(self, "columns", names)
        object.__setattr__(self, "keys_per_unit", keys)


class _Columned:
    """What has columns."""

    columns: Columns

    @property
    def column_names(self) -> list[str]:
        """The declared names of the columns, in order."""
        return [name for name, _ in self.columns]

    def column(self, identifier: str, quoted: bool = False) -> str | None:
        """The declared name that an identifier means, or None."""
        return find(identifier, quoted, self.column_names)

    def kind(self, name: str) -> Column:
        """What the column of that declared name may hold."""
        return dict(self.columns)[name]


@dataclass(frozen=True)
class Table(_Columned):
    """A table of the dataset: its columns in order, and what one unit may contribute.

    A unit's count or sum over its rows is clamped to what ``rows_per_unit`` rows can give;
    no row is dropped for being one too many. With 1 the table must hold at most one row for
    each unit. ``key_sets`` are the keys for each of which a number of keys a unit is declared.
    ``columns`` may be handed over as a mapping.

    >>> from interlace.query.columns import Integer
    >>> Table("labs", {"value": Integer(0, 500)}, rows_per_unit=60).column("VALUE")
    'value'
    """

    name: str
    columns: Columns
    rows_per_unit: int = 1
    key_sets: tuple[KeySet, ...] = ()

    def __init__(
        self,
        name: str,
        columns: Mapping[str, Column] | Columns,
        rows_per_unit: int = 1,
        key_sets: Iterable[KeySet] = (),
    ) -> None:
        pairs = _checked_columns(columns)
        sets = _checked_key_sets(key_sets, [column for column, _ in pairs])
        object.__setattr__(self, "name", checked_name(name, "name"))
        object.__setattr__(self, "columns", pairs)
        rows = natural(rows_per_unit, "rows_per_unit", maximum=MOST_ROWS_PER_UNIT)
        object.__setattr__(self, "rows_per_unit", rows)
        object.__setattr__(self, "key_sets", sets)


@dataclass(frozen=True)
class PublicTable(_Columned):
    """A table about no unit, all of whose rows are public: ``key`` is the column that names
    each of them, once. ``columns`` may be handed over as a mapping.

    >>> from interlace.query.columns import Integer
    >>> PublicTable("wards", "ward", {"ward": Integer(1, 9), "beds": Integer(0, 99)}).key
    'ward'
    """

    name: str
    key: str
    columns: Columns

    def __init__(self, name: str, key: str, columns: Mapping[str, Column] | Columns) -> None:
        pairs = _checked_columns(columns)
        names = [column for column, _ in pairs]
        if key not in names:
            raise ParameterError("key", f"{key!r} is not one of the columns: {_listed(names)}")
        object.__setattr__(self, "name", checked_name(name, "name"))
        object.__setattr__(self, "key", key)
        object.__setattr__(self, "columns", pairs)


AnyTable = Table | PublicTable


@dataclass(frozen=True)
class Dataset:
    """Tables that share one privacy unit, identified by the column ``unit`` of each (R10), and
    public tables that know no unit.

    Raises ParameterError for duplicate or ambiguous names, for a unit that is also a data
    column, and for a public table with a column of the unit's name: what is about units is
    not public.

    >>> from interlace.query.columns import Integer
    >>> people = Table("people", {"age": Integer(0, 120)})
    >>> Dataset.from_json(Dataset("clinic", "id", (people,)).to_json()).unit
    'id'
    """

    name: str
    unit: str
    tables: tuple[Table, ...]
    public: tuple[PublicTable, ...] = ()

    def __post_init__(self) -> None:
        checked_name(self.name, "name")
        checked_name(self.unit, "unit")
        object.__setattr__(self, "tables", tuple(self.tables))
        object.__setattr__(self, "public", tuple(self.public))
        if not self.tables:
            raise ParameterError("tables", "must hold at least one table")
        check_distinct((table.name for table in self.tables), "tables")
        check_distinct((table.name for table in self.every_table), "public")
        for table in self.tables:
            check_distinct((self.unit, *table.column_names), "unit")
        for public in self.public:
            if public.column(self.unit) is not None:
                raise ParameterError(
                    "public",
                    f"table {public.name!r} has a column of the unit's name, {self.unit!r}: a "
                    "table about units is not public; if it is another id, rename the column",
                )

    @property
    def every_table(self) -> tuple[AnyTable, ...]:
        """The tables of units, then the public ones."""
        return *self.tables, *self.public

    def table(self, identifier: str, quoted: bool = False) -> Table | None:
        """The table that an identifier means, or None; no public one."""
        name = find(identifier, quoted, (table.name for table in self.tables))
        return next((table for table in self.tables if table.name == name), None)

    def to_json(self) -> str:
        """The declaration as JSON text, the same for equal declarations."""
        value: dict[str, Any] = {"name": self.name, "unit": self.unit}
        value["tables"] = [_table_json(table) for table in self.tables]
        if self.public:  # an older declaration's text is the same as it was
            value["public"] = [
                {"name": table.name, "key": table.key, "columns": _columns_json(table.columns)}
                for table in self.public
            ]
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Dataset:
        """The dataset whose ``to_json`` is ``text``. Raises ParameterError for anything else."""
        try:
            value = json.loads(text)
            tables = tuple(map(_table, value["tables"]))
            public = tuple(
                PublicTable(table["name"], table["key"], _columns(table["columns"]))
                for table in value.get("public", ())
            )
            return cls(value["name"], value["unit"], tables, public)
        except (LookupError, TypeError, ValueError) as error:
            if isinstance(error, ParameterError):
                raise
            raise ParameterError("text", "is not the JSON of a dataset") from None


def _checked_columns(columns: Mapping[str, Column] | Columns) -> Columns:
    pairs = tuple(columns.items() if isinstance(columns, Mapping) else columns)
    for column, kind in pairs:
        checked_name(column, "columns")
        if not isinstance(kind, Column):
            kinds = "Integer, Decimal, Category, Boolean or Day"
            raise ParameterError("columns", f"{column!r} must be {kinds}, as il.Integer(0, 120)")
    check_distinct((column for column, _ in pairs), "columns")
    return pairs


def _checked_key_sets(key_sets: Iterable[KeySet], names: list[str]) -> tuple[KeySet, ...]:
    if not isinstance(key_sets, Iterable):
        raise ParameterError("key_sets", "must be a list of KeySet")
    sets = tuple(key_sets)
    if len(sets) > MOST_KEY_SETS:
        raise ParameterError("key_sets", f"must be {MOST_KEY_SETS} at most, got {len(sets)}")
    seen: set[frozenset[str]] = set()
    for keys in sets:
        if not isinstance(keys, KeySet):
            raise ParameterError("key_sets", f"must hold KeySet only, got {type(keys).__name__}")
        for column in keys.columns:
            if column not in names:
                raise ParameterError(
                    "key_sets", f"{column!r} is not one of the columns: {_listed(names)}"
                )
        if frozenset(keys.columns) in seen:
            raise ParameterError("key_sets", f"{_listed(keys.columns)} is declared twice")
        seen.add(frozenset(keys.columns))
    return sets


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names)) or "there are none"


def _table_json(table: Table) -> dict[str, Any]:
    value = {
        "name": table.name,
        "rows_per_unit": table.rows_per_unit,
        "columns": _columns_json(table.columns),
    }
    if table.key_sets:
        value["key_sets"] = [
            {"columns": list(keys.columns), "keys_per_unit": keys.keys_per_unit}
            for keys in table.key_sets
        ]
    return value


def _columns_json(columns: Columns) -> list[list[Any]]:
    return [[name, encode_column(kind)] for name, kind in columns]


def _table(value: dict[str, Any]) -> Table:
    key_sets = [
        KeySet(tuple(keys["columns"]), keys["keys_per_unit"]) for keys in value.get("key_sets", ())
    ]
    return Table(value["name"], _columns(value["columns"]), value["rows_per_unit"], key_sets)


def _columns(value: list[Any]) -> Columns:
    return tuple((name, decode_column(kind)) for name, kind in value)
