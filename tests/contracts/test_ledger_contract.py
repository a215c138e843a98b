"""What every ledger must do: append, read, roll back, and refuse what exists already."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from interlace.core.errors import (
    AlreadyRecorded,
    LedgerCorrupt,
    LedgerError,
    NameTaken,
    ParameterError,
)
from interlace.ledger import Event, Head, Ledger
from interlace.ledger.interface import Names
from tests.contracts.ledgers import OPEN


@pytest.fixture(params=sorted(OPEN))
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    opened = OPEN[request.param](tmp_path)
    yield opened
    opened.close()


#: What a session and its answers must carry.
OF_S: dict[str, Any] = {"dataset": "liver", "account": "ada", "session": "s"}


def note(ledger: Ledger, number: int = 0) -> Event:
    with ledger.transaction() as transaction:
        return transaction.append("note", body={"number": number})


def numbers(events: Iterator[Event]) -> list[int]:
    return [event.seq for event in events]


def test_an_empty_ledger_has_a_head_and_no_events(ledger: Ledger) -> None:
    assert ledger.head().seq == 0
    assert len(ledger.head().hash) == 64
    assert list(ledger.events("note")) == []
    assert ledger.last("note") is None
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
    (event,) = ledger.events("session")
    assert event == appended
    assert (event.seq, event.kind, event.dataset, event.account) == (1, "session", "liver", "ada")
    assert (event.session, event.round, event.key) == ("s1", 3, "k")
    assert event.body == body
    assert event.secret == b"\x00threshold"
    assert ledger.head() == Head(1, event.hash)


def test_a_secret_is_never_printed(ledger: Ledger) -> None:
    with ledger.transaction() as transaction:
        event = transaction.append("note", secret=b"threshold")
    assert "threshold" not in repr(event)
    assert event.secret == b"threshold"


def test_nothing_is_seen_outside_before_the_commit(ledger: Ledger) -> None:
    before = ledger.head()
    with ledger.transaction() as transaction:
        transaction.append("note")
        assert transaction.head().seq == 1
        assert numbers(transaction.events("note")) == [1]
        assert ledger.head() == before
        assert list(ledger.events("note")) == []
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
            {"kind": "session", **OF_S, "account": "ada"},
            {"kind": "session", **OF_S, "account": "bob"},
            AlreadyRecorded,
        ),
        (
            {"kind": "answer", **OF_S, "round": 1, "key": "a"},
            {"kind": "answer", **OF_S, "round": 1, "key": "b"},
            AlreadyRecorded,
        ),
        (
            {"kind": "answer", **OF_S, "round": 1, "key": "a"},
            {"kind": "answer", **OF_S, "round": 2, "key": "a"},
            AlreadyRecorded,
        ),
    ],
)
def test_an_identity_is_taken_once(
    ledger: Ledger, first: dict[str, object], second: dict[str, object], refusal: type[Exception]
) -> None:
    with ledger.acquire("s"):
        with ledger.transaction() as transaction:
            transaction.append(**first)  # type: ignore[arg-type]  # columns by name
            with pytest.raises(refusal):  # in one transaction, which can go on
                transaction.append(**second)  # type: ignore[arg-type]  # columns by name
            transaction.append("note")
        with pytest.raises(refusal) as caught, ledger.transaction() as transaction:  # and in two
            transaction.append(**second)  # type: ignore[arg-type]  # columns by name
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert numbers(ledger.events(str(first["kind"]))) == [1]
    assert ledger.verify().seq == 2


def test_what_only_resembles_an_identity_is_free(ledger: Ledger) -> None:
    with ledger.acquire("s"), ledger.acquire("t"), ledger.transaction() as transaction:
        transaction.append("account", account="ada")
        transaction.append("account", account="Ada")
        transaction.append("dataset", dataset="liver", round=1)
        transaction.append("dataset", dataset="liver", round=2)
        transaction.append("session", **OF_S, key="k")
        transaction.append("answer", **OF_S, round=1, key="k")
        transaction.append("answer", **OF_S, round=2)
        transaction.append("answer", **OF_S, round=3)
        transaction.append("answer", **{**OF_S, "session": "t"}, round=1, key="k")
    assert ledger.verify().seq == 9


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({"kind": ""}, "kind"),
        ({"kind": "account"}, "account"),
        ({"kind": "dataset"}, "dataset"),
        ({"kind": "session", **OF_S, "session": None}, "session"),
        ({"kind": "session", **OF_S, "account": None}, "account"),
        ({"kind": "session", **OF_S, "dataset": None}, "dataset"),
        ({"kind": "answer", **OF_S, "round": 1, "session": ""}, "session"),
        ({"kind": "answer", **OF_S, "round": 1, "session": None}, "session"),
        ({"kind": "answer", **OF_S, "round": 1, "account": None}, "account"),
        ({"kind": "answer", **OF_S, "round": 1, "dataset": None}, "dataset"),
        ({"kind": "answer", **OF_S}, "round"),
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
    turns = [("ada", "s1"), ("ada", "s2"), ("bob", "s3")]
    with contextlib.ExitStack() as stack:
        for _, session in turns:
            stack.enter_context(ledger.acquire(session))
        transaction = stack.enter_context(ledger.transaction())
        for account, session in turns:
            transaction.append("session", dataset="liver", account=account, session=session)
        for place in range(9):
            account, session = turns[place % 3]
            of: dict[str, Any] = {"dataset": "liver", "account": account, "session": session}
            transaction.append("answer", **of, round=place // 3, key=f"k{place}")
    return ledger


SELECTED: list[tuple[str, Names, list[int]]] = [
    ("session", {}, [1, 2, 3]),
    ("answer", {}, list(range(4, 13))),
    ("nothing", {}, []),
    ("answer", {"account": "bob"}, [6, 9, 12]),
    ("session", {"account": "ada"}, [1, 2]),
    ("answer", {"session": "s2"}, [5, 8, 11]),
    ("answer", {"session": "s2", "account": "bob"}, []),
    ("session", {"session": "s2", "account": "ada"}, [2]),
    ("session", {"dataset": "liver"}, [1, 2, 3]),
    ("session", {"dataset": "liver", "account": "bob"}, [3]),
    ("session", {"dataset": "heart"}, []),
    ("answer", {"session": ""}, []),
]


@pytest.mark.parametrize(("kind", "names", "found"), SELECTED)
def test_events_are_selected_in_order(
    history: Ledger, kind: str, names: Names, found: list[int]
) -> None:
    with history.transaction() as transaction:
        for reads in (history, transaction):
            assert numbers(reads.events(kind, **names)) == found
            for after in (0, 2, 9, 12):
                later = [seq for seq in found if seq > after]
                assert numbers(reads.events(kind, after=after, **names)) == later
            last = reads.last(kind, **names)
            assert (last.seq if last else None) == (found[-1] if found else None)


def test_an_answer_is_found_by_its_key(history: Ledger) -> None:
    found = history.answer_by_key("s1", "k3")
    assert found is not None
    assert found.seq == 7
    assert history.answer_by_key("s2", "k3") is None


@pytest.mark.parametrize("name", ["account", "session", "dataset", "kind"])
@pytest.mark.parametrize("value", [None, 5, b"s1"])
def test_a_name_that_is_none_by_mistake_selects_nobodys_events(
    history: Ledger, name: str, value: object
) -> None:
    given: dict[str, Any] = {"kind": "answer", name: value}
    for read in (history.events, history.last):
        with pytest.raises(ParameterError) as caught:
            read(**given)
        assert caught.value.name == name


def test_many_events_are_read_as_they_were_at_the_call(ledger: Ledger) -> None:
    with ledger.transaction() as transaction:
        for number in range(1300):
            transaction.append("note", body={"number": number})
    reading = ledger.events("note")
    first = next(reading)
    note(ledger)
    assert [first.seq, *numbers(reading)] == list(range(1, 1301))
    assert numbers(ledger.events("note", after=789)) == list(range(790, 1302))
    assert ledger.verify().seq == 1301


@pytest.mark.parametrize("held", [(), ("t",)])
def test_an_answer_is_refused_to_whoever_does_not_hold_its_session(
    ledger: Ledger, held: tuple[str, ...]
) -> None:
    with contextlib.ExitStack() as stack:
        for name in held:
            stack.enter_context(ledger.acquire(name))
        transaction = stack.enter_context(ledger.transaction())
        with pytest.raises(LedgerError, match="is not held by this thread"):
            transaction.append("answer", **OF_S, round=1)
    assert ledger.head().seq == 0


def test_another_threads_hold_does_not_do(ledger: Ledger) -> None:
    refused: list[str] = []

    def intrude() -> None:
        with ledger.transaction() as transaction:
            try:
                transaction.append("answer", **OF_S, round=1)
            except LedgerError as error:
                refused.append(str(error))

    with ledger.acquire("s"):
        thread = threading.Thread(target=intrude)
        thread.start()
        thread.join()
    assert len(refused) == 1
    assert ledger.head().seq == 0


def test_a_transaction_ends_with_its_block(ledger: Ledger) -> None:
    with ledger.transaction() as transaction:
        transaction.append("note")
    with pytest.raises(LedgerError, match="has ended"):
        transaction.append("note")
    with pytest.raises(LedgerError, match="has ended"):
        transaction.head()
    with pytest.raises(LedgerError, match="has ended"):
        transaction.events("note")


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
