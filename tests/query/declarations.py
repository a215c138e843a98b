"""Random declarations of whole datasets, with every kind of column, rule and bound."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer
from interlace.query.schema import Dataset, KeySet, PublicTable, Table

#: Names that SQL, TOML or a file system could stumble over.
NAMES = ["id", "case.id", "it's", "a b", "größe", "x]", "\\n", "#1", "select", "a/b", "..", "7"]
_TEXTS = ["f", "m", 'say "no"', "it's", "\\", "größe", "# none", " ", "0", "true"]
_FAR = 2**40


def _either(draw: st.DrawFn, value: Any) -> Any:
    return draw(st.sampled_from(["drop", value]))


@st.composite
def columns(draw: st.DrawFn) -> Column:
    """A column of any kind, with any of its rules."""
    kind = draw(st.sampled_from(["integer", "decimal", "category", "day", "boolean"]))
    beyond: Any = draw(st.sampled_from(["clamp", "drop"]))
    if kind == "category":
        texts = draw(st.lists(st.sampled_from(_TEXTS), min_size=1, unique=True))
        return Category(texts, _either(draw, texts[0]), _either(draw, texts[-1]))
    if kind == "boolean":
        return Boolean(_either(draw, draw(st.booleans())))
    if kind == "day":
        days = st.dates(datetime.date(1, 1, 1), datetime.date(9999, 12, 31))
        first, last = sorted((draw(days), draw(days)))
        return Day(first, last, _either(draw, last), beyond)
    low, high = sorted(draw(st.lists(st.integers(-_FAR, _FAR), min_size=2, max_size=2)))
    if kind == "integer":
        return Integer(low, high, _either(draw, low), beyond)
    digits = draw(st.integers(0, 6))
    lower, upper = Fraction(low, 10**digits), Fraction(high, 10**digits)
    return Decimal(lower, upper, digits, _either(draw, upper), beyond)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    """One or two tables and perhaps a public one."""
    unit = draw(st.sampled_from(NAMES))
    others = [name for name in NAMES if name != unit]
    names = draw(st.lists(st.sampled_from(others), min_size=2, max_size=3, unique=True))
    *private, public = names
    tables = tuple(_table(draw, name, others) for name in private)
    if draw(st.booleans()):
        return Dataset(draw(st.sampled_from(NAMES)), unit, tables)
    declared = _columns(draw, others)
    key = draw(st.sampled_from(sorted(declared)))
    return Dataset("with public", unit, tables, (PublicTable(public, key, declared),))


def _columns(draw: st.DrawFn, names: list[str]) -> dict[str, Column]:
    found = draw(st.lists(st.sampled_from(names), min_size=1, max_size=4, unique=True))
    return {name: draw(columns()) for name in found}


def _table(draw: st.DrawFn, name: str, names: list[str]) -> Table:
    declared = _columns(draw, names)
    rows = draw(st.sampled_from([1, 2, 5, 60, 10**6]))
    some = st.lists(st.sampled_from(sorted(declared)), min_size=1, max_size=2, unique=True)
    sets = draw(st.lists(some.map(tuple), max_size=2, unique_by=frozenset))
    keys = [KeySet(columns, draw(st.integers(1, 3))) for columns in sets]
    return Table(name, declared, rows, keys)
