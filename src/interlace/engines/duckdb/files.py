"""A registration's files: the folder that it works in, the two databases there, the finished
snapshot. Knows nothing of what is in them.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import duckdb

#: The name under which a snapshot's file is attached.
CATALOG = "snapshot"
#: The name under which the file is attached that holds what is read, until it is written.
STAGE = "stage"
#: What DuckDB may hold while it writes a snapshot.
_MEMORY = "1GB"
#: How the name of a folder of unfinished work begins.
_WORK = ".registering-"


@contextlib.contextmanager
def workshop(folder: Path) -> Iterator[Path]:
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
def writer(work: Path, file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection in UTC that writes the snapshot ``file``, with a stage beside it."""
    connection = duckdb.connect(
        config={
            "memory_limit": _MEMORY,
            "temp_directory": str(work / "spill"),
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
    )
    try:
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")  # in an interactive session it is on
        # In a file, not as temporary tables: there it is compressed, and need not fit in memory.
        connection.execute(f"ATTACH {quoted(str(work / 'stage.duckdb'))} AS {STAGE}")
        connection.execute(f"ATTACH {quoted(str(file))} AS {CATALOG}")
        yield connection
        connection.execute(f"DETACH {CATALOG}")  # writes what is still in memory
    finally:
        connection.close()


def publish(file: Path, folder: Path) -> tuple[Path, str]:
    """Gives the finished file its name, durably and read-only; its path and digest."""
    digest = file_digest(file)
    target = folder / f"{digest[:32]}.duckdb"
    file.chmod(0o400)
    _sync(file)
    file.rename(target)
    _sync(folder)
    return target, digest


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


def counts(connection: duckdb.DuckDBPyConnection, sql: str) -> list[int]:
    """The one row of a statement that counts."""
    [row] = connection.execute(sql).fetchall()  # all: an unfinished result blocks what follows
    return [int(value) for value in row]


def quoted(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """A name as SQL takes it exactly."""
    return '"' + name.replace('"', '""') + '"'
