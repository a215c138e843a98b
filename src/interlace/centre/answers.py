"""What an analyst gets back: the answer in the units of the data, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from interlace.core.mechanisms.protocol import Answer as CoreAnswer
from interlace.query.plan import Aggregate, Plan

Number = int | Decimal


@dataclass(frozen=True)
class Accuracy:
    """How near an answer will come, known before it is asked for.

    With probability ``confidence`` the answer is within ``radius`` of the exact one (sparse
    vector: a value further than that from its threshold gets the right verdict; guess-and-check:
    a confirmed guess is within ``radius``, a measured value within ``measured``). That covers
    the noise only; ``bounding`` says what one privacy unit can contribute at most, beyond which
    the exact answer itself is cut.
    """

    sql: str
    radius: Number
    measured: Number | None
    confidence: float
    bounding: str


@dataclass(frozen=True)
class Answer:
    """One released answer.

    ``value`` is the noisy number, or a guess that was confirmed, or a sparse vector's verdict.
    ``verdict`` is True where a sparse vector's comparison passed, or where guess-and-check
    found the guess off and measured. ``interval`` contains the exact answer with probability
    ``confidence`` and covers the noise only, not what ``bounding`` changes: what one privacy
    unit can contribute at most. Interval and confidence are None for a verdict alone.
    ``round`` counts the session's answers from 1.
    """

    sql: str
    value: Number | bool | tuple[Number, ...]
    verdict: bool | None
    interval: tuple[Number, Number] | tuple[tuple[Number, Number], ...] | None
    confidence: float | None
    round: int
    bounding: str

    def __str__(self) -> str:
        if self.interval is None or isinstance(self.value, bool | tuple):
            return str(self.value)
        low, high = self.interval
        found = {True: "guess off, measured ", False: "guess confirmed: ", None: ""}[self.verdict]
        return (
            f"{found}{self.value:,} "
            f"({self.confidence:.0%} interval {low:,} to {high:,}, noise only)"
        )

    def __float__(self) -> float:
        """The value as a float. Raises TypeError for several values."""
        if isinstance(self.value, tuple):
            raise TypeError("this answer has several values: take them from .value")
        return float(self.value)


def present(answer: CoreAnswer, sql: str, round_: int, digits: int, bounding: str) -> Answer:
    """A mechanism's integer answer in the units of the data (10^-digits)."""
    spans = tuple((in_units(low, digits), in_units(high, digits)) for low, high in answer.spans)
    value: Number | bool | tuple[Number, ...]
    interval: tuple[Number, Number] | tuple[tuple[Number, Number], ...] | None
    if isinstance(answer.value, tuple):
        value, interval = tuple(in_units(v, digits) for v in answer.value), spans
    else:
        interval = spans[0] if spans else None
        value = answer.value if isinstance(answer.value, bool) else in_units(answer.value, digits)
    confidence = float(answer.confidence) if spans else None
    return Answer(sql, value, answer.verdict, interval, confidence, round_, bounding)


def in_units(value: int, digits: int) -> Number:
    """An integer of 10^-digits as the number that it stands for."""
    if digits == 0:
        return value
    # From its digits: arithmetic would round in the caller's decimal context.
    return Decimal((int(value < 0), tuple(map(int, str(abs(value)))), -digits))


def bounding(plan: Plan) -> str:
    """What one unit can contribute to each number of a plan, in words."""
    return "; ".join(_bound(item) for item in plan.aggregates)


def _bound(item: Aggregate) -> str:
    if item.kind == "sum":
        low, high = in_units(item.lower, item.digits), in_units(item.upper, item.digits)
        return f"one unit adds between {low:,} and {high:,}"
    return f"one unit counts at most {item.upper:,}"
