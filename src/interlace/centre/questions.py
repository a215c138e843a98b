"""What an analyst asks, as text and exact public numbers, and its form in a plan's units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, rational
from interlace.core.queries import LARGEST_INTEGER, Comparison, Query, Sensitivity
from interlace.core.queries import Plan as CorePlan
from interlace.query.plan import Plan


class Asked(CorePlan, Protocol):
    """What a question comes to: a plan, of which this module needs the unit too."""

    @property
    def digits(self) -> int:
        """The value is in units of 10^-digits."""


@dataclass(frozen=True)
class RecordedPlan:
    """All that a mechanism knew of a plan when it answered. A session is folded from it, and
    not from its SQL, which a later release might read otherwise, or refuse."""

    size: int
    sensitivity: Sensitivity
    monotone: bool
    digits: int

    @classmethod
    def of(cls, plan: Plan) -> RecordedPlan:
        return cls(plan.size, plan.sensitivity, plan.monotone, plan.digits)

    def body(self) -> dict[str, Any]:
        moved = self.sensitivity
        sensitivity = [moved.l0, moved.l1, moved.l2_squared, moved.linf]
        return {
            "size": self.size,
            "sensitivity": sensitivity,
            "monotone": self.monotone,
            "digits": self.digits,
        }

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> RecordedPlan:
        moved = Sensitivity(*body["sensitivity"])
        return cls(body["size"], moved, body["monotone"], body["digits"])


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
