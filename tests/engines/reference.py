"""What an engine must answer, said a second time: slow, row by row, with values and not codes.

Shares no code with ``query`` and ``engines`` beyond the declared types that it is handed.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer

Value = Fraction | str | datetime.date | bool
Row = Mapping[str, Value]
Raw = Mapping[str, Any]


@dataclass(frozen=True)
class Condition:
    """A condition as SQL text, and what it means. ``strength`` is what binds it together."""

    sql: str
    holds: Callable[[Row], bool]
    strength: int = 3  # 0: OR, 1: AND, 2: NOT, 3: a comparison

    def within(self, strength: int) -> str:
        return self.sql if self.strength >= strength else f"({self.sql})"


@dataclass(frozen=True)
class Question:
    """A query as SQL text, with the number that one row gives and the clamp of one unit."""

    sql: str
    number: Callable[[Row], Fraction]
    least: Fraction
    most: Fraction
    condition: Condition
    digits: int = 0


def normalised(raw: Raw, columns: Mapping[str, Column]) -> Row | None:
    """The row as registration must keep it; None if it must drop it."""
    if raw["id"] is None:
        return None
    return normalised_public(raw, columns)


def normalised_public(raw: Raw, columns: Mapping[str, Column]) -> Row | None:
    """The same for a row of a public table, which has no unit."""
    row: dict[str, Value] = {}
    for name, kind in columns.items():
        value = _value(raw[name], kind)
        if value is None:
            return None
        row[name] = value
    return row


def answer(question: Question, rows: Sequence[Raw], columns: Mapping[str, Column]) -> int:
    """The exact answer in units of its last digit."""
    units: dict[object, Fraction] = {}
    for raw in rows:
        row = normalised(raw, columns)
        if row is not None and question.condition.holds(row):
            units[raw["id"]] = units.get(raw["id"], Fraction(0)) + question.number(row)
    total = sum(min(max(unit, question.least), question.most) for unit in units.values())
    scaled = Fraction(total) * 10**question.digits
    assert scaled.denominator == 1
    return int(scaled)


def rule(value: Any, kind: Column) -> str | None:
    """Which rule applies to a value of a source: missing, unknown, out_of_range or none."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    if isinstance(kind, Boolean):
        return None
    if isinstance(kind, Category):
        return None if value in kind.values else "unknown"
    place: Any = value if isinstance(kind, Day) else _rounded(value, kind)
    return None if kind.lower <= place <= kind.upper else "out_of_range"


def _value(value: Any, kind: Column) -> Value | None:
    """The normalised value; None if its row is to be dropped."""
    if rule(value, kind) == "missing":
        return None if kind.missing == "drop" else _as_value(kind.missing)
    if isinstance(kind, Boolean):
        return bool(value)
    if isinstance(kind, Category):
        if value in kind.values:
            return str(value)
        return None if kind.unknown == "drop" else kind.unknown
    place: Any = value if isinstance(kind, Day) else _rounded(value, kind)
    if place < kind.lower:
        return None if kind.out_of_range == "drop" else _as_value(kind.lower)
    if place > kind.upper:
        return None if kind.out_of_range == "drop" else _as_value(kind.upper)
    return _as_value(place)


def _rounded(value: float, kind: Integer | Decimal) -> Fraction | float:
    if math.isinf(value):
        return value
    exact = Fraction(repr(value)) if kind.digits else Fraction(value)
    scaled = abs(exact) * 10**kind.digits
    nearest = Fraction(math.floor(scaled + Fraction(1, 2)), 10**kind.digits)
    return -nearest if exact < 0 else nearest


def _as_value(value: Any) -> Value:
    if isinstance(value, bool | str | datetime.date):
        return value
    return Fraction(value)
