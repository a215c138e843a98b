"""The one shape of every mechanism: a secret drawn at opening, a public state folded after.

A mechanism is a frozen value: its public parameters. It names the noise as data (a law)
and never draws it; it sees value plus noise and never the value. One driver runs it with a
sampler (``centre``), another with an enumerator (``verify``): so the law cannot depend on
the data and nothing but the outcome can leave (R7, R9), by type.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol, cast

from interlace.core.composition import Composition
from interlace.core.laws import Joint, Law
from interlace.core.queries import Comparison, Plan, Query

Secret = tuple[int, ...]
"""What was drawn at opening from the mechanism's opening law."""
Public = Any
"""The public state: whatever ``start`` gives and ``after`` folds; a frozen value."""
Outcome = tuple[int, ...]
"""What a kernel gives: one integer for each cell of the plan, or whether a bound was reached."""
CONFIDENCE = Fraction(19, 20)
"""With which the spans of every answer hold."""


@dataclass(frozen=True)
class Add:
    """The kernel that adds independent noise of this law to what was read."""

    law: Joint | Law


@dataclass(frozen=True)
class Compare:
    """The kernel that tells whether the one number that was read, plus noise of this law,
    reaches the secret: its outcome is (1,) or (0,).

    ``answer`` is given no secret then, for it was used here. So neither the compared value nor
    what it was compared with can leave, and the outcomes are few: the verifier lists them all.
    """

    law: Law


Kernel = Add | Compare


@dataclass(frozen=True)
class Move:
    """What touches private data in one round: the plan to read, the public map of what was
    read (None: the values themselves), the kernel."""

    plan: Plan
    kernel: Kernel
    comparison: Comparison | None = None


Span = tuple[int, int]


@dataclass(frozen=True)
class Answer:
    """What leaves: a noisy value, a verdict, or both.

    ``spans`` are intervals, one for each cell and none where there is no number; together
    they contain the exact bounded answer with probability ``confidence``. They cover the
    noise only, not what clamping and bounding change.
    """

    value: int | bool | tuple[int, ...]
    verdict: bool | None = None
    spans: tuple[Span, ...] = ()
    confidence: Fraction = CONFIDENCE


@dataclass(frozen=True)
class Within:
    """How near an answer comes, known before it is asked for, with a stated probability:
    ``radius``, ``measured`` where a guess turns out to be off and is measured, and ``further``,
    the radii of the plan's parts after the first, if it has several."""

    radius: int
    measured: int | None = None
    further: tuple[int, ...] = ()

    @property
    def radii(self) -> tuple[int, ...]:
        """Of all parts, in their order."""
        return self.radius, *self.further


class Mechanism(Protocol):
    """A sequential private state machine (R5)."""

    @property
    def guarantee(self) -> Composition:
        """For R10's neighbours, against every adaptive adversary."""

    def opening(self) -> Law:
        """The law of the only secret; Point() where there is none."""

    def start(self) -> Public: ...

    def left(self, public: Public) -> int:
        """How many answers (sparse vector: passes) may still be given; at 0 it has halted."""

    def move(self, public: Public, query: Query) -> Move:
        """What to read and which kernel to run, while any answer is left. Raises
        ParameterError for a query that this mechanism does not take; nothing is drawn."""

    def within(self, plan: Plan, confidence: Fraction) -> Within:
        """How near an answer comes with that probability, exact from the laws."""

    def answer(self, secret: Secret, public: Public, query: Query, outcome: Outcome) -> Answer:
        """Deterministic. Sees what the kernel gave, never the value; and the secret, unless the
        kernel is ``Compare``."""

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

    def within(self, plan: Plan, confidence: Fraction) -> Within:
        """How near an answer comes with that probability, exact from the laws."""

    def left(self, public: Public) -> int:
        """How many answers may still be given; at 0 it has halted."""

    def program(self, public: Public, query: Query) -> Program:
        """One round: yields (child, query), receives its Answer, returns the round's.
        Deterministic: a restart runs it again on the answers that were released."""

    def start(self) -> Public: ...

    def after(self, public: Public, query: Query, answer: Answer) -> Public: ...


def composite(mechanism: Mechanism | Composite) -> Composite | None:
    """The mechanism if it is a composite; None for a leaf, which answers by itself.

    >>> from interlace.core.mechanisms.laplace import Laplace
    >>> composite(Laplace(epsilon=1)) is None
    True
    """
    return cast("Composite", mechanism) if _has_program(type(mechanism)) else None


@lru_cache
def _has_program(kind: type) -> bool:
    return hasattr(kind, "program")
