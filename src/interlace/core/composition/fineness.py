"""How fine a grid a plan of losses can afford. Any choice is sound; it decides how tight.

Steps are powers of two. For one choice of significant bits they only grow as losses are added,
so that a part of a plan is not put on a coarser grid than the whole.
"""

from __future__ import annotations

import math
from fractions import Fraction

from interlace.core.composition.bulk import WIDTH, reach
from interlace.core.composition.terms import Losses
from interlace.core.guarantees.enclosures import roughly, shorten_down, shorten_up

#: How many multiplications one grid may take, how many points it may have, and how many atoms
#: the bulk of one group.
WORK, MOST_POINTS, MOST_ATOMS = 12_000_000, 1 << 15, 1 << 15
#: Powers of two between the width of the loss and the coarsest and the finest step.
_COARSEST, _FINEST = 3, 10
#: To how many significant bits losses may be rounded, for fewer groups and a finer grid; and
#: from how many groups on they always are.
_BITS, MOST_GROUPS = (None, 8, 7, 6, 5), 3000


def plan(losses: Losses, *, up: bool) -> tuple[Losses, Fraction] | None:
    """The losses, rounded one way to as many significant bits as allow a fine grid, and its
    step; None where no grid can be afforded."""
    if not losses or any(2 * reach(e, n) > MOST_ATOMS for e, n in losses):
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
            moved = float(len(rounded) * step * step / (12 * square(rounded)))
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
    total = square(losses)
    level = (total.numerator.bit_length() - total.denominator.bit_length()) // 2
    step, least = _power(level - _COARSEST), _power(level - _FINEST)
    if _work(losses, step) > WORK:
        return None
    while step > least and _work(losses, step / 2) <= WORK:
        step /= 2
    return step


def square(losses: Losses) -> Fraction:
    """The sum of the epsilon_i^2: up to a factor, the variance of the loss."""
    return sum((e * e * n for e, n in losses), Fraction(0))


def _power(level: int) -> Fraction:
    return Fraction(2) ** level


def _work(losses: Losses, step: Fraction) -> int:
    """About how many multiplications the rows take."""
    low, high = window(losses, step)
    total, points = 0, 1
    for epsilon, count in losses:
        atoms = min(count, 2 * reach(epsilon, count)) + 1
        span = int(2 * epsilon * (atoms - 1) / step)
        total += points * (min(2 * atoms, span + 2) + 2 * min(atoms, span + 1))
        points = min(high - low, points + span + 2)
        if points > MOST_POINTS or total > WORK:
            return WORK + 1
    return total


def window(losses: Losses, step: Fraction) -> tuple[int, int]:
    """Where all but 1e-30 of the loss lies: it is sub-Gaussian around its mean."""
    mean = sum(float(e / step) * n * math.tanh(roughly(e) / 2) for e, n in losses)
    width = WIDTH * (math.isqrt(int(square(losses) / step**2)) + 2) + math.isqrt(len(losses))
    return int(mean) - width, int(mean) + width
