"""The largest values of a composed loss, listed: all that counts where delta is tiny.

There few losses are flipped, the characteristic function does not fall, and no integral is
needed: at distance d below the largest value, delta is the sum over the values within d of
mass * (1 - e^(distance - d)).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from interlace.core.composition.contour.rounding import UNIT, around, summed
from interlace.core.composition.contour.values import Floats
from interlace.core.interval import ZERO, Interval

#: Most values that are listed, and most losses that may have one there, and how often.
_VALUES, _LOSSES, _MOST_FLIPS = 1 << 16, 1 << 10, 1 << 9
#: What summing up to 2 * 1024 floats, and multiplying as many, may have changed.
_MOVED, _GROWN = 2100 * UNIT, 2100 * 16 * UNIT
#: A distance below all that matter.
_NEAREST = 1e-305
_STEPS = 1100


@dataclass(frozen=True, eq=False)
class Listed:
    """Values as distances below the largest, with masses relative to that of the largest."""

    distance: Floats
    mass: Floats

    def within(self, far: float) -> Interval:
        """Encloses the sum of mass * (1 - e^(distance - far)) over the distances below ``far``."""
        near = self.distance < far
        mass = float(self.mass[near].sum())
        # Each distance, and ``far``, is a sum of floats.
        # A relative mass is an exponential of at most ``far``.
        relative = summed(self.mass.size) + _GROWN + far * UNIT
        error = mass * _MOVED * far + self.about(far) * relative
        return around(self.about(far), error).clip(0)

    def about(self, far: float) -> float:
        near = self.distance < far
        return float(self.mass[near] @ -np.expm1(self.distance[near] - far))

    def joined(self, other: Listed, far: float) -> Listed | None:
        """The sums of one value of each, within ``far``; None where they are too many."""
        if self.distance.size * other.distance.size > 16 * _VALUES:
            return None
        distance = np.add.outer(self.distance, other.distance).ravel()
        near = distance <= far
        if np.count_nonzero(near) > _VALUES:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            mass = np.multiply.outer(self.mass, other.mass).ravel()[near]
        return Listed(distance[near], mass) if np.isfinite(mass).all() else None


class Below(Protocol):
    """One loss, some times: how far it may be below its largest value."""

    @property
    def nearest(self) -> float:
        """The least distance > 0."""

    def power(self, far: float) -> Listed | None:
        """All values within ``far``; None where they are too many."""


@dataclass(frozen=True)
class Flips:
    """``count`` times +-``epsilon``: j flips are 2 j epsilon below, with relative mass
    C(count, j) e^(-j epsilon)."""

    epsilon: float
    count: int

    @property
    def nearest(self) -> float:
        return 2 * self.epsilon

    def power(self, far: float) -> Listed | None:
        most = min(self.count, int(far / self.nearest))
        if most > _MOST_FLIPS:
            return None
        flips = np.arange(most + 1.0)
        ratios = (self.count - flips[:-1]) / flips[1:] * np.exp(-self.epsilon)
        with np.errstate(over="ignore"):
            masses = np.concatenate([[1.0], np.cumprod(ratios)])
        return Listed(flips * self.nearest, masses)


@dataclass(frozen=True, eq=False)
class Steps:
    """``count`` times a loss of finitely many values."""

    one: Listed
    count: int

    @property
    def nearest(self) -> float:
        return float(self.one.distance[1])

    def power(self, far: float) -> Listed | None:
        found: Listed | None = Listed(np.zeros(1), np.ones(1))
        if self.count > _MOST_FLIPS:
            return None
        for _ in range(self.count):
            found = None if found is None else found.joined(self.one, far)
        return found


@dataclass(frozen=True, eq=False)
class Edge:
    """The largest value of a sum, the chance of it under P, and what the losses may be below it,
    those first that can be nearest."""

    largest: Interval
    chance: Interval
    parts: Sequence[Below]

    def delta(self, epsilon: Fraction) -> Interval | None:
        """Encloses delta at ``epsilon``, or None where too many values are above it."""
        below = self.largest - Interval.of(epsilon)
        if below.upper <= 0:
            return ZERO
        listed = self._listed(float(below.upper))
        if listed is None:
            return None
        # What is too small for a float is less than the least one that is looked at.
        low, high = float(below.lower), max(float(below.upper), _NEAREST)
        found = Interval(listed.within(low).lower, listed.within(high).upper)
        return (self.chance * found).clip(0, 1)

    def epsilon(self, share: Interval) -> Interval | None:
        """Encloses the epsilon of delta ``share``, or None where too many values are above it."""
        goal, far = share / self.chance, _NEAREST
        if self.largest.upper <= 0:
            return ZERO
        if self.parts:
            far = max(far, 2 * self.parts[0].nearest)
        listed = self._listed(far)
        # Where epsilon = 0 is reached, no value beyond counts, whether ``goal`` is met or not.
        while (
            listed is not None
            and listed.within(far).lower <= goal.upper
            and far <= self.largest.upper
        ):
            far *= 2
            listed = self._listed(far)
        if listed is None:
            return None
        least, most = _inside(listed, goal, far)
        return Interval((self.largest - most).lower, (self.largest - least).upper).clip(0)

    def _listed(self, far: float) -> Listed | None:
        found = Listed(np.zeros(1), np.ones(1))
        for number, part in enumerate(self.parts):
            if part.nearest > far:
                break
            power = part.power(far)
            if number == _LOSSES or power is None:
                return None
            joined = found.joined(power, far)
            if joined is None:
                return None
            found = joined
        return found


def _inside(listed: Listed, goal: Interval, far: float) -> tuple[Interval, Interval]:
    """Two distances, at the first of which the sum is certainly not above ``goal``, at the second
    not below it, unless that is ``far``."""
    low, high, aim = 0.0, far, float(goal.lower)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if listed.about(middle) <= aim else (low, middle)
    step = max(high * 4 * UNIT, _NEAREST)
    least, most = max(0.0, low - step), high + step
    while least > 0 and listed.within(least).upper > goal.lower:
        step *= 4
        least = max(0.0, least - step)
    while listed.within(most).lower < goal.upper and most < far:
        step *= 4
        most = min(far, most + step)
    return around(least, 0.0), around(most, 0.0)
