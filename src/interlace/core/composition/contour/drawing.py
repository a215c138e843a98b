"""Choosing a line: its step, where it ends, which of its nodes are evaluated."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from interlace.core.composition.contour.blocks import Blocks, Enough, bounded
from interlace.core.composition.contour.kernels import Kernel, LatticeKernel, RealKernel
from interlace.core.composition.contour.line import Line
from interlace.core.composition.contour.model import Model
from interlace.core.composition.contour.rounding import CHAIN
from interlace.core.composition.contour.saddle import Saddle
from interlace.core.composition.contour.values import Cumulants, Floats, Nodes

Booleans = npt.NDArray[np.bool_]

#: What a bound may add, relative to delta, before more work is done for it.
_CLOSE = 1e-13
#: The width that smoothing may bring, relative to epsilon.
_SMOOTH = 1.5e-10
#: The main lobe ends after this many standard deviations of its Gaussian approximation; a
#: Gaussian factor is cut where its exponent is this large.
_LOBE, _CUT = 10.0, 30.0
#: Most nodes of the main lobe, most numbers for those beyond it, most blocks at first.
_MOST_NODES, _BEYOND, _BLOCKS = 1 << 17, 1 << 20, 1 << 18
#: How far from c, in widths of the loss, Chernoff bounds are taken.
_SHIFTS = (1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 14.0, 20.0, 30.0, 50.0)


def drawn(model: Model, saddle: Saddle) -> Line:
    """The line through the saddle's c."""
    c = saddle.c
    kernel, variance, end = _kernel(model, saddle)
    smooth = model.smoothed(variance) if variance else model
    axis = smooth.cumulants(c)
    shifts = _shifts(smooth, saddle)
    period = _period(axis, saddle, shifts)
    step = 2 * math.pi / period
    if isinstance(kernel, LatticeKernel):
        # Over one period of phi, whose ends are no nodes.
        step = 2 * end / (math.ceil(2 * end / step) | 1)
    lobe = _LOBE / max(math.sqrt(axis.bend), 1e-9 / c)
    first = min(math.floor(end / step), math.ceil(min(lobe / step, _MOST_NODES)))
    edges = _edges((first + 0.5) * step, end, smooth.block_width, step)
    slack = _slack(saddle, kernel) * saddle.relative
    enough = Enough(math.pi * slack, 0.05 / max(math.sqrt(axis.bend), 1e-9 / c))
    blocks = bounded(smooth, c, edges, step, enough)
    counts = np.ceil(blocks.high / step) - np.ceil(blocks.low / step)
    shares = counts * blocks.bound * kernel.bounds(c, blocks.low) * (step / math.pi)
    chosen = _largest(shares, counts * model.size, slack)
    t = np.arange(first + 1.0) * step
    beyond = _nodes_in(blocks.where(chosen), step) * step
    nodes = Nodes.joined([smooth.nodes(c, t), smooth.nodes(c, beyond)])
    tail = float(shares[~chosen].sum()) * (1 + 1e-9)
    if isinstance(kernel, RealKernel):
        tail += _cut(smooth.gaussian.mu_squared, end - step)
    area = blocks.area + _lobe_area(smooth, c, (first + 0.5) * step)
    lifted = variance / math.pi * math.exp(variance / 8) * area * (1 + 1e-9)
    return Line(kernel, c, step, axis, np.concatenate([t, beyond]), nodes, tail, lifted, shifts)


def _slack(saddle: Saddle, kernel: Kernel) -> float:
    """What bounds of nodes that are not evaluated may add, relative to delta."""
    if isinstance(kernel, LatticeKernel):
        return _CLOSE
    return max(_CLOSE, 0.1 * _SMOOTH * max(saddle.c * saddle.epsilon, 1.0))


def _kernel(model: Model, saddle: Saddle) -> tuple[Kernel, float, float]:
    """The kernel, the variance of what smooths, and the t where the integral ends."""
    c, width = saddle.c, max(math.sqrt(saddle.bend), 1e-3 / saddle.c)
    own = model.gaussian.mu_squared
    allowed = _SMOOTH * max(c * saddle.epsilon, 1.0) * saddle.relative
    variance = allowed * math.sqrt(2 * math.pi) * width
    farthest = _BLOCKS * model.block_width
    variance = max(variance, 2 * _CUT / farthest**2)
    if own >= variance:
        return RealKernel(), 0.0, math.sqrt(2 * _CUT / own)
    end = math.sqrt(2 * _CUT / (own + variance))
    if model.lattice is not None and math.pi / float(model.lattice.spacing) <= 1.5 * end:
        return LatticeKernel(model.lattice), 0.0, math.pi / float(model.lattice.spacing)
    return RealKernel(), variance, end


def _shifts(model: Model, saddle: Saddle) -> tuple[tuple[float, float], ...]:
    c = saddle.c
    found = [(-c, 0.0)]
    for shift in _SHIFTS:
        for side in (1, -1):
            other = c + side * shift / saddle.width
            if other > 0:
                axis = model.cumulants(other)
                most = other * math.log(other) - (other + 1) * math.log1p(other)
                found.append((other - c, axis.value + axis.error + most))
    return tuple(found)


def _period(axis: Cumulants, saddle: Saddle, shifts: tuple[tuple[float, float], ...]) -> float:
    """A period for which both sides' aliases are close to nothing."""
    room = -math.log(_CLOSE * saddle.relative / 4)
    longest = 0.0
    for side in (1, -1):
        longest = max(
            longest,
            min(
                (found - axis.value - shift * saddle.epsilon + room) / abs(shift)
                for shift, found in shifts
                if shift * side > 0
            ),
        )
    return longest


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


def _largest(shares: Floats, work: Floats, allowed: float) -> Booleans:
    """The blocks whose nodes are evaluated: the largest shares, as far as there is room for."""
    order = np.argsort(-shares)
    rest = np.cumsum(shares[order][::-1])[::-1]
    affordable = np.cumsum(work[order]) <= _BEYOND
    chosen = np.zeros(shares.size, dtype=np.bool_)
    chosen[order[(rest > allowed) & affordable]] = True
    return chosen


def _nodes_in(blocks: Blocks, step: float) -> Floats:
    """The numbers of the nodes in the blocks."""
    first, last = np.ceil(blocks.low / step), np.ceil(blocks.high / step)
    counts = (last - first).astype(np.int64)
    start = np.repeat(first - (np.cumsum(counts) - counts), counts)
    return np.asarray(start + np.arange(start.size))


def _cut(variance: float, end: float) -> float:
    """1/pi times the integral of e^(-variance t^2/2)/t^2 beyond ``end``."""
    return (
        math.exp(-variance * (1 - CHAIN) * end * end / 2) / end / math.pi if end > 0 else math.inf
    )


def _lobe_area(model: Model, c: float, end: float) -> float:
    """An upper bound of the integral of |phi| up to ``end``."""
    edges = np.linspace(0.0, end, 65)
    return bounded(model, c, edges, end, Enough(0.0, 0.0)).area
