"""Queries built in Python: they write the SQL that docs/queries.md defines, and nothing else.

q = sql.table("labs").join("people").where(sql.col("age") >= 65).group_by("lab")
session.ask(q.select(n=sql.count(), mean=sql.avg("value")).sql)
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from interlace.core.errors import ParameterError
from interlace.query.fixed_point import decimal_text
from interlace.query.names import checked_name

Constant = int | str | bool | Decimal | Fraction | float | datetime.date
"""A value that stands in a query. A float stands for the decimal that it prints."""


@dataclass(frozen=True, eq=False)
class Expression:
    """An expression or condition as SQL. Operators and methods make larger ones; ``&``, ``|`` and
    ``~`` are AND, OR and NOT."""

    sql: str

    def __add__(self, other: Expression | Constant) -> Expression:
        return self._with("+", other)

    def __radd__(self, other: Constant) -> Expression:
        return written(other)._with("+", self)

    def __sub__(self, other: Expression | Constant) -> Expression:
        return self._with("-", other)

    def __rsub__(self, other: Constant) -> Expression:
        return written(other)._with("-", self)

    def __mul__(self, other: Expression | Constant) -> Expression:
        return self._with("*", other)

    def __rmul__(self, other: Constant) -> Expression:
        return written(other)._with("*", self)

    def __neg__(self) -> Expression:
        return Expression(f"(- {self.sql})")  # -- would begin a comment

    def __abs__(self) -> Expression:
        return Expression(f"ABS({self.sql})")

    def __eq__(self, other: object) -> Expression:  # type: ignore[override]  # a condition
        return self._with("=", other)

    def __ne__(self, other: object) -> Expression:  # type: ignore[override]  # a condition
        return self._with("<>", other)

    def __lt__(self, other: Expression | Constant) -> Expression:
        return self._with("<", other)

    def __le__(self, other: Expression | Constant) -> Expression:
        return self._with("<=", other)

    def __gt__(self, other: Expression | Constant) -> Expression:
        return self._with(">", other)

    def __ge__(self, other: Expression | Constant) -> Expression:
        return self._with(">=", other)

    def __and__(self, other: Expression) -> Expression:
        return self._with("AND", other)

    def __or__(self, other: Expression) -> Expression:
        return self._with("OR", other)

    def __invert__(self) -> Expression:
        return Expression(f"(NOT {self.sql})")

    def __bool__(self) -> bool:
        raise TypeError("a condition has no truth of its own: combine with &, | and ~")

    __hash__ = object.__hash__

    def between(self, low: Constant, high: Constant) -> Expression:
        """BETWEEN two constants, both included."""
        return Expression(f"({self.sql} BETWEEN {written(low).sql} AND {written(high).sql})")

    def isin(self, *values: Constant) -> Expression:
        """IN a list of constants."""
        return Expression(f"({self.sql} IN ({_listed(values)}))")

    def clamp(self, lower: Constant, upper: Constant) -> Expression:
        """CLAMP: around an aggregate, of what one unit adds."""
        return _call("CLAMP", self, lower, upper)

    def bucket(self, width: Constant, origin: Constant | None = None) -> Expression:
        """BUCKET of a number or a day."""
        return _call("BUCKET", self, width, *(() if origin is None else (origin,)))

    def part(self, name: str) -> Expression:
        """A part of a day: year, quarter, month, day, isodow."""
        return _call("DATE_PART", name, self)

    def trunc(self, period: str) -> Expression:
        """The first day of a day's year, quarter, month or week."""
        return _call("DATE_TRUNC", period, self)

    def _with(self, operator: str, other: object) -> Expression:
        return Expression(f"({self.sql} {operator} {written(other).sql})")


@dataclass(frozen=True)
class Select:
    """A query; every method gives a new one. ``sql`` is its text.

    >>> counted = table("labs").where(col("value") > 3).group_by("lab").select(n=count())
    >>> counted.sql
    'SELECT COUNT(*) AS "n" FROM "labs" WHERE ("value" > 3) GROUP BY "lab"'
    """

    source: str
    condition: Expression | None = None
    keys: tuple[Expression, ...] = ()
    items: tuple[Expression, ...] = ()

    def join(self, name: str, *, using: str | None = None, on: Expression | None = None) -> Select:
        """Join a table, USING a column, or ON columns that are equal. Raises ParameterError
        unless one of them is given."""
        if using is not None and on is None:
            how = f"USING ({col(using).sql})"
        elif on is not None and using is None:
            how = f"ON {on.sql}"
        else:
            raise ParameterError("using", "give either using= or on=")
        return replace(self, source=f"{self.source} JOIN {_name(name)} {how}")

    def where(self, condition: Expression) -> Select:
        """With a further condition."""
        both = condition if self.condition is None else self.condition & condition
        return replace(self, condition=both)

    def group_by(self, *keys: Expression | str) -> Select:
        """With further keys: expressions, or names of columns."""
        return replace(self, keys=self.keys + tuple(map(_column, keys)))

    def select(self, *items: Expression, **named: Expression) -> Select:
        """With further items: aggregates and keys, those with a keyword called by it."""
        found = (Expression(f"{item.sql} AS {_name(name)}") for name, item in named.items())
        return replace(self, items=(*self.items, *items, *found))

    @property
    def sql(self) -> str:
        """The query as SQL. Raises ParameterError if nothing is selected."""
        if not self.items:
            raise ParameterError("items", "must hold at least one aggregate: select(n=count())")
        text = f"SELECT {', '.join(item.sql for item in self.items)} FROM {self.source}"
        if self.condition is not None:
            text += f" WHERE {self.condition.sql}"
        return text + (f" GROUP BY {', '.join(key.sql for key in self.keys)}" if self.keys else "")


def table(name: str) -> Select:
    """A query over a table; nothing is selected yet."""
    return Select(_name(name))


def col(name: str, table: str | None = None) -> Expression:
    """A column, of that table where several are joined."""
    return Expression(_name(name) if table is None else f"{_name(table)}.{_name(name)}")


def count() -> Expression:
    """COUNT(*): rows."""
    return Expression("COUNT(*)")


def units(unit: str) -> Expression:
    """COUNT(DISTINCT unit), by the name of the unit's column."""
    return Expression(f"COUNT(DISTINCT {_name(unit)})")


def sum_(of: Expression | str) -> Expression:
    """SUM of an expression, or of the column of that name; so the other aggregates."""
    return _call("SUM", _column(of))


def avg(of: Expression | str) -> Expression:
    """AVG."""
    return _call("AVG", _column(of))


def variance(of: Expression | str, *, sample: bool = False) -> Expression:
    """VAR_POP, or VAR_SAMP."""
    return _call("VAR_SAMP" if sample else "VAR_POP", _column(of))


def stddev(of: Expression | str, *, sample: bool = False) -> Expression:
    """STDDEV_POP, or STDDEV_SAMP."""
    return _call("STDDEV_SAMP" if sample else "STDDEV_POP", _column(of))


def quantile(of: Expression | str, share: Constant) -> Expression:
    """QUANTILE, with a share between 0 and 1."""
    return _call("QUANTILE", _column(of), share)


def case(
    *branches: tuple[Expression, Expression | Constant], otherwise: Expression | Constant
) -> Expression:
    r"""CASE: the value of the first condition that holds.

    >>> case((col("age") < 18, "child"), otherwise="adult").sql
    'CASE WHEN ("age" < 18) THEN \'child\' ELSE \'adult\' END'
    """
    whens = " ".join(f"WHEN {when.sql} THEN {written(value).sql}" for when, value in branches)
    return Expression(f"CASE {whens} ELSE {written(otherwise).sql} END")


#: Of a number, in digits: 1E+999999999 is short, and its digits fill the memory.
_LONGEST = 100


def written(value: object) -> Expression:
    """A constant as SQL; an expression as it is. Raises ParameterError for anything else."""
    match value:
        case Expression():
            return value
        case bool():
            return Expression("TRUE" if value else "FALSE")
        case str():
            return Expression("'" + value.replace("'", "''") + "'")
        case int():
            return Expression(str(value))
        case datetime.date() if not isinstance(value, datetime.datetime):
            return Expression(f"DATE '{value.isoformat()}'")
        case float() | Decimal() | Fraction():
            return Expression(_decimal(value))
    raise ParameterError("value", f"must be a number, a text, a date or a bool, got {value!r}")


def _decimal(value: float | Decimal | Fraction) -> str:
    exact = Decimal(repr(value)) if isinstance(value, float) else value
    if isinstance(exact, Decimal) and exact.is_finite() and abs(exact.adjusted()) <= _LONGEST:
        return format(exact, "f")
    if isinstance(exact, Fraction):
        for digits in range(16):
            code = exact * 10**digits
            if code.denominator == 1:
                return decimal_text(int(code), digits)
    raise ParameterError(
        "value", f"must be a number of finitely many digits, at most 100, got {value!r}"
    )


def _name(name: str) -> str:
    return f'"{checked_name(name, "name")}"'


def _column(of: Expression | str) -> Expression:
    return of if isinstance(of, Expression) else col(of)


def _call(name: str, *arguments: Expression | Constant) -> Expression:
    return Expression(f"{name}({_listed(arguments)})")


def _listed(values: Sequence[Expression | Constant]) -> str:
    return ", ".join(written(value).sql for value in values)
