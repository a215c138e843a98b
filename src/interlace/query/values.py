"""Reading the values that a declaration or a query names, and checking them. Sees no data."""

from __future__ import annotations

import contextlib
import datetime
import decimal
import re
import unicodedata
from fractions import Fraction
from typing import Literal, TypeVar, cast, get_args

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, rational
from interlace.query.names import LONGEST_NAME

#: What a query may compare a column with: a number, text, a date, TRUE or FALSE.
Constant = Fraction | str | datetime.date | bool
#: What happens to a row whose value lies outside the bounds.
OutOfRange = Literal["clamp", "drop"]

LARGEST_CODE = 2**62
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_EPOCH = datetime.date(1970, 1, 1).toordinal()


class MismatchError(Exception):
    """A constant's type does not fit the column; ``expected`` says what does."""

    def __init__(self, expected: str) -> None:
        self.expected = expected
        super().__init__(expected)


def check_out_of_range(rule: object) -> None:
    """Raises ParameterError unless the rule is "clamp" or "drop"."""
    allowed = get_args(OutOfRange)
    if rule not in allowed:
        listed = " or ".join(map(repr, allowed))
        raise ParameterError("out_of_range", f"must be {listed}, got {rule!r}")


def check_order(lower: object, upper: object, codes: tuple[int, int]) -> None:
    """Raises ParameterError for reversed bounds."""
    if codes[0] > codes[1]:
        raise ParameterError("lower", f"must not be above upper, got {lower} and {upper}")


_T = TypeVar("_T")


def normalised(value: _T) -> _T:
    """A text in Unicode normal form C; anything else as it is.

    >>> normalised("e\u0301") == "é"
    True
    """
    return cast(_T, unicodedata.normalize("NFC", value)) if isinstance(value, str) else value


def check_member(value: object) -> None:
    """Raises ParameterError unless a category may list ``value``."""
    if not isinstance(value, str):
        raise ParameterError("values", f"must be texts: write {str(value)!r}, not {value!r}")
    if value == "drop" or not 1 <= len(value) <= LONGEST_NAME or not value.isprintable():
        raise ParameterError(
            "values",
            f'each must be 1 to {LONGEST_NAME} printable characters, and not "drop"; got {value!r}',
        )


def exact(value: Real | str, name: str, digits: int) -> Fraction:
    """A number of at most ``digits`` decimals whose code fits. Raises ParameterError.

    >>> exact("0.5", "lower", 2)
    Fraction(1, 2)
    """
    limit = Fraction(LARGEST_CODE, 10**digits)
    number = rational(_parsed(value, name), name, minimum=-limit, maximum=limit)
    if (number * 10**digits).denominator != 1:
        raise ParameterError(name, f"must have at most {digits} decimals, got {value}")
    return number


def _parsed(value: Real | str, name: str) -> Real:
    if not isinstance(value, str):
        return value
    try:
        return decimal.Decimal(value)  # not Fraction: 1e999999999 is short and huge
    except decimal.InvalidOperation:
        raise ParameterError(name, f"must be a number, got {value!r}") from None


def read_day(text: str) -> datetime.date | None:
    """The day that a query writes as YYYY-MM-DD; None if it is none.

    >>> read_day("2024-02-29"), read_day("20240229")
    (datetime.date(2024, 2, 29), None)
    """
    with contextlib.suppress(ValueError):
        if _DATE.fullmatch(text):
            return datetime.date.fromisoformat(text)
    return None


def number(constant: Constant) -> Fraction:
    """The constant if it is a number; raises MismatchError."""
    if not isinstance(constant, Fraction):
        raise MismatchError("a number without quotes")
    return constant


def date(value: datetime.date | str, name: str) -> datetime.date:
    """A date, given as such or as ISO text. Raises ParameterError.

    >>> date("2024-02-29", "lower")
    datetime.date(2024, 2, 29)
    """
    if isinstance(value, str):
        try:
            return datetime.date.fromisoformat(value)
        except ValueError:
            raise ParameterError(name, f"must be a date like 2024-01-31, got {value!r}") from None
    if isinstance(value, datetime.datetime) or not isinstance(value, datetime.date):
        raise ParameterError(name, f"must be a date or ISO text, got {value!r}")
    return value


def day_number(value: datetime.date) -> int:
    """Days since 1970-01-01.

    >>> day_number(datetime.date(1970, 2, 1))
    31
    """
    return value.toordinal() - _EPOCH


def day_of(code: int) -> datetime.date:
    """The date of a day number."""
    return datetime.date.fromordinal(code + _EPOCH)
