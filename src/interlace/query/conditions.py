"""WHERE: from sqlglot's tree to a predicate over codes, by whitelist. Sees no data."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import expressions as exp

from interlace.core.errors import QueryRefused
from interlace.query import names, predicates
from interlace.query.advice import CONDITION, SINGLE_QUOTES
from interlace.query.columns import Boolean, Category, Column
from interlace.query.predicates import Always, Predicate, Ranges
from interlace.query.schema import Dataset, Table
from interlace.query.tree import Source, construct_of
from interlace.query.values import Constant, MismatchError, read_day

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NUMBER = re.compile(r"(\d{1,60}(\.\d{0,60})?|\.\d{1,60})([eE][+-]?\d{1,2})?", re.ASCII)


@dataclass(frozen=True)
class Conditions:
    """Reads the conditions of a query over one table."""

    table: Table
    dataset: Dataset
    source: Source

    def read(self, node: exp.Expr) -> Predicate:
        """The predicate of a condition. Raises QueryRefused."""
        kind = type(node)
        if kind is exp.Paren:
            self.source.expect(node, exp.Paren, "this")
            return self.read(node.this)
        if kind is exp.Not:
            self.source.expect(node, exp.Not, "this")
            return predicates.negation(self.read(node.this))
        if kind is exp.And:
            return predicates.conjunction(self.read(part) for part in self._parts(node))
        if kind is exp.Or:
            return predicates.disjunction(self.read(part) for part in self._parts(node))
        if kind in _OPERATORS:
            return self._comparison(node)
        if kind is exp.Between:
            return self._between(node)
        if kind is exp.In:
            return self._membership(node)
        return self._bare(node)

    def _parts(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """The parts of a chain, which the parser nests to the left as deep as it is long."""
        kind, parts = type(node), []
        while type(node) is kind:
            self.source.expect(node, kind, "this", "expression")
            parts.append(node.args["expression"])
            node = node.this
        return iter([node, *reversed(parts)])

    def _comparison(self, node: exp.Expr) -> Predicate:
        self.source.expect(node, type(node), "this", "expression")
        left, right = node.this, node.args["expression"]
        operator = _OPERATORS[type(node)]
        if isinstance(left, exp.Column) and isinstance(right, exp.Column):
            left = right if self._declared(left) else left  # the one that is to blame
            raise self._beside(left)
        if isinstance(right, exp.Column):
            left, right, operator = right, left, _MIRRORED.get(operator, operator)
        elif isinstance(left, exp.Literal):  # then what stands on the right is to blame
            left = right
        name, kind = self._column(left)
        ordering = operator not in ("=", "<>")
        if ordering and not kind.ordered:
            raise self._unordered(node, name)
        place = self._place(name, kind, right, left)
        return predicates.within(
            name, kind.codes, predicates.comparison(operator, place, kind.codes)
        )

    def _between(self, node: exp.Expr) -> Predicate:
        self.source.expect(node, exp.Between, "this", "low", "high")
        name, kind = self._column(node.this)
        if not kind.ordered:
            raise self._unordered(node, name)
        low, high = (self._place(name, kind, node.args[end], node) for end in ("low", "high"))
        above = predicates.comparison(">=", low, kind.codes)
        below = predicates.comparison("<=", high, kind.codes)
        return predicates.conjunction(
            predicates.within(name, kind.codes, side) for side in (above, below)
        )

    def _membership(self, node: exp.Expr) -> Predicate:
        self.source.expect(node, exp.In, "this", "expressions")
        name, kind = self._column(node.this)
        listed: list[Ranges] = [
            predicates.comparison("=", self._place(name, kind, item, node), kind.codes)
            for item in node.expressions
        ]
        if not listed:
            raise self.source.refuse(node, "IN", "lists constants: column IN (1, 2)")
        return predicates.within(name, kind.codes, predicates.union(listed))

    def _bare(self, node: exp.Expr) -> Predicate:
        """TRUE, FALSE, or a boolean column by itself."""
        if isinstance(node, exp.Boolean):
            self.source.expect(node, exp.Boolean, "this")
            return Always(bool(node.this))
        if not isinstance(node, exp.Column):
            raise self.source.refuse(node, construct_of(node), f"is not allowed: {CONDITION}")
        name, kind = self._column(node)
        if not isinstance(kind, Boolean):
            raise self.source.refuse(
                node, f"column {name!r}", "is not a boolean: compare it with a constant"
            )
        return predicates.within(name, kind.codes, ((1, 1),))

    def _column(self, node: exp.Expr) -> tuple[str, Column]:
        if not isinstance(node, exp.Column):
            reason = f"stands where a column is expected: {CONDITION}"
            raise self.source.refuse(node, construct_of(node), reason)
        name = column_name(node, self.table, self.dataset, self.source)
        return name, self.table.kind(name)

    def _place(self, name: str, kind: Column, node: exp.Expr, around: exp.Expr) -> Fraction:
        constant = self._constant(node)
        try:
            return kind.place(constant)
        except MismatchError as error:
            raise self.source.refuse(
                node, f"comparison with {name!r}", f"needs {error.expected}", around
            ) from None
        except KeyError:
            assert isinstance(kind, Category)
            raise self.source.refuse(
                node, f"text that {name!r} does not list", f"it lists {listing(kind.values)}"
            ) from None

    def _constant(self, node: exp.Expr) -> Constant:
        if isinstance(node, exp.Neg):
            self.source.expect(node, exp.Neg, "this")
            self.source.expect(node.this, exp.Literal, "this", "is_string")
            if not node.this.is_string:
                return -self._number(node.this)
        if isinstance(node, exp.Literal):
            self.source.expect(node, exp.Literal, "this", "is_string")
            return str(node.this) if node.is_string else self._number(node)
        if isinstance(node, exp.Boolean):
            self.source.expect(node, exp.Boolean, "this")
            return bool(node.this)
        if isinstance(node, exp.Cast):
            return self._date(node)
        if isinstance(node, exp.Column):
            raise self._beside(node)
        raise self.source.refuse(node, construct_of(node), f"is not a constant: {CONDITION}")

    def _declared(self, node: exp.Column) -> bool:
        identifier = bare_identifier(node, self.table, self.source)
        return is_unit(identifier, self.dataset) or bool(
            find([name for name, _ in self.table.columns], identifier)
        )

    def _beside(self, node: exp.Column) -> QueryRefused:
        """Of a name where a constant is expected: "north" for 'north' is the usual slip."""
        if self._declared(node):
            return self.source.refuse(node, "column beside column", CONDITION)
        quoted = bool(node.this.args.get("quoted"))
        construct = "text in double quotes" if quoted else "unknown column"
        return self.source.refuse(node, construct, SINGLE_QUOTES)

    def _number(self, node: exp.Expr) -> Fraction:
        if _NUMBER.fullmatch(str(node.this)) is None:
            raise self.source.refuse(
                node,
                "number",
                "write it out in decimal digits, at most 60 before and after the point, with an "
                "exponent of at most 2 digits",
            )
        return Fraction(str(node.this))

    def _date(self, node: exp.Expr) -> datetime.date:
        self.source.expect(node, exp.Cast, "this", "to", "_type")
        self.source.expect(node.this, exp.Literal, "this", "is_string")
        self.source.expect(node.args["to"], exp.DataType, "this")
        text = str(node.this.this)
        if node.args["to"].this != exp.DataType.Type.DATE or not node.this.is_string:
            raise self.source.refuse(node, "CAST", "for a date write DATE '2024-01-31'")
        day = read_day(text)
        if day is None:
            reason = "is no day of the calendar: write DATE '2024-01-31'"
            raise self.source.refuse(node, "DATE", reason)
        return day

    def _unordered(self, node: exp.Expr, name: str) -> QueryRefused:
        return self.source.refuse(
            node, f"order of {name!r}", "its values have no order: use =, <> or IN"
        )


def column_name(node: exp.Expr, table: Table, dataset: Dataset, source: Source) -> str:
    """The declared data column that a column node means. Raises QueryRefused."""
    identifier = bare_identifier(node, table, source)
    name = table.column(str(identifier.this), bool(identifier.args.get("quoted")))
    if name is not None:
        return name
    if is_unit(identifier, dataset):
        raise source.refuse(
            node, f"unit {dataset.unit!r}", "is no data: it may stand in COUNT(DISTINCT ...) only"
        )
    columns = listing([column for column, _ in table.columns])
    raise source.refuse(node, "unknown column", f"table {table.name!r} has {columns}")


def bare_identifier(node: exp.Expr, table: Table, source: Source) -> exp.Expr:
    """The identifier of a column node, its qualifier checked to be the table itself."""
    source.expect(node, exp.Column, "this", "table")
    source.expect(node.this, exp.Identifier, "this", "quoted")
    qualifier = node.args.get("table")
    if qualifier is not None:
        source.expect(qualifier, exp.Identifier, "this", "quoted")
        if not find([table.name], qualifier):
            raise source.refuse(
                node, "qualified column", f"the query reads table {table.name!r} only"
            )
    identifier: exp.Expr = node.this
    return identifier


def is_unit(identifier: exp.Expr, dataset: Dataset) -> bool:
    """Whether an identifier names the privacy unit."""
    return find([dataset.unit], identifier) is not None


def find(declared: list[str], identifier: exp.Expr) -> str | None:
    """The declared name that an identifier node means, or None."""
    return names.find(str(identifier.this), bool(identifier.args.get("quoted")), declared)


def listing(declared: Sequence[str]) -> str:
    """At most 20 declared names, for a message.

    >>> listing(["hdl", "chol"])
    "'hdl', 'chol'"
    """
    shown = ", ".join(repr(name) for name in declared[:20])
    return shown if len(declared) <= 20 else f"{shown} and {len(declared) - 20} more"
