"""Going on with an older copy of a folder, at the price that keeps the guarantee (FORMULAS 11)."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable
from pathlib import Path

from interlace.centre.heads import Heads
from interlace.centre.state import state_directory
from interlace.core.errors import LedgerCorrupt
from interlace.ledger import ACCOUNT, ANSWER, CHARGE, RESTORED, SESSION, Event, Head, SQLiteLedger


def restore(folder: str | Path) -> Head:
    """Record that the centre in ``folder`` was restored from an older copy, and return the head.

    What was answered and spent since the copy was made is not known any more. So every
    session opened before is void, every account has spent its whole quota, and no account
    is added. Answers given before can still be read. Stop every process that has the
    folder open first. Datasets and accounts made since the copy are lost with it: the
    guarantee of a coalition does not know them.

    Raises LedgerError for a folder without a ledger, LedgerCorrupt for one whose chain does
    not hold.
    """
    path = Path(folder)
    with SQLiteLedger(path, create=False) as ledger:
        ledger.verify()
        heads = Heads(ledger, state_directory(path), path)
        reached = heads.read()
        with ledger.transaction() as transaction:
            transaction.append(
                RESTORED, body={"reached": None if reached is None else str(reached)}
            )
        heads.replace()
        return ledger.head()


def check_restored(events: Callable[[str], Iterable[Event]]) -> None:
    """Raise LedgerCorrupt, naming the first such event, if anything was created, charged or
    answered after an older copy was put back that this must have ended."""
    restored = [event.seq for event in events(RESTORED)]
    if not restored:
        return

    def era(event: Event) -> int:
        return bisect.bisect(restored, event.seq)

    for kind, what in ((ACCOUNT, "creates"), (CHARGE, "charges")):
        for event in events(kind):
            if era(event):
                raise LedgerCorrupt(
                    f"{what} an account after an older copy was put back", event.seq
                )
    opened = {event.session: era(event) for event in events(SESSION)}
    for event in events(ANSWER):
        if opened.get(event.session) != era(event):
            raise LedgerCorrupt("answers a session that an older copy had made void", event.seq)
