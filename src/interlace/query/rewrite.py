"""From a plan to the SQL that an engine runs over its snapshot: integers only.

Built as a tree from typed codes and from names of our own making, so that no text of a user
reaches an engine. Runs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from sqlglot import expressions as exp

from interlace.query.keys import Key
from interlace.query.parts import Part
from interlace.query.plan import Plan
from interlace.query.rewrite_terms import Terms, column, greatest, integer, least
from interlace.query.snapshot_names import RANK, UNIT, Names, key_rank

_UNITS = "units"


@dataclass(frozen=True)
class Statement:
    """One SQL statement: for each group that has rows, the codes of its keys and then one
    integer for each of the parts at these ``places`` of the plan."""

    sql: str
    places: tuple[int, ...]


def rewrite(plan: Plan, dialect: str, catalog: str | None = None) -> list[Statement]:
    """The statements that give a plan's exact integers; parts of the same keys share one.

    Without keys and where a unit may have several rows, rows are added up per unit, clamped, then
    added up. With keys, and where several rows of a unit meet several others, the rows beyond its
    bounds are left out by their stored ranks, and so need no clamping unless the query asks for it.
    No window functions: they cost seconds.

    >>> from interlace.query.columns import Integer
    >>> from interlace.query.parse import parse
    >>> from interlace.query.schema import Dataset, Table
    >>> labs = Table("labs", {"value": Integer(0, 500)}, rows_per_unit=1)
    >>> plan = parse("SELECT SUM(value) FROM labs", Dataset("clinic", "id", (labs,)))
    >>> rewrite(plan, "duckdb")[0].sql
    'SELECT COALESCE(SUM("t0"."c0"), 0) FROM "t0" AS "t0"'
    """
    groups: dict[tuple[Key, ...], list[int]] = {}
    for place, part in enumerate(plan.parts):
        groups.setdefault(part.keys, []).append(place)
    return [
        Statement(
            _statement(plan, keys, [plan.parts[i] for i in places], dialect, catalog), tuple(places)
        )
        for keys, places in groups.items()
    ]


def assembled(
    plan: Plan, results: Iterable[tuple[Statement, Sequence[Sequence[int]]]]
) -> tuple[int, ...]:
    """The plan's cells from the rows that each statement gave; 0 for groups without rows."""
    cells: list[dict[tuple[int, ...], int]] = [{} for _ in plan.parts]
    for statement, rows in results:
        for row in rows:
            split = len(row) - len(statement.places)
            group = tuple(int(code) for code in row[:split])
            for place, value in zip(statement.places, row[split:], strict=True):
                cells[place][group] = int(value)
    return tuple(_dense(plan, cells))


def _dense(plan: Plan, cells: Sequence[dict[tuple[int, ...], int]]) -> Iterator[int]:
    for part, found in zip(plan.parts, cells, strict=True):
        for group in product(*(key.codes for key in part.keys)):
            yield found.get(group, 0)


def _statement(
    plan: Plan, keys: tuple[Key, ...], parts: list[Part], dialect: str, catalog: str | None
) -> str:
    names = Names.of(plan.dataset, plan.joined)
    terms = Terms(names)
    groups = [
        exp.alias_(terms.term(key.term), f"g{i}", quoted=True, copy=False)
        for i, key in enumerate(keys)
    ]
    rows = _rows(plan, names, terms, parts[0], catalog)
    single = plan.joined.rows == 1
    if single and not any(part.clamp for part in parts):
        numbers = [_or_zero(_added(terms, part), keys) for part in parts]
        return _grouped(rows.select(*groups, *numbers, copy=False), len(keys)).sql(dialect)
    if not any(part.per_unit for part in parts):
        numbers = [_added(terms, part) for part in parts]
        return _grouped(rows.select(*groups, *numbers, copy=False), len(keys)).sql(dialect)
    named = [
        exp.alias_(_added(terms, part), f"a{i}", quoted=True, copy=False)
        for i, part in enumerate(parts)
    ]
    unit = column(names.tables[plan.joined.tables[0].name], UNIT)
    rows = _grouped(rows.select(*groups, *named, copy=False), len(keys)).group_by(unit, copy=False)
    again = [column(_UNITS, f"g{i}") for i in range(len(keys))]
    totals = [
        _or_zero(exp.Sum(this=_clamped(column(_UNITS, f"a{i}"), part)), keys)
        for i, part in enumerate(parts)
    ]
    outer = exp.select(*again, *totals, copy=False).from_(rows.subquery(_UNITS), copy=False)
    return _grouped(outer, len(keys)).sql(dialect)


def _rows(plan: Plan, names: Names, terms: Terms, part: Part, catalog: str | None) -> exp.Select:
    """The joined rows that count."""
    first, *others = plan.joined.tables
    rows = exp.select().from_(_stored(names.tables[first.name], catalog), copy=False)
    unit = column(names.tables[first.name], UNIT)
    for table in others:
        name = names.tables[table.name]
        same = exp.EQ(this=unit.copy(), expression=column(name, UNIT))
        rows = rows.join(_stored(name, catalog), on=same, copy=False)
    for lookup in plan.joined.lookups:
        name = names.tables[lookup.public.name]
        key = column(name, names.columns[lookup.public.name, lookup.public.key])
        rows = rows.join(
            _stored(name, catalog),
            on=exp.EQ(this=terms.term(lookup.by), expression=key),
            copy=False,
        )
    conditions = [*_bounds(plan, names, part), terms.condition(plan.where)]
    for condition in conditions:
        if condition is not None:
            rows = rows.where(condition, copy=False)
    return rows


def _bounds(plan: Plan, names: Names, part: Part) -> Iterator[exp.Expr]:
    """With keys, and where its rows would be multiplied, which of a unit's rows count."""
    if not part.keys and not plan.joined.multiplied:
        return
    for table in plan.joined.tables:
        if table.rows_per_unit > 1:
            rank = column(names.tables[table.name], RANK)
            yield exp.LTE(this=rank, expression=integer(table.rows_per_unit))
    for limit in part.limits:
        rank = column(names.tables[limit.table], key_rank(limit.index))
        yield exp.LTE(this=rank, expression=integer(limit.most))


def _stored(name: str, catalog: str | None) -> exp.Expr:
    return exp.alias_(exp.table_(name, db=catalog, quoted=True), name, table=True, quoted=True)


def _grouped(select: exp.Select, keys: int) -> exp.Select:
    return select.group_by(*(integer(i + 1) for i in range(keys)), copy=False) if keys else select


def _added(terms: Terms, part: Part) -> exp.Expr:
    """Of one group of rows. No code is missing and no group is empty: it is never NULL."""
    if part.term is None:
        return exp.Count(this=exp.Star())
    return exp.Sum(this=terms.term(part.term))


def _clamped(number: exp.Expr, part: Part) -> exp.Expr:
    """What a unit adds, within the part's bounds; a sum of numbers of one sign keeps to 0 by
    itself."""
    lower, upper = part.bounds
    least_code, most_code = (1, 1) if part.term is None else part.term.kind.codes
    if lower or least_code < 0:
        number = greatest(number, integer(lower))
    return least(number, integer(upper)) if upper or most_code > 0 else number


def _or_zero(total: exp.Expr, keys: Sequence[Key]) -> exp.Expr:
    """Without keys a sum over no row is NULL; the answer is 0."""
    return (
        total
        if keys or isinstance(total, exp.Count)
        else exp.Coalesce(this=total, expressions=[integer(0)])
    )
