"""Terms and conditions as trees of SQL over stored codes. Every number is a 64-bit integer.

Runs nothing, and decides nothing about privacy.
"""

from __future__ import annotations

from sqlglot import expressions as exp

from interlace.query.predicates import Always, Every, Predicate, Ranges, Some, Within
from interlace.query.snapshot_names import Names
from interlace.query.terms import (
    Absolute,
    Bucketed,
    Chosen,
    Clamped,
    Difference,
    Literal,
    Minus,
    PartOf,
    Plus,
    Ref,
    Rounded,
    Scaled,
    Term,
    Times,
    Truncated,
    Truth,
    bucket,
)

_OPERATORS = {Plus: exp.Add, Minus: exp.Sub, Times: exp.Mul, Difference: exp.Sub}
_EPOCH = "1970-01-01"
#: A Monday, as a day number, before all days of the calendar.
_MONDAY = 4 - 7 * 110_000


def integer(value: int) -> exp.Expr:
    """A constant; its type is the engine's choice."""
    literal = exp.Literal.number(abs(value))
    return exp.Neg(this=literal) if value < 0 else literal


def column(table: str, name: str) -> exp.Expr:
    """A stored column."""
    return exp.column(name, table=table, quoted=True)


def least(of: exp.Expr, most: exp.Expr) -> exp.Expr:
    """The smaller of two numbers."""
    # LEAST and GREATEST skip NULL in some engines and not in others: here it cannot occur.
    return exp.Least(this=of, expressions=[most], ignore_nulls=True)


def greatest(of: exp.Expr, least_: exp.Expr) -> exp.Expr:
    """The larger of two numbers."""
    return exp.Greatest(this=of, expressions=[least_], ignore_nulls=True)


def long(of: exp.Expr) -> exp.Expr:
    """As a 64-bit integer: two literals alone would be multiplied in 32 bits."""
    return exp.cast(of, exp.DataType.Type.BIGINT, copy=False)


class Terms:
    """Writes the terms of one query."""

    def __init__(self, names: Names) -> None:
        self._names = names

    def term(self, term: Term) -> exp.Expr:
        """The code of a term, never NULL."""
        lower, upper = term.kind.codes
        if lower == upper:
            # Engines multiply the constants of a chain before anything else: 0 * a * b would
            # overflow where a * b does, which no term that can be other than 0 lets happen.
            return long(integer(lower))
        match term:
            case Ref(table, name):
                return column(self._names.tables[table], self._names.columns[table, name])
            case Literal(code):
                return long(integer(code))
            case Plus() | Minus() | Times() | Difference():
                return _OPERATORS[type(term)](
                    this=exp.paren(self.term(term.left), copy=False),
                    expression=exp.paren(self.term(term.right), copy=False),
                )
            case Chosen(branches, otherwise):
                cases = [(self.truth(when), self.term(result)) for when, result in branches]
                return _case(cases, self.term(otherwise))
            case Truth(of):
                return _case([(self.truth(of), long(integer(1)))], long(integer(0)))
        return self._of_one(term)

    def _of_one(
        self, term: Scaled | Absolute | Clamped | PartOf | Truncated | Bucketed | Rounded
    ) -> exp.Expr:
        inner = self.term(term.of)
        match term:
            case Scaled(_, factor):
                return exp.Mul(this=exp.paren(inner, copy=False), expression=long(integer(factor)))
            case Absolute():
                return exp.Abs(this=inner)
            case Clamped(_, lower, upper):
                return least(greatest(inner, integer(lower)), integer(upper))
            case Bucketed(_, width):
                return _floored(inner, width, term.base)
            case Rounded(_, factor):
                return _nearest(inner, factor, term.base)
            case PartOf(part):
                return long(exp.Extract(this=exp.var(part.upper()), expression=_date(inner)))
            case Truncated("week"):
                return _floored(inner, 7, bucket(term.of.kind.codes[0], 7, _MONDAY))
            case Truncated(period):
                first = exp.cast(
                    exp.TimestampTrunc(this=_date(inner), unit=exp.var(period.upper())),
                    exp.DataType.Type.DATE,
                )
                return long(exp.Sub(this=first, expression=_day_zero()))

    def truth(self, where: Predicate) -> exp.Expr:
        """A condition."""
        return self.condition(where) or exp.EQ(this=integer(0), expression=integer(0))

    def condition(self, where: Predicate) -> exp.Expr | None:
        """A condition; None where it always holds."""
        match where:
            case Always(value):
                return None if value else exp.EQ(this=integer(0), expression=integer(1))
            case Within(term, ranges):
                return _within(self.term(term), where.codes, ranges)
            case Every(parts):
                return exp.and_(*(self.condition(part) for part in parts), copy=False)
            case Some(parts):
                return exp.or_(*(self.condition(part) for part in parts), copy=False)


def _floored(code: exp.Expr, width: int, base: int) -> exp.Expr:
    """base + k * width at most the code. Counted from ``base``, which no code is below: what the
    quotient of a negative number is differs from engine to engine. The code is written once:
    buckets nest."""
    from_base = exp.paren(exp.Sub(this=_single(code), expression=long(integer(base))), copy=False)
    whole = exp.IntDiv(this=from_base, expression=long(integer(width)))
    steps = exp.Mul(this=whole, expression=long(integer(width)))
    return exp.paren(exp.Add(this=steps, expression=long(integer(base))), copy=False)


def _single(code: exp.Expr) -> exp.Expr:
    """In parentheses, if it needs any: what is written nests four nodes less deep."""
    alone = isinstance(code, exp.Column | exp.Paren | exp.Cast | exp.Func)
    return code if alone else exp.paren(code, copy=False)


def _nearest(code: exp.Expr, factor: int, base: int) -> exp.Expr:
    """floor((code + factor/2)/factor), of a difference that is not negative: what the quotient of
    a negative number is differs from engine to engine."""
    half = exp.Add(this=exp.paren(code), expression=long(integer(factor // 2 - base)))
    quotient = exp.IntDiv(this=exp.paren(half), expression=long(integer(factor)))
    first = long(integer(base // factor))
    return exp.paren(exp.Add(this=long(exp.paren(quotient)), expression=first), copy=False)


def _date(code: exp.Expr) -> exp.Expr:
    days = exp.cast(code, exp.DataType.Type.INT, copy=False)
    return exp.paren(exp.Add(this=_day_zero(), expression=days), copy=False)


def _day_zero() -> exp.Expr:
    return exp.cast(exp.Literal.string(_EPOCH), exp.DataType.Type.DATE)


def _case(cases: list[tuple[exp.Expr, exp.Expr]], otherwise: exp.Expr) -> exp.Expr:
    ifs = [exp.If(this=when, true=result) for when, result in cases]
    return exp.Case(ifs=ifs, default=otherwise)


def _within(code: exp.Expr, codes: tuple[int, int], ranges: Ranges) -> exp.Expr:
    code = code if isinstance(code, exp.Column) else exp.paren(code, copy=False)
    single = [integer(low) for low, high in ranges if low == high]
    terms = [_range(code, codes, item) for item in ranges if item[0] < item[1]]
    if single:
        terms.append(exp.In(this=code.copy(), expressions=single))
    return exp.or_(*terms, copy=False)


def _range(code: exp.Expr, codes: tuple[int, int], item: tuple[int, int]) -> exp.Expr:
    if item[0] == codes[0]:
        return exp.LTE(this=code.copy(), expression=integer(item[1]))
    if item[1] == codes[1]:
        return exp.GTE(this=code.copy(), expression=integer(item[0]))
    return exp.Between(this=code.copy(), low=integer(item[0]), high=integer(item[1]))
