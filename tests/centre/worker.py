"""What the processes of the tests do with one centre: work, die, race.

Each function runs in a process of its own (``start``), forked from a server that has no
threads and has imported everything, so that a start takes milliseconds.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import threading
import traceback
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import interlace as il
from interlace.centre import Account, Answer, Centre, Session
from tests.centre.support import ALL_SQL, WOMEN_SQL, people

m = il.mechanisms
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["tests.centre.worker", "opendp.prelude"])
PATIENCE = 60  # seconds

MECHANISMS: dict[str, Any] = {
    "laplace": m.Laplace(epsilon=0.1, answers=40),
    "gaussian": m.Gaussian(rho=0.01, answers=40),
    "sparse": m.SparseVector(epsilon=2, cutoff=8),
    "guess": m.GuessAndCheck(epsilon=0.2, tolerance=30, cutoff=8),
}
ARGUMENTS: dict[str, dict[str, int]] = {
    "laplace": {},
    "gaussian": {},
    "sparse": {"at_least": 260},
    "guess": {"guess": 250},
}


def start(work: Callable[..., object], *arguments: object) -> BaseProcess:
    """Start a process that does this work; its exit code is 0 if that raised nothing."""
    # The server has the environment of its own start.
    process = SERVER.Process(target=_start, args=(os.environ["XDG_STATE_HOME"], work, arguments))
    process.start()
    return process


def _start(state: str, work: Callable[..., object], arguments: tuple[object, ...]) -> None:
    os.environ["XDG_STATE_HOME"] = state
    work(*arguments)


def ended(process: BaseProcess) -> int | None:
    """The exit code of a process, once it has ended; None if it would not."""
    process.join(PATIENCE)
    if process.exitcode is None:
        process.kill()
        process.join()
        return None
    return process.exitcode


def opened(centre: Centre) -> dict[str, Session]:
    """The account ada's session of each mechanism, opened if need be."""
    ada = centre.account("ada")
    found = {session.mechanism: session for session in ada.sessions()}
    return {
        name: found.get(mechanism) or ada.open(mechanism, "people")
        for name, mechanism in MECHANISMS.items()
    }


def acknowledge(side: Path, session: Session, answer: Answer, key: str | None) -> None:
    """Note, durably, that this answer was received (see tests/checker.py)."""
    received = {"session": session.id, "round": answer.round, "key": key}
    line = json.dumps(received | {"sql": answer.sql, "value": str(answer.value)}) + "\n"
    with side.open("a", encoding="utf-8") as notes:
        notes.write(line)
        notes.flush()
        os.fsync(notes.fileno())


def ask(session: Session, mechanism: str, sql: str, key: str | None) -> Answer:
    """Ask with the arguments that the mechanism takes."""
    arguments: dict[str, Any] = {**ARGUMENTS[mechanism]}
    return session.ask(sql, key=key, **arguments)


def work(centre: Centre, side: Path) -> None:
    """Ask every mechanism a little, with and without keys, and acknowledge each answer."""
    for name, session in opened(centre).items():
        for sql, key in ((WOMEN_SQL, None), (ALL_SQL, f"{name}-{session.left}")):
            acknowledge(side, session, ask(session, name, sql, key), key)


def register(centre: Centre) -> None:
    """Register another dataset."""
    ages = {"age": il.Integer(0, 120)}
    centre.register(people(), name="more", unit="id", columns=ages)


def again(centre: Centre) -> None:
    """Register the people a year later, as a new version of the same dataset."""
    older = people().assign(age=lambda frame: frame["age"] + 1)
    centre.register(older, name="people", unit="id", columns={"age": il.Integer(0, 120)}, version=2)


def plan(account: Account) -> None:
    """Open two sessions as one plan."""
    account.plan([m.Laplace(epsilon=0.05), m.SparseVector(epsilon=0.05)], "people")


def close(account: Account) -> None:
    """Close the account's only session, opened if need be."""
    found = account.sessions() or [account.open(m.Laplace(epsilon=0.05), "people")]
    found[0].close()


def _keyed(mechanism: str) -> Callable[[Centre], object]:
    return lambda centre: ask(opened(centre)[mechanism], mechanism, ALL_SQL, "killed")


DEEDS: dict[str, Callable[[Centre], object]] = {
    "register": register,
    "again": again,
    "account": lambda centre: centre.account("eve", quota=il.PureDP(1)),
    "open": lambda centre: centre.account("ada").open(m.Laplace(epsilon=0.05), "people"),
    "plan": lambda centre: plan(centre.account("ada")),
    "close": lambda centre: close(centre.account("ben")),
    "off": lambda centre: centre.account("ben").switch_off(),
    **{mechanism: _keyed(mechanism) for mechanism in MECHANISMS},
}


def deed_at(folder: Path, side: Path, deed: str, fault: str) -> None:
    """Work for a while, then do one thing with a fault waiting in it."""
    with il.open(folder) as centre:
        if deed != "account":  # which must come before all answers
            work(centre, side)
        os.environ["INTERLACE_FAULT"] = fault
        DEEDS[deed](centre)


def toil(folder: Path, side: Path, sessions: list[str]) -> None:
    """Ask these sessions, in turn and without end, and acknowledge each answer."""
    with il.open(folder) as centre:
        laplace, guess = map(centre.session, sessions)
        while True:
            acknowledge(side, laplace, laplace.ask(WOMEN_SQL), None)
            acknowledge(side, guess, guess.ask(ALL_SQL, guess=400), None)


def race(
    folder: Path, out: Path, barrier: Barrier, threads: int, what: str, session: str | None
) -> None:
    """Race in so many threads, all behind one barrier, until nothing is left; write down what
    was got, one list a thread, and fail for any error but the one that ends the race."""
    got: list[list[Any]] = [[] for _ in range(threads)]
    failures: list[str] = []
    with il.open(folder) as centre:

        def run(mine: list[Any]) -> None:
            barrier.wait(PATIENCE)
            try:
                RACES[what](centre, session, mine)
            except Exception:  # noqa: BLE001  shown below
                failures.append(traceback.format_exc())

        runners = [threading.Thread(target=run, args=(mine,)) for mine in got]
        for runner in runners:
            runner.start()
        for runner in runners:
            runner.join()
    assert failures == []
    out.write_text(json.dumps(got), encoding="utf-8")


def _budget(centre: Centre, _: str | None, mine: list[Any]) -> None:
    account = centre.account("ada")
    with contextlib.suppress(il.BudgetExceeded):
        mine.extend(account.open(m.Laplace(epsilon=0.05), "people").id for _ in range(4))


def _session(centre: Centre, session: str | None, mine: list[Any]) -> None:
    handle = centre.session(str(session))
    with contextlib.suppress(il.SessionHalted):
        while True:
            mine.append(handle.ask(ALL_SQL).round)


def _key(centre: Centre, session: str | None, mine: list[Any]) -> None:
    answer = centre.session(str(session)).ask(ALL_SQL, key="one")
    mine.append([answer.round, repr(answer)])


RACES: dict[str, Callable[[Centre, str | None, list[Any]], None]] = {
    "budget": _budget,
    "session": _session,
    "key": _key,
}
