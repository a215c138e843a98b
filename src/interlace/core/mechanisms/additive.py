"""What every mechanism that releases value plus noise has in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache
from typing import final

from interlace.core.errors import ParameterError
from interlace.core.exact import Real
from interlace.core.laws import LARGEST_SCALE, SMALLEST_SCALE, Joint, Law, Point, Vector, parts_of
from interlace.core.mechanisms.protocol import (
    CONFIDENCE,
    Add,
    Answer,
    Move,
    Outcome,
    Secret,
    Within,
)
from interlace.core.queries import LARGEST_INTEGER, Plan, Query, Sensitivity, Shares


def one_of(**given: Real | None) -> tuple[str, Real]:
    """The one parameter that was given. Raises ParameterError for none or several."""
    named = [(name, value) for name, value in given.items() if value is not None]
    if len(named) != 1:
        names = " or ".join(f"{name}=" for name in given)
        raise ParameterError(named[0][0] if named else next(iter(given)), f"give either {names}")
    return named[0]


def servable(scale: Fraction, name: str) -> Fraction:
    """``scale``, if noise of that scale is served. Raises ParameterError, naming the argument
    that asked for it, if not."""
    if scale > LARGEST_SCALE:
        raise ParameterError(name, "asks for noise of a scale above 2**40, the largest served")
    if scale < SMALLEST_SCALE:
        raise ParameterError(name, "asks for noise of a scale below 2**-30, the smallest served")
    return scale


def proportional(scale: Fraction) -> Fraction:
    """The scale for one plan, from its sensitivity: too small a one is raised and not refused,
    since a composite may ask the plan after it has drawn."""
    return servable(max(scale, SMALLEST_SCALE), "sql")


def cells(law: Law, size: int) -> Law:
    """Independent noise for each cell of a plan."""
    return law if size == 1 else Vector(law, size)


class Additive(ABC):
    """``answers`` values plus noise; only the noise differs from kind to kind."""

    answers: int

    @abstractmethod
    def law_of(self, moved: Sensitivity, parts: int) -> Law:
        """The noise of one cell of a part with that sensitivity, in a plan of so many parts.
        Raises ParameterError for a scale that is not served."""

    @final
    def law(self, query: Query) -> Law | Joint:
        """The noise of one answer: each of k parts has a k-th of its privacy loss."""
        return _law(self, query.plan.shares)

    @final
    def opening(self) -> Law:
        return Point()

    @final
    def start(self) -> int:
        """The public state: how many answers are left."""
        return self.answers

    @final
    def left(self, public: int) -> int:
        return public

    @final
    def move(self, public: int, query: Query) -> Move:
        del public
        session = f"a {type(self).__name__} session"
        if query.comparison is not None:
            raise ParameterError(
                "at_least/at_most", f"{session} answers with a value: leave it out"
            )
        if query.guess is not None:
            raise ParameterError("guess", f"{session} takes no guess: leave it out")
        return Move(query.plan, Add(self.law(query)))

    @final
    def within(self, plan: Plan, confidence: Fraction) -> Within:
        """Of the exact value; for a vector, all its cells together."""
        first, *further = _radii(self.law(Query(plan)), confidence)
        return Within(first, further=tuple(further))

    @final
    def answer(self, secret: Secret, public: int, query: Query, outcome: Outcome) -> Answer:
        """Value + noise, cut to the public range of answers, with its interval.

        The value lies in that range, so the cut brings the answer no further from it."""
        del secret, public
        values = tuple(max(-LARGEST_INTEGER, min(LARGEST_INTEGER, v)) for v in outcome)
        spans = tuple(
            (v - radius, v + radius)
            for v, radius in zip(values, _cell_radii(self.law(query)), strict=True)
        )
        return Answer(values[0] if len(values) == 1 else values, None, spans)

    @final
    def after(self, public: int, query: Query, answer: Answer) -> int:
        del query, answer
        return public - 1


@lru_cache(maxsize=1024)
def _law(mechanism: Additive, shares: Shares) -> Law | Joint:
    laws = [cells(mechanism.law_of(moved, len(shares)), size) for size, moved in shares]
    return laws[0] if len(laws) == 1 else Joint(tuple(laws))


def _radii(law: Law | Joint, confidence: Fraction) -> tuple[int, ...]:
    """Of each part, all together with that probability."""
    return law.radii(confidence) if isinstance(law, Joint) else (law.radius(confidence),)


@lru_cache(maxsize=1024)
def _cell_radii(law: Law | Joint) -> tuple[int, ...]:
    """Of every cell."""
    found = zip(parts_of(law), _radii(law, CONFIDENCE), strict=True)
    return tuple(radius for part, radius in found for _ in range(part.size))
