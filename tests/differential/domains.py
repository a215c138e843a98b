"""What an expression may be, from the declaration alone: type, bounds, digits and, for keys, the
list of its public values. Written from docs/queries.md; nothing is tested here.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from interlace.query.columns import Boolean, Category, Column, Day
from interlace.query.schema import Dataset, PublicTable, Table
from tests.differential.syntax import (
    Abs,
    Arith,
    Bucket,
    Case,
    Clamp,
    Expr,
    Lit,
    Neg,
    Part,
    Query,
    Ref,
    Trunc,
    Value,
)

Kind = Literal["number", "day", "text", "truth"]
EPOCH = datetime.date(1970, 1, 1)


@dataclass(frozen=True)
class Domain:
    """``lower`` and ``upper`` bound numbers and days; ``step`` tells a bucket's or period's next
    value from one, where it is not the next number or day; texts are listed, and of a CASE the
    values of its ``branches``."""

    kind: Kind
    lower: Any = None
    upper: Any = None
    digits: int = 0
    step: Callable[[Any], Any] | None = None
    texts: tuple[str, ...] = ()
    branches: tuple[Domain, ...] = ()

    def values(self) -> Iterator[Value]:
        """All public values, in order."""
        if self.kind in ("text", "truth"):
            yield from self.texts if self.kind == "text" else (False, True)
            return
        if self.branches:
            merged: set[Any] = {value for branch in self.branches for value in branch.values()}
            yield from sorted(merged)
            return
        value = self.lower
        while value <= self.upper:
            yield value
            value = self.step(value) if self.step else self._next(value)

    def _next(self, value: Any) -> Any:
        if self.kind == "day":
            return value + datetime.timedelta(1)
        return value + Fraction(1, 10**self.digits)

    @property
    def largest(self) -> Fraction:
        """max(|l|, |u|), of a number or boolean."""
        return max(abs(Fraction(self.lower)), abs(Fraction(self.upper)))


def digits_of(value: Fraction) -> int:
    return next(digits for digits in range(40) if (value * 10**digits).denominator == 1)


def tables_of(query: Query, dataset: Dataset) -> dict[str, Table | PublicTable]:
    """From what the query calls its sources to what they are."""
    declared: list[Table | PublicTable] = [*dataset.tables, *dataset.public]
    tables = {table.name: table for table in declared}
    return {source.name: tables[source.table] for source in query.sources}


def of_column(column: Column) -> Domain:
    match column:
        case Boolean():
            return Domain("truth", Fraction(0), Fraction(1))
        case Category():
            return Domain("text", texts=column.values)
        case Day():
            return Domain("day", column.lower, column.upper)
    return Domain("number", Fraction(column.lower), Fraction(column.upper), column.digits)


def domain(node: Expr, tables: Mapping[str, Table | PublicTable]) -> Domain:
    """The domain of an expression over the named tables."""
    match node:
        case Ref(source, column):
            return of_column(tables[source].kind(column))
        case Lit(value):
            return _of_constant(value)
        case Case(branches, otherwise):
            found = [domain(e, tables) for _, e in branches]
            return _hull([*found, domain(otherwise, tables)])
        case Arith("*", left, right) if left == right:
            return _square(domain(left, tables))
        case Arith(sign, left, right):
            return _arithmetic(sign, domain(left, tables), domain(right, tables))
        case Neg(inner) | Abs(inner) | Clamp(inner) | Part(_, inner) | Trunc(_, inner):
            return _of_one(node, domain(inner, tables))
        case Bucket(inner, width, origin):
            return _of_bucket(domain(inner, tables), width, origin)


def _of_constant(value: Value) -> Domain:
    match value:
        case bool():
            return Domain("truth", Fraction(0), Fraction(1))
        case str():
            return Domain("text", texts=(value,))
        case datetime.date():
            return Domain("day", value, value)
    return Domain("number", value, value, digits_of(value))


def _hull(found: list[Domain]) -> Domain:
    [kind] = {item.kind for item in found}
    if kind == "text":
        return Domain(kind, texts=tuple(dict.fromkeys(text for d in found for text in d.texts)))
    lower, upper = min(d.lower for d in found), max(d.upper for d in found)
    return Domain(kind, lower, upper, max(d.digits for d in found), branches=tuple(found))


def _arithmetic(sign: str, left: Domain, right: Domain) -> Domain:
    digits = max(left.digits, right.digits)
    if left.kind == "day":
        low, high = (left.lower - right.upper).days, (left.upper - right.lower).days
        return Domain("number", Fraction(low), Fraction(high))
    if sign == "+":
        return Domain("number", left.lower + right.lower, left.upper + right.upper, digits)
    if sign == "-":
        return Domain("number", left.lower - right.upper, left.upper - right.lower, digits)
    ends = [a * b for a in (left.lower, left.upper) for b in (right.lower, right.upper)]
    return Domain("number", min(ends), max(ends), left.digits + right.digits)


def _square(of: Domain) -> Domain:
    """Of an expression with itself, which is not negative."""
    ends = sorted(end * end for end in (of.lower, of.upper))
    least = Fraction(0) if of.lower <= 0 <= of.upper else ends[0]
    return Domain("number", least, ends[1], 2 * of.digits)


def _of_one(node: Neg | Abs | Clamp | Part | Trunc, inner: Domain) -> Domain:
    match node:
        case Neg():
            return replace(inner, lower=-inner.upper, upper=-inner.lower, step=None, branches=())
        case Abs():
            ends = [abs(inner.lower), abs(inner.upper)]
            low = min(ends) if inner.lower * inner.upper > 0 else Fraction(0)
            return replace(inner, lower=low, upper=max(ends), step=None, branches=())
        case Clamp(_, lower, upper):
            digits = max(inner.digits, digits_of(lower), digits_of(upper))
            low, high = (min(max(end, lower), upper) for end in (inner.lower, inner.upper))
            return Domain("number", low, high, digits)
        case Part("year"):
            return Domain("number", Fraction(inner.lower.year), Fraction(inner.upper.year))
        case Part(part) if inner.lower == inner.upper:
            number = Fraction(part_of(part, inner.lower))
            return Domain("number", number, number)
        case Part(part):
            most = {"quarter": 4, "month": 12, "day": 31, "isodow": 7}[part]
            return Domain("number", Fraction(1), Fraction(most))
        case Trunc(period):
            first, last = truncated(period, inner.lower), truncated(period, inner.upper)
            return Domain("day", first, last, step=lambda day: following(period, day))


def _of_bucket(inner: Domain, width: Fraction, origin: Fraction | datetime.date | None) -> Domain:
    first, last = (bucket(end, width, origin) for end in (inner.lower, inner.upper))
    if inner.kind == "day":
        return Domain("day", first, last, step=lambda day: day + datetime.timedelta(int(width)))
    assert not isinstance(origin, datetime.date)
    digits = max(inner.digits, digits_of(width), digits_of(origin or Fraction(0)))
    return Domain("number", first, last, digits, step=lambda value: value + width)


def part_of(part: str, day: datetime.date) -> int:
    """The year, quarter, month, day or isodow of a day."""
    match part:
        case "quarter":
            return (day.month + 2) // 3
        case "isodow":
            return day.isoweekday()
    return {"year": day.year, "month": day.month, "day": day.day}[part]


def truncated(period: str, day: datetime.date) -> datetime.date:
    """The first day of the year, quarter, month or week of a day."""
    match period:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=3 * ((day.month - 1) // 3) + 1, day=1)
        case "month":
            return day.replace(day=1)
    return day - datetime.timedelta(day.weekday())


def following(period: str, first: datetime.date) -> datetime.date:
    """The first day of the period after the one that begins on ``first``."""
    day = first + datetime.timedelta(1)
    while truncated(period, day) == first:
        day += datetime.timedelta(1)
    return day


def bucket(value: Any, width: Fraction, origin: Fraction | datetime.date | None) -> Any:
    """The greatest origin + k * width that is at most the value."""
    if isinstance(value, datetime.date):
        start = origin if isinstance(origin, datetime.date) else EPOCH
        days = int(width)
        return start + datetime.timedelta((value - start).days // days * days)
    begin = origin if isinstance(origin, Fraction) else Fraction(0)
    return begin + math.floor((value - begin) / width) * width
