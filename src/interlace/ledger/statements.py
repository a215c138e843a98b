"""What is asked of the table of events, in SQLAlchemy Core; the same for every database.

The tables' definitions belong to each database's own folder. A read by account or session is
served by an index in time that does not grow with the history (tests/ledger look at the
query plans); one by dataset goes through the events of its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, cast

import sqlalchemy as sa

from interlace.core.errors import ParameterError
from interlace.ledger.canonical import parse
from interlace.ledger.interface import ANSWER, Event, Head, Names

#: What makes a database one ledger: its version and its id.
META = sa.table("meta", sa.column("version", sa.Integer), sa.column("ledger", sa.Text))
#: The only other table.
EVENTS = sa.table(
    "events",
    sa.column("seq", sa.Integer),
    sa.column("kind", sa.Text),
    sa.column("dataset", sa.Text),
    sa.column("account", sa.Text),
    sa.column("session", sa.Text),
    sa.column("round", sa.Integer),
    sa.column("key", sa.Text),
    sa.column("body", sa.Text),
    sa.column("secret", sa.LargeBinary),
    sa.column("hash", sa.Text),
)

#: Which ledger this is.
IDENTITY = sa.select(META.c.version, META.c.ledger)
#: The only change there is.
INSERT = sa.insert(EVENTS)
#: Where the chain ends.
HEAD = sa.select(EVENTS.c.seq, EVENTS.c.hash).order_by(EVENTS.c.seq.desc()).limit(1)
#: A page of the chain, whatever the numbers of its rows are.
CHAIN = (
    sa.select(*EVENTS.c)
    .where(EVENTS.c.seq >= sa.bindparam("first"))
    .order_by(EVENTS.c.seq)
    .limit(sa.bindparam("page"))
)
#: The event of a number.
AT = sa.select(*EVENTS.c).where(EVENTS.c.seq == sa.bindparam("seq"))
#: The answer that a session gave under a key.
BY_KEY = sa.select(*EVENTS.c).where(
    EVENTS.c.kind == sa.literal_column(f"'{ANSWER}'"),
    EVENTS.c.session == sa.bindparam("session"),
    EVENTS.c.key == sa.bindparam("key"),
)

#: A salt in front of every secret: the hash of an event must not let anybody who knows its
#: other columns try out the secret, which may be one of few numbers.
SALT = 32

#: How many events are read at once.
PAGE = 512

#: What a select gives.
Rows: TypeAlias = Sequence[Sequence[Any]]
#: Runs a select with its parameters and returns all rows.
Run: TypeAlias = Callable[[sa.Select[Any], dict[str, Any]], Rows]


@dataclass(frozen=True)
class Selection:
    """Which events are wanted."""

    kind: str
    account: str | None = None
    session: str | None = None
    dataset: str | None = None

    @classmethod
    def of(cls, kind: str, names: Names) -> Selection:
        """Raises ParameterError for None and all else that is no text: a name that is None by
        mistake must not select everybody's events."""
        for name, value in {"kind": kind, **names}.items():
            if not isinstance(value, str):
                raise ParameterError(name, f"must be text, got {type(value).__name__}")
        return cls(kind, **names)

    def page(self) -> sa.Select[Any]:
        """One page of it, between the numbers ``after`` and ``until``, at most ``page`` long."""
        return _page(self._names())

    def last(self) -> sa.Select[Any]:
        """The latest of it."""
        return _last(self._names())

    def parameters(self) -> dict[str, Any]:
        """The values of the names in both, without the page's."""
        return {name: getattr(self, name) for name in ("kind", *self._names())}

    def _names(self) -> tuple[str, ...]:
        return tuple(n for n in ("session", "account", "dataset") if getattr(self, n) is not None)


@lru_cache
def _page(names: tuple[str, ...]) -> sa.Select[Any]:
    seq = EVENTS.c.seq
    between = seq > sa.bindparam("after"), seq <= sa.bindparam("until")
    return _all(names).where(*between).order_by(seq).limit(sa.bindparam("page"))


@lru_cache
def _last(names: tuple[str, ...]) -> sa.Select[Any]:
    return _all(names).order_by(EVENTS.c.seq.desc()).limit(1)


def _all(names: tuple[str, ...]) -> sa.Select[Any]:
    """Only the narrowest name given may choose the index; without statistics a planner could
    take an account's whole history for one session's."""
    wanted = sa.select(*EVENTS.c).where(EVENTS.c.kind == sa.bindparam("kind"))
    for place, name in enumerate(names):
        free = place == 0 and name != "dataset"
        column = EVENTS.c[name] if free else sa.func.coalesce(EVENTS.c[name], sa.null())
        wanted = wanted.where(column == sa.bindparam(name))
    return wanted


#: The largest number that an event can have.
_LARGEST = 2**63 - 1


def pages(run: Run, wanted: Selection, after: int) -> Iterator[Event]:
    """The wanted events; the first page is read at once, which fixes what belongs to them."""
    statement, values = wanted.page(), wanted.parameters()

    def page(after: int, until: int) -> list[Event]:
        rows = run(statement, {**values, "after": after, "until": until, "page": PAGE})
        return [event(row) for row in rows]

    first = page(after, _LARGEST)
    return iter(first) if len(first) < PAGE else _further(page, first, head_seq(run))


def _further(
    page: Callable[[int, int], list[Event]], found: list[Event], until: int
) -> Iterator[Event]:
    while found:
        yield from found
        found = page(found[-1].seq, until)


def head_seq(run: Run) -> int:
    """The number of the last event."""
    rows = run(HEAD, {})
    return int(rows[0][0]) if rows else 0


def read_head(run: Run, start: Head) -> Head:
    """The head, or ``start`` while there is no event."""
    rows = run(HEAD, {})
    return Head(int(rows[0][0]), str(rows[0][1])) if rows else start


def event(row: Sequence[Any]) -> Event:
    """An event from its columns. Raises LedgerCorrupt if its body cannot be read."""
    seq, kind, dataset, account, session, round_, key, body, secret, hash_ = row
    opened = None if secret is None else bytes(secret)[SALT:]
    return Event(
        seq,
        kind,
        dataset,
        account,
        session,
        round_,
        key,
        parse(body, seq),
        opened,
        cast("str", hash_),
    )
