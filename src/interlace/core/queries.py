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

    @classmethod
    def scalar(cls, bound: int) -> Sensitivity:
        """Of one integer that moves by at most ``bound``."""
        return cls(min(bound, 1), bound, bound**2, bound)


class Plan(Protocol):
    """A bounded query: an integer vector whose sensitivity is known from metadata alone."""

    @property
    def size(self) -> int:
        """The number of cells of the vector."""

    @property
    def sensitivity(self) -> Sensitivity: ...

    @property
    def monotone(self) -> bool:
        """Whether removing a unit can only lower every cell."""


@dataclass(frozen=True)
class Query:
    """One question to a session: at most one of the three public integers is given.

    ``at_least`` and ``at_most`` ask a sparse vector for a comparison; ``guess`` is what the
    analyst expects the value to be.
    """

    plan: Plan
    at_least: int | None = None
    at_most: int | None = None
    guess: int | None = None

    def __post_init__(self) -> None:
        given = [n for n in ("at_least", "at_most", "guess") if getattr(self, n) is not None]
        if len(given) > 1:
            raise ParameterError(given[1], f"cannot be combined with {given[0]}: give one of them")
        for name in given:
            natural(getattr(self, name), name, minimum=-(2**62), maximum=2**62)
