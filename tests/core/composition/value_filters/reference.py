"""The value function and its inequality in mpmath, at any precision: a referee, nothing tested."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath


def real(x: Fraction | int) -> Any:
    exact = Fraction(x)
    return mpmath.mpf(exact.numerator) / exact.denominator


def value(y: Any, w: Any) -> Any:
    """Phi(y/sqrt(w) + sqrt(w)/2) - e^-y Phi(y/sqrt(w) - sqrt(w)/2)."""
    if w == 0:
        return max(1 - mpmath.exp(-y), mpmath.mpf(0))
    root = mpmath.sqrt(w)
    return mpmath.ncdf(y / root + root / 2) - mpmath.exp(-y) * mpmath.ncdf(y / root - root / 2)


def defect(y: Any, epsilon: Any, w: Any, after: Any) -> Any:
    """Right less left of the step inequality at y: it holds where this is not positive."""
    p = 1 / (1 + mpmath.exp(-epsilon))
    after_step = p * value(y + epsilon, after) + (1 - p) * value(y - epsilon, after)
    return after_step - value(y, w)


def exact_defect(t: Fraction, epsilon: Fraction, w: Fraction, after: Fraction) -> Any:
    return defect(-real(t), real(epsilon), real(w), real(after))


def tight_step(t: Any, epsilon: Any, w: Any) -> Any:
    """The largest w' >= 0 at y = -t, by bisection; None where there is none."""
    if defect(-t, epsilon, w, mpmath.mpf(0)) > 0:
        return None
    low, high = mpmath.mpf(0), w
    for _ in range(120):
        middle = (low + high) / 2
        if defect(-t, epsilon, w, middle) <= 0:
            low = middle
        else:
            high = middle
    return low
