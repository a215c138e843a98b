"""What a declaration in TOML lacks, all of it at once, and why each part of it matters.

It reads as ``reading`` does, which stops at the first problem. Knows the text alone: opens
no source, sees no data.
"""

from __future__ import annotations

import contextlib
import decimal
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from interlace.core.errors import DataError, ParameterError
from interlace.query.column_types import COLUMN_TYPES
from interlace.query.columns import Boolean, Column
from interlace.query.declarations.reading import RULES, Declaration, keys_of, parse_declaration
from interlace.query.names import checked_name, folded
from interlace.query.schema import KeySet, PublicTable, Table

#: Why a key matters, for whoever has to fill it in.
WHY: Mapping[str, str] = {
    "name": "analysts open sessions on the dataset by its name",
    "unit": "the column that says whose data a row is: what is protected is one unit, with all its "
    "rows in all tables",
    "tables": "there is nothing to ask without a table",
    "rows_per_unit": "what one unit can do to a count or a sum grows with it, and the noise with "
    "that; what more rows would add is cut. With 1, a unit with more rows is an error",
    "columns": "a column that is not declared is not read, and cannot be asked for",
    "type": "it decides how a source's values are read, and what may be asked of them",
    "lower": "the noise of a sum grows with its bounds, and what lies outside is moved to them. "
    "They are public: take them from what is known of the field, never from the data",
    "digits": "sums are exact in units of the last decimal that is kept",
    "values": "the public domain: an answer by groups has a row for each value, also where there "
    "is none in the data, and rows with other values are dropped. It must not come from the data",
    "key": "joins on a public table find its rows by this column",
    "keys_per_unit": "a unit counts for so many of the keys at most, and the noise of each group "
    "grows with it",
}
WHY = {**WHY, "upper": WHY["lower"]}


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: ``where`` in dotted names, on which ``line`` if that is known."""

    where: str
    line: int | None
    what: str
    why: str | None = None

    @property
    def key(self) -> str:
        """The last of the names: what the reason is about."""
        return self.where.rpartition(".")[2]

    def __str__(self) -> str:
        return ("" if self.line is None else f"line {self.line}: ") + f"{self.where} {self.what}"


@dataclass(frozen=True)
class Checked:
    """All problems of a text, in its order, or the declaration, if there is none."""

    problems: tuple[Problem, ...]
    declaration: Declaration | None


def check_declaration(text: str) -> Checked:
    r"""Every problem of a TOML declaration.

    >>> found = check_declaration('name = "clinic"\n[tables.labs]\nrows_per_unit = 0\n')
    >>> for problem in found.problems:
    ...     print(problem.line, problem.where)
    None unit
    2 tables.labs.columns
    3 tables.labs.rows_per_unit
    """
    try:
        value = tomllib.loads(text, parse_float=decimal.Decimal)
    except tomllib.TOMLDecodeError as error:
        at = re.search(r"line (\d+)", str(error))
        line = int(at[1]) if at else None
        return Checked((Problem("declaration", line, f"is not TOML: {error}"),), None)
    except RecursionError:
        return Checked((Problem("declaration", None, "nests too deep"),), None)
    walk = _Walk(lines_of(text))
    walk.declaration(value)
    if not walk.problems:
        try:
            return Checked((), parse_declaration(text))
        except ParameterError as error:  # what concerns several tables together
            walk.note(tuple(error.name.split(".")), error.problem)
        except DataError as error:
            walk.note(("declaration",), str(error))
    order = sorted(dict.fromkeys(walk.problems), key=lambda p: p.line or 0)
    return Checked(tuple(order), None)


class _Walk:
    """Goes through a declaration and notes whatever is wrong, then goes on."""

    def __init__(self, lines: Mapping[tuple[str, ...], int]) -> None:
        self._lines = lines
        self.problems: list[Problem] = []

    def note(self, path: tuple[str, ...], what: str, why: str | None = None) -> None:
        # What is missing has no line: that of the table where it belongs is named.
        places = (path[:n] for n in range(len(path), 0, -1))
        line = next((self._lines[place] for place in places if place in self._lines), None)
        self.problems.append(Problem(".".join(path), line, what, why))

    def declaration(self, value: Mapping[str, Any]) -> None:
        self._keys(value, (), ("name", "unit", "tables"), ("domain", "public"))
        for key in {"name", "unit"} & set(value):
            self._made((), partial(checked_name, value[key], key))
        for name, part in self._parts(value, ("tables",)):
            self._table(name, part)
            self._unit_apart(value.get("unit"), ("tables", name, "columns"), part.get("columns"))
        for name, part in self._parts(value, ("public",)):
            self._public(name, part)

    def _unit_apart(self, unit: object, path: tuple[str, ...], columns: object) -> None:
        for name in columns if isinstance(columns, dict) and isinstance(unit, str) else ():
            if folded(name) == folded(str(unit)):
                what = "is the unit, which is no column: take its declaration away"
                self.note((*path, name), what)

    def _keys(
        self,
        value: Mapping[str, Any],
        path: tuple[str, ...],
        required: Sequence[str],
        optional: Sequence[str] = (),
    ) -> bool:
        """Whether all keys that are required are there and no others."""
        before = len(self.problems)
        for key in required:
            if key not in value:
                self.note((*path, key), "is missing", WHY.get(key))
        for key in value:
            if key not in (*required, *optional):
                allowed = ", ".join((*required, *optional))
                self.note((*path, key), f"is not a key here; allowed are: {allowed}")
        return len(self.problems) == before

    def _parts(
        self, value: Mapping[str, Any], path: tuple[str, ...]
    ) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """The TOML tables within a TOML table, where it is there."""
        if path[-1] not in value:
            return
        parts = value[path[-1]]
        if not isinstance(parts, dict) or not parts:
            self.note(path, "must be a TOML table with at least one key", WHY.get(path[-1]))
            return
        for name, part in parts.items():
            # A column without anything lacks its type.
            if isinstance(part, dict) and (part or path[-1] == "columns"):
                yield name, part
            else:
                self.note((*path, name), "must be a TOML table with at least one key")

    def _table(self, name: str, value: Mapping[str, Any]) -> None:
        path = "tables", name
        self._keys(value, path, ("rows_per_unit", "columns"), ("source", "key_sets"))
        self._source(value, path)
        columns = self._columns(value, path)
        sets = self._key_sets(value.get("key_sets", []), (*path, "key_sets"))
        # Each by itself, so that one does not hide another.
        if "rows_per_unit" in value:
            self._made(path, lambda: Table(name, {}, value["rows_per_unit"]))
        self._made(path, lambda: Table(name, columns))
        self._made(path, lambda: Table(name, columns, 1, sets))

    def _public(self, name: str, value: Mapping[str, Any]) -> None:
        path = "public", name
        self._keys(value, path, ("key", "columns"), ("source",))
        self._source(value, path)
        columns = self._columns(value, path)
        if "key" in value and columns:
            self._made(path, lambda: PublicTable(name, value["key"], columns))

    def _source(self, value: Mapping[str, Any], path: tuple[str, ...]) -> None:
        if not isinstance(value.get("source", ""), str):
            self.note((*path, "source"), "must be a path, as text")

    def _key_sets(self, value: object, path: tuple[str, ...]) -> list[KeySet]:
        if not isinstance(value, list):
            self.note(path, 'must be a list, as [{ columns = ["lab"], keys_per_unit = 3 }]')
            return []
        found = []
        for j, part in enumerate(value):
            place = (*path, str(j))
            if not isinstance(part, dict) or not part:
                self.note(place, "must be a TOML table with at least one key")
            elif self._keys(part, place, ("columns", "keys_per_unit")):
                made = self._made(place, partial(KeySet, **part))
                found += [] if made is None else [made]
        return found

    def _columns(self, value: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Column]:
        """The names of the columns. What each may hold matters to itself alone, so that any
        kind stands for one whose own declaration is wrong."""
        names = []
        for name, part in self._parts(value, (*path, "columns")):
            self._column(part, (*path, "columns", name))
            names.append(name)
        return dict.fromkeys(names, Boolean())

    def _column(self, value: Mapping[str, Any], path: tuple[str, ...]) -> None:
        label = value.get("type")
        if not isinstance(label, str) or label not in COLUMN_TYPES:
            known = f"must be one of {', '.join(COLUMN_TYPES)}"
            self.note((*path, "type"), "is missing" if label is None else known, WHY["type"])
            return
        kind = COLUMN_TYPES[label]
        required, rules = keys_of(kind)
        if self._keys(value, path, ("type", *required), rules):
            arguments = {name: part for name, part in value.items() if name != "type"}
            self._build(kind, arguments, path)

    def _build(self, kind: type[Column], arguments: dict[str, Any], path: tuple[str, ...]) -> None:
        """Notes a bound that is wrong, or each rule."""
        try:
            kind(**arguments)
        except ParameterError as error:
            self.note((*path, error.name), error.problem)
            if error.name in RULES:
                rest = {name: part for name, part in arguments.items() if name != error.name}
                self._build(kind, rest, path)

    def _made(self, path: tuple[str, ...], make: Callable[[], Any]) -> Any:
        """What is made, or None once its problem is noted."""
        try:
            return make()
        except ParameterError as error:
            self.note((*path, *error.name.split(".")), error.problem)
            return None


_KEY = r"""(?:[\w-]+|"(?:[^"\\]|\\.)*"|'[^']*')"""
_HEADER = re.compile(rf"\s*\[+\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*\]")
_ASSIGNED = re.compile(rf"\s*({_KEY}(?:\s*\.\s*{_KEY})*)\s*=")


def lines_of(text: str) -> dict[tuple[str, ...], int]:
    r"""On which line each key of a TOML text stands, as far as a look at each line tells: inside
    a value that runs over several lines nothing is found, or something that is no key.

    >>> lines_of('a = 1\n[b."c.d"]\ne.f = 2')
    {('a',): 1, ('b', 'c.d'): 2, ('b', 'c.d', 'e', 'f'): 3}
    """
    found: dict[tuple[str, ...], int] = {}
    within: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        header, assigned = _HEADER.match(line), _ASSIGNED.match(line)
        if header:
            within = _path(header[1])
            found.setdefault(within, number)
        elif assigned:
            found.setdefault((*within, *_path(assigned[1])), number)
    return found


def _path(dotted: str) -> tuple[str, ...]:
    """The names in a dotted key."""
    path: list[str] = []
    with contextlib.suppress(tomllib.TOMLDecodeError):
        value: Any = tomllib.loads(f"{dotted} = 0")
        while isinstance(value, dict):
            [(name, value)] = value.items()
            path.append(name)
    return tuple(path)
