"""What every ledger must do under threads, processes, forks and ``kill -9``."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from interlace.core.errors import LedgerError
from interlace.ledger import Ledger
from tests.contracts.ledgers import OPEN, Process, process


@pytest.fixture(params=sorted(OPEN))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def ledger(kind: str, tmp_path: Path) -> Iterator[Ledger]:
    opened = OPEN[kind](tmp_path)
    yield opened
    opened.close()


def at_once(count: int, work: Callable[[int], None]) -> None:
    """Run ``work`` in that many threads behind a barrier; raise what any of them raised."""
    barrier = threading.Barrier(count)
    failures: list[BaseException] = []

    def run(number: int) -> None:
        barrier.wait()
        try:
            work(number)
        except BaseException as error:  # noqa: BLE001 - raised again below
            failures.append(error)

    threads = [threading.Thread(target=run, args=(number,), daemon=True) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(25)
        assert not thread.is_alive()
    if failures:
        raise failures[0]


@contextlib.contextmanager
def started(kind: str, place: Path, action: str, value: str = "") -> Iterator[Process]:
    """A process that has begun to open the ledger."""
    with process(kind, place, action, value) as child:
        assert child.line() == "ready"
        child.go()
        yield child


def test_fifty_threads_append_without_gaps(ledger: Ledger) -> None:
    def work(number: int) -> None:
        for _ in range(10):
            with ledger.transaction() as transaction:
                transaction.append("note", account=str(number))

    at_once(50, work)
    assert ledger.verify().seq == 500
    assert all(sum(1 for _ in ledger.events("note", account=str(n))) == 10 for n in range(50))


def test_threads_read_while_others_write(ledger: Ledger) -> None:
    def work(number: int) -> None:
        for _ in range(20):
            if number % 2:
                with ledger.transaction() as transaction:
                    transaction.append("note")
            else:
                head = ledger.head()
                assert sum(1 for _ in ledger.events("note")) >= head.seq

    at_once(16, work)
    assert ledger.verify().seq == 160


def test_only_one_of_fifty_threads_gets_what_fits_once(ledger: Ledger) -> None:
    got: list[int] = []

    def work(number: int) -> None:
        with ledger.transaction() as transaction:
            if transaction.last("spent") is None:
                transaction.append("spent", body={"rho": "3/4", "of": "1"})
                got.append(number)

    at_once(50, work)
    assert len(got) == 1
    assert ledger.verify().seq == 1


def test_eight_processes_at_once(kind: str, tmp_path: Path) -> None:
    """They make one ledger, one of them gets what fits once, and all append without gaps."""
    with contextlib.ExitStack() as stack:
        children = [stack.enter_context(process(kind, tmp_path, "race", "15")) for _ in range(8)]
        for child in children:
            assert child.line() == "ready"
        for child in children:
            child.go()
        words = [word for child in children for word in child.rest()]
    assert sorted(words) == ["done"] * 8 + ["spent"]
    ledger = OPEN[kind](tmp_path)
    assert ledger.verify().seq == 121
    assert [event.seq for event in ledger.events("spent")] == [1]
    ledger.close()


@pytest.mark.parametrize("objects", [1, 8])
def test_a_session_is_held_by_one_at_a_time(kind: str, tmp_path: Path, objects: int) -> None:
    """Among the threads of one ledger object, and among objects as among processes."""
    ledgers = [OPEN[kind](tmp_path) for _ in range(objects)]
    inside: list[int] = []
    most = [0]

    def work(number: int) -> None:
        for _ in range(20):
            with ledgers[number % objects].acquire("s"):
                inside.append(number)
                most[0] = max(most[0], len(inside))
                time.sleep(0.0002)
                inside.remove(number)

    at_once(8, work)
    assert most == [1]
    for ledger in ledgers:
        ledger.close()


def test_different_sessions_do_not_block_one_another(ledger: Ledger) -> None:
    both = threading.Barrier(2, timeout=20)

    def work(number: int) -> None:
        with ledger.acquire(f"s{number}"):
            both.wait()  # passes only if both are inside

    at_once(2, work)


def test_two_ledger_objects_exclude_each_other(kind: str, ledger: Ledger, tmp_path: Path) -> None:
    other = OPEN[kind](tmp_path)
    order: list[str] = []
    with ledger.acquire("s"):

        def late() -> None:
            with other.acquire("s"):
                order.append("second")

        thread = threading.Thread(target=late)
        thread.start()
        time.sleep(0.05)
        order.append("first")
    thread.join(20)
    other.close()
    assert order == ["first", "second"]


def test_a_session_is_held_against_other_processes_and_freed_by_kill(
    kind: str, ledger: Ledger, tmp_path: Path
) -> None:
    with started(kind, tmp_path, "hold", "s") as holder:
        assert [holder.line(), holder.line()] == ["asks", "held"]
        with started(kind, tmp_path, "hold", "s") as waiter:
            assert waiter.line() == "asks"
            waiting = Listener(waiter)
            assert not waiting.heard("held", 0.3)
            holder.kill()
            assert waiting.heard("held", 20)
            waiter.kill()
    with ledger.acquire("s"):
        assert ledger.verify().seq == 0


class Listener:
    """Waits in a thread for the next word of a process."""

    def __init__(self, child: Process) -> None:
        self._said: list[str] = []
        self._thread = threading.Thread(target=lambda: self._said.append(child.line()))
        self._thread.start()

    def heard(self, word: str, seconds: float) -> bool:
        self._thread.join(seconds)
        return self._said == [word]


def test_kill_before_the_commit_leaves_no_event(kind: str, ledger: Ledger, tmp_path: Path) -> None:
    with ledger.transaction() as transaction:
        before = transaction.append("note")
    with started(kind, tmp_path, "half") as child:
        assert child.line() == "appended"
        child.kill()
    assert ledger.last("session") is None
    assert ledger.verify().hash == before.hash
    with ledger.transaction() as transaction:
        assert transaction.append("note").seq == 2
    assert ledger.verify().seq == 2


@pytest.mark.parametrize("commits", [1, 40])
def test_kill_between_commits_loses_no_event_that_was_told(
    kind: str, tmp_path: Path, commits: int
) -> None:
    with started(kind, tmp_path, "stream") as child:
        told = [int(child.line()) for _ in range(commits)]
        child.kill()
        told += [int(word) for word in child.rest()]
    ledger = OPEN[kind](tmp_path)
    assert told == list(range(1, len(told) + 1))
    assert ledger.verify().seq in {len(told), len(told) + 1}
    ledger.close()


def fork(work: Callable[[], None]) -> int:
    """Run ``work`` in a forked child, which ends well if it does not raise."""
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            work()
            code = 0
        os._exit(code)
    return child


def ended_well(child: int) -> bool:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def append_some(ledger: Ledger, count: int = 20) -> None:
    for _ in range(count):
        with ledger.transaction() as transaction:
            transaction.append("note")


def test_parent_and_child_both_use_the_ledger_after_a_fork(ledger: Ledger) -> None:
    append_some(ledger)

    def work() -> None:
        assert ledger.verify().seq == 20
        append_some(ledger)
        with ledger.acquire("s"):
            append_some(ledger, 1)

    assert ended_well(fork(work))
    assert ledger.verify().seq == 41
    append_some(ledger)
    assert ledger.verify().seq == 61


def test_a_child_goes_on_when_its_parent_closes(kind: str, tmp_path: Path) -> None:
    """With an inherited connection it would write into a log that its parent has deleted."""
    ledger = OPEN[kind](tmp_path)
    append_some(ledger, 2)
    told, tell = os.pipe()
    hear, go = os.pipe()

    def work() -> None:
        append_some(ledger, 3)
        os.write(tell, b".")
        os.read(hear, 1)
        append_some(ledger, 4)

    child = fork(work)
    os.read(told, 1)
    ledger.close()
    os.write(go, b".")
    assert ended_well(child)
    for descriptor in (told, tell, hear, go):
        os.close(descriptor)
    again = OPEN[kind](tmp_path)
    assert again.verify().seq == 9
    again.close()


def test_a_child_keeps_nothing_that_its_parent_held(ledger: Ledger) -> None:
    """A long-lived child must not keep what its parent held while forking."""
    hold_on, let_go = os.pipe()
    with ledger.acquire("s"), ledger.transaction():

        def linger() -> None:
            os.close(let_go)
            os.read(hold_on, 1)

        child = fork(linger)
    os.close(hold_on)

    def again(_: int) -> None:
        with ledger.acquire("s"), ledger.transaction() as transaction:
            transaction.append("note")

    try:
        at_once(1, again)
    finally:
        os.close(let_go)
        assert ended_well(child)


def test_a_child_does_not_enter_what_its_parent_holds(ledger: Ledger) -> None:
    with ledger.acquire("s"):

        def enter() -> None:
            with ledger.acquire("s"):
                pass

        child = fork(enter)
        time.sleep(0.2)
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
    assert ended_well(child)


def test_a_fork_inside_a_transaction_leaves_it_to_the_parent(ledger: Ledger) -> None:
    def refused() -> None:
        with pytest.raises(LedgerError, match="forked inside a transaction"):
            ledger.head()

    with ledger.transaction() as transaction:
        transaction.append("note")
        assert ended_well(fork(refused))
        transaction.append("note")
    assert ledger.verify().seq == 2


def test_a_child_that_leaves_its_parents_transaction_commits_nothing(ledger: Ledger) -> None:
    def leave_in_the_child() -> None:
        with ledger.transaction() as transaction:
            transaction.append("note")
            child = os.fork()
            if child:
                assert ended_well(child)
                raise KeyError("the parent takes it back")

    parent = os.getpid()
    try:
        with contextlib.suppress(KeyError):
            leave_in_the_child()
    finally:
        if os.getpid() != parent:
            os._exit(0)
    assert ledger.verify().seq == 0
    append_some(ledger, 1)
    assert ledger.verify().seq == 1


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # it is the point
def test_a_fork_waits_for_the_transactions_of_other_threads(ledger: Ledger) -> None:
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            append_some(ledger, 1)

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    ends = [ended_well(fork(lambda: append_some(ledger, 3))) for _ in range(10)]
    stop.set()
    for writer in writers:
        writer.join(20)
    assert all(ends)
    assert ledger.verify().seq >= 30


@pytest.mark.soak
def test_processes_killed_at_any_moment_leave_an_intact_ledger(kind: str, tmp_path: Path) -> None:
    """Four writers at a time, a dozen times, each killed after a different number of commits."""
    told: set[int] = set()
    for number in range(12):
        with contextlib.ExitStack() as stack:
            children = [stack.enter_context(started(kind, tmp_path, "stream")) for _ in range(4)]
            for place, child in enumerate(children):
                told |= {int(child.line()) for _ in range((number * 4 + place) % 23)}
                child.kill()
                told |= {int(word) for word in child.rest()}
        ledger = OPEN[kind](tmp_path)
        assert told <= {event.seq for event in ledger.events("note")}
        assert ledger.verify().seq >= len(told)
        ledger.close()
