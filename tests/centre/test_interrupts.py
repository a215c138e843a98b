"""Ctrl-C at any moment leaves nothing half open, no lock held, and work goes on."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import interlace as il
from interlace.centre import Centre, Session, faults
from interlace.centre.interrupts import interruptible, uninterrupted
from interlace.engines.duckdb.engine import DuckDBEngine
from tests.centre import worker
from tests.centre.support import ALL_SQL, clinic
from tests.centre.worker import DEEDS, PATIENCE, ended, start
from tests.checker import check

m = il.mechanisms
_PASSING = {
    "register": ["register", "again"],
    "account": ["account"],
    "open": ["open", "plan"],
    "ask": ["laplace", "guess"],
    "close": ["close", "off"],
}
CASES = [
    (deed, point)
    for point in faults.POINTS
    for deed in _PASSING.get(point.split(".")[0], [])
    if point != "account.after-generation"
]


def half_open(folder: Path) -> list[int]:
    """The charges that have not all of their sessions, read by themselves."""
    place = f"{(folder / 'ledger.sqlite3').as_uri()}?mode=ro"
    with closing(sqlite3.connect(place, uri=True)) as database:
        charged = database.execute(
            "SELECT seq, json_array_length(body, '$.members') FROM events WHERE kind = 'charge'"
        ).fetchall()
        opened = Counter(
            charge
            for (charge,) in database.execute(
                "SELECT json_extract(body, '$.charged') FROM events WHERE kind = 'session'"
            )
        )
    return [seq for seq, members in charged if opened[seq] != members]


def _another_process(folder: Path) -> None:
    """Everything that a lock left behind would hinder."""
    with il.open(folder) as centre:
        ada = centre.account("ada")
        for session in ada.sessions():
            if session.left:
                worker.ask(session, _name(session), ALL_SQL, None)
        worker.plan(ada)


def _name(session: Session) -> str:
    kinds = {type(value): name for name, value in worker.MECHANISMS.items()}
    return kinds[type(session.mechanism)]


@pytest.mark.parametrize(("deed", "point"), CASES)
def test_interrupted_at_a_point(
    tmp_path: Path, deed: str, point: faults.Point, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, side = tmp_path / "clinic", tmp_path / "acknowledged"
    with clinic(folder) as centre:
        centre.account("ada", quota=il.ZCDP(20))
        centre.account("ben", quota=il.ApproxDP(1, 1e-6))
        if deed != "account":
            worker.work(centre, side)
        monkeypatch.setenv("INTERLACE_FAULT", f"{point}:interrupt")
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            DEEDS[deed](centre)
        assert time.monotonic() - began < 8  # seconds: nothing here waits for its time limit
        assert "INTERLACE_FAULT" not in os.environ
        assert half_open(folder) == []
        assert check(folder, side) == []
        # An opening is done before Ctrl-C takes effect: its sessions are there to be found.
        more = {"open": 1, "plan": 2}.get(deed, 0)
        if deed != "account":
            assert len(centre.account("ada").sessions()) == len(worker.MECHANISMS) + more
        with contextlib.suppress(il.NameTaken):
            DEEDS[deed](centre)
        worker.work(centre, side)
        assert ended(start(_another_process, folder)) == 0
        centre.audit()
    assert check(folder, side) == []


def _answer(centre: Centre) -> object:
    return centre.account("ben").sessions()[0].ask(ALL_SQL)


def _stormed(folder: Path, shots: int, deeds: list[str]) -> None:
    """Do this again and again, while Ctrl-C comes at random moments; then go on."""
    what = [_answer if deed == "answer" else DEEDS[deed] for deed in deeds]
    chance, armed, main = random.Random(shots), threading.Event(), threading.get_ident()
    attempts = interrupted = 0

    def shoot() -> None:
        for _ in range(shots):
            armed.wait()
            time.sleep(chance.random() / 200)
            if armed.is_set():
                armed.clear()
                signal.pthread_kill(main, signal.SIGINT)

    shooter = threading.Thread(target=shoot, daemon=True)
    with il.open(folder) as centre:
        ada = centre.account("ada")
        shooter.start()
        while shooter.is_alive():
            with contextlib.suppress(KeyboardInterrupt):
                armed.set()
                for _ in range(20):
                    attempts += 1
                    what[attempts % len(what)](centre)
                armed.clear()
                time.sleep(0.05)  # for one that is on its way
                continue
            interrupted += 1
        assert interrupted > shots / 2
        ada.open(m.Laplace(epsilon=0.05), "people").ask(ALL_SQL)


@pytest.mark.parametrize("shots", [80, pytest.param(400, marks=pytest.mark.soak)])
@pytest.mark.parametrize("deeds", [["open", "plan"], ["answer"]], ids=["opening", "asking"])
def test_interrupts_at_random_moments(tmp_path: Path, shots: int, deeds: list[str]) -> None:
    folder = tmp_path / "clinic"
    with clinic(folder) as centre:
        ada = centre.account("ada", quota=il.PureDP(10**6))
        centre.account("ben", quota=il.PureDP(1)).open(
            m.Laplace(scale=2**20, answers=2**20), "people"
        )
        assert ended(start(_stormed, folder, shots, deeds)) == 0
        assert half_open(folder) == []
        assert check(folder) == []
        ada.open(m.Laplace(epsilon=0.05), "people")
        _answer(centre)
        centre.audit()


def test_a_read_is_interrupted_at_once_and_nothing_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clinic(tmp_path / "clinic") as centre:
        ada = centre.account("ada", quota=il.PureDP(1))
        session = ada.open(m.Laplace(epsilon=0.1, answers=3), "people")

        def slow(*_: object) -> None:
            signal.raise_signal(signal.SIGINT)
            pytest.fail("the read goes on")

        with monkeypatch.context() as patch:
            patch.setattr(DuckDBEngine, "read", slow)
            with pytest.raises(KeyboardInterrupt):
                session.ask(ALL_SQL)
        assert session.history() == []
        assert session.ask(ALL_SQL).round == 1


# The block itself


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    usual = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is usual


def test_an_interrupt_waits_for_the_block_and_a_second_one_does_not() -> None:
    steps = []

    @uninterrupted()
    def block(interrupts: int) -> None:
        for number in range(interrupts):
            signal.raise_signal(signal.SIGINT)
            steps.append(number)

    block(0)
    for interrupts in (1, 2):
        with pytest.raises(KeyboardInterrupt):
            block(interrupts)
    assert steps == [0, 0]


def test_blocks_nest_and_an_error_of_the_block_is_not_lost() -> None:
    steps = []

    @uninterrupted()
    def block() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            steps.append("inner")
        steps.append("outer")
        raise il.NotFound("the block's own")

    with pytest.raises(KeyboardInterrupt) as caught:
        block()
    assert steps == ["inner", "outer"]
    assert isinstance(caught.value.__context__, il.NotFound)


def test_a_part_that_takes_long_is_interrupted_at_once() -> None:
    steps = []

    @uninterrupted()
    def block(early: int, late: int) -> None:
        with uninterrupted():
            for _ in range(early):
                signal.raise_signal(signal.SIGINT)
            try:
                with interruptible():
                    steps.append("long")
                    for _ in range(late):
                        signal.raise_signal(signal.SIGINT)
                    steps.append("done")
            finally:
                steps.append("tidy")
        steps.append("end")

    block(0, 0)
    assert steps == ["long", "done", "tidy", "end"]
    for presses, expected in (((1, 0), ["tidy"]), ((0, 1), ["long", "tidy"])):
        steps.clear()
        with pytest.raises(KeyboardInterrupt):
            block(*presses)
        assert steps == expected
    with interruptible():  # outside of a block it is nothing
        steps.append("free")
    assert steps[-1] == "free"


def test_other_threads_and_ignored_interrupts_are_left_alone() -> None:
    inside: list[object] = []

    def other() -> None:
        with uninterrupted():
            inside.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join(PATIENCE)
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with uninterrupted():
            inside.append(signal.getsignal(signal.SIGINT))
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, usual)
    assert inside == [usual, signal.SIG_IGN]
