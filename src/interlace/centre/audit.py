"""Checks a ledger from disk: the chain, and that all that it tells kept to the rules.

The events are folded again, with the filters and mechanisms that served, from nothing.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from interlace.centre.records import AccountRecord, ChargeRecord, SessionRecord
from interlace.centre.restoring import check_restored
from interlace.core.composition import Filter, compose
from interlace.core.errors import BudgetExceeded, LedgerCorrupt
from interlace.core.mechanisms.codec import Served
from interlace.ledger import ACCOUNT, ANSWER, CHARGE, SESSION, Event, Head, Ledger


@dataclass(frozen=True)
class Audit:
    """A ledger that holds together: its head, and how much was folded."""

    head: Head
    accounts: int
    sessions: int
    answers: int


def audit(ledger: Ledger, replay: Callable[[str], int], head: Head | None) -> Audit:
    """Recompute the chain, every account's spending and, by ``replay``, every session.

    Raises LedgerCorrupt naming the first event that does not follow.
    """
    reached = ledger.verify(head)

    def events(kind: str) -> Iterator[Event]:
        return itertools.takewhile(lambda e: e.seq <= reached.seq, ledger.events(kind))

    check_restored(events)
    first_answer = next(events(ANSWER), None)
    filters: dict[str | None, Filter] = {}
    for event in events(ACCOUNT):
        if first_answer is not None and event.seq > first_answer.seq:
            raise LedgerCorrupt("creates an account after the first answer", event.seq)
        filters[event.account] = AccountRecord.read(event).filter(None)
    charged: dict[int, Counter[Served]] = {}
    for event in events(CHARGE):
        charged[event.seq] = Counter(_checked_charge(event, filters.get(event.account)))
    sessions: set[str] = set()
    for event in events(SESSION):
        record = SessionRecord.read(event)
        paid = charged.get(record.charged, Counter())
        if paid[record.mechanism] == 0:
            raise LedgerCorrupt("opens a session that nothing was charged for", event.seq)
        paid[record.mechanism] -= 1
        sessions.add(record.id)
    answers = 0
    for event in events(ANSWER):
        if event.session not in sessions:
            raise LedgerCorrupt("answers a session that was never opened", event.seq)
        answers += 1
    for session in sessions:
        replay(session)
    return Audit(reached, len(filters), len(sessions), answers)


def _checked_charge(event: Event, spending: Filter | None) -> tuple[Served, ...]:
    """The mechanisms that a charge pays for, once it is admitted again."""
    record = ChargeRecord.read(event)
    if spending is None:
        raise LedgerCorrupt("belongs to no account", event.seq)
    # A later version may know a tighter bound than what was charged; never a looser one.
    cost = spending.charge(compose(record.members), record.delta)
    if not Filter(record.charge).admits(cost):
        raise LedgerCorrupt("charges less than its mechanisms cost", event.seq)
    try:
        spending.admit(record.charge)
    except BudgetExceeded:
        raise LedgerCorrupt("is more than its account could pay", event.seq) from None
    if spending.spent != record.spent:
        raise LedgerCorrupt("records another sum than its account had spent", event.seq)
    return record.members
