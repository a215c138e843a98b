"""Checks a ledger from disk: the chain, and that all that it tells kept to the rules.

The events are folded again, with the filters and mechanisms that served, from nothing.
"""

from __future__ import annotations

import contextlib
import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from interlace.centre.generations import CAP, GENERATION, GenerationRecord, cap_of, guard
from interlace.centre.records import AccountRecord, ChargeRecord, DatasetRecord, SessionRecord
from interlace.centre.restoring import check_restored
from interlace.centre.versions import follows
from interlace.core.composition import Composition, Filter, compose
from interlace.core.composition.filters import Budget, Charge
from interlace.core.errors import CheckFailed, LedgerCorrupt, ParameterError
from interlace.core.mechanisms.codec import Served
from interlace.ledger import ACCOUNT, ANSWER, CHARGE, DATASET, SESSION, Event, Head, Ledger


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

    check_restored(ledger, (ACCOUNT, GENERATION, CHARGE, SESSION, ANSWER))
    generations = _checked_generations(next(events(CAP), None), events(GENERATION))
    filters = _checked_accounts(events(ACCOUNT), generations, next(events(ANSWER), None))
    charged = {
        event.seq: Counter(_checked_charge(event, filters.get(event.account)))
        for event in events(CHARGE)
    }
    registered = _checked_datasets(events(DATASET))
    sessions = _checked_sessions(events(SESSION), charged, registered)
    answers = 0
    for event in events(ANSWER):
        if event.session not in sessions:
            raise LedgerCorrupt("answers a session that was never opened", event.seq)
        answers += 1
    for session in sessions:
        replay(session)
    return Audit(reached, len(filters), len(sessions), answers)


@contextlib.contextmanager
def _readable(event: Event) -> Iterator[None]:
    """Names an event of which something is not as any version writes it."""
    try:
        yield
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as e:
        raise LedgerCorrupt(f"cannot be read: {type(e).__name__}", event.seq) from e


def _checked_accounts(
    events: Iterator[Event],
    generations: Mapping[int, tuple[tuple[str, Budget], ...]],
    first_answer: Event | None,
) -> dict[str | None, Filter]:
    """The filter of each account, with nothing spent yet."""
    filters: dict[str | None, Filter] = {}
    for event in events:
        with _readable(event):
            account = AccountRecord.read(event)
            filters[event.account] = account.filter(None)
            together = generations.get(account.generation, ())
        if account.generation:
            if (account.name, account.quota) not in together:
                raise LedgerCorrupt("creates an account that no generation pays for", event.seq)
        elif generations or (first_answer is not None and event.seq > first_answer.seq):
            raise LedgerCorrupt("creates an account after the first answer", event.seq)
    return filters


def _checked_datasets(events: Iterator[Event]) -> dict[str, list[int]]:
    """Of each dataset, the events that registered its versions, in their order."""
    known: list[DatasetRecord] = []
    registered: dict[str, list[int]] = {}
    for event in events:
        with _readable(event):
            record = DatasetRecord.read(event)
            is_next = record.dataset.name == event.dataset and follows(record, known)
        if not is_next:
            raise LedgerCorrupt("registers no next version of a dataset", event.seq)
        known.append(record)
        registered.setdefault(record.dataset.name, []).append(event.seq)
    return registered


def _checked_sessions(
    events: Iterator[Event],
    charged: Mapping[int, Counter[Served]],
    registered: Mapping[str, Sequence[int]],
) -> set[str]:
    """The ids of the sessions, each paid for by its charge and on the version that was the
    latest when it was opened."""
    sessions: set[str] = set()
    for event in events:
        with _readable(event):
            record = SessionRecord.read(event)
            paid = charged.get(record.charged, Counter())
        if record.version != bisect_left(registered.get(record.dataset, ()), event.seq):
            raise LedgerCorrupt("opens a session on another version than the latest", event.seq)
        if paid[record.mechanism] == 0:
            raise LedgerCorrupt("opens a session that nothing was charged for", event.seq)
        paid[record.mechanism] -= 1
        sessions.add(record.id)
    return sessions


def _checked_generations(
    cap: Event | None, events: Iterator[Event]
) -> dict[int, tuple[tuple[str, Budget], ...]]:
    """The accounts of each generation, once all are admitted again."""
    generations: dict[int, tuple[tuple[str, Budget], ...]] = {}
    spending = None
    if cap is not None:
        with _readable(cap):
            spending = guard(cap_of(cap))
    for event in events:
        with _readable(event):
            record = GenerationRecord.read(event)
            bought = compose([quota for _, quota in record.quotas])
        if spending is None:
            raise LedgerCorrupt("commits a generation without a cap", event.seq)
        _check_paid(event, spending, bought, record)
        _follow(event, spending, record.charge, record.state)
        generations[event.seq] = record.quotas
    return generations


def _checked_charge(event: Event, spending: Filter | None) -> tuple[Served, ...]:
    """The mechanisms that a charge pays for, once it is admitted again."""
    with _readable(event):
        record = ChargeRecord.read(event)
        bought = compose(record.members)
    if spending is None:
        raise LedgerCorrupt("belongs to no account", event.seq)
    _check_paid(event, spending, bought, record)
    _follow(event, spending, record.charge, record.state, record.steps)
    return record.members


def _check_paid(
    event: Event, spending: Filter, item: Composition, record: ChargeRecord | GenerationRecord
) -> None:
    # A later version may know a tighter bound than what was charged; never a looser one.
    with _readable(event):
        covered = spending.covers(record.charge, item, record.delta)
    if not covered:
        raise LedgerCorrupt("charges less than what it pays for costs", event.seq)


def _follow(
    event: Event,
    spending: Filter,
    charge: Charge,
    state: Mapping[str, str | None],
    steps: Sequence[Mapping[str, str]] = (),
) -> None:
    """Prove the state that was stored; nothing is computed again."""
    with _readable(event):
        try:
            spending.follow(charge, state, steps)
        except (CheckFailed, ParameterError) as error:
            raise LedgerCorrupt(
                f"is not what its account or cap could pay: {error}", event.seq
            ) from None
