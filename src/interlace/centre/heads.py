"""The head of a centre's ledger, kept outside its folder, against older copies put back.

A ledger that does not go through the head that was kept has lost events: sessions that were
open then would answer again, and accounts would forget what they spent (R6, FORMULAS 11).
"""

from __future__ import annotations

import contextlib
import re
import time
from pathlib import Path

from interlace.centre.interrupts import uninterrupted
from interlace.centre.state import overwrite_private, read_private, replace_private, state_file
from interlace.core.errors import LedgerCorrupt, LedgerError, ParameterError
from interlace.ledger import Head, Ledger
from interlace.ledger.canonical import genesis
from interlace.ledger.locks import exclusive

#: After an answer the head is kept at most so often, in seconds.
_PAUSE = 1.0
#: In the file, between the head that is kept and the one that is to replace it.
_NEXT = "\nrestoring to "


class Heads:
    """The head of one ledger in this user's state directory.

    It is never ahead of what is durable in the ledger, and never moved back but by ``replace``.
    Beside it may stand the head that a restoring was about to reach: whoever finds the ledger
    there knows that the restoring was completed but for ``replace``.
    """

    def __init__(self, ledger: Ledger, directory: Path, folder: Path) -> None:
        self._ledger = ledger
        self._folder = folder
        self._file = state_file(directory, ledger.id, "head")
        self._lock = state_file(directory, ledger.id, "lock")
        self._kept = -_PAUSE

    @uninterrupted()
    def check(self, given: Head | None = None) -> None:
        """Raise LedgerCorrupt unless the ledger goes through the head kept here, if there is
        one, and through ``given``."""
        with exclusive(self._lock):  # or it might be written over while it is read
            head, next_ = self._stored()
            if next_ is not None and self._hash(next_.seq) == next_.hash:
                head = self._write_now()  # the process that restored died before it did this
        for expected, source in ((head, str(self._file)), (given, "the head given")):
            if expected is not None:
                self._go_through(expected, source)

    def _go_through(self, head: Head, source: str) -> None:
        advice = (
            f"({source}). An older copy of the folder was put back, or the ledger was changed: "
            "put the newest copy back. If it is lost, `interlace ledger restore "
            f"{self._folder}` goes on without: it voids all sessions and takes every account "
            "as spent"
        )
        end = self._ledger.head()
        if end.seq < head.seq:
            raise LedgerCorrupt(
                f"is missing, with all up to event {head.seq} that this centre has reached {advice}",
                end.seq + 1,
            )
        if self._hash(head.seq) != head.hash:
            raise LedgerCorrupt(
                f"is not the one that this centre has recorded under this number {advice}", head.seq
            )

    def _hash(self, seq: int) -> str | None:
        if seq == 0:
            return genesis(self._ledger.id).hash
        event = self._ledger.at(seq)
        return None if event is None else event.hash

    def read(self) -> Head | None:
        """The head that was kept, if one was. Raises LedgerError for a file that holds none."""
        return self._stored()[0]

    def _stored(self) -> tuple[Head | None, Head | None]:
        """The head that was kept, and the one that a restoring was about to reach."""
        text = read_private(self._file)
        if text is None:
            return None, None
        first, *rest = text.removesuffix("\n").split(_NEXT, 1)
        try:
            kept, *following = (read_head(line, str(self._file)) for line in (first, *rest))
            return kept, next(iter(following), None)
        except ParameterError:
            raise LedgerError(
                f"{self._file} holds no head SEQ:HASH. Only if the folder is surely the newest "
                "copy, take that file away"
            ) from None

    @uninterrupted()
    def keep(self, *, flush: bool = True) -> None:
        """Keep the ledger's head as it is now, unless a later one is kept already. Without
        ``flush`` the operating system brings it to the disk in its own time."""
        with exclusive(self._lock):
            head, known = self._ledger.head(), self.read()
            if known is None or known.seq < head.seq:
                write = overwrite_private if known and not flush else replace_private
                write(self._file, _line(head))
        self._kept = time.monotonic()

    def follow(self, *, always: bool = False, flush: bool = False) -> None:
        """Keep the head after something was committed; without ``always`` at most once a second.

        What was committed stands, so a failure is not reported: the head kept is older then.
        """
        if always or time.monotonic() - self._kept >= _PAUSE:
            self._kept = time.monotonic()
            with contextlib.suppress(LedgerError):
                self.keep(flush=flush)

    @uninterrupted()
    def announce(self, head: Head) -> None:
        """Note, beside the head that is kept, the one that is about to take its place."""
        with exclusive(self._lock):
            kept = self.read()
            if kept is not None:
                replace_private(self._file, _line(kept).replace("\n", _NEXT) + _line(head))

    @uninterrupted()
    def replace(self) -> None:
        """Keep the ledger's head as it is now, whatever was kept before."""
        with exclusive(self._lock):
            self._write_now()

    def _write_now(self) -> Head:
        head = self._ledger.head()
        replace_private(self._file, _line(head))
        return head


def _line(head: Head) -> str:
    """All of one length, so that one can be written over another."""
    return f"{head.seq:019d}:{head.hash}\n"


def read_head(text: object, argument: str) -> Head:
    """A head from SEQ:HASH, as ``interlace ledger verify`` prints it. Raises ParameterError.

    >>> read_head("2:" + 64 * "0", "head").seq
    2
    """
    match = re.fullmatch(r"([0-9]{1,19}):([0-9a-f]{64})", text) if isinstance(text, str) else None
    if match is None:
        raise ParameterError(argument, "must be SEQ:HASH as `interlace ledger verify` printed it")
    return Head(int(match[1]), match[2])
