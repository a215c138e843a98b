"""What a step will probably cost, in floats. Nothing here is trusted: whatever is proposed is
verified in inequality.py before it is used, so a wrong proposal costs room or time, never privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Triple = tuple[float, float, float]

_ROOT = math.sqrt(2 * math.pi)
#: Nodes and weights of Gauss-Legendre on [0, 1], by n.
_RULES = {
    n: tuple(zip([(1 + x) / 2 for x in xs], [w / 2 for w in ws], strict=True))
    for n, xs, ws in (
        (
            3,
            (-0.7745966692414834, 0.0, 0.7745966692414834),
            (0.5555555555555556, 0.8888888888888888, 0.5555555555555556),
        ),
        (
            4,
            (-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526),
            (0.34785484513745385, 0.6521451548625461, 0.6521451548625461, 0.34785484513745385),
        ),
        (
            8,
            (
                -0.9602898564975363, -0.7966664774136267, -0.525532409916329, -0.1834346424956498,
                0.1834346424956498, 0.525532409916329, 0.7966664774136267, 0.9602898564975363,
            ),
            (
                0.10122853629037626, 0.22238103445337448, 0.31370664587788727, 0.362683783378362,
                0.362683783378362, 0.31370664587788727, 0.22238103445337448, 0.10122853629037626,
            ),
        ),
    )
}  # fmt: skip


def slope(t: float, epsilon: float, w: float, after: float) -> float:
    """How fast the excess of inequality.py grows with the w after the step."""
    half = (epsilon * epsilon + t * t) / (2 * after) - t * t / (2 * w) + (after - w) / 8
    shift = t * epsilon / after
    near = math.exp(min(shift - half - epsilon / 2, 700))
    far = math.exp(min(-shift - half - epsilon / 2, 700))
    return (near + far) / (2 * math.sqrt(after))


def cost(t: float, epsilon: float, w: float) -> float:
    """About what w loses, at most w; ``t`` >= 0, ``w`` > 0.

    >>> abs(cost(0.0, 0.1, 1.0) / (0.01 + 0.0001 / 6 * 0.75) - 1) < 1e-3
    True
    """
    square = epsilon * epsilon
    if 16 * square < w and t * epsilon < w:
        # The first terms of its series in epsilon.
        start = square * (1 + square / 6 * (1 / w - 0.25 - t * t / (w * w)))
        return _newton(lambda lost: _smooth(t, epsilon, w, lost), (t, epsilon, w), start)
    plain = _Plain(t, epsilon, w)
    if plain.excess(w) >= 0:
        return w
    return _newton(plain.excess, (t, epsilon, w), square)


def _newton(excess: Callable[[float], float], at: Triple, start: float) -> float:
    # On what w loses: the excess falls with it, and bisection guards every step.
    t, epsilon, w = at
    low, high = 0.0, w
    lost = min(start, w * 3 / 4)
    for turn in range(150):
        found = excess(lost)
        if found > 0:
            low = lost
        else:
            high = lost
        move = found / max(slope(t, epsilon, w, w - lost), 1e-300)
        after = lost + move
        # Far in a tail the excess is exponential, and Newton's steps too short.
        if not low < after < high or (turn > 8 and turn % 2):
            after = (low + high) / 2
        # Newton's error is about the square of its step.
        if abs(after - lost) <= 1e-5 * lost or w - lost <= 1e-300:
            return after
        lost = after
    return lost


def _smooth(t: float, epsilon: float, w: float, lost: float) -> float:
    """The excess as a difference of two integrals of positive functions: nothing cancels.

    u(t + e) + u(t - e) - 2 cosh(e/2) u(t) is an integral over [-e, e] of the density, and
    u(t, w) - u(t, w') one over [w', w]: the equation of inequality.py, solved.
    """
    after = w - lost
    inner = 0.0
    small = 256 * epsilon * epsilon < w and 16 * t * epsilon < w
    for x, weight in _RULES[4 if small else 8]:
        z = epsilon * x
        bell = math.exp(-z * z / (2 * after)) * math.cosh(t * z / after)
        inner += weight * math.sinh((epsilon - z) / 2) * bell

    def density(below: float) -> float:
        y = w - below
        return math.exp(below / 8 - t * t * below / (2 * w * y)) / math.sqrt(y)

    outer = sum([weight * density(lost * x) for x, weight in _RULES[3]])
    fall = math.exp(-epsilon / 2)
    return 4 * fall * density(lost) * inner * epsilon - (1 + fall * fall) / 2 * outer * lost


class _Plain:
    """The excess by Mills ratios, as inequality.py has it."""

    def __init__(self, t: float, epsilon: float, w: float) -> None:
        self.t, self.epsilon, self.w = t, epsilon, w
        self.base = t * t / (2 * w) + w / 8 - epsilon / 2
        root = math.sqrt(w)
        self.side = -1 if t / root - root / 2 < 0 else 1
        self.left = (1 + math.exp(-epsilon)) * self._pair(t, w)

    def _pair(self, t: float, w: float) -> float:
        root = math.sqrt(w)
        near, far = t / root - root / 2, t / root + root / 2
        return mills(near) - mills(far) if near >= 0 else mills(-near) + mills(far)

    def excess(self, lost: float) -> float:
        try:
            return self._excess(self.w - lost)
        except OverflowError:
            return math.inf

    def _excess(self, after: float) -> float:
        up, far = self.t - self.epsilon, self.t + self.epsilon
        right = self._term(abs(up), after) + self._term(far, after)
        if self.side < 0:
            return self.left - right
        if up < 0:
            over, under = math.exp(self.base - up / 2), math.exp(self.base + up / 2)
            right += _ROOT * (over - under)
        return right - self.left

    def _term(self, t: float, w: float) -> float:
        side = -1 if w and t / math.sqrt(w) - math.sqrt(w) / 2 < 0 else 1
        part = 0.0
        if w:
            exponent = self.base - t * t / (2 * w) - w / 8
            part = math.exp(exponent) * self._pair(t, w) if exponent > -700 else 0.0
        return part if side == self.side else _ROOT * math.exp(self.base - t / 2) - part


def mills(x: float) -> float:
    """The Mills ratio; OverflowError far below 0."""
    if x > 25:
        y = 1 / (x * x)
        return (1 - y * (1 - 3 * y * (1 - 5 * y * (1 - 7 * y * (1 - 9 * y))))) / x
    return _ROOT / 2 * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))


def variance(epsilon: float, log_delta: float) -> float:
    """About the w for which sqrt(w)-GDP gives (epsilon, delta), from log delta < 0."""
    low, high = -690.0, 690.0
    for _ in range(200):
        middle = (low + high) / 2
        if log_profile(epsilon, math.exp(middle)) < log_delta:
            low = middle
        else:
            high = middle
    return math.exp(low)


def covering(epsilon: float) -> float:
    """About the w with Phi(sqrt(w)/2) = 1/(1 + e^-epsilon)."""
    if epsilon < 1e-3:
        # Phi(x) - 1/2 = (x - x**3/6 + ...) / sqrt(2 pi), turned round.
        t = _ROOT * math.tanh(epsilon / 2) / 2
        x = t + t**3 / 6 + 7 * t**5 / 120
        return 4 * x * x
    wanted = -epsilon - math.log1p(math.exp(-epsilon))
    low, high = 0.0, math.sqrt(2 * epsilon)
    for _ in range(100):
        x = (low + high) / 2
        if math.log(mills(x) / _ROOT) - x * x / 2 > wanted:
            low = x
        else:
            high = x
    return 4 * high * high


def distance(w: float, log_delta: float) -> float:
    """About the epsilon for which sqrt(w)-GDP gives (epsilon, delta), at least 0."""
    low, high = 0.0, 1.0
    while log_profile(high, w) > log_delta and high < 1e12:
        low, high = high, 2 * high
    for _ in range(100):
        middle = (low + high) / 2
        if log_profile(middle, w) > log_delta:
            low = middle
        else:
            high = middle
    return low


def log_profile(epsilon: float, w: float) -> float:
    """About the logarithm of the delta that sqrt(w)-GDP gives at epsilon."""
    root = math.sqrt(w)
    a, b = epsilon / root - root / 2, epsilon / root + root / 2
    if a < 0:
        rest = math.exp(-a * a / 2) * (mills(-a) + mills(b)) / _ROOT
        return math.log1p(-rest) if rest < 1 else -math.inf
    difference = mills(a) - mills(b)
    return -a * a / 2 + math.log(max(difference, 1e-300) / _ROOT)
