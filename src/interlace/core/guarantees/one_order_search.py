"""Where the bounds of ``one_order`` are best, searched for in floats. Nothing here bounds a loss.

x is alpha - 1 > 0, d > 0 the divergence, e an epsilon; a = log r, w = -log t and s = a + w.
"""

from __future__ import annotations

import math
from collections.abc import Callable

#: Halvings of a search whose place is used, and of one that only compares orders.
STEPS, ROUGH_STEPS = 58, 30
#: Smaller divergences and larger losses get the bound of t = 0.
LEAST_DIVERGENCE, LARGEST_LOSS = 1e-30, 1e9
#: Exponents beyond are compared by their logarithms.
_LARGEST_EXPONENT = 600.0
_SERIES_BELOW, _TERMS = 0.02, 12
_SMALLEST_LOG, _UNDERFLOW = -700.0, 1e-300


def rough_log_delta(x: float, d: float, e: float) -> float:
    """log of ``delta``, for the choice of an order."""
    if not LEAST_DIVERGENCE < d < LARGEST_LOSS:
        return cks_log_delta(x, d, e)
    s, beyond = widest(x, d, e, ROUGH_STEPS)
    if beyond:
        loss = largest_response(x, d)
        above = -math.expm1(e - loss) / (1 + math.exp(-loss))
        return math.log(above) if above > 0 else -math.inf
    a = e - mean(s, x)
    return -x * a + _log_room(max(0.0, s - a), x, d) - math.log1p(x) - _log_fall(x * s)


def rough_epsilon(x: float, d: float, log_share: float) -> float:
    """``epsilon``, for the choice of an order."""
    if not LEAST_DIVERGENCE < d < LARGEST_LOSS:
        return cks_epsilon(x, d, log_share)
    w, beyond = deepest(x, d, log_share, ROUGH_STEPS)
    if beyond:
        loss = largest_response(x, d)
        lost = math.exp(log_share) * (1 + math.exp(-loss))
        return max(0.0, loss + math.log1p(-lost)) if lost < 1 else 0.0
    a = reaching(w, x, d, log_share)
    return a + mean(a + w, x)


def cks_epsilon(x: float, d: float, log_share: float) -> float:
    """The epsilon at t = 0, that of Canonne, Kamath and Steinke 2020."""
    return d - math.log1p(1 / x) - (log_share + math.log1p(x)) / x


def cks_log_delta(x: float, d: float, e: float) -> float:
    """The logarithm of their delta."""
    return x * (d - e) - (1 + x) * math.log1p(1 / x) - math.log(x)


def _bisected(too_low: Callable[[float], bool], low: float, high: float, steps: int) -> float:
    for _ in range(steps):
        middle = (low + high) / 2
        if too_low(middle):
            low = middle
        else:
            high = middle
    return high


def widest(x: float, d: float, e: float, steps: int = STEPS) -> tuple[float, bool]:
    """The best s at epsilon e, and whether it lies beyond the corner (w > a)."""
    goal = _log_expm1(x * d) - math.log(x) if x * d > _UNDERFLOW else math.log(d)

    def too_low(log_s: float) -> bool:
        s = math.exp(log_s)
        a = e - mean(s, x)
        return s <= a or (s < 2 * a and _log_excess(a, s - a, x) < goal)

    # w <= a where it counts, and a - epsilon is at most log(1 + 1/x) and at most log s or so.
    top = 2 * (e + math.log1p(1 / x)) + 1
    log_s = _bisected(too_low, math.log(max(e, 1e-300)), math.log(top), steps)
    s = math.exp(log_s)
    return s, s >= 2 * (e - mean(s, x)) * (1 - 1e-9)


def deepest(x: float, d: float, log_share: float, steps: int = STEPS) -> tuple[float, bool]:
    """The best w at delta, and whether it lies beyond the corner."""
    goal = _log_expm1(x * d) - math.log(x) if x * d > _UNDERFLOW else math.log(d)

    def too_low(log_w: float) -> bool:
        w = math.exp(log_w)
        a = reaching(w, x, d, log_share)
        return w < a and _log_excess(a, w, x) < goal

    w = math.exp(_bisected(too_low, _SMALLEST_LOG, math.log(_most(d)), steps))
    return w, w >= reaching(w, x, d, log_share) * (1 - 1e-9)


def largest_response(x: float, d: float) -> float:
    """The largest epsilon whose randomised response has divergence d."""
    goal = _log_expm1(x * d) - math.log(x) if x * d > _UNDERFLOW else math.log(d)

    def too_low(log_loss: float) -> bool:
        loss = math.exp(log_loss)
        return _log_excess(loss, loss, x) < goal

    return math.exp(_bisected(too_low, _SMALLEST_LOG, math.log(_most(d)), STEPS))


def _most(d: float) -> float:
    # The divergence of randomised response at y is at least KL, y tanh(y / 2) > y - 1.
    return d + 2


def opposite(a: float, x: float, d: float) -> float:
    """The largest w <= a whose pair with a keeps within d."""
    goal = _log_expm1(x * d) - math.log(x) if x * d > _UNDERFLOW else math.log(d)

    def too_low(log_w: float) -> bool:
        return _log_excess(a, math.exp(log_w), x) < goal

    return math.exp(_bisected(too_low, _SMALLEST_LOG, math.log(a), STEPS))


def mean(s: float, x: float) -> float:
    """epsilon - a."""
    return _log_flatness((1 + x) * s) - _log_flatness(x * s)


def reaching(w: float, x: float, d: float, log_share: float) -> float:
    """The a that belongs to w at a delta."""
    y = _log_room(w, x, d) - math.log1p(x) - log_share
    if y > _LARGEST_EXPONENT:
        return y / x
    return math.log1p(math.exp(y) + math.expm1(-x * w)) / x


def _log_room(w: float, x: float, d: float) -> float:
    if x * d > _LARGEST_EXPONENT:
        return x * d
    rest = x * math.expm1(-(1 + x) * w) - (1 + x) * math.expm1(-x * w)
    return math.log(math.expm1(x * d) + max(0.0, rest))


def _log_excess(a: float, w: float, x: float) -> float:
    """log of (E_Q L^alpha - 1) / (alpha - 1) for the pair with a and w."""
    s = a + w
    if (1 + x) * s < _SERIES_BELOW:
        return _near(a, w, x)
    right = math.log(-math.expm1(-w)) - _log_fall(s)
    if x * a > _LARGEST_EXPONENT:
        return right + x * a - math.log(x)
    wrong = math.exp(-w) * math.expm1(-a) / math.expm1(-s)
    found = (math.exp(right) * math.expm1(x * a) + wrong * math.expm1(-x * w)) / x
    return math.log(found) if found > 0 else -math.inf


def _near(a: float, w: float, x: float) -> float:
    # E_Q L^alpha is the sum of binomial(alpha, k) E_Q (L - 1)^k, and with u = t - 1, v = r - 1
    # that moment is -u v (v^(k-1) - u^(k-1)) / (v - u).
    alpha, u, v = 1 + x, math.expm1(-w), math.expm1(a)
    total = power = share = mixed = 1.0
    for k in range(3, _TERMS):
        share *= (1 - (k - 1) / alpha) / k
        power *= alpha * u
        mixed = alpha * v * mixed + power
        total += share * mixed
    return math.log1p(x) - math.log(2) + math.log(-u) + math.log(v) + math.log(total)


def _log_flatness(y: float) -> float:
    """log((1 - e^-y) / y) for y > 0."""
    if y < _SERIES_BELOW:
        return -y / 2 + y**2 / 24 - y**4 / 2880
    return _log_fall(y) - math.log(y)


def _log_fall(y: float) -> float:
    """log(1 - e^-y) for y > 0."""
    return math.log(-math.expm1(-y))


def _log_expm1(y: float) -> float:
    return y if y > _LARGEST_EXPONENT else math.log(math.expm1(y))
