"""One law of one response, checked: what a step returned becomes probabilities or an error."""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import NoReturn

from interlace.core.errors import ParameterError

#: Hashable values of any kind name queries and responses; they are only compared.
Query = Hashable
Response = Hashable
#: What was asked and answered so far, in order.
History = tuple[tuple[Query, Response], ...]
Probability = Fraction | float
Law = dict[Response, Probability]

#: How far from 1 the sum of a float law may lie; the rest is carried into every bound.
TOLERANCE = 1e-12


def checked(raw: object, where: str, *, exact: bool | None = None) -> Law:
    """The law as Fractions where all of ``raw`` is exact, as floats otherwise.

    ``exact`` says which of the two it must be; None leaves it open. A response of probability
    zero is left out.

    Raises ParameterError, naming ``where``, for anything but probabilities that sum to one.
    """
    if not isinstance(raw, Mapping):
        refuse(where, f"must be a mapping from responses to probabilities, not {_kind(raw)}")
    values = {response: _read(value, where) for response, value in raw.items()}
    rational = all(isinstance(value, Fraction) for value in values.values())
    if exact and not rational:
        refuse(
            where,
            "holds a float where the first laws were exact: give Fractions or integers "
            "throughout, or say exact=False",
        )
    law: Law = {response: value for response, value in values.items() if value}
    if rational and exact is not False:
        total = sum(law.values(), Fraction(0))
        if total != 1:
            refuse(where, f"the probabilities must sum to 1, not to {_short(total)}")
        return law
    law = {response: float(value) for response, value in law.items()}
    if deviation(law) > TOLERANCE:
        total = math.fsum(law.values())
        refuse(where, f"the probabilities must sum to 1 within {TOLERANCE:g}, not to {total!r}")
    return law


def deviation(law: Law) -> float:
    """How far from 1 a float law sums."""
    return abs(math.fsum([*law.values(), -1.0]))


def place(bit: int, history: History, query: Query) -> str:
    """How an error names one law."""
    return f"step(bit={bit}, history={history!r}, query={query!r})"


def refuse(where: str, problem: str) -> NoReturn:
    """Raise the error of this package for one law."""
    raise ParameterError(where, problem)


def _read(value: object, where: str) -> Probability:
    if isinstance(value, bool) or not isinstance(value, numbers.Rational | float):
        refuse(where, f"a probability must be a Fraction, an int or a float, not {_kind(value)}")
    if isinstance(value, numbers.Rational):
        read: Probability = Fraction(int(value.numerator), int(value.denominator))
    else:
        read = float(value)
    # NaN fails both comparisons.
    if not 0 <= read <= 1 + TOLERANCE:
        refuse(where, f"a probability must lie between 0 and 1, got {_short(read)}")
    return read


def _kind(value: object) -> str:
    return type(value).__name__


def _short(value: Probability) -> str:
    """The number itself, or a decimal where its exact form is long."""
    text = str(value)
    return text if len(text) <= 60 else f"about {float(value)!r}"
