"""Many two-point losses as few weighted ones, with a bound of what that changes.

log cosh(z (s + 1/2)) - log cosh(z/2) is analytic in z for |z| |s + 1/2| < pi/2, so that between
two near epsilons it is a polynomial to many digits: the sum over all losses of a bin is a weighted
sum over its Chebyshev points (FORMULAS 2.11). After one pass over the losses nothing depends on
how many they were.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from interlace.core.composition.contour.responses import Responses
from interlace.core.composition.contour.rounding import UNIT
from interlace.core.composition.contour.values import Floats

#: Up to this many distinct losses nothing is compressed.
FEW = 400
#: Bins for each doubling of epsilon, and Chebyshev points in each.
BINS, POINTS = 8, 10
_CHUNK = 1 << 15
#: What is lost in all, relative to the count: in a moment 230 units (the recurrence, and a pairwise
#: sum), by the 10 x 10 products for the weights 85 in each of 10.
_MOMENTS = 1100 * UNIT


@dataclass(frozen=True, eq=False)
class Compressed:
    """The weighted points, and for each bin where it starts, its middle, half-width and how many
    fell in it."""

    points: Responses
    start: Floats
    middle: Floats
    width: Floats
    weight: Floats

    def bins(self, but: Responses) -> Responses:
        """Every loss ``but`` some as one near the middle of its bin: for bounds of |phi|, which
        may take no loss twice."""
        weight = self.weight * (1 - 1e-9)
        bins = np.searchsorted(self.start, but.epsilon, side="right") - 1
        np.subtract.at(weight, bins, but.count)
        return Responses(self.middle, np.maximum(weight, 0), self.width)

    def error(self, modulus: float) -> float:
        """By how much log E[e^(sL)] may differ where |s + 1/2| <= ``modulus``; inf if too far.

        Interpolation at n + 1 Chebyshev points of a function bounded by M inside the ellipse
        whose semi-axes add up to rho half-widths errs by at most 4 M rho^-n / (rho - 1). The
        ellipse lies in |z| <= reach, where |log cosh(z a)| <= -log cos(|z| a).
        """
        farthest = 0.95 * math.pi / (2 * max(modulus, 0.5))
        reach = np.minimum(2 * self.middle, farthest)
        axis = (reach - self.middle) / self.width
        if axis.min() <= 1.5:
            return math.inf
        rho = axis + np.sqrt(axis * axis - 1)
        largest = _minus_log_cos(reach * modulus) + _minus_log_cos(reach / 2)
        gap = 4 * largest * rho ** -(POINTS - 1.0) / (rho - 1)
        # A moment that is off by r of its count moves the sum by r times the sum of the moduli of
        # the Chebyshev coefficients, which fall faster than by half.
        edge = self.middle + self.width
        rounded = _MOMENTS * (_minus_log_cos(edge * modulus) + _minus_log_cos(edge / 2))
        return float(self.weight @ (gap + rounded)) * 1.01


def _minus_log_cos(x: Floats) -> Floats:
    return np.asarray(-np.log1p(-2 * np.sin(x / 2) ** 2))


def compressed(losses: Responses) -> Compressed | None:
    """The losses in bins; None where they are few."""
    if losses.epsilon.size <= FEW:
        return None
    low, high = float(losses.epsilon[0]), float(losses.epsilon[-1])
    edges = low * 2.0 ** (np.arange(math.ceil(BINS * math.log2(high / low)) + 2) / BINS)
    ends = np.searchsorted(losses.epsilon, edges)
    filled = np.flatnonzero(np.diff(ends))
    if filled.size * POINTS >= losses.size:
        return None
    # A little wider: the edges were rounded.
    middle = (edges[filled] + edges[filled + 1]) / 2
    width = (edges[filled + 1] - edges[filled]) / 2 * (1 + 1e-9)
    moments = np.array(
        [
            _moments(losses, ends[i], ends[i + 1], m, w)
            for i, m, w in zip(filled, middle, width, strict=True)
        ]
    )
    order = np.arange(POINTS)
    angles = (order + 0.5) * np.pi / POINTS
    # In whole parts of a turn first: a cosine of a large angle is known less well.
    basis = np.cos(np.outer(order, 2 * order + 1) % (4 * POINTS) * (np.pi / (2 * POINTS)))
    basis *= 2 / POINTS
    basis[0] /= 2
    epsilon = middle[:, None] + width[:, None] * np.cos(angles)
    kept = Responses(epsilon.ravel(), (moments @ basis).ravel())
    return Compressed(kept, edges[filled], middle, width, moments[:, 0])


def _moments(losses: Responses, start: int, end: int, middle: float, width: float) -> Floats:
    """The sums of the Chebyshev polynomials over the losses from ``start`` to ``end``."""
    sums: list[list[float]] = [[] for _ in range(POINTS)]
    for i in range(start, end, _CHUNK):
        count = losses.count[i : min(i + _CHUNK, end)]
        x = (losses.epsilon[i : min(i + _CHUNK, end)] - middle) / width
        before, now = count, count * x
        for k in range(POINTS):
            sums[k].append(float(before.sum()))
            before, now = now, 2 * x * now - before
    return np.array([math.fsum(parts) for parts in sums])
