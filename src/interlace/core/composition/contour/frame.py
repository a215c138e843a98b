"""What a line of integration is made of, and how one more loss is added to it.

All of it sums over the losses, so that adding one costs the same however many there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from interlace.core.composition.contour.blocks import Blocks
from interlace.core.composition.contour.grid import Grid
from interlace.core.composition.contour.kernels import Kernel, RealKernel
from interlace.core.composition.contour.line import Line
from interlace.core.composition.contour.model import Kind, Model
from interlace.core.composition.contour.rounding import CHAIN
from interlace.core.composition.contour.values import Cumulants, Floats, Nodes

#: Most numbers for nodes that are evaluated beyond the main lobe.
_BEYOND = 1 << 22


@dataclass(frozen=True, eq=False)
class Frame:
    """The nodes of the main lobe on the line through ``c``, which is cut at ``end``, and those
    next to it that are a ``grid``; bounds of |phi| on blocks beyond them, log-moments at other c,
    and the Gaussian losses that are in it: mu^2 in all, and ``variance`` of what smooths."""

    kernel: Kernel
    c: float
    step: float
    end: float
    gaussian: float
    variance: float
    axis: Cumulants
    nodes: Nodes
    grid: Grid | None
    beyond: Blocks
    shifts: tuple[tuple[float, float], ...]

    @property
    def t(self) -> Floats:
        """The nodes of the main lobe."""
        return np.arange(float(self.nodes.phase.size)) * self.step

    def plus(self, kind: Kind, kernel: Kernel) -> Frame:
        """With one more loss; ``kernel`` is for the lattice with it, of the same spacing."""
        shifts = []
        for shift, found in self.shifts:
            more = kind.cumulants(self.c + shift)
            shifts.append((shift, found + more.value + more.error))
        return replace(
            self,
            kernel=kernel,
            axis=self.axis + kind.cumulants(self.c),
            nodes=self.nodes + kind.nodes(self.c, self.t),
            grid=None if self.grid is None else self.grid.plus([kind], self.c),
            beyond=self.beyond.narrowed(kind, self.c),
            shifts=tuple(shifts),
        )

    def line(self, model: Model | None = None, allowed: float = math.inf) -> Line:
        """The line. With the ``model``, nodes beyond the grid are evaluated until what is left of
        them adds less than ``allowed``."""
        blocks, t, nodes = self.beyond, self.t, self.nodes
        counts = np.ceil(blocks.high / self.step) - np.ceil(blocks.low / self.step)
        weights = self.kernel.bounds(self.c, blocks.low) * (self.step / math.pi)
        shares = counts * blocks.bound * weights
        areas = counts * blocks.bound * (self.step / math.pi)
        if model is not None:
            chosen = _largest(shares, counts * model.size, allowed)
            if chosen.any():
                far = _nodes_in(blocks.where(chosen), self.step) * self.step
                t = np.concatenate([t, far])
                nodes = Nodes.joined([nodes, model.nodes(self.c, far)])
                shares, areas = shares[~chosen], areas[~chosen]
        tail, rest = float(shares.sum()), float(areas.sum())
        if isinstance(self.kernel, RealKernel):
            tail += cut(self.gaussian, self.end - self.step)
        if self.variance:
            rest += _beyond(self.gaussian, self.end - self.step)
        return Line(
            self.kernel,
            self.c,
            self.step,
            self.axis,
            t,
            nodes,
            self.grid,
            tail * (1 + 1e-9),
            self.variance,
            rest * (1 + 1e-9),
            self.shifts,
        )


def _largest(shares: Floats, work: Floats, allowed: float) -> npt.NDArray[np.bool_]:
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


def _beyond(variance: float, end: float) -> float:
    """1/pi times the integral of e^(-variance t^2/2) beyond ``end``, from above."""
    if end <= 0:
        return math.inf
    fall = variance * (1 - CHAIN) * end
    return math.exp(-fall * end / 2) / fall / math.pi


def cut(variance: float, end: float) -> float:
    """1/pi times the integral of e^(-variance t^2/2)/t^2 beyond ``end``, from above."""
    if end <= 0:
        return math.inf
    fall = variance * (1 - CHAIN) * end
    return math.exp(-fall * end / 2) / end / math.pi * min(1.0, 1 / (fall * end))
