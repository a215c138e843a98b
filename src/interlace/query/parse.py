"""From SQL text to a plan: the gate. Pure: decided from text and public metadata (R7).

A whitelist over the syntax tree: every node must be of a type that is expected where it
stands, and no argument of it may be set beyond those expected of that type. What sqlglot may
come to understand in later versions is so refused until it is added here.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Token
from sqlglot import expressions as exp
from sqlglot import parse as sqlglot_parse
from sqlglot.errors import ParseError

from interlace.core.errors import ParameterError, QueryRefused
from interlace.query.advice import CONDITION, FORM, advice_for
from interlace.query.columns import Boolean, Decimal, Integer
from interlace.query.conditions import (
    Conditions,
    bare_identifier,
    column_name,
    find,
    is_unit,
    listing,
)
from interlace.query.plan import Aggregate, Plan
from interlace.query.predicates import Always, Predicate
from interlace.query.schema import Dataset, Table
from interlace.query.screen import DIALECT, position, screened
from interlace.query.tree import Source, construct_of


def parse(sql: str, dataset: Dataset) -> Plan:
    """The plan of a query over a declared dataset.

    Raises QueryRefused for everything but ``SELECT COUNT(*) | COUNT(DISTINCT unit) |
    SUM(column) [AS name] FROM table [WHERE condition]``, naming the construct, its position
    and what is allowed instead. Never looks at data, and raises nothing else.

    >>> from interlace.query.columns import Integer
    >>> clinic = Dataset("clinic", "id", (Table("people", {"age": Integer(0, 120)}),))
    >>> parse("select count(*) as n from people where not age < 65", clinic).text
    'SELECT COUNT(*) FROM "people" WHERE "age" >= 65'
    """
    names = {dataset.unit, *(table.name for table in dataset.tables)}
    names |= {column for table in dataset.tables for column, _ in table.columns}
    words = screened(sql, names)
    source = Source(sql)
    select = _statement(sql, source, words)
    source.expect(select, exp.Select, "expressions", "from_", "where")
    table = _table(select.args.get("from_"), dataset, source)
    aggregate = _aggregate(select, table, dataset, source)
    where = select.args.get("where")
    condition: Predicate = Always(True)
    if where is not None:
        source.expect(where, exp.Where, "this")
        condition = Conditions(table, dataset, source).read(where.this)
    try:
        plan = Plan(dataset, table, (aggregate,), condition)
    except ParameterError as error:
        raise source.refuse(select.expressions[0], "SUM", str(error)) from None
    _check_canonical(plan, names)
    return plan


def _check_canonical(plan: Plan, names: set[str]) -> None:
    """A plan's text must be a query again, within the same limits: a long NOT IN is short, and
    the ranges that it leaves may not be."""
    try:
        screened(plan.text, names)
    except QueryRefused as refusal:
        raise QueryRefused(
            refusal.construct,
            "the condition comes to too many ranges, or nests too deep, once its negations are "
            "worked out: ask for less at once",
        ) from None


def _statement(sql: str, source: Source, words: Sequence[Token]) -> exp.Expr:
    try:
        statements = [item for item in sqlglot_parse(sql, read=DIALECT) if item is not None]
    except ParseError as error:
        start = _start(error, words)
        raise QueryRefused(
            "syntax",
            f"the allowed form is {FORM}, where {CONDITION}",
            None if start is None else position(sql, start),
        ) from None
    except RecursionError:
        raise QueryRefused("nesting", "is too deep; write it flatter") from None
    except Exception:  # noqa: BLE001 - the parser's own faults: its messages quote the text
        raise QueryRefused("query", f"cannot be read as SQL; the allowed form is {FORM}") from None
    if len(statements) != 1:
        raise source.refuse(
            statements[1] if statements else None,
            "several statements" if statements else "empty query",
            "ask one statement at a time",
        )
    return statements[0]


def _start(error: ParseError, words: Sequence[Token]) -> int | None:
    """Where the word begins at which the parser gave up. Its error tells the line and the column
    of that word's end, and counts lines in a way of its own."""
    place = [(item.get("line"), item.get("col")) for item in error.errors[:1]]
    return next((word.start for word in words if [(word.line, word.col)] == place), None)


def _table(node: object, dataset: Dataset, source: Source) -> Table:
    if not isinstance(node, exp.From):
        raise QueryRefused("SELECT without FROM", f"the allowed form is {FORM}")
    source.expect(node, exp.From, "this")
    source.expect(node.this, exp.Table, "this")
    source.expect(node.this.this, exp.Identifier, "this", "quoted")
    if source.starts_with(node.this.this, "'"):
        raise source.refuse(node, "text in place of a table", "name a declared table")
    name = find([table.name for table in dataset.tables], node.this.this)
    table = None if name is None else dataset.table(name, quoted=True)
    if table is None:
        names = listing([table.name for table in dataset.tables])
        raise source.refuse(node, "unknown table", f"dataset {dataset.name!r} has {names}")
    return table


def _aggregate(select: exp.Expr, table: Table, dataset: Dataset, source: Source) -> Aggregate:
    if len(select.expressions) != 1:
        second = select.expressions[1] if select.expressions else None
        raise source.refuse(second, "SELECT list", f"ask for one aggregate: {FORM}", select)
    node = select.expressions[0]
    if isinstance(node, exp.Alias):
        source.expect(node, exp.Alias, "this", "alias")
        source.expect(node.args["alias"], exp.Identifier, "this", "quoted")
        node = node.this
    if type(node) is exp.Count:
        source.expect(node, exp.Count, "this", "big_int")
        return _count(node.this, table, dataset, source)
    if type(node) is exp.Sum:
        source.expect(node, exp.Sum, "this")
        return _sum(node.this, table, dataset, source)
    construct = construct_of(node)
    raise source.refuse(node, construct, advice_for(construct), select)


def _count(node: exp.Expr, table: Table, dataset: Dataset, source: Source) -> Aggregate:
    if type(node) is exp.Star:
        source.expect(node, exp.Star)
        return Aggregate.rows(table)
    unit = f"COUNT(*) counts rows, COUNT(DISTINCT {dataset.unit}) counts units"
    if type(node) is not exp.Distinct or len(node.expressions) != 1:
        present = f"nothing is missing in a registered table: {unit}"
        named = isinstance(node, exp.Column | exp.Literal)
        raise source.refuse(node, "COUNT", present if named else unit)
    source.expect(node, exp.Distinct, "expressions")
    column = node.expressions[0]
    if type(column) is not exp.Column or not is_unit(
        bare_identifier(column, table, source), dataset
    ):
        raise source.refuse(column, "COUNT(DISTINCT)", unit)
    return Aggregate.units()


def _sum(node: exp.Expr, table: Table, dataset: Dataset, source: Source) -> Aggregate:
    if type(node) is not exp.Column:
        raise source.refuse(node, f"SUM of {construct_of(node)}", "SUM takes one column by itself")
    name = column_name(node, table, dataset, source)
    if isinstance(table.kind(name), Integer | Decimal | Boolean):
        return Aggregate.sum(table, name)
    raise source.refuse(
        node, f"SUM of {name!r}", "only integer, decimal and boolean columns can be added up"
    )
