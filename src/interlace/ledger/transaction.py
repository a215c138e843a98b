"""The reads that every ledger shares, and the transaction that appends to the chain."""

from __future__ import annotations

import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Unpack, final

import sqlalchemy as sa

from interlace.core.errors import (
    AlreadyRecorded,
    InterlaceError,
    LedgerError,
    NameTaken,
    ParameterError,
)
from interlace.ledger import statements
from interlace.ledger.canonical import canonical, link, text
from interlace.ledger.interface import ACCOUNT, ANSWER, CHARGE, DATASET, SESSION, Event, Head, Names
from interlace.ledger.statements import Selection


class SQLReads(ABC):
    """The reads of the interface, over whatever runs a select."""

    @abstractmethod
    def _run(self, statement: sa.Select[Any], values: dict[str, Any]) -> statements.Rows:
        """Run one select and return all its rows."""

    @abstractmethod
    def head(self) -> Head:
        """Number and hash of the last event."""

    def events(self, kind: str, *, after: int = 0, **names: Unpack[Names]) -> Iterator[Event]:
        """The events that match everything given and have ``seq > after``, in order."""
        return statements.pages(self._run, Selection.of(kind, names), after)

    def last(self, kind: str, **names: Unpack[Names]) -> Event | None:
        """The latest event that matches everything given."""
        wanted = Selection.of(kind, names)
        return self._one(wanted.last(), wanted.parameters())

    def answer_by_key(self, session: str, key: str) -> Event | None:
        """The answer that a session gave under an idempotency key."""
        return self._one(statements.BY_KEY, {"session": session, "key": key})

    def at(self, seq: int) -> Event | None:
        """The event of that number."""
        return self._one(statements.AT, {"seq": seq})

    def _one(self, statement: sa.Select[Any], values: dict[str, Any]) -> Event | None:
        rows = self._run(statement, values)
        return statements.event(rows[0]) if rows else None


#: What a kind of event must carry: its identity, and to whom and what it belongs.
_NEEDED: dict[str, tuple[str, ...]] = {
    DATASET: ("dataset",),
    ACCOUNT: ("account",),
    CHARGE: ("account",),
    SESSION: ("dataset", "account", "session"),
    ANSWER: ("dataset", "account", "session", "round"),
}


@final
class SQLTransaction(SQLReads):
    """One exclusive, open transaction; usable by its own thread until its block ends.

    ``run`` runs a statement and turns the database's errors into the ledger's; ``holds`` tells
    whether this thread still holds a session.
    """

    def __init__(
        self,
        run: Callable[[sa.Executable, dict[str, Any]], statements.Rows],
        holds: Callable[[str], bool],
        start: Head,
    ) -> None:
        self._runs = run
        self._holds = holds
        self._thread: int | None = threading.get_ident()
        self._head = statements.read_head(self._run, start)

    def end(self) -> None:
        """Refuse everything from now on."""
        self._thread = None

    def head(self) -> Head:
        """Number and hash of the last event, this transaction's own included."""
        self._check()
        return self._head

    def append(
        self,
        kind: str,
        *,
        dataset: str | None = None,
        account: str | None = None,
        session: str | None = None,
        round: int | None = None,
        key: str | None = None,
        body: Mapping[str, object] | None = None,
        secret: bytes | None = None,
    ) -> Event:
        """Add an event; see the interface."""
        self._check()
        row: dict[str, Any] = {
            "seq": self._head.seq + 1,
            "kind": _name(kind, "kind"),
            "dataset": _optional(dataset, "dataset"),
            "account": _optional(account, "account"),
            "session": _optional(session, "session"),
            "round": _round(round),
            "key": _optional(key, "key"),
            "body": canonical(body or {}),
            "secret": _salted(secret),
        }
        for name in _NEEDED.get(kind, ()):
            if row[name] is None:
                raise ParameterError(name, f"is required for an event of kind {kind!r}")
        self._check_hold(row)
        row["hash"] = link(self._head.hash, tuple(row.values()))
        if not self._inserted(row):
            raise self._refusal(row)
        self._head = Head(row["seq"], row["hash"])
        return statements.event(tuple(row.values()))

    def _check_hold(self, row: dict[str, Any]) -> None:
        """If its lock file was taken away, another process may have drawn for the same round:
        which of the two is recorded must not be left to a race (R5)."""
        if row["kind"] == ANSWER and not self._holds(row["session"]):
            raise LedgerError(
                f"session {row['session']!r} is not held by this thread, or its lock file was "
                "taken away; nothing was recorded: acquire the session and ask again"
            )

    def _inserted(self, row: dict[str, Any]) -> bool:
        try:
            self._runs(statements.INSERT, row)
        except AlreadyRecorded:
            return False
        return True

    def _refusal(self, row: dict[str, Any]) -> InterlaceError:
        kind, session, key = row["kind"], row["session"], row["key"]
        if kind in (ACCOUNT, DATASET):
            return NameTaken(f"{kind}: {row[kind]!r} exists already: choose another name")
        if kind == SESSION:
            return AlreadyRecorded(f"session {session!r} exists already: choose another id")
        taken = key is not None and self.answer_by_key(session, key)
        what = f"key {key!r}" if taken else f"round {row['round']}"
        return AlreadyRecorded(
            f"session {session!r} has answered {what} already: read that answer instead"
        )

    def _run(self, statement: sa.Select[Any], values: dict[str, Any]) -> statements.Rows:
        self._check()
        return self._runs(statement, values)

    def _check(self) -> None:
        if self._thread != threading.get_ident():
            raise LedgerError(
                "the transaction has ended or belongs to another thread: begin one of your own"
            )


def _name(value: object, name: str) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= 1000 or "\0" in value:
        raise ParameterError(name, "must be text of 1 to 1000 characters without NUL")
    return text(value, name)


def _optional(value: object, name: str) -> str | None:
    return None if value is None else _name(value, name)


def _round(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ParameterError("round", f"must be an integer from 0 to 2**63 - 1, got {value!r}")
    return int(value)


def _salted(secret: object) -> bytes | None:
    if secret is None:
        return None
    if not isinstance(secret, bytes):
        raise ParameterError("secret", f"must be bytes, got a {type(secret).__name__}")
    return secrets.token_bytes(statements.SALT) + secret
