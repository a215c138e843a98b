"""What a ledger is: an append-only, ordered, hash-chained list of events.

Everything that the centre must remember is an event; all state is a fold over events. The
ledger stores, orders and excludes. It holds no rule of privacy: who may spend what is
decided in ``centre``, inside a transaction of the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, TypedDict, Unpack

# The kinds of which the ledger guards an identity. Any other name is a kind too.

#: One per (dataset, round): the round is the dataset's version.
DATASET = "dataset"
#: One per account.
ACCOUNT = "account"
#: What an account was charged, for one session or for several together.
CHARGE = "charge"
#: One per session: its secret opening.
SESSION = "session"
#: One per (session, round), and one per (session, key).
ANSWER = "answer"
#: An older copy of the ledger was put back; what happened since that copy is not known.
RESTORED = "restored"


@dataclass(frozen=True)
class Event:
    """One thing that happened. ``seq`` counts from 1 without gaps.

    ``round`` is an answer's place in its session, or a dataset's version. ``key`` is the
    caller's idempotency key. ``secret`` is a session's opening and is never printed.
    ``hash`` chains the event to all before it.
    """

    seq: int
    kind: str
    dataset: str | None
    account: str | None
    session: str | None
    round: int | None
    key: str | None
    body: Mapping[str, Any]  # JSON values without floats; whoever folds an event checks them
    secret: bytes | None = field(repr=False)
    hash: str


@dataclass(frozen=True)
class Head:
    """How far a ledger goes: the number and the hash of its last event.

    Kept outside the ledger, it proves later that nothing up to it was changed or cut off.
    """

    seq: int
    hash: str

    def __str__(self) -> str:
        """SEQ:HASH, the form in which a head is kept."""
        return f"{self.seq}:{self.hash}"


class Columns(TypedDict, total=False):
    """What a new event may carry besides its kind; see ``Event``."""

    dataset: str | None
    account: str | None
    session: str | None
    round: int | None
    key: str | None
    body: Mapping[str, object] | None
    secret: bytes | None


class Names(TypedDict, total=False):
    """What an event must carry to be wanted; a name that is not given may be any."""

    account: str
    session: str
    dataset: str


class Reads(Protocol):
    """What can be read, inside a transaction (with its own events) and outside it."""

    def events(self, kind: str, *, after: int = 0, **names: Unpack[Names]) -> Iterator[Event]:
        """The events that match everything given and have ``seq > after``, in order.

        Raises ParameterError for a name that is None or another thing that is no text.
        The events are those at the time of the call, whatever is appended while they are
        consumed. They are fetched in pages; no lock is held between them.
        """

    def last(self, kind: str, **names: Unpack[Names]) -> Event | None:
        """The latest event that matches everything given; errors as for ``events``."""

    def answer_by_key(self, session: str, key: str) -> Event | None:
        """The answer that a session gave under an idempotency key."""

    def at(self, seq: int) -> Event | None:
        """The event of that number, in time that does not grow with the history."""

    def head(self) -> Head:
        """Number and hash of the last event; ``seq`` 0 for a ledger without events."""


class Transaction(Reads, Protocol):
    """Exclusive access to the ledger, by one thread of one process."""

    def append(self, kind: str, **columns: Unpack[Columns]) -> Event:
        """Add an event, durable once the transaction's block ends without an exception.

        Raises NameTaken for an account or a dataset's version that exists, AlreadyRecorded
        for a session, an answer or a key that exists, ParameterError for a body that is
        not JSON without floats and for a name that the kind needs and that is missing,
        LedgerError for an answer of a session that this thread does not hold (any more).
        The transaction can go on after any of them.
        """


class Ledger(Reads, Protocol):
    """The durable record. Safe to share among threads and to use in a child after a fork."""

    @property
    def id(self) -> str:
        """Which ledger this is: text that no other ledger has, but copies of it keep."""

    def append(
        self,
        kind: str,
        *,
        mark: int | None = None,
        check: Callable[[Reads], None] = ...,
        before_commit: Callable[[], None] = ...,
        **columns: Unpack[Columns],
    ) -> int:
        """Add one event that needs to read nothing first, and return its number; it is durable
        when this returns.

        Events that several threads append at a time are committed together, which spares all
        but one of them the wait for the disk. If others may have recorded anything since
        ``mark``, or without one, ``check`` is called with all that precedes the event: it may
        raise Closed or SessionVoid, and nothing is recorded then. ``before_commit`` is called
        when the events are about to be committed; both perhaps by another thread. Raises as
        ``Transaction.append`` does, LedgerError too if nothing was committed or if it is not
        known.
        """

    def mark(self) -> int:
        """Another number whenever anything may have been recorded since, by anybody, except
        by this object's ``append``: who has read everything under a mark need not read again
        while it stands. Cheap."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Exclude every other writer, in all threads and processes, for one block.

        What the block appends is committed together, durably, when the block ends, and not
        at all when it raises. A block must be short and must not wait for anybody else.
        """

    def acquire(self, name: str) -> AbstractContextManager[None]:
        """Hold a name, against all threads and processes, for one block (R5).

        A session is held by its id before noise is drawn. Other names are not blocked; the
        death of the process releases it. Take it before a transaction, never inside one.
        """

    def verify(self, head: Head | None = None) -> Head:
        """Read everything, recompute the chain, and return the head.

        Raises LedgerCorrupt, naming the first bad event, if anything was edited, removed,
        reordered or damaged, or if the ledger does not go through ``head``.
        """

    def close(self) -> None:
        """Give up all connections. The ledger cannot be used any more."""
