"""Expressions of one row, as data: total integer functions of its codes, with public bounds.

Every term has a kind: the type of its values with their bounds, as if it were a column. No code is
ever missing and no operation rounds or overflows: what could is refused when the term is made.
Sees no data and no SQL.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer

if TYPE_CHECKING:
    from interlace.query.predicates import Predicate

Number = Integer | Decimal


class TermError(Exception):
    """What a term may not be; the message says why and what to do."""


@dataclass(frozen=True)
class Ref:
    """A column of a joined table, both by their declared names."""

    table: str
    name: str
    kind: Column = field(compare=False, repr=False)


@dataclass(frozen=True)
class Literal:
    """A constant, as a code of its kind."""

    code: int
    kind: Column


@dataclass(frozen=True)
class Scaled:
    """The same number in units that are ``factor``, a power of ten, times as fine."""

    of: Term
    factor: int
    kind: Number = field(compare=False, repr=False)


@dataclass(frozen=True)
class Plus:
    """Codes of the same digits, added."""

    left: Term
    right: Term
    kind: Number = field(compare=False, repr=False)


@dataclass(frozen=True)
class Minus:
    """Codes of the same digits, or of two days, subtracted."""

    left: Term
    right: Term
    kind: Number = field(compare=False, repr=False)


@dataclass(frozen=True)
class Times:
    """Codes multiplied; their digits add up."""

    left: Term
    right: Term
    kind: Number = field(compare=False, repr=False)


@dataclass(frozen=True)
class Absolute:
    """The code without its sign."""

    of: Term
    kind: Number = field(compare=False, repr=False)


@dataclass(frozen=True)
class Clamped:
    """The code moved into [lower, upper]."""

    of: Term
    lower: int
    upper: int
    kind: Number = field(compare=False, repr=False)


@dataclass(frozen=True)
class Chosen:
    """CASE: the term of the first condition that holds, or ``otherwise``; all of one kind."""

    branches: tuple[tuple[Predicate, Term], ...]
    otherwise: Term
    kind: Column = field(compare=False, repr=False)


@dataclass(frozen=True)
class PartOf:
    """A number of the calendar: year, quarter, month, day (of the month) or isodow."""

    part: str
    of: Term
    kind: Integer = field(compare=False, repr=False)


@dataclass(frozen=True)
class Truncated:
    """The first day of a day's year, quarter, month or week."""

    period: str
    of: Term
    kind: Day = field(compare=False, repr=False)


@dataclass(frozen=True)
class Bucketed:
    """The greatest origin + k * width that is at most the code."""

    of: Term
    width: int
    origin: int
    kind: Integer | Decimal | Day = field(compare=False, repr=False)

    @property
    def base(self) -> int:
        """The bucket of the least code: codes are counted from here, so none is negative."""
        return bucket(self.of.kind.codes[0], self.width, self.origin)


@dataclass(frozen=True)
class Rounded:
    """The nearest whole number of units of ``factor``: for squares, which would be too large."""

    of: Term
    factor: int
    kind: Integer = field(compare=False, repr=False)

    @property
    def base(self) -> int:
        """A multiple of the factor that no code lies half a factor below."""
        return bucket(self.of.kind.codes[0] + self.factor // 2, self.factor, 0)


@dataclass(frozen=True)
class Truth:
    """Whether a condition holds."""

    of: Predicate
    kind: Boolean = field(default_factory=Boolean, compare=False, repr=False)


@dataclass(frozen=True)
class Difference:
    """Of the codes of two categories that list the same texts, or of two booleans: only whether
    it is 0 means anything."""

    left: Term
    right: Term
    kind: Integer = field(compare=False, repr=False)


Term = (
    Ref
    | Literal
    | Scaled
    | Plus
    | Minus
    | Times
    | Absolute
    | Clamped
    | Chosen
    | PartOf
    | Truncated
    | Bucketed
    | Rounded
    | Truth
    | Difference
)


def is_number(term: Term) -> bool:
    """Whether a term is a number, and no day, text or truth."""
    return isinstance(term.kind, Integer | Decimal)


def same_codes(left: Column, right: Column) -> bool:
    """Whether equal codes of the two mean equal values."""
    if isinstance(left, Category) or isinstance(right, Category):
        return (
            isinstance(left, Category)
            and isinstance(right, Category)
            and left.values == right.values
        )
    numbers = all(isinstance(kind, Integer | Decimal) for kind in (left, right))
    return (numbers or type(left) is type(right)) and left.digits == right.digits


def bucket(code: int, width: int, origin: int) -> int:
    """The greatest origin + k * width that is at most ``code``.

    >>> bucket(-1, 10, 0), bucket(14, 5, 2)
    (-10, 12)
    """
    return origin + (code - origin) // width * width
