"""Notices that somebody else has written, without reading what."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from interlace.ledger.forks import forget_at_fork
from interlace.ledger.transaction import SQLTransaction


class Watch:
    """The ledger's mark: it changes with every event but those that are told to be ``own``.

    ``version`` is another value whenever anything was committed; ``head`` reads the number of
    the last event. The numbers have no gaps, so a head that an own commit was to reach was
    reached by it and by nobody else.
    """

    def __init__(self, version: Callable[[], object], head: Callable[[], int]) -> None:
        self._version = version
        self._head = head
        self._mark = 0
        self._known = -1  # the number of an event up to which the mark tells all
        self._reached = -1  # and that of the last own event, perhaps not committed yet
        self._seen: object = None
        self.forget()
        forget_at_fork(self)

    def forget(self) -> None:
        """After a fork another thread may have held the lock."""
        self._guard = threading.Lock()

    def mark(self) -> int:
        """Another number if others may have written since."""
        with self._guard:
            version = self._version()
            if version != self._seen:
                self._advance(self._head())
                self._seen = version
            return self._mark

    def _advance(self, number: int) -> None:
        if number not in (self._known, self._reached):
            self._mark += 1
        self._known = number

    @contextlib.contextmanager
    def own(self, transaction: SQLTransaction) -> Iterator[None]:
        """What the block appends is this process's own; it ends just before the commit."""
        start = transaction.head().seq
        yield
        with self._guard:
            self._advance(start)
            self._reached = transaction.head().seq

    def lost(self) -> None:
        """The own events were not committed, or it is not known."""
        with self._guard:
            self._mark += 1
            self._reached = -1
