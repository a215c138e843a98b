"""The audit: a ledger that does not follow from the rules is named, event by event."""

from __future__ import annotations

import contextlib
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import interlace as il
from interlace.centre import Centre
from interlace.centre.audit import _checked_accounts, _checked_charge, _checked_sessions
from interlace.centre.charges import decode_charge, encode_charge
from interlace.core.guarantees import encode_notion
from interlace.core.mechanisms.codec import encode_mechanism
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


@pytest.mark.parametrize(
    ("account", "greedy"), [("ada", il.ZCDP(2)), ("ben", il.PureDP(4)), ("ben", il.PureDP(1))]
)
def test_a_charge_that_no_filter_would_have_admitted_is_named(
    busy: Path, account: str, greedy: il.PureDP | il.ZCDP
) -> None:
    with il.open(busy) as centre:
        first = next(iter(centre.ledger.events(CHARGE, account=account)))
        price = encode_notion(greedy)
        following = _last(centre, CHARGE, account).body
        steps = [{**step, "w": following["state"].get("w")} for step in first.body["steps"]]
        body = {**first.body, "charge": price, "state": following["state"], "steps": steps}
        _forge(centre, CHARGE, first, body=body)
        _named(centre, "is not what its account or cap could pay")


def test_a_charge_below_the_mechanisms_cost_is_named(busy: Path) -> None:
    with il.open(busy) as centre:
        last = _last(centre, CHARGE, "ben")
        cheap = {**last.body, "charge": encode_notion(il.PureDP(0))}
        _forge(centre, CHARGE, last, body=cheap)
        _named(centre, "charges less")


@pytest.mark.parametrize(
    ("account", "problem"), [("ada", "more is left than is"), ("ben", "does not start with the w")]
)
def test_a_state_that_was_written_too_high_is_named(busy: Path, account: str, problem: str) -> None:
    with il.open(busy) as centre:
        first = next(iter(centre.ledger.events(CHARGE, account=account)))
        _forge(centre, CHARGE, first)
        _named(centre, problem)


def _next_charge(centre: Centre) -> dict[str, Any]:
    """The body of an honest charge of ben's for one more mechanism."""
    account, laplace = centre.account("ben"), m.Laplace(epsilon=0.25)
    last = _last(centre, CHARGE, "ben").body
    filter_ = il.Filter(account.quota, account.rule, state=last["state"])
    filter_.admit(laplace)
    return {
        "members": [encode_mechanism(laplace)],
        "delta": None,
        "charge": encode_notion(il.PureDP(0.25)),
        "state": filter_.state,
        "steps": [dict(step) for step in filter_.steps()],
    }


@pytest.mark.parametrize("harm", ["nothing", "w", "sum_epsilon", "good", "step", "y0", "steps"])
def test_a_state_that_does_not_follow_is_named(busy: Path, harm: str) -> None:
    with il.open(busy) as centre:
        body = _next_charge(centre)
        state, [step] = body["state"], body["steps"]
        if harm == "step":
            # w' is larger by less than a thousandth of what the step cost.
            after = Fraction(step["after"])
            step["after"] = state["w"] = str(after + (Fraction(step["w"]) - after) / 1000)
        elif harm == "y0":
            step["y0"] = str(Fraction(step["y0"]) + 1)
        elif harm == "steps":
            step["epsilon"] = "1/8"
        elif harm != "nothing":
            by = {"w": Fraction(11, 10), "sum_epsilon": Fraction(9, 10), "good": Fraction(11, 10)}
            state[harm] = str(Fraction(state[harm]) * by[harm])
        _forge(centre, CHARGE, _last(centre, CHARGE, "ben"), body=body)
        if harm == "nothing":
            centre.audit()
        else:
            _named(centre, "is not what its account or cap could pay")


JUNK: list[Any] = [None, -1, "x", "1/0", "9" * 5000, [], {}, [{}], {"notion": "several"}]


def _fold(created: Event, charged: Event, opened: Event) -> None:
    [spending] = _checked_accounts(iter([created]), {}, None).values()
    paid = {charged.seq: Counter(_checked_charge(charged, spending))}
    _checked_sessions(iter([opened]), paid, {"people": [0]})


@pytest.mark.parametrize("account", ["ada", "ben"])
def test_an_event_that_cannot_be_read_is_named(busy: Path, account: str) -> None:
    with il.open(busy) as centre:
        created = _last(centre, ACCOUNT, account)
        charged = next(iter(centre.ledger.events(CHARGE, account=account)))
        opened = next(iter(centre.ledger.events(SESSION, account=account)))
    _fold(created, charged, opened)
    fields = [(event, name) for event in (created, charged, opened) for name in event.body]
    accepted = set()
    for event, name in fields:
        rest = {key: value for key, value in event.body.items() if key != name}
        for body in [rest, *({**rest, name: junk} for junk in JUNK)]:
            events = {e.seq: e for e in (created, charged, opened)}
            events[event.seq] = replace(event, body=body)
            # Any other kind of error fails the test.
            with contextlib.suppress(il.LedgerCorrupt):
                _fold(*events.values())
                accepted.add(name)
    # None of these says what was charged.
    assert not accepted & {"charge", "charged", "quota", "mechanism"}


def test_a_count_of_a_charge_is_written_in_one_way() -> None:
    charge = il.compose([(il.PureDP(1), 2), il.PureDP(0.5)])
    encoded = encode_charge(charge)
    assert decode_charge(encoded) == charge
    first, second = encoded["parts"]
    for parts in (
        [second, first], [first, {**second, "count": "02"}], [first, {**second, "count": "2_0"}],
        [first, {**second, "count": "-2"}], [first, {**second, "count": 2}], [first, first], None, 5,
        [first, {**second, "count": "9" * 5000}], [first, []], [{**first, "more": "1"}, second],
    ):  # fmt: skip
        with pytest.raises((il.ParameterError, il.RelationMismatch)):
            decode_charge({**encoded, "parts": parts})
    for changed in ({"relation": "change_one"}, {"relation": "x"}, {"more": "1"}, {"notion": None}):
        with pytest.raises((il.ParameterError, il.RelationMismatch)):
            decode_charge({**encoded, **changed})


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
