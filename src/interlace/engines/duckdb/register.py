"""Registration: writes a dataset's normalised snapshot as one DuckDB file, once.

A unit's rows depend on that unit's source rows, the declaration and the key only. No error
shows a value of the data.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import duckdb

from interlace.core.errors import DataError, ParameterError
from interlace.engines.base import Progress, Registered, Report, Snapshot, TableReport
from interlace.engines.duckdb.files import CATALOG, publish, workshop, writer
from interlace.engines.duckdb.forks import busy
from interlace.engines.duckdb.sources import Source
from interlace.engines.duckdb.staging import report, stage
from interlace.engines.duckdb.writing import number_units, write_public, write_table
from interlace.query.schema import Dataset

#: What a snapshot holds. 1: codes. 2: ranks of rows and keys too, and public tables; a file of
#: the first kind does not say so.
LAYOUT = 2


def register(
    sources: Mapping[str, Source],
    dataset: Dataset,
    folder: Path,
    key: bytes,
    progress: Progress | None = None,
) -> Registered:
    """Writes the snapshot of ``dataset`` into ``folder``; what to remember of it, and a report
    for the custodian alone.

    ``sources`` gives each declared table, public ones too, a DataFrame, an Arrow table or the
    path of a Parquet or CSV file. ``key`` is secret, at least 16 bytes, and must stay the same
    for all snapshots of the same units: a unit's stored id is the first 64 bits of
    SHA-256(key : id). The file appears complete under its final name, or not at all. One
    registration at a time may run in a folder: the caller sees to that. ``progress`` may use no
    engine, and its errors are ignored: a registration does not fail with how it is shown.

    Raises ParameterError for a wrong key or set of sources, and DataError if a source is
    unreadable, lacks a column or holds a type that the declaration does not fit, if none of
    a hundred rows or more is left, if a table of one row per unit has more for some unit, if
    two rows of a public table have one key, or if two units share an id (another key mends
    that).
    """
    if not isinstance(key, bytes) or len(key) < 16:
        raise ParameterError("key", "must be at least 16 secret bytes")
    names = [table.name for table in dataset.every_table]
    if set(sources) != set(names):
        wanted = ", ".join(map(repr, names))
        lacking = ", ".join(repr(name) for name in names if name not in sources)
        problem = f"must be given for exactly the tables {wanted}"
        raise ParameterError("sources", f"{problem}; {lacking} has none" if lacking else problem)
    steps = _Steps(progress, 2 * len(names) + 2)
    try:
        with busy(), workshop(folder) as work:
            file = work / "snapshot.duckdb"
            with writer(work, file) as connection:
                found = _fill(connection, sources, dataset, key, steps)
            steps.begin("snapshot: written out")
            path, digest = publish(file, folder)
        steps.end()
        return Registered(Snapshot(dataset, path, digest), found)
    except DataError as error:
        interrupted, problem = False, str(error)
    except Exception as error:  # noqa: BLE001 - whatever happened may quote data
        interrupted = "interrupted" in str(error).lower()  # DuckDB's form of Ctrl-C
        problem = (
            "a source could not be read or written: check the files, that all is UTF-8 and each "
            "line of a CSV file has as many fields as its first one, and the disk"
        )
    # Raised outside the handlers: as the context of this error, the other's would be in reach.
    if interrupted:
        raise KeyboardInterrupt
    raise DataError(problem)


def _fill(
    connection: duckdb.DuckDBPyConnection,
    sources: Mapping[str, Source],
    dataset: Dataset,
    key: bytes,
    steps: _Steps,
) -> Report:
    reports, staged, public = [], [], []
    for i, table in enumerate(dataset.tables):
        steps.begin(f"table {table.name}: read")
        source = sources[table.name]
        staged.append(stage(connection, f"s{i}", (table.name, table.columns), source, dataset.unit))
        reports.append(report(connection, staged[-1]))
    for i, other in enumerate(dataset.public):
        steps.begin(f"public table {other.name}: read")
        source = sources[other.name]
        public.append(stage(connection, f"q{i}", (other.name, other.columns), source, None))
        reports.append(report(connection, public[-1]))
    steps.begin("units: numbered")
    number_units(connection, staged, key)
    for i, table in enumerate(dataset.tables):
        steps.begin(f"table {table.name}: ranked and written")
        rows, beyond = write_table(connection, i, table, staged[i], key)
        reports[i] = _whole(replace(reports[i], beyond=beyond), rows)
    for i, other in enumerate(dataset.public, len(dataset.tables)):
        steps.begin(f"public table {other.name}: written")
        j = i - len(dataset.tables)
        _whole(reports[i], write_public(connection, j, other, public[j]))
    _declare(connection, dataset)
    return Report(tuple(reports))


def _whole(report: TableReport, rows: int) -> TableReport:
    """The report, if the snapshot holds the rows that it says."""
    if rows != report.kept:
        raise DataError(f"table {report.table!r}: not the rows were written that were to be kept")
    return report


def _declare(connection: duckdb.DuckDBPyConnection, dataset: Dataset) -> None:
    connection.execute(
        f"CREATE TABLE {CATALOG}.declaration AS "
        f"SELECT ?::VARCHAR AS dataset, {LAYOUT}::INTEGER AS layout",
        [dataset.to_json()],
    )


class _Steps:
    """Tells of each step as it begins."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress = progress
        self._total = total
        self._begun = 0

    def begin(self, step: str) -> None:
        """The next step, by its name."""
        self._tell(step)
        self._begun += 1

    def end(self) -> None:
        """All are done."""
        self._tell("done")

    def _tell(self, step: str) -> None:
        if self._progress is not None:
            with contextlib.suppress(Exception):
                self._progress(step, self._begun, self._total)
