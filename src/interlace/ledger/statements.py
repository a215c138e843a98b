"""What is asked of the table of events, in SQLAlchemy Core; the same for every database.

The tables' definitions belong to each database's own file. Every read here is served by an
index in time that does not grow with the history (tests/ledger look at the query plans).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import sqlalchemy as sa

from interlace.core.errors import LedgerCorrupt, ParameterError
from interlace.ledger.canonical import parse
from interlace.ledger.interface import ANSWER, Event, Head

META: Final = sa.table("meta", sa.column("version", sa.Integer), sa.column("ledger", sa.Text))
EVENTS: Final = sa.table(
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

IDENTITY: Final = sa.select(META.c.version, META.c.ledger)
INSERT: Final = sa.insert(EVENTS)
CHAIN: Final = sa.select(*EVENTS.c).order_by(EVENTS.c.seq)
HEAD: Final = sa.select(EVENTS.c.seq, EVENTS.c.hash).order_by(EVENTS.c.seq.desc()).limit(1)
BY_ROUND: Final = sa.select(*EVENTS.c).where(
    EVENTS.c.kind == sa.literal_column(f"'{ANSWER}'"),
    EVENTS.c.session == sa.bindparam("session"),
    EVENTS.c.round == sa.bindparam("round"),
)
BY_KEY: Final = sa.select(*EVENTS.c).where(
    EVENTS.c.kind == sa.literal_column(f"'{ANSWER}'"),
    EVENTS.c.session == sa.bindparam("session"),
    EVENTS.c.key == sa.bindparam("key"),
)

#: A salt in front of every secret: the hash of an event must not let anybody who knows its
#: other columns try out the secret, which may be one of few numbers.
SALT: Final = 32

PAGE: Final = 512

#: Runs a select with its parameters and returns all rows.
Run = Callable[[sa.Select[Any], dict[str, Any]], Sequence[Sequence[Any]]]


@dataclass(frozen=True)
class Selection:
    """Which events are wanted, and in which order."""

    kind: str | None = None
    account: str | None = None
    session: str | None = None
    dataset: str | None = None
    newest_first: bool = False

    def statement(self) -> sa.Select[Any]:
        """One page of it, between the numbers ``after`` and ``until``, at most ``page`` long.

        Only the narrowest column given may choose the index; without statistics a planner
        could take an account's whole history for one session's.
        """
        columns = EVENTS.c
        where = [columns.seq > sa.bindparam("after"), columns.seq <= sa.bindparam("until")]
        if self.kind is not None:
            where.append(columns.kind == sa.bindparam("kind"))
        wanted = [
            name for name in ("session", "account", "dataset") if getattr(self, name) is not None
        ]
        for place, name in enumerate(wanted):
            column = columns[name]
            where.append((_unindexed(column) if place else column) == sa.bindparam(name))
        order = columns.seq.desc() if self.newest_first else columns.seq
        return sa.select(*columns).where(*where).order_by(order).limit(sa.bindparam("page"))

    def parameters(self) -> dict[str, Any]:
        """The values of the names in ``statement``, without the page's."""
        names = ("kind", "account", "session", "dataset")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


def _unindexed(column: sa.ColumnElement[Any]) -> sa.ColumnElement[Any]:
    return sa.func.coalesce(column, sa.null())


_BEYOND: Final = 2**63 - 1


def pages(run: Run, wanted: Selection, after: int, limit: int | None) -> Iterator[Event]:
    """The wanted events; the first page is read at once, which fixes what belongs to them."""
    if limit is not None and limit < 1:
        raise ParameterError("limit", f"must be at least 1, or None for no limit, got {limit}")
    statement, values = wanted.statement(), wanted.parameters()

    def page(after: int, until: int, left: int | None) -> list[Event]:
        size = PAGE if left is None else min(PAGE, left)
        rows = run(statement, {**values, "after": after, "until": until, "page": size})
        return [event(row) for row in rows]

    first = page(after, _BEYOND, limit)
    if len(first) < PAGE or len(first) == limit:
        return iter(first)
    until = first[0].seq if wanted.newest_first else head_seq(run)
    return _further(page, first, wanted.newest_first, after, until, limit)


def _further(
    page: Callable[[int, int, int | None], list[Event]],
    found: list[Event],
    newest_first: bool,
    after: int,
    until: int,
    left: int | None,
) -> Iterator[Event]:
    while found:
        yield from found
        left = None if left is None else left - len(found)
        if left == 0:
            return
        if newest_first:
            until = found[-1].seq - 1
        else:
            after = found[-1].seq
        found = page(after, until, left)


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
    try:
        contents = parse(body)
    except LedgerCorrupt as error:
        raise LedgerCorrupt(str(error), seq) from None
    opened = None if secret is None else bytes(secret)[SALT:]
    return Event(
        seq, kind, dataset, account, session, round_, key, contents, opened, cast("str", hash_)
    )
