"""Optimal composition of pure losses: delta(epsilon) and epsilon(delta) as enclosures.

FORMULAS 2.2, 2.3: with L the loss of independent randomised responses,
delta(epsilon) = P(L > epsilon) - e^epsilon Q(L > epsilon). For parameters fixed in advance;
concurrent by Lyu 2022, Thm 1. Exact to some 50 digits, or no model at all: rounding onto a
coarser lattice is the business of ``grid``.
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
    counted,
    mixed_below,
    repeated,
)
from interlace.core.composition.terms import Losses
from interlace.core.interval import UP, ZERO, Interval

#: Most atoms of one side: a group of equal epsilons, or a lattice.
LONGEST_SIDE = 1 << 14
#: Most atoms of a side that is enumerated from several groups.
LONGEST_ENUMERATED = 1 << 14
#: Sides up to this long are always enumerated.
SHORT_SIDE = 2_000
#: Most work for one lattice: bits of the packed polynomial times its factors.
LATTICE_WORK = 1 << 33
#: Longest common denominator of the epsilons, in bits.
LONGEST_DENOMINATOR = 1 << 12

_STEPS = 200


@dataclass(frozen=True)
class TwoPointLoss:
    """The total loss of independent randomised responses, in two sides that are summed."""

    total: Fraction
    step: Fraction
    left: Atoms | None
    right: Table

    def tail(self, epsilon: Fraction) -> tuple[Interval, Interval]:
        """P(L > epsilon) and Q(L > epsilon)."""
        # L = total - 2 m step > epsilon, compared exactly.
        limit = math.ceil((self.total - epsilon) / (2 * self.step))
        if self.left is None:
            return self.right.below(limit)
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

    One group of equal epsilons is a binomial; a few groups are enumerated, in two sides
    that meet in the middle; many on a coarse common lattice are counted in one integer.
    """
    strides = common_lattice(losses)
    if strides is None:
        return None
    step, total = strides
    groups = [(e, n, int(e / step)) for e, n in losses]
    whole = sum((e * n for e, n in losses), Fraction(0))
    sides = _split(groups)
    longest = max((_size(s) for s in sides), default=0)
    if longest > SHORT_SIDE and lattice_reaches(total, sum(n for _, n in losses)):
        atoms = counted([(s, n) for _, n, s in groups], step, total // 2 + 1)
        return TwoPointLoss(whole, step, None, Table.of(atoms))
    if any(_size(s) > (LONGEST_SIDE if len(s) == 1 else LONGEST_ENUMERATED) for s in sides):
        return None
    left, right = (_enumerated(s) for s in sides)
    return TwoPointLoss(whole, step, left, Table.of(right))


def common_lattice(losses: Losses) -> tuple[Fraction, int] | None:
    """The common divisor of the epsilons and their total in it; None if it is too fine."""
    denominator = 1
    for epsilon, _ in losses:
        denominator = math.lcm(denominator, epsilon.denominator)
        if denominator.bit_length() > LONGEST_DENOMINATOR:
            return None
    units = [(int(e * denominator), n) for e, n in losses]
    divisor = math.gcd(*(u for u, _ in units)) or 1
    return Fraction(divisor, denominator), sum(u * n for u, n in units) // divisor


def lattice_reaches(total: int, count: int) -> bool:
    """Whether ``counted`` can afford ``count`` responses with ``total`` steps in all."""
    return total // 2 < LONGEST_SIDE and count * count * (total // 2 + 1) <= LATTICE_WORK


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
