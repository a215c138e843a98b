"""Expressions of one row: from sqlglot's tree to terms, by whitelist. Sees no data."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable
from fractions import Fraction

from sqlglot import expressions as exp

from interlace.core.errors import ParameterError
from interlace.query import arithmetic, days
from interlace.query.columns import Boolean, Category, Column, Day
from interlace.query.parsing.advice import ADVICE, ALONE, EXPRESSION, SINGLE_QUOTES, advice_for
from interlace.query.parsing.constants import constant
from interlace.query.parsing.scope import Scope
from interlace.query.parsing.tree import construct_of
from interlace.query.predicates import Always, Predicate
from interlace.query.terms import Literal, Ref, Term, TermError, Truth, is_number
from interlace.query.values import Constant, MismatchError, day_number, read_day

_ARITHMETIC: dict[type[exp.Expr], Callable[[Term, Term], Term]] = {
    exp.Add: arithmetic.plus,
    exp.Sub: arithmetic.minus,
    exp.Mul: arithmetic.times,
}
_PARTS: dict[type[exp.Expr], str] = {
    exp.Year: "year", exp.Quarter: "quarter", exp.Month: "month", exp.Day: "day",
    exp.DayOfWeekIso: "isodow",
}  # fmt: skip
#: Beyond all numbers that a query can write out.
_LONGEST = 10**200
#: What is a condition, and as an expression TRUE or FALSE.
CONDITIONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Not,
              exp.Between, exp.In)  # fmt: skip


class Expressions:
    """Reads the expressions of one query. ``condition`` reads the conditions within them."""

    def __init__(self, scope: Scope, condition: Callable[[exp.Expr], Predicate]) -> None:
        self._scope = scope
        self._source = scope.source
        self._condition = condition

    def read(self, node: exp.Expr) -> Term | Constant:
        """The term of an expression, or the constant that it is. Raises QueryRefused."""
        while type(node) is exp.Paren:
            self._source.expect(node, exp.Paren, "this")
            node = node.this
        found = constant(node, self._source)
        if found is not None:
            return found
        try:
            return self._read(node)
        except TermError as error:
            raise self._source.refuse(node, construct_of(node), str(error)) from None
        except ParameterError as error:
            raise self._source.refuse(node, construct_of(node), error.problem) from None

    def term(self, node: exp.Expr) -> Term:
        """The term of an expression, constants too. Raises QueryRefused."""
        found = self.read(node)
        return found if isinstance(found, Term) else self.literal(found, node)

    def number(self, node: exp.Expr) -> Term:
        """The term of a number. Raises QueryRefused for anything else."""
        term = self.term(node)
        if not is_number(term):
            raise self._source.refuse(
                node, construct_of(node), f"is {named(term.kind)}, and a number is needed"
            )
        return term

    def day(self, node: exp.Expr) -> Term:
        """The term of a day. Raises QueryRefused for anything else."""
        term = self.term(node)
        if not isinstance(term.kind, Day):
            raise self._source.refuse(
                node, construct_of(node), f"is {named(term.kind)}, and a day is needed"
            )
        return term

    def literal(self, value: Constant, node: exp.Expr) -> Literal:
        """A constant as a term of its own."""
        try:
            if isinstance(value, bool):
                return Literal(int(value), Boolean())
            if isinstance(value, Fraction):
                return arithmetic.literal(value)
            if isinstance(value, datetime.date):
                return Literal(day_number(value), Day(value, value))
            return Literal(0, Category([value]))
        except (TermError, ParameterError) as error:
            raise self._source.refuse(node, "constant", _problem(error)) from None

    def _read(self, node: exp.Expr) -> Term | Constant:
        kind = type(node)
        if kind is exp.Column:
            return self._column(node)
        if kind in _ARITHMETIC:
            return self._arithmetic(node)
        if kind is exp.Neg:
            self._source.expect(node, exp.Neg, "this")
            return self._operation(node, Fraction(0), self.read(node.this))
        if kind is exp.Case:
            return self._case(node)
        if kind is exp.Abs:
            self._source.expect(node, exp.Abs, "this")
            return arithmetic.absolute(self.number(node.this))
        if kind in CONDITIONS:
            found = self._condition(node)
            return found.value if isinstance(found, Always) else Truth(found)
        return self._call(node)

    def _column(self, node: exp.Expr) -> Term:
        bare = node.args.get("table") is None
        quoted = node.this.args.get("quoted")
        if bare and quoted and not self._scope.knows(exp.to_identifier(node.this.name)):
            # "north" for 'north' is the usual slip.
            raise self._source.refuse(node, "text in double quotes", SINGLE_QUOTES)
        return self._scope.column(node)

    def _arithmetic(self, node: exp.Expr) -> Term | Constant:
        """A chain of one or several operators, which the parser nests to the left."""
        chain: list[exp.Expr] = []
        while type(node) in _ARITHMETIC:
            self._source.expect(node, type(node), "this", "expression")
            chain.append(node)
            node = node.this
        left = self.read(node)
        for operation in reversed(chain):
            left = self._operation(operation, left, self.read(operation.args["expression"]))
        return left

    def _operation(
        self, node: exp.Expr, left: Term | Constant, right: Term | Constant
    ) -> Term | Constant:
        if isinstance(left, Fraction) and isinstance(right, Fraction):
            return self._of_constants(node, left, right)
        sides = [
            side if isinstance(side, Term) else self.literal(side, node) for side in (left, right)
        ]
        kinds = [side.kind for side in sides]
        days_apart = type(node) is exp.Sub and all(isinstance(kind, Day) for kind in kinds)
        if not days_apart and not all(map(is_number, sides)):
            wrong = next(
                kind for kind, side in zip(kinds, sides, strict=True) if not is_number(side)
            )
            raise self._source.refuse(
                node,
                "arithmetic",
                f"is for numbers, and for the days between two days; here is {named(wrong)}",
            )
        try:
            return _ARITHMETIC.get(type(node), arithmetic.minus)(*sides)
        except TermError as error:
            raise self._source.refuse(node, "arithmetic", str(error)) from None

    def _of_constants(self, node: exp.Expr, left: Fraction, right: Fraction) -> Fraction:
        if type(node) is exp.Mul:
            found = left * right
        else:
            found = left + right if type(node) is exp.Add else left - right
        if max(abs(found.numerator), found.denominator) > _LONGEST:
            raise self._source.refuse(node, "arithmetic", "of constants that come to 200 digits")
        return found

    def _case(self, node: exp.Expr) -> Term:
        self._source.expect(node, exp.Case, "ifs", "default")
        if node.args.get("default") is None:
            raise self._source.refuse(node, "CASE without ELSE", "say what holds otherwise: ELSE 0")
        whens, results = [], []
        for branch in node.args["ifs"]:
            self._source.expect(branch, exp.If, "this", "true")
            whens.append(self._condition(branch.this))
            results.append(branch.args["true"])
        found = [self.read(item) for item in (*results, node.args["default"])]
        days_among = any(isinstance(item, Term) and isinstance(item.kind, Day) for item in found)
        branches = [
            item if isinstance(item, Term) else self._branch(item, days_among, node)
            for item in found
        ]
        return arithmetic.chosen(list(zip(whens, branches[:-1], strict=True)), branches[-1])

    def _branch(self, value: Constant, day: bool, node: exp.Expr) -> Term:
        if day and isinstance(value, str):
            found = read_day(value)
            if found is None:
                raise self._source.refuse(node, "CASE", "mixes days with a text that is no day")
            return Literal(day_number(found), Day(found, found))
        return self.literal(value, node)

    def _call(self, node: exp.Expr) -> Term:
        """Parts and periods of days, and the functions that SQL does not have."""
        if type(node) in _PARTS:
            self._source.expect(node, type(node), "this")
            return days.part_of(_PARTS[type(node)], self.day(node.this))
        if type(node) is exp.Extract:
            self._source.expect(node, exp.Extract, "this", "expression")
            return self._part(node, str(node.this.this), node.args["expression"])
        if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):  # the latter of DATE '...'
            self._source.expect(node, type(node), "this", "unit")
            period = str(node.args["unit"].this).lower()
            if period not in days.PERIODS:
                raise self._source.refuse(
                    node, "DATE_TRUNC", f"takes one of {', '.join(days.PERIODS)}"
                )
            return days.truncated(period, self.day(node.this))
        if type(node) is exp.Anonymous:
            return self._function(node)
        construct = construct_of(node)
        alone = isinstance(node, exp.AggFunc) and construct not in ADVICE
        raise self._source.refuse(node, construct, ALONE if alone else advice_for(construct))

    def _part(self, node: exp.Expr, part: str, of: exp.Expr) -> Term:
        if part.lower() not in days.PARTS:
            raise self._source.refuse(node, "part of a day", f"is one of {', '.join(days.PARTS)}")
        return days.part_of(part.lower(), self.day(of))

    def _function(self, node: exp.Expr) -> Term:
        self._source.expect(node, exp.Anonymous, "this", "expressions")
        name, arguments = str(node.this).upper(), node.expressions
        if name == "CLAMP" and len(arguments) == 3:
            lower, upper = (self.bound(item) for item in arguments[1:])
            return arithmetic.clamped(self.number(arguments[0]), lower, upper)
        if name == "BUCKET" and len(arguments) in (2, 3):
            return self._bucket(node, arguments)
        if name == "DATE_PART" and len(arguments) == 2:
            part = constant(arguments[0], self._source)
            return self._part(node, part if isinstance(part, str) else "", arguments[1])
        construct = f"function {name}"
        raise self._source.refuse(
            node, construct, f"is not one of these, or has other arguments: {EXPRESSION}"
        )

    def bound(self, node: exp.Expr) -> Fraction:
        """A constant number. Raises QueryRefused for anything else."""
        value = self.read(node)
        if not isinstance(value, Fraction):
            raise self._source.refuse(node, construct_of(node), "must be a constant number")
        self.literal(value, node)  # of 15 decimals and 2^62 units at most
        return value

    def _bucket(self, node: exp.Expr, arguments: list[exp.Expr]) -> Term:
        term, width = self.term(arguments[0]), self.bound(arguments[1])
        if width <= 0:
            raise self._source.refuse(node, "BUCKET", "its width must be above 0")
        if isinstance(term.kind, Day):
            origin = self._origin(term.kind, arguments[2]) if len(arguments) > 2 else 0
            if width.denominator != 1:
                raise self._source.refuse(node, "BUCKET", "its width must be whole days")
            return arithmetic.bucketed(term, int(width), origin)
        if not is_number(term):
            raise self._source.refuse(
                node, "BUCKET", f"is of numbers and days, not of {named(term.kind)}"
            )
        start = self.bound(arguments[2]) if len(arguments) > 2 else Fraction(0)
        term, wide, first = arithmetic.aligned(
            [term, arithmetic.literal(width), arithmetic.literal(start)]
        )
        return arithmetic.bucketed(term, wide.kind.codes[0], first.kind.codes[0])

    def _origin(self, kind: Day, node: exp.Expr) -> int:
        value = self.read(node)
        if not isinstance(value, Term):
            with contextlib.suppress(MismatchError):
                return int(kind.place(value))
        raise self._source.refuse(node, "BUCKET", "of a day starts at a day: DATE '2024-01-31'")


def _problem(error: Exception) -> str:
    """What a column's bounds say, without the name of a parameter that no query has."""
    return error.problem if isinstance(error, ParameterError) else str(error)


def titled(term: Term) -> str:
    """What a term is called: a column by its name."""
    return repr(term.name) if isinstance(term, Ref) else named(term.kind)


def named(kind: Column) -> str:
    """What a value of this kind is called."""
    match kind:
        case Day():
            return "a day"
        case Category():
            return "a text"
        case Boolean():
            return "TRUE or FALSE"
    return "a number"
