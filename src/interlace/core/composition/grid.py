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

from interlace.core.composition.terms import Losses
from interlace.core.guarantees.enclosures import (
    INFINITE,
    one_minus_exp,
    roughly,
    shorten_down,
    shorten_up,
)
from interlace.core.interval import DOWN, ONE, UP, Interval

#: How many multiplications one grid may take, and how many points it may have.
WORK, MOST_POINTS = 12_000_000, 1 << 15
#: Most atoms of one group's binomial. They span _WIDTH standard deviations either way: what
#: lies beyond has a chance below 1e-30.
MOST_ATOMS, _WIDTH = 1 << 15, 12
#: Powers of two between the width of the loss and the coarsest and the finest step.
_COARSEST, _FINEST = 3, 10
#: To how many significant bits losses may be rounded, for fewer groups and a finer grid; and
#: from how many groups on they always are.
_BITS, MOST_GROUPS = (None, 8, 7, 6, 5), 3000
#: Up to this step a cubic stands for the exponential function.
_SMALL = Fraction(1, 8)

#: Long sums of small products need 28 digits, and get them in half the time.
_TRAPS = [decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow]
_UP = decimal.Context(28, decimal.ROUND_CEILING, UP.Emin, UP.Emax, traps=_TRAPS)
_DOWN = decimal.Context(28, decimal.ROUND_FLOOR, UP.Emin, UP.Emax, traps=_TRAPS)

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
    mode, reach = int(count * chance), _reach(epsilon, count)
    first, last = max(0, mode - reach), min(count, mode + reach)
    low, high = (
        [
            *_terms(count, count - mode, mode - first, ONE / ratio, context)[:0:-1],
            *_terms(count, mode, last - mode, ratio, context),
        ]
        for context in (DOWN, UP)
    )
    more = _beyond(high[-1], count, last, ratio)
    fewer = _beyond(high[0], count, count - first, ONE / ratio)
    least = _sum(DOWN, low)
    most = UP.add(_sum(UP, high), UP.add(more, fewer))
    return Bulk(
        first,
        [DOWN.divide(x, most) for x in low],
        [UP.divide(x, least) for x in high],
        UP.divide(fewer, least),
        UP.divide(more, least),
    )


def _reach(epsilon: Fraction, count: int) -> int:
    chance = 1 / (1 + math.exp(min(roughly(epsilon), 700.0)))
    return min(count, int(_WIDTH * math.sqrt(count * chance * (1 - chance))) + 60)


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


def _sum(context: decimal.Context, values: list[Decimal]) -> Decimal:
    total = _ZERO
    for value in values:
        total = context.add(total, value)
    return total


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
        return [(_sum(DOWN, p[i:j]), _sum(UP, q[i:j])) for i, j in pairwise(cuts) if i < j]


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
    plan = _plan(losses, up=True)
    if plan is None:
        return None
    losses, step = plan
    window, row, lost = _window(losses, step), Row(0, [Decimal(1)]), _ZERO
    for epsilon, count in _by_width(losses):
        law = bulk(epsilon, count)
        row = row.times(_above(epsilon, count, law, step), _UP)
        row, beyond = _kept_above(row, window)
        lost = UP.add(lost, UP.add(law.fewer, beyond))
    return Above(step, row, lost)


def below(losses: Losses) -> Below | None:
    """The losses seen on the finest affordable grid; None where no grid is."""
    plan = _plan(losses, up=False)
    if plan is None:
        return None
    losses, step = plan
    window, p, q = _window(losses, step), Row(0, [Decimal(1)]), Row(0, [Decimal(1)])
    for epsilon, count in _by_width(losses):
        seen, other = _below(epsilon, count, bulk(epsilon, count), step)
        p = _kept_below(p.times(seen, _DOWN), window)
        q = _kept_below(q.times(other, _UP), window)
    return Below(p, q)


def _by_width(losses: Losses) -> list[tuple[Fraction, int]]:
    return sorted(losses, key=lambda g: g[0] * _reach(*g))


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


def _kept_above(row: Row, window: tuple[int, int]) -> tuple[Row, Decimal]:
    """Losses below the window are moved up to it, those beyond it count as infinite."""
    cut, end = max(0, window[0] - row.first), max(1, window[1] - row.first)
    if cut == 0 and end >= len(row.masses):
        return row, _ZERO
    beyond = _sum(_UP, row.masses[end:])
    cut = min(cut, end - 1, len(row.masses) - 1)
    kept = [_sum(_UP, row.masses[: cut + 1]), *row.masses[cut + 1 : end]]
    return Row(row.first + cut, kept), beyond


def _kept_below(row: Row, window: tuple[int, int]) -> Row:
    """Outcomes outside the window are not looked at."""
    cut, end = max(0, window[0] - row.first), max(1, window[1] - row.first)
    cut = min(cut, end - 1, len(row.masses) - 1)
    return Row(row.first + cut, row.masses[cut:end])


def _plan(losses: Losses, *, up: bool) -> tuple[Losses, Fraction] | None:
    """The losses, rounded one way to as many significant bits as allow a fine grid, and its
    step; None where no grid can be afforded."""
    if not losses or any(2 * _reach(e, n) > MOST_ATOMS for e, n in losses):
        return None
    found, rounded = [], losses
    for bits in _BITS:
        if bits is None and len(losses) > MOST_GROUPS:
            continue
        # To 8 bits and then to 7 is to 7 bits.
        rounded = losses if bits is None else _coarse(rounded, bits, up=up)
        step = _finest(rounded)
        if step is not None:
            # What rounding adds to the losses, and the grid to their variance.
            moved = float(len(rounded) * step * step / (12 * _square(rounded)))
            moved += 0.0 if bits is None else 1.5 / 2**bits
            found.append((moved, rounded, step))
    return min(found)[1:] if found else None


def _coarse(losses: Losses, bits: int, *, up: bool) -> Losses:
    moved: dict[Fraction, int] = {}
    for epsilon, count in losses:
        at = shorten_up(epsilon, bits) if up else shorten_down(epsilon, bits)
        moved[at] = moved.get(at, 0) + count
    return tuple(sorted(moved.items()))


def _finest(losses: Losses) -> Fraction | None:
    """The finest grid that can be afforded; None where even the coarsest costs too much."""
    square = _square(losses)
    level = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    step, least = _power(level - _COARSEST), _power(level - _FINEST)
    if _work(losses, step) > WORK:
        return None
    while step > least and _work(losses, step / 2) <= WORK:
        step /= 2
    return step


def _square(losses: Losses) -> Fraction:
    return sum((e * e * n for e, n in losses), Fraction(0))


def _power(level: int) -> Fraction:
    return Fraction(2) ** level


def _work(losses: Losses, step: Fraction) -> int:
    """About how many multiplications the rows take."""
    low, high = _window(losses, step)
    total, points = 0, 1
    for epsilon, count in losses:
        atoms = min(count, 2 * _reach(epsilon, count)) + 1
        span = int(2 * epsilon * (atoms - 1) / step)
        total += points * (min(2 * atoms, span + 2) + 2 * min(atoms, span + 1))
        points = min(high - low, points + span + 2)
        if points > MOST_POINTS or total > WORK:
            return WORK + 1
    return total


def _window(losses: Losses, step: Fraction) -> tuple[int, int]:
    """Where all but 1e-30 of the loss lies: it is sub-Gaussian around its mean."""
    mean = sum(float(e / step) * n * math.tanh(roughly(e) / 2) for e, n in losses)
    width = _WIDTH * (math.isqrt(int(_square(losses) / step**2)) + 2) + math.isqrt(len(losses))
    return int(mean) - width, int(mean) + width
