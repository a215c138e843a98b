"""The sampler: exactly the law, each value once, in every thread and process its own.

The draws are truly random. A statistical test here fails for a right sampler with a
probability below 1e-9 each, 1e-7 together.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from interlace.centre import noise
from interlace.centre.noise import Pool
from interlace.core.laws import (
    LARGEST_SCALE,
    SMALLEST_SCALE,
    DiscreteGaussian,
    DiscreteLaplace,
    Law,
    Point,
    Vector,
)

FALSE_ALARM = 1e-9
DRAWS = 50_000
LEAST_EXPECTED = 20


def scale(law: Law) -> Fraction:
    assert isinstance(law, DiscreteLaplace | DiscreteGaussian)
    return law.scale if isinstance(law, DiscreteLaplace) else law.sigma


def edges(law: Law) -> list[int]:
    """Where bins begin: around each integer, or every eighth of a scale, without the tails."""
    width = max(1, int(scale(law) / 8))
    steps = itertools.takewhile(
        lambda k: float(law.tail(k).upper) * DRAWS > LEAST_EXPECTED, itertools.count(1, width)
    )
    right = list(steps)
    return sorted({1 - k for k in right} | set(right))


def shares(law: Law, begins: Sequence[int]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The probability of each bin, from certified tails."""
    above = [1.0, *(float(law.tail(k).upper) for k in begins), 0.0]
    return -np.diff(np.array(above))


def merged(
    observed: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]
) -> tuple[list[float], list[float]]:
    """Neighbouring bins together until each expects enough."""
    bins: list[list[float]] = [[0.0, 0.0]]
    for o, e in zip(observed, expected, strict=True):
        if bins[-1][1] >= LEAST_EXPECTED:
            bins.append([0.0, 0.0])
        bins[-1][0] += o
        bins[-1][1] += e
    if bins[-1][1] < LEAST_EXPECTED and len(bins) > 1:
        last = bins.pop()
        bins[-1] = [a + b for a, b in zip(bins[-1], last, strict=True)]
    return [b[0] for b in bins], [b[1] for b in bins]


def chi_square(observed: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> float:
    """The probability of a deviation as large as this under the law."""
    o, e = (np.array(x) for x in merged(observed, expected))
    assert len(o) > 2
    return float(stats.chi2.sf(((o - e) ** 2 / e).sum(), len(o) - 1))


@pytest.mark.parametrize(
    "law",
    [
        DiscreteLaplace(0.7),
        DiscreteLaplace(Fraction(41, 3)),
        DiscreteLaplace(1e9),
        DiscreteGaussian(0.6),
        DiscreteGaussian(7.3),
        DiscreteGaussian(1e6),
    ],
    ids=str,
)
def test_draws_follow_the_law(law: Law) -> None:
    drawn = np.array(Pool().draw(Vector(law, DRAWS)))
    begins = edges(law)
    observed = np.bincount(np.searchsorted(begins, drawn, side="right"), minlength=len(begins) + 1)
    expected = shares(law, begins) * DRAWS
    assert chi_square(observed, expected) > FALSE_ALARM
    # The test can tell: noise of a scale ten per cent off is found out.
    near = type(law)(scale(law) * Fraction(11, 10))  # type: ignore[call-arg]  # both take one
    assert chi_square(observed, shares(near, begins) * DRAWS) < FALSE_ALARM


@pytest.fixture(scope="module")
def in_a_row() -> np.ndarray[Any, np.dtype[np.int64]]:
    pool, law = Pool(), DiscreteLaplace(3)
    return np.array([pool.draw(law)[0] for _ in range(60_000)])


@pytest.mark.parametrize("lag", [1, 16, 32, 1024])
def test_draws_do_not_depend_on_those_before(
    in_a_row: np.ndarray[Any, np.dtype[np.int64]], lag: int
) -> None:
    begins = [-4, -1, 0, 1, 2, 5]
    cell = np.searchsorted(begins, in_a_row, side="right")
    # Pairs that do not overlap: (i, i + lag) for i in every other stretch of ``lag``.
    starts = np.arange(len(cell) - lag)
    starts = starts[starts // lag % 2 == 0]
    n = len(begins) + 1
    observed = np.bincount(cell[starts] * n + cell[starts + lag], minlength=n * n)
    share = shares(DiscreteLaplace(3), begins)
    assert chi_square(observed, np.outer(share, share).ravel() * len(starts)) > FALSE_ALARM


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
def test_the_scales_at_the_ends_can_be_drawn(
    kind: type[DiscreteLaplace | DiscreteGaussian],
) -> None:
    assert Pool().draw(Vector(kind(SMALLEST_SCALE), 100)) == (0,) * 100
    large = Pool().draw(Vector(kind(LARGEST_SCALE), 100))
    # Each is below 2**36 with a probability below 0.07, beyond 2**46 below 1e-27.
    assert sum(abs(z) > 2**36 for z in large) > 30
    assert all(abs(z) < 2**46 for z in large)


def test_a_draw_has_the_size_of_its_law() -> None:
    pool = Pool()
    assert pool.draw(Point()) == (0,)
    assert pool.draw(Vector(Point(), 2)) == (0, 0)
    assert len(pool.draw(DiscreteLaplace(2))) == 1
    many = pool.draw(Vector(DiscreteGaussian(LARGEST_SCALE), 3000))
    # Independent cells, across blocks: one pair alike has a probability of 2e-6, two 2e-12.
    assert len(set(many)) >= 2999
    assert all(type(z) is int for z in many)


def test_a_law_that_is_not_known_is_not_sampled() -> None:
    class Unknown:
        size = 1

    unknown: Any = Unknown()
    for law in (unknown, Vector(unknown, 2)):
        with pytest.raises(TypeError, match="no sampler for Unknown"):
            Pool().draw(law)


@pytest.mark.parametrize("wrong", [Fraction(1, 3), Fraction(0), Fraction(-1), Fraction(2**60 + 1)])
def test_the_sampler_gets_the_scale_itself_or_nothing(wrong: Fraction) -> None:
    law = DiscreteLaplace(1)
    object.__setattr__(law, "scale", wrong)
    with pytest.raises(ValueError, match="exactly a positive float64"):
        Pool().draw(law)


def counting(monkeypatch: pytest.MonkeyPatch) -> list[Law]:
    """Blocks of integers that never come twice, instead of noise. Returns the laws for which
    a sampler was made."""
    numbers, made = itertools.count(), []

    def sampler(law: Law) -> noise.Block:
        made.append(law)
        time.sleep(0.001)  # others may run meanwhile, if nothing stops them
        return lambda size: [next(numbers) for _ in range(size)]

    monkeypatch.setattr(noise, "_sampler", sampler)
    return made


def test_fifty_threads_never_get_a_value_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    made = counting(monkeypatch)
    pool, barrier = Pool(), threading.Barrier(50)
    laws: list[Law] = [DiscreteLaplace(1), DiscreteGaussian(1), Vector(DiscreteLaplace(2), 7)]

    def work(seed: int) -> list[int]:
        barrier.wait()
        return [z for k in range(200) for z in pool.draw(laws[(seed + k) % 3])]

    with ThreadPoolExecutor(50) as threads:
        drawn = [z for part in threads.map(work, range(50)) for z in part]
    asked = sum(laws[(seed + k) % 3].size for seed in range(50) for k in range(200))
    assert len(drawn) == asked
    assert max(Counter(drawn).values()) == 1
    # Nor does one thread throw away what another has ready.
    assert len(made) == 3


def test_a_block_that_is_being_drawn_holds_up_no_other_law(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing, release = threading.Event(), threading.Event()

    def slow(size: int) -> list[int]:
        drawing.set()
        assert release.wait(20)
        return [0] * size

    def sampler(law: Law) -> noise.Block:
        return slow if isinstance(law, DiscreteGaussian) else lambda size: [1] * size

    monkeypatch.setattr(noise, "_sampler", sampler)
    pool = Pool()
    with ThreadPoolExecutor(2) as threads:
        held = threads.submit(pool.draw, DiscreteGaussian(1))
        try:
            assert drawing.wait(20)
            assert threads.submit(pool.draw, DiscreteLaplace(1)).result(20) == (1,)
            assert not held.done()
        finally:
            release.set()
        assert held.result(20) == (0,)


def test_equal_laws_share_a_block_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    counting(monkeypatch)
    pool = Pool()
    first = pool.draw(DiscreteLaplace(10))[0]
    assert abs(pool.draw(DiscreteLaplace(10.0))[0] - first) == 1
    assert abs(pool.draw(DiscreteGaussian(10))[0] - first) > 1


def test_a_pool_keeps_few_laws() -> None:
    pool = Pool()
    for k in range(1, 400):
        pool.draw(DiscreteLaplace(k))
    assert len(pool._stocks) == noise._MOST_LAWS


def test_a_sampler_that_fails_leaves_the_pool_usable(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Law) -> noise.Block:
        raise OSError("no entropy")

    pool = Pool()
    monkeypatch.setattr(noise, "_sampler", broken)
    with pytest.raises(OSError, match="entropy"):
        pool.draw(DiscreteLaplace(1))
    counting(monkeypatch)
    assert len(pool.draw(Vector(DiscreteLaplace(1), 5))) == 5


FORKED = """
import os, signal, threading
from interlace.centre.noise import POOL
from interlace.core.laws import DiscreteGaussian

law = DiscreteGaussian(2**30)
POOL.draw(law)  # warm: most of a block is ready

def child(work):
    reader, writer = os.pipe()
    if os.fork() == 0:
        signal.alarm(20)  # a deadlock ends in an empty answer
        os.write(writer, repr([POOL.draw(law)[0] for _ in range(40)]).encode())
        os._exit(0)
    os.close(writer)
    return reader

readers = [child(law) for _ in range(2)]
stock = POOL._stock(law)
held, release = threading.Event(), threading.Event()

def hold():
    with POOL._lock, stock._lock:
        held.set()
        release.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
readers.append(child(law))  # another thread holds the locks at this fork
release.set()
thread.join()
own = [POOL.draw(law)[0] for _ in range(40)]
print(repr([own] + [eval(os.read(r, 65536) or b"[]") for r in readers]))
"""


def test_forked_children_draw_their_own_noise_and_never_wait_for_a_lost_lock() -> None:
    # In a process of its own: forking beside this one's threads would be a risk to the test.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    draws = eval(done.stdout)  # noqa: S307  lists of integers that we wrote
    assert [len(part) for part in draws] == [40] * 4
    # Two of 160 alike: a probability of 1e-5 by chance; three alike, 1e-12.
    distinct = len({z for part in draws for z in part})
    assert distinct >= 158
