"""Random small tables with all that a source may hold, and random queries over them."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer
from tests.engines.reference import Condition, Question, Raw, Row

FIRST, LAST = datetime.date(2020, 1, 1), datetime.date(2020, 1, 9)
TEXTS = ("hdl", "chol", "it's")
UNITS = st.sampled_from([1, 2, 3, 4])

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@st.composite
def columns(draw: st.DrawFn) -> dict[str, Column]:
    """One column of each type, with rules and bounds of every kind."""
    lower, upper = sorted(draw(st.tuples(st.integers(-6, 6), st.integers(-6, 6))))
    beyond: Any = draw(st.sampled_from(["clamp", "drop"]))
    middle = (lower + upper) // 2
    return {
        "amount": Integer(lower, upper, draw(st.sampled_from(["drop", middle])), beyond),
        "price": Decimal(lower, upper, draw(st.integers(0, 2)), draw(_either(upper)), beyond),
        "test": Category(TEXTS, draw(_either("hdl")), draw(_either("chol"))),
        "seen": Day(FIRST, LAST, draw(_either(FIRST)), beyond),
        "male": Boolean(draw(_either(True))),
    }


def _either(value: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(["drop", value])


_FLOATS = st.one_of(
    st.none(),
    st.sampled_from([float("nan"), float("inf"), -float("inf"), 1e300, -0.0, 0.5, -1.5, 1.005]),
    st.integers(-9, 9).map(float),
    st.floats(-9, 9),
)
_DAYS = st.none() | st.dates(FIRST - datetime.timedelta(3), LAST + datetime.timedelta(3))


def rows(*, one_per_unit: bool) -> st.SearchStrategy[list[Raw]]:
    """Rows as a source may hold them; with null units, which are nobody's."""
    row = st.fixed_dictionaries(
        {
            "id": st.one_of(UNITS, UNITS, UNITS, st.none()),
            "amount": _FLOATS,
            "price": _FLOATS,
            "test": st.none() | st.sampled_from([*TEXTS, "other", ""]),
            "seen": _DAYS,
            "male": st.none() | st.booleans(),
        }
    )
    if one_per_unit:
        return st.lists(row, max_size=5, unique_by=lambda item: item["id"])
    return st.lists(row, max_size=12)


@st.composite
def questions(draw: st.DrawFn, table: str, declared: Mapping[str, Column], most: int) -> Question:
    """A query over ``table``, to which one unit may contribute ``most`` rows."""
    condition = draw(conditions(declared))
    where = draw(st.booleans())
    tail = f" FROM {table} WHERE {condition.sql}" if where else f" FROM {table}"
    chosen = condition if where else Condition("", lambda _: True)
    kind = draw(st.sampled_from(["rows", "units", "amount", "price", "male"]))
    one = Fraction(1)
    if kind == "rows":
        return Question(f"SELECT COUNT(*){tail}", lambda _: one, Fraction(0), most * one, chosen)
    if kind == "units":
        sql = f"SELECT COUNT(DISTINCT id) AS n{tail}"
        return Question(sql, lambda _: one, Fraction(0), one, chosen)
    lower, upper, digits = _scale(declared[kind])
    sql = f"SELECT SUM({kind}){tail}"
    none = Fraction(0)
    return Question(
        sql, _number(kind), most * min(lower, none), most * max(upper, none), chosen, digits
    )


def _scale(column: Column) -> tuple[Fraction, Fraction, int]:
    """Lower bound, upper bound and decimals of a column that can be added up."""
    if isinstance(column, Boolean):
        return Fraction(0), Fraction(1), 0
    assert isinstance(column, Integer | Decimal)
    return Fraction(column.lower), Fraction(column.upper), column.digits


def _number(name: str) -> Callable[[Row], Fraction]:
    def number(row: Row) -> Fraction:
        value = row[name]
        assert isinstance(value, Fraction | bool)
        return Fraction(value)

    return number


def conditions(declared: Mapping[str, Column]) -> st.SearchStrategy[Condition]:
    """Conditions of the query language, with only the parentheses that they need."""
    return st.recursive(_atoms(declared), _combined, max_leaves=5)


def _combined(parts: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    both = st.tuples(parts, parts)
    return st.one_of(both.map(_and), both.map(_or), parts.map(_not))


def _and(pair: tuple[Condition, Condition]) -> Condition:
    left, right = pair
    sql = f"{left.within(1)} AND {right.within(1)}"
    return Condition(sql, lambda row: left.holds(row) and right.holds(row), 1)


def _or(pair: tuple[Condition, Condition]) -> Condition:
    left, right = pair
    sql = f"{left.within(0)} or {right.within(0)}"
    return Condition(sql, lambda row: left.holds(row) or right.holds(row), 0)


def _not(part: Condition) -> Condition:
    return Condition(f"NOT {part.within(2)}", lambda row: not part.holds(row), 2)


def _atoms(declared: Mapping[str, Column]) -> st.SearchStrategy[Condition]:
    bare = st.just(Condition("male", lambda row: bool(row["male"])))
    return st.one_of(bare, *(_of_column(name, kind) for name, kind in declared.items()))


def _of_column(name: str, kind: Column) -> st.SearchStrategy[Condition]:
    constants = _constants(kind)
    signs = list(_OPERATORS) if isinstance(kind, Integer | Decimal | Day) else ["=", "<>"]
    atoms = [
        st.builds(_comparison, st.just(name), st.sampled_from(signs), constants, st.booleans()),
        st.builds(
            _member, st.just(name), st.lists(constants, min_size=1, max_size=4), st.booleans()
        ),
    ]
    if len(signs) > 2:
        atoms.append(st.builds(_between, st.just(name), constants, constants, st.booleans()))
    return st.one_of(atoms)


def _constants(kind: Column) -> st.SearchStrategy[Any]:
    if isinstance(kind, Boolean):
        return st.booleans()
    if isinstance(kind, Category):
        return st.sampled_from(TEXTS)
    if isinstance(kind, Day):
        return st.dates(FIRST - datetime.timedelta(3), LAST + datetime.timedelta(3))
    fine = st.integers(-8000, 8000).map(lambda n: Fraction(n, 1000))
    return st.one_of(st.integers(-8, 8).map(Fraction), fine, st.just(Fraction(10**30)))


def _comparison(name: str, sign: str, constant: Any, mirrored: bool) -> Condition:
    sql = (
        f"{_literal(constant)} {_MIRRORED[sign]} {name}"
        if mirrored
        else (f"{name} {sign} {_literal(constant)}")
    )
    return Condition(sql, lambda row: _OPERATORS[sign](row[name], constant))


def _member(name: str, constants: list[Any], negated: bool) -> Condition:
    listed = ", ".join(map(_literal, constants))
    word = "NOT IN" if negated else "IN"
    return Condition(f"{name} {word} ({listed})", lambda row: (row[name] in constants) != negated)


def _between(name: str, low: Any, high: Any, negated: bool) -> Condition:
    word = "NOT BETWEEN" if negated else "BETWEEN"

    def holds(row: Row) -> bool:
        value: Any = row[name]
        return bool(low <= value <= high) != negated

    return Condition(f"{name} {word} {_literal(low)} AND {_literal(high)}", holds)


def _literal(constant: Any) -> str:
    if isinstance(constant, bool):
        return str(constant).upper()
    if isinstance(constant, str):
        return "'" + constant.replace("'", "''") + "'"
    if isinstance(constant, datetime.date):
        return f"DATE '{constant}'"
    sign, size = "-" if constant < 0 else "", abs(constant)
    if size.denominator == 1:
        return f"{sign}{size.numerator}"
    thousandths = int(size * 1000)
    return f"{sign}{thousandths // 1000}.{thousandths % 1000:03d}"
