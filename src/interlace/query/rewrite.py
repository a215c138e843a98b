"""From a plan to the SQL that an engine runs over its snapshot: integers only.

Built as a tree from typed codes and from names of our own making, so that no text of a user
reaches an engine. Runs nothing.
"""

from __future__ import annotations

from sqlglot import expressions as exp

from interlace.query.plan import Aggregate, Plan
from interlace.query.predicates import Always, Every, Predicate, Ranges, Some, Within
from interlace.query.schema import Dataset, Table

#: The column that holds a unit's keyed id.
UNIT = "unit"
#: The column that numbers a unit's rows from 1, in an order that only the secret key tells.
RANK = "rank"


def key_rank(j: int) -> str:
    """The column that numbers, from 1, the distinct keys that a unit has of its table's j-th
    key set; rows of one key share a number.

    >>> key_rank(0)
    'k0'
    """
    return f"k{j}"


def table_name(dataset: Dataset, table: Table) -> str:
    """What the snapshot calls a table: by place, whatever its declared name.

    >>> people = Table("people", {})
    >>> table_name(Dataset("clinic", "id", (people,)), people)
    't0'
    """
    return f"t{dataset.tables.index(table)}"


def column_name(table: Table, column: str) -> str:
    """What the snapshot calls a column, by place.

    >>> from interlace.query.columns import Boolean
    >>> column_name(Table("people", {"male": Boolean()}), "male")
    'c0'
    """
    return f"c{[name for name, _ in table.columns].index(column)}"


def rewrite(plan: Plan, dialect: str, catalog: str | None = None) -> str:
    """The statement that gives one row of exact integers, one for each cell.

    Where a unit may have one row only, rows are added up directly; otherwise rows are
    added up per unit, clamped, then added up. No window functions: they cost seconds.

    >>> from interlace.query.columns import Integer
    >>> from interlace.query.parse import parse
    >>> labs = Table("labs", {"value": Integer(0, 500)}, rows_per_unit=1)
    >>> plan = parse("SELECT SUM(value) FROM labs", Dataset("clinic", "id", (labs,)))
    >>> rewrite(plan, "duckdb")
    'SELECT COALESCE(SUM("c0"), 0) FROM "t0"'
    """
    rows = exp.select().from_(
        exp.table_(table_name(plan.dataset, plan.table), db=catalog, quoted=True), copy=False
    )
    condition = _condition(plan.table, plan.where)
    if condition is not None:
        rows = rows.where(condition, copy=False)
    numbers = [_of_rows(plan.table, item) for item in plan.aggregates]
    if plan.table.rows_per_unit == 1:
        return rows.select(*map(_or_zero, numbers), copy=False).sql(dialect=dialect)
    named = [exp.alias_(number, f"a{i}", quoted=True) for i, number in enumerate(numbers)]
    rows = rows.select(*named, copy=False).group_by(exp.column(UNIT, quoted=True), copy=False)
    units = rows.subquery("units", copy=False)
    totals = [
        _or_zero(exp.Sum(this=_clamped(exp.column(f"a{i}", quoted=True), item)))
        for i, item in enumerate(plan.aggregates)
    ]
    return exp.select(*totals, copy=False).from_(units, copy=False).sql(dialect=dialect)


def _of_rows(table: Table, item: Aggregate) -> exp.Expr:
    """Of one group of rows. No code is missing and no group is empty: it is never NULL."""
    if item.column is None:
        return exp.Count(this=exp.Star())
    return exp.Sum(this=exp.column(column_name(table, item.column), quoted=True))


def _clamped(number: exp.Expr, item: Aggregate) -> exp.Expr:
    # LEAST and GREATEST skip NULL in some engines and not in others: here it cannot occur.
    floor = exp.Greatest(this=number, expressions=[_integer(item.lower)], ignore_nulls=True)
    return exp.Least(this=floor, expressions=[_integer(item.upper)], ignore_nulls=True)


def _or_zero(total: exp.Expr) -> exp.Expr:
    """A sum over no row is NULL; the answer is 0."""
    return exp.Coalesce(this=total, expressions=[_integer(0)])


def _integer(value: int) -> exp.Expr:
    literal = exp.Literal.number(abs(value))
    return exp.Neg(this=literal) if value < 0 else literal


def _condition(table: Table, where: Predicate) -> exp.Expr | None:
    match where:
        case Always(value):
            return None if value else exp.EQ(this=_integer(0), expression=_integer(1))
        case Within(column, codes, ranges):
            return _within(exp.column(column_name(table, column), quoted=True), codes, ranges)
        case Every(parts):
            return exp.and_(*(_condition(table, part) for part in parts), copy=False)
        case Some(parts):
            return exp.or_(*(_condition(table, part) for part in parts), copy=False)


def _within(column: exp.Expr, codes: tuple[int, int], ranges: Ranges) -> exp.Expr:
    single = [_integer(least) for least, most in ranges if least == most]
    terms = [_range(column, codes, item) for item in ranges if item[0] < item[1]]
    if single:
        terms.append(exp.In(this=column.copy(), expressions=single))
    return exp.or_(*terms, copy=False)


def _range(column: exp.Expr, codes: tuple[int, int], item: tuple[int, int]) -> exp.Expr:
    if item[0] == codes[0]:
        return exp.LTE(this=column.copy(), expression=_integer(item[1]))
    if item[1] == codes[1]:
        return exp.GTE(this=column.copy(), expression=_integer(item[0]))
    return exp.Between(this=column.copy(), low=_integer(item[0]), high=_integer(item[1]))
