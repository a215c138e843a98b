"""Queries over a large snapshot beside the raw engine on the same file, and beside SmartNoise SQL.

10 million rows of 500,000 units, of which few have many, and a table of as many people: registered once, then every query is
answered by the engine (as the centre has it answered) and, in turns, by plain SQL on the same
file with the same settings. Ratios are of medians in one run.

SmartNoise lives in an environment of its own (benchmarks/smartnoise.txt), whose interpreter is named
by the variable INTERLACE_BENCH_SMARTNOISE; without it that part is left out. Run by `make bench`.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import duckdb
from rich.console import Console
from rich.progress import track
from rich.table import Table

import interlace as il
from interlace.engines.base import Snapshot
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.duckdb.files import CATALOG
from interlace.engines.duckdb.register import register
from interlace.query.parse import parse
from interlace.query.schema import Dataset, KeySet
from interlace.query.schema import Table as Declared

ROWS, UNITS, KEYS = 10_000_000, 500_000, 20
ROUNDS = 7
TOPICS = [f"topic {k}" for k in range(KEYS)]

BIG = Dataset(
    "big",
    "id",
    (
        Declared(
            "events",
            {"topic": il.Category(TOPICS), "x": il.Integer(0, 1000)},
            rows_per_unit=100,
            key_sets=[KeySet(("topic",), 5)],
        ),
        Declared("people", {"age": il.Integer(0, 120), "topic": il.Category(TOPICS)}),
    ),
)
SOURCES = {
    "events": "CREATE TABLE events AS SELECT "
    "CAST(floor($units * pow(random(), 2)) AS BIGINT) AS id, "
    "'topic ' || CAST(floor($keys * pow(random(), 2)) AS INTEGER) AS topic, "
    "CAST(floor(1001 * random()) AS INTEGER) AS x FROM range($rows)",
    "people": "CREATE TABLE people AS SELECT range AS id, "
    "CAST(floor(121 * random()) AS INTEGER) AS age, "
    "'topic ' || CAST(range % $keys AS VARCHAR) AS topic FROM range($rows)",
}
PER_UNIT = "SELECT SUM(s) FROM (SELECT unit, SUM(c1) AS s FROM {t0} GROUP BY unit)"
#: The query, the plain SQL beside it, and the most that the issue allows.
QUERIES = [
    ("COUNT(DISTINCT unit)", "SELECT COUNT(DISTINCT id) FROM events", PER_UNIT, 1.3),
    ("SUM, clamped per unit", "SELECT SUM(x) FROM events", PER_UNIT, 1.3),
    (
        f"histogram of {KEYS} keys, by ranks",
        "SELECT topic, COUNT(*) FROM events GROUP BY topic",
        "SELECT c0, COUNT(*) FROM {t0} GROUP BY c0",
        3.0,
    ),
    (
        "clamped per unit and key",
        "SELECT topic, CLAMP(COUNT(*), 0, 3) FROM events GROUP BY topic",
        "SELECT COUNT(*) FROM (SELECT unit, c0, COUNT(*) AS n FROM {t0} GROUP BY unit, c0)",
        1.5,
    ),
    (
        "units per key",
        "SELECT topic, COUNT(DISTINCT id) FROM events GROUP BY topic",
        "SELECT COUNT(*) FROM (SELECT unit, c0, COUNT(*) AS n FROM {t0} GROUP BY unit, c0)",
        1.5,
    ),
    (
        "one row a unit: SUM",
        "SELECT SUM(age) FROM people WHERE age >= 18",
        "SELECT SUM(c0) FROM {t1} WHERE c0 >= 18",
        1.1,
    ),
    (
        "one row a unit: histogram",
        "SELECT topic, COUNT(*) FROM people GROUP BY topic",
        "SELECT c1, COUNT(*) FROM {t1} GROUP BY c1",
        1.1,
    ),
    (
        "join on the unit",
        "SELECT SUM(x) FROM events JOIN people USING (id) WHERE age < 40",
        "SELECT SUM(s) FROM (SELECT t0.unit, SUM(t0.c1) AS s FROM {t0} JOIN {t1} "
        "ON t0.unit = t1.unit WHERE t1.c0 < 40 GROUP BY t0.unit)",
        1.3,
    ),
]


def write_sources(folder: Path) -> dict[str, Path]:
    """Parquet files: a unit's rows are skewed as the square of a uniform number."""
    paths = {name: folder / f"{name}.parquet" for name in ("events", "people")}
    connection = duckdb.connect()
    connection.execute("SELECT setseed(0.5)")
    numbers = {"rows": ROWS, "units": UNITS, "keys": KEYS}
    for name, path in paths.items():
        made = {key: value for key, value in numbers.items() if f"${key}" in SOURCES[name]}
        connection.execute(SOURCES[name], made)
        connection.table(name).write_parquet(str(path))
    connection.close()
    return paths


def medians(steps: list[Callable[[], object]]) -> list[float]:
    """Median milliseconds of steps that take turns."""
    times: list[list[float]] = [[] for _ in steps]
    for i in range(ROUNDS + 2):
        for step, found in zip(steps, times, strict=True):
            start = time.perf_counter()
            step()
            if i >= 2:
                found.append(1e3 * (time.perf_counter() - start))
    return [statistics.median(found) for found in times]


def fetched(connection: duckdb.DuckDBPyConnection, sql: str) -> object:
    """All rows of plain SQL."""
    return connection.execute(sql).fetchall()


def compared(snapshot: Snapshot) -> Table:
    """The table of all queries."""
    engine = DuckDBEngine(snapshot)
    raw = duckdb.connect(config={"memory_limit": "1GB", "threads": 2})
    raw.execute(f"ATTACH '{snapshot.path}' AS {CATALOG} (READ_ONLY)")
    table = Table("query", "ms", "raw ms", "ratio", "at most")
    names = {name: f"{CATALOG}.{name} AS {name}" for name in ("t0", "t1")}
    for name, sql, plain, most in track(QUERIES, "queries", transient=True):
        ours = partial(engine.read, parse(sql, BIG))
        theirs = partial(fetched, raw, plain.format(**names))
        mine, other = medians([ours, theirs])
        table.add_row(name, f"{mine:.0f}", f"{other:.0f}", f"{mine / other:.2f}", f"{most}")
    engine.close()
    return table


def main() -> None:
    """Measure and print."""
    console = Console()
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base)
        with console.status("writing the sources"):
            sources = write_sources(folder)
        with console.status("registering"):
            start = time.perf_counter()
            registered = register(sources, BIG, folder / "snapshots", os.urandom(32))
        console.print(f"registered {ROWS:,} rows in {time.perf_counter() - start:.1f} s")
        console.print(compared(registered.snapshot))
    peer = os.environ.get("INTERLACE_BENCH_SMARTNOISE")
    if peer is None:
        console.print("SmartNoise left out: INTERLACE_BENCH_SMARTNOISE names no interpreter")
        return
    table = Table("1,000,000 rows", "first answer s", "later ms")
    for name, python in (("interlace", sys.executable), ("SmartNoise SQL", peer)):
        script = Path(__file__).with_name("_first_answer.py")
        done = subprocess.run(
            [python, str(script), name, str(time.time())],
            capture_output=True,
            text=True,
            check=True,
        )
        first, later = done.stdout.split()[-2:]
        table.add_row(name, first, later)
    console.print(table)


if __name__ == "__main__":
    main()
