"""A statement that hears no interrupt: its read fails in bounded time like any other, the engine
serves on and closes, and nothing of it is left once the statement has ended by itself.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from interlace.core.errors import EngineError
from interlace.engines.base import Snapshot, failure
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.duckdb.register import register
from interlace.query.columns import Integer
from interlace.query.parse import parse
from interlace.query.plan import Plan
from interlace.query.rewrite import Statement, rewrite
from interlace.query.schema import Dataset, Table

PEOPLE = Table("people", {"age": Integer(0, 120)})
CLINIC = Dataset("clinic", "id", (PEOPLE,))
ASKED = parse("SELECT SUM(age) FROM people", CLINIC)
OTHER = parse("SELECT COUNT(*) FROM people", CLINIC)
#: One call of a function, which DuckDB can end only when it is done. At every letter the search
#: runs to the end of the text: the square of its length in steps, and no memory.
DEAF = "SELECT length(regexp_replace(repeat('a', {}), 'a*?b|a', 'c', 'g'))"
#: The time that a read may take, and how long the statement takes by itself. Between the two lies
#: what the engine may wait for the interrupt to be heard.
SECONDS, LASTS = 1.0, 5.0


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    people = pd.DataFrame({"id": [1, 2, 3], "age": [20, 30, 40]})
    return register({"people": people}, CLINIC, tmp_path, bytes(16)).snapshot


@pytest.fixture
def deaf(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one plan runs a statement that is deaf for ``LASTS`` seconds on this machine."""
    with duckdb.connect() as connection:
        began = time.thread_time()  # at least so long it takes, however busy the machine is
        connection.execute(DEAF.format(10_000)).fetchall()
        took = time.thread_time() - began
    statement = DEAF.format(int(10_000 * (LASTS / took) ** 0.5))

    def either(plan: Plan, dialect: str, catalog: str) -> list[Statement]:
        return [Statement(statement, (0,))] if plan == ASKED else rewrite(plan, dialect, catalog)

    monkeypatch.setattr("interlace.engines.duckdb.engine.rewrite", either)


def _is_open(path: Path) -> bool:
    gc.collect()  # an error holds the frames that it went through, and the test's frame the error
    links = [link for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return path in {link.readlink() for link in links}


def _comes(wanted: Callable[[], bool]) -> bool:
    """Whether it comes to hold within a minute."""
    end = time.monotonic() + 60
    while not wanted() and time.monotonic() < end:
        time.sleep(0.05)
    return wanted()


def _fails(engine: DuckDBEngine) -> None:
    with pytest.raises(EngineError) as caught:
        engine.read(ASKED)
    assert caught.value.args == failure().args
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


@pytest.mark.usefixtures("deaf")
def test_a_deaf_statement_holds_up_nothing_but_its_own_thread(snapshot: Snapshot) -> None:
    before = threading.active_count()
    engine = DuckDBEngine(snapshot, seconds=SECONDS)
    assert engine.read(OTHER) == (3,)
    with ThreadPoolExecutor(1) as pool:
        failing = pool.submit(_fails, engine)
        began = time.monotonic()
        while not failing.done():  # the engine goes on serving
            assert engine.read(OTHER) == (3,)
            time.sleep(0.02)
        assert failing.result() is None
        took = time.monotonic() - began
    assert SECONDS < took < LASTS
    assert threading.active_count() > before  # it is still running
    assert engine.read(OTHER) == (3,)
    began = time.monotonic()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.read(OTHER)
    assert time.monotonic() - began < 1
    assert _is_open(snapshot.path)
    assert _comes(lambda: threading.active_count() <= before)
    assert _comes(lambda: not _is_open(snapshot.path))


@pytest.mark.soak
@pytest.mark.usefixtures("deaf")
def test_many_deaf_statements_one_upon_another(snapshot: Snapshot) -> None:
    before = threading.active_count()
    engine = DuckDBEngine(snapshot, seconds=SECONDS)
    for _ in range(3):
        with ThreadPoolExecutor(4) as pool:
            began = time.monotonic()
            for ended in [pool.submit(_fails, engine) for _ in range(4)]:
                ended.result()
            assert time.monotonic() - began < 2 * LASTS
        assert engine.read(OTHER) == (3,)
    engine.close()
    assert _comes(lambda: threading.active_count() <= before)
    assert _comes(lambda: not _is_open(snapshot.path))


def test_an_interrupt_from_the_keyboard_ends_the_statement_too(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    endless = "SELECT count(*) FROM range(1000000) a, range(100000) b WHERE a.range + b.range = 17"
    monkeypatch.setattr(
        "interlace.engines.duckdb.engine.rewrite", lambda *_: [Statement(endless, (0,))]
    )
    engine = DuckDBEngine(snapshot)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.read(ASKED)
    engine.close()
    began = time.monotonic()
    assert _comes(lambda: not _is_open(snapshot.path))  # it holds the file as long as it runs
    assert time.monotonic() - began < 20  # a minute, had nothing ended it


@pytest.mark.soak
@pytest.mark.usefixtures("deaf")
def test_an_interrupt_from_the_keyboard_does_not_wait_for_a_deaf_statement(
    snapshot: Snapshot,
) -> None:
    before = threading.active_count()
    engine = DuckDBEngine(snapshot, seconds=10 * LASTS)
    assert engine.read(OTHER) == (3,)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.read(ASKED)
    assert time.monotonic() - began < LASTS
    assert engine.read(OTHER) == (3,)
    engine.close()
    assert _comes(lambda: threading.active_count() <= before)
