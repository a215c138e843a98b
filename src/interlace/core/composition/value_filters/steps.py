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


def at_least(epsilon: Fraction) -> Fraction:
    """``epsilon``, but no less than ``LEAST_EPSILON``."""
    # By lengths, where they tell: to compare Fractions takes longer.
    short = epsilon.numerator.bit_length() + 98 > epsilon.denominator.bit_length()
    return epsilon if short else max(epsilon, LEAST_EPSILON)


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
    if best is None and excess(t, epsilon, w, Fraction(0), bits)[1] <= 0:
        # Close to where there is none at all the search may miss the last one.
        return Fraction(0)
    return best


def narrowed_by_many(w: Fraction, epsilon: Fraction, count: int) -> Fraction | None:
    """A w' >= 0 to which ``count`` steps of ``epsilon`` lead, each proved for every y; see
    many.py. None where there is none, or none that can be proved.

    >>> after = narrowed_by_many(Fraction(1), Fraction(1, 1000), 10**5)
    >>> 0.8999999 < float(after) < 0.9
    True
    """
    start = _floats(Fraction(0), epsilon, w)
    if start is None or w <= _LEAST_W:
        return None
    try:
        return _settled_by_many(w, epsilon, count, start)
    except (OutOfReach, ArithmeticError, ValueError):
        return None


def _settled_by_many(w: Fraction, epsilon: Fraction, count: int, start: Floats) -> Fraction | None:
    _, e, whole = start
    lost = proposals.cost(0.0, e, whole)
    for _ in range(_ATTEMPTS):
        # What the last of them costs, with as little of w as it finds.
        lost = proposals.cost(0.0, e, max(whole - (count - 1) * lost, lost))
    for attempt in range(_ATTEMPTS):
        each = lost * (1 + _ASIDE * 4**attempt)
        after = _less(w, each * count) if each * count <= whole else Fraction(0)
        last = after + (w - after) / count
        bits = _precision((0.0, e, float(last)), lost)
        if last > after and excess(Fraction(0), epsilon, last, after, bits)[1] <= 0:
            return after
    return None


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
    left = w - step
    return rounded_down(left) if left.numerator > 0 else Fraction(0)


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
    near = Fraction(proposals.variance(float(epsilon), _log(delta)))
    for shrink in (40, 32, 24):
        w = _on_grid(near * (1 - Fraction(1, 1 << shrink)))
        if proved(epsilon, w, delta, 128):
            return w
    return _searched(epsilon, delta)


def covering(epsilon: Fraction) -> Fraction:
    """A w, close to the least, for which every pure ``epsilon`` is sqrt(w)-GDP (FORMULAS 7.5):
    Phi(sqrt(w)/2) >= 1/(1 + e^-epsilon), so that it may be the last child to take all of w.

    >>> 0.98318336 < float(covering(Fraction(8, 10))) < 0.98318337
    True
    """
    # The tail beyond x is at most e^(-x**2/2) / 2: always enough.
    enough = 8 * epsilon
    start = _floats(Fraction(0), epsilon, Fraction(1))
    if start is None or not epsilon:
        return enough
    bits = min(_MOST_BITS, 96 + 2 * max(0, -math.frexp(start[1])[1]))
    near = proposals.covering(start[1])
    for attempt in range(_ATTEMPTS):
        w = _on_grid(Fraction(near) * (1 + Fraction(4**attempt, 1 << 40))) or _LEAST_W
        if w < enough and _takes_all(epsilon, w, bits):
            return w
    return enough


def _takes_all(epsilon: Fraction, w: Fraction, bits: int) -> bool:
    try:
        return excess(Fraction(0), epsilon, w, Fraction(0), bits)[1] <= 0
    except OutOfReach:
        return False


def within(w: Fraction, delta: Fraction) -> Fraction:
    """An epsilon, close to the largest, for which ``widest(epsilon, delta)`` is at most ``w``; 0
    where none was found.

    >>> 4.886 < within(Fraction(1), Fraction(1, 10**6)) < 4.887
    True
    """
    if w <= _LEAST_W or not delta:
        return Fraction(0)
    near = Fraction(proposals.distance(float(w), _log(delta)))
    for shrink in (40, 32, 24, 16, 8):
        epsilon = near * (1 - Fraction(1, 1 << shrink))
        if widest(epsilon, delta) <= w:
            return epsilon
    return Fraction(0)


def leaking(w: Fraction, epsilon: Fraction) -> Fraction:
    """A delta, close to the largest, for which ``widest(epsilon, delta)`` is at most ``w``; 0
    where none was found.

    >>> 0.1269 < leaking(Fraction(1), Fraction(1)) < 0.12694
    True
    """
    if w <= _LEAST_W:
        return Fraction(0)
    near = Fraction(math.exp(proposals.log_profile(float(epsilon), float(w))))
    for shrink in (40, 32, 24, 16, 8):
        delta = near * (1 - Fraction(1, 1 << shrink))
        if 0 < delta < 1 and widest(epsilon, delta) <= w:
            return delta
    return Fraction(0)


def _log(delta: Fraction) -> float:
    return math.log(delta.numerator) - math.log(delta.denominator)


def _searched(epsilon: Fraction, delta: Fraction) -> Fraction:
    """By bisection over proofs, where a float does not see the profile."""
    low, high = -W_SCALE * 1.0, 40.0
    best = Fraction(0)
    for _ in range(50):
        middle = (low + high) / 2
        w = _on_grid(Fraction(2 ** (middle % 1)) * Fraction(2) ** math.floor(middle))
        if proved(epsilon, w, delta, 320):
            low, best = middle, w
        else:
            high = middle
    return best


def _on_grid(w: Fraction) -> Fraction:
    return Fraction((w.numerator << W_SCALE) // w.denominator, 1 << W_SCALE)


def proved(epsilon: Fraction, w: Fraction, delta: Fraction, bits: int = 320) -> bool:
    """Whether it is proved, at this precision, that sqrt(w)-GDP gives (epsilon, delta)."""
    try:
        return profile_within(epsilon, w, delta, bits)
    except OutOfReach:
        return False
