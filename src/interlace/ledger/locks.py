"""Exclusive holds across threads and processes, which the kernel ends with the process.

Each hold is a fresh descriptor of a small file under ``flock``. A child after a fork inherits
no hold: its copies of the descriptors are closed at once, or a child that outlives its parent
would keep the parent's locks. (``exec`` closes them by itself.)
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from interlace.core.errors import LedgerError
from interlace.ledger.forks import forget_at_fork


class _Descriptors:
    """The descriptors that this process has open on lock files."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._open: set[int] = set()

    def take(self, path: Path) -> int:
        with self._guard:  # no fork between opening and noting
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            self._open.add(descriptor)
        return descriptor

    def drop(self, descriptor: int) -> None:
        with self._guard:
            self._open.remove(descriptor)
            os.close(descriptor)

    def before_fork(self) -> None:
        self._guard.acquire()

    def after_in_parent(self) -> None:
        self._guard.release()

    def after_in_child(self) -> None:
        self._guard = threading.Lock()
        inherited, self._open = self._open, set()
        for descriptor in inherited:
            os.close(descriptor)  # closes the copy only; unlocking would unlock the parent's


#: One for the process, as its descriptors are.
_descriptors = _Descriptors()
os.register_at_fork(
    before=_descriptors.before_fork,
    after_in_parent=_descriptors.after_in_parent,
    after_in_child=_descriptors.after_in_child,
)


@contextlib.contextmanager
def exclusive(path: Path, *, remove: bool = False) -> Iterator[int]:
    """Hold the lock file ``path`` for a block, with its descriptor; wait for whoever holds it.

    Who waits is served in turn, give or take: a holder that comes back at once goes behind
    those who wait. With ``remove`` the file is taken away at the end, so that locks of many
    names do not fill a directory. Raises LedgerError if the file cannot be made or locked.
    """
    process, descriptor = os.getpid(), _locked(path)
    try:
        yield descriptor
    finally:
        # In a child that was forked inside the block, the hold and the file are the parent's.
        if os.getpid() == process:
            if remove and _is_still(path, descriptor):
                # While the lock is held: whoever waits on the removed file notices (_taken).
                path.unlink(missing_ok=True)
            _end_queue(path)
            _descriptors.drop(descriptor)


def _locked(path: Path) -> int:
    """The kernel wakes those who wait, but a holder that comes back would be faster. So only
    one waits for the lock itself, and all others for the right to (the queue). Its file is
    there while it may be wanted; without it nobody waits."""
    queue = _queue(path)
    if not os.access(queue, os.F_OK):
        descriptor = _taken(path, fcntl.LOCK_NB)
        if descriptor is not None:
            return descriptor
    first = _waited(queue)
    try:
        return _waited(path)
    finally:
        _descriptors.drop(first)


def _end_queue(path: Path) -> None:
    """Take the queue's file away, if it is there and nobody waits; the lock is held."""
    queue = _queue(path)
    if not os.access(queue, os.F_OK):
        return
    with contextlib.suppress(LedgerError, OSError):  # it does no harm: the next holder tries
        descriptor = _taken(queue, fcntl.LOCK_NB)
        if descriptor is not None:
            try:
                queue.unlink(missing_ok=True)
            finally:
                _descriptors.drop(descriptor)


def _queue(path: Path) -> Path:
    return path.with_name(f"{path.name}.queue")


def _waited(path: Path) -> int:
    while True:
        descriptor = _taken(path)
        if descriptor is not None:
            return descriptor


def _taken(path: Path, flags: int = 0) -> int | None:
    """The descriptor of the file under a lock; None if the file was taken away meanwhile or,
    with LOCK_NB, if another holds it."""
    try:
        descriptor = _descriptors.take(path)
    except OSError as error:
        raise LedgerError(f"cannot open the lock file {path}: {error.strerror}") from error
    kept = False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | flags)
        kept = _is_still(path, descriptor)
    except BlockingIOError:
        return None
    except OSError as error:
        raise LedgerError(
            f"cannot lock {path}: {error.strerror}: keep the ledger on a local disk"
        ) from error
    finally:  # also at an interrupt while waiting
        if not kept:
            _descriptors.drop(descriptor)
    return descriptor if kept else None


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether the locked file is the one that others would find under that path."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(found, os.fstat(descriptor))


@dataclass
class _Place:
    """A name's lock among the threads of this process, and how many want it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    wanted: int = 0
    holder: int | None = None  # a thread
    descriptor: int | None = None


class Holds:
    """Exclusive holds by name, over threads and processes; unused names take no space.

    ``place`` gives the lock file of a name; with ``remove`` it is there only while wanted.
    """

    def __init__(self, place: Callable[[str], Path], *, remove: bool) -> None:
        self._place = place
        self._remove = remove
        self.forget()
        forget_at_fork(self)

    def forget(self) -> None:
        """Start afresh, in a child after a fork: no thread of it holds or wants anything."""
        self._guard = threading.Lock()
        self._places: dict[str, _Place] = {}

    @contextlib.contextmanager
    def hold(self, name: str) -> Iterator[None]:
        """Hold ``name`` for a block. Raises LedgerError if this thread holds it already."""
        places, guard = self._places, self._guard
        with guard:
            place = places.setdefault(name, _Place())
            if place.holder == threading.get_ident():
                raise LedgerError(f"{name!r} is held by this thread already: do not nest it")
            place.wanted += 1
        try:
            with place.lock:
                place.holder = threading.get_ident()
                try:
                    with exclusive(self._place(name), remove=self._remove) as place.descriptor:
                        yield
                finally:
                    place.holder = place.descriptor = None
        finally:
            if self._guard is guard:  # else a fork happened inside the block: not our holds
                with guard:
                    place.wanted -= 1
                    if not place.wanted:
                        del places[name]

    def held(self, name: str, thread: int) -> bool:
        """Whether a thread holds ``name`` still: not if its file was taken away meanwhile."""
        place = self._places.get(name)
        if place is None or place.holder != thread or place.descriptor is None:
            return False
        return _is_still(self._place(name), place.descriptor)


def in_folder(folder: Path) -> Callable[[str], Path]:
    """A place for any name: names are hashed, since they may hold what a file name may not."""
    return lambda name: folder / hashlib.sha256(name.encode()).hexdigest()[:32]
