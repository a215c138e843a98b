"""From finite systems, and how far they are from the mechanism, to intervals that hold for it.

An event's probability moves by at most the distance d of the transcripts' probabilities, so that
delta moves by at most d (1 + e^epsilon). Where the finite systems have all transcripts, each of
probability at least m, likelihood ratios move by a factor of at most (1 + d/m)/(1 - d/m).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from interlace.core.exact import float_down, float_up
from interlace.core.finite.worst import WorstCase
from interlace.core.interval import Interval

Span = tuple[float, float]
"""A lower and an upper end; equal to the truth or around it."""

_GRID = 2**96
#: Least epsilons are sought up to the logarithm of this, or of what the claim needs.
_FARTHEST = Fraction(2**20)


@dataclass(frozen=True)
class Findings:
    """The worst case over all adversaries, of a mechanism whose transcripts are ``distance``
    from those of ``pair``; ``relative`` bounds by which part each one's probability is off, and is
    None where some transcripts are missing."""

    pair: WorstCase
    distance: Fraction
    relative: Fraction | None

    def delta(self, epsilon: Fraction) -> Span:
        """Delta at an epsilon."""
        low, high = factors(epsilon)
        least = Fraction(self.pair.delta(exp_epsilon=high)) - self.distance * (1 + high)
        most = Fraction(self.pair.delta(exp_epsilon=low)) + self.distance * (1 + low)
        bound = self.ratio()
        if bound is not None and low >= bound[1]:
            most = Fraction(0)
        return float_down(max(least, Fraction(0))), float_up(min(most, Fraction(1)))

    def ratio(self) -> tuple[Fraction, Fraction] | None:
        """The greatest likelihood ratio of a transcript, e^epsilon at delta 0; None where the
        systems have not all transcripts."""
        if self.relative is None:
            return None
        found = self.pair.exp_epsilon(0)
        if not isinstance(found, Fraction):
            return None
        spread = (1 + self.relative) / (1 - self.relative)
        return found / spread, found * spread

    def epsilon(self, delta: Fraction, claimed: float) -> Span:
        """The least epsilon >= 0 at which ``delta`` suffices. ``claimed`` tells how far to look."""
        bound = self.ratio() if delta == 0 else None
        if bound is not None:
            return _log(bound[0])[0], _log(bound[1])[1]
        farthest = _FARTHEST
        if claimed < 300:
            farthest = max(farthest, 4 * factors(Fraction(claimed))[1])
        lower, high = self._around(delta, farthest)
        if high is not None and 2 * high < farthest:
            # The nearer it is, the less the distance counts.
            lower, high = self._around(delta, 2 * high)
        return lower, math.inf if high is None else _log(high)[1]

    def _around(self, delta: Fraction, farthest: Fraction) -> tuple[float, Fraction | None]:
        moved = self.distance * (1 + farthest)
        low = self._least(min(delta + moved, Fraction(1)))
        high = self._least(delta - moved) if delta >= moved else None
        lower = _log(farthest if low is None else min(low, farthest))[0]
        return lower, None if high is None or high > farthest else high

    def _least(self, delta: Fraction) -> Fraction | None:
        found = self.pair.exp_epsilon(delta)
        return found if isinstance(found, Fraction) else None

    def telling(self, epsilons: list[Fraction]) -> Fraction:
        """The factor at which the best adversary is most worth seeing: just below the greatest
        likelihood ratio, else at the largest of ``epsilons`` where delta is not 0."""
        bound = self.ratio()
        if bound is not None:
            return _floored(max(1 + (bound[0] - 1) * (1 - Fraction(1, 10**6)), Fraction(1)))
        found = [e for e in sorted(epsilons, reverse=True) if self.delta(e)[0] > 0]
        return factors(found[0] if found else Fraction(0))[0]


def smallest(pair: WorstCase) -> Fraction | None:
    """The least probability of a history; None where one neighbour makes some impossible."""
    graph = pair.graph()
    least = []
    for bit, scale in enumerate(graph.scales):
        mass = min(graph.masses(node)[bit] for node in range(len(graph)))
        least.append(Fraction(mass, scale))
    return min(least) or None


def factors(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Two short rationals around e^epsilon.

    >>> factors(Fraction(0))
    (Fraction(1, 1), Fraction(1, 1))
    """
    if epsilon == 0:
        return Fraction(1), Fraction(1)
    around = Interval.of(epsilon).exp()
    return max(_floored(Fraction(around.lower)), Fraction(1)), -_floored(-Fraction(around.upper))


def _floored(value: Fraction) -> Fraction:
    return Fraction(math.floor(value * _GRID), _GRID)


def _log(factor: Fraction) -> Span:
    if factor <= 1:
        return 0.0, 0.0
    around = Interval.of(factor).log()
    return max(around.down(), 0.0), around.up()
