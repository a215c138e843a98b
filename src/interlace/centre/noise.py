"""The sampler: draws exactly from a law, in blocks, independently in every process.

The samplers are OpenDP's exact integer ones; the scale handed to them is the law's own, a
float64 (R9). A call costs as much as a dozen draws, so noise is drawn in blocks. Blocks
live in this process's memory only and are dropped at fork: two children of one pool would
answer with the same noise (R5).
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from fractions import Fraction

from interlace.core.laws import DiscreteGaussian, DiscreteLaplace, Law, Point, Vector

_LARGEST_BLOCK = 1024
_MOST_LAWS = 256

Block = Callable[[int], list[int]]


class Pool:
    """Noise drawn ahead, each value handed out once. Safe under threads and forks."""

    def __init__(self) -> None:
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._ready: OrderedDict[Law, tuple[Block, int, list[int]]] = OrderedDict()

    def draw(self, law: Law) -> tuple[int, ...]:
        """One draw of the law: as many integers as its size."""
        single = law.law if isinstance(law, Vector) else law
        if isinstance(single, Point):
            return (0,) * law.size
        with self._lock:
            return tuple(self._one(single) for _ in range(law.size))

    def _one(self, law: Law) -> int:
        known = self._ready.pop(law, None)
        block, size, ready = (_sampler(law), 16, []) if known is None else known
        if not ready:
            size = min(2 * size, _LARGEST_BLOCK)
            ready = block(size)
        self._ready[law] = (block, size, ready)
        if len(self._ready) > _MOST_LAWS:
            self._ready.popitem(last=False)
        return ready.pop()


def _sampler(law: Law) -> Block:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if isinstance(law, DiscreteLaplace):
        metric = dp.l1_distance(T="i64")
        measurement = dp.m.make_laplace(domain, metric, scale=_exact_float(law.scale))
    elif isinstance(law, DiscreteGaussian):
        metric = dp.l2_distance(T="f64")
        measurement = dp.m.make_gaussian(domain, metric, scale=_exact_float(law.sigma))
    else:
        raise TypeError(f"no sampler for {type(law).__name__}")
    return lambda size: list(measurement([0] * size))


def _exact_float(scale: Fraction) -> float:
    value = float(scale)
    if Fraction(value) != scale or value <= 0:
        raise ValueError("a law's scale must be exactly a positive float64")
    return value


POOL = Pool()
