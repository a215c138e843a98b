"""What every mechanism that releases value plus noise has in common."""

from __future__ import annotations

from fractions import Fraction

from interlace.core.errors import ParameterError
from interlace.core.exact import Real
from interlace.core.laws import Law, Vector
from interlace.core.mechanisms.protocol import Answer, Halted, Outcome
from interlace.core.queries import LARGEST_INTEGER, Query

CONFIDENCE = Fraction(19, 20)


def one_of(**given: Real | None) -> tuple[str, Real]:
    """The one parameter that was given. Raises ParameterError for none or several."""
    named = [(name, value) for name, value in given.items() if value is not None]
    if len(named) != 1:
        names = " or ".join(f"{name}=" for name in given)
        raise ParameterError(named[0][0] if named else next(iter(given)), f"give either {names}")
    return named[0]


def plain(query: Query, mechanism: str) -> None:
    """Refuse a comparison or a guess where only a value can be asked for."""
    if query.comparison is not None:
        raise ParameterError("at_least/at_most", f"{mechanism} answers with a value: leave it out")
    if query.guess is not None:
        raise ParameterError("guess", f"{mechanism} takes no guess: leave it out")


def cells(law: Law, size: int) -> Law:
    """Independent noise for each cell of a plan."""
    return law if size == 1 else Vector(law, size)


def spent(answers: int) -> Halted:
    return Halted(f"all {answers} answers that this session was opened for have been given")


def released(outcome: Outcome, law: Law) -> Answer:
    """The answer value + noise, cut to the public range of answers, with its interval."""
    radius = law.radius(CONFIDENCE)
    values = tuple(max(-LARGEST_INTEGER, min(LARGEST_INTEGER, v)) for v in outcome)
    spans = tuple((v - radius, v + radius) for v in values)
    if len(values) == 1:
        return Answer(values[0], interval=spans[0], confidence=CONFIDENCE)
    return Answer(values, interval=spans, confidence=CONFIDENCE)
