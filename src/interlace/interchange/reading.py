"""Numbers of other libraries, read exactly."""

from __future__ import annotations

import math
import numbers
from fractions import Fraction
from typing import Any

from interlace.core.errors import ParameterError
from interlace.core.exact import rational

_MISSING = object()


def attribute(thing: Any, name: str, where: str) -> Any:
    """An attribute of another library's object. Raises ParameterError where it has none."""
    found = getattr(thing, name, _MISSING)
    if found is _MISSING:
        raise ParameterError(
            where, f"has no {name}: {type(thing).__name__} of a known version does"
        )
    return found


def binary(value: Any, name: str, *, maximum: int | None = None) -> Fraction:
    """A number of at least 0, exactly.

    A float is the binary number that the other library computed with, and not the decimal that
    it prints, which is what a user's own float means here (R8). Raises ParameterError for NaN,
    infinities, negative numbers and what is no number.

    >>> binary(0.5, "epsilon"), binary(0.1, "epsilon") > Fraction(1, 10)
    (Fraction(1, 2), True)
    """
    exact = value
    if isinstance(value, numbers.Real) and not isinstance(value, numbers.Rational):
        number = float(value)
        if not math.isfinite(number):
            raise ParameterError(name, f"must be finite, got {number}")
        exact = Fraction(number)
    return rational(exact, name, maximum=maximum)


def is_infinite(value: Any) -> bool:
    """Whether a loss of another library is infinite."""
    return isinstance(value, numbers.Real) and float(value) == math.inf
