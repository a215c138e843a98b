"""What the benchmarks share: a centre over a small table, and a median."""

from __future__ import annotations

import contextlib
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

import interlace as il

COUNT = "SELECT COUNT(*) FROM people WHERE age >= 10"
#: The least session that an account can open here.
LEAST = il.mechanisms.Laplace(epsilon=0.001, answers=1000)


def median_ms(step: Callable[[int], object], rounds: int, warm: int = 10) -> float:
    """The median time of a step in milliseconds, after some to warm up."""
    times = []
    for i in range(rounds + warm):
        start = time.perf_counter()
        step(i)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times[warm:])


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder for a centre, and beside it all that the centre keeps outside."""
    with tempfile.TemporaryDirectory() as base:
        os.environ["XDG_STATE_HOME"] = f"{base}/state"
        yield Path(base)


@contextlib.contextmanager
def small_centre() -> Iterator[tuple[il.Centre, il.Account]]:
    """A centre over 1,000 people, and an account that may open what it likes."""
    with folder() as base, il.open(base / "centre") as centre:
        frame = pd.DataFrame({"id": range(1000), "age": [i % 100 for i in range(1000)]})
        columns = {"age": il.Integer(0, 120)}
        centre.register(frame, name="people", unit="id", columns=columns)
        yield centre, centre.account("ada", quota=il.PureDP(10**9))
