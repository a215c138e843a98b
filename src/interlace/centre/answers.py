"""What an analyst gets back: the answer in the units of the data, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from interlace.core.mechanisms.protocol import Answer as CoreAnswer

Number = int | Decimal


@dataclass(frozen=True)
class Answer:
    """One released answer.

    ``value`` is the noisy number, or a guess that was confirmed, or a sparse vector's verdict.
    ``verdict`` is True where a sparse vector's comparison passed, or where guess-and-check
    found the guess off and measured. ``interval`` contains the exact answer with probability
    ``confidence`` and covers the noise only: what clamping and bounding change is not in it.
    Both are None for a verdict alone. ``round`` counts the session's answers from 1.
    """

    sql: str
    value: Number | bool | tuple[Number, ...]
    verdict: bool | None
    interval: tuple[Number, Number] | tuple[tuple[Number, Number], ...] | None
    confidence: float | None
    round: int

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


def present(answer: CoreAnswer, sql: str, round_: int, digits: int) -> Answer:
    """A mechanism's integer answer in the units of the data (10^-digits)."""

    def scaled(value: int) -> Number:
        if digits == 0:
            return value
        # From its digits: arithmetic would round in the caller's decimal context.
        return Decimal((int(value < 0), tuple(map(int, str(abs(value)))), -digits))

    value = answer.value
    spans = tuple((scaled(low), scaled(high)) for low, high in answer.spans)
    confidence = float(answer.confidence) if spans else None
    if isinstance(value, tuple):
        cells = tuple(scaled(v) for v in value)
        return Answer(sql, cells, answer.verdict, spans, confidence, round_)
    shown = value if isinstance(value, bool) else scaled(value)
    interval = spans[0] if spans else None
    return Answer(sql, shown, answer.verdict, interval, confidence, round_)
