"""Registration of 10 M rows of 500,000 units, a few of which have most of the rows.

Run by `python -m benchmarks.engines_registration [millions of rows]`. Each dataset is registered
in a process of its own; prints its time, that of all cores, its peak of memory, the snapshot's
size, and the load of the machine at the start.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table as Shown

from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer
from interlace.query.schema import Dataset, KeySet, PublicTable, Table

MILLIONS = 10
UNITS = 500_000
LABS = [f"lab {i}" for i in range(20)]
NARROW: dict[str, Column] = {"value": Integer(0, 500), "lab": Category(LABS)}
WIDE: dict[str, Column] = {
    **NARROW,
    "day": Day("2020-01-01", "2020-12-31"),
    "price": Decimal(0, 1000, 2),
    "urgent": Boolean(),
}
WARDS = PublicTable("wards", "lab", {"lab": Category(LABS), "beds": Integer(0, 99)})
KEYS = [KeySet(("lab",), 3)]
DATASETS = {
    "2 columns": Dataset("d", "id", (Table("labs", NARROW, 60),)),
    "2 columns, a key set": Dataset("d", "id", (Table("labs", NARROW, 60, KEYS),), (WARDS,)),
    "5 columns": Dataset("d", "id", (Table("labs", WIDE, 60),)),
    "5 columns, 2 key sets": Dataset(
        "d", "id", (Table("labs", WIDE, 60, [*KEYS, KeySet(("lab", "day"), 9)]),)
    ),
}
#: A unit's number falls off with the cube: a fifth of the rows has one in a hundred units.
ROWS = """
    SELECT CAST({units} * pow(random(), 3) AS BIGINT) AS id,
        CAST(floor(random() * 501) AS INTEGER) AS value,
        'lab ' || CAST(floor(random() * random() * 20) AS INTEGER) AS lab,
        DATE '2020-01-01' + CAST(floor(random() * 366) AS INTEGER) AS day,
        floor(random() * 100000) / 100 AS price,
        random() < 0.1 AS urgent
    FROM range({rows})
"""
#: What the child runs: registers one of the datasets, and prints seconds, CPU seconds and peak
#: megabytes.
CHILD = """
import resource, sys, time
from pathlib import Path
from benchmarks.engines_registration import DATASETS
from interlace.engines.duckdb.register import register

name, base = sys.argv[1:]
dataset = DATASETS[name]
sources = {table.name: Path(base) / f"{table.name}.parquet" for table in dataset.tables}
sources |= {table.name: Path(base) / f"{table.name}.parquet" for table in dataset.public}
start = time.perf_counter()
done = register(sources, dataset, Path(base) / "snapshots", bytes(32))
seconds = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_SELF)
print(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, done.snapshot.path.stat().st_size / 1e6)
done.snapshot.path.unlink()
"""


def main(millions: float = MILLIONS) -> None:
    """Measure and print."""
    shown = Shown("dataset", "seconds", "CPU s", "peak MB", "snapshot MB", "load before")
    with tempfile.TemporaryDirectory() as base:
        _write(Path(base), int(millions * 1e6))
        for name in DATASETS:
            load = os.getloadavg()[0]
            command = [sys.executable, "-c", CHILD, name, base]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            seconds, used, peak, size = map(float, done.stdout.split())
            shown.add_row(
                name, f"{seconds:.1f}", f"{used:.1f}", f"{peak:,.0f}", f"{size:,.0f}", f"{load:.1f}"
            )
    Console().print(f"{millions:g} M rows, {UNITS:,} units, {os.cpu_count()} cores", shown)


def _write(base: Path, rows: int) -> None:
    start = time.perf_counter()
    with duckdb.connect() as connection:
        connection.execute("SELECT setseed(0.5)").fetchall()
        labs = ROWS.format(units=UNITS, rows=rows)
        connection.execute(f"COPY ({labs}) TO '{base / 'labs.parquet'}'")
        wards = f"SELECT 'lab ' || range AS lab, range AS beds FROM range({len(LABS)})"  # noqa: S608 - our own text
        connection.execute(f"COPY ({wards}) TO '{base / 'wards.parquet'}'")
    Console().print(f"source written in {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
