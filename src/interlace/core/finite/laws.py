"""One law of one response, checked: what a step returned becomes probabilities or an error."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Hashable, Iterable, Mapping
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
    if _lacking(law) > TOLERANCE:
        total = math.fsum(law.values())
        refuse(where, f"the probabilities must sum to 1 within {TOLERANCE:g}, not to {total!r}")
    return law


def checked_twice(ask: Callable[[], object], where: str, *, exact: bool | None = None) -> Law:
    """``checked`` of what ``ask`` returns, which must be the same when it is asked again."""
    raw = ask()
    law = checked(raw, where, exact=exact)
    if ask() != raw:
        refuse(where, "gave two laws when called twice: it must depend on its arguments alone")
    return law


def weights(ask: Callable[[], object], where: str, *, exact: bool | None = None) -> Law:
    """A law that may have negative exact weights, which stand for an infinite tail."""
    raw = ask()
    if not isinstance(raw, Mapping) or all(_positive(value) for value in raw.values()):
        return checked_twice(ask, where, exact=exact)
    values = [value for value in raw.values() if isinstance(value, numbers.Rational)]
    if len(values) < len(raw) or sum(values) != 1:
        refuse(where, "weights, where one is negative, must be exact and sum to 1")
    return {secret: Fraction(value) for secret, value in raw.items() if value}


def is_exact(laws: Iterable[Law]) -> bool:
    """Whether no law holds a float."""
    return all(isinstance(p, Fraction) for law in laws for p in law.values())


def repaired(law: Law) -> dict[Response, Fraction]:
    """The law in Fractions. What a float law lacks of 1 is given to its greatest probability,
    so that all that holds of systems holds exactly."""
    exact = {response: Fraction(p) for response, p in law.items()}
    if not is_exact([law]):
        greatest = max(exact, key=exact.__getitem__)
        exact[greatest] += 1 - sum(exact.values())
    return exact


def deviation(law: Law) -> float:
    """By which part a repaired probability may differ from the number divided by the sum of
    the law; 0 for an exact law."""
    if is_exact([law]):
        return 0.0
    # The greatest probability is at least 1/n: what it is given, and dividing by the sum,
    # change it by less than 2n times what is lacking. fsum is exact but for its last rounding.
    return 4 * len(law) * _lacking(law)


def _lacking(law: Law) -> float:
    return abs(math.fsum([*law.values(), -1.0]))


def place(bit: int, history: History, query: Query) -> str:
    """How an error names one law."""
    return f"step(bit={bit}, history={history!r}, query={query!r})"


def refuse(where: str, problem: str) -> NoReturn:
    """Raise the error of this package for one law."""
    raise ParameterError(where, problem)


def _read(value: object, where: str) -> Probability:
    if (type(value) is float or type(value) is Fraction) and 0 <= value <= 1:
        return value
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


def _positive(value: object) -> bool:
    # What is no number is refused where it is read.
    return not isinstance(value, numbers.Rational) or bool(value >= Fraction(0))


def _kind(value: object) -> str:
    return type(value).__name__


def _short(value: Probability) -> str:
    """The number itself, or a decimal where its exact form is long."""
    text = str(value)
    return text if len(text) <= 60 else f"about {float(value)!r}"
