"""Bounds of |phi(t)| over whole blocks of t, and the blocks that no bound makes small.

Beyond the main lobe the integrand need not be evaluated: where losses are real-valued, that many
of them are near a multiple of pi at one t happens nowhere, and a few of them prove it for a block
at once. What is left are blocks around recurrences, where losses lie near a common lattice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from interlace.core.composition.contour.model import Kind, Model
from interlace.core.composition.contour.values import Floats

Booleans = npt.NDArray[np.bool_]

#: Into how many parts a block is split, how often, and how many numbers all this usually may take.
_PARTS, _ROUNDS, WORK = 4, 8, 40_000_000
#: From so many blocks on none is split: with few losses the numbers are few, but not the memory.
_MOST_BLOCKS = 1 << 20
#: Blocks are not made shorter than this many steps.
_SHORTEST = 0.5


@dataclass(frozen=True, eq=False)
class Blocks:
    """Adjacent intervals of t with an upper bound of |phi| on each."""

    low: Floats
    high: Floats
    bound: Floats

    @property
    def area(self) -> float:
        """An upper bound of the integral of |phi| over all blocks."""
        return float((self.high - self.low) @ self.bound)

    def narrowed(self, kind: Kind, c: float) -> Blocks:
        """The blocks with one more loss."""
        more = np.exp(np.minimum(kind.log_bounds(c, self.low, self.high), 0.0))
        # Ten units for the exponential; a product that vanishes is no bound.
        return Blocks(self.low, self.high, np.maximum(self.bound * more, 1e-300) * (1 + 4e-15))

    def where(self, chosen: Booleans) -> Blocks:
        return Blocks(self.low[chosen], self.high[chosen], self.bound[chosen])


@dataclass(frozen=True)
class Enough:
    """When bounds are small enough: the integral of |phi|/t^2 at most ``weighted``, that of |phi|
    at most ``area``."""

    weighted: float
    area: float

    def most(self, low: Floats, high: Floats, blocks: int) -> Floats:
        """How large |phi| may be on each of so many blocks."""
        return np.asarray(
            np.minimum(self.weighted * low * low, self.area) / ((high - low) * 2 * blocks)
        )


def bounded(
    model: Model, c: float, edges: Floats, step: float, enough: Enough, most: int = WORK
) -> Blocks:
    """Blocks over ``edges``, split where that is needed; none shorter than some ``step``,
    and none any more once ``most`` numbers were computed."""
    low, high = edges[:-1], edges[1:]
    done: list[Blocks] = []
    number, work = low.size, 0
    for _ in range(_ROUNDS):
        bound, numbers = bounds(model, c, low, high, enough.most(low, high, number))
        work += numbers
        fine = (bound <= enough.most(low, high, number)) | (high - low <= _SHORTEST * step)
        if work > most or number > _MOST_BLOCKS:
            fine[:] = True
        done.append(Blocks(low[fine], high[fine], bound[fine]))
        low, high = low[~fine], high[~fine]
        if not low.size:
            break
        cuts = low[:, None] + (high - low)[:, None] * (np.arange(_PARTS + 1) / _PARTS)
        cuts[:, -1] = high
        low, high = cuts[:, :-1].ravel(), cuts[:, 1:].ravel()
        number += low.size
    if low.size:
        done.append(Blocks(low, high, np.ones(low.size)))
    return Blocks(
        *(np.concatenate([getattr(b, n) for b in done]) for n in ("low", "high", "bound"))
    )


def bounds(model: Model, c: float, low: Floats, high: Floats, enough: Floats) -> tuple[Floats, int]:
    """Bounds of |phi|, from as many losses as it takes and there is work for; and how many numbers
    that took."""
    total, left, work = np.zeros(low.size), np.arange(low.size), 0
    goal = np.log(np.maximum(enough, 1e-300))
    for kind in model.bounding(float((high - low).max(initial=0.0))):
        total[left] += kind.log_bounds(c, low[left], high[left])
        work += left.size * kind.size
        left = left[total[left] > goal[left]]
        if not left.size or work > WORK:
            break
    # Sums of logarithms are off by roundings of their size; an exponential may not vanish.
    return np.exp(np.clip(total * (1 - 1e-12), -690.0, 0.0)) * (1 + 1e-12), work
