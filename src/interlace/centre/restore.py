"""Going on with an older copy of a folder, at the price that keeps the guarantee (FORMULAS 11)."""

from __future__ import annotations

from pathlib import Path

from interlace.centre.heads import Heads
from interlace.centre.state import state_directory
from interlace.ledger import RESTORED, Head, SQLiteLedger


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
