"""The one shape of every mechanism: a secret drawn at opening, a public state folded after.

A mechanism is a frozen value: its public parameters. It names the noise as data (a law)
and never draws it; it sees value plus noise and never the value. One driver runs it with a
sampler (``centre``), another with an enumerator (``verify``): so the law cannot depend on
the data and nothing but the outcome can leave (R7, R9), by type.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from interlace.core.composition import Composition
from interlace.core.laws import Law
from interlace.core.queries import Plan, Query

Secret = int
Public = Any
"""The public state: whatever ``start`` gives and ``after`` folds; a frozen value."""
Outcome = int | tuple[int, ...]


@dataclass(frozen=True)
class Halted:
    """No more answers; ``reason`` is public and tells what to do."""

    reason: str


@dataclass(frozen=True)
class Reading:
    """A public 1-Lipschitz map of the integer that was read: sign * value - offset, or
    |value - offset| - margin. It cannot stretch a sensitivity.

    >>> Reading.at_most(5)(3), Reading.distance(10, 2)(4)
    (2, 4)
    """

    sign: int = 1
    offset: int = 0
    margin: int = 0
    absolute: bool = False

    @classmethod
    def at_least(cls, threshold: int) -> Reading:
        """value - threshold: not negative iff value >= threshold."""
        return cls(1, threshold)

    @classmethod
    def at_most(cls, threshold: int) -> Reading:
        """threshold - value: not negative iff value <= threshold."""
        return cls(-1, -threshold)

    @classmethod
    def distance(cls, guess: int, tolerance: int) -> Reading:
        """|value - guess| - tolerance: not negative iff the guess is that far off."""
        return cls(1, guess, tolerance, absolute=True)

    def __call__(self, value: int) -> int:
        moved = self.sign * value - self.offset
        return (abs(moved) if self.absolute else moved) - self.margin


@dataclass(frozen=True)
class Add:
    """The kernel that adds independent noise of this law to what was read."""

    law: Law


@dataclass(frozen=True)
class Move:
    """What touches private data in one round: the plan to read, the map, the kernel."""

    plan: Plan
    reading: Reading
    kernel: Add


@dataclass(frozen=True)
class Answer:
    """What leaves: a noisy value, a verdict (bool), or a tuple of noisy values.

    ``interval`` contains the exact bounded answer with probability ``confidence``; it covers
    the noise only, not what clamping and bounding change. None where there is no number.
    """

    value: int | bool | tuple[int, ...]
    interval: tuple[int, int] | None = None
    confidence: float = 0.95


class Mechanism(Protocol):
    """A sequential private state machine (R5)."""

    @property
    def guarantee(self) -> Composition:
        """For R10's neighbours, against every adaptive adversary."""

    def opening(self) -> Law:
        """The law of the only secret; Point() where there is none."""

    def start(self) -> Public: ...

    def move(self, public: Public, query: Query) -> Move | Halted:
        """What to read and which kernel to run. Raises ParameterError for a query that
        this mechanism does not take; nothing is drawn then."""

    def answer(self, secret: Secret, public: Public, query: Query, outcome: int) -> Answer:
        """Deterministic. Sees the secret and value + noise, never the value."""

    def after(self, public: Public, query: Query, answer: Answer) -> Public:
        """The public state once ``answer`` is released: a fold over what was released."""


Program = Generator[tuple[str, Query], Answer, Answer]


class Composite(Protocol):
    """A public program over child mechanisms, which it may interleave at will.

    Its guarantee is ``compose`` of the children's by the concurrent composition theorem; it
    is never typed in.
    """

    @property
    def children(self) -> Mapping[str, Mechanism]: ...

    @property
    def guarantee(self) -> Composition: ...

    def program(self, public: Public, query: Query) -> Program | Halted:
        """One round: yields (child, query), receives its Answer, returns the round's."""

    def start(self) -> Public: ...

    def after(self, public: Public, query: Query, answer: Answer) -> Public: ...
