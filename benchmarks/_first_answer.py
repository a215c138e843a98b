"""One process of benchmarks/engines.py: the first private answer from its start, and later ones.

Its arguments are who answers and when the parent began, in seconds of the clock: the interpreter's
start and the imports count. Prints seconds and then milliseconds. The table has a million rows, one
for each unit; ours is registered from it as any other, and that counts.
"""

from __future__ import annotations

import importlib
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

Ask = Callable[[int], object]
ROWS, LATER = 1_000_000, 20
QUERY = "SELECT COUNT(*) FROM {} WHERE age >= {}"


def frame() -> pd.DataFrame:
    """A million people."""
    random = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "id": np.arange(ROWS),
            "age": random.integers(0, 121, ROWS),
            "income": random.integers(0, 10_000, ROWS),
        }
    )


def interlace() -> Ask:
    """Asks a new centre."""
    import interlace as il

    base = tempfile.mkdtemp()
    os.environ["XDG_STATE_HOME"] = f"{base}/state"
    centre = il.open(f"{base}/centre")
    columns = {"age": il.Integer(0, 120), "income": il.Integer(0, 10_000)}
    centre.register(frame(), name="people", unit="id", columns=columns)
    account = centre.account("ada", quota=il.PureDP(1000))
    session = account.open(il.mechanisms.Laplace(epsilon=0.1, answers=LATER + 1), "people")
    return lambda age: session.ask(QUERY.format("people", age)).value


def smartnoise() -> Ask:
    """Asks SmartNoise SQL over the same DataFrame."""
    snsql = importlib.import_module("snsql")
    column = {"type": "int", "lower": 0, "upper": 10_000}
    columns = {"id": {"private_id": True, "type": "int"}, "age": column, "income": column}
    meta = {"": {"db": {"people": {"max_ids": 1, "row_privacy": False, "rows": ROWS, **columns}}}}
    privacy = snsql.Privacy(epsilon=0.1, delta=1e-9)
    reader = snsql.from_connection(frame(), privacy=privacy, metadata=meta)
    return lambda age: reader.execute(QUERY.format("db.people", age))[1][0]


def main() -> None:
    """Measure and print."""
    ask = interlace() if sys.argv[1] == "interlace" else smartnoise()
    ask(10)
    first = time.time() - float(sys.argv[2])
    times = []
    for i in range(LATER):
        start = time.perf_counter()
        ask(20 + i)
        times.append(1e3 * (time.perf_counter() - start))
    print(f"{first:.2f} {statistics.median(times):.1f}")


if __name__ == "__main__":
    main()
