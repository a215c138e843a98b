"""The ledger in one SQLite database in a folder of its own.

Writers of all processes wait for one file lock before they begin: BEGIN IMMEDIATE alone
starves some of them for seconds, and a deferred BEGIN fails when it comes to write.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar, Unpack, final

import sqlalchemy as sa

from interlace.core.errors import LedgerCorrupt, LedgerError, ParameterError
from interlace.ledger import statements
from interlace.ledger.canonical import follow, genesis
from interlace.ledger.group import Begin, Group, nothing
from interlace.ledger.holds import Holds, in_folder, tidy
from interlace.ledger.interface import Columns, Head, Reads
from interlace.ledger.locks import exclusive
from interlace.ledger.rows import checked_row
from interlace.ledger.sqlite import schema
from interlace.ledger.sqlite.connections import Connections
from interlace.ledger.sqlite.running import begun, run, run_within, translated
from interlace.ledger.sqlite.watch import Watch
from interlace.ledger.transaction import SQLReads, SQLTransaction

_T = TypeVar("_T")

#: In the ledger's folder: the database, the lock of its writers, and a folder of other locks.
_DATABASE, _LOCK, _HOLDS = "ledger.sqlite3", "ledger.lock", "locks"
#: The smallest number that a row can have, by whoever's hand.
_LOWEST = -(2**63)


@final
class SQLiteLedger(SQLReads):
    """A ledger in ``folder``, made on first use unless ``create`` is false.

    Any number of ledger objects, threads and processes on one machine may share a folder.
    Use ``with`` or ``close``. Raises LedgerError for a folder that cannot be used, holds no
    ledger or one of an unknown version; LedgerCorrupt for one that has lost a part.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, SQLiteLedger(folder) as ledger:
    ...     with ledger.transaction() as transaction:
    ...         _ = transaction.append("account", account="ada", body={"rho": "1/2"})
    ...     print(ledger.last("account", account="ada").body["rho"], ledger.verify().seq)
    1/2 1
    """

    def __init__(self, folder: str | os.PathLike[str], *, create: bool = True) -> None:
        if "\0" in os.fspath(folder):
            raise ParameterError("folder", "holds NUL, which no name of a folder does")
        self._folder = Path(folder).absolute()
        database = self._folder / _DATABASE
        if not create and not database.is_file():
            raise LedgerError(f"there is no ledger in {self._folder}: name the right folder")
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._folder / _HOLDS).mkdir(mode=0o700, exist_ok=True)
            tidy(self._folder / _HOLDS)
            if not database.exists():  # it appears complete, or not at all
                with exclusive(self._folder / _LOCK):
                    if not database.exists():
                        translated(partial(schema.create, database))
        except OSError as error:
            raise LedgerError(
                f"cannot keep a ledger in {self._folder}: {error.strerror}: it needs a folder "
                "that this user can write to"
            ) from error
        # None of the parts knows this object, or the thread of the group would keep it alive.
        self._names = Holds(in_folder(self._folder / _HOLDS))
        self._writer = Holds(partial("{}/{}".format, self._folder))
        self._connections = Connections(database)
        try:
            self._id = self._check()
        except BaseException:
            self._connections.close()
            raise
        self._genesis = genesis(self._id)
        self._begin = partial(_begun, self._connections, self._names.held, self._genesis)
        self._watch = Watch(self._connections)
        own = partial(self._watch.own, self._begin)
        self._group = Group(partial(_written, self._writer, own))

    @property
    def id(self) -> str:
        """Which ledger this is: text that no other ledger has, but copies of it keep."""
        return self._id

    def _check(self) -> str:
        with self._connections.lend() as connection:
            return _check_database(connection)

    def transaction(self) -> contextlib.AbstractContextManager[SQLTransaction]:
        """Exclude every other writer, in all threads and processes, for one block."""
        return _written(self._writer, self._begin)

    def append(
        self,
        kind: str,
        *,
        mark: int | None = None,
        check: Callable[[Reads], None] = nothing,
        before_commit: Callable[[], None] = nothing,
        **columns: Unpack[Columns],
    ) -> int:
        """Add one event, committed together with what other threads append; see the interface."""
        row = checked_row(kind, **columns)
        if self._writer.mine(_LOCK):
            raise LedgerError("this thread is inside a transaction: append by that")
        return self._group.append(row, partial(self._watch.check, mark, check), before_commit)

    def mark(self) -> int:
        """Another number whenever others may have recorded anything since; see the interface."""
        return self._watch.mark()

    def acquire(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Hold a name, against all threads and processes, for one block (R5)."""
        return self._names.hold(name)

    def head(self) -> Head:
        """Number and hash of the last event; ``seq`` 0 for a ledger without events."""
        return statements.read_head(self._run, self._genesis)

    def verify(self, head: Head | None = None) -> Head:
        """Read everything, recompute the chain, and return the head; see the interface."""
        with contextlib.closing(self._chain()) as chain:
            reached = follow(genesis(self._check()), chain, head)
        with self._connections.lend() as connection:
            ((problem,), *_) = run(connection, sa.text("PRAGMA integrity_check(1)"), {})
        if problem != "ok":
            raise LedgerCorrupt(f"the database is damaged ({problem}): {schema.OLD_COPY}")
        return reached

    def _chain(self) -> Generator[Sequence[Any]]:
        """All events. A connection is lent for one page at a time: a fork waits for lenders."""
        values = {"first": _LOWEST, "page": statements.PAGE}
        read = statements.PAGE
        while read == statements.PAGE:
            read = 0
            with self._connections.lend() as connection:
                page = partial(begun, connection, statements.CHAIN, values)
                with contextlib.closing(_numbered(page, values["first"])) as rows:
                    following = partial(next, rows, None)
                    while (row := _numbered(following, values["first"])) is not None:
                        yield row
                        read, values["first"] = read + 1, row[0] + 1

    def close(self) -> None:
        """Give up all connections. The ledger cannot be used any more."""
        self._group.close()
        self._connections.close()
        self._names.close()
        self._writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, statement: sa.Select[Any], values: dict[str, Any]) -> statements.Rows:
        with self._connections.lend() as connection:
            return run(connection, statement, values)


@contextlib.contextmanager
def _written(writer: Holds, begin: Begin) -> Iterator[SQLTransaction]:
    """A transaction under the lock of the writers."""
    with writer.hold(_LOCK), begin() as transaction:
        yield transaction


@contextlib.contextmanager
def _begun(
    connections: Connections, holds: Callable[[str, int], bool], start: Head
) -> Iterator[SQLTransaction]:
    with connections.lend(immediate=True) as connection:
        transaction = SQLTransaction(partial(run_within, connection), holds, start)
        try:
            yield transaction
        finally:
            transaction.end()


def _check_database(connection: sqlite3.Connection) -> str:
    """Check that this is a whole ledger of this version; return its id."""
    found = {str(name): sql for name, sql in run(connection, sa.text(schema.OBJECTS), {})}
    identity = _identity(connection)
    if len(identity) != 1:
        raise LedgerError(
            "the database is not a ledger: name a folder that holds one, or an empty one"
        )
    version, ledger = identity[0]
    schema.check_version(version)
    schema.check_definition(found)
    return str(ledger)


def _identity(connection: sqlite3.Connection) -> statements.Rows:
    """The rows that say which ledger this is; none in a database without them."""
    try:
        return run(connection, statements.IDENTITY, {})
    except LedgerError:
        return []


def _numbered(work: Callable[[], _T], number: int) -> _T:
    """Do the work; damage that it meets is named by the number of its event."""
    try:
        return translated(work)
    except LedgerCorrupt as error:
        problem = str(error)
    raise LedgerCorrupt(problem, max(number, 1))
