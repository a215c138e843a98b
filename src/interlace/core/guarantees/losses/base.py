"""What every privacy loss is: the guarantee of one known mechanism, in both directions.

The base class takes the worse direction; the kinds supply one direction at a time. Nothing is
computed here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from interlace.core.errors import Unproven
from interlace.core.guarantees.base import Parametric
from interlace.core.guarantees.losses.atoms import Atoms, Direction
from interlace.core.interval import ZERO, Interval


@dataclass(frozen=True, init=False, repr=False)
class PrivacyLoss(Parametric):
    """The law of log(P/Q) of one mechanism on two neighbouring datasets, under P.

    It is a guarantee like any other, for adding and for removing a unit: each number is the
    larger of the two directions. It composes by convolution, concurrently (FORMULAS 2.8), from
    its ``atoms``.
    """

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether both directions have the same law."""

    @property
    def response(self) -> Fraction | Interval | None:
        """The epsilon of the randomised response between two answers that has the same loss, or an
        enclosure where that is irrational; None where none has."""
        return None

    @abstractmethod
    def atoms(
        self,
        direction: Direction = Direction.REMOVE,
        *,
        upper: bool = True,
        most: int | None = None,
    ) -> Atoms:
        """The law in one direction as at most ``most`` atoms, by default 65,536: itself where
        it is finite and not longer, else a law that is never better for privacy (``upper``),
        or never worse.

        Raises ParameterError for a ``most`` outside [16, 65536].
        """

    @abstractmethod
    def profile(self, direction: Direction, epsilon: Fraction) -> Interval:
        """Encloses delta at epsilon >= 0 in one direction."""

    @abstractmethod
    def inverse(self, direction: Direction, delta: Fraction) -> Interval:
        """Encloses the least epsilon at 0 <= delta < 1 in one direction."""

    @abstractmethod
    def divergence(self, direction: Direction, alpha: Fraction | None) -> Interval:
        """Encloses the Rényi divergence of order alpha >= 1 (None: infinity) in one direction."""

    def epsilon_enclosure(self, delta: Fraction) -> Interval:
        return ZERO if delta >= 1 else self._worse(lambda d: self.inverse(d, delta))

    def delta_enclosure(self, epsilon: Fraction) -> Interval:
        return self._worse(lambda d: self.profile(d, epsilon))

    def renyi_enclosure(self, alpha: Fraction | None) -> Interval:
        return self._worse(lambda d: self.divergence(d, alpha))

    def _worse(self, value: Callable[[Direction], Interval]) -> Interval:
        one = value(Direction.REMOVE)
        if self.symmetric:
            return one
        other = value(Direction.ADD)
        return Interval(max(one.lower, other.lower), max(one.upper, other.upper))

    def _no_group(self, instead: str) -> Unproven:
        return Unproven(f"no theorem gives a {type(self).__name__} for a group of units: {instead}")
