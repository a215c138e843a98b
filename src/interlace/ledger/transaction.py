"""The reads that every ledger shares, and the transaction that appends to the chain."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Unpack, final

import sqlalchemy as sa

from interlace.core.errors import AlreadyRecorded, InterlaceError, LedgerError, NameTaken
from interlace.ledger import statements
from interlace.ledger.canonical import link
from interlace.ledger.interface import (
    ACCOUNT,
    ANSWER,
    DATASET,
    SESSION,
    Columns,
    Event,
    Head,
    Names,
)
from interlace.ledger.rows import Row, checked_row
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


class NotHeld(LedgerError):
    """An answer of a session that its thread does not hold (any more)."""


@final
class SQLTransaction(SQLReads):
    """One exclusive, open transaction; usable by its own thread until its block ends.

    ``run`` runs a statement and turns the database's errors into the ledger's; ``holds`` tells
    whether a thread still holds a session.
    """

    def __init__(
        self,
        run: Callable[[sa.Executable, dict[str, Any]], statements.Rows],
        holds: Callable[[str, int], bool],
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

    def append(self, kind: str, **columns: Unpack[Columns]) -> Event:
        """Add an event; see the interface."""
        self._check()
        return statements.event(self.add(checked_row(kind, **columns), threading.get_ident()))

    def add(self, row: Row, thread: int) -> tuple[Any, ...]:
        """Add an event for a thread, which need not be this one, and return all its columns.

        Raises NameTaken, AlreadyRecorded or NotHeld, and the transaction goes on; any other
        LedgerError, and it is lost.
        """
        self._check()
        self._check_hold(row, thread)
        numbered = {"seq": self._head.seq + 1, **row}
        numbered["hash"] = link(self._head.hash, numbered.values())
        if not self._inserted(numbered):
            raise self._refusal(row)
        self._head = Head(numbered["seq"], numbered["hash"])
        return tuple(numbered.values())

    def _check_hold(self, row: Row, thread: int) -> None:
        """If its lock file was taken away, another process may have drawn for the same round:
        which of the two is recorded must not be left to a race (R5)."""
        if row["kind"] == ANSWER and not self._holds(row["session"], thread):
            raise NotHeld(
                f"session {row['session']!r} is not held by this thread, or its lock file was "
                "taken away; nothing was recorded: acquire the session and ask again"
            )

    def _inserted(self, row: Row) -> bool:
        try:
            self._runs(statements.INSERT, row)
        except AlreadyRecorded:
            return False
        return True

    def _refusal(self, row: Row) -> InterlaceError:
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
