"""How far a line is looked at: where it is cut, and up to where every node is evaluated.

No bound rests on what is chosen here: a bad choice costs width.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from interlace.core.composition.contour.blocks import bounds
from interlace.core.composition.contour.kernels import Kernel, LatticeKernel, RealKernel
from interlace.core.composition.contour.model import Model
from interlace.core.composition.contour.saddle import Saddle

#: What a bound may add, relative to delta, before more work is done for it.
CLOSE = 1e-13
#: The shares of smoothing, and of what lies beyond the end, in what may be left.
_SMOOTHING, _BEYOND = 0.6, 0.05
#: A Gaussian factor is cut where its exponent is at most this large; smaller where less is asked.
_CUT = 36.0
#: Most nodes of a grid, most blocks beyond it.
_NODES, _BLOCKS = 1 << 19, 1 << 18
#: How many blocks are looked at to tell how large |phi| usually is.
_LOOKED_AT, _GOLDEN = 48, 0.6180339887498949
#: Not worth a thought, in nanoseconds.
_LITTLE = 1e6
#: About how many nanoseconds a node takes, and a node or a block with one loss; and how many
#: nanoseconds there are for each number that work is counted in.
_NODE, _NODE_LOSS, _BLOCK_LOSS, _OTHER_LOSS, _PACE = 150.0, 2.5, 12.0, 0.3, 10


@dataclass(frozen=True)
class Cut:
    """The kernel, the variance of what smooths, and the t where the integral ends."""

    kernel: Kernel
    variance: float
    end: float


def cut_of(model: Model, saddle: Saddle, allowed: float) -> Cut:
    """Where smoothing adds about what is ``allowed`` in units of E[e^(c(L - epsilon))]."""
    density = _density(saddle)
    own = model.gaussian.mu_squared
    # A Gaussian loss of mu^2 = v adds v/2 to the mean: more than 1 is never a small change.
    variance = min(_SMOOTHING * allowed / density, 1.0)
    variance = max(variance, 2 * _CUT / (_BLOCKS * model.block_width) ** 2)
    if own >= variance:
        return Cut(RealKernel(), 0.0, math.sqrt(2 * _exponent(own, CLOSE * saddle.relative) / own))
    exponent = _exponent(variance, allowed)
    end = math.sqrt(2 * exponent / (own + variance))
    if model.lattice is not None and math.pi / float(model.lattice.spacing) <= 1.5 * end:
        return Cut(LatticeKernel(model.lattice), 0.0, math.pi / float(model.lattice.spacing))
    return Cut(RealKernel(), variance, end)


def reached(
    model: Model,
    saddle: Saddle,
    cut: Cut,
    lobe: tuple[float, float],
    unseen: float,
    work: int,
) -> tuple[Cut, float]:
    """The cut, nearer where there is too much work, and up to where every node is evaluated.
    ``lobe`` is where the main lobe ends and the step; what is left of the nodes may add ``unseen``.
    """
    start, step = lobe
    if cut.end <= start:
        return cut, start
    node = _node(model)
    most = start + step * most_nodes(model, work)
    blocks = min(model.block_width, (cut.end - start) / 64)
    usual = _usual(model, saddle.c, start, cut.end, blocks, unseen)
    needed = max(start, usual / (math.pi * unseen))
    rest = (cut.end - needed) / blocks * _BLOCK_LOSS * min(model.size, 100)
    if needed > cut.end / 3 or (cut.end - start) / step * node < rest + _LITTLE:
        needed = cut.end
    if isinstance(cut.kernel, LatticeKernel):
        return cut, min(needed, most)
    if most < min(needed, cut.end) and usual / (math.pi * most) > _smoothing(saddle, most):
        # Blocks beyond would add more than to end here.
        own = model.gaussian.mu_squared
        variance = max(cut.variance, 2 * _exponent(0.0, unseen, most) / most**2 - own)
        cut = replace(cut, variance=variance, end=most)
    return cut, min(needed, most, cut.end)


def most_nodes(model: Model, work: int) -> int:
    """How many nodes there is work for."""
    return min(int(work * _PACE / _node(model)), _NODES)


def _node(model: Model) -> float:
    """About how many nanoseconds one node takes."""
    others = sum(kind.size for kind in model.others)
    return _NODE + _NODE_LOSS * model.responses.size + _OTHER_LOSS * others


def _density(saddle: Saddle) -> float:
    """About the density of the loss at epsilon, in units of E[e^(c(L - epsilon))]."""
    return 1 / (math.sqrt(2 * math.pi) * max(math.sqrt(saddle.bend), 1e-3 / saddle.c))


def _smoothing(saddle: Saddle, end: float) -> float:
    return 20 / (end * end) * _density(saddle)


def _exponent(variance: float, allowed: float, end: float | None = None) -> float:
    """With which exponent a Gaussian factor is cut, for what lies beyond to be small."""
    at = math.sqrt(20 / variance) if end is None else end
    return min(max(-math.log(min(_BEYOND * allowed * math.pi * at, 1.0) + 1e-300), 1.0), _CUT)


def _usual(model: Model, c: float, start: float, end: float, width: float, unseen: float) -> float:
    """About the bound of |phi| on blocks of this width."""
    last = min(end - width, start + 4096 * width)
    place = np.modf(_GOLDEN * np.arange(1.0, _LOOKED_AT + 1))[0]
    low = start + (last - start) * place
    enough = np.full(low.size, 0.3 * math.pi * unseen * start)
    found, _ = bounds(model, c, low, low + width, enough)
    return float(np.median(found))
