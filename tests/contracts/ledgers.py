"""The ledgers that the contract is tested on, and other processes that use them.

Run as a program it is such a process: it opens a ledger, does one thing, and tells on its
output how far it is.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from interlace.ledger import Ledger, SQLiteLedger

#: How to open each ledger; the path is a directory of the test's own.
OPEN: dict[str, Callable[[Path], Ledger]] = {"sqlite": SQLiteLedger}


def say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def wait_for_a_line() -> None:
    sys.stdin.readline()


def hold(ledger: Ledger, session: str) -> None:
    say("asks")
    with ledger.acquire(session):
        say("held")
        wait_for_a_line()
    say("released")


def half(ledger: Ledger, _: str) -> None:
    """Append and never commit."""
    with ledger.transaction() as transaction:
        transaction.append(
            "session", dataset="liver", account="ada", session="half", secret=b"threshold"
        )
        say("appended")
        time.sleep(600)


def stream(ledger: Ledger, _: str) -> None:
    """Commit for ever, and tell each event once it is committed."""
    while True:
        with ledger.transaction() as transaction:
            event = transaction.append("note")
        say(event.seq)


def race(ledger: Ledger, count: str) -> None:
    """Take 0.75 of a budget of 1, if nobody has; then append."""
    with ledger.transaction() as transaction:
        if transaction.last("spent") is None:
            transaction.append("spent", body={"rho": "3/4"})
            say("spent")
    for _ in range(int(count)):
        with ledger.transaction() as transaction:
            transaction.append("note", body={"by": "a process"})
    say("done")


ACTIONS = {action.__name__: action for action in (hold, half, stream, race)}


@contextlib.contextmanager
def process(kind: str, place: Path, action: str, value: str = "") -> Iterator[Process]:
    """Another process that is ready for one of the actions; killed at the end if it runs."""
    command = [sys.executable, __file__, kind, str(place), action, value]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe) as child:
        try:
            yield Process(child)
        finally:
            child.kill()


class Process:
    def __init__(self, child: subprocess.Popen[str]) -> None:
        self._child = child

    def line(self) -> str:
        """The next word that it says; empty once it has ended."""
        assert self._child.stdout is not None
        return self._child.stdout.readline().strip()

    def go(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write("go\n")
        self._child.stdin.flush()

    def kill(self) -> None:
        """As by ``kill -9``."""
        self._child.kill()
        self._child.wait()

    def rest(self) -> list[str]:
        """What it still says until it ends."""
        assert self._child.stdout is not None
        return self._child.stdout.read().split()


def main(kind: str, place: str, action: str, value: str) -> None:
    say("ready")
    wait_for_a_line()
    ledger = OPEN[kind](Path(place))
    ACTIONS[action](ledger, value)
    ledger.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
