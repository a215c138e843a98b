"""Guesses in plain floats: where a rigorous search starts. No bound may rest on them."""

from __future__ import annotations

import math
from fractions import Fraction

from interlace.core.guarantees.enclosures import log_roughly, roughly

_LEAST_LOG = -1e6


def log_normal_tail(x: float) -> float:
    """About the log of the chance that a standard normal variable exceeds x."""
    if x < 20:
        return math.log(math.erfc(x / math.sqrt(2)) / 2)
    return max(-x * x / 2 - math.log(x * math.sqrt(2 * math.pi)), -1e300)


def gaussian_epsilon(mu: Fraction, delta: Fraction) -> Fraction:
    """About the epsilon >= 0 of the continuous Gaussian of parameter mu at ``delta`` > 0."""
    width, target = roughly(mu), max(log_roughly(delta), _LEAST_LOG)

    def log_delta(epsilon: float) -> float:
        near = log_normal_tail(epsilon / width - width / 2)
        far = epsilon + log_normal_tail(epsilon / width + width / 2)
        return near + math.log(max(-math.expm1(min(far - near, 0.0)), 1e-300))

    low, high = 0.0, width * (width / 2 + math.sqrt(-2 * min(target, 0.0)) + 1)
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if log_delta(middle) > target else (low, middle)
    return Fraction(low)
