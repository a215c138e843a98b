"""How the state of a value-function filter moves: what rules.py is made of.

``limit`` is the epsilon of "reach"; it is None for "residue", which has none.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from interlace.core.composition.value_filters.children import (
    Child,
    GaussianChild,
    State,
)
from interlace.core.composition.value_filters.fixed import OutOfReach
from interlace.core.composition.value_filters.inequality import excess
from interlace.core.composition.value_filters.steps import (
    W_BITS,
    W_SCALE,
    at_least,
    narrowed,
    narrowed_by_many,
    rounded_down,
)
from interlace.core.exact import natural


def distance(state: State, limit: Fraction | None) -> Fraction:
    """The y0 from which on the next pure child's inequality is needed."""
    if limit is None or state.sum_epsilon is None:
        return Fraction(0)
    return max(Fraction(0), limit - state.sum_epsilon)


def moved(
    state: State, child: Child, count: int, structural: Fraction, limit: Fraction | None
) -> State | None:
    """The state after ``count`` equal children in one step; None where they are refused."""
    if isinstance(child, GaussianChild):
        return _after_gaussian(state, child.mu_squared * count)
    good = _after_leaks(state.good, child.delta, count, 1 - structural)
    if good is None or not child.epsilon:
        return None if good is None else State(state.w, state.sum_epsilon, good)
    epsilon = at_least(child.epsilon)
    after = _narrowed(state.w, distance(state, limit), epsilon, count)
    if after is None:
        return None
    total = state.sum_epsilon
    summed = None if total is None else _sum(total + count * epsilon, limit)
    return State(after, summed, good)


def _narrowed(w: Fraction, t: Fraction, epsilon: Fraction, count: int) -> Fraction | None:
    if count == 1:
        return narrowed(w, t, epsilon)
    after = narrowed_by_many(w, epsilon, count)
    # While the epsilons sum to t at most, each step stays where v(y, 0) = 0.
    return Fraction(0) if after is None and count * epsilon <= t else after


def _after_leaks(good: Fraction, delta: Fraction, count: int, floor: Fraction) -> Fraction | None:
    if not delta:
        return good
    # (1 - delta)**n >= 1 - n delta, for many.
    left = good * (1 - count * delta)
    # The exact product fits, so a rounded one may not be what refuses the rest.
    return None if left < floor else max(rounded_down(left), floor)


def _after_gaussian(state: State, mu_squared: Fraction) -> State | None:
    if not mu_squared:
        return state
    left = state.w - mu_squared
    return None if left < 0 else State(rounded_down(left), None, state.good)


def _sum(total: Fraction, limit: Fraction | None) -> Fraction:
    """Exact while short, else up, but not across the limit below which the exact sum lies."""
    if max(total.numerator.bit_length(), total.denominator.bit_length()) <= W_BITS:
        return total
    up = Fraction(-(-(total.numerator << W_SCALE) // total.denominator), 1 << W_SCALE)
    return min(up, limit) if limit is not None and total <= limit else up


def largest(state: State, limit: Fraction | None) -> Fraction:
    """The largest epsilon of one more pure child, rounded down; 0 where none fits."""
    # A child fits exactly when it does with nothing left of w.
    t = distance(state, limit)
    low, high = t, t + 1
    if not state.w:
        return low
    while _fits(state.w, t, high):
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        if _fits(state.w, t, middle):
            low = middle
        else:
            high = middle
    return low


def _fits(w: Fraction, t: Fraction, epsilon: Fraction) -> bool:
    try:
        return excess(t, epsilon, w, Fraction(0), 96)[1] <= 0
    except OutOfReach:
        return False


def counted(step: Callable[[State], State | None], state: State, most: int) -> int:
    """How often a step can be taken, up to ``most`` times."""
    limited = natural(most, "most")
    found, following = 0, step(state)
    while following is not None and found < limited:
        found += 1
        following = step(following)
    return found
