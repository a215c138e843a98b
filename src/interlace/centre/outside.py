"""What a centre keeps outside its folder, in one hand: the keys that seal, and the head."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from interlace.centre.heads import Heads
from interlace.centre.sealing import Sealer
from interlace.centre.state import state_directory
from interlace.core.errors import LedgerCorrupt, LedgerError
from interlace.ledger import DATASET, Head, Ledger


@dataclass(frozen=True)
class Outside:
    """The sealer and the head of one centre."""

    sealer: Sealer
    heads: Heads

    @classmethod
    def of(
        cls, ledger: Ledger, folder: Path, given: Head | None, state: Path | None = None
    ) -> Self:
        """Those in the user's state directory, or in ``state``. Raises LedgerCorrupt for a ledger that does not go through the head kept or
        ``given``, LedgerError for keys that are missing or do not open it."""
        directory = state_directory(folder) if state is None else state
        heads = Heads(ledger, directory, folder)
        heads.check(given)
        sealer = Sealer(ledger.id, directory, new=ledger.head().seq == 0)
        _try(sealer, ledger)
        heads.keep()
        return cls(sealer, heads)


def _try(sealer: Sealer, ledger: Ledger) -> None:
    """A wrong key is better found before anything is sealed with it."""
    event = ledger.last(DATASET)
    if event is not None:
        try:
            sealer.unseal(event)
        except LedgerCorrupt as error:
            raise LedgerError(str(error)) from None
