"""A thread that runs statements, so that whoever waits for one can be interrupted.

In the main thread DuckDB would hold back an interrupt from the keyboard until it is done, and
then turn it into an error of its own. Threads and their cursors are used again: making them
costs as much as a small read.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import threading
import weakref
from typing import Any

import duckdb

from interlace.engines.base import failure

#: How often a statement is told to end, 20 ms apart, before it is left to end by itself.
_PATIENCE = 100


class _Job:
    """One statement, and its rows once it is done; None if it failed."""

    def __init__(self, statement: str) -> None:
        self.statement = statement
        self.rows: list[tuple[Any, ...]] | None = None
        self.done = threading.Event()


class Reader:
    """One thread and one cursor, for one caller at a time. Both end with ``end``, or when nobody
    has the reader any more."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self.cursor = cursor
        #: False while a statement runs, and once one had to be interrupted: the interrupt could
        #: hit the next one.
        self.usable = True
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        arguments = (cursor, self._jobs)
        self._thread = threading.Thread(
            target=_run, args=arguments, name="interlace read", daemon=True
        )
        self._job: _Job | None = None
        self._ender = weakref.finalize(self, self._jobs.put, None)
        self._ender.atexit = False  # what is called at the end of the process may read still
        _readers.add(self)
        self._thread.start()

    def fetch(self, statement: str, seconds: float) -> list[tuple[Any, ...]]:
        """The rows of a statement. Raises EngineError if it fails or takes longer than
        ``seconds``."""
        job = self._job = _Job(statement)
        self.usable = False
        try:
            self._jobs.put(job)
            job.done.wait(max(seconds, 0.0))
        finally:
            if job.done.is_set():
                self.usable = True
            else:
                self._interrupt(job)
        if job.rows is None:
            raise failure()
        return job.rows

    def _interrupt(self, job: _Job) -> None:
        for _ in range(_PATIENCE):
            # Again and again: one that comes before the statement began goes unheard.
            with contextlib.suppress(duckdb.Error):
                self.cursor.interrupt()
            if job.done.wait(0.02):
                break

    def end(self) -> None:
        """Close the cursor, once the statement that runs has ended; does not wait for that."""
        self._ender()
        if self._job is None or self._job.done.is_set():
            self._thread.join()


def _run(cursor: duckdb.DuckDBPyConnection, jobs: queue.SimpleQueue[_Job | None]) -> None:
    with contextlib.closing(cursor):
        while (job := jobs.get()) is not None:
            with contextlib.suppress(Exception):
                job.rows = cursor.execute(job.statement).fetchall()
            job.done.set()


#: All that a forked child must leave alone.
_readers: weakref.WeakSet[Reader] = weakref.WeakSet()


def _after_fork() -> None:
    """A cursor of the parent's may not be touched, not even to close it: with one reference
    more than there are holders, not even the end of the process frees it."""
    for reader in list(_readers):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(reader.cursor))


os.register_at_fork(after_in_child=_after_fork)
