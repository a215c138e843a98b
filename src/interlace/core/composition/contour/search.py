"""epsilon at a delta, and delta at an epsilon: enclosures for one composed loss."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

from interlace.core.composition.contour.drawing import drawn
from interlace.core.composition.contour.line import Line
from interlace.core.composition.contour.model import Model
from interlace.core.composition.contour.saddle import for_delta, for_epsilon
from interlace.core.interval import DOWN, ZERO, Interval

#: Steps of the search in floats; how often an end is moved outwards until it is certified.
_NEWTON, _OUTWARDS = 20, 60
#: Where fewer losses than this are below their largest value, values are listed.
_FEW_MOVED = 12.0


def delta(model: Model, epsilon: Fraction) -> Interval:
    """Encloses delta at ``epsilon`` >= 0."""
    saddle = for_epsilon(model, float(epsilon))
    if model.edge is not None and model.moved(saddle.c) < _FEW_MOVED:
        found = model.edge.delta(epsilon)
        if found is not None:
            return found
    return drawn(model, saddle).delta(epsilon)


def epsilon(model: Model, share: Interval) -> Interval:
    """Encloses the least epsilon >= 0 at which delta is at most ``share``, 0 < share < 1.

    The search is in floats; an end is certified by delta there, which never grows with epsilon.
    """
    goal = float(DOWN.ln(share.lower))
    saddle = for_delta(model, goal)
    if model.edge is not None and model.moved(saddle.c) < _FEW_MOVED:
        edge = model.edge.epsilon(share)
        if edge is not None:
            return edge
    if saddle.epsilon <= 0:
        saddle = for_epsilon(model, 0.0)
    line = drawn(model, saddle)
    about = _zero(line, saddle.epsilon, goal)
    found = line.delta(Fraction(max(about, 0.0)))
    if about <= 0:
        if found.upper <= share.lower:
            return ZERO
        about = 0.0
    move = _margin(line, about, found)
    return Interval(_lower(line, about, move, share), _upper(model, line, about, move, share))


def _zero(line: Line, start: float, goal: float) -> float:
    """Where log delta is about ``goal``: from ``start`` by secants, the first with slope -c."""
    at, gap, slope = start, line.about(Fraction(start)) - goal, -line.c
    for _ in range(_NEWTON):
        if not math.isfinite(gap):
            return start
        following = at - gap / slope
        if not math.isfinite(following) or following == at:
            break
        found = line.about(Fraction(max(following, 0.0))) - goal
        if abs(found) >= abs(gap):
            break
        if found != gap and following > 0:
            slope = min((found - gap) / (following - at), -line.c / 4)
        at, gap = following, found
        if at <= 0 and gap <= 0:
            break
    return at


def _margin(line: Line, about: float, found: Interval) -> float:
    """A first distance of an end: what the width of the enclosure costs in epsilon."""
    width = float((found.upper - found.lower) / found.upper) if found.upper > 0 else 0.0
    return max(width / line.c, 4e-16 * about, 1e-300)


def _upper(model: Model, line: Line, about: float, move: float, share: Interval) -> Decimal:
    """An epsilon where delta is certified to be at most ``share``."""
    for _ in range(_OUTWARDS):
        at = Fraction(about) + Fraction(move)
        if model.edge is not None and at >= model.edge.largest.upper:
            return model.edge.largest.upper
        if line.delta(at).upper <= share.lower:
            return Interval.of(at).upper
        move *= 4
    return Decimal("Infinity")


def _lower(line: Line, about: float, move: float, share: Interval) -> Decimal:
    """An epsilon where delta is certified to be above ``share``, or 0."""
    for _ in range(_OUTWARDS):
        at = Fraction(about) - Fraction(move)
        if at <= 0:
            break
        if line.delta(at).lower > share.upper:
            return Interval.of(at).lower
        move *= 4
    return Decimal(0)
