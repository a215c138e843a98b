"""The audit: a ledger that does not follow from the rules is named, event by event."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import interlace as il
from interlace.centre import Centre
from interlace.ledger import ACCOUNT, ANSWER, CHARGE, SESSION, Event
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
        first = centre.audit()
        assert (first.accounts, first.sessions, first.answers) == (2, 4, 4)
        centre.account("ada").sessions()[0].ask(ALL_SQL)
        second = centre.audit(first.head)
        assert (second.head.seq, second.answers) == (first.head.seq + 1, 5)


def _forge(centre: Centre, kind: str, event: Event, **changes: Any) -> None:
    """Append a well-chained event with another content, as a faulty writer would."""
    fields: dict[str, Any] = {
        "dataset": event.dataset,
        "account": event.account,
        "session": event.session,
        "round": event.round,
        "body": dict(event.body),
        "secret": event.secret,
    }
    fields |= changes
    holder = f"{fields['session']}"
    with centre.ledger.acquire(holder), centre.ledger.transaction() as transaction:
        transaction.append(kind, **fields)


def _last(centre: Centre, kind: str, account: str) -> Event:
    event = centre.ledger.last(kind, account=account)
    assert event is not None
    return event


def _named(centre: Centre, problem: str) -> None:
    """The audit names the last event, for this reason."""
    with pytest.raises(il.LedgerCorrupt, match=problem) as found:
        centre.audit()
    assert found.value.event == centre.ledger.head().seq


def test_a_charge_that_no_filter_would_have_admitted_is_named(busy: Path) -> None:
    with il.open(busy) as centre:
        last = _last(centre, CHARGE, "ben")
        greedy = {**last.body, "charge": {**last.body["charge"], "epsilon": "4"}}
        _forge(centre, CHARGE, last, body=greedy)
        _named(centre, "more than its account or cap could pay")


def test_a_charge_below_the_mechanisms_cost_is_named(busy: Path) -> None:
    with il.open(busy) as centre:
        last = _last(centre, CHARGE, "ben")
        cheap = {**last.body, "charge": {**last.body["charge"], "epsilon": "0"}}
        _forge(centre, CHARGE, last, body=cheap)
        _named(centre, "charges less")


def test_a_sum_that_was_written_too_low_is_named(busy: Path) -> None:
    with il.open(busy) as centre:
        first = next(iter(centre.ledger.events(CHARGE, account="ben")))
        _forge(centre, CHARGE, first)
        _named(centre, "another sum than had been spent")


def test_a_session_that_nothing_was_charged_for_is_named(busy: Path) -> None:
    with il.open(busy) as centre:
        # Its charge is spent on the session that it was made for.
        _forge(centre, SESSION, _last(centre, SESSION, "ben"), session="forged")
        _named(centre, "nothing was charged for")


def test_a_session_under_another_mechanisms_charge_is_named(busy: Path) -> None:
    with il.open(busy) as centre:
        [laplace, other] = list(centre.ledger.events(SESSION, account="ben"))
        moved = {**other.body, "charged": laplace.body["charged"]}
        _forge(centre, SESSION, other, session="forged", body=moved)
        _named(centre, "nothing was charged for")


def test_an_answer_beyond_the_session_is_named(busy: Path) -> None:
    with il.open(busy) as centre:
        sieve = centre.account("ada").sessions()[1]
        while sieve.left:
            sieve.ask(ALL_SQL, at_least=100)
        last = centre.ledger.last(ANSWER, session=sieve.id)
        assert last is not None
        assert last.round is not None
        _forge(centre, ANSWER, last, round=last.round + 1)
        with pytest.raises(il.LedgerCorrupt, match="halted") as found:
            centre.audit()
        assert found.value.event == centre.ledger.head().seq


def test_an_answer_out_of_turn_is_named(busy: Path) -> None:
    with il.open(busy) as centre:
        last = centre.ledger.last(ANSWER, session=centre.account("ben").sessions()[0].id)
        assert last is not None
        _forge(centre, ANSWER, last, round=3)
        with pytest.raises(il.LedgerCorrupt, match="history") as found:
            centre.audit()
        assert found.value.event == centre.ledger.head().seq


def test_an_answer_of_no_session_is_named(busy: Path) -> None:
    with il.open(busy) as centre:
        last = centre.ledger.last(ANSWER)
        assert last is not None
        _forge(centre, ANSWER, last, session="nobody's")
        with pytest.raises(il.LedgerCorrupt, match="never opened") as found:
            centre.audit()
        assert found.value.event == centre.ledger.head().seq


def test_an_account_after_the_first_answer_is_named(busy: Path) -> None:
    with il.open(busy) as centre:
        first = centre.ledger.last(ACCOUNT)
        assert first is not None
        _forge(centre, ACCOUNT, first, account="eve")
        with pytest.raises(il.LedgerCorrupt, match="after the first answer") as found:
            centre.audit()
        assert found.value.event == centre.ledger.head().seq


@pytest.mark.parametrize("harm", ["edit", "remove"])
def test_a_snapshot_that_is_not_the_registered_one_is_named(busy: Path, harm: str) -> None:
    [snapshot] = (busy / "snapshots").glob("*.duckdb")
    if harm == "edit":
        content = bytearray(snapshot.read_bytes())
        content[-1] ^= 1
        snapshot.chmod(0o600)
        snapshot.write_bytes(content)
    else:
        snapshot.unlink()
    with il.open(busy) as centre, pytest.raises(il.LedgerCorrupt, match="snapshot") as found:
        centre.audit()
    assert found.value.event == 1


def test_an_audit_beside_a_busy_centre_raises_no_alarm(busy: Path) -> None:
    with il.open(busy) as centre, ThreadPoolExecutor(2) as pool:
        account = centre.account("ben")
        opening = [pool.submit(account.open, m.Laplace(epsilon=0.01), "people") for _ in range(20)]
        asking = pool.submit(lambda: [job.result().ask(ALL_SQL) for job in opening])
        while not asking.done():
            centre.audit()
        assert centre.audit().sessions == 24


def test_a_session_is_folded_without_reading_its_sql_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later release may read SQL otherwise, or refuse what this one answered."""
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(9))
        checked = account.open(m.GuessAndCheck(epsilon=0.5, tolerance=1, cutoff=3), "people")
        answers = [checked.ask(ALL_SQL, guess=guess) for guess in (0, 300, 10**6)]
        left = checked.left

    def refuse(*_: object) -> None:
        raise il.QueryRefused("SELECT", "no longer")

    monkeypatch.setattr("interlace.centre.datasets.parse", refuse)
    with il.open(tmp_path) as centre:
        again = centre.session(checked.id)
        assert (again.left, again.replay(), again.history()) == (left, 3, answers)
        with pytest.raises(il.QueryRefused, match="no longer"):
            again.ask(ALL_SQL, guess=0)
        centre.audit()
