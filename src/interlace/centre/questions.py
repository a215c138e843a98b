"""What an analyst asks, as text and exact public numbers, and its form in a plan's units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, rational
from interlace.core.queries import LARGEST_INTEGER, Comparison, Query, Sensitivity, Shares
from interlace.core.queries import Plan as CorePlan
from interlace.query.estimates import Quantile
from interlace.query.plan import Plan
from interlace.query.shape import Shape


class Asked(CorePlan, Protocol):
    """What a question comes to: a plan, of which this module needs the unit too."""

    @property
    def digits(self) -> int:
        """Of a plan of one part: the value is in units of 10^-digits."""


@dataclass(frozen=True)
class RecordedPlan:
    """All that a mechanism knew of a plan when it answered, and how its numbers are shown. A
    session is folded from it, and not from its SQL, which a later release might read otherwise,
    or refuse."""

    sensitivity: Sensitivity
    shares: Shares
    monotone: bool
    digits: int
    shape: Shape

    @property
    def size(self) -> int:
        """The number of cells."""
        return sum(size for size, _ in self.shares)

    @classmethod
    def of(cls, plan: Plan) -> RecordedPlan:
        return cls(plan.sensitivity, plan.shares, plan.monotone, plan.digits, plan.shape)

    def body(self) -> dict[str, Any]:
        return {
            "size": self.size,
            "sensitivity": _listed(self.sensitivity),
            "shares": [[size, _listed(moved)] for size, moved in self.shares],
            "monotone": self.monotone,
            "digits": self.digits,
            "shape": self.shape.body(),
        }

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> RecordedPlan:
        moved = Sensitivity(*body["sensitivity"])
        shares = body.get("shares", [[body["size"], body["sensitivity"]]])
        parts = tuple((size, Sensitivity(*item)) for size, item in shares)
        digits = body["digits"]
        # Once there were plans of one number only.
        shape = Shape.read(body["shape"]) if "shape" in body else Shape.number("value", digits)
        return cls(moved, parts, body["monotone"], digits, shape)


def _listed(moved: Sensitivity) -> list[int]:
    return [moved.l0, moved.l1, moved.l2_squared, moved.linf]


@dataclass(frozen=True)
class Question:
    """The identity of a query: equal questions may be answered alike under one key."""

    sql: str
    at_least: Fraction | None = None
    at_most: Fraction | None = None
    guess: Fraction | None = None

    @classmethod
    def of(cls, sql: str, **numbers: Real | None) -> Question:
        """Raises ParameterError, naming the argument, for text that is none, for a number that
        is none or too large, or for more than one of them."""
        _check_text(sql)
        exact = {
            name: rational(value, name, minimum=-LARGEST_INTEGER, maximum=LARGEST_INTEGER)
            for name, value in numbers.items()
            if value is not None
        }
        if len(exact) > 1:
            first, second, *_ = exact
            raise ParameterError(second, f"cannot be combined with {first}=: give one of them")
        return cls(sql, **exact)

    def body(self) -> dict[str, Any]:
        numbers = {"at_least": self.at_least, "at_most": self.at_most, "guess": self.guess}
        return {"sql": self.sql} | {n: str(v) for n, v in numbers.items() if v is not None}

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Question:
        return cls(body["sql"], **{n: Fraction(v) for n, v in body.items() if n != "sql"})

    def check(self, plan: Plan) -> None:
        """Raises ParameterError for a number where a quantile is asked for: mechanisms compare
        what is noisy, which is its histogram, also where that has one cell only."""
        given = [
            name for name in ("at_least", "at_most", "guess") if getattr(self, name) is not None
        ]
        if given and any(isinstance(item.column, Quantile) for item in plan.items):
            raise ParameterError(
                given[0],
                "is for one count or sum, and a quantile is read off a histogram of counts: "
                "compare the COUNT(*) of the rows up to a value",
            )

    def query(self, plan: Asked) -> Query:
        """For a mechanism: in integer units of the plan's value.

        A rounded threshold asks the same: an integer is >= t iff it is >= the ceiling of t.
        A guess is rounded to the nearest unit.
        """
        unit = 10**plan.digits
        if self.at_least is not None:
            return Query(plan, Comparison.at_least(-(-(self.at_least * unit) // 1)))
        if self.at_most is not None:
            return Query(plan, Comparison.at_most(self.at_most * unit // 1))
        return Query(plan, guess=None if self.guess is None else round(self.guess * unit))


def _check_text(sql: str) -> None:
    """Refused now and not when the answer is stored: nothing may fail after a draw."""
    if not isinstance(sql, str):
        raise ParameterError("sql", f"must be text, got {type(sql).__name__}")
    if not sql.isascii() and any("\ud800" <= character <= "\udfff" for character in sql):
        raise ParameterError("sql", "holds half of a surrogate pair, which is not text")
