"""Choosing a line: its step, where it ends, which of its nodes are evaluated.

No bound rests on what is chosen here: a bad choice costs width.
"""

from __future__ import annotations

import math

import numpy as np

from interlace.core.composition.contour.blocks import WORK, Enough, bounded
from interlace.core.composition.contour.frame import Frame
from interlace.core.composition.contour.gaussian import GaussianLoss
from interlace.core.composition.contour.grid import Grid
from interlace.core.composition.contour.kernels import LatticeKernel
from interlace.core.composition.contour.line import Line
from interlace.core.composition.contour.model import Model
from interlace.core.composition.contour.reach import CLOSE, cut_of, most_nodes, reached
from interlace.core.composition.contour.saddle import Saddle
from interlace.core.composition.contour.values import Cumulants, Floats

Shifts = tuple[tuple[float, float], ...]

#: The width that may be left, relative to epsilon, and the shares in it of aliases and of nodes
#: that are not evaluated. The rest is for smoothing, and for what lies beyond the end.
PRECISION = 4e-10
_ALIASES, _UNSEEN = 0.02, 0.1
#: Where c epsilon is below this, the width is relative to this over c instead.
_LEAST = 0.1
#: The main lobe ends after this many standard deviations of its Gaussian approximation.
_LOBE = 10.0
#: Most nodes of the main lobe, and most numbers for them.
_MOST_NODES, _NUMBERS = 1 << 17, 1 << 24
#: How far from c, in widths of the loss, Chernoff bounds are taken.
_SHIFTS = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 14.0, 20.0, 30.0, 50.0)


def drawn(model: Model, saddle: Saddle) -> Line:
    """The line through the saddle's c."""
    frame = framed(model, saddle)
    smooth = model.smoothed(frame.variance) if frame.variance else model
    return frame.line(smooth, _unseen(saddle, frame.kernel, PRECISION))


def framed(
    model: Model,
    saddle: Saddle,
    room: float = 1.0,
    precision: float = PRECISION,
    work: int = WORK,
) -> Frame:
    """The frame of that line, for an interval of this relative width; with ``room`` > 1 its
    period is so many times as long, for losses that will be added."""
    c = saddle.c
    cut = cut_of(model, saddle, _allowed(saddle, precision))
    axis, around = model.cumulants(c), _shifts(model, saddle)
    close = CLOSE
    if cut.variance:
        close = max(CLOSE, _ALIASES * _allowed(saddle, precision) / saddle.relative)
    period, _ = _period(axis, saddle, around, close)
    unseen = _unseen(saddle, cut.kernel, precision)
    number = _lobe(model, axis, c, cut.end, 2 * math.pi / (period * room))
    start = (number + 0.5) * 2 * math.pi / (period * room)
    cut, evaluated = reached(
        model, saddle, cut, (start, 2 * math.pi / (period * room)), unseen, work
    )
    smooth = model.smoothed(cut.variance) if cut.variance else model
    axis, around = _smoothed(axis, c, around, cut.variance)
    period, shifts = _period(axis, saddle, around, close)
    step = 2 * math.pi / (period * room)
    if isinstance(cut.kernel, LatticeKernel):
        # Over one period of phi, whose ends are no nodes.
        step = 2 * cut.end / (math.ceil(2 * cut.end / step) | 1)
    number = _lobe(smooth, axis, c, cut.end, step)
    last = min(math.floor(min(cut.end, evaluated) / step), number + most_nodes(model, work))
    grid = Grid.of(number + 1, last, step).plus(smooth.kinds, c) if last > number else None
    start = (max(number, last) + 0.5) * step
    enough = Enough(
        math.pi * unseen,
        math.pi * unseen / cut.variance if cut.variance else math.inf,
    )
    return Frame(
        cut.kernel,
        c,
        step,
        max(start, cut.end),
        smooth.gaussian.mu_squared,
        cut.variance,
        axis,
        smooth.nodes(c, np.arange(number + 1.0) * step),
        grid,
        bounded(smooth, c, _edges(start, cut.end, smooth.block_width, step), step, enough, work),
        shifts,
    )


def _allowed(saddle: Saddle, precision: float) -> float:
    """What may be left of delta, in units of E[e^(c(L - epsilon))]."""
    return precision * max(saddle.c * saddle.epsilon, _LEAST) * saddle.relative


def _unseen(saddle: Saddle, kernel: object, precision: float) -> float:
    """What bounds of nodes that are not evaluated may add, in those units."""
    close = CLOSE * saddle.relative
    if isinstance(kernel, LatticeKernel):
        return close
    return max(close, _UNSEEN * _allowed(saddle, precision))


def _lobe(model: Model, axis: Cumulants, c: float, end: float, step: float) -> int:
    """The number of the last node of the main lobe."""
    lobe = _LOBE / max(math.sqrt(axis.bend), 1e-9 / c)
    nodes = min(_MOST_NODES, max(256, _NUMBERS // model.size))
    return min(math.floor(end / step), math.ceil(min(lobe / step, nodes)))


def _shifts(model: Model, saddle: Saddle) -> Shifts:
    c = saddle.c
    # At c' = 0 it is the total mass: 1, or a little more where masses are upper ends.
    mass = model.cumulants(0.0)
    found = [(-c, mass.value + mass.error)]
    for shift in _SHIFTS:
        for side in (1, -1):
            other = c + side * shift / saddle.width
            if other > 0:
                axis = model.cumulants(other)
                # c' log c' - (c' + 1) log(c' + 1), without cancellation.
                most = -math.log1p(other) - other * math.log1p(1 / other)
                found.append((other - c, axis.value + axis.error + most))
    return tuple(found)


def _smoothed(
    axis: Cumulants, c: float, shifts: Shifts, variance: float
) -> tuple[Cumulants, Shifts]:
    """The same with one more Gaussian loss."""
    if not variance:
        return axis, shifts
    more = GaussianLoss(variance)
    found = []
    for shift, value in shifts:
        added = more.cumulants(max(c + shift, 0.0))
        found.append((shift, value + added.value + added.error))
    return axis + more.cumulants(c), tuple(found)


def _period(axis: Cumulants, saddle: Saddle, shifts: Shifts, close: float) -> tuple[float, Shifts]:
    """A period for which both sides' aliases are close to nothing, and the shifts that show it."""
    room = -math.log(close * saddle.relative / 4)
    needed = [
        min(
            ((found - axis.value - shift * saddle.epsilon + room) / abs(shift), shift, found)
            for shift, found in shifts
            if shift * side > 0
        )
        for side in (1, -1)
    ]
    return max(period for period, *_ in needed), tuple((shift, found) for _, shift, found in needed)


def _edges(start: float, end: float, width: float, step: float) -> Floats:
    """Blocks that grow with t up to ``width``."""
    edges = [start]
    while edges[-1] < end and edges[-1] / 4 < width:
        edges.append(edges[-1] + max(edges[-1] / 4, 4 * step))
    if edges[-1] < end:
        number = math.ceil((end - edges[-1]) / width)
        edges.extend(np.linspace(edges[-1], end, number + 1)[1:])
    if start >= end:
        return np.array([start])
    edges = [x for x in edges if x < end]
    return np.array([*edges, end])
