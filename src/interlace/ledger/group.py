"""Group commit: what many threads append at a time is committed once, for all of them.

A commit waits for the disk. One thread of the process commits; what is handed to it meanwhile
it commits next, together. An interrupt from the keyboard reaches the main thread only, so it
can end a wait, but no commit half-way.
"""

from __future__ import annotations

import contextlib
import copy
import queue
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager

from interlace.core.errors import AlreadyRecorded, Closed, LedgerError, NameTaken, SessionVoid
from interlace.ledger.forks import forget_at_fork
from interlace.ledger.rows import Row
from interlace.ledger.transaction import NotHeld, SQLTransaction

#: How many events are committed together at most.
_MOST = 256
#: In seconds, for a commit that is under way when its caller is interrupted, or at the end.
_PATIENCE = 10

#: What is wrong with one event alone.
_OF_ONE = (AlreadyRecorded, NameTaken, NotHeld, Closed, SessionVoid)

Begin = Callable[[], AbstractContextManager[SQLTransaction]]


Check = Callable[[SQLTransaction], None]


def nothing(*_: object) -> None:
    """What is done before a commit unless something is asked for."""


class _Entry:
    """One event that waits to be committed, and what became of it."""

    def __init__(self, row: Row, check: Check, before_commit: Callable[[], None]) -> None:
        self.row = row
        self.check = check
        self.before_commit = before_commit
        self.thread = threading.get_ident()
        self.withdrawn = False
        self._found: int | BaseException | None = None
        self._settled = threading.Lock()
        self._settled.acquire()

    def settle(self, found: int | BaseException) -> None:
        self._found = found
        self._settled.release()

    def result(self) -> int:
        """Waits until it is settled, then gives the event's number or raises."""
        try:
            self._settled.acquire()
        except BaseException:
            self.withdrawn = True  # unless it is under way: then it is the caller's who comes next
            if self._found is None:  # else the interrupt came after the wait
                self._settled.acquire(timeout=_PATIENCE)
            raise
        if isinstance(self._found, int):
            return self._found
        # An error of this thread's own: several would share one traceback.
        raise copy.copy(self._found or _closed())


class Group:
    """Appends that share transactions. Its thread starts with the first and ends at ``close``."""

    def __init__(self, begin: Begin) -> None:
        self._begin = begin
        self._closed = False
        self._ender: weakref.finalize[..., Group] | None = None
        self.forget()
        forget_at_fork(self)

    def forget(self) -> None:
        """Start afresh, in a child after a fork: it has neither the thread nor its callers."""
        self._guard = threading.Lock()
        self._entries: queue.SimpleQueue[_Entry | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        if self._ender is not None:
            self._ender.detach()
        self._ender = weakref.finalize(self, self._entries.put, None)
        self._ender.atexit = False  # what is called at the end of the process may append still

    def append(
        self, row: Row, check: Check = nothing, before_commit: Callable[[], None] = nothing
    ) -> int:
        """Add the event and return its number; durable when this returns.

        ``check`` is called before, inside the transaction; what it raises of a session's or an
        account's end is this event's alone.
        """
        entry = _Entry(row, check, before_commit)
        if not self._handed_over(entry):
            _commit([entry], self._begin)
        return entry.result()

    def _handed_over(self, entry: _Entry) -> bool:
        with self._guard:
            if self._closed:
                raise _closed()
            if self._thread is None:
                self._thread = self._started()
            if self._thread is None:
                return False
            self._entries.put(entry)
            return True

    def _started(self) -> threading.Thread | None:
        # Without a reference to this object, which would keep it alive for ever.
        thread = threading.Thread(
            target=_serve,
            args=(self._entries, self._begin),
            name="interlace commits",
            daemon=True,
        )
        try:
            thread.start()
        except RuntimeError:  # there are too many, or the process is about to end
            return None
        return thread

    def close(self) -> None:
        """Commit what waits, and end."""
        with self._guard:
            self._closed = True
            self._entries.put(None)
            thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(_PATIENCE)


def _closed() -> LedgerError:
    return LedgerError("the ledger was closed: open it again")


def _serve(entries: queue.SimpleQueue[_Entry | None], begin: Begin) -> None:
    """Commit batch after batch, until None comes, which is the last."""
    following = entries.get()
    while following is not None:
        batch: list[_Entry] = []
        with contextlib.suppress(queue.Empty):
            while following is not None and len(batch) < _MOST:
                batch.append(following)
                following = entries.get_nowait()
        _commit(batch, begin)
        if following is batch[-1]:
            following = entries.get()


def _commit(batch: list[_Entry], begin: Begin) -> None:
    found: list[int | BaseException]
    try:
        with begin() as transaction:
            found = [_added(transaction, entry) for entry in batch]
            for entry in batch:
                entry.before_commit()
    except BaseException as error:  # noqa: BLE001  whatever it is, each of them must hear of it
        found = [error] * len(batch)
    for entry, result in zip(batch, found, strict=True):
        entry.settle(result)


def _added(transaction: SQLTransaction, entry: _Entry) -> int | BaseException:
    """Its number, or an error of its own; any other ends the transaction, and so the batch."""
    if entry.withdrawn:
        return _withdrawn()
    try:
        entry.check(transaction)
        return int(transaction.add(entry.row, entry.thread)[0])
    except _OF_ONE as error:
        return error


def _withdrawn() -> LedgerError:
    return LedgerError("its caller was interrupted before this was recorded")
