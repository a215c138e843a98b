"""The bulk of a binomial: how many of many equal randomised responses come out flipped.

Masses as enclosures in decimals of 60 digits. No accounting here.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from interlace.core.guarantees.enclosures import roughly
from interlace.core.interval import DOWN, ONE, UP, Interval

#: How many standard deviations either way are kept: what lies beyond has a chance below 1e-30.
WIDTH = 12
_ZERO = Decimal(0)


@dataclass(frozen=True)
class Bulk:
    """A binomial around its mode: the loss of flips j = first, first + 1, ... of a group."""

    first: int
    lower: list[Decimal]
    upper: list[Decimal]
    fewer: Decimal
    """The chance of fewer flips, hence of larger losses, from above."""
    more: Decimal


def bulk(epsilon: Fraction, count: int) -> Bulk:
    """The number of flips in ``count`` randomised responses at ``epsilon``.

    Terms relative to the one at the mode, divided by their sum: no factorial is needed.
    """
    ratio = Interval.of(-epsilon).exp()
    chance = 1 / (1 + math.exp(min(roughly(epsilon), 700.0)))
    mode, far = int(count * chance), reach(epsilon, count)
    first, last = max(0, mode - far), min(count, mode + far)
    low, high = (
        [
            *_terms(count, count - mode, mode - first, ONE / ratio, context)[:0:-1],
            *_terms(count, mode, last - mode, ratio, context),
        ]
        for context in (DOWN, UP)
    )
    more = _beyond(high[-1], count, last, ratio)
    fewer = _beyond(high[0], count, count - first, ONE / ratio)
    least = added(DOWN, low)
    most = UP.add(added(UP, high), UP.add(more, fewer))
    return Bulk(
        first,
        [DOWN.divide(x, most) for x in low],
        [UP.divide(x, least) for x in high],
        UP.divide(fewer, least),
        UP.divide(more, least),
    )


def reach(epsilon: Fraction, count: int) -> int:
    """How many flips either side of the mode are kept."""
    chance = 1 / (1 + math.exp(min(roughly(epsilon), 700.0)))
    return min(count, int(WIDTH * math.sqrt(count * chance * (1 - chance))) + 60)


def _terms(
    count: int, start: int, steps: int, ratio: Interval, context: decimal.Context
) -> list[Decimal]:
    """C(count, j) ratio^j for j from ``start`` upwards, the first as 1."""
    grow = ratio.lower if context is DOWN else ratio.upper
    terms = [Decimal(1)]
    for j in range(start, start + steps):
        grown = context.multiply(context.multiply(terms[-1], grow), Decimal(count - j))
        terms.append(context.divide(grown, Decimal(j + 1)))
    return terms


def _beyond(edge: Decimal, count: int, at: int, ratio: Interval) -> Decimal:
    """All terms after the one at ``at``, by a geometric series: their quotients fall."""
    if at >= count:
        return _ZERO
    quotient = UP.divide(UP.multiply(ratio.upper, Decimal(count - at)), Decimal(at + 1))
    return UP.divide(UP.multiply(edge, quotient), DOWN.subtract(Decimal(1), quotient))


def added(context: decimal.Context, values: list[Decimal]) -> Decimal:
    """The sum, rounded as ``context`` does."""
    total = _ZERO
    for value in values:
        total = context.add(total, value)
    return total
