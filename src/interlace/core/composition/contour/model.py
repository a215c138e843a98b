"""Independent privacy losses as one: the sum that the contour integrates."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from interlace.core.composition.contour.compression import Compressed, compressed
from interlace.core.composition.contour.edge import Edge
from interlace.core.composition.contour.gaussian import GaussianLoss
from interlace.core.composition.contour.responses import Responses
from interlace.core.composition.contour.values import Cumulants, Floats, Nodes

#: A compression whose error in log E[e^(sL)] is above this is not used.
_CLOSE = 1e-8
#: From how many losses those that bound |phi| are chosen, and how many of them are the most
#: frequent ones.
_SAMPLED, _FREQUENT = 1 << 14, 16
#: How many of them are looked at in all, and at once.
_TELLING, _BATCH = 192, 32
#: About how many make |phi| small beyond the main lobe.
_ENOUGH = 70

Indices = npt.NDArray[np.int64]
_NONE: Indices = np.zeros(0, dtype=np.int64)


class Kind(Protocol):
    """One kind of loss, under P. ``size`` is how many numbers an evaluation takes."""

    @property
    def size(self) -> int: ...

    def cumulants(self, c: float) -> Cumulants: ...

    def nodes(self, c: float, t: Floats) -> Nodes: ...

    def log_bounds(self, c: float, low: Floats, high: Floats) -> Floats: ...

    def moved(self, c: float) -> float: ...


@dataclass(frozen=True)
class Lattice:
    """All values of a loss are ``largest`` - m * ``spacing`` with integers m >= 0."""

    largest: Fraction
    spacing: Fraction


@dataclass(frozen=True, eq=False)
class Model:
    """The sum of two-point losses, a Gaussian one and others, all independent.

    ``lattice``, where all values lie on one; ``listing`` lists the largest, where the sum is bounded.
    """

    responses: Responses
    gaussian: GaussianLoss
    others: tuple[Kind, ...] = ()
    lattice: Lattice | None = None
    listing: Callable[[], Edge] | None = None

    @property
    def size(self) -> int:
        return self.responses.size + sum(k.size for k in self.others) + 1

    @property
    def kinds(self) -> list[Kind]:
        """All losses, none of them compressed."""
        found: list[Kind] = [self.responses, *self.others]
        return [*found, self.gaussian] if self.gaussian.mu_squared else found

    def cumulants(self, c: float) -> Cumulants:
        responses, gap = self._standing_in(c + 0.5)
        total = responses.cumulants(c) + self.gaussian.cumulants(c)
        for kind in self.others:
            total = total + kind.cumulants(c)
        return total + Cumulants(0.0, 0.0, 0.0, gap)

    def nodes(self, c: float, t: Floats) -> Nodes:
        """log phi(t) under the law tilted by c, at ``t`` >= 0."""
        responses, gap = self._standing_in(float(np.hypot(c + 0.5, t.max(initial=0.0))))
        total = responses.nodes(c, t) + self.gaussian.nodes(c, t)
        for kind in self.others:
            total = total + kind.nodes(c, t)
        # phi is a quotient of two moments.
        return Nodes(total.log_modulus, total.phase, total.error + 2 * gap)

    def bounding(self, width: float) -> Iterator[Kind]:
        """Kinds whose bounds of log |phi| add up, those that say most about blocks of this width
        first; every loss only makes |phi| smaller, so that any number of them will do, but each
        once."""
        yield from self.others
        yield self.gaussian
        telling = self._telling(width)
        if self._compressed is not None:
            sample = self._sample
            apart = Responses(sample.epsilon[telling], sample.count[telling])
            yield self._compressed.bins(but=apart)
        for i in range(0, telling.size, _BATCH):
            chosen = telling[i : i + _BATCH]
            yield Responses(self._sample.epsilon[chosen], self._sample.count[chosen])

    def smoothed(self, variance: float) -> Model:
        """With one more Gaussian mechanism of mu^2 = ``variance``: never less loss."""
        gaussian = GaussianLoss(self.gaussian.mu_squared + variance)
        found = replace(self, gaussian=gaussian, lattice=None, listing=None)
        # The same two-point losses: what was found out about them stays.
        for name in ("_compressed", "_sample"):
            if name in self.__dict__:
                found.__dict__[name] = self.__dict__[name]
        return found

    @cached_property
    def edge(self) -> Edge | None:
        """The largest values, where the sum is bounded."""
        return None if self.listing is None else self.listing()

    def moved(self, c: float) -> float:
        """How many losses are below their largest value, in the mean, under the law tilted by c."""
        responses, _ = self._standing_in(c + 0.5)
        return responses.moved(c) + sum(kind.moved(c) for kind in self.others)

    @cached_property
    def block_width(self) -> float:
        """About how wide a block of t may be for its bound to say something."""
        sample = self._sample
        if not sample.size:
            return math.inf
        # Of many losses the small ones are enough, of few most are needed.
        part = min(0.9, max(0.3, _ENOUGH / sample.size))
        return 1 / float(sample.epsilon[min(int(sample.size * part), sample.size - 1)])

    def _standing_in(self, modulus: float) -> tuple[Responses, float]:
        """The two-point losses, or what stands for them where |s + 1/2| <= ``modulus``."""
        if self._compressed is not None:
            gap = self._compressed.error(modulus)
            if gap <= _CLOSE:
                return self._compressed.points, gap
        return self.responses, 0.0

    def _telling(self, width: float) -> Indices:
        """Losses of the sample for blocks of this width: the most frequent, then others, evenly
        spread over those for which sin^2 does not pass through 0 and 1 within one block."""
        epsilon, count = self._sample.epsilon, self._sample.count
        within = int(np.searchsorted(epsilon, 1.5 / width)) if width > 0 else epsilon.size
        within = max(within, min(epsilon.size, _FREQUENT))
        often = np.argsort(-count[:within])[:_FREQUENT] if within and count.max() > 1 else _NONE
        even = np.unique(np.linspace(0, within - 1, min(within, _TELLING)).astype(np.int64))
        # Each batch is to be spread over all of them.
        rounds = -(-even.size // _BATCH) or 1
        spread = np.concatenate([even[i::rounds] for i in range(rounds)])
        return np.concatenate([often, spread[~np.isin(spread, often)]])

    @cached_property
    def _compressed(self) -> Compressed | None:
        return compressed(self.responses)

    @cached_property
    def _sample(self) -> Responses:
        """Some of the two-point losses."""
        stride = -(-self.responses.size // _SAMPLED) or 1
        return Responses(self.responses.epsilon[::stride], self.responses.count[::stride])
