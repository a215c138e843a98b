"""The pool of SQLite connections of one process, and what becomes of it at a fork.

SQLite keeps per process which locks it has on a file. A child that inherits an open
connection inherits those notes without the locks, and every later connection of the child
trusts them. So all connections are closed before a fork; parent and child open their own.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sqlite3
import threading
import weakref
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from interlace.core.errors import LedgerError
from interlace.ledger.sqlite.running import check_open, translated

#: A second line: writers already wait on the ledger's own lock.
_BUSY_SECONDS = 60
#: In seconds, for blocks of other threads that should be short.
_PATIENCE = 10
#: How many connections are kept open while nobody uses them.
_KEPT = 8
#: For every connection.
_PRAGMAS = (
    "PRAGMA synchronous = FULL",  # a commit has reached the disk when it returns
    "PRAGMA fullfsync = ON",  # the same on macOS
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
)


class _Connection(sqlite3.Connection):
    """Closes itself when nobody has it any more: Python 3.13 warns of one that is left to the
    collector."""

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.ProgrammingError):  # it never came to be open
            self.close()


class Connections:
    """Connections to one database that exists, lent to one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue(_KEPT)
        self._watching: sqlite3.Connection | None = None
        self._watches = 0
        weakref.finalize(self, _close_all, self._idle)
        self._closed = self._broken = self._broken_in_child = False
        self._reset()
        with _turn:  # a fork would not know of it, and hand its connections to the child
            _alive.add(self)

    def _reset(self) -> None:
        self._gate = threading.Condition()
        self._users: Counter[int] = Counter()  # by thread
        self._forking = False

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.absolute().as_uri()}?mode=rw",  # never make an empty database
            uri=True,
            timeout=_BUSY_SECONDS,
            factory=_Connection,
            isolation_level=None,  # BEGIN and COMMIT are ours
            check_same_thread=False,  # the pool lends to one thread at a time
        )
        for pragma in _PRAGMAS:
            connection.execute(pragma)
        return connection

    @contextlib.contextmanager
    def lend(self, *, immediate: bool = False) -> Iterator[sqlite3.Connection]:
        """A connection for a block: for reading, where each statement sees what is committed
        then, or ``immediate``ly for writing, in one transaction.

        Committed when the block ends, rolled back when it raises. In a child that was forked
        inside the block, the end does nothing: the transaction is the parent's.
        """
        process = os.getpid()
        with self.using():
            connection = self._taken()
            try:
                if immediate:
                    translated(lambda: connection.execute("BEGIN IMMEDIATE"))
                yield connection
                if immediate and os.getpid() == process:
                    translated(partial(_commit, connection))
            finally:
                if os.getpid() == process:
                    self._give_back(connection)
                else:
                    _inherited.append(connection)

    def _taken(self) -> sqlite3.Connection:
        with contextlib.suppress(queue.Empty):
            return self._idle.get_nowait()
        return translated(self._connect)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        """For the next one, without what was not committed; closed if that fails."""
        with contextlib.suppress(sqlite3.Error, queue.Full):
            connection.rollback()
            self._idle.put_nowait(connection)
            return
        connection.close()

    def version(self) -> tuple[int, int]:
        """Another value whenever anybody has committed anything. One thread at a time."""
        with self.using():
            if self._watching is None:
                self._watching = translated(self._connect)
                self._watches += 1
            pragma = partial(self._watching.execute, "PRAGMA data_version")
            [version] = translated(pragma).fetchone()
            return self._watches, version

    def _close_idle(self) -> None:
        if self._watching is not None:
            self._watching.close()
            self._watching = None
        _close_all(self._idle)

    @contextlib.contextmanager
    def using(self) -> Iterator[None]:
        """A block that a fork waits for. Whoever holds a lock that is wanted inside such blocks
        takes it inside one, or a fork would wait for who waits for the fork."""
        me, gate, users = threading.get_ident(), self._gate, self._users
        with gate:
            # A thread that is inside already must get through, or the fork waits for ever.
            gate.wait_for(lambda: me in users or not self._forking)
            if self._closed:
                raise LedgerError("the ledger was closed: open it again")
            if self._broken:
                raise LedgerError(
                    "this process was forked inside a transaction and cannot use the ledger: "
                    "fork outside of transactions"
                )
            users[me] += 1
        try:
            yield
        finally:
            with gate:
                users[me] -= 1
                if not users[me]:
                    del users[me]
                gate.notify_all()

    def close(self) -> None:
        """Let nobody begin, wait until the other threads have ended, and close everything."""
        with self._gate:
            self._closed = True
            self._others_end()
            self._close_idle()

    def _others_end(self) -> None:
        me = threading.get_ident()
        self._gate.wait_for(lambda: not self._users.keys() - {me}, _PATIENCE)

    def before_fork(self) -> None:
        """Let nobody begin, wait until the other threads have ended, and close everything."""
        self._gate.acquire()
        self._forking = True
        self._others_end()
        # A transaction that would not end, or that is this thread's own, cannot be closed.
        self._broken_in_child = bool(self._users)
        if not self._broken_in_child:
            self._close_idle()

    def after_fork_in_parent(self) -> None:
        """Go on as before."""
        self._forking = False
        self._gate.notify_all()
        self._gate.release()

    def after_fork_in_child(self) -> None:
        """Start with no connection, or refuse to work."""
        self._broken = self._broken or self._broken_in_child
        self._reset()


#: All that a fork must close.
_alive: weakref.WeakSet[Connections] = weakref.WeakSet()
#: Of one thread at a time: to fork, or to add to them.
_turn = threading.RLock()
#: A child's copies of its parent's open transactions. Rolling one back would reach into the
#: shared index of the write-ahead log, so they are kept, untouched, for ever.
_inherited: list[sqlite3.Connection] = []
#: Those that a fork has closed, until it is over.
_forking: list[Connections] = []


def _before() -> None:
    _turn.acquire()
    for connections in list(_alive):
        connections.before_fork()
        _forking.append(connections)


def _after_in_parent() -> None:
    while _forking:
        _forking.pop().after_fork_in_parent()
    _turn.release()


def _after_in_child() -> None:
    while _forking:
        _forking.pop().after_fork_in_child()
    _turn.release()


os.register_at_fork(
    before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)


def _commit(connection: sqlite3.Connection) -> None:
    check_open(connection)
    connection.commit()


def _close_all(idle: queue.LifoQueue[sqlite3.Connection]) -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            idle.get_nowait().close()
