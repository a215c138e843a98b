"""Choosing a line: its step, where it ends, which of its nodes are evaluated."""

from __future__ import annotations

import math

import numpy as np

from interlace.core.composition.contour.blocks import WORK, Enough, bounded
from interlace.core.composition.contour.frame import Frame
from interlace.core.composition.contour.kernels import Kernel, LatticeKernel, RealKernel
from interlace.core.composition.contour.line import Line
from interlace.core.composition.contour.model import Model
from interlace.core.composition.contour.saddle import Saddle
from interlace.core.composition.contour.values import Cumulants, Floats

Shifts = tuple[tuple[float, float], ...]

#: What a bound may add, relative to delta, before more work is done for it.
_CLOSE = 1e-13
#: The width that smoothing may bring, relative to epsilon.
PRECISION = 4e-10
#: The main lobe ends after this many standard deviations of its Gaussian approximation; a
#: Gaussian factor is cut where its exponent is this large.
_LOBE, _CUT = 10.0, 30.0
#: Most nodes of the main lobe, and most numbers for them; most blocks at first.
_MOST_NODES, _NUMBERS, _BLOCKS = 1 << 17, 1 << 24, 1 << 18
#: How far from c, in widths of the loss, Chernoff bounds are taken.
_SHIFTS = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 14.0, 20.0, 30.0, 50.0)


def drawn(model: Model, saddle: Saddle) -> Line:
    """The line through the saddle's c."""
    frame = framed(model, saddle)
    smooth = model.smoothed(frame.variance) if frame.variance else model
    return frame.line(smooth, _slack(saddle, frame.kernel, PRECISION) * saddle.relative)


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
    kernel, variance, end = _kernel(model, saddle, precision)
    smooth = model.smoothed(variance) if variance else model
    axis = smooth.cumulants(c)
    period, shifts = _period(axis, saddle, _shifts(smooth, saddle))
    step = 2 * math.pi / (period * room)
    if isinstance(kernel, LatticeKernel):
        # Over one period of phi, whose ends are no nodes.
        step = 2 * end / (math.ceil(2 * end / step) | 1)
    lobe = _LOBE / max(math.sqrt(axis.bend), 1e-9 / c)
    nodes = min(_MOST_NODES, max(256, _NUMBERS // smooth.size))
    number = min(math.floor(end / step), math.ceil(min(lobe / step, nodes)))
    start = (number + 0.5) * step
    enough = Enough(
        math.pi * _slack(saddle, kernel, precision) * saddle.relative,
        0.05 / max(math.sqrt(axis.bend), 1e-9 / c),
    )
    return Frame(
        kernel,
        c,
        step,
        max(start, end),
        smooth.gaussian.mu_squared,
        variance,
        axis,
        smooth.nodes(c, np.arange(number + 1.0) * step),
        bounded(smooth, c, np.linspace(0.0, start, 65), start, Enough(0.0, 0.0)),
        bounded(smooth, c, _edges(start, end, smooth.block_width, step), step, enough, work),
        shifts,
    )


def _slack(saddle: Saddle, kernel: Kernel, precision: float) -> float:
    """What bounds of nodes that are not evaluated may add, relative to delta."""
    if isinstance(kernel, LatticeKernel):
        return _CLOSE
    return max(_CLOSE, 0.1 * precision * max(saddle.c * saddle.epsilon, 1.0))


def _kernel(model: Model, saddle: Saddle, precision: float) -> tuple[Kernel, float, float]:
    """The kernel, the variance of what smooths, and the t where the integral ends."""
    c, width = saddle.c, max(math.sqrt(saddle.bend), 1e-3 / saddle.c)
    own = model.gaussian.mu_squared
    allowed = precision * max(c * saddle.epsilon, 1.0) * saddle.relative
    # A Gaussian loss of mu^2 = v adds v/2 to the mean: more than 1 is never a small change.
    variance = min(allowed * math.sqrt(2 * math.pi) * width, 1.0)
    farthest = _BLOCKS * model.block_width
    variance = max(variance, 2 * _CUT / farthest**2)
    if own >= variance:
        return RealKernel(), 0.0, math.sqrt(2 * _CUT / own)
    end = math.sqrt(2 * _CUT / (own + variance))
    if model.lattice is not None and math.pi / float(model.lattice.spacing) <= 1.5 * end:
        return LatticeKernel(model.lattice), 0.0, math.pi / float(model.lattice.spacing)
    return RealKernel(), variance, end


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


def _period(axis: Cumulants, saddle: Saddle, shifts: Shifts) -> tuple[float, Shifts]:
    """A period for which both sides' aliases are close to nothing, and the shifts that show it."""
    room = -math.log(_CLOSE * saddle.relative / 4)
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
