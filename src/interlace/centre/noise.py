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
from functools import cached_property

from interlace.core.laws import DiscreteGaussian, DiscreteLaplace, Joint, Law, Point, Vector

_LARGEST_BLOCK = 1024
_MOST_LAWS = 256

Block = Callable[[int], list[int]]


class Pool:
    """Noise drawn ahead, each value handed out once. Safe under threads; ``forget`` at fork."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Drop what is ready, and the locks, which a thread that is gone may hold."""
        self._lock = threading.Lock()
        self._stocks: OrderedDict[Law, _Stock] = OrderedDict()

    def draw(self, law: Law | Joint) -> tuple[int, ...]:
        """One draw of the law: as many integers as its size."""
        if isinstance(law, Joint):
            return tuple(value for part in law.laws for value in self.draw(part))
        single = law.law if isinstance(law, Vector) else law
        if isinstance(single, Point):
            return (0,) * law.size
        return self._stock(single).take(law.size)

    def _stock(self, law: Law) -> _Stock:
        with self._lock:
            stock = self._stocks.pop(law, None) or _Stock(law)
            self._stocks[law] = stock
            if len(self._stocks) > _MOST_LAWS:
                self._stocks.popitem(last=False)
            return stock


class _Stock:
    """The values of one law. Its own lock: a block takes up to 20 ms, and draws of other
    laws need not wait for it."""

    def __init__(self, law: Law) -> None:
        self._law = law
        self._lock = threading.Lock()
        self._size, self._ready = 16, list[int]()

    @cached_property
    def _block(self) -> Block:
        return _sampler(self._law)

    def take(self, count: int) -> tuple[int, ...]:
        with self._lock:
            return tuple(self._one() for _ in range(count))

    def _one(self) -> int:
        if not self._ready:
            self._size = min(2 * self._size, _LARGEST_BLOCK)
            self._ready = self._block(self._size)
        return self._ready.pop()


#: A fork waits while OpenDP is loaded: its child would wait for the import for ever.
_loading = threading.Lock()
os.register_at_fork(
    before=_loading.acquire, after_in_parent=_loading.release, after_in_child=_loading.release
)


def _sampler(law: Law) -> Block:
    with _loading:
        block = _loaded_sampler(law)
        block(1)  # loads the rest
    return block


def _loaded_sampler(law: Law) -> Block:
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
os.register_at_fork(after_in_child=POOL.forget)
