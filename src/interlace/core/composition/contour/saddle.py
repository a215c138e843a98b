"""Where to integrate: the saddle point, and a first guess of delta from it.

Plain floats and no bound: a badly chosen line only costs width (FORMULAS 2.11).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from interlace.core.composition.contour.model import Model

#: log c is sought in this range, to this precision.
_LEAST, _MOST, _NEAR = -600.0, 600.0, 1e-4
_STEPS = 80
#: Far out on the axis everything is at its largest value: no width is left.
_FLAT = 1e-290


@dataclass(frozen=True)
class Saddle:
    """The line through ``c``: the epsilon whose saddle it is; about the log of delta there, and
    delta in units of E[e^(c(L - epsilon))]; the variance of the tilted loss, and the width of
    what is integrated, that of the kernel included."""

    c: float
    epsilon: float
    log_delta: float
    relative: float
    bend: float
    width: float


def saddle(model: Model, c: float) -> Saddle:
    """The saddle of K(s) - s epsilon - log s(s + 1) is at c for epsilon = K'(c) - 1/c - 1/(c+1)."""
    found = model.cumulants(c)
    epsilon = found.slope - 1 / c - 1 / (1 + c)
    bend = max(found.bend + c**-2 + (1 + c) ** -2, _FLAT)
    # Laplace's method.
    log_relative = -math.log(c) - math.log1p(c) - math.log(2 * math.pi * bend) / 2
    log_delta = found.value - c * epsilon + log_relative
    return Saddle(c, epsilon, log_delta, math.exp(log_relative), found.bend, math.sqrt(bend))


def for_epsilon(model: Model, epsilon: float) -> Saddle:
    """The saddle for about this epsilon."""
    return _where(model, lambda s: s.epsilon - epsilon)


def for_delta(model: Model, log_delta: float) -> Saddle:
    """The saddle for about this delta."""
    return _where(model, lambda s: log_delta - s.log_delta)


def _where(model: Model, gap: Callable[[Saddle], float]) -> Saddle:
    """The saddle where ``gap``, which grows with c, is about 0; an end of the range where there
    is none."""

    def at(x: float) -> tuple[float, float, Saddle]:
        found = saddle(model, math.exp(x))
        return x, gap(found), found

    # The width of the loss sets the scale of c.
    x = -math.log(max(model.cumulants(0.0).bend, 1e-200)) / 2
    low = high = at(min(max(x, _LEAST), _MOST))
    step = 1.0
    while low[1] > 0 and low[0] > _LEAST:
        low, high, step = at(max(_LEAST, low[0] - step)), low, 2 * step
    while high[1] < 0 and high[0] < _MOST:
        low, high, step = high, at(min(_MOST, high[0] + step)), 2 * step
    for k in range(_STEPS):
        if high[0] - low[0] <= _NEAR or low[1] >= 0 or high[1] <= 0:
            break
        part = -low[1] / (high[1] - low[1]) if k % 3 < 2 else 0.5
        middle = at(low[0] + (high[0] - low[0]) * min(0.98, max(0.02, part)))
        low, high = (middle, high) if middle[1] < 0 else (low, middle)
    return high[2]
