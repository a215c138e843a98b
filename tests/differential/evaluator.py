"""The exact answer of a structured query, row by row: slow, and as docs/queries.md says it.

Plain values, dictionaries and loops; no SQL, no codes. Shares no code with ``interlace.query``
and ``interlace.engines`` beyond the declared types. The order in which a unit's rows and keys
count comes from outside, as the secret of registration that it is.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from interlace.query.schema import Dataset, Table
from tests.differential.domains import Domain, domain, tables_of
from tests.differential.meaning import Scope, Values, value
from tests.differential.syntax import (
    Aggregate,
    And,
    Arith,
    Between,
    Compare,
    Condition,
    Expr,
    In,
    Lit,
    Not,
    Or,
    Query,
    Ref,
    Value,
    conjuncts,
    refs,
)


@dataclass(frozen=True)
class Stored:
    """A normalised row of a table of units: whose it is, the place that a secret order gives it
    among the unit's rows, and that of each key set's key among the unit's keys; from 1."""

    unit: object
    values: Values
    rank: int = 1
    key_ranks: tuple[int, ...] = ()


@dataclass(frozen=True)
class Data:
    """What is registered: the rows of each table of units and of each public table."""

    tables: Mapping[str, Sequence[Stored]]
    public: Mapping[str, Sequence[Values]]


@dataclass(frozen=True)
class Within:
    """Stands for a value that no exact number says, such as the mean of no rows: what is
    answered must lie between the bounds."""

    lower: Any
    upper: Any


@dataclass(frozen=True)
class Near:
    """A quotient, which decimals only come near to."""

    value: Fraction


@dataclass(frozen=True)
class Root:
    """The square root of ``square``, which need not be rational."""

    square: Fraction


Answer = Value | Within | Near | Root


@dataclass(frozen=True)
class Joined:
    """A row of the join: the unit, its parts' values, and the parts of tables of units."""

    unit: object
    scope: Scope
    parts: tuple[tuple[str, Stored], ...]


# --- rows ---------------------------------------------------------------------------------


def joined(query: Query, dataset: Dataset, data: Data) -> list[Joined]:
    """All rows of FROM and JOIN that WHERE keeps; none is left out for being one too many."""
    first, *others = query.sources
    rows = [
        Joined(row.unit, {first.name: row.values}, ((first.name, row),))
        for row in data.tables[first.table]
    ]
    keys = {table.name: table.key for table in dataset.public}
    for source in others:
        met = []
        for row in rows:
            if source.join == "unit":
                for other in data.tables[source.table]:
                    if other.unit == row.unit:
                        scope = {**row.scope, source.name: other.values}
                        met.append(Joined(row.unit, scope, (*row.parts, (source.name, other))))
            else:
                assert source.by is not None
                wanted = value(source.by, row.scope)
                for public in data.public[source.table]:
                    if public[keys[source.table]] == wanted:
                        scope = {**row.scope, source.name: public}
                        met.append(Joined(row.unit, scope, row.parts))
        rows = met
    return [row for row in rows if query.where is None or value(query.where, row.scope)]


def counted(
    query: Query, dataset: Dataset, rows: Iterable[Joined], also: Expr | None = None
) -> list[Joined]:
    """The rows that count where there are groups: up to rows_per_unit of each table, and where
    the keys are of one declared key set only those of so many keys. What a histogram is of is
    one key more."""
    tables = tables_of(query, dataset)
    limits = key_sets(query, dataset, also)
    return [
        row
        for row in rows
        if all(part.rank <= rows_per_unit(tables[source]) for source, part in row.parts)
        and all(dict(row.parts)[s].key_ranks[place] <= most for s, (place, most) in limits.items())
    ]


def rows_per_unit(table: object) -> int:
    return table.rows_per_unit if isinstance(table, Table) else 1


def most_rows(query: Query, dataset: Dataset) -> int:
    """R: what one unit has at most."""
    return math.prod(rows_per_unit(table) for table in tables_of(query, dataset).values())


def key_sets(
    query: Query, dataset: Dataset, also: Expr | None = None
) -> dict[str, tuple[int, int]]:
    """For each source that keys come from the place and keys_per_unit of the declared key set that
    determines them; of several the one with the fewest keys, and of these the first."""
    found: dict[str, tuple[int, int]] = {}
    for source, columns in _key_columns(query, dataset, also).items():
        table = tables_of(query, dataset)[source]
        assert isinstance(table, Table)
        sets = [
            (place, keys.keys_per_unit)
            for place, keys in enumerate(table.key_sets)
            if columns <= set(keys.columns)
        ]
        if sets:
            found[source] = min(sets, key=operator.itemgetter(1))
    return found


def most_groups(query: Query, dataset: Dataset, also: Expr | None = None) -> int:
    """In how many groups one unit may be, by the tables that the keys come from."""
    limits, tables = key_sets(query, dataset, also), tables_of(query, dataset)
    product = 1
    for source in _key_columns(query, dataset, also):
        rows = rows_per_unit(tables[source])
        product *= min(rows, limits[source][1]) if source in limits else rows
    return product


def _key_columns(query: Query, dataset: Dataset, also: Expr | None) -> dict[str, set[str]]:
    """The columns of tables of units that the keys are functions of, by source."""
    used = {_origin(ref, query) for ref in refs((*query.keys, also))}
    return {
        source: {ref.column for ref in used if ref.source == source}
        for source in tables_of(query, dataset)
        if any(ref.source == source for ref in used)
    }


def _origin(ref: Ref, query: Query) -> Ref:
    """The column of a table of units by which a public column is found, or the column itself."""
    source = next(source for source in query.sources if source.name == ref.source)
    return ref if source.by is None else _origin(source.by, query)


def resolved(query: Query, dataset: Dataset) -> Query:
    """The query with each key of a public table written as the column that it is joined on."""
    keys = {table.name: table.key for table in dataset.public}
    found = query
    for source in reversed(query.sources):  # a key that is found by a key stands for its column
        if source.by is not None:
            mine = Ref(source.name, keys[source.table])
            found = replace(
                found,
                where=_replaced(found.where, mine, source.by),
                keys=_replaced(found.keys, mine, source.by),
                items=_replaced(found.items, mine, source.by),
            )
    return found


def listed(query: Query, dataset: Dataset) -> list[tuple[Value, ...]]:
    """The keys of the answer's rows, in order."""
    tables = tables_of(query, dataset)
    return [
        combination
        for combination in itertools.product(*(domain(k, tables).values() for k in query.keys))
        if all(_allowed(query, place, key) for place, key in enumerate(combination))
    ]


def _allowed(query: Query, place: int, key: Value) -> bool:
    """Whether the conditions that WHERE puts on the key alone hold for that value of it."""
    expression = query.keys[place]
    return all(
        value(_replaced(condition, expression, Lit(key)), {})
        for condition in conjuncts(query.where)
        if alone(condition, expression)
    )


def alone(condition: Condition, key: Expr) -> bool:
    """Whether a condition compares a key with constants and says nothing else."""
    match condition:
        case And(parts) | Or(parts):
            return all(alone(part, key) for part in parts)
        case Not(inner):
            return alone(inner, key)
        case Compare(_, left, right):
            sides = [side for side in (left, right) if not isinstance(side, Lit)]
            return sides == [key]
        case Between(inner, Lit(), Lit()) | In(inner):
            return inner == key
    return condition == key


def _replaced(node: Any, old: Expr, new: Expr) -> Any:
    """The node with one expression in the place of another."""
    if node == old:
        return new
    if isinstance(node, tuple):
        return tuple(_replaced(part, old, new) for part in node)
    if not hasattr(node, "__dataclass_fields__"):
        return node
    return type(node)(**{name: _replaced(part, old, new) for name, part in vars(node).items()})


# --- the answer ---------------------------------------------------------------------------


def table(
    query: Query,
    dataset: Dataset,
    data: Data,
    shown: Sequence[tuple[Value, ...]] | None = None,
) -> list[dict[str, Answer]]:
    """The exact table of answers, for all keys or the ones that are shown."""
    query = resolved(query, dataset)
    rows = joined(query, dataset, data)
    tables = tables_of(query, dataset)
    multiplied = sum(rows_per_unit(source) > 1 for source in tables.values()) > 1
    chosen = counted(query, dataset, rows) if query.keys or multiplied else rows
    answers = []
    for key in listed(query, dataset) if shown is None else shown:
        cell = _Cell(_in_group(query, chosen, key), most_rows(query, dataset))
        found: dict[str, Answer] = {}
        for item in query.items:
            if isinstance(item.what, int):
                found[item.name] = key[item.what]
            elif item.what.kind == "quantile":
                own = counted(query, dataset, rows, item.what.of)
                histogram = _Cell(_in_group(query, own, key), most_rows(query, dataset))
                found[item.name] = histogram.quantile(item.what, _domain_of(item.what, tables))
            else:
                found[item.name] = cell.answer(item.what, _domain_of(item.what, tables))
        answers.append(found)
    return answers


def _in_group(query: Query, rows: Iterable[Joined], key: tuple[Value, ...]) -> list[Joined]:
    return [row for row in rows if tuple(value(k, row.scope) for k in query.keys) == key]


def _domain_of(aggregate: Aggregate, tables: Mapping[str, Any]) -> Domain:
    if aggregate.of is None:
        return Domain("number", Fraction(1), Fraction(1))
    return domain(aggregate.of, tables)


@dataclass(frozen=True)
class _Cell:
    """One group: its rows that count, and R."""

    rows: Sequence[Joined]
    most: int

    def answer(self, item: Aggregate, of: Domain) -> Answer:
        match item.kind:
            case "units":
                return Fraction(len({row.unit for row in self.rows}))
            case "rows" | "sum":
                return self._total(item, of)
            case "avg":
                rows = self._total(Aggregate("rows"), of)
                if rows == 0:
                    return Within(of.lower, of.upper)
                around, middle = _around(item, of)
                return Near(middle + self._total(*around) / rows)
        square = self._variance(item, of)
        if isinstance(square, Within):
            return square
        return Near(square) if item.kind.startswith("var") else Root(square)

    def _total(self, item: Aggregate, of: Domain, power: int = 1) -> Fraction:
        """What the units add up to, each of them clamped."""
        one = Domain("number", Fraction(1), Fraction(1))
        bounds = one if item.kind == "rows" else of if power == 1 else _squared(of)
        units: dict[object, Fraction] = {}
        for row in self.rows:
            number = Fraction(1)
            if item.kind != "rows":
                assert item.of is not None
                number = Fraction(value(item.of, row.scope)) ** power
            units[row.unit] = units.get(row.unit, Fraction(0)) + number
        least, most = self.most * min(bounds.lower, 0), self.most * max(bounds.upper, 0)
        total = Fraction(0)
        for unit in units.values():
            clamped = min(max(unit, least), most)
            if item.clamp is not None:
                clamped = min(max(clamped, item.clamp[0]), item.clamp[1])
            total += clamped
        return total

    def _variance(self, item: Aggregate, of: Domain) -> Fraction | Within:
        """Of numbers in [l, u] a variance lies in [0, (u - l)^2 / 4], the sample's in twice
        that; what the sums say is put in there."""
        sample = item.kind.endswith("samp")
        rows = self._total(Aggregate("rows"), of)
        most: Fraction = (of.upper - of.lower) ** 2 / 4
        if rows <= sample:
            return Within(Fraction(0), 2 * most)
        around, _ = _around(item, of)
        mean = self._total(*around) / rows
        square = self._total(*around, power=2) / rows
        variance = (square - mean**2) * (rows / (rows - 1) if sample else 1)
        return min(max(variance, Fraction(0)), most * (rows / (rows - 1) if sample else 1))

    def quantile(self, item: Aggregate, of: Domain) -> Answer:
        """The least value up to which there is a share q of the rows, and at least one row."""
        assert item.of is not None
        assert item.q is not None
        values: list[Any] = sorted(value(item.of, row.scope) for row in self.rows)
        if not values:
            return Within(of.lower, of.upper)
        place = max(math.ceil(item.q * len(values)), 1)
        found: Value = values[place - 1]
        return found


def centred(of: Expr, bounds: Domain) -> tuple[Expr, Fraction]:
    """A number less the middle of its bounds, rounded down to its last digit; and that middle."""
    if bounds.kind == "truth":
        return of, Fraction(0)
    unit = 10**bounds.digits
    middle = Fraction(math.floor((bounds.lower + bounds.upper) * unit / 2), unit)
    return (of, middle) if middle == 0 else (Arith("-", of, Lit(middle)), middle)


def _around(item: Aggregate, of: Domain) -> tuple[tuple[Aggregate, Domain], Fraction]:
    """The aggregate of such a number, with its bounds, and the middle."""
    assert item.of is not None
    number, middle = centred(item.of, of)
    if middle == 0:
        return (item, of), middle
    bounds = Domain("number", of.lower - middle, of.upper - middle, of.digits)
    return (replace(item, of=number), bounds), middle


def _squared(of: Domain) -> Domain:
    """The bounds of e * e, as of any product of two numbers."""
    ends = [a * b for a in (of.lower, of.upper) for b in (of.lower, of.upper)]
    return Domain("number", min(ends), max(ends), 2 * of.digits)
