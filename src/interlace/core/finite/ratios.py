"""Reads the factor e^epsilon, which is rational only where a caller says so."""

from __future__ import annotations

from fractions import Fraction

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, rational
from interlace.core.interval import Interval

#: Powers of two that a rounded factor counts in: it is at most 2**-64 too large.
_STEP = 2**64
_LARGEST_EPSILON = 700


def read_ratio(epsilon: Real | None, exp_epsilon: Real | None) -> Fraction | Interval:
    """e^epsilon: exact where it was given, or where epsilon is 0; else an enclosure.

    Raises ParameterError unless exactly one of the two is given, ``epsilon`` in [0, 700] or
    ``exp_epsilon`` at least 1.

    >>> read_ratio(None, 3)
    Fraction(3, 1)
    >>> read_ratio(1, None).contains(Fraction("2.718281828459045235"))
    False
    """
    if (epsilon is None) == (exp_epsilon is None):
        raise ParameterError("epsilon", "give either epsilon or exp_epsilon, which is e^epsilon")
    if exp_epsilon is not None:
        return rational(exp_epsilon, "exp_epsilon", minimum=1)
    assert epsilon is not None
    exact = rational(epsilon, "epsilon", maximum=_LARGEST_EPSILON)
    return Interval.of(exact).exp() if exact else Fraction(1)


def read_ratio_up(epsilon: Real | None, exp_epsilon: Real | None) -> Fraction:
    """As ``read_ratio``, an irrational factor rounded up to a multiple of 2**-64 (R8)."""
    found = read_ratio(epsilon, exp_epsilon)
    if isinstance(found, Fraction):
        return found
    upper = Fraction(found.upper) * _STEP
    return Fraction(-(-upper.numerator // upper.denominator), _STEP)
