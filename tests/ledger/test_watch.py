"""Marks: another number whenever anybody else has recorded anything, whatever happens meanwhile."""

from __future__ import annotations

import os
import random
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from interlace.core.errors import AlreadyRecorded, LedgerError
from interlace.ledger import SQLiteLedger
from interlace.ledger.holds import Holds
from interlace.ledger.sqlite import connections
from tests.ledger.children import in_a_child


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SQLiteLedger]:
    with SQLiteLedger(tmp_path) as opened:
        yield opened


def write(ledger: SQLiteLedger) -> int:
    with ledger.transaction() as transaction:
        return transaction.append("note").seq


def by_another_object(ledger: SQLiteLedger, folder: Path) -> None:
    del ledger
    with SQLiteLedger(folder) as other:
        other.append("note")


def by_another_object_alone(ledger: SQLiteLedger, folder: Path) -> None:
    del ledger
    with SQLiteLedger(folder) as other:
        write(other)


def by_a_transaction_of_its_own(ledger: SQLiteLedger, folder: Path) -> None:
    del folder
    write(ledger)


def by_a_child(ledger: SQLiteLedger, folder: Path) -> None:
    del folder
    assert in_a_child(lambda: ledger.append("note") > 0)


def between_own_events(ledger: SQLiteLedger, folder: Path) -> None:
    ledger.append("note")
    by_another_object(ledger, folder)
    ledger.append("note")


def before_the_log_is_emptied(ledger: SQLiteLedger, folder: Path) -> None:
    by_another_object(ledger, folder)
    with closing(sqlite3.connect(folder / "ledger.sqlite3")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


@pytest.mark.parametrize(
    "other",
    [
        by_another_object,
        by_another_object_alone,
        by_a_transaction_of_its_own,
        by_a_child,
        between_own_events,
        before_the_log_is_emptied,
    ],
)
@pytest.mark.parametrize("own", [0, 1, 3])
def test_a_mark_tells_of_what_others_recorded(
    ledger: SQLiteLedger,
    tmp_path: Path,
    other: Callable[[SQLiteLedger, Path], None],
    own: int,
) -> None:
    mark = ledger.mark()
    for _ in range(own):
        ledger.append("note")
    assert ledger.mark() == mark
    other(ledger, tmp_path)
    told = ledger.mark()
    assert told != mark
    assert ledger.mark() == told
    ledger.append("note")
    assert ledger.mark() == told


def test_nothing_that_was_not_recorded_needs_a_new_mark(ledger: SQLiteLedger) -> None:
    ledger.append("account", account="ada")
    mark = ledger.mark()
    with suppress(KeyError), ledger.transaction() as transaction:
        transaction.append("note")
        raise KeyError
    with pytest.raises(ValueError, match="exists already"):
        ledger.append("account", account="ada")
    assert ledger.mark() == mark


@pytest.mark.parametrize("durable", [False, True])
def test_a_commit_that_fails_is_never_taken_for_an_own_event(
    ledger: SQLiteLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, durable: bool
) -> None:
    """Its number may become another's."""
    mark = ledger.mark()
    commit = connections._commit

    def fails(connection: sqlite3.Connection) -> None:
        if durable:
            commit(connection)
        raise sqlite3.OperationalError("the disk failed")

    with monkeypatch.context() as patch:
        patch.setattr(connections, "_commit", fails)
        with pytest.raises(LedgerError, match="the disk failed"):
            ledger.append("note")
    by_another_object(ledger, tmp_path)
    assert ledger.mark() != mark


def test_a_commit_that_fails_is_known_here_before_others_may_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or the event of another, under the number that was lost, would pass for an own one until
    it is."""
    ledger, other = SQLiteLedger(tmp_path), SQLiteLedger(tmp_path)
    first, seen = ledger.mark(), list[tuple[int, int]]()
    commit, hold = connections._commit, Holds.hold

    def fails(_: sqlite3.Connection) -> None:
        monkeypatch.setattr(connections, "_commit", commit)
        raise sqlite3.OperationalError("the disk failed")

    @contextmanager
    def held(holds: Holds, name: str) -> Iterator[None]:
        """As soon as the writers' lock is free, another writes."""
        try:
            with hold(holds, name):
                yield
        finally:
            if holds is ledger._writer and not seen:
                seen.append((other.append("note"), ledger.mark()))

    monkeypatch.setattr(connections, "_commit", fails)
    monkeypatch.setattr(Holds, "hold", held)
    with pytest.raises(LedgerError, match="the disk failed"):
        ledger.append("note")
    [(number, mark)] = seen
    assert number == 1
    assert mark != first
    ledger.close()
    other.close()


def test_a_child_takes_nothing_of_its_parents_for_its_own(ledger: SQLiteLedger) -> None:
    mark = ledger.mark()
    told, tell = os.pipe()
    ledger.append("note")

    def work() -> bool:
        first = ledger.mark()
        os.read(told, 1)
        return mark != first != ledger.mark()

    thread = threading.Timer(0.2, lambda: (ledger.append("note"), os.write(tell, b".")))
    thread.start()
    assert in_a_child(work)
    thread.join()
    assert ledger.mark() == mark
    for descriptor in (told, tell):
        os.close(descriptor)


def test_a_fork_waits_for_none_who_waits_for_it(ledger: SQLiteLedger) -> None:
    """A thread that wants the mark must not keep one from committing that the fork waits for."""
    stop = threading.Event()

    def storm(work: Callable[[], object]) -> None:
        while not stop.is_set():
            work()

    works: list[Callable[[], object]] = [ledger.mark, lambda: ledger.append("note")]
    threads = [threading.Thread(target=storm, args=(work,)) for work in 4 * works]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            # One that gave up waiting would leave the child without a ledger.
            assert in_a_child(lambda: ledger.mark() > 0 and ledger.append("note") > 0)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_what_was_found_under_a_mark_is_checked_again_at_the_commit(
    ledger: SQLiteLedger, tmp_path: Path
) -> None:
    """An event that is appended under a mark, after others have written."""
    looked = list[int]()

    def look() -> list[int]:
        ledger.append("note", mark=mark, check=lambda reads: looked.append(reads.head().seq))
        return looked

    mark = ledger.mark()
    assert look() == []
    assert look() == []
    by_another_object(ledger, tmp_path)
    assert look() == [3]  # what the others recorded is there to be seen
    assert look() == [3, 4]
    mark = ledger.mark()
    assert look() == [3, 4]

    def refuse(_: object) -> None:
        raise AlreadyRecorded("so it says")

    write(ledger)
    with pytest.raises(AlreadyRecorded, match="so it says"):
        ledger.append("note", mark=mark, check=refuse)
    assert ledger.verify().seq == 7


class Storm:
    """Threads that write and look; whoever looks knows what was recorded before."""

    def __init__(self, folder: Path, ledger: SQLiteLedger) -> None:
        self.folder, self.ledger = folder, ledger
        self.recorded = 0
        self.missed: list[tuple[int, int]] = []

    def look(self, stop: threading.Event) -> None:
        mark, last = -1, 0
        while not stop.is_set():
            told = self.recorded
            if (now := self.ledger.mark()) != mark:
                found = self.ledger.last("off")
                mark, last = now, 0 if found is None else found.seq
            if told > last:
                self.missed.append((told, last))

    def others(self) -> None:
        with SQLiteLedger(self.folder) as other:
            self.recorded = max(self.recorded, other.append("off"))

    def alone(self) -> None:
        with self.ledger.transaction() as transaction:
            number = transaction.append("off").seq
        self.recorded = max(self.recorded, number)

    def own(self) -> None:
        self.ledger.append("note")


@pytest.mark.soak
def test_no_mark_misses_anything_in_a_storm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits that fail before and after they are durable, forks, other objects that come and
    go, transactions."""
    chance, commit = random.Random(7), connections._commit

    def flaky(connection: sqlite3.Connection) -> None:
        fate = chance.random()
        if fate > 0.1:
            commit(connection)
        if not 0.1 < fate < 0.9:
            raise sqlite3.OperationalError("the disk failed")

    monkeypatch.setattr(connections, "_commit", flaky)
    with SQLiteLedger(tmp_path) as ledger:
        storm, stop = Storm(tmp_path, ledger), threading.Event()

        def write(work: Callable[[], None]) -> None:
            while not stop.is_set():
                with suppress(LedgerError):
                    work()

        looking = [threading.Thread(target=storm.look, args=(stop,)) for _ in range(3)]
        works = [storm.others, storm.alone, storm.own, storm.own, storm.own]
        writing = [threading.Thread(target=write, args=(work,)) for work in works]
        for thread in looking + writing:
            thread.start()
        for _ in range(200):
            assert in_a_child(lambda: ledger.mark() > 0)
            stop.wait(0.05)
        stop.set()
        for thread in looking + writing:
            thread.join()
        assert storm.missed == []
        assert ledger.verify().seq > 100
