"""The pool of SQLite connections of one process, and what becomes of it at a fork.

SQLite keeps per process which locks it has on a file. A child that inherits an open
connection inherits those notes without the locks, and every later connection of the child
trusts them. So all connections are closed before a fork; parent and child open their own.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from interlace.core.errors import AlreadyRecorded, LedgerCorrupt, LedgerError
from interlace.ledger.sqlite.schema import OLD_COPY
from interlace.ledger.statements import Rows

_T = TypeVar("_T")

#: A second line: writers already wait on the ledger's own lock.
_BUSY_SECONDS = 60
#: In seconds, for blocks of other threads that should be short.
_PATIENCE = 10
#: For every connection.
_PRAGMAS = (
    "PRAGMA synchronous = FULL",  # a commit has reached the disk when it returns
    "PRAGMA fullfsync = ON",  # the same on macOS
    "PRAGMA checkpoint_fullfsync = ON",
    "PRAGMA trusted_schema = OFF",
)


class _Connection(sqlite3.Connection):
    """Closes itself when the pool lets go of it after an error: Python 3.13 warns of one that
    is left to the collector."""

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.ProgrammingError):  # it never came to be open
            self.close()


class Connections:
    """Connections to one database that exists, lent to one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._engine = sa.create_engine(
            "sqlite+pysqlite://",
            creator=self._connect,
            poolclass=sa.QueuePool,
            pool_size=8,
            max_overflow=-1,
            hide_parameters=True,  # an error must not print a secret
        )
        sa.event.listen(self._engine, "begin", _begin)
        self._closer = weakref.finalize(self, self._engine.dispose)
        self._closed = self._broken = self._broken_in_child = False
        self._reset()
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
    def lend(self, *, immediate: bool = False) -> Iterator[sa.Connection]:
        """A connection for a block: a snapshot for reading, or ``immediate``ly for writing.

        Committed when the block ends, rolled back when it raises. In a child that was forked
        inside the block, the end does nothing: the transaction is the parent's.
        """
        process = os.getpid()
        with self._using():
            connection = translated(self._engine.connect)
            try:
                translated(connection.execution_options(interlace_immediate=immediate).begin)
                yield connection
                if os.getpid() == process:
                    translated(connection.commit)
            finally:
                if os.getpid() == process:
                    translated(connection.close)  # rolls back what was not committed
                else:
                    _inherited.append(connection)

    @contextlib.contextmanager
    def _using(self) -> Iterator[None]:
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
        self._closer()

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
            self._engine.dispose()

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
#: A child's copies of its parent's open transactions. Rolling one back would reach into the
#: shared index of the write-ahead log, so they are kept, untouched, for ever.
_inherited: list[sa.Connection] = []
#: Those that a fork has closed, until it is over.
_forking: list[Connections] = []


def _before() -> None:
    for connections in list(_alive):
        connections.before_fork()
        _forking.append(connections)


def _after_in_parent() -> None:
    while _forking:
        _forking.pop().after_fork_in_parent()


def _after_in_child() -> None:
    while _forking:
        _forking.pop().after_fork_in_child()


os.register_at_fork(
    before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
)


def _begin(connection: sa.Connection) -> None:
    immediate = connection.get_execution_options().get("interlace_immediate", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


#: What SQLite says of a file that is not what it was.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
#: What it says of an identity that is taken.
_DUPLICATE = {sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY}


def translated(work: Callable[[], _T]) -> _T:
    """Do the work, and turn the database's errors into the ledger's.

    Raised outside the handler: the database's own error holds the statement's parameters,
    and would stay within reach as the context of the new one.
    """
    try:
        return work()
    except (DBAPIError, sqlite3.Error) as error:
        failure = _translation(error.orig if isinstance(error, DBAPIError) else error)
    raise failure


def run(connection: sa.Connection, statement: sa.Executable, values: dict[str, Any]) -> Rows:
    """Run one statement; all its rows, or none for one that gives none."""

    def rows() -> Rows:
        result = connection.execute(statement, values)
        return result.fetchall() if result.returns_rows else []

    return translated(rows)


def _translation(cause: BaseException | None) -> LedgerError:
    code = getattr(cause, "sqlite_errorcode", None)
    if code in _DUPLICATE:
        return AlreadyRecorded("the ledger holds an event of that identity already")
    if code is None and "decode" in str(cause):
        # Python's own message would quote the undecodable contents.
        return LedgerCorrupt(f"the database holds text that is not UTF-8: {OLD_COPY}")
    if isinstance(code, int) and code & 0xFF in _DAMAGE:
        return LedgerCorrupt(f"the database is damaged ({cause}): {OLD_COPY}")
    return LedgerError(
        f"the ledger's database failed ({cause}): check the disk's space and permissions"
    )
