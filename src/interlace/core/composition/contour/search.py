"""epsilon at a delta, and delta at an epsilon: enclosures for one composed loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

from interlace.core.composition.contour.drawing import drawn
from interlace.core.composition.contour.line import Line
from interlace.core.composition.contour.model import Model
from interlace.core.composition.contour.rounding import UNIT
from interlace.core.composition.contour.saddle import Saddle, for_delta, for_epsilon
from interlace.core.interval import DOWN, ONE, ZERO, Interval

#: Steps of the search in floats; how often an end is moved outwards until it is certified.
_STEPS, _OUTWARDS = 60, 60
#: The search in floats ends this near to log delta, and looks no farther than this.
_NEAR, _FAR = 1e-13, 50.0
#: An end is moved by a little more than is needed at slope c, then gently, then by much.
_MORE, _GENTLE = 1.02, 6
#: Where fewer losses than this are below their largest value, values are listed.
_FEW_MOVED = 12.0
#: Where delta is less than this part of E[e^(c(L - epsilon))], floats draw no line.
_LEAST = 1e-140
#: Where Chernoff's bound is looked at then.
_ANY = (1.0, 1e3, 1e10, 1e50, 1e100)
#: A line serves another epsilon while its c is within this factor and its delta so close.
_NEIGHBOUR, _CLOSE = 2.0, 1e-7


def delta(model: Model, epsilon: Fraction) -> Interval:
    """Encloses delta at ``epsilon`` >= 0."""
    saddle = for_epsilon(model, float(epsilon))
    if model.moved(saddle.c) < _FEW_MOVED and model.edge is not None:
        found = model.edge.delta(epsilon)
        if found is not None:
            return found
    if saddle.relative < _LEAST:
        return Interval(ZERO.lower, min(_chernoff(model, c, epsilon) for c in _ANY))
    found, most = drawn(model, saddle).delta(epsilon), _chernoff(model, saddle.c, epsilon)
    return Interval(found.lower, min(found.upper, most))


def _chernoff(model: Model, c: float, epsilon: Fraction) -> Decimal:
    """An upper bound of delta: E[e^(c(L - epsilon))] times the most of e^-cx (1 - e^-x)."""
    moment = _moment(model, c)
    if moment is None:
        return ONE.upper
    return min(Interval.of(moment - Fraction(c) * epsilon).exp().upper, ONE.upper)


def _moment(model: Model, c: float) -> Fraction | None:
    """An upper bound of the log of E[e^(cL)] times the most of e^-cx (1 - e^-x)."""
    found = model.cumulants(c)
    most = math.log1p(c) + c * math.log1p(1 / c)
    bound = found.value - most + found.error + 32 * UNIT * (abs(found.value) + 1 + most)
    # What is not a number bounds nothing.
    return Fraction(bound) if math.isfinite(bound) else None


def deltas(model: Model, epsilons: Sequence[Fraction]) -> list[Interval]:
    """Encloses delta at each epsilon >= 0. A line serves its neighbours while that is close."""
    found: dict[Fraction, Interval] = {}
    line: Line | None = None
    for at in sorted(set(epsilons)):
        saddle = for_epsilon(model, float(at))
        if model.moved(saddle.c) < _FEW_MOVED or saddle.relative < _LEAST:
            found[at] = delta(model, at)
            continue
        if line is not None and saddle.c < line.c * _NEIGHBOUR:
            low, high = line.log_delta(at)
            if high - low <= _CLOSE:
                found[at] = line.delta(at)
                continue
        line = drawn(model, saddle)
        found[at] = line.delta(at)
    return [found[at] for at in epsilons]


def epsilon(model: Model, share: Interval) -> Interval:
    """Encloses the least epsilon >= 0 at which delta is at most ``share``, 0 < share < 1.

    The search is in floats; an end is certified by delta there, which never grows with epsilon.
    """
    saddle = saddle_of(model, share)
    found = listed(model, saddle, share)
    if found is not None:
        return found
    upper = _enough(model, saddle.c, share)
    if saddle.relative < _LEAST:
        return Interval(ZERO.lower, upper)
    found = on_line(drawn(model, saddle), saddle.epsilon, share)
    return Interval(found.lower, min(found.upper, upper))


def _enough(model: Model, c: float, share: Interval) -> Decimal:
    """An epsilon at which Chernoff's bound is at most ``share``."""
    moment = _moment(model, c)
    if moment is None:
        return Decimal("Infinity")
    room = Interval.of(moment) - Interval(share.lower, share.lower).log()
    return (room / Interval.of(Fraction(c))).clip(0).upper


def saddle_of(model: Model, share: Interval) -> Saddle:
    """The saddle for about the epsilon >= 0 of delta ``share``."""
    found = for_delta(model, float(DOWN.ln(share.lower)))
    return found if found.epsilon > 0 else for_epsilon(model, 0.0)


def listed(model: Model, saddle: Saddle, share: Interval) -> Interval | None:
    """Encloses epsilon where few values of the loss are above it; else None."""
    if model.moved(saddle.c) >= _FEW_MOVED or model.edge is None:
        return None
    return model.edge.epsilon(share)


def on_line(line: Line, start: float, share: Interval) -> Interval:
    """Encloses the least epsilon >= 0 at which delta is at most ``share``; sought from ``start``."""
    goal = (_log(share.lower, -1), _log(share.upper, 1))
    about, slope = _zero(line, start, goal[0])
    low, high = line.log_delta(Fraction(max(about, 0.0)))
    if about <= 0:
        if high <= goal[0]:
            return ZERO
        about = 0.0
    # By what the bounds there miss the goal; log delta falls by about ``slope`` a unit.
    least = max(4e-16 * about, 1e-300)
    above = max(min(high - goal[0], 1.0) / slope * _MORE, least)
    below = max(min(goal[1] - low, 1.0) / slope * _MORE, least)
    upper = _moved(line, about, above, lambda bounds: bounds[1] <= goal[0])
    lower = _moved(line, about, -below, lambda bounds: bounds[0] > goal[1])
    return Interval(
        ZERO.lower if lower is None else Interval.of(lower).lower,
        Decimal("Infinity") if upper is None else Interval.of(upper).upper,
    )


def _log(value: Decimal, side: int) -> float:
    """The logarithm, rounded outwards."""
    found = float(DOWN.ln(value))
    return found + side * (abs(found) * 1e-15 + 1e-300)


def _zero(line: Line, start: float, goal: float) -> tuple[float, float]:
    """Where log delta, which falls, is about ``goal``, and about how fast it falls there: a step at
    slope -c, then secants, between two sides once there are two. Not above 0 where it is below
    ``goal`` at 0 already."""
    above: tuple[float, float] | None = None
    below: tuple[float, float] | None = None
    at, slope, before = max(start, 0.0), line.c, (-1.0, math.inf)
    for k in range(_STEPS):
        gap = line.about(Fraction(at)) - goal
        gap = min(max(gap, -_FAR), _FAR) if not math.isnan(gap) else -_FAR
        if abs(gap) <= _NEAR:
            break
        if k and abs(gap) < _FAR and abs(before[1]) < _FAR and at != before[0]:
            slope = min(max((before[1] - gap) / (at - before[0]), line.c / 8), line.c * 8)
        if gap > 0:
            above = (at, gap)
        else:
            below = (at, gap)
            if at <= 0:
                break
        following = max(0.0, at + gap / slope)
        if k and abs(gap * before[1]) <= _NEAR:
            # What a secant misses is about the product of the last two gaps.
            return following, slope
        following = _between(above, below, following, k)
        if following == at:
            break
        before, at = (at, gap), following
    return at, slope


def _between(
    above: tuple[float, float] | None,
    below: tuple[float, float] | None,
    secant: float,
    k: int,
) -> float:
    """The next point to look at; ``above`` and ``below`` are points with what is left there."""
    if above is None or below is None:
        at = (above or below or (secant, 0.0))[0]
        # Rather too far, for two sides.
        return max(0.0, at + (secant - at) * (1.0 if k < _GENTLE else 2.0))
    if k < _GENTLE and above[0] < secant < below[0]:
        return secant
    part = above[1] / (above[1] - below[1]) if k % 4 < 3 else 0.5
    return above[0] + (below[0] - above[0]) * min(max(part, 1e-3), 1 - 1e-3)


def _moved(
    line: Line, about: float, move: float, certified: Callable[[tuple[float, float]], bool]
) -> Fraction | None:
    """The first of ever farther points where ``certified`` holds of the bounds of log delta."""
    for number in range(_OUTWARDS):
        at = Fraction(about) + Fraction(move)
        if at <= 0:
            return None
        if certified(line.log_delta(at)):
            return at
        move *= 1.5 if number < _GENTLE else 8
    return None
