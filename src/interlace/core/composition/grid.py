"""Pure losses on a grid of a power of two, rounded to second order, from above and below.

From above an atom is split between its two neighbours on the grid with both its masses kept,
which makes every test at least as good. From below the adversary sees of each group only the
nearest grid point, which is post-processing. Either way it is the variance of the loss that
moves, by less than step^2/4 a group. For parameters fixed in advance; for what no exact model
reaches, and beside zCDP.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise, repeat

from interlace.core.composition.bulk import Bulk, added, bulk, reach
from interlace.core.composition.fineness import plan, window
from interlace.core.composition.terms import Losses
from interlace.core.guarantees.enclosures import (
    INFINITE,
    one_minus_exp,
)
from interlace.core.interval import DOWN, UP, Interval

#: Long sums of small products need 28 digits, and get them in half the time.
_TRAPS = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
_UP = decimal.Context(28, decimal.ROUND_CEILING, UP.Emin, UP.Emax, traps=_TRAPS)
_DOWN = decimal.Context(28, decimal.ROUND_FLOOR, UP.Emin, UP.Emax, traps=_TRAPS)

#: Up to this step a cubic stands for the exponential function.
_SMALL = Fraction(1, 8)
_ZERO = Decimal(0)
#: Masses below this part of the largest are a tail.
_TAIL = Decimal("1e-13")


@dataclass(frozen=True)
class Row:
    """Masses at consecutive multiples of a step, the first at ``first`` steps."""

    first: int
    masses: list[Decimal]

    def times(self, other: Row, context: decimal.Context) -> Row:
        """The law of the sum of two independent losses, rounded as ``context`` does."""
        long, short = sorted((self.masses, other.masses), key=len, reverse=True)
        size = len(long)
        total = [_ZERO] * (size + len(short) - 1)
        for i, weight in enumerate(short):
            if weight:
                total[i : i + size] = map(context.fma, long, repeat(weight), total[i : i + size])
        return Row(self.first + other.first, total)


@dataclass(frozen=True)
class Lines:
    """A curve as the largest of the lines A - e^epsilon B, one for each set of outcomes."""

    lines: list[tuple[Decimal, Decimal]]

    def delta(self, epsilon: Fraction) -> Interval:
        """Encloses the height at ``epsilon``."""
        x = Interval.of(epsilon).exp()
        low, high = x.upper.copy_negate(), x.lower.copy_negate()
        return Interval(
            max(_ZERO, *(DOWN.fma(low, b, a) for a, b in self.lines)),
            max(_ZERO, *(UP.fma(high, b, a) for a, b in self.lines)),
        )

    def epsilon(self, share: Interval) -> Interval:
        """Encloses where the curve comes down to ``share`` > 0."""
        low = high = Decimal(1)
        for a, b in self.lines:
            room = DOWN.subtract(a, share.upper), UP.subtract(a, share.lower)
            if room[1] > 0:
                if b == 0:
                    return INFINITE
                low = max(low, DOWN.divide(room[0], b))
                high = max(high, UP.divide(room[1], b))
        return Interval(low, high).log().clip(0)


@dataclass(frozen=True)
class Above:
    """Masses from above of the split losses, and what lies beyond any loss."""

    step: Fraction
    row: Row
    lost: Decimal

    @cached_property
    def curve(self) -> Lines:
        """No mechanism with these losses lies above it."""
        back, grow = _powers(self.step, self.row)
        lines, a, b = [(self.lost, _ZERO)], self.lost, _ZERO
        for mass in reversed(self.row.masses):
            a, b = UP.add(a, mass), DOWN.fma(mass, back, b)
            lines.append((a, b))
            back = DOWN.multiply(back, grow)
        return Lines(lines)

    def points(self, most: int) -> tuple[Fraction, Row]:
        """The masses split once more onto a grid of at most about ``most`` points."""
        factor = 1
        while len(self.row.masses) > most * factor:
            factor *= 2
        wide = self.step * factor
        whole = one_minus_exp(Interval.of(wide)).lower
        shares = [_share(self.step * k, wide, whole) for k in range(factor)]
        found = _Split(_UP)
        for k, mass in enumerate(self.row.masses, self.row.first):
            cell, rest = divmod(k, factor)
            found.put(cell, mass, shares[rest])
        return wide, found.row()


@dataclass(frozen=True)
class Below:
    """Masses of the coarser view: under the one dataset from below, the other from above."""

    p: Row
    q: Row

    @cached_property
    def curve(self) -> Lines:
        """One mechanism with these losses reaches it."""
        a = accumulate(reversed(self.p.masses), DOWN.add)
        b = accumulate(reversed(self.q.masses), UP.add)
        return Lines([(x, y) for x, y in zip(a, b, strict=True) if y > 0])

    def seen(self, most: int) -> list[tuple[Decimal, Decimal]]:
        """The pairs of masses, neighbours seen as one, about ``most`` where the bulk is and
        one for each tail."""
        p, q = self.p.masses, self.q.masses
        floor = max(p) * _TAIL
        heavy = [i for i, mass in enumerate(p) if mass >= floor]
        first, last = heavy[0], heavy[-1] + 1
        width = -(-(last - first) // most)
        cuts = [0, *range(first, last, width), last, len(p)]
        return [(added(DOWN, p[i:j]), added(UP, q[i:j])) for i, j in pairwise(cuts) if i < j]


def _powers(step: Fraction, row: Row) -> tuple[Decimal, Decimal]:
    last = row.first + len(row.masses) - 1
    return Interval.of(-step * last).exp().lower, Interval.of(step).exp().lower


def _share(rest: Fraction, step: Fraction, whole: Decimal) -> Decimal:
    """What of an atom ``rest`` above a grid point goes to the next, for its mean e^-loss to
    stay: (1 - e^-rest) / whole, ``whole`` being 1 - e^-step from below. More is sound, too."""
    if rest == 0:
        return _ZERO
    if step > _SMALL:
        part = one_minus_exp(Interval.of(rest)).upper
    else:
        # Below r - r^2/2 + r^3/6, all rounded outward.
        r = _UP.divide(Decimal(rest.numerator), Decimal(rest.denominator))
        low = _DOWN.divide(Decimal(rest.numerator), Decimal(rest.denominator))
        bracket = _DOWN.multiply(_DOWN.divide(low, 2), _DOWN.subtract(1, _UP.divide(r, 3)))
        part = _UP.multiply(r, _UP.subtract(1, bracket))
    return min(Decimal(1), _UP.divide(part, whole))


class _Split:
    """Masses put onto grid points, each partly onto the next."""

    def __init__(self, context: decimal.Context) -> None:
        self._context = context
        self._found: dict[int, Decimal] = {}

    def put(self, cell: int, mass: Decimal, share: Decimal = _ZERO) -> None:
        add, found = self._context.fma, self._found
        found[cell] = add(mass, UP.subtract(1, share), found.get(cell, _ZERO))
        if share:
            found[cell + 1] = add(mass, share, found.get(cell + 1, _ZERO))

    def row(self) -> Row:
        first, last = min(self._found), max(self._found)
        return Row(first, [self._found.get(k, _ZERO) for k in range(first, last + 1)])


def above(losses: Losses) -> Above | None:
    """The losses split onto the finest affordable grid; None where no grid is."""
    planned = plan(losses, up=True)
    if planned is None:
        return None
    losses, step = planned
    kept, row, lost = window(losses, step), Row(0, [Decimal(1)]), _ZERO
    for epsilon, count in _by_width(losses):
        law = bulk(epsilon, count)
        row = row.times(_above(epsilon, count, law, step), _UP)
        row, beyond = _kept_above(row, kept)
        lost = UP.add(lost, UP.add(law.fewer, beyond))
    return Above(step, row, lost)


def below(losses: Losses) -> Below | None:
    """The losses seen on the finest affordable grid; None where no grid is."""
    planned = plan(losses, up=False)
    if planned is None:
        return None
    losses, step = planned
    kept, p, q = window(losses, step), Row(0, [Decimal(1)]), Row(0, [Decimal(1)])
    for epsilon, count in _by_width(losses):
        seen, other = _below(epsilon, count, bulk(epsilon, count), step)
        p = _kept_below(p.times(seen, _DOWN), kept)
        q = _kept_below(q.times(other, _UP), kept)
    return Below(p, q)


def _by_width(losses: Losses) -> list[tuple[Fraction, int]]:
    return sorted(losses, key=lambda g: g[0] * reach(*g))


def _above(epsilon: Fraction, count: int, law: Bulk, step: Fraction) -> Row:
    found = _Split(_UP)
    whole = one_minus_exp(Interval.of(step)).lower
    unit = epsilon / step
    for j, mass in enumerate(law.upper, law.first):
        cell, rest = divmod((count - 2 * j) * unit.numerator, unit.denominator)
        found.put(cell, mass, _share(Fraction(rest, unit.denominator) * step, step, whole))
    # More flips than any that are kept: a smaller loss, moved up.
    least = (count - 2 * (law.first + len(law.upper) - 1)) * unit
    found.put(math.ceil(least), law.more)
    return found.row()


def _below(epsilon: Fraction, count: int, law: Bulk, step: Fraction) -> tuple[Row, Row]:
    p, q = _Split(_DOWN), _Split(_UP)
    unit, factor = epsilon / step, Interval.of(2 * epsilon).exp().upper
    back = Interval.of(-epsilon * (count - 2 * law.first)).exp().upper
    for j, (low, high) in enumerate(zip(law.lower, law.upper, strict=True), law.first):
        cell = round((count - 2 * j) * unit)
        p.put(cell, low)
        q.put(cell, UP.multiply(high, back))
        back = UP.multiply(back, factor)
    return p.row(), q.row()


def _kept_above(row: Row, bounds: tuple[int, int]) -> tuple[Row, Decimal]:
    """Losses below the window are moved up to it, those beyond it count as infinite."""
    cut, end = max(0, bounds[0] - row.first), max(1, bounds[1] - row.first)
    if cut == 0 and end >= len(row.masses):
        return row, _ZERO
    beyond = added(_UP, row.masses[end:])
    cut = min(cut, end - 1, len(row.masses) - 1)
    kept = [added(_UP, row.masses[: cut + 1]), *row.masses[cut + 1 : end]]
    return Row(row.first + cut, kept), beyond


def _kept_below(row: Row, bounds: tuple[int, int]) -> Row:
    """Outcomes outside the window are not looked at."""
    cut, end = max(0, bounds[0] - row.first), max(1, bounds[1] - row.first)
    cut = min(cut, end - 1, len(row.masses) - 1)
    return Row(row.first + cut, row.masses[cut:end])
