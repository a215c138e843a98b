"""Statements of SQLAlchemy on a connection of SQLite, and its errors as the ledger's."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from interlace.core.errors import AlreadyRecorded, LedgerCorrupt, LedgerError
from interlace.ledger.sqlite.schema import OLD_COPY
from interlace.ledger.statements import Rows

_T = TypeVar("_T")


def check_open(connection: sqlite3.Connection) -> None:
    """A full disk, for one, ends a transaction at once; what came after it would be committed
    by itself."""
    if not connection.in_transaction:
        raise sqlite3.OperationalError("the transaction was given up")


#: What SQLite says of a file that is not what it was.
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
#: What it says of an identity that is taken.
_DUPLICATE = {sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY}


def translated(work: Callable[[], _T]) -> _T:
    """Do the work, and turn the database's errors into the ledger's.

    Raised outside the handler, so that what the database said does not stay within reach as
    the context of the new one.
    """
    try:
        return work()
    except sqlite3.Error as error:
        failure = _translation(error)
    raise failure


def run(
    connection: sqlite3.Connection, statement: sa.ClauseElement, values: dict[str, Any]
) -> Rows:
    """Run one statement; all its rows, or none for one that gives none."""
    return translated(lambda: begun(connection, statement, values).fetchall())


def run_within(
    connection: sqlite3.Connection, statement: sa.ClauseElement, values: dict[str, Any]
) -> Rows:
    """Run one statement of a transaction, while there is one."""
    translated(partial(check_open, connection))
    return run(connection, statement, values)


def begun(
    connection: sqlite3.Connection, statement: sa.ClauseElement, values: dict[str, Any]
) -> sqlite3.Cursor:
    """Run one statement and leave its rows to be fetched; the errors are the database's."""
    sql, constants = _compiled(statement)
    return connection.execute(sql, {**constants, **values} if constants else values)


@lru_cache
def _compiled(statement: sa.ClauseElement) -> tuple[str, dict[str, Any]]:
    """A statement as SQLite's text, and the parameters that it brings along, by name."""
    compiled = statement.compile(dialect=sqlite.dialect(paramstyle="named"))
    return str(compiled), {name: v for name, v in compiled.params.items() if v is not None}


def _translation(cause: sqlite3.Error) -> LedgerError:
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
