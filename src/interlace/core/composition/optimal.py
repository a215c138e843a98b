"""Optimal composition of pure losses: delta(epsilon) and epsilon(delta) as enclosures.

FORMULAS 2.2, 2.3: with L the loss of independent randomised responses,
delta(epsilon) = P(L > epsilon) - e^epsilon Q(L > epsilon). For parameters fixed in advance;
concurrent by Lyu 2022, Thm 1. Exact to some 50 digits, or no model at all: longer sums are integrated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from interlace.core.composition.atoms import (
    Atoms,
    Table,
    convolved,
    mixed_below,
    repeated,
)
from interlace.core.composition.terms import Losses, total_of
from interlace.core.interval import UP, ZERO, Interval

#: Most atoms of one side: of one group of equal epsilons, and of several that are enumerated.
LONGEST_SIDE, LONGEST_ENUMERATED = 1 << 11, 1 << 14
_MOST_BITS = 2 * math.log2(LONGEST_ENUMERATED) + 2
#: More distinct losses than this have too many sums, whatever they are.
MOST_DISTINCT = int(_MOST_BITS)
#: Longest common denominator of the epsilons, in bits.
LONGEST_DENOMINATOR = 1 << 12
#: Above this total loss e^total leaves the range of the arithmetic.
LARGEST_TOTAL = 10**12

_STEPS = 200


@dataclass(frozen=True)
class TwoPointLoss:
    """The total loss of independent randomised responses, in two sides that are summed."""

    total: Fraction
    step: Fraction
    left: Atoms
    right: Table

    def tail(self, epsilon: Fraction) -> tuple[Interval, Interval]:
        """P(L > epsilon) and Q(L > epsilon)."""
        # L = total - 2 m step > epsilon, compared exactly.
        limit = math.ceil((self.total - epsilon) / (2 * self.step))
        return mixed_below(self.left, self.right, limit)

    def delta(self, epsilon: Fraction) -> Interval:
        """The optimal delta at ``epsilon`` >= 0."""
        if epsilon >= self.total:
            return ZERO
        return _stick(self.tail(epsilon), epsilon)

    def epsilon(self, share: Interval) -> Interval:
        """The optimal epsilon where delta may be ``share`` > 0.

        delta is the largest of the lines A - e^epsilon B over all tails (A, B): each line
        gives a lower end, Newton's step in e^epsilon ends on the right one after finitely
        many, and the upper end is certified by evaluating delta there.
        """
        low, high = Fraction(0), self.total
        tail = self.tail(low)
        if _stick(tail, low).upper <= share.lower:
            return ZERO
        fall = _logarithm(share.lower)
        at_low, at_high = _logarithm(_stick(tail, low).upper) - fall, -fall - 10_000.0
        lower = Decimal(0)
        for k in range(_STEPS):
            line = _crossing(tail, share)
            if line is not None:
                lower = max(lower, line.lower)
                aim = Fraction(line.upper) + Fraction(10**k, 10**50)
                low, high, tail, at_low, at_high = self._moved(
                    max(low, aim), share, (low, high, tail, at_low, at_high)
                )
                if high <= aim:
                    break
            aim = _between(low, high, at_low, at_high)
            low, high, tail, at_low, at_high = self._moved(
                aim, share, (low, high, tail, at_low, at_high)
            )
        return Interval(lower, Interval.of(high).upper)

    def _moved(self, at: Fraction, share: Interval, bracket: Bracket) -> Bracket:
        """The bracket with one end moved to ``at``, whichever side of the answer it is."""
        low, high, tail, at_low, at_high = bracket
        if at >= high:
            return bracket
        found = self.tail(at)
        value = _stick(found, at).upper
        if value <= share.lower:
            gap = _logarithm(value) - _logarithm(share.lower) if value > 0 else at_high
            return low, at, tail, at_low, gap
        return at, high, found, _logarithm(value) - _logarithm(share.lower), at_high


Bracket = tuple[Fraction, Fraction, tuple[Interval, Interval], float, float]
"""low, high, the tail at low, and log(delta / share) at both ends."""


def _between(low: Fraction, high: Fraction, at_low: float, at_high: float) -> Fraction:
    """A point inside, by the secant of log delta, kept off the ends."""
    part = at_low / (at_low - at_high) if at_low > at_high else 0.5
    kept = min(0.95, max(0.05, part))
    return low + (high - low) * Fraction(round(kept * 1024), 1024)


def _stick(tail: tuple[Interval, Interval], epsilon: Fraction) -> Interval:
    return (tail[0] - Interval.of(epsilon).exp() * tail[1]).clip(0, 1)


def _crossing(tail: tuple[Interval, Interval], share: Interval) -> Interval | None:
    """Where the line of this tail reaches ``share``: log((A - share) / B)."""
    room = tail[0] - share
    if room.lower <= 0 or tail[1].lower <= 0:
        return None
    return (room / tail[1]).log().clip(0)


def _logarithm(value: Decimal) -> float:
    """A plain float near log(value) for a positive decimal of any size."""
    exponent = value.adjusted()
    return math.log(float(UP.scaleb(value, -exponent))) + exponent * math.log(10)


def model(losses: Losses) -> TwoPointLoss | None:
    """The exact model of these losses, or None where it is out of reach.

    One group of equal epsilons is a binomial; a few groups are enumerated, in two sides that meet
    in the middle.
    """
    if len(losses) > 1 and sum(math.log2(n + 1) for _, n in losses) > _MOST_BITS:
        return None
    step, whole = common_step(losses), total_of(losses)
    if step is None or whole > LARGEST_TOTAL:
        return None
    sides = _split([(e, n, int(e / step)) for e, n in losses])
    if any(_size(s) > (LONGEST_SIDE if len(s) == 1 else LONGEST_ENUMERATED) for s in sides):
        return None
    left, right = (_enumerated(s) for s in sides)
    return TwoPointLoss(whole, step, left, Table.of(right))


def common_step(losses: Losses) -> Fraction | None:
    """The common divisor of the epsilons; None if it is too fine."""
    denominator = 1
    for epsilon, _ in losses:
        denominator = math.lcm(denominator, epsilon.denominator)
        if denominator.bit_length() > LONGEST_DENOMINATOR:
            return None
    divisor = math.gcd(*(int(e * denominator) for e, _ in losses)) or 1
    return Fraction(divisor, denominator)


Groups = list[tuple[Fraction, int, int]]


def _split(groups: Groups) -> tuple[Groups, Groups]:
    """Two sides with about equally many atoms."""
    sides: tuple[Groups, Groups] = ([], [])
    sizes = [0.0, 0.0]
    for group in sorted(groups, key=lambda g: -g[1]):
        side = int(sizes[1] < sizes[0])
        sides[side].append(group)
        sizes[side] += math.log2(group[1] + 1)
    return sides


def _size(groups: Groups) -> int:
    return math.prod(n + 1 for _, n, _ in groups)


def _enumerated(groups: Groups) -> Atoms:
    found = repeated(Fraction(0), 0, 0)
    for epsilon, count, stride in sorted(groups, key=lambda g: g[1]):
        group = repeated(epsilon, count, stride)
        found = convolved(found, group) if len(found.position) > 1 else group
    return found
