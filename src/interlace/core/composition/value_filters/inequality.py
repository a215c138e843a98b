"""The one inequality on which the value-function filters rest, and its proven evaluation.

v(y, w) = Phi(y/sqrt(w) + sqrt(w)/2) - e^(-y) Phi(y/sqrt(w) - sqrt(w)/2) is the profile of a
sqrt(w)-GDP pair at epsilon = -y (FORMULAS 7.5), v(y, 0) = max(1 - e^(-y), 0). A step from w to
w' < w by a pure epsilon needs, p = 1/(1 + e^(-epsilon)), q = 1 - p,

    v(y, w) >= p v(y + epsilon, w') + q v(y - epsilon, w')   for every |y| >= t.      (*)

Theorem (FORMULAS 6.12): (*) holds for every |y| >= t as soon as it holds at y = t or y = -t.

Proof. u = e^(y/2) v solves u'' - u/4 = g_w with g_w = e^(-w/8) phi_w, phi_w the normal density of
variance w. The excess D = e^(y/2) (right - left) is even in y (both outcomes of u get the weight
1/(2 cosh(epsilon/2))), falls to 0 at infinity, and D'' = D/4 + h,
h = (g_w'(y + epsilon) + g_w'(y - epsilon)) / (2 cosh(epsilon/2)) - g_w, with the integral of
e^(z/2) h equal to 0; so D(y) is the integral over z > y of 2 sinh((z - y)/2) h(z). The logarithm
of the ratio of h's two terms is, up to a constant, log cosh(a y) - b y**2/2 with a = epsilon/w'
and b = 1/w' - 1/w > 0; its slope a tanh(a y) - b y is concave on y > 0 and 0 at 0, so it falls
throughout, or rises and then falls. Hence h has the signs (+, -) or (-, +, -) on y > 0. In the
last zone D < 0. Where h > 0, D has no positive maximum inside. In a first zone with h < 0: D is
concave where D <= 0, with D'(0) = 0; so once D <= 0 there, it stays so to the zone's end, and from
there to infinity. For w' = 0 the density becomes a mass at +-epsilon, and the same holds.

With q = t**2/(2 w) + w/8, a, b = t/sqrt(w) -+ sqrt(w)/2 and the Mills ratio M,
sqrt(2 pi) e^(-t/2) v(-t, w) = e^(-q) (M(a) - M(b)), and for 1 - v it is e^(-q) (M(-a) + M(b)). So
divided by e^(-q) nothing is small, however far in the tail; and where a < 0 the complement is
compared, since v is near 1 there.
"""

from __future__ import annotations

from fractions import Fraction

from interlace.core.composition.value_filters.fixed import (
    OutOfReach,
    Pair,
    exp,
    log_two,
    mills,
    root_two_pi,
    scaled,
    square_root,
    times,
)


def excess(t: Fraction, epsilon: Fraction, w: Fraction, after: Fraction, bits: int) -> Pair:
    """What (*) lacks at y = -t, t >= 0: it holds at 0 or below.

    Right minus left, times sqrt(2 pi) e^(q(t, w) - t/2) (1 + e^(-epsilon)), as an enclosure in
    units of 2**-bits; 0 <= ``after`` < ``w``. Raises OutOfReach where a term would not fit.
    """
    one = 1 << bits
    start = _Point(scaled(*t.as_integer_ratio(), bits), w, bits)
    step = scaled(*epsilon.as_integer_ratio(), bits)
    up = Fraction(t - epsilon)
    near = scaled(abs(up.numerator), up.denominator, bits)
    far = start.t[0] + step[0], start.t[1] + step[1]
    fall = exp((-step[1], -step[0]), bits)
    weight = one + fall[0], one + fall[1]
    # Each term is e^(its exponent - base) M, with this base for all.
    base = start.q[0] - (step[1] + 1 >> 1), start.q[1] - (step[0] >> 1)
    side = start.side
    left = times(weight, start.mills(), bits)
    ahead = _after(near, after, side, base, bits)
    right = _add(ahead, _after(far, after, side, base, bits) if t else ahead)
    if side < 0:
        return left[0] - right[1], left[1] - right[0]
    if up < 0:
        # v(-up) = v(up) e^(...) + 2 sinh: the reflection of u.
        over = exp((base[0] + (near[0] >> 1), base[1] + (near[1] + 1 >> 1)), bits)
        under = exp((base[0] - (near[1] + 1 >> 1), base[1] - (near[0] >> 1)), bits)
        root = root_two_pi(bits)
        right = _add(right, times(root, (max(over[0] - under[1], 0), over[1] - under[0]), bits))
    return right[0] - left[1], right[1] - left[0]


def _add(x: Pair, y: Pair) -> Pair:
    return x[0] + y[0], x[1] + y[1]


def _after(t: Pair, w: Fraction, side: int, base: Pair, bits: int) -> Pair:
    """sqrt(2 pi) e^(base - t/2) v(-t, w), or with 1 - v where ``side`` is -1."""
    whole = base[0] - (t[1] + 1 >> 1), base[1] - (t[0] >> 1)
    if not w:
        return (0, 0) if side > 0 else times(root_two_pi(bits), exp(whole, bits), bits)
    point = _Point(t, w, bits)
    factor = exp((base[0] - point.q[1], base[1] - point.q[0]), bits)
    part = times(factor, point.mills(), bits)
    if point.side == side:
        return part
    both = times(root_two_pi(bits), exp(whole, bits), bits)
    return max(both[0] - part[1], 0), both[1] - part[0]


class _Point:
    """Where v is looked at: t >= 0 and w > 0, with what belongs to them, in units."""

    def __init__(self, t: Pair, w: Fraction, bits: int) -> None:
        n, d = w.as_integer_ratio()
        low, rest = divmod(n << 2 * bits, d)
        root = square_root(low)[0], square_root(low + bool(rest))[1]
        if not root[0]:
            raise OutOfReach
        z = (t[0] << bits) // root[1], -(-(t[1] << bits) // root[0])
        half = root[0] >> 1, root[1] + 1 >> 1
        self.bits, self.t = bits, t
        self.a = z[0] - half[1], z[1] - half[0]
        self.b = z[0] + half[0], z[1] + half[1]
        self.side = -1 if self.a[0] < 0 else 1
        self.q = (
            (z[0] * z[0] >> bits + 1) + (low >> bits + 3),
            -(-z[1] * z[1] >> bits + 1) - (-(low + 1) >> bits + 3),
        )

    def mills(self) -> Pair:
        """M(a) - M(b) on side 1, else M(-a) + M(b); both are positive."""
        far = mills(self.b, self.bits)
        if self.side > 0:
            near = mills(self.a, self.bits)
            return max(near[0] - far[1], 0), near[1] - far[0]
        if not any(self.t):
            return 2 * far[0], 2 * far[1]
        near = mills((-self.a[1], -self.a[0]), self.bits)
        return near[0] + far[0], near[1] + far[1]


def profile_within(distance: Fraction, w: Fraction, delta: Fraction, bits: int) -> bool:
    """Whether v(-distance, w) <= delta is proved: sqrt(w)-GDP gives (distance, delta).

    The powers of 2 in e^(-a**2/2) are taken out, so that any delta > 0 will do.

    >>> ok = [profile_within(Fraction(1), Fraction(1), Fraction(d, 10**5), 96)
    ...       for d in (12692, 12694)]
    >>> ok
    [False, True]
    """
    if not w:
        return distance >= 0
    point = _Point(scaled(*distance.as_integer_ratio(), bits), w, bits)
    side = point.side
    near, far = sorted(map(abs, point.a))
    near = 0 if point.a[0] < 0 <= point.a[1] else near
    two = log_two(bits)
    down = (near * near >> bits + 1) // two
    if down > 100_000:
        # v <= Phi(-a) <= e^(-a**2/2) <= 2**-down; and 1 - v likewise.
        return side > 0 and delta > 0 and delta.denominator.bit_length() < down
    exponent = -(far * far >> bits + 1) - 1, -(near * near >> bits + 1)
    lifted = exponent[0] + down * two, exponent[1] + down * (two + 2)
    value = times(exp(lifted, bits), point.mills(), bits)
    root = root_two_pi(bits)
    if side > 0:
        return value[1] <= delta * (root[0] << down)
    return value[0] >= (1 - delta) * (root[1] << down)
