"""Exclusive locks on small files, by ``flock``, which the kernel ends with the process.

A child after a fork inherits no lock: its copies of the descriptors are closed at once, or a
child that outlives its parent would keep the parent's locks. (``exec`` closes them by itself.)
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from interlace.core.errors import LedgerError


class _Descriptors:
    """The descriptors that this process has open on lock files."""

    def __init__(self) -> None:
        # The collector may run in the midst of this, and with it finalizers that drop others.
        self._guard = threading.RLock()
        self._open: dict[int, os.stat_result] = {}

    def take(self, path: str) -> int:
        with self._guard:  # no fork between opening and noting
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            self._open[descriptor] = os.fstat(descriptor)
        return descriptor

    def file(self, descriptor: int) -> os.stat_result | None:
        """Which file it is; None once it was dropped."""
        return self._open.get(descriptor)

    def drop(self, descriptor: int) -> None:
        with self._guard:
            del self._open[descriptor]
            os.close(descriptor)

    def before_fork(self) -> None:
        self._guard.acquire()

    def after_in_parent(self) -> None:
        self._guard.release()

    def after_in_child(self) -> None:
        self._guard = threading.RLock()
        inherited, self._open = self._open, {}
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
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file ``path`` for a block; wait for whoever holds it.

    Raises LedgerError if the file cannot be made or locked.
    """
    process, descriptor = os.getpid(), locked(str(path))
    try:
        yield
    finally:
        # In a child that was forked inside the block, the lock is the parent's.
        if os.getpid() == process:
            drop(descriptor)


def locked(path: str) -> int:
    """A descriptor of the file, under its lock, once it is this caller's turn.

    Who waits is served in turn, give or take. The kernel wakes those who wait, but a holder
    that comes back would be faster. So only one waits for the lock itself, and all others for
    the right to (the queue). Its file is there while it may be wanted; without it nobody waits.
    Who came through the queue and finds nobody behind takes it away.
    """
    if not _has_queue(path):
        descriptor = _taken(path, fcntl.LOCK_NB)
        if descriptor is not None:
            return descriptor
    first = _waited(_queue(path))
    try:
        descriptor = _waited(path)
    finally:
        drop(first)
    remove(_queue(path))
    return descriptor


def locked_again(path: str, descriptor: int) -> bool:
    """Lock the file with a descriptor that was unlocked: only if the file is still there and
    nobody has it or waits for it."""
    if _has_queue(path):
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return is_still(path, descriptor)


def unlock(descriptor: int) -> None:
    """Give the lock up and keep the descriptor, for ``locked_again``."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def remove(path: str) -> None:
    """Take a lock's file away, unless somebody holds it."""
    with contextlib.suppress(LedgerError, OSError):  # it does no harm where it is
        descriptor = _taken(path, fcntl.LOCK_NB)
        if descriptor is not None:
            try:
                # While the lock is held: whoever waits on the removed file notices (_taken).
                Path(path).unlink(missing_ok=True)
            finally:
                drop(descriptor)


def drop(descriptor: int) -> None:
    """Close a descriptor, which ends its lock."""
    _descriptors.drop(descriptor)


def _queue(path: str) -> str:
    return f"{path}.queue"


def _has_queue(path: str) -> bool:
    return os.access(_queue(path), os.F_OK)


def _waited(path: str) -> int:
    while True:
        descriptor = _taken(path)
        if descriptor is not None:
            return descriptor


def _taken(path: str, flags: int = 0) -> int | None:
    """The descriptor of the file under a lock; None if the file was taken away meanwhile or,
    with LOCK_NB, if another holds it."""
    try:
        descriptor = _descriptors.take(path)
    except OSError as error:
        raise LedgerError(f"cannot open the lock file {path}: {error.strerror}") from error
    kept = False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | flags)
        kept = is_still(path, descriptor)
    except BlockingIOError:
        return None
    except OSError as error:
        raise LedgerError(
            f"cannot lock {path}: {error.strerror}: keep the ledger on a local disk"
        ) from error
    finally:  # also at an interrupt while waiting
        if not kept:
            drop(descriptor)
    return descriptor if kept else None


def is_still(path: str, descriptor: int) -> bool:
    """Whether the locked file is the one that others would find under that path."""
    try:
        found = os.stat(path)  # noqa: PTH116  a Path would take as long as the lock
    except FileNotFoundError:
        return False
    locked_file = _descriptors.file(descriptor)
    return locked_file is not None and os.path.samestat(found, locked_file)
