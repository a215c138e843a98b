"""The default engine: reads a registered snapshot with DuckDB, locked down and read-only.

It runs only statements that ``query.rewrite`` built. It may not write, reach another file or
show what it read in an error.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
import weakref
from pathlib import Path

import duckdb

from interlace.core.errors import EngineError, ParameterError
from interlace.engines.base import Snapshot, failure
from interlace.engines.duckdb.files import CATALOG, file_digest, quoted
from interlace.engines.duckdb.forks import busy
from interlace.engines.duckdb.reader import Reader
from interlace.engines.duckdb.register import LAYOUT
from interlace.query.plan import Plan
from interlace.query.rewrite import Statement, assembled, rewrite
from interlace.query.schema import Dataset
from interlace.query.snapshot_names import RANK

#: Of a DuckDB connection.
Settings = dict[str, str | bool | int | float | list[str]]

#: How many readers are kept while nobody reads.
_KEPT = 16

#: All that a forked child must forget.
_engines: weakref.WeakSet[DuckDBEngine] = weakref.WeakSet()


class DuckDBEngine:
    """Reads one snapshot. Safe to share between threads; a forked child opens its own.

    Nothing is opened before the first read. ``memory`` bounds what DuckDB may hold,
    ``threads`` its parallelism; beyond memory it spills into ``.spill`` beside the snapshot.
    A read that takes longer than ``seconds`` is ended and fails as any other.
    """

    def __init__(
        self, snapshot: Snapshot, *, memory: str = "1GB", threads: int = 2, seconds: float = 600
    ) -> None:
        if not 0 < seconds <= threading.TIMEOUT_MAX:
            raise ParameterError("seconds", f"must be above 0, got {seconds}")
        self._snapshot = snapshot
        self._seconds = seconds
        self._limits: Settings = {"memory_limit": memory, "threads": threads}
        self._lock = threading.Lock()
        self._closed = False
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._layout = LAYOUT
        self._idle: list[Reader] = []
        _engines.add(self)

    def read(self, plan: Plan) -> tuple[int, ...]:
        """The exact answer, one integer for each cell.

        Raises ParameterError for a plan over another dataset; EngineError if the engine is
        closed, fails or takes too long, if the file is missing or is not the one that was
        registered, or if it is an old one without the ranks that the plan needs. An interrupt
        from the keyboard ends the read and stays what it is.
        """
        if plan.dataset != self._snapshot.dataset:
            raise ParameterError("plan", "was made for another dataset than this snapshot's")
        statements = rewrite(plan, "duckdb", CATALOG)
        ends = time.monotonic() + self._seconds
        with busy():
            connection = self._current()
            self._check_layout(statements)
            # Whatever happens may depend on data, so all of it has one form.
            with contextlib.suppress(Exception):
                reader = self._reader(connection)
                try:
                    found = [(s, reader.fetch(s.sql, ends - time.monotonic())) for s in statements]
                finally:
                    self._give_back(reader)
                return assembled(plan, found)
            raise failure()

    def close(self) -> None:
        """Lets go of the snapshot; the last read that runs gives it back.

        A later ``read`` raises EngineError; closing again does nothing.
        """
        with self._lock:
            self._closed = True
            self._connection = None  # not closed: DuckDB would take its cursors along
        while self._idle:
            self._idle.pop().end()

    def _current(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            if self._closed:
                raise EngineError("the engine is closed: open the centre again")
            if self._connection is None:  # also a forked child's first read
                self._connection = self._open()
            return self._connection

    def _reader(self, connection: duckdb.DuckDBPyConnection) -> Reader:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        # A connection shared by threads fails; a cursor is a connection of its own, which
        # lives on when the engine is closed.
        return Reader(connection.cursor())

    def _give_back(self, reader: Reader) -> None:
        with self._lock:
            if reader.usable and not self._closed and len(self._idle) < _KEPT:
                self._idle.append(reader)
                return
        reader.end()

    def _open(self) -> duckdb.DuckDBPyConnection:
        path = self._snapshot.path
        # Without the path: analysts read it, and what it holds named the file.
        name = f"the snapshot of dataset {self._snapshot.dataset.name!r}"
        if not path.is_file():
            raise EngineError(f"{name} is missing: the custodian must put it back")
        with contextlib.suppress(duckdb.Error, OSError):
            if file_digest(path) != self._snapshot.digest:
                raise EngineError(f"{name} is not the one that was registered")
            connection = duckdb.connect(config=_settings(path) | self._limits)
            _lock_down(connection, path)
            stored = connection.execute(f"SELECT * FROM {CATALOG}.declaration").fetchone()
            if stored is None or not _declares(stored[0], self._snapshot.dataset):
                raise EngineError(f"{name} was registered under another declaration")
            self._layout = 1 if len(stored) == 1 else int(stored[1])
            if self._layout > LAYOUT:
                raise EngineError(f"{name} was written by a later version of Interlace: use that")
            return connection
        raise EngineError(f"{name} cannot be opened: the custodian must see who may read it")

    def _check_layout(self, statements: list[Statement]) -> None:
        # No text of a user is in a statement. What declares key sets or public tables is younger.
        if self._layout < LAYOUT and any(f'"{RANK}"' in item.sql for item in statements):
            raise EngineError(
                f"the snapshot of dataset {self._snapshot.dataset.name!r} is of an older version, "
                "without row ranks, and cannot answer this: the custodian must register the "
                "dataset again"
            )

    def forget(self) -> None:
        """After a fork: the parent's connection has no threads here and may not be touched,
        not even to close it; the lock may be held by a thread that is gone."""
        self._lock = threading.Lock()
        # One reference more than there are holders: not even the end of the process frees it.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._connection))
        self._connection = None
        self._idle.clear()  # their threads are gone


def _settings(path: Path) -> Settings:
    return {
        "temp_directory": str(path.parent / ".spill"),
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "allow_unsigned_extensions": False,
    }


def _declares(text: str, dataset: Dataset) -> bool:
    """Whether a snapshot's declaration is that dataset; the text of an older one may differ."""
    with contextlib.suppress(ParameterError):
        return text == dataset.to_json() or Dataset.from_json(text) == dataset
    return False


def _lock_down(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    # An instance in memory that attaches the file, not the file itself: DuckDB would hand
    # a forked child its parent's instance of the same path.
    connection.execute(f"ATTACH {quoted(str(path))} AS {CATALOG} (READ_ONLY)")
    connection.execute("SET GLOBAL TimeZone = 'UTC'")  # for its cursors too
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _after_fork() -> None:
    for engine in list(_engines):
        engine.forget()


os.register_at_fork(after_in_child=_after_fork)
