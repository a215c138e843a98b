"""The law of a privacy loss as finitely many atoms, enclosed: what composition works from.

Nothing here knows a mechanism. Two operations make a law coarser on a sound side: ``spread``
moves mass outwards (a law that dominates), ``merged`` forgets (a post-processing).
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from interlace.core.errors import ParameterError
from interlace.core.exact import natural
from interlace.core.guarantees.enclosures import one_minus_exp
from interlace.core.interval import ZERO, Interval

#: A law of more atoms than this is served on a coarser grid, or refused.
MOST_ATOMS = 1 << 16
#: How many atoms a law gets by default that is put on a grid of its own.
USUAL_ATOMS = 1 << 12
_FEWEST_ATOMS = 16


class Direction(enum.Enum):
    """Which of the two neighbouring datasets the answers are drawn with."""

    REMOVE = "remove"
    """Drawn with the unit, compared to without it."""
    ADD = "add"
    """Drawn without the unit, compared to with it."""


@dataclass(frozen=True)
class Atoms:
    """The law of the loss log(P/Q) under P: finitely many values, and the mass at infinity.

    ``losses`` ascend strictly; one is an exact Fraction where it is rational, else an
    Interval around it. ``masses`` are their probabilities under P, ``leak`` is the mass where
    Q has none. With a ``step`` all losses are Fractions and differ by multiples of it. An
    upper version of a law (whose masses and leak then sum to 1) never has too small a delta in
    any composition, a lower version (which may sum to less) never too large a one; where the
    law is itself finite, both are the law.
    """

    losses: tuple[Fraction | Interval, ...]
    masses: tuple[Interval, ...]
    leak: Interval = ZERO
    step: Fraction | None = None


def read_most(most: int | None, usual: int = MOST_ATOMS) -> int:
    """A number of atoms in [16, 65536], ``usual`` for None; else raises ParameterError."""
    if most is None:
        return usual
    return natural(most, "most", minimum=_FEWEST_ATOMS, maximum=MOST_ATOMS)


def enclosed(loss: Fraction | Interval) -> Interval:
    """A loss of either kind as an Interval."""
    return loss if isinstance(loss, Interval) else Interval.of(loss)


def added(first: Interval, second: Interval) -> Interval:
    """The sum of two masses, at most 1."""
    return (first + second).clip(0, 1)


def ended(
    losses: Sequence[Fraction | Interval],
    masses: Sequence[Interval],
    tails: tuple[Interval, Interval],
    *,
    upper: bool,
    step: Fraction | None = None,
) -> Atoms:
    """Atoms of an infinite law: ``tails`` are the masses below the first and above the last.

    Upper: the tail below moves up to the first loss, the tail above to infinity. Lower: the
    tail below is dropped, the tail above moves down to the last loss.
    """
    below, above = tails
    ends = list(masses)
    if upper:
        ends[0] = added(ends[0], below)
        return Atoms(tuple(losses), tuple(ends), above.clip(0, 1), step)
    ends[-1] = added(ends[-1], above)
    return Atoms(tuple(losses), tuple(ends), ZERO, step)


def spread(p: Interval, q: Interval, low: Interval, width: Interval) -> tuple[Interval, Interval]:
    """Splits a mass with losses in [low, low + width] into masses at the two ends of it.

    ``p`` and ``q`` are its probabilities under P and Q, and both are kept: p = a + b,
    q = a e^-low + b e^-(low + width). That is a mean-preserving spread of Q/P under P, so
    that the new pair dominates the old one; its profile joins points of the old profile by
    straight lines in e^epsilon.
    """
    high = ((p - q * low.exp()) / one_minus_exp(width)).clip(0)
    high = Interval(min(high.lower, p.upper), min(high.upper, p.upper))
    return (p - high).clip(0), high


def merged(p: Interval, q: Interval) -> Interval:
    """The loss of outcomes that are told apart no more; p and q are their masses."""
    return (p / q).log()


def coarser(atoms: Atoms, most: int | None, *, upper: bool) -> Atoms:
    """The law on at most ``most`` atoms: blocks of neighbours are spread or merged.

    Raises ParameterError, naming ``most``, below 16.
    """
    limit, count = read_most(most), len(atoms.losses)
    if count <= limit:
        return atoms
    # Each block holds 1/size of the atoms, and its upper end.
    size = -(-(count - 1) // (limit - 1))
    starts = [*range(0, count - 1, size), count - 1]
    return (_spread_blocks if upper else _merged_blocks)(atoms, starts)


def _spread_blocks(atoms: Atoms, starts: list[int]) -> Atoms:
    masses = [ZERO] * len(starts)
    masses[0] = atoms.masses[0]
    for j in range(len(starts) - 1):
        first, last = starts[j], starts[j + 1]
        low = enclosed(atoms.losses[first])
        width = (enclosed(atoms.losses[last]) - low).clip(0)
        total = raised = ZERO
        for i in range(first + 1, last + 1):
            rise = (enclosed(atoms.losses[i]) - low).clip(0)
            total = total + atoms.masses[i]
            raised = raised + atoms.masses[i] * one_minus_exp(rise)
        high = (raised / one_minus_exp(width)).clip(0)
        high = Interval(min(high.lower, total.upper), min(high.upper, total.upper))
        masses[j] = added(masses[j], (total - high).clip(0))
        masses[j + 1] = high.clip(0, 1)
    losses = tuple(atoms.losses[i] for i in starts)
    step = _common(atoms, starts)
    return Atoms(losses, tuple(masses), atoms.leak, step)


def _common(atoms: Atoms, starts: list[int]) -> Fraction | None:
    if atoms.step is None:
        return None
    at = [loss for loss in (atoms.losses[i] for i in starts) if isinstance(loss, Fraction)]
    step = Fraction(0)
    for loss in at[1:]:
        step = _gcd(step, loss - at[0])
    return step


def _gcd(a: Fraction, b: Fraction) -> Fraction:
    while b:
        a, b = b, a % b
    return a


def _merged_blocks(atoms: Atoms, starts: list[int]) -> Atoms:
    losses: list[Fraction | Interval] = []
    masses = []
    for first, last in zip(starts, [*starts[1:], len(atoms.losses)], strict=True):
        base = enclosed(atoms.losses[first])
        p = q = ZERO
        for i in range(first, last):
            p = p + atoms.masses[i]
            q = q + atoms.masses[i] * (base - enclosed(atoms.losses[i])).exp()
        if p.upper > 0:
            masses.append(p.clip(0, 1))
            losses.append(base + (p / q).log() if q.lower > 0 else base)
    return Atoms(tuple(losses), tuple(masses), atoms.leak)


def refuse_length(name: str, count: int) -> None:
    """Raises ParameterError where ``count`` atoms are more than are served exactly."""
    if count > MOST_ATOMS:
        raise ParameterError(
            name, f"must have at most {MOST_ATOMS} entries: merge what is told apart needlessly"
        )
