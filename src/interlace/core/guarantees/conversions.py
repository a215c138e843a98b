"""The curves of randomised response, on numbers: enclosures in, enclosures out.

They bound those of every pure mechanism, for each adversary by itself, hence interactively.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from interlace.core.guarantees.enclosures import minus_log_one_minus, one_minus_exp
from interlace.core.interval import ONE, ZERO, Interval

#: Orders nearer to 1 than this are moved there: D_alpha does not decrease in alpha.
_NEAREST_ORDER = Fraction(1, 10**20)


def tanh_half(epsilon: Interval) -> Interval:
    """tanh(epsilon / 2) for epsilon >= 0."""
    return one_minus_exp(epsilon) / (ONE + (-epsilon).exp())


def response_delta(epsilon0: Fraction, epsilon: Fraction) -> Interval:
    """delta(epsilon) of randomised response at ``epsilon0``: the curve of every pure DP
    mechanism. FORMULAS 7.4 with delta = 0."""
    if epsilon >= epsilon0:
        return ZERO
    above = one_minus_exp(Interval.of(epsilon0 - epsilon))
    return above / (ONE + Interval.of(-epsilon0).exp())


def response_epsilon(epsilon0: Fraction, delta: Interval) -> Interval:
    """The inverse of ``response_delta`` in epsilon."""
    full = Interval.of(epsilon0)
    if delta.upper <= 0:
        return full
    # e^eps = e^eps0 - delta (1 + e^eps0), divided by e^eps0.
    lost = delta * (ONE + (-full).exp())
    if lost.lower >= 1:
        return ZERO
    if lost.upper >= 1:
        least = Interval(lost.lower, lost.lower)
        return Interval(Decimal(0), (full - minus_log_one_minus(least)).clip(0).upper)
    return (full - minus_log_one_minus(lost)).clip(0)


def response_renyi(epsilon0: Fraction, alpha: Fraction | None) -> Interval:
    """D_alpha of randomised response at ``epsilon0``; order 1 is KL, None is infinity.

    FORMULAS 7.3. Also capped by the weaker bounds alpha * epsilon^2 / 2 and epsilon, which
    keep their relative precision where the formula cancels.
    """
    epsilon = Interval.of(epsilon0)
    if alpha is None:
        return epsilon
    if alpha == 1 or epsilon0 == 0:
        return epsilon * tanh_half(epsilon)
    order = max(alpha, 1 + _NEAREST_ORDER)
    ratio = (ONE + (-epsilon).exp()) / (ONE + Interval.of(-(2 * order - 1) * epsilon0).exp())
    found = (epsilon - ratio.log() / Interval.of(order - 1)).clip(0)
    if order != alpha:
        found = Interval(Decimal(0), found.upper)
    half = Interval.of(alpha * epsilon0 * epsilon0 / 2)
    return Interval(found.lower, min(found.upper, half.upper, epsilon.upper))
