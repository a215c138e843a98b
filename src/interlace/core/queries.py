"""What a mechanism is asked: a plan to read, and perhaps a public comparison or guess.

The core knows a plan only by its sensitivities; what it reads is the business of ``query``
and ``engines``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from interlace.core.errors import ParameterError
from interlace.core.exact import natural


@dataclass(frozen=True)
class Sensitivity:
    """How far an integer vector moves when one unit leaves, with all its rows (R10).

    ``l0`` counts the cells that can change; ``l2_squared`` is kept instead of l2 because it
    is an integer.

    >>> Sensitivity.scalar(3)
    Sensitivity(l0=1, l1=3, l2_squared=9, linf=3)
    """

    l0: int
    l1: int
    l2_squared: int
    linf: int

    def __post_init__(self) -> None:
        # A negative bound would let any plan pass for a small one.
        if min(self.l0, self.l1, self.l2_squared, self.linf) < 0:
            raise ParameterError("sensitivity", "must not be negative")

    @classmethod
    def scalar(cls, bound: int) -> Sensitivity:
        """Of one integer that moves by at most ``bound``."""
        return cls(min(bound, 1), bound, bound**2, bound)


Shares = tuple[tuple[int, Sensitivity], ...]


class Plan(Protocol):
    """A bounded query: an integer vector whose sensitivity is known from metadata alone."""

    @property
    def size(self) -> int:
        """The number of cells of the vector."""

    @property
    def sensitivity(self) -> Sensitivity:
        """Of the whole vector."""

    @property
    def shares(self) -> Shares:
        """The vector as parts, one after the other, each of one unit of measurement: its number
        of cells and its sensitivity. Each part gets noise of a scale of its own."""

    @property
    def monotone(self) -> bool:
        """Whether removing a unit can only lower every cell."""


LARGEST_INTEGER = 2**70
"""Bound of every public integer in a query and of every answer."""


@dataclass(frozen=True)
class Comparison:
    """A public test of the value that was read: passed iff the map's result is >= 0.

    The map is 1-Lipschitz, sign * value - offset or |value - offset| - margin, so it cannot
    stretch a sensitivity.

    >>> Comparison.at_most(5)(3), Comparison.distance(10, 2)(4)
    (2, 4)
    """

    sign: int = 1
    offset: int = 0
    margin: int = 0
    absolute: bool = False

    def __post_init__(self) -> None:
        if self.sign not in (-1, 1):
            raise ParameterError("sign", "must be 1 or -1: a larger one stretches sensitivities")

    @classmethod
    def at_least(cls, threshold: int) -> Comparison:
        """Passed iff value >= threshold."""
        return cls(1, _public(threshold, "at_least"))

    @classmethod
    def at_most(cls, threshold: int) -> Comparison:
        """Passed iff value <= threshold."""
        return cls(-1, -_public(threshold, "at_most"))

    @classmethod
    def distance(cls, guess: int, tolerance: int) -> Comparison:
        """Passed iff the guess is off by at least ``tolerance``."""
        return cls(1, _public(guess, "guess"), _public(tolerance, "tolerance"), absolute=True)

    @property
    def rising(self) -> bool:
        """Whether a larger value always makes the test easier to pass."""
        return self.sign > 0 and not self.absolute

    def __call__(self, value: int) -> int:
        moved = self.sign * value - self.offset
        return (abs(moved) if self.absolute else moved) - self.margin


def _public(value: int, name: str) -> int:
    return natural(value, name, minimum=-LARGEST_INTEGER, maximum=LARGEST_INTEGER)


@dataclass(frozen=True)
class Query:
    """One question to a session: a plan, and where the mechanism wants it a public
    ``comparison`` (sparse vector) or a ``guess`` at the value (guess-and-check)."""

    plan: Plan
    comparison: Comparison | None = None
    guess: int | None = None

    def __post_init__(self) -> None:
        if self.guess is not None:
            if self.comparison is not None:
                raise ParameterError("guess", "cannot be combined with a comparison")
            object.__setattr__(self, "guess", _public(self.guess, "guess"))
