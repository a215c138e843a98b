"""Names held exclusively by one thread of one process."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from interlace.core.errors import LedgerError
from interlace.ledger.forks import forget_at_fork
from interlace.ledger.locks import drop, is_still, locked, locked_again, remove, unlock

#: How many files stay open while their names are not held.
_KEPT = 128


@dataclass
class _Place:
    """A name's lock among the threads of this process, and how many want it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    wanted: int = 0
    holder: int | None = None  # a thread
    descriptor: int | None = None


class Holds:
    """Exclusive holds by name, over threads and processes; unused names take no space.

    ``place`` gives the lock file of a name. Of the names held last the files stay open, which
    makes it cheap to hold them again; the others' are taken away.
    """

    def __init__(self, place: Callable[[str], str]) -> None:
        self._place = place
        #: Files that are open and not locked.
        self._open: OrderedDict[str, int] = OrderedDict()
        weakref.finalize(self, _drop_all, self._open)
        self.forget()
        forget_at_fork(self)

    def forget(self) -> None:
        """Start afresh, in a child after a fork: no thread of it holds or wants anything."""
        self._guard = threading.Lock()
        self._places: dict[str, _Place] = {}
        self._open.clear()

    @contextlib.contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold ``name`` for a block. Raises LedgerError if this thread holds it already."""
        places, guard = self._places, self._guard
        with guard:
            place = places.setdefault(name, _Place())
            if self.mine(name):
                raise LedgerError(f"{name!r} is held by this thread already: do not nest it")
            place.wanted += 1
        path = self._place(name)
        try:
            with place.lock:
                place.holder = threading.get_ident()
                try:
                    place.descriptor = self._locked(path)
                    yield
                finally:
                    descriptor, place.descriptor, place.holder = place.descriptor, None, None
                    if self._guard is guard and descriptor is not None:
                        self._unlock(path, descriptor)
        finally:
            if self._guard is guard:  # else a fork happened inside the block: not our holds
                with guard:
                    place.wanted -= 1
                    if not place.wanted:
                        del places[name]

    def _locked(self, path: str) -> int:
        descriptor = self._open.pop(path, None)
        if descriptor is not None:
            if locked_again(path, descriptor):
                return descriptor
            drop(descriptor)
        return locked(path)

    def _unlock(self, path: str, descriptor: int) -> None:
        unlock(descriptor)
        self._open[path] = descriptor
        if len(self._open) > _KEPT:
            self._let_go()

    def _let_go(self) -> None:
        with contextlib.suppress(KeyError):  # another thread let go of the last one
            path, descriptor = self._open.popitem(last=False)
            drop(descriptor)
            remove(path)

    def close(self) -> None:
        """Take away the files that nobody holds."""
        while self._open:
            self._let_go()

    def held(self, name: str, thread: int) -> bool:
        """Whether a thread holds ``name`` still: not if its file was taken away meanwhile."""
        place = self._places.get(name)
        if place is None or place.holder != thread:
            return False
        descriptor = place.descriptor  # that thread may let go at any time
        return descriptor is not None and is_still(self._place(name), descriptor)

    def mine(self, name: str) -> bool:
        """Whether this thread holds ``name``, whatever became of its file."""
        place = self._places.get(name)
        return place is not None and place.holder == threading.get_ident()


def _drop_all(files: OrderedDict[str, int]) -> None:
    while files:
        drop(files.popitem()[1])


def tidy(folder: Path) -> None:
    """Take away the files of names that nobody holds, which killed processes have left."""
    for path in folder.iterdir():
        remove(str(path))


def in_folder(folder: Path) -> Callable[[str], str]:
    """A place for any name: names are hashed, since they may hold what a file name may not."""
    return lambda name: f"{folder}/" + hashlib.sha256(name.encode()).hexdigest()[:32]
