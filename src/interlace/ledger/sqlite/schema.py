"""The SQLite database of a ledger: its definition, its creation, and the check that it stands.

The definition is text of our own, compared word for word with what a database holds: a
missing trigger or index would let a second answer in or slow every lookup down unseen.
"""

from __future__ import annotations

import os
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

from interlace.core.errors import LedgerCorrupt, LedgerError
from interlace.ledger.interface import ACCOUNT, ANSWER, DATASET, SESSION

#: What a ledger of this release says it is.
VERSION = 1

#: The advice for a ledger that lost something.
OLD_COPY = (
    "ask the custodian, and put no older copy back without them: it would forget what was "
    "spent and answer again"
)

#: The first with STRICT tables.
_OLDEST_SQLITE = (3, 37, 0)


def _index(name: str, columns: str, condition: str, *, unique: bool = False) -> tuple[str, str]:
    kind = "UNIQUE INDEX" if unique else "INDEX"
    return name, f"CREATE {kind} {name} ON events ({columns}) WHERE {condition}"


def _forbid(name: str, when: str, reason: str) -> tuple[str, str]:
    return name, f"CREATE TRIGGER {name} BEFORE {when} BEGIN SELECT RAISE(ABORT, '{reason}'); END"


#: Why the database refuses a change.
_APPEND_ONLY = "the ledger is append-only"

#: Which ledger this is.
_META = (
    "CREATE TABLE meta (one INTEGER PRIMARY KEY CHECK (one = 1), "
    "version INTEGER NOT NULL, ledger TEXT NOT NULL) STRICT"
)
#: The chain; the names of the columns are those of an event.
_EVENTS = (
    "CREATE TABLE events (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, dataset TEXT, "
    "account TEXT, session TEXT, round INTEGER, key TEXT, body TEXT NOT NULL, "
    "secret BLOB, hash TEXT NOT NULL CHECK (length(hash) = 64)) STRICT"
)
#: INSERT OR REPLACE fires no delete trigger: the next number must be the only one allowed.
_IN_ORDER = (
    "INSERT ON events WHEN NEW.seq <> "
    "coalesce((SELECT seq FROM events ORDER BY seq DESC LIMIT 1), 0) + 1"
)

#: Every object of the database, by name. The rowid (seq) ends each index by itself.
DEFINITION: dict[str, str] = dict(
    [
        ("meta", _META),
        ("events", _EVENTS),
        _index("one_dataset", "dataset, coalesce(round, 1)", f"kind = '{DATASET}'", unique=True),
        _index("one_account", "account", f"kind = '{ACCOUNT}'", unique=True),
        _index("one_session", "session", f"kind = '{SESSION}'", unique=True),
        _index("one_answer", "session, round", f"kind = '{ANSWER}'", unique=True),
        _index("one_key", "session, key", f"kind = '{ANSWER}' AND key IS NOT NULL", unique=True),
        ("by_kind", "CREATE INDEX by_kind ON events (kind)"),
        _index("by_account_kind", "account, kind", "account IS NOT NULL"),
        _index("by_session_kind", "session, kind", "session IS NOT NULL"),
        _forbid("events_in_order", _IN_ORDER, "events are numbered without gaps"),
        _forbid("events_no_update", "UPDATE ON events", _APPEND_ONLY),
        _forbid("events_no_delete", "DELETE ON events", _APPEND_ONLY),
        _forbid("meta_no_update", "UPDATE ON meta", _APPEND_ONLY),
        _forbid("meta_no_delete", "DELETE ON meta", _APPEND_ONLY),
    ]
)

#: Lists every object of a database, to be compared with the definition.
OBJECTS = "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'"


def create(path: Path) -> None:
    """Make an empty ledger, which appears under its path complete or not at all.

    Call it under the ledger's lock. An empty file under that path is thus never a ledger
    about to be made: it is one that lost its contents, and is refused.
    """
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise LedgerError(f"SQLite {sqlite3.sqlite_version} is too old: install 3.37 or later")
    for leftover in (path.with_name(path.name + "-wal"), path.with_name(path.name + "-journal")):
        if leftover.exists():
            raise LedgerError(f"{path} is missing but {leftover.name} is there: {OLD_COPY}")
    made = path.with_name(path.name + ".new")
    made.unlink(missing_ok=True)  # what a crash in here has left
    os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))  # holds secrets
    with closing(sqlite3.connect(made, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        for statement in DEFINITION.values():
            connection.execute(statement)
        connection.execute("INSERT INTO meta VALUES (1, ?, ?)", (VERSION, uuid.uuid4().hex))
        connection.execute("COMMIT")
        if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise LedgerError(f"{path.parent} does not allow WAL: use a local disk")
    made.rename(path)
    for folder in (path.parent, path.parent.parent):
        _sync(folder)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def check_version(version: object) -> None:
    """Raise LedgerError unless this release writes ledgers of that version."""
    if version != VERSION:
        raise LedgerError(
            f"the ledger has schema version {version}, this release reads version {VERSION}: "
            "use the release that wrote it, or a newer one"
        )


def check_definition(found: dict[str, str | None]) -> None:
    """Raise LedgerCorrupt unless a database's objects are exactly those of a ledger."""
    for name, statement in DEFINITION.items():
        if name not in found:
            raise LedgerCorrupt(f"the database has lost its {name}: {OLD_COPY}")
        if found[name] != statement:
            raise LedgerCorrupt(f"the definition of {name} was changed: {OLD_COPY}")
    extra = sorted(found.keys() - DEFINITION.keys())
    if extra:
        raise LedgerCorrupt(
            f"the database holds {extra}, which are not the ledger's: take them away"
        )
