"""From proposals to verified steps: how far w goes down, and the w that a budget starts with.

A number leaves this file only after inequality.py has proved what is claimed of it.
"""

from __future__ import annotations

import math
from fractions import Fraction

from interlace.core.composition.value_filters import proposals
from interlace.core.composition.value_filters.fixed import OutOfReach
from interlace.core.composition.value_filters.inequality import excess, profile_within

#: A w whose exact form is longer than this is rounded down to a multiple of 2**-W_SCALE.
W_BITS, W_SCALE = 512, 256
#: An epsilon below this is charged as this; a pure guarantee holds at every larger epsilon.
LEAST_EPSILON = Fraction(1, 2**100)
#: A verified step may cost this part more than was needed.
_TIGHT = 2.0**-18
_ASIDE = 2.0**-28
_ATTEMPTS = 8
#: Below this w nothing but w' = 0 is tried: floats would underflow.
_LEAST_W = Fraction(1, 2**250)
#: Enough for every delta down to 1e-250; a float holds 2**960.
_MOST_BITS = 960

Floats = tuple[float, float, float]


def rounded_down(w: Fraction) -> Fraction:
    """Exact while short, else down: v grows with w, so that less of it claims more loss."""
    if max(w.numerator.bit_length(), w.denominator.bit_length()) <= W_BITS:
        return w
    return Fraction((w.numerator << W_SCALE) // w.denominator, 1 << W_SCALE)


def narrowed(w: Fraction, t: Fraction, epsilon: Fraction) -> Fraction | None:
    """A w' >= 0, close to the largest, for which the step inequality at |y| >= t is proved.

    None where there is none, or none that can be proved; ``epsilon`` > 0.

    >>> after = narrowed(Fraction(1), Fraction(0), Fraction(1, 10))
    >>> 0.989986 < float(after) < 0.989988
    True
    """
    # Where epsilon <= t both outcomes stay where v(y, 0) = 0.
    sure = Fraction(0) if epsilon <= t else None
    start = _floats(t, epsilon, w)
    if start is None or w <= _LEAST_W:
        return sure
    try:
        return _settled(w, t, epsilon, start, sure)
    except (OutOfReach, ArithmeticError, ValueError):
        # Beyond floats, or beyond the enclosures: what is not proved is not claimed.
        return sure


def _settled(
    w: Fraction, t: Fraction, epsilon: Fraction, start: Floats, best: Fraction | None
) -> Fraction | None:
    """Propose, verify, and correct the proposal by what the verification measured."""
    lost = proposals.cost(*start)
    bits = _precision(start, lost)
    for _ in range(_ATTEMPTS):
        after = _less(w, lost * (1 + _ASIDE))
        if not after and best is not None:
            return best
        low, high = excess(t, epsilon, w, after, bits)
        # The enclosure's units in one cost.
        unit = proposals.slope(*start, max(float(after), start[2] * 1e-9)) * lost * 2.0**bits
        if high <= 0:
            best = after if best is None else max(best, after)
        if (best == after and -low <= _TIGHT * unit) or (not after and not low <= 0 < high):
            return best
        if high - low > _TIGHT / 4 * unit:
            bits = min(bits + 64, _MOST_BITS)
        lost = _better(lost, start[2], high / max(unit, 1.0))
    return best


def _better(lost: float, w: float, missing: float) -> float:
    change = max(-0.9, min(missing, 1.0))
    return min(w, lost * (1 + change + math.copysign(_ASIDE, change) * (change > 0)))


def _floats(t: Fraction, epsilon: Fraction, w: Fraction) -> Floats | None:
    try:
        values = float(t), float(epsilon), float(w)
    except OverflowError:
        return None
    return values if max(values) < 1e9 else None


def _less(w: Fraction, lost: float) -> Fraction:
    """w - lost, the loss rounded up to 40 bits and to a multiple of 2**-256."""
    mantissa, exponent = math.frexp(lost)
    shift = min(40 - exponent, W_SCALE)
    units = math.ceil(math.ldexp(mantissa, exponent + shift)) if shift > -900 else 0
    step = Fraction(units, 1 << shift) if shift >= 0 else Fraction(units << -shift)
    return rounded_down(max(w - step, Fraction(0)))


def _precision(start: Floats, lost: float) -> int:
    """Bits at which an enclosure will probably be narrow beside the cost."""
    t, _, w = start
    root = math.sqrt(w)
    z = t / root
    after = max(w - lost, w * 1e-9)
    scale = max(lost, 1e-80) * max(proposals.slope(*start, after), 1e-80) if lost < w else 1.0
    needed = 36 - math.log2(scale) + math.log2((1 + z) * (1 + z / root) * (1 + 1 / root))
    return min(max(64, 16 * math.ceil(needed / 16)), _MOST_BITS)


def widest(epsilon: Fraction, delta: Fraction) -> Fraction:
    """A w, close to the largest, for which sqrt(w)-GDP is proved to give (epsilon, delta).

    0 where there is none; 0 <= ``delta`` < 1.

    >>> 0.99999 < float(widest(Fraction(48866, 10000), Fraction(1, 10**6))) < 1.0001
    True
    """
    if delta == 0 or epsilon >= 10**8:
        return Fraction(0)
    log_delta = math.log(delta.numerator) - math.log(delta.denominator)
    near = Fraction(proposals.variance(float(epsilon), log_delta))
    for shrink in (40, 32, 24):
        w = _on_grid(near * (1 - Fraction(1, 1 << shrink)))
        if _proved(epsilon, w, delta, 128):
            return w
    return _searched(epsilon, delta)


def _searched(epsilon: Fraction, delta: Fraction) -> Fraction:
    """By bisection over proofs, where a float does not see the profile."""
    low, high = -W_SCALE * 1.0, 40.0
    best = Fraction(0)
    for _ in range(50):
        middle = (low + high) / 2
        w = _on_grid(Fraction(2 ** (middle % 1)) * Fraction(2) ** math.floor(middle))
        if _proved(epsilon, w, delta, 320):
            low, best = middle, w
        else:
            high = middle
    return best


def _on_grid(w: Fraction) -> Fraction:
    return Fraction((w.numerator << W_SCALE) // w.denominator, 1 << W_SCALE)


def _proved(epsilon: Fraction, w: Fraction, delta: Fraction, bits: int) -> bool:
    try:
        return profile_within(epsilon, w, delta, bits)
    except OutOfReach:
        return False
