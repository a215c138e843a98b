"""What plain float arithmetic may have lost: the constants that every bound here uses.

The elementary functions of the platform (exp, log1p, expm1, sin, cos, tan, sinh, tanh, arctan2)
are taken to be within 8 units in the last place; tests measure them against 50 digits, and the
libraries in use stay within 2. Sums of n terms are taken at n units, the worst order.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from interlace.core.interval import Interval

#: The unit roundoff of a float64.
UNIT = 2.0**-53
#: Products of smaller matrices are always computed by one thread.
_ALONE = 4096
#: The relative error of a short chain of elementary functions and products.
CHAIN = 64 * UNIT


def summed(count: int) -> float:
    """The relative error of a sum of ``count`` terms, of the sum of their moduli, each term
    being a short chain."""
    return CHAIN + (count + 8) * UNIT


def product(matrix: npt.NDArray[Any], vector: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """``matrix @ vector``, on this thread alone. From some size on BLAS would wake other threads
    for what takes microseconds, and wait for milliseconds until a processor is free for them."""
    if matrix.size < _ALONE:
        return np.asarray(matrix @ vector)
    return np.asarray(np.einsum("ij,j->i", matrix, vector))


def around(value: float, error: float) -> Interval:
    """All numbers within ``error`` of ``value``."""
    exact, gap = Fraction(value), Fraction(error)
    return Interval(Interval.of(exact - gap).lower, Interval.of(exact + gap).upper)
