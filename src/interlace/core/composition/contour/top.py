"""The largest value of a composed loss: all that counts where delta is that small.

There the characteristic function does not fall, and no integral is needed.
"""

from __future__ import annotations

from dataclasses import dataclass

from interlace.core.guarantees.enclosures import minus_log_one_minus, one_minus_exp
from interlace.core.interval import ZERO, Interval


@dataclass(frozen=True)
class Top:
    """The largest value of a loss, how far below it the next one lies, and its chance under P."""

    largest: Interval
    gap: Interval
    chance: Interval

    def delta(self, epsilon: Interval) -> Interval | None:
        """Encloses delta where only the largest value is above ``epsilon``; else None."""
        below = self.largest - epsilon
        if below.upper <= 0:
            return ZERO
        if below.upper > self.gap.lower:
            return None
        return self.chance * one_minus_exp(below.clip(0))

    def epsilon(self, share: Interval) -> Interval | None:
        """Encloses the epsilon of delta ``share`` where only the largest value is above it."""
        part = share / self.chance
        if part.upper >= one_minus_exp(self.gap).lower:
            return None
        return (self.largest - minus_log_one_minus(part)).clip(0)
