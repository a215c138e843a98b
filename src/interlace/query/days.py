"""The calendar's parts and periods, with their bounds. Public days only; sees no data."""

from __future__ import annotations

import datetime

from interlace.query.arithmetic import day_kind
from interlace.query.columns import Integer
from interlace.query.terms import PartOf, Term, Truncated
from interlace.query.values import day_number, day_of

PARTS = ("year", "quarter", "month", "day", "isodow")
PERIODS = ("year", "quarter", "month", "week")
_LAST = {"quarter": 4, "month": 12, "day": 31, "isodow": 7}


def part_of(part: str, term: Term) -> PartOf:
    """A part of a day, as a number with public bounds.

    >>> from interlace.query.terms import Ref
    >>> from interlace.query.columns import Day
    >>> part_of("year", Ref("t", "d", Day("2019-05-01", "2024-02-01"))).kind
    Integer(lower=2019, upper=2024, missing='drop', out_of_range='clamp')
    """
    first, last = (day_of(code) for code in term.kind.codes)
    if part == "year":
        return PartOf(part, term, Integer(first.year, last.year))
    if first == last:
        number = number_of(part, first)
        return PartOf(part, term, Integer(number, number))
    return PartOf(part, term, Integer(1, _LAST[part]))


def number_of(part: str, day: datetime.date) -> int:
    """That part of one day."""
    if part == "quarter":
        return (day.month + 2) // 3
    return day.isoweekday() if part == "isodow" else int(getattr(day, part))


def truncated(period: str, term: Term) -> Truncated:
    """The first day of each day's period. Raises TermError before the year 1."""
    lower, upper = (first_of(period, code) for code in term.kind.codes)
    return Truncated(period, term, day_kind(lower, upper))


def first_of(period: str, code: int) -> int:
    """The day number of the first day of a day's period.

    >>> first_of("month", 45), first_of("week", 0)
    (31, -3)
    """
    if period == "week":
        return code - (code + 3) % 7
    day = day_of(code)
    month = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1, "month": day.month}[period]
    return day_number(datetime.date(day.year, month, 1))


def periods(period: str, lower: int, upper: int, most: int) -> list[int] | None:
    """The first days of all periods from that of ``lower`` to that of ``upper``; None if there
    are more than ``most``."""
    found: list[int] = []
    code = first_of(period, lower)
    while code <= upper:
        found.append(code)
        if len(found) > most:
            return None
        # A period is shorter than this many days and longer than half of it.
        longest = {"year": 366, "quarter": 92, "month": 31, "week": 7}[period]
        try:
            code = first_of(period, code + longest)
        except (ValueError, OverflowError):  # the calendar ends
            break
    return found
