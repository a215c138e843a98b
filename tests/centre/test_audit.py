"""The audit: a ledger that does not follow from the rules is named, event by event."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

import interlace as il
from interlace.centre import Centre, audit
from interlace.centre.records import SessionRecord
from interlace.ledger import ANSWER, SESSION, Event
from tests.centre.support import ALL_SQL, WOMEN_SQL, clinic

m = il.mechanisms


@pytest.fixture
def busy(tmp_path: Path) -> Path:
    """A folder with two accounts and four sessions of all kinds, all asked."""
    with clinic(tmp_path) as centre:
        ada = centre.account("ada", quota=il.ZCDP(2))
        ben = centre.account("ben", quota=il.ApproxDP(4, 1e-6))
        ada.open(m.Gaussian(rho=0.1, answers=3), "people").ask(ALL_SQL)
        ada.open(m.SparseVector(epsilon=1, cutoff=2), "people").ask(ALL_SQL, at_least=300)
        ben.open(m.Laplace(epsilon=0.5, answers=2), "people").ask(WOMEN_SQL)
        ben.open(m.GuessAndCheck(epsilon=0.5, tolerance=30), "people").ask(ALL_SQL, guess=90)
    return tmp_path


def test_an_honest_ledger_holds_and_goes_through_its_earlier_head(busy: Path) -> None:
    with il.open(busy) as centre:
        first = audit(centre)
        assert (first.accounts, first.sessions, first.answers) == (2, 4, 4)
        centre.account("ada").sessions()[0].ask(ALL_SQL)
        second = audit(centre, first.head)
        assert (second.head.seq, second.answers) == (first.head.seq + 1, 5)


def test_an_edited_answer_breaks_the_chain(busy: Path) -> None:
    with il.open(busy) as centre:
        honest = audit(centre).head
        [victim, *_] = list(centre.ledger.events(ANSWER))
    with sqlite3.connect(busy / "ledger.sqlite3") as raw:
        for (name,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            raw.execute(f'DROP TRIGGER "{name}"')
        raw.execute(
            "UPDATE events SET body = replace(body, '\"value\":', '\"value\":1') WHERE seq = ?",
            [victim.seq],
        )
    with pytest.raises(il.LedgerError), il.open(busy) as centre:
        audit(centre, honest)


def _forge(centre: Centre, kind: str, event: Event, **changes: Any) -> None:
    """Append a well-chained event with another content, as a faulty writer would."""
    fields = {
        "dataset": event.dataset,
        "account": event.account,
        "session": event.session,
        "round": event.round,
        "body": dict(event.body),
        "secret": event.secret,
    }
    with centre.ledger.transaction() as transaction:
        transaction.append(kind, **(fields | changes))


def test_a_session_that_no_filter_would_have_admitted_is_named(busy: Path) -> None:
    with il.open(busy) as centre:
        last = centre.ledger.last(SESSION, account="ben")
        assert last is not None
        record = SessionRecord.read(last)
        greedy = {**last.body, "mechanism": {**last.body["mechanism"], "epsilon": "1"}}
        _forge(centre, SESSION, last, session="forged", body=greedy)
        with pytest.raises(il.LedgerCorrupt, match="more than its account could pay") as found:
            audit(centre)
        assert found.value.event == centre.ledger.head().seq
        assert record.spent != record.charge


def test_a_charge_that_was_written_too_low_is_named(busy: Path) -> None:
    with il.open(busy) as centre:
        last = centre.ledger.last(SESSION, account="ben")
        first = next(iter(centre.ledger.events(SESSION, account="ben")))
        assert last is not None
        cheap = {**last.body, "spent": first.body["spent"], "mechanism": first.body["mechanism"]}
        _forge(centre, SESSION, last, session="forged", body=cheap)
        with pytest.raises(il.LedgerCorrupt, match="another sum"):
            audit(centre)


def test_an_answer_beyond_the_session_is_named(busy: Path) -> None:
    with il.open(busy) as centre:
        sieve = centre.account("ada").sessions()[1]
        while sieve.left:
            sieve.ask(ALL_SQL, at_least=100)
        last = centre.ledger.last(ANSWER, session=sieve.id)
        assert last is not None
        assert last.round is not None
        _forge(centre, ANSWER, last, round=last.round + 1)
        with pytest.raises((il.LedgerCorrupt, il.SessionHalted)):
            audit(centre)


def test_an_answer_out_of_turn_is_named(busy: Path) -> None:
    with il.open(busy) as centre:
        last = centre.ledger.last(ANSWER, account="ben")
        assert last is not None
        assert last.round == 1
        _forge(centre, ANSWER, last, round=3)
        with pytest.raises((il.LedgerCorrupt, il.SessionHalted)):
            audit(centre)
