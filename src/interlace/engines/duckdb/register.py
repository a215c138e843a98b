"""Registration: writes a dataset's normalised snapshot as one DuckDB file, once.

A unit's rows depend on that unit's source rows, the declaration and the key only. No error
shows a value of the data.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import duckdb

from interlace.core.errors import DataError, ParameterError
from interlace.engines.base import Snapshot
from interlace.engines.duckdb import normalise
from interlace.engines.duckdb.forks import busy
from interlace.engines.duckdb.sources import Source, attach_source
from interlace.query.columns import Category
from interlace.query.plan import MOST_UNITS
from interlace.query.schema import Dataset, Table
from interlace.query.stored import UNIT

#: The name under which a snapshot's file is attached.
CATALOG = "snapshot"
#: What DuckDB may hold while it writes one.
_MEMORY = "1GB"
#: When none of so many rows fits its declaration, the declaration is wrong.
_MANY = 100
#: How the name of a folder of unfinished work begins.
_WORK = ".registering-"
#: Of a unit's SHA-256 in hex: 64 bits.
HASH_DIGITS = 16


def register(sources: Mapping[str, Source], dataset: Dataset, folder: Path, key: bytes) -> Snapshot:
    """Writes the snapshot of ``dataset`` into ``folder`` and returns what to remember of it.

    ``sources`` gives each declared table a DataFrame, an Arrow table or the path of a Parquet
    or CSV file. ``key`` is secret, at least 16 bytes, and must stay the same for all
    snapshots of the same units: a unit's stored id is the first 64 bits of
    SHA-256(key : id). The file appears complete under its final name, or not at all. One
    registration at a time may run in a folder: the caller sees to that.

    Raises ParameterError for a wrong key or set of sources, and DataError if a source is
    unreadable, lacks a column or holds a type that the declaration does not fit, if none of
    a hundred rows or more is left, if a table of one row per unit has more for some unit, or
    if two units share an id (another key mends that).
    """
    if not isinstance(key, bytes) or len(key) < 16:
        raise ParameterError("key", "must be at least 16 secret bytes")
    if set(sources) != {table.name for table in dataset.tables}:
        wanted = ", ".join(repr(table.name) for table in dataset.tables)
        raise ParameterError("sources", f"must be given for exactly the tables {wanted}")
    try:
        with busy(), _workshop(folder) as work:
            file = work / "snapshot.duckdb"
            with _writer(file, work / "spill") as connection:
                _fill(connection, sources, dataset, key)
            return _publish(file, folder, dataset)
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
) -> None:
    types = {
        table.name: _read(connection, i, table, dataset, sources[table.name])
        for i, table in enumerate(dataset.tables)
    }
    _number_units(connection, dataset, key)
    for i, table in enumerate(dataset.tables):
        _write(connection, i, table, types[table.name])
    _declare(connection, dataset)


@contextlib.contextmanager
def _workshop(folder: Path) -> Iterator[Path]:
    """A folder of its own on the same file system, gone afterwards whatever happens; what a
    killed registration left behind, with private data in it, goes first."""
    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(f"{_WORK}*"):
        shutil.rmtree(left, ignore_errors=True)
    work = folder / f"{_WORK}{secrets.token_hex(8)}"
    work.mkdir(mode=0o700)
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextlib.contextmanager
def _writer(file: Path, spill: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(
        config={
            "memory_limit": _MEMORY,
            "temp_directory": str(spill),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )
    try:
        connection.execute(f"ATTACH '{_quoted(str(file))}' AS {CATALOG}")
        yield connection
        connection.execute(f"DETACH {CATALOG}")  # writes what is still in memory
    finally:
        connection.close()


def _read(
    connection: duckdb.DuckDBPyConnection, i: int, table: Table, dataset: Dataset, source: Source
) -> list[str]:
    """Makes the view ``raw{i}`` of the table's wanted columns; their types, the unit's first."""
    columns = [dataset.unit, *(name for name, _ in table.columns)]
    try:
        found = attach_source(connection, f"source{i}", source, columns)
    except DataError as error:
        raise DataError(f"table {table.name!r}: {error}") from None
    items = ", ".join(
        f'"{_quoted(found[name][0], chr(34))}" AS {"u" if j == 0 else f"r{j - 1}"}'
        for j, name in enumerate(columns)
    )
    connection.execute(f"CREATE TEMP VIEW raw{i} AS SELECT {items} FROM source{i}")
    types = [found[name][1] for name in columns]
    where = f"table {table.name!r}, unit {dataset.unit!r}"
    blurred = normalise.blurred("u", types[0])
    if blurred and _one(connection, f"SELECT count(*) FROM raw{i} WHERE {blurred}"):
        raise DataError(f"{where}: ids this large lose digits as floats: give integers or text")
    text = normalise.unit_text("u", types[0], where)
    # Integers are looked up as such, which is several times faster than by their text.
    whole = normalise.family(types[0]) == "integer"
    connection.execute(
        f"CREATE TEMP VIEW known{i} AS SELECT {'u' if whole else text} AS k, * FROM raw{i}"
    )
    connection.execute(
        f"CREATE TEMP TABLE ids{i} AS SELECT k, CAST(k AS VARCHAR) AS id "
        f"FROM (SELECT DISTINCT k FROM known{i} WHERE k IS NOT NULL)"
    )
    return types[1:]


def _number_units(connection: duckdb.DuckDBPyConnection, dataset: Dataset, key: bytes) -> None:
    """Makes the tables ``keys{i}``: from how a source writes a unit to its keyed hash."""
    parts = (f"SELECT id FROM ids{i}" for i in range(len(dataset.tables)))
    digest = f"sha256('{key.hex()}:' || id)"
    connection.execute(
        f"CREATE TEMP TABLE units AS SELECT id, CAST('0x' || {digest}[1:{HASH_DIGITS}] AS UBIGINT) AS {UNIT} "
        f"FROM (SELECT DISTINCT id FROM ({' UNION ALL '.join(parts)}))"
    )
    units = _one(connection, "SELECT count(*) FROM units")
    if units > MOST_UNITS:
        raise DataError(f"a dataset may hold {MOST_UNITS} units")
    if _one(connection, f"SELECT count(DISTINCT {UNIT}) FROM units") != units:
        raise DataError("two units share an id under this key: register with another key")
    for i in range(len(dataset.tables)):
        connection.execute(
            f"CREATE TEMP TABLE keys{i} AS SELECT k, {UNIT} FROM ids{i} JOIN units USING (id)"
        )


def _write(connection: duckdb.DuckDBPyConnection, i: int, table: Table, types: list[str]) -> None:
    """Writes the table's codes, clustered by unit; rows without a unit or a code are dropped."""
    labels, joins, codes = [], [], []
    for j, ((name, kind), sql_type) in enumerate(zip(table.columns, types, strict=True)):
        where = f"table {table.name!r}, column {name!r}"
        if isinstance(kind, Category):
            labels.append(f", {normalise.label(kind, f'r{j}', sql_type, where)} AS l{j}")
            joins.append(f" LEFT JOIN labels{i}_{j} AS d{j} ON l{j} = d{j}.label")
            code = normalise.label_code(kind, f"l{j}", f"d{j}.code")
            connection.execute(
                f"CREATE TEMP TABLE labels{i}_{j} AS SELECT unnest(?::VARCHAR[]) AS label, "
                f"CAST(unnest(range(len(?::VARCHAR[]))) AS BIGINT) AS code",
                [list(kind.values), list(kind.values)],
            )
        else:
            code = normalise.code(kind, f"r{j}", sql_type, where)
        codes.append(f", CAST({code} AS BIGINT) AS c{j}")
    names = [UNIT, *(f"c{j}" for j in range(len(codes)))]
    listed = ", ".join(names)
    kept = " AND ".join(f"{name} IS NOT NULL" for name in names)
    connection.execute(
        f"CREATE TABLE {CATALOG}.t{i} AS SELECT {listed} FROM (SELECT {UNIT}{''.join(codes)} "
        f"FROM (SELECT *{''.join(labels)} FROM known{i}) AS known JOIN keys{i} ON known.k = keys{i}.k"
        f"{''.join(joins)}) WHERE {kept} ORDER BY {listed}"
    )
    _check_codes(connection, i, table)


def _check_codes(connection: duckdb.DuckDBPyConnection, i: int, table: Table) -> None:
    """What every later step relies on, looked up in what was written."""
    sound = [f"{UNIT} IS NOT NULL"] + [
        f"COALESCE(c{j} BETWEEN {kind.codes[0]} AND {kind.codes[1]}, FALSE)"
        for j, (_, kind) in enumerate(table.columns)
    ]
    stored = f"{CATALOG}.t{i}"
    if _one(connection, f"SELECT count(*) FROM {stored} WHERE NOT ({' AND '.join(sound)})"):
        raise DataError(f"table {table.name!r}: a code outside its bounds was written")
    if not _one(connection, f"SELECT count(*) FROM {stored}") and (
        _one(connection, f"SELECT count(*) FROM raw{i}") >= _MANY
    ):
        raise DataError(
            f"table {table.name!r}: no row of the source fits the declaration: check the types, "
            "units and domains of its columns"
        )
    if table.rows_per_unit == 1 and _one(
        connection, f"SELECT count(*) - count(DISTINCT {UNIT}) FROM {stored}"
    ):
        raise DataError(
            f"table {table.name!r} declares rows_per_unit = 1, but a unit has more rows: "
            f"declare how many one unit may contribute"
        )


def _declare(connection: duckdb.DuckDBPyConnection, dataset: Dataset) -> None:
    connection.execute(
        f"CREATE TABLE {CATALOG}.declaration AS SELECT ?::VARCHAR AS dataset", [dataset.to_json()]
    )


def _publish(file: Path, folder: Path, dataset: Dataset) -> Snapshot:
    """Gives the finished file its name, durably and read-only."""
    digest = file_digest(file)
    target = folder / f"{digest[:32]}.duckdb"
    file.chmod(0o400)
    _sync(file)
    file.rename(target)
    _sync(folder)
    return Snapshot(dataset, target, digest)


def file_digest(file: Path) -> str:
    """The SHA-256 of a file, in hex."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _one(connection: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = connection.execute(sql).fetchone()
    assert row is not None
    return int(row[0])


def _quoted(text: str, mark: str = "'") -> str:
    return text.replace(mark, mark * 2)
