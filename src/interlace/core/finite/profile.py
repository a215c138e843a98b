"""The whole privacy profile of a pair, from one polygon."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from interlace.core.exact import Real, float_down, float_up, rational
from interlace.core.finite import ends, polygon
from interlace.core.finite.ratios import read_ratio

Corners = tuple[tuple[Fraction, Fraction], ...]


@dataclass(frozen=True)
class Profile:
    """The least delta at every epsilon, and the least epsilon at every delta.

    ``first`` holds the corners of what the best adversaries and events reach: P(S) in the system
    of bit 0 and Q(S) in that of bit 1, from small Q(S)/P(S) to (1, 1); (Q(S), 1 - P(S)) are those
    of the trade-off function. ``second`` is the same with the bits exchanged. They are exact for
    an exact pair. In a pair of floats the true probabilities lie within a factor ``growth`` of
    those of the numbers; the methods take it into account.

    >>> zero, half, one = Fraction(0), Fraction(1, 2), Fraction(1)
    >>> curve = Profile(((half, zero), (one, one)), ((half, zero), (one, one)))
    >>> curve.delta(exp_epsilon=3), curve.epsilon(0), curve.exp_epsilon(half)
    (Fraction(1, 2), inf, Fraction(1, 1))
    """

    first: Corners
    second: Corners
    growth: Fraction = Fraction(1)
    exact: bool = field(default=True, repr=False)

    def delta(
        self, *, epsilon: Real | None = None, exp_epsilon: Real | None = None
    ) -> Fraction | float:
        """The least delta, of the worse order: exact for an exact pair and ``exp_epsilon`` (or
        ``epsilon`` 0), else rounded up."""
        factor = read_ratio(epsilon, exp_epsilon)
        upper = ends.upper_delta(self.stick, factor, self.growth)
        return ends.told(upper, factor, exact=self.exact)

    def delta_interval(
        self, *, epsilon: Real | None = None, exp_epsilon: Real | None = None
    ) -> tuple[float, float]:
        """Two floats with the least delta between them."""
        factor = read_ratio(epsilon, exp_epsilon)
        return (
            float_down(ends.lower_delta(self.stick, factor, self.growth)),
            float_up(ends.upper_delta(self.stick, factor, self.growth)),
        )

    def exp_epsilon(self, delta: Real) -> Fraction | float:
        """e to the least epsilon >= 0 at which ``delta`` suffices, infinite where none does:
        exact for an exact pair, else never too small."""
        share = rational(delta, "delta", maximum=1)
        found = ends.least_factor(self.event, share, self.growth)
        return float("inf") if found is None else found

    def epsilon(self, delta: Real) -> float:
        """The least epsilon >= 0 at which ``delta`` suffices, rounded up."""
        share = rational(delta, "delta", maximum=1)
        return ends.log_up(ends.least_factor(self.event, share, self.growth))

    def epsilon_interval(self, delta: Real) -> tuple[float, float]:
        """Two floats with the least epsilon between them."""
        share = rational(delta, "delta", maximum=1)
        low = ends.most_factor(self.event, share, self.growth)
        return ends.log_down(low), ends.log_up(ends.least_factor(self.event, share, self.growth))

    @cached_property
    def corners(self) -> Corners:
        """(e^epsilon, delta) where the curve turns: it is a straight line in e^epsilon between
        them and constant after the last. The first is at 1."""
        turns = {Fraction(x) / y for x, y in polygon.edges(self._both) if y and x > y}
        return tuple((at, self.stick(at)) for at in sorted({Fraction(1), *turns}))

    @cached_property
    def _both(self) -> polygon.Chain:
        return polygon.hull([self.first, self.second])

    def stick(self, factor: Fraction) -> Fraction:
        """Delta of the numbers as they stand, at a rational factor."""
        return Fraction(polygon.best(self._both, factor))

    def event(self, factor: Fraction | None) -> tuple[Fraction, Fraction]:
        """The two probabilities of the best event at a factor, None being infinite."""
        p, q = polygon.best_event(self._both, factor)
        return Fraction(p), Fraction(q)
