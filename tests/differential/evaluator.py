"""The exact answer of a structured query, row by row: slow, and as docs/queries.md says it.

Plain values, dictionaries and loops; no SQL, no codes. Shares no code with ``interlace.query``
and ``interlace.engines`` beyond the declared types. The order in which a unit's rows and keys
count comes from outside, as the secret of registration that it is.
"""

from __future__ import annotations

import datetime
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from interlace.query.schema import Dataset, Table
from tests.differential.domains import Domain, bucket, domain, tables_of, truncated
from tests.differential.syntax import (
    Abs,
    Aggregate,
    And,
    Arith,
    Between,
    Bucket,
    Case,
    Clamp,
    Compare,
    Condition,
    Expr,
    In,
    Lit,
    Neg,
    Node,
    Not,
    Or,
    Part,
    Query,
    Ref,
    Trunc,
    Value,
    conjuncts,
    refs,
)

Values = Mapping[str, Value]
#: A joined row's values, by source and column.
Scope = Mapping[str, Values]

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "+": operator.add, "-": operator.sub, "*": operator.mul,
}  # fmt: skip
_PARTS: dict[str, Callable[[datetime.date], int]] = {
    "year": lambda day: day.year,
    "quarter": lambda day: (day.month + 2) // 3,
    "month": lambda day: day.month,
    "day": lambda day: day.day,
    "isodow": lambda day: day.isoweekday(),
}


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


# --- one row ------------------------------------------------------------------------------


def value(node: Node, scope: Scope) -> Any:  # noqa: C901 - one line for each node
    """What an expression or condition is on a row."""
    match node:
        case Ref(source, column):
            return scope[source][column]
        case Lit(constant):
            return constant
        case Arith(sign, left, right):
            result = _SIGNS[sign](value(left, scope), value(right, scope))
            return Fraction(result.days) if isinstance(result, datetime.timedelta) else result
        case Neg(inner):
            return -value(inner, scope)
        case Abs(inner):
            return abs(value(inner, scope))
        case Clamp(inner, lower, upper):
            return min(max(value(inner, scope), lower), upper)
        case Case(branches, otherwise):
            chosen = (e for condition, e in branches if value(condition, scope))
            return value(next(chosen, otherwise), scope)
        case Part(part, inner):
            return Fraction(_PARTS[part](value(inner, scope)))
        case Trunc(period, inner):
            return truncated(period, value(inner, scope))
        case Bucket(inner, width, origin):
            return bucket(value(inner, scope), width, origin)
        case _:
            return _truth(node, scope)


def _truth(node: Condition, scope: Scope) -> bool:
    match node:
        case Compare(sign, left, right):
            return bool(_SIGNS[sign](value(left, scope), value(right, scope)))
        case Between(inner, lower, upper, negated):
            inside = value(lower, scope) <= value(inner, scope) <= value(upper, scope)
            return bool(inside) != negated
        case In(inner, constants, negated):
            return (value(inner, scope) in constants) != negated
        case And(parts):
            return all(value(part, scope) for part in parts)
        case Or(parts):
            return any(value(part, scope) for part in parts)
        case Not(inner):
            return not value(inner, scope)
    raise AssertionError(node)


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


def counted(query: Query, dataset: Dataset, rows: Iterable[Joined]) -> list[Joined]:
    """The rows that count where there are groups: up to rows_per_unit of each table, and where
    the keys are of one declared key set only those of so many keys."""
    tables = tables_of(query, dataset)
    limits = key_set(query, dataset)
    kept = []
    for row in rows:
        within = all(part.rank <= rows_per_unit(tables[source]) for source, part in row.parts)
        if limits is not None:
            source, place, most = limits
            within = within and dict(row.parts)[source].key_ranks[place] <= most
        if within:
            kept.append(row)
    return kept


def rows_per_unit(table: object) -> int:
    return table.rows_per_unit if isinstance(table, Table) else 1


def most_rows(query: Query, dataset: Dataset) -> int:
    """R: what one unit has at most."""
    return math.prod(rows_per_unit(table) for table in tables_of(query, dataset).values())


def key_set(query: Query, dataset: Dataset) -> tuple[str, int, int] | None:
    """The source, place and keys_per_unit of the declared key set by which the query groups; of
    several the one with the fewest keys, and of these the first."""
    used = set(refs(query.keys))
    found = [
        (keys.keys_per_unit, source, place)
        for source, table in tables_of(query, dataset).items()
        if isinstance(table, Table)
        for place, keys in enumerate(table.key_sets)
        if used and used <= {Ref(source, column) for column in keys.columns}
    ]
    if not found:
        return None
    most, source, place = min(found, key=operator.itemgetter(0))
    return source, place, most


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
        value(_replaced(condition, expression, key), {})
        for condition in conjuncts(query.where)
        if not isinstance(condition, Lit) and alone(condition, expression)
    )


def alone(condition: object, key: Expr) -> bool:
    """Whether a condition speaks of a key and of nothing else."""
    return key in _parts(condition) and not list(refs(_replaced(condition, key, True)))


def _parts(node: object) -> list[object]:
    found = [node]
    for part in _children(node):
        found += _parts(part)
    return found


def _children(node: object) -> list[object]:
    if isinstance(node, tuple):
        return list(node)
    return list(vars(node).values()) if hasattr(node, "__dataclass_fields__") else []


def _replaced(node: Any, key: Expr, constant: Value) -> Any:
    """The node with a constant in the place of the key."""
    if node == key:
        return Lit(constant)
    if isinstance(node, tuple):
        return tuple(_replaced(part, key, constant) for part in node)
    if not hasattr(node, "__dataclass_fields__"):
        return node
    return type(node)(**{name: _replaced(part, key, constant) for name, part in vars(node).items()})


# --- the answer ---------------------------------------------------------------------------


def table(query: Query, dataset: Dataset, data: Data) -> list[dict[str, Answer]]:
    """The exact table of answers."""
    rows = joined(query, dataset, data)
    chosen = counted(query, dataset, rows)
    tables = tables_of(query, dataset)
    answers = []
    for key in listed(query, dataset):
        cell = _Cell(
            _in_group(query, rows, key),
            _in_group(query, chosen, key),
            most_rows(query, dataset),
            grouped=bool(query.keys),
        )
        answers.append(
            {
                item.name: key[item.what]
                if isinstance(item.what, int)
                else cell.answer(item.what, _domain_of(item.what, tables))
                for item in query.items
            }
        )
    return answers


def _in_group(query: Query, rows: Iterable[Joined], key: tuple[Value, ...]) -> list[Joined]:
    return [row for row in rows if tuple(value(k, row.scope) for k in query.keys) == key]


def _domain_of(aggregate: Aggregate, tables: Mapping[str, Any]) -> Domain:
    if aggregate.of is None:
        return Domain("number", Fraction(1), Fraction(1))
    return domain(aggregate.of, tables)


@dataclass(frozen=True)
class _Cell:
    """One group: all its rows, those that count where rows are chosen, and R."""

    every: Sequence[Joined]
    chosen: Sequence[Joined]
    most: int
    grouped: bool

    def answer(self, item: Aggregate, of: Domain) -> Answer:
        match item.kind:
            case "units":
                return Fraction(len({row.unit for row in self._rows()}))
            case "rows" | "sum":
                return self._total(item, of)
            case "quantile":
                return self._quantile(item, of)
            case "avg":
                rows = self._total(Aggregate("rows"), of)
                if rows == 0:
                    return Within(of.lower, of.upper)
                return Near(self._total(item, of) / rows)
        square = self._variance(item, of)
        if isinstance(square, Within):
            return square
        return Near(square) if item.kind.startswith("var") else Root(square)

    def _rows(self) -> Sequence[Joined]:
        return self.chosen if self.grouped else self.every

    def _total(self, item: Aggregate, of: Domain, power: int = 1) -> Fraction:
        """What the units add up to, each of them clamped."""
        one = Domain("number", Fraction(1), Fraction(1))
        bounds = one if item.kind == "rows" else of if power == 1 else _squared(of)
        units: dict[object, Fraction] = {}
        for row in self._rows():
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
        mean = self._total(item, of) / rows
        square = self._total(item, of, power=2) / rows
        variance = (square - mean**2) * (rows / (rows - 1) if sample else 1)
        return min(max(variance, Fraction(0)), most * (rows / (rows - 1) if sample else 1))

    def _quantile(self, item: Aggregate, of: Domain) -> Answer:
        """The least value up to which there is a share q of the rows, and at least one row."""
        assert item.of is not None
        assert item.q is not None
        values: list[Any] = sorted(value(item.of, row.scope) for row in self.chosen)
        if not values:
            return Within(of.lower, of.upper)
        place = max(math.ceil(item.q * len(values)), 1)
        found: Value = values[place - 1]
        return found


def _squared(of: Domain) -> Domain:
    """The bounds of e * e, as of any product of two numbers."""
    ends = [a * b for a in (of.lower, of.upper) for b in (of.lower, of.upper)]
    return Domain("number", min(ends), max(ends), 2 * of.digits)
