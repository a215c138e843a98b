"""Finite pairs of distributions as ordered outcomes: profile, inverse, divergence, atoms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import accumulate

from interlace.core.guarantees.losses import staircase
from interlace.core.guarantees.losses.atoms import Atoms
from interlace.core.guarantees.losses.moments import divergence_of
from interlace.core.interval import ZERO, Interval

Masses = tuple[Fraction, Fraction]


def sufficient(outcomes: Iterable[Masses]) -> list[Masses]:
    """The outcomes (p, q) in ascending order of p/q, equal ratios merged, (0, 0) left out.

    >>> half = Fraction(1, 2)
    >>> sufficient([(half, half), (Fraction(0), Fraction(0)), (half, half)])
    [(Fraction(1, 1), Fraction(1, 1))]
    """
    merged: dict[Fraction | None, Masses] = {}
    for p, q in outcomes:
        if p or q:
            ratio = p / q if q else None
            a, b = merged.get(ratio, (Fraction(0), Fraction(0)))
            merged[ratio] = a + p, b + q
    ratios = sorted(r for r in merged if r is not None)
    found = [merged[r] for r in ratios]
    return [*found, merged[None]] if None in merged else found


class Outcomes:
    """One direction of a pair whose outcomes are in strictly ascending order of p/q."""

    def __init__(self, p: Sequence[Fraction], q: Sequence[Fraction]) -> None:
        rows = [(a, b) for a, b in zip(p, q, strict=True) if a]
        self.leak = Interval.of(rows.pop()[0]) if rows and not rows[-1][1] else ZERO
        self._rows = rows
        self.first, self.last = 0, len(rows) - 1

    def ratio(self, m: int) -> Interval:
        p, q = self._rows[m]
        return Interval.of(p / q)

    def above(self, m: int) -> tuple[Interval, Interval]:
        return self._above[len(self._rows) - m]

    @cached_property
    def _above(self) -> list[tuple[Interval, Interval]]:
        p = accumulate(
            (Interval.of(a) for a, _ in reversed(self._rows)), Interval.__add__, initial=self.leak
        )
        q = accumulate(
            (Interval.of(b) for _, b in reversed(self._rows)), Interval.__add__, initial=ZERO
        )
        return list(zip(p, q, strict=True))

    @cached_property
    def atoms(self) -> Atoms:
        losses = tuple(_loss(p / q) for p, q in self._rows)
        return Atoms(losses, tuple(Interval.of(p) for p, _ in self._rows), self.leak)

    def profile(self, epsilon: Fraction) -> Interval:
        """The hockey stick at e^epsilon."""
        if not self._rows:
            return self.leak
        return staircase.profile(self, staircase.exponential(epsilon), self.last)

    def inverse(self, delta: Fraction) -> Interval:
        """The least epsilon >= 0 at ``delta`` < 1."""
        return staircase.inverse(self, delta, self.last)

    def divergence(self, alpha: Fraction | None) -> Interval:
        """The Rényi divergence; infinite where there is a leak."""
        return divergence_of(self.atoms, alpha)


def _loss(ratio: Fraction) -> Fraction | Interval:
    # log is irrational at every other rational.
    return Fraction(0) if ratio == 1 else _log(ratio)


def _log(ratio: Fraction) -> Interval:
    """log of a ratio, to full relative precision also next to 1."""
    away = Interval.of(ratio - 1)
    if abs(away.upper) > _NEAR or abs(away.lower) > _NEAR:
        return Interval.of(ratio).log()
    # x - x^2/2 + x^3/3 - x^4/4; the rest is below x^4 in size.
    square = away * away
    total = away - square / Interval.of(2) + square * away / Interval.of(3)
    return total + Interval((-(square * square)).lower, (square * square).upper)


_NEAR = Interval.of(Fraction(1, 10**15)).upper
