"""What an analyst gets back: the answer in the units of the data, with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from interlace.core.mechanisms.protocol import Answer as CoreAnswer

Number = int | Decimal


@dataclass(frozen=True)
class Answer:
    """One released answer.

    ``value`` is the noisy number (or a guess that was confirmed, or a sparse vector's
    verdict); ``verdict`` tells whether a comparison passed or a guess was off. ``interval``
    contains the exact answer with probability ``confidence`` and covers the noise only: what
    clamping and bounding change is not in it. ``round`` counts the session's answers from 1.
    """

    sql: str
    value: Number | bool | tuple[Number, ...]
    verdict: bool | None
    interval: tuple[Number, Number] | tuple[tuple[Number, Number], ...] | None
    confidence: float
    round: int

    def __str__(self) -> str:
        if self.interval is None or isinstance(self.value, bool | tuple):
            return str(self.value)
        low, high = self.interval
        return f"{self.value:,} ({self.confidence:.0%} interval {low:,} to {high:,}, noise only)"


def present(answer: CoreAnswer, sql: str, round_: int, digits: int) -> Answer:
    """A mechanism's integer answer in the units of the data (10^-digits)."""

    def scaled(value: int) -> Number:
        return value if digits == 0 else Decimal(value).scaleb(-digits)

    value = answer.value
    spans = tuple((scaled(low), scaled(high)) for low, high in answer.spans)
    if isinstance(value, tuple):
        cells = tuple(scaled(v) for v in value)
        return Answer(sql, cells, answer.verdict, spans, float(answer.confidence), round_)
    shown = value if isinstance(value, bool) else scaled(value)
    interval = spans[0] if spans else None
    return Answer(sql, shown, answer.verdict, interval, float(answer.confidence), round_)
