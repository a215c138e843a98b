"""Group commit: batches in which each stands alone, and which stand or fall together."""

from __future__ import annotations

import gc
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from interlace.core.errors import AlreadyRecorded, Closed, LedgerError, NameTaken
from interlace.ledger import SQLiteLedger, group
from interlace.ledger.sqlite import connections
from tests.ledger.children import in_a_child

OF_S: dict[str, Any] = {"dataset": "liver", "account": "ada", "session": "s"}
PATIENCE = 20  # seconds


class Disk:
    """Commits take place when they may; each may be told to fail."""

    def __init__(self) -> None:
        self.commits = 0
        self.begun, self.may = threading.Event(), threading.Event()
        self.fails: str | None = None  # "before" or "after" it is durable
        self._commit = connections._commit

    def commit(self, connection: sqlite3.Connection) -> None:
        self.commits += 1
        self.begun.set()
        assert self.may.wait(PATIENCE)
        if self.fails != "before":
            self._commit(connection)
        if self.fails is not None:
            raise sqlite3.OperationalError("the disk failed")


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    made = Disk()
    monkeypatch.setattr(connections, "_commit", made.commit)
    yield made
    made.may.set()


@pytest.fixture
def ledger(tmp_path: Path, disk: Disk) -> Iterator[SQLiteLedger]:
    with SQLiteLedger(tmp_path) as opened:
        yield opened
        disk.may.set()


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(32) as made:
        yield made


def waiting(ledger: SQLiteLedger, count: int) -> None:
    """Returns when that many entries wait for the commit that is under way."""
    end = time.monotonic() + PATIENCE
    while ledger._group._entries.qsize() < count:
        assert time.monotonic() < end
        time.sleep(0.001)


def together(
    ledger: SQLiteLedger, disk: Disk, pool: ThreadPoolExecutor, works: list[Callable[[], int]]
) -> list[Future[int]]:
    """Have these, in this order, wait in one batch behind a commit that is under way."""
    first = pool.submit(ledger.append, "first")
    assert disk.begun.wait(PATIENCE)
    futures = []
    for place, work in enumerate(works):
        futures.append(pool.submit(work))
        waiting(ledger, place + 1)
    disk.may.set()
    assert first.result(PATIENCE) == 1
    return futures


def note(ledger: SQLiteLedger) -> Callable[[], int]:
    return lambda: ledger.append("note")


def test_what_comes_during_a_commit_is_committed_at_once(
    ledger: SQLiteLedger, disk: Disk, pool: ThreadPoolExecutor
) -> None:
    found = together(ledger, disk, pool, [note(ledger)] * 20)
    assert [future.result(PATIENCE) for future in found] == list(range(2, 22))
    assert disk.commits == 2
    assert ledger.verify().seq == 21


@pytest.mark.parametrize("most", [1, 3, 20])
def test_a_batch_has_its_limit(
    ledger: SQLiteLedger,
    disk: Disk,
    pool: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
) -> None:
    monkeypatch.setattr(group, "_MOST", most)
    found = together(ledger, disk, pool, [note(ledger)] * 20)
    assert [future.result(PATIENCE) for future in found] == list(range(2, 22))
    assert disk.commits == 1 + -(-20 // most)


def test_what_is_wrong_with_one_does_not_touch_the_others(
    ledger: SQLiteLedger, disk: Disk, pool: ThreadPoolExecutor
) -> None:
    def ended(_: object) -> None:
        raise Closed("so it says")

    def held() -> int:
        with ledger.acquire("s"):
            return ledger.append("answer", **OF_S, round=1)

    def twice() -> int:
        with ledger.acquire("t"):
            return ledger.append("answer", **(OF_S | {"session": "t"}), round=1)

    works: list[Callable[[], int]] = [
        lambda: ledger.append("account", account="ada"),
        lambda: ledger.append("account", account="ada"),
        held,
        lambda: ledger.append("answer", **OF_S, round=2),
        twice,
        lambda: ledger.append("session", **OF_S),
        lambda: ledger.append("session", **OF_S),
        lambda: ledger.append("note", check=ended),
        note(ledger),
    ]
    found = together(ledger, disk, pool, works)
    errors = [future.exception(PATIENCE) for future in found]
    assert [type(error) for error in errors[:2]] == [type(None), NameTaken]
    assert errors[2] is None
    assert "is not held by this thread" in str(errors[3])
    assert [type(error) for error in errors[4:]] == [
        type(None), type(None), AlreadyRecorded, Closed, type(None),
    ]  # fmt: skip
    numbers = [future.result() for future, error in zip(found, errors, strict=True) if not error]
    assert numbers == [2, 3, 4, 5, 6]
    assert disk.commits == 2
    assert ledger.verify().seq == 6


@pytest.mark.parametrize("fails", ["before", "after"])
def test_a_commit_that_fails_fails_for_all(
    ledger: SQLiteLedger, disk: Disk, pool: ThreadPoolExecutor, fails: str
) -> None:
    first = pool.submit(ledger.append, "first")
    assert disk.begun.wait(PATIENCE)
    found = [pool.submit(ledger.append, "note") for _ in range(10)]
    waiting(ledger, 10)
    disk.fails = fails
    disk.may.set()
    errors = [future.exception(PATIENCE) for future in (first, *found)]
    assert {type(error) for error in errors} == {LedgerError}
    assert all("the disk failed" in str(error) for error in errors)
    assert len({id(error) for error in errors}) == 11  # or threads would share a traceback
    disk.fails = None
    recorded = 11 if fails == "after" else 0  # then it is not known to the callers
    assert ledger.append("note") == recorded + 1
    assert ledger.verify().seq == recorded + 1


@pytest.mark.parametrize("error", [OSError, SystemExit, KeyError])
def test_whatever_ends_a_transaction_reaches_the_caller(
    ledger: SQLiteLedger, disk: Disk, error: type[BaseException]
) -> None:
    """The thread of the commits goes on, or every later caller would wait for ever."""
    disk.may.set()

    def fail() -> None:
        raise error

    for _ in range(2):
        with pytest.raises(error):
            ledger.append("note", before_commit=fail)
    assert ledger.append("note") == 1


def interrupted(when: Callable[[], object], work: Callable[[], object]) -> None:
    """Do the work; Ctrl-C is pressed once ``when`` returns."""

    def press() -> None:
        when()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    thread.join()


def test_who_withdrew_before_the_turn_came_is_not_recorded(
    ledger: SQLiteLedger, disk: Disk, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group, "_PATIENCE", 0.1)
    first = pool.submit(ledger.append, "first")
    assert disk.begun.wait(PATIENCE)
    interrupted(lambda: waiting(ledger, 1), lambda: ledger.append("withdrawn"))
    last = pool.submit(ledger.append, "note")
    waiting(ledger, 2)
    disk.may.set()
    assert (first.result(PATIENCE), last.result(PATIENCE)) == (1, 2)
    assert ledger.last("withdrawn") is None


def test_who_withdraws_during_the_commit_is_recorded(
    ledger: SQLiteLedger, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group, "_PATIENCE", 0.1)
    interrupted(lambda: disk.begun.wait(PATIENCE), lambda: ledger.append("late"))
    disk.may.set()
    assert ledger.append("note") == 2
    assert ledger.last("late") is not None


def test_closing_commits_what_waits_and_then_refuses(
    ledger: SQLiteLedger, disk: Disk, pool: ThreadPoolExecutor, tmp_path: Path
) -> None:
    first = pool.submit(ledger.append, "first")
    assert disk.begun.wait(PATIENCE)
    found = [pool.submit(ledger.append, "note") for _ in range(5)]
    waiting(ledger, 5)
    closing = pool.submit(ledger.close)
    while not ledger._group._closed:
        time.sleep(0.001)
    with pytest.raises(LedgerError, match="was closed"):
        ledger.append("note")
    disk.may.set()
    closing.result(PATIENCE)
    assert {future.result(0) for future in (first, *found)} == set(range(1, 7))
    with SQLiteLedger(tmp_path) as again:
        assert again.verify().seq == 6


def test_forks_among_commits_lose_and_repeat_nothing(
    ledger: SQLiteLedger, disk: Disk, pool: ThreadPoolExecutor
) -> None:
    """What waits at a fork is the parent's to commit, and only there."""
    disk.may.set()
    stop, told = threading.Event(), list[int]()

    def storm() -> None:
        while not stop.is_set():
            told.append(ledger.append("parent"))

    storms = [pool.submit(storm) for _ in range(8)]
    for _ in range(10):
        assert in_a_child(lambda: len({ledger.append("child") for _ in range(3)}) == 3)
    stop.set()
    for done in storms:
        done.result(PATIENCE)
    assert sorted(told) == [event.seq for event in ledger.events("parent")]
    assert len(list(ledger.events("child"))) == 30
    assert ledger.verify().seq == len(told) + 30


def commit_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "interlace commits"}


def test_a_ledger_that_nobody_has_any_more_ends_its_thread(tmp_path: Path) -> None:
    before = commit_threads()
    ledger = SQLiteLedger(tmp_path)
    ledger.append("note")
    [thread] = commit_threads() - before
    del ledger
    gc.collect()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_it_commits_without_a_thread_where_none_can_be_started(
    ledger: SQLiteLedger, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at the end of a process, or where there are too many."""
    disk.may.set()

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        assert ledger.append("account", account="ada") == 1
        with pytest.raises(NameTaken):
            ledger.append("account", account="ada")
    assert ledger.append("note") == 2


def test_the_end_of_the_process_may_append_still(tmp_path: Path) -> None:
    program = (
        "import atexit, sys\n"
        "atexit.register(lambda: print(ledger.append('late')))\n"  # called after all finalizers
        "from interlace.ledger import SQLiteLedger\n"
        "ledger = SQLiteLedger(sys.argv[1])\n"
        "ledger.append('note')\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    said = subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE)
    assert said.stdout.split() == [b"2"]


def test_appending_inside_ones_own_transaction_is_refused(
    ledger: SQLiteLedger, disk: Disk, tmp_path: Path
) -> None:
    """Also when the file of the writers' lock was taken away: it would wait for itself."""
    disk.may.set()
    with ledger.transaction() as transaction:
        transaction.append("note")
        (tmp_path / "ledger.lock").unlink()
        with pytest.raises(LedgerError, match="inside a transaction"):
            ledger.append("note")
    assert ledger.verify().seq == 1
