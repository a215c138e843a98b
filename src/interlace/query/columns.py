"""What a column may hold: public bounds and domains, each value an integer code.

Registration writes codes, queries compare codes, sums add codes. Bounds come from the
custodian and never from the data; nothing here sees data.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, cast

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, natural, rational
from interlace.query import values as read
from interlace.query.fixed_point import decimal_text
from interlace.query.values import LARGEST_CODE, Constant, MismatchError, OutOfRange

MOST_DIGITS = 15
MOST_CATEGORIES = 100_000


@dataclass(frozen=True)
class Integer:
    """A whole number in [lower, upper]; a source's fraction is rounded to the nearest.

    ``missing`` is "drop" (the row) or the value to put there; ``out_of_range`` is "clamp" or
    "drop". Raises ParameterError for bounds that are reversed, not whole or beyond 2^62.

    >>> Integer(0, 120).codes
    (0, 120)
    """

    lower: int
    upper: int
    missing: int | Literal["drop"] = "drop"
    out_of_range: OutOfRange = "clamp"

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            value = natural(getattr(self, name), name, minimum=-LARGEST_CODE, maximum=LARGEST_CODE)
            object.__setattr__(self, name, value)
        read.check_order(self.lower, self.upper, self.codes)
        read.check_out_of_range(self.out_of_range)
        if self.missing != "drop":
            natural(self.missing, "missing", minimum=self.lower, maximum=self.upper)

    ordered = True
    digits = 0

    @property
    def codes(self) -> tuple[int, int]:
        """The least and the greatest code."""
        return self.lower, self.upper

    @property
    def missing_code(self) -> int | None:
        """The code that stands for a missing value; None where the row is dropped."""
        return None if self.missing == "drop" else self.missing

    def place(self, constant: Constant) -> Fraction:
        """Where a query's constant lies on the axis of codes, exactly. Raises MismatchError."""
        return read.number(constant)

    def show(self, code: int) -> str:
        """The SQL literal of a code."""
        return str(code)


@dataclass(frozen=True)
class Decimal:
    """A fixed-point number in [lower, upper] with ``digits`` decimals: code = value * 10^digits.

    A source's value is rounded to the nearest code, ties away from zero; a float is read as
    the decimal that it prints. The other arguments are those of Integer.

    >>> Decimal("0.50", "9.99", 2).codes
    (50, 999)
    """

    lower: Fraction
    upper: Fraction
    digits: int
    missing: Fraction | Literal["drop"] = "drop"
    out_of_range: OutOfRange = "clamp"

    def __init__(
        self,
        lower: Real | str,
        upper: Real | str,
        digits: int,
        missing: Real | str = "drop",
        out_of_range: OutOfRange = "clamp",
    ) -> None:
        put = cast(Any, object.__setattr__)
        put(self, "digits", natural(digits, "digits", minimum=0, maximum=MOST_DIGITS))
        put(self, "lower", read.exact(lower, "lower", self.digits))
        put(self, "upper", read.exact(upper, "upper", self.digits))
        put(
            self,
            "missing",
            "drop" if missing == "drop" else read.exact(missing, "missing", self.digits),
        )
        put(self, "out_of_range", out_of_range)
        read.check_order(lower, upper, self.codes)
        read.check_out_of_range(out_of_range)
        if self.missing != "drop":
            rational(self.missing, "missing", minimum=self.lower, maximum=self.upper)

    ordered = True

    @property
    def codes(self) -> tuple[int, int]:
        """The least and the greatest code."""
        scale = 10**self.digits
        return int(self.lower * scale), int(self.upper * scale)

    @property
    def missing_code(self) -> int | None:
        """The code that stands for a missing value; None where the row is dropped."""
        return None if self.missing == "drop" else int(self.missing * 10**self.digits)

    def place(self, constant: Constant) -> Fraction:
        """Where a query's constant lies on the axis of codes, exactly. Raises MismatchError."""
        return read.number(constant) * Fraction(10**self.digits)

    def show(self, code: int) -> str:
        """The SQL literal of a code."""
        return decimal_text(code, self.digits)


@dataclass(frozen=True)
class Category:
    """One of the listed texts. Integral numbers of a source count as the text they print.

    Texts are compared in Unicode normal form C, code point by code point: declared, stored and
    asked for in whatever form, one text is one member.

    ``missing`` and ``unknown`` (a value that is not listed) are "drop" or a listed text; so
    "drop" itself cannot be listed. Raises ParameterError for an empty list, duplicates or
    anything but text.

    >>> Category(["hdl", "chol"]).codes
    (0, 1)
    """

    values: tuple[str, ...]
    missing: str = "drop"
    unknown: str = "drop"
    _codes: dict[str, int] = field(init=False, repr=False, compare=False, hash=False)

    def __init__(self, values: Iterable[str], missing: str = "drop", unknown: str = "drop") -> None:
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ParameterError("values", "must be a list of texts")
        members = tuple(map(read.normalised, values))
        if not 1 <= len(members) <= MOST_CATEGORIES:
            raise ParameterError("values", f"must list 1 to {MOST_CATEGORIES} texts")
        for value in members:
            read.check_member(value)
        if len(set(members)) < len(members):
            raise ParameterError("values", "must not list a text twice")
        missing, unknown = read.normalised(missing), read.normalised(unknown)
        for name, rule in (("missing", missing), ("unknown", unknown)):
            if rule != "drop" and rule not in members:
                raise ParameterError(name, f'must be "drop" or one of the values, got {rule!r}')
        put = cast(Any, object.__setattr__)
        put(self, "values", members)
        put(self, "missing", missing)
        put(self, "unknown", unknown)
        put(self, "_codes", {value: code for code, value in enumerate(members)})

    ordered = False
    digits = 0

    @property
    def codes(self) -> tuple[int, int]:
        """The least and the greatest code: positions in ``values``."""
        return 0, len(self.values) - 1

    @property
    def missing_code(self) -> int | None:
        """The code that stands for a missing value; None where the row is dropped."""
        return self._codes.get(self.missing)

    @property
    def unknown_code(self) -> int | None:
        """The code of a value that is not listed; None where the row is dropped."""
        return self._codes.get(self.unknown)

    def place(self, constant: Constant) -> Fraction:
        """The code of a text. Raises MismatchError for anything else, KeyError if not listed."""
        if not isinstance(constant, str):
            raise MismatchError("a text such as '" + self.values[0].replace("'", "''") + "'")
        return Fraction(self._codes[read.normalised(constant)])

    def show(self, code: int) -> str:
        """The SQL literal of a code."""
        return "'" + self.values[code].replace("'", "''") + "'"


@dataclass(frozen=True)
class Day:
    """A date in [lower, upper], given as datetime.date or ISO text; the code counts days
    since 1970-01-01. A source's time of day is cut off.

    >>> Day("1970-01-02", "1970-02-01").codes
    (1, 31)
    """

    lower: datetime.date
    upper: datetime.date
    missing: datetime.date | Literal["drop"] = "drop"
    out_of_range: OutOfRange = "clamp"

    def __init__(
        self,
        lower: datetime.date | str,
        upper: datetime.date | str,
        missing: datetime.date | str = "drop",
        out_of_range: OutOfRange = "clamp",
    ) -> None:
        put = cast(Any, object.__setattr__)
        put(self, "lower", read.date(lower, "lower"))
        put(self, "upper", read.date(upper, "upper"))
        put(self, "missing", "drop" if missing == "drop" else read.date(missing, "missing"))
        put(self, "out_of_range", out_of_range)
        read.check_order(self.lower, self.upper, self.codes)
        read.check_out_of_range(out_of_range)
        if self.missing != "drop" and not self.lower <= self.missing <= self.upper:
            raise ParameterError("missing", f"must lie between {self.lower} and {self.upper}")

    ordered = True
    digits = 0

    @property
    def codes(self) -> tuple[int, int]:
        """The least and the greatest code."""
        return read.day_number(self.lower), read.day_number(self.upper)

    @property
    def missing_code(self) -> int | None:
        """The code that stands for a missing value; None where the row is dropped."""
        return None if self.missing == "drop" else read.day_number(self.missing)

    def place(self, constant: Constant) -> Fraction:
        """The code of a date, which may be text like '2024-01-31'. Raises MismatchError for
        anything else."""
        day = read.read_day(constant) if isinstance(constant, str) else constant
        if not isinstance(day, datetime.date):
            raise MismatchError(f"a day of the calendar such as {self.show(self.codes[0])}")
        return Fraction(read.day_number(day))

    def show(self, code: int) -> str:
        """The SQL literal of a code."""
        return f"DATE '{read.day_of(code).isoformat()}'"


@dataclass(frozen=True)
class Boolean:
    """TRUE or FALSE, code 1 or 0. The numbers 1 and 0 of a source count as these; what is
    neither is missing.

    >>> Boolean(missing=False).missing_code
    0
    """

    missing: bool | Literal["drop"] = "drop"

    def __post_init__(self) -> None:
        if self.missing != "drop" and not isinstance(self.missing, bool):
            raise ParameterError("missing", f'must be "drop", True or False, got {self.missing!r}')

    ordered = False
    digits = 0
    codes = (0, 1)

    @property
    def missing_code(self) -> int | None:
        """The code that stands for a missing value; None where the row is dropped."""
        return None if self.missing == "drop" else int(self.missing)

    def place(self, constant: Constant) -> Fraction:
        """The code of TRUE or FALSE, or of 1 or 0. Raises MismatchError for anything else."""
        if constant not in (0, 1):
            raise MismatchError("TRUE or FALSE")
        return Fraction(int(cast(Fraction, constant)))

    def show(self, code: int) -> str:
        """The SQL literal of a code."""
        return "TRUE" if code else "FALSE"


Column = Integer | Decimal | Category | Day | Boolean
