"""One private count on real lab results, beside the raw query plan and a bare durable commit.

Run by `make bench`. Prints medians of one process; compare only figures of one run.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table

import interlace as il
from interlace.cli import nafld
from interlace.engines.duckdb.files import CATALOG
from interlace.query.parse import parse
from interlace.query.rewrite import rewrite
from interlace.query.schema import Dataset

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
    table = Table("step", "median ms")
    with contextlib.ExitStack() as stack:
        base = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["XDG_STATE_HOME"] = str(base / "state")
        folder = base / "centre"
        centre = stack.enter_context(il.open(folder))
        start = time.perf_counter()
        with nafld.declaration() as path:
            dataset = centre.register(path, tables=nafld.frames()).dataset
        registered = time.perf_counter() - start
        account = centre.account("ada", quota=il.PureDP(1000))
        session = account.open(il.mechanisms.Laplace(epsilon=0.1, answers=2 * ROUNDS), "nafld")
        ask = median_ms(lambda i: session.ask(SQL.format(-i)))
        plan, commit = raw_plan_ms(folder, dataset), bare_commit_ms(folder)
        small = il.mechanisms.Laplace(epsilon=0.001)
        opened = median_ms(lambda _: account.open(small, "nafld"), 100)
    table.add_row("raw plan (DuckDB, same file)", f"{plan:.2f}")
    table.add_row("bare durable commit (SQLite)", f"{commit:.2f}")
    table.add_row("private count: ask", f"{ask:.2f}")
    table.add_row("  beyond plan and commit", f"{ask - plan - commit:.2f}")
    table.add_row("  (ask - commit) / plan", f"{(ask - commit) / plan:.2f} x")
    table.add_row("open a session", f"{opened:.2f}")
    Console().print(f"registered in {registered:.1f} s (with loading the data)", table)


def raw_plan_ms(folder: Path, dataset: Dataset) -> float:
    """The very statements that the centre runs, in DuckDB alone, on the same file."""
    [snapshot] = (folder / "snapshots").glob("*.duckdb")
    raw = duckdb.connect()
    raw.execute("SET threads = 2")
    raw.execute(f"ATTACH '{snapshot}' AS {CATALOG} (READ_ONLY)")
    parsed = [parse(SQL.format(-i), dataset) for i in range(ROUNDS + 10)]
    plans = [rewrite(plan, "duckdb", CATALOG)[0].sql for plan in parsed]
    return median_ms(lambda i: raw.execute(plans[i]).fetchall())


def bare_commit_ms(folder: Path) -> float:
    """One row of an answer's size, inserted and committed durably, in SQLite alone."""
    bare = sqlite3.connect(folder / "bare.sqlite3", isolation_level=None)
    bare.execute("PRAGMA journal_mode = WAL")
    bare.execute("PRAGMA synchronous = FULL")
    bare.execute("CREATE TABLE t (body TEXT)")
    commit = median_ms(lambda i: bare.execute("INSERT INTO t VALUES (?)", [f"{i:0600d}"]))
    bare.close()
    return commit


if __name__ == "__main__":
    main()
