"""The durable record of datasets, accounts, sessions and answers: an append-only chain of events.

It stores, orders and excludes; it holds no rule of privacy.
"""

from __future__ import annotations

from interlace.ledger.interface import (
    ACCOUNT,
    ANSWER,
    CHARGE,
    DATASET,
    RESTORED,
    SESSION,
    Event,
    Head,
    Ledger,
    Reads,
    Transaction,
)
from interlace.ledger.sqlite.ledger import SQLiteLedger

__all__ = [
    "ACCOUNT",
    "ANSWER",
    "CHARGE",
    "DATASET",
    "RESTORED",
    "SESSION",
    "Event",
    "Head",
    "Ledger",
    "Reads",
    "SQLiteLedger",
    "Transaction",
]
