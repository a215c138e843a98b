"""Every way in which a read can fail after it began looks the same, and comes in bounded time."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from interlace.core.errors import EngineError, ParameterError
from interlace.engines.base import Snapshot, failure
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.duckdb.register import register
from interlace.query.columns import Integer
from interlace.query.parse import parse
from interlace.query.rewrite import Statement
from interlace.query.schema import Dataset, Table

VISITS = Table("visits", {"cost": Integer(0, 999)}, rows_per_unit=3)
PEOPLE = Table("people", {"age": Integer(0, 120)})
CLINIC = Dataset("clinic", "id", (VISITS, PEOPLE))
UNITS = 100_000
TOTAL = parse("SELECT SUM(cost) FROM visits", CLINIC)
TINY = parse("SELECT COUNT(*) FROM people", CLINIC)
#: Takes a minute, and little memory.
ENDLESS = "SELECT count(*) FROM range(1000000) a, range(100000) b WHERE a.range + b.range = 17"


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    visits = pd.DataFrame({"id": range(UNITS), "cost": [n % 1000 for n in range(UNITS)]})
    people = pd.DataFrame({"id": [1], "age": [20]})
    folder = tmp_path_factory.mktemp("clinic")
    return register({"visits": visits, "people": people}, CLINIC, folder, bytes(16)).snapshot


@pytest.fixture
def engine(snapshot: Snapshot) -> Iterator[DuckDBEngine]:
    engine = DuckDBEngine(snapshot)
    yield engine
    engine.close()


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes every read take a minute, until the function is called."""
    monkeypatch.setattr(
        "interlace.engines.duckdb.engine.rewrite", lambda *_: [Statement(ENDLESS, (0,))]
    )
    return monkeypatch.undo


def _fails(engine: DuckDBEngine) -> None:
    began = time.monotonic()
    with pytest.raises(EngineError) as caught:
        engine.read(TOTAL)
    assert caught.value.args == failure().args
    assert vars(caught.value) == vars(failure())
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    assert time.monotonic() - began < 20  # a minute, had nothing ended it


@pytest.mark.parametrize("seconds", [1e-9, 0.1])
def test_a_read_that_takes_too_long_is_ended(
    seconds: float, snapshot: Snapshot, endless: Callable[[], None]
) -> None:
    before = set(threading.enumerate())
    engine = DuckDBEngine(snapshot, seconds=seconds)
    _fails(engine)
    _fails(engine)
    endless()
    assert set(threading.enumerate()) <= before  # nothing is left running
    engine.close()


def test_a_read_that_was_ended_harms_no_later_one(
    snapshot: Snapshot, endless: Callable[[], None]
) -> None:
    engine = DuckDBEngine(snapshot, seconds=3)
    _fails(engine)
    endless()
    assert engine.read(TINY) == (1,)
    engine.close()


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf")])
def test_a_time_that_is_none_is_refused(seconds: float, snapshot: Snapshot) -> None:
    with pytest.raises(ParameterError, match="seconds"):
        DuckDBEngine(snapshot, seconds=seconds)


def test_too_little_memory_is_a_failure_as_any_other(snapshot: Snapshot) -> None:
    engine = DuckDBEngine(snapshot, memory="2MB", threads=1)
    _fails(engine)
    assert engine.read(TINY) == (1,)
    engine.close()


def _copied(snapshot: Snapshot, folder: Path) -> Snapshot:
    path = folder / snapshot.path.name
    path.write_bytes(snapshot.path.read_bytes())
    return replace(snapshot, path=path)


def test_a_file_that_is_cut_off_below_is_a_failure_as_any_other(
    snapshot: Snapshot, tmp_path: Path
) -> None:
    copied = _copied(snapshot, tmp_path)
    engine = DuckDBEngine(copied)
    assert engine.read(TINY) == (1,)
    os.truncate(copied.path, 0)
    _fails(engine)
    engine.close()


def test_a_file_that_vanishes_while_it_is_open_is_read_on(
    snapshot: Snapshot, tmp_path: Path
) -> None:
    copied = _copied(snapshot, tmp_path)
    engine = DuckDBEngine(copied)
    assert engine.read(TINY) == (1,)
    copied.path.unlink()
    assert engine.read(TOTAL) == (sum(n % 1000 for n in range(UNITS)),)
    engine.close()


def test_an_interrupted_statement_is_a_failure_as_any_other(
    engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert engine.read(TINY) == (1,)  # which opens it
    connection = engine._connection

    class Interrupting:
        def cursor(self) -> duckdb.DuckDBPyConnection:
            assert connection is not None
            cursor = connection.cursor()
            timer = threading.Timer(0.2, cursor.interrupt)
            timer.start()
            return cursor

    monkeypatch.setattr(
        "interlace.engines.duckdb.engine.rewrite", lambda *_: [Statement(ENDLESS, (0,))]
    )
    monkeypatch.setattr(engine, "_connection", Interrupting())
    engine._idle.pop().end()
    _fails(engine)


def test_an_interrupt_from_the_keyboard_stays_one(
    engine: DuckDBEngine, endless: Callable[[], None]
) -> None:
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.read(TOTAL)
    assert time.monotonic() - began < 20
    endless()
    assert engine.read(TINY) == (1,)


def test_a_thread_that_cannot_be_had_is_a_failure_as_any_other(
    engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    _fails(engine)
