"""Random tables of a declared dataset, from its declaration alone: nothing here has seen data.

Values are uniform over their domains and say nothing of the data, not even how much of it there
is. The chances come from ``random.random``, whose sequence for a seed stays the same in all
versions of Python: one seed, one set of tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from interlace.query.columns import Boolean, Category, Column, Day, Decimal
from interlace.query.fixed_point import Value, in_units
from interlace.query.schema import Dataset, PublicTable, Table
from interlace.query.values import day_of

#: A table by its columns.
Values = Mapping[str, Sequence[Value]]

#: A unit has so many rows on average, where so many are allowed.
_USUAL_ROWS = 8.0
#: The share of units without a row, where other tables can hold some.
_ABSENT = 0.1
#: A public table has at most so many rows.
_PUBLIC_ROWS = 10_000

_Chance = Callable[[], float]


def dummy_tables(dataset: Dataset, units: int, seed: int) -> dict[str, Values]:
    """Every table of the dataset, public ones too, for the units 1 to ``units``.

    Each keeps to what is declared: bounds, domains, rows and distinct keys of a unit. Each has
    chances of its own, so that a table stays when another is declared beside it.

    >>> from interlace.query.columns import Integer
    >>> clinic = Dataset("clinic", "id", (Table("people", {"age": Integer(0, 120)}),))
    >>> dummy_tables(clinic, units=3, seed=1)
    {'people': {'id': [1, 2, 3], 'age': [46, 120, 103]}}
    """
    found: dict[str, Values] = {}
    for table in dataset.tables:
        chance = Random(f"{seed}/{table.name}").random  # noqa: S311  no secret is drawn
        absent = _ABSENT if len(dataset.tables) > 1 and table.rows_per_unit > 1 else 0.0
        found[table.name] = _table(table, dataset.unit, units, absent, chance)
    for public in dataset.public:
        found[public.name] = _public(public, Random(f"{seed}/{public.name}").random)  # noqa: S311
    return found


def value_of(kind: Column, code: int) -> Value:
    """What a source holds for a code.

    >>> value_of(Decimal(0, 9, digits=2), 125), value_of(Category(["f", "m"]), 1)
    (Decimal('1.25'), 'm')
    """
    match kind:
        case Category():
            return kind.values[code]
        case Day():
            return day_of(code)
        case Boolean():
            return bool(code)
        case Decimal():
            return in_units(code, kind.digits)
        case _:
            return code


def _table(table: Table, unit: str, units: int, absent: float, chance: _Chance) -> Values:
    counts = [_count(table.rows_per_unit, absent, chance) for _ in range(units)]
    numbers = [number for number, count in enumerate(counts, 1) for _ in range(count)]
    codes = _codes(_Shape.of(table), counts, chance)
    columns = zip(table.columns, codes, strict=True)
    return {unit: numbers, **{name: _values(kind, column) for (name, kind), column in columns}}


def _codes(shape: _Shape, counts: Sequence[int], chance: _Chance) -> list[list[int]]:
    """The codes of each column, for units with so many rows."""
    if not shape.sets:
        return [[_code(domain, chance) for _ in range(sum(counts))] for domain in shape.domains]
    codes: list[list[int]] = [[] for _ in shape.domains]
    for count in counts:
        for row in _rows(shape, count, chance):
            for column, code in zip(codes, row, strict=True):
                column.append(code)
    return codes


def _values(kind: Column, codes: Sequence[int]) -> list[Value]:
    known = {code: value_of(kind, code) for code in set(codes)}
    return [known[code] for code in codes]


def _count(most: int, absent: float, chance: _Chance) -> int:
    """How many rows one unit has: few units have many."""
    if absent and chance() < absent:
        return 0
    mean = min((most - 1) / 4, _USUAL_ROWS - 1)
    return 1 + min(most - 1, int(-math.log(1 - chance()) * mean))


@dataclass(frozen=True)
class _Shape:
    """A table in numbers: the least code of each column and how many there are, and of each key
    set the places of its columns and how many keys a unit counts for."""

    domains: tuple[tuple[int, int], ...]
    sets: tuple[tuple[tuple[int, ...], int], ...]

    @classmethod
    def of(cls, table: Table) -> _Shape:
        places = table.column_names
        return cls(
            tuple(map(_domain, (kind for _, kind in table.columns))),
            tuple((tuple(map(places.index, s.columns)), s.keys_per_unit) for s in table.key_sets),
        )


def _rows(shape: _Shape, count: int, chance: _Chance) -> list[list[int]]:
    """The rows of one unit, with no more distinct keys than it counts for."""
    rows: list[list[int]] = []
    seen: list[set[tuple[int, ...]]] = [set() for _ in shape.sets]
    for _ in range(count):
        row = [_code(domain, chance) for domain in shape.domains]
        keys = [tuple(row[place] for place in places) for places, _ in shape.sets]
        full = [len(had) >= most for had, (_, most) in zip(seen, shape.sets, strict=True)]
        if any(f and key not in had for f, key, had in zip(full, keys, seen, strict=True)):
            # One key too many: all keys of an earlier row, so that no set gets a new one.
            earlier = rows[int(chance() * len(rows))]
            for places, _ in shape.sets:
                for place in places:
                    row[place] = earlier[place]
        else:
            for key, had in zip(keys, seen, strict=True):
                had.add(key)
        rows.append(row)
    return rows


def _domain(kind: Column) -> tuple[int, int]:
    lower, upper = kind.codes
    return lower, upper - lower + 1


def _code(domain: tuple[int, int], chance: _Chance) -> int:
    least, size = domain
    return least + min(int(chance() * size), size - 1)


def _public(table: PublicTable, chance: _Chance) -> Values:
    """Each key once; of many keys some, evenly over the domain."""
    key = dict(table.columns)[table.key]
    least, size = _domain(key)
    count = min(size, _PUBLIC_ROWS)
    columns = {}
    for name, kind in table.columns:
        domain = _domain(kind)
        codes = [
            least + size * i // count if name == table.key else _code(domain, chance)
            for i in range(count)
        ]
        columns[name] = _values(kind, codes)
    return columns
