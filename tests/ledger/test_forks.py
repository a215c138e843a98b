"""Forks of many threads, beside ledgers that come and go; and what is left of a transaction that
the database ended by itself."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from interlace.core.errors import LedgerError
from interlace.ledger import SQLiteLedger
from interlace.ledger.sqlite import running
from interlace.ledger.sqlite.connections import Connections
from tests.ledger.children import in_a_child

PATIENCE = 20  # seconds


@contextmanager
def storm(work: Callable[[], object], count: int) -> Iterator[None]:
    """Threads that do the work again and again."""
    stop, failures = threading.Event(), list[BaseException]()

    def run() -> None:
        try:
            while not stop.is_set():
                work()
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert failures == []


def inherits_no_database() -> bool:
    """Whether this process has no database open."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # that of the list itself
            found.append(link.readlink().name)
    return not any(name.startswith("ledger.sqlite3") for name in found)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the system lists no open files")
def test_a_child_inherits_no_connection_of_a_ledger_that_was_just_opened(tmp_path: Path) -> None:
    """SQLite would believe it has the locks that its parent has."""

    def come_and_go() -> None:
        with SQLiteLedger(tmp_path) as ledger:
            ledger.mark()

    come_and_go()
    with storm(come_and_go, 4):
        for _ in range(30):
            assert in_a_child(inherits_no_database)


def test_a_ledger_that_is_made_during_a_fork_waits_for_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SQLiteLedger(tmp_path / "b").close()
    opened = threading.Event()

    def open_another() -> None:
        with SQLiteLedger(tmp_path / "b"):
            opened.set()

    before = Connections.before_fork
    threads = list[threading.Thread]()

    def closed(self: Connections) -> None:
        before(self)
        threads.append(threading.Thread(target=open_another))
        threads[-1].start()
        assert not opened.wait(0.2)

    with SQLiteLedger(tmp_path / "a") as ledger:
        monkeypatch.setattr(Connections, "before_fork", closed)
        assert in_a_child(lambda: ledger.append("note") == 1)
    for thread in threads:
        thread.join(PATIENCE)
    assert opened.is_set()


def test_threads_fork_at_once(tmp_path: Path) -> None:
    with ExitStack() as stack:
        ledgers = [stack.enter_context(SQLiteLedger(tmp_path / str(i))) for i in range(3)]

        def work() -> None:
            assert in_a_child(lambda: all(ledger.append("note") for ledger in ledgers))
            for ledger in ledgers:
                ledger.append("note")

        threads = 3
        done = threading.Barrier(threads)

        def work_some() -> None:
            for _ in range(8):
                work()
            done.wait(PATIENCE)

        running = [threading.Thread(target=work_some) for _ in range(threads)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in running)
        assert [ledger.verify().seq for ledger in ledgers] == [2 * 8 * threads] * len(ledgers)


def test_two_forks_do_not_end_each_others_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second fork begins while the first one lets the ledgers go on."""
    before, after = Connections.before_fork, Connections.after_fork_in_parent
    rests, goes_on = list[Connections](), list[Connections]()
    half, tried = threading.Event(), list[threading.Thread]()

    def rest(self: Connections) -> None:
        rests.append(self)
        if len(rests) == 4:  # the second one's second
            half.set()
            time.sleep(0.3)  # for the first to go on
        before(self)

    def go_on(self: Connections) -> None:
        after(self)
        goes_on.append(self)
        if len(goes_on) == 2:  # the first one's last
            tried.append(threading.Thread(target=lambda: in_a_child(lambda: True)))
            tried[0].start()
            half.wait(0.3)

    with SQLiteLedger(tmp_path / "a") as first, SQLiteLedger(tmp_path / "b") as second:
        monkeypatch.setattr(Connections, "before_fork", rest)
        monkeypatch.setattr(Connections, "after_fork_in_parent", go_on)
        assert in_a_child(lambda: True)
        tried[0].join(PATIENCE)
        assert not tried[0].is_alive()
        found = list[int]()
        appending = threading.Thread(
            target=lambda: found.extend([first.append("note"), second.append("note")]), daemon=True
        )
        appending.start()
        appending.join(PATIENCE)
        assert found == [1, 1]


@pytest.mark.parametrize("before", [0, 2])
def test_nothing_is_committed_outside_of_a_transaction_that_was_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    """A full disk ends it at once; a statement after that would be one by itself."""
    run, full = running.run, list[bool]()

    def ends(connection: sqlite3.Connection, statement: Any, values: dict[str, Any]) -> Any:
        if full:
            full.clear()
            connection.rollback()
            raise LedgerError("the disk is full")
        return run(connection, statement, values)

    monkeypatch.setattr(running, "run", ends)
    with SQLiteLedger(tmp_path) as ledger:

        def go_on_regardless() -> None:
            with ledger.transaction() as transaction:
                for _ in range(before):
                    transaction.append("before")
                full.append(True)
                with pytest.raises(LedgerError, match="full"):
                    transaction.append("full")
                for _ in range(2):
                    with pytest.raises(LedgerError, match="given up"):
                        transaction.append("after")
                with pytest.raises(LedgerError, match="given up"):
                    transaction.last("before")

        with pytest.raises(LedgerError, match="given up"):
            go_on_regardless()
        assert ledger.verify().seq == 0
        assert ledger.append("note") == 1
