"""Checks a centre's ledger from disk: the chain, and that every account kept its rule.

It folds the events again with the filters and mechanisms that served, from nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from interlace.centre.centre import Centre
from interlace.centre.records import AccountRecord, SessionRecord
from interlace.core.composition import Filter
from interlace.core.errors import BudgetExceeded, LedgerCorrupt
from interlace.ledger import ACCOUNT, ANSWER, SESSION, Head


@dataclass(frozen=True)
class Audit:
    """A ledger that holds together: its head, and how much was folded."""

    head: Head
    accounts: int
    sessions: int
    answers: int


def audit(centre: Centre, head: Head | None = None) -> Audit:
    """Recompute the chain, every account's spending and every session's state.

    ``head``, kept outside the folder since an earlier audit, also shows that nothing was cut
    off or replaced. Raises LedgerCorrupt naming the first event that does not follow.
    """
    ledger = centre.ledger
    reached = ledger.verify(head)
    filters: dict[str, Filter] = {}
    for event in ledger.events(ACCOUNT):
        filters[event.account or ""] = AccountRecord.read(event).filter(None)
    sessions = 0
    for event in ledger.events(SESSION):
        record = SessionRecord.read(event)
        spending = filters.get(record.account)
        if spending is None:
            raise LedgerCorrupt("belongs to no account", event.seq)
        try:
            spending.admit(record.mechanism, record.delta)
        except BudgetExceeded:
            raise LedgerCorrupt("is more than its account could pay", event.seq) from None
        if spending.spent != record.spent:
            raise LedgerCorrupt("records another sum than its account had spent", event.seq)
        centre.session(record.id).replay()
        sessions += 1
    answers = sum(1 for _ in ledger.events(ANSWER))
    return Audit(reached, len(filters), sessions, answers)
