"""What a composition holds, sorted by the theorem that covers it: leaks, two-point losses, rho.

By Theorem 3 an (epsilon, delta)-DP mechanism is a post-processing of approximate randomised
response: with probability delta it leaks all, else it has a two-point loss. So the leaks
multiply, and what is left is pure losses and zCDP. No accounting here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from interlace.core.guarantees import ZCDP, ApproxDP, Notion, PureDP
from interlace.core.guarantees.enclosures import fitting, length, minus_log_one_minus, one_minus_exp
from interlace.core.interval import ONE, ZERO, Interval

#: Up to this length the product of the 1 - delta_i is kept exactly.
EXACT_LEAK_BITS = 200_000

Losses = tuple[tuple[Fraction, int], ...]
"""Distinct epsilon_i > 0, ascending, each with its count."""


@dataclass(frozen=True)
class Leak:
    """D = 1 - Π(1 - delta_i): the chance that some mechanism of the plan leaks all."""

    exact: Fraction | None
    enclosure: Interval
    kept: Interval

    def after(self, good: Interval) -> Interval:
        """delta where the part without leaks has ``good``: 1 - (1 - D)(1 - good)."""
        return (self.enclosure + self.kept * good).clip(0, 1)

    def share(self, delta: Fraction) -> Interval:
        """What ``delta`` leaves for the part without leaks: (delta - D) / (1 - D).

        Below 0 where the leaks alone exceed ``delta``. Needs D < 1.
        """
        if self.exact is not None:
            return Interval.of((delta - self.exact) / (1 - self.exact))
        return (Interval.of(delta) - self.enclosure) / self.kept


@dataclass(frozen=True)
class Terms:
    """The leaks, the pure losses and the total rho of a composition.

    ``rho`` is rounded up, by less than 2^-80 of it, where its exact form is long.
    """

    leak: Leak
    losses: Losses
    rho: Fraction

    @property
    def total(self) -> Fraction:
        """The sum of the pure losses: the largest loss there can be."""
        return sum((e * n for e, n in self.losses), Fraction(0))


def terms(parts: Iterable[tuple[Notion, int]]) -> Terms:
    """Sort the parts of a composition by what covers them."""
    losses: Counter[Fraction] = Counter()
    leaks: Counter[Fraction] = Counter()
    rho = Fraction(0)
    for guarantee, count in parts:
        match guarantee:
            case PureDP():
                losses[guarantee.epsilon0] += count
            case ApproxDP():
                losses[guarantee.epsilon0] += count
                leaks[guarantee.delta0] += count
            case ZCDP():
                rho = fitting(rho + guarantee.rho * count)
            case _:
                assert_never(guarantee)
    del losses[Fraction(0)], leaks[Fraction(0)]
    return Terms(_leak(leaks), tuple(sorted(losses.items())), rho)


def _leak(leaks: Counter[Fraction]) -> Leak:
    if leaks[Fraction(1)]:
        return Leak(Fraction(1), ONE, ZERO)
    if sum(length(1 - d) * n for d, n in leaks.items()) <= EXACT_LEAK_BITS:
        kept = Fraction(1)
        for d, n in leaks.items():
            kept *= (1 - d) ** n
        return Leak(1 - kept, Interval.of(1 - kept), Interval.of(kept))
    exponent = ZERO
    for d, n in leaks.items():
        exponent = exponent + Interval.of(n) * minus_log_one_minus(Interval.of(d))
    return Leak(None, one_minus_exp(exponent), (-exponent).exp())
