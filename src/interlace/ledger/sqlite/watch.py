"""Notices that somebody else has written, without reading what."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from functools import partial

from interlace.ledger.forks import forget_at_fork
from interlace.ledger.group import Begin
from interlace.ledger.interface import Reads
from interlace.ledger.sqlite.connections import Connections
from interlace.ledger.sqlite.running import run
from interlace.ledger.statements import head_seq
from interlace.ledger.transaction import SQLTransaction

#: The number of no event.
_NONE = -1


class Watch:
    """The ledger's mark: it changes with every event but those that are told to be ``own``.

    The numbers of events have no gaps, so a head that an own commit was to reach was reached by
    it and by nobody else.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._mark = 0
        self.forget()
        forget_at_fork(self)

    def forget(self) -> None:
        """In a child after a fork another thread may have held the lock, and what its parent
        was about to commit is not the child's own."""
        self._guard = threading.Lock()
        self._mark += 1
        self._known = _NONE  # the number of an event up to which the mark tells all
        self._reached = _NONE  # and that of the last own event, perhaps not committed yet
        self._seen: object = None

    def mark(self) -> int:
        """Another number if others may have written since."""
        with self._connections.using(), self._guard:
            version = self._connections.version()
            if version != self._seen:
                with self._connections.lend() as connection:
                    self._advance(head_seq(partial(run, connection)))
                self._seen = version
            return self._mark

    def _advance(self, number: int) -> None:
        if number not in (self._known, self._reached):
            self._mark += 1
        self._known = number

    def check(
        self, mark: int | None, check: Callable[[Reads], None], transaction: SQLTransaction
    ) -> None:
        """In an own transaction: check again what was found under ``mark``, if need be."""
        if mark != self._mark:  # which nobody else changes meanwhile
            check(transaction)

    @contextlib.contextmanager
    def own(self, begin: Begin) -> Iterator[SQLTransaction]:
        """A transaction of which all events are this process's own. Under the writers' lock:
        nobody else may write before it is known here whether it was committed."""
        try:
            with begin() as transaction:
                with self._guard:
                    self._advance(transaction.head().seq)
                yield transaction
                with self._guard:
                    self._reached = transaction.head().seq
        except BaseException:
            with self._guard:
                self._mark += 1
                self._reached = _NONE
            raise
