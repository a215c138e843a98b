"""Going on with an older copy of a folder, at the price that keeps the guarantee (FORMULAS 11)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from interlace.centre.faults import disk_errors, reach
from interlace.centre.heads import Heads
from interlace.centre.interrupts import uninterrupted
from interlace.centre.state import state_directory
from interlace.core.errors import LedgerCorrupt
from interlace.ledger import RESTORED, Head, SQLiteLedger
from interlace.ledger.interface import Reads


@uninterrupted()
@disk_errors()
def restore(folder: str | Path) -> Head:
    """Record that the centre in ``folder`` was restored from an older copy, and return the head.

    What was answered and spent since the copy was made is not known any more. So every
    session opened before is void, every account has spent its whole quota, and no account
    is added. Answers given before can still be read. Stop every process that has the
    folder open first. Datasets and accounts made since the copy are lost with it: the
    guarantee of a coalition does not know them. A cap that was fixed before the copy was made
    holds for all of them still.

    A restoring that fails or dies has happened, or has not: then the older copy is refused as
    before. Raises LedgerError for a folder without a ledger or a disk that fails,
    LedgerCorrupt for a chain that does not hold.
    """
    path = Path(folder)
    with SQLiteLedger(path, create=False) as ledger:
        ledger.verify()
        heads = Heads(ledger, state_directory(path), path)
        reached = heads.read()
        with ledger.transaction() as transaction:
            reach("restore.before-append")
            transaction.append(
                RESTORED, body={"reached": None if reached is None else str(reached)}
            )
            # If this process dies between the two, the centre opens as a restored one.
            heads.announce(transaction.head())
            reach("restore.before-commit")
        reach("restore.after-commit")
        heads.replace()
        return ledger.head()


def check_restored(reads: Reads, kinds: Iterable[str]) -> None:
    """Raise LedgerCorrupt, naming the first such event, if anything of these kinds was
    recorded after an older copy was put back."""
    restored = next(reads.events(RESTORED), None)
    if restored is None:
        return
    later = [next(reads.events(kind, after=restored.seq), None) for kind in kinds]
    first = min((event.seq for event in later if event is not None), default=None)
    if first is not None:
        raise LedgerCorrupt("goes on after an older copy was put back", first)
