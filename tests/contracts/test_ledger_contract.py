"""What every ledger must do: append, read, roll back, and refuse what exists already."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from interlace.core.errors import (
    AlreadyRecorded,
    LedgerCorrupt,
    LedgerError,
    NameTaken,
    ParameterError,
)
from interlace.ledger import Event, Head, Ledger
from tests.contracts.ledgers import OPEN


@pytest.fixture(params=sorted(OPEN))
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    opened = OPEN[request.param](tmp_path)
    yield opened
    opened.close()


def note(ledger: Ledger, number: int = 0) -> Event:
    with ledger.transaction() as transaction:
        return transaction.append("note", body={"number": number})


def numbers(events: Iterator[Event]) -> list[int]:
    return [event.seq for event in events]


def test_an_empty_ledger_has_a_head_and_no_events(ledger: Ledger) -> None:
    assert ledger.head().seq == 0
    assert len(ledger.head().hash) == 64
    assert list(ledger.events()) == []
    assert ledger.last() is None
    assert ledger.answer("s", 1) is None
    assert ledger.answer_by_key("s", "k") is None
    assert ledger.verify() == ledger.head()


def test_an_event_is_read_as_it_was_appended(ledger: Ledger) -> None:
    body = {"rho": "1/11", "ok": True, "none": None, "list": [1, -(2**70)], "λ": {"a": "ü\n\0"}}
    with ledger.transaction() as transaction:
        appended = transaction.append(
            "session",
            dataset="liver",
            account="ada",
            session="s1",
            round=3,
            key="k",
            body=body,
            secret=b"\x00threshold",
        )
        assert transaction.last("session") == appended
    (event,) = ledger.events()
    assert event == appended
    assert (event.seq, event.kind, event.dataset, event.account) == (1, "session", "liver", "ada")
    assert (event.session, event.round, event.key) == ("s1", 3, "k")
    assert event.body == body
    assert event.secret == b"\x00threshold"
    assert ledger.head() == Head(1, event.hash)


def test_a_secret_is_never_printed(ledger: Ledger) -> None:
    with ledger.transaction() as transaction:
        event = transaction.append("session", session="s", secret=b"threshold")
    assert "threshold" not in repr(event)
    assert event.secret == b"threshold"


def test_equal_secrets_in_equal_ledgers_leave_different_hashes(tmp_path: Path) -> None:
    """A hash must not confirm a guess of a secret, so it is salted."""
    first, second = (OPEN["sqlite"](tmp_path / name) for name in "ab")
    hashes = set()
    for ledger in (first, second):
        with ledger.transaction() as transaction:
            hashes |= {transaction.append("session", session="s", secret=b"1").hash}
        ledger.close()
    assert len(hashes) == 2


def test_nothing_is_seen_outside_before_the_commit(ledger: Ledger) -> None:
    before = ledger.head()
    with ledger.transaction() as transaction:
        transaction.append("note")
        assert transaction.head().seq == 1
        assert numbers(transaction.events()) == [1]
        assert ledger.head() == before
        assert list(ledger.events()) == []
    assert ledger.head().seq == 1


def test_an_exception_takes_back_all_events_of_its_transaction(ledger: Ledger) -> None:
    kept = note(ledger)

    def fail() -> None:
        with ledger.transaction() as transaction:
            transaction.append("note")
            transaction.append("note")
            raise KeyError("the caller's own error")

    with pytest.raises(KeyError, match="the caller's own error"):
        fail()
    assert ledger.head() == Head(kept.seq, kept.hash)
    assert note(ledger).seq == 2
    assert ledger.verify().seq == 2


@pytest.mark.parametrize(
    ("first", "second", "refusal"),
    [
        ({"kind": "account", "account": "ada"}, {"kind": "account", "account": "ada"}, NameTaken),
        (
            {"kind": "dataset", "dataset": "liver"},
            {"kind": "dataset", "dataset": "liver", "round": 1},
            NameTaken,
        ),
        (
            {"kind": "dataset", "dataset": "liver", "round": 2},
            {"kind": "dataset", "dataset": "liver", "round": 2},
            NameTaken,
        ),
        (
            {"kind": "session", "session": "s", "account": "ada"},
            {"kind": "session", "session": "s", "account": "bob"},
            AlreadyRecorded,
        ),
        (
            {"kind": "answer", "session": "s", "round": 1, "key": "a"},
            {"kind": "answer", "session": "s", "round": 1, "key": "b"},
            AlreadyRecorded,
        ),
        (
            {"kind": "answer", "session": "s", "round": 1, "key": "a"},
            {"kind": "answer", "session": "s", "round": 2, "key": "a"},
            AlreadyRecorded,
        ),
    ],
)
def test_an_identity_is_taken_once(
    ledger: Ledger, first: dict[str, object], second: dict[str, object], refusal: type[Exception]
) -> None:
    with ledger.transaction() as transaction:
        transaction.append(**first)  # type: ignore[arg-type]  # columns by name
        with pytest.raises(refusal):  # in one transaction, which can go on
            transaction.append(**second)  # type: ignore[arg-type]  # columns by name
        transaction.append("note")
    with pytest.raises(refusal), ledger.transaction() as transaction:  # and in two
        transaction.append(**second)  # type: ignore[arg-type]  # columns by name
    assert [event.kind for event in ledger.events()] == [first["kind"], "note"]
    assert ledger.verify().seq == 2


def test_what_only_resembles_an_identity_is_free(ledger: Ledger) -> None:
    with ledger.transaction() as transaction:
        transaction.append("account", account="ada")
        transaction.append("account", account="Ada")
        transaction.append("dataset", dataset="liver", round=1)
        transaction.append("dataset", dataset="liver", round=2)
        transaction.append("session", session="s", account="ada", key="k")
        transaction.append("answer", session="s", round=1, key="k")
        transaction.append("answer", session="s", round=2)
        transaction.append("answer", session="s", round=3)
        transaction.append("answer", session="t", round=1, key="k")
    assert ledger.verify().seq == 9


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"kind": ""}, "kind"),
        ({"kind": "account"}, "account"),
        ({"kind": "dataset"}, "dataset"),
        ({"kind": "session"}, "session"),
        ({"kind": "answer", "round": 1}, "session"),
        ({"kind": "answer", "session": "s"}, "round"),
        ({"kind": "note", "account": "a\0b"}, "account"),
        ({"kind": "note", "account": ""}, "account"),
        ({"kind": "note", "account": "a" * 1001}, "account"),
        ({"kind": "note", "session": "\ud800"}, "session"),
        ({"kind": "note", "round": -1}, "round"),
        ({"kind": "note", "round": 2**63}, "round"),
        ({"kind": "note", "round": True}, "round"),
        ({"kind": "note", "round": 1.0}, "round"),
        ({"kind": "note", "key": 5}, "key"),
        ({"kind": "note", "secret": "text"}, "secret"),
        ({"kind": "note", "body": {"rho": 0.5}}, "body.rho"),
        ({"kind": "note", "body": {"rho": Fraction(1, 2)}}, "body.rho"),
    ],
)
def test_columns_outside_their_domain_are_refused_by_name(
    ledger: Ledger, columns: dict[str, object], name: str
) -> None:
    with ledger.transaction() as transaction:
        with pytest.raises(ParameterError) as caught:
            transaction.append(**columns)  # type: ignore[arg-type]  # wrong on purpose
        transaction.append("note")
    assert caught.value.name == name
    assert ledger.verify().seq == 1


@pytest.fixture
def history(ledger: Ledger) -> Ledger:
    """Events 1 to 12: two accounts, three sessions, their answers in turns."""
    with ledger.transaction() as transaction:
        for account, session in (("ada", "s1"), ("ada", "s2"), ("bob", "s3")):
            transaction.append("session", dataset="liver", account=account, session=session)
        for place in range(9):
            account, session = (("ada", "s1"), ("ada", "s2"), ("bob", "s3"))[place % 3]
            transaction.append(
                "answer", account=account, session=session, round=place // 3, key=f"k{place}"
            )
    return ledger


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({}, list(range(1, 13))),
        ({"newest_first": True}, list(range(12, 0, -1))),
        ({"kind": "session"}, [1, 2, 3]),
        ({"kind": "nothing"}, []),
        ({"account": "bob"}, [3, 6, 9, 12]),
        ({"account": "ada", "newest_first": True, "limit": 3}, [11, 10, 8]),
        ({"session": "s2"}, [2, 5, 8, 11]),
        ({"session": "s2", "kind": "answer", "after": 5}, [8, 11]),
        ({"session": "s2", "account": "bob"}, []),
        ({"session": "s2", "account": "ada", "kind": "session"}, [2]),
        ({"dataset": "liver", "limit": 2}, [1, 2]),
        ({"dataset": "liver", "account": "bob"}, [3]),
        ({"session": ""}, []),
        ({"after": 10}, [11, 12]),
        ({"after": 10, "newest_first": True}, [12, 11]),
        ({"after": 12}, []),
    ],
)
def test_events_are_selected_in_order(
    history: Ledger, wanted: dict[str, object], found: list[int]
) -> None:
    assert numbers(history.events(**wanted)) == found  # type: ignore[arg-type]  # by name
    with history.transaction() as transaction:
        assert numbers(transaction.events(**wanted)) == found  # type: ignore[arg-type]  # by name


def test_the_latest_and_the_answers_are_found(history: Ledger) -> None:
    def seq(event: Event | None) -> int | None:
        return None if event is None else event.seq

    assert seq(history.last()) == 12
    assert seq(history.last("session")) == 3
    assert seq(history.last(account="ada")) == 11
    assert seq(history.last("session", account="ada")) == 2
    assert seq(history.last("answer", session="s1")) == 10
    assert seq(history.last("closed", session="s1")) is None
    assert seq(history.answer("s3", 0)) == 6
    assert seq(history.answer("s3", 3)) is None
    assert seq(history.answer("nobody", 0)) is None
    assert seq(history.answer_by_key("s1", "k3")) == 7
    assert seq(history.answer_by_key("s2", "k3")) is None


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(ledger: Ledger, limit: int) -> None:
    with pytest.raises(ParameterError, match="limit"):
        ledger.events(limit=limit)


@pytest.mark.parametrize("newest_first", [False, True])
@pytest.mark.parametrize("limit", [None, 511, 512, 513, 1024, 1300, 5000])
def test_many_events_are_read_as_they_were_at_the_call(
    ledger: Ledger, newest_first: bool, limit: int | None
) -> None:
    with ledger.transaction() as transaction:
        for number in range(1300):
            transaction.append("note", body={"number": number})
    reading = ledger.events("note", newest_first=newest_first, limit=limit)
    first = next(reading)
    note(ledger)
    found = [first.seq, *numbers(reading)]
    everything = list(range(1, 1301))
    assert found == (everything[::-1] if newest_first else everything)[:limit]


def test_a_transaction_ends_with_its_block(ledger: Ledger) -> None:
    with ledger.transaction() as transaction:
        transaction.append("note")
    with pytest.raises(LedgerError, match="has ended"):
        transaction.append("note")
    with pytest.raises(LedgerError, match="has ended"):
        transaction.head()
    with pytest.raises(LedgerError, match="has ended"):
        transaction.events()


def test_a_transaction_belongs_to_its_thread(ledger: Ledger) -> None:
    caught: list[str] = []
    with ledger.transaction() as transaction:

        def intrude() -> None:
            try:
                transaction.append("note")
            except LedgerError as error:
                caught.append(str(error))

        thread = threading.Thread(target=intrude)
        thread.start()
        thread.join()
    assert len(caught) == 1
    assert ledger.head().seq == 0


def test_nesting_is_refused_instead_of_waiting_for_ever(ledger: Ledger) -> None:
    with ledger.transaction(), pytest.raises(LedgerError, match="already"), ledger.transaction():
        pass
    with ledger.acquire("s"), pytest.raises(LedgerError, match="already"), ledger.acquire("s"):
        pass
    note(ledger)
    with ledger.acquire("s"):
        note(ledger)
    assert ledger.verify().seq == 2


def test_a_closed_ledger_says_so(ledger: Ledger) -> None:
    ledger.close()
    with pytest.raises(LedgerError, match="closed"):
        ledger.head()
    with pytest.raises(LedgerError, match="closed"), ledger.transaction():
        pass
    ledger.close()


def test_a_ledger_goes_on_when_it_is_opened_again(tmp_path: Path) -> None:
    for kind, opening in OPEN.items():
        first = opening(tmp_path / kind)
        before = note(first)
        first.close()
        again = opening(tmp_path / kind)
        assert again.head() == Head(before.seq, before.hash)
        assert note(again).seq == 2
        assert again.verify(Head(before.seq, before.hash)).seq == 2
        again.close()


def test_a_head_seen_earlier_is_on_the_chain(ledger: Ledger) -> None:
    heads = [ledger.head()]
    for number in range(3):
        event = note(ledger, number)
        heads.append(Head(event.seq, event.hash))
    for head in heads:
        assert ledger.verify(head) == heads[-1]
    for head in heads:
        with pytest.raises(LedgerCorrupt, match=f"event {head.seq}:"):
            ledger.verify(Head(head.seq, "0" * 64))
    with pytest.raises(LedgerCorrupt, match="event 4: is missing"):
        ledger.verify(Head(9, "0" * 64))
