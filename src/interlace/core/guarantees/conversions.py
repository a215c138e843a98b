"""Formulas between the notions, on numbers: enclosures in, enclosures out.

Every bound here holds for each adversary by itself, hence for interactive mechanisms. A
Rényi bound may be evaluated at any order; a badly chosen order only costs tightness, so
orders are searched for in floats and the bound is then evaluated rigorously.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from interlace.core.guarantees.enclosures import (
    expm1,
    log_roughly,
    minus_log_one_minus,
    one_minus_exp,
    roughly,
    smaller,
)
from interlace.core.interval import ONE, ZERO, Interval

_HUGE_EXPONENT = Decimal(10) ** 6
#: Orders nearer to 1 than this are moved there: D_alpha does not decrease in alpha.
_NEAREST_ORDER = Fraction(1, 10**20)
# Beyond, alpha * log(1 - 1/alpha) would lose its digits.
_LOG_ORDER_RANGE = 100
_GOLDEN = (math.sqrt(5) - 1) / 2

#: A divergence as a function of its order: alpha - 1 in floats, or alpha and an enclosure.
RoughCurve = Callable[[float], float]
Curve = Callable[[Fraction], Interval]


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
        return Interval(Decimal(0), full.upper)
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


def renyi_to_delta(alpha: Fraction, renyi: Interval, epsilon: Interval) -> Interval:
    """The delta at ``epsilon`` >= 0 that D_alpha <= ``renyi`` gives, alpha > 1.

    The smaller of Canonne-Kamath-Steinke 2020 and Asoodeh et al. 2021 (FORMULAS 7.2).
    """
    order, excess = Interval.of(alpha), Interval.of(alpha - 1)
    slack = excess * (renyi - epsilon)
    if slack.upper > _HUGE_EXPONENT:
        return ONE
    log_cks = slack + order * (excess / order).log() - excess.log()
    best = ONE if log_cks.upper > 0 else log_cks.exp()
    if epsilon.lower > 0 and slack.upper < 0:
        second = slack.exp() * one_minus_exp(excess * renyi)
        best = smaller(best, second / (order * one_minus_exp(excess * epsilon)))
    return best


def renyi_to_epsilon(alpha: Fraction, renyi: Interval, delta: Interval) -> Interval:
    """The epsilon at ``delta`` in (0, 1] that D_alpha <= ``renyi`` gives, alpha > 1.

    The inverse of ``renyi_to_delta``.
    """
    order, excess = Interval.of(alpha), Interval.of(alpha - 1)
    share = (delta.log() + order.log()) / excess
    best = (renyi + (excess / order).log() - share).clip(0)
    if (excess * renyi).upper < _HUGE_EXPONENT:
        inner = expm1((excess * renyi).clip(0)) / (order * delta)
        best = smaller(best, ((ONE + inner).log() / excess).clip(0))
    return best


def best_epsilon(
    curve: RoughCurve, renyi: Curve, share: Interval, limit: Fraction | None = None
) -> Interval:
    """``renyi_to_epsilon`` at about the best order, for ``share`` > 0.

    ``curve`` is the divergence of order 1 + x in floats, ``renyi`` its enclosure at any order
    up to ``limit``.
    """
    log_delta = log_roughly(Fraction(share.lower))
    first = least_order(lambda x: float_epsilon(x, curve(x), log_delta)[0], limit)
    second = least_order(lambda x: float_epsilon(x, curve(x), log_delta)[1], limit)
    return smaller(
        renyi_to_epsilon(first, renyi(first), share),
        renyi_to_epsilon(second, renyi(second), share),
    )


def best_delta(
    curve: RoughCurve, renyi: Curve, epsilon: Fraction, limit: Fraction | None = None
) -> Interval:
    """``renyi_to_delta`` at about the best order, for ``epsilon`` >= 0."""
    e, at = roughly(epsilon) if epsilon else 0.0, Interval.of(epsilon)
    first = least_order(lambda x: float_log_delta(x, curve(x), e)[0], limit)
    best = renyi_to_delta(first, renyi(first), at)
    if epsilon:
        second = least_order(lambda x: float_log_delta(x, curve(x), e)[1], limit)
        best = smaller(best, renyi_to_delta(second, renyi(second), at))
    return best


def least_order(value: RoughCurve, limit: Fraction | None = None) -> Fraction:
    """An order alpha in (1, limit] near a minimum of ``value(alpha - 1)``: grid, then golden
    section in log(alpha - 1). Floats only; any result is sound."""
    top = float(_LOG_ORDER_RANGE)
    if limit is not None:
        top = max(-top, min(top, log_roughly(limit - 1)))
    grid = [float(i) for i in range(-_LOG_ORDER_RANGE, math.floor(top) + 1)] + [top]
    best = min(grid, key=lambda i: value(math.exp(i)))
    a, b = best - 1, min(best + 1, top)
    for _ in range(48):
        left, right = b - _GOLDEN * (b - a), a + _GOLDEN * (b - a)
        if value(math.exp(left)) <= value(math.exp(right)):
            b = right
        else:
            a = left
    found = 1 + Fraction(math.exp((a + b) / 2))
    if limit is not None and value(math.exp(top)) <= value(float(found - 1)):
        return limit
    return found if limit is None else min(found, limit)


def float_epsilon(excess: float, renyi: float, log_delta: float) -> tuple[float, float]:
    """The two values that ``renyi_to_epsilon`` chooses from, in plain floats."""
    alpha = 1 + excess
    cks = renyi - math.log1p(1 / excess) - (log_delta + math.log(alpha)) / excess
    lifted = log_expm1(excess * renyi) - math.log(alpha) - log_delta
    return cks, log1p_exp(lifted) / excess


def float_log_delta(excess: float, renyi: float, epsilon: float) -> tuple[float, float]:
    """The logarithms of the two values that ``renyi_to_delta`` chooses from, in floats."""
    alpha = 1 + excess
    cks = excess * (renyi - epsilon) - alpha * math.log1p(1 / excess) - math.log(excess)
    if epsilon <= 0:
        return cks, math.inf
    second = log_expm1(excess * renyi) - log_expm1(excess * epsilon) - math.log(alpha)
    return cks, second


def log_expm1(x: float) -> float:
    """log(e^x - 1) without overflow."""
    if x <= 0:
        return -math.inf
    return x if x > 700 else math.log(math.expm1(x))


def log1p_exp(x: float) -> float:
    """log(1 + e^x) without overflow."""
    return x if x > 700 else math.log1p(math.exp(x))
