"""The ledger in one SQLite database in a folder of its own.

Writers of all processes wait for one file lock before they begin: BEGIN IMMEDIATE alone
starves some of them for seconds, and a deferred BEGIN fails when it comes to write.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, Self, final

import sqlalchemy as sa
from sqlalchemy.exc import MultipleResultsFound, NoResultFound

from interlace.core.errors import LedgerCorrupt, LedgerError
from interlace.ledger import statements
from interlace.ledger.canonical import follow, genesis
from interlace.ledger.interface import Head
from interlace.ledger.locks import Holds, exclusive, in_folder
from interlace.ledger.sqlite import schema
from interlace.ledger.sqlite.connections import Connections, translated
from interlace.ledger.transaction import SQLReads, SQLTransaction

_DATABASE: Final = "ledger.sqlite3"
_LOCK: Final = "ledger.lock"
_HOLDS: Final = "locks"


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
        self._folder = Path(folder).absolute()
        database = self._folder / _DATABASE
        if not create and not database.is_file():
            raise LedgerError(f"there is no ledger in {self._folder}; name the right folder")
        try:
            (self._folder / _HOLDS).mkdir(mode=0o700, parents=True, exist_ok=True)
            if not database.exists():  # it appears complete, or not at all
                with translated(), exclusive(self._folder / _LOCK):
                    if not database.exists():
                        schema.create(database)
        except OSError as error:
            raise LedgerError(
                f"cannot keep a ledger in {self._folder}: {error.strerror}. It needs a folder "
                "that this user can write to"
            ) from error
        self._names = Holds(in_folder(self._folder / _HOLDS), remove=True)
        self._writer = Holds(lambda _: self._folder / _LOCK, remove=False)
        self._connections = Connections(database)
        try:
            self._genesis = self._check()
        except BaseException:
            self.close()
            raise

    def _check(self) -> Head:
        with self._connections.lend() as connection:
            return _check_database(connection)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[SQLTransaction]:
        """Exclude every other writer, in all threads and processes, for one block."""
        with (
            self._writer.hold("transaction"),
            self._connections.lend(immediate=True) as connection,
        ):
            transaction = SQLTransaction(connection, self._genesis, translated)
            try:
                yield transaction
            finally:
                transaction.end()

    def acquire(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Hold a name, against all threads and processes, for one block (R5)."""
        return self._names.hold(name)

    def head(self) -> Head:
        """Number and hash of the last event; ``seq`` 0 for a ledger without events."""
        return statements.read_head(self._run, self._genesis)

    def verify(self, head: Head | None = None) -> Head:
        """Read everything, recompute the chain, and return the head; see the interface."""
        with self._connections.lend() as connection:
            start = _check_database(connection)
            reached = follow(start, _rows(connection), head)
            with translated():
                problems = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalars().all()
        if problems != ["ok"]:
            raise LedgerCorrupt(f"the database is damaged ({problems[0]}); restore a backup")
        return reached

    def close(self) -> None:
        """Give up all connections. The ledger cannot be used any more."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, statement: sa.Select[Any], values: dict[str, Any]) -> Sequence[Sequence[Any]]:
        with self._connections.lend() as connection, translated():
            return connection.execute(statement, values).fetchall()


def _check_database(connection: sa.Connection) -> Head:
    """Check that this is a whole ledger of this version; return its genesis."""
    with translated():
        found = {str(name): sql for name, sql in connection.exec_driver_sql(schema.OBJECTS)}
    try:
        with translated():
            version, ledger = connection.execute(statements.IDENTITY).one()
    except (LedgerError, NoResultFound, MultipleResultsFound):
        raise LedgerError(
            "the database is not a ledger; name a folder that holds one, or an empty one"
        ) from None
    schema.check_version(version)
    schema.check_definition(found)
    return genesis(str(ledger))


def _rows(connection: sa.Connection) -> Iterator[Sequence[Any]]:
    """All events, one by one, so that one that cannot be read is named."""
    read = 0
    try:
        with translated():
            for row in connection.execute(statements.CHAIN):
                yield row
                read = row[0]
    except LedgerCorrupt as error:
        raise error if error.event else LedgerCorrupt(str(error), read + 1) from None
