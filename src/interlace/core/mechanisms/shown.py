"""How a mechanism is printed: its parameters for a reader, rationals as short decimals."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from typing import Any

from interlace.core.guarantees.base import briefly


def shown(mechanism: Any) -> str:
    """``Name(parameter=value, ...)``; a mark stands before what was rounded for the eye.

    >>> from interlace.core.mechanisms import Gaussian
    >>> Gaussian(rho=0.01)
    Gaussian(sigma=≈7.07106781187, answers=1, sensitivity=1)
    """
    values = [(item.name, getattr(mechanism, item.name)) for item in fields(mechanism)]
    parameters = (f"{n}={briefly(v) if isinstance(v, Fraction) else repr(v)}" for n, v in values)
    return f"{type(mechanism).__name__}({', '.join(parameters)})"
