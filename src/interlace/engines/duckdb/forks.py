"""A fork waits until DuckDB is at rest.

What DuckDB sets up once in a process, at an opening or at the first statement of a kind, would
stay half made in a child that is forked meanwhile, and the child would wait for it for ever.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

#: In seconds, for what runs when the fork comes; a read or a registration that takes longer has
#: set up all it needs. Other calls wait with the fork.
_PATIENCE = 10


class _Rest:
    """How many calls of DuckDB are running, and whether a fork waits for them."""

    def __init__(self) -> None:
        self._turn = threading.Condition()
        self._running = 0
        self._forking = False

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Run a block of calls; if a fork is waiting, after it. Do not nest."""
        with self._turn:
            self._turn.wait_for(lambda: not self._forking)
            self._running += 1
        try:
            yield
        finally:
            with self._turn:
                self._running -= 1
                self._turn.notify_all()

    def before_fork(self) -> None:
        self._turn.acquire()
        self._forking = True
        self._turn.wait_for(lambda: not self._running, _PATIENCE)

    def after_in_parent(self) -> None:
        self._forking = False
        self._turn.notify_all()
        self._turn.release()

    def after_in_child(self) -> None:
        self._turn = threading.Condition()
        self._running, self._forking = 0, False


_rest = _Rest()
os.register_at_fork(
    before=_rest.before_fork,
    after_in_parent=_rest.after_in_parent,
    after_in_child=_rest.after_in_child,
)

#: Around calls of DuckDB that a fork shall wait for.
busy = _rest.busy
