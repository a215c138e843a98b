"""Kept readers: each serves one caller at a time, and none outlives whoever had it."""

from __future__ import annotations

import gc
import random
import threading
import time
from pathlib import Path

import duckdb
import pandas as pd
import pytest

from interlace.core.errors import EngineError
from interlace.engines.base import Snapshot
from interlace.engines.duckdb import reader
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.duckdb.reader import Reader
from interlace.engines.duckdb.register import register
from interlace.query.columns import Integer
from interlace.query.parse import parse
from interlace.query.schema import Dataset, Table

CLINIC = Dataset("clinic", "id", (Table("people", {"age": Integer(0, 120)}),))
PEOPLE = 60
#: How many people are younger, by what is asked.
PLANS = {
    parse(f"SELECT COUNT(*) FROM people WHERE age < {age}", CLINIC): age for age in range(PEOPLE)
}
PATIENCE = 20  # seconds
ENDLESS = "SELECT count(*) FROM range(1000000000000)"


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    people = pd.DataFrame({"id": range(PEOPLE), "age": range(PEOPLE)})
    return register({"people": people}, CLINIC, tmp_path, bytes(16)).snapshot


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "interlace read"]


def no_more_than(before: list[threading.Thread]) -> bool:
    """Whether the readers that came after ``before`` end."""
    gc.collect()
    for thread in threads():
        if thread not in before:
            thread.join(PATIENCE)
    return set(threads()) <= set(before)


def test_a_reader_that_nobody_has_ends() -> None:
    """As after an interrupt on the way to giving it back."""
    before = threads()
    with duckdb.connect() as connection:
        lost = Reader(connection.cursor())
        assert lost.fetch("SELECT 1", PATIENCE) == [(1,)]
        del lost
        assert no_more_than(before)


def test_an_engine_that_nobody_has_ends_its_readers(snapshot: Snapshot) -> None:
    before = threads()
    engine = DuckDBEngine(snapshot)
    plan, count = next(iter(PLANS.items()))
    assert engine.read(plan) == (count,)
    assert len(threads()) == len(before) + 1
    del engine
    assert no_more_than(before)


def test_a_reader_is_not_used_again_until_its_statement_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whatever ends the wait, an interrupt must not reach the next caller's statement."""
    monkeypatch.setattr(reader, "_PATIENCE", 0)  # so that the statement goes on
    with duckdb.connect() as connection:
        busy = Reader(connection.cursor())
        assert busy.usable
        assert busy.fetch("SELECT 1", PATIENCE) == [(1,)]
        assert busy.usable
        with pytest.raises(EngineError):
            busy.fetch(ENDLESS, 0.05)
        assert not busy.usable
        busy.cursor.interrupt()
        assert busy._job is not None
        assert busy._job.done.wait(PATIENCE)
        busy.end()


def test_reads_that_take_too_long_leave_others_alone(snapshot: Snapshot) -> None:
    before = threads()
    patient, hasty = DuckDBEngine(snapshot), DuckDBEngine(snapshot, seconds=1e-4)
    wrong, end = list[object](), time.monotonic() + 1

    def read(engine: DuckDBEngine, seed: int) -> None:
        chance = random.Random(seed)
        while time.monotonic() < end:
            plan, count = chance.choice(list(PLANS.items()))
            try:
                found = engine.read(plan)
                if found != (count,):
                    wrong.append(found)
            except EngineError as error:
                if engine is patient:
                    wrong.append(error)

    reading = [
        threading.Thread(target=read, args=(patient if seed % 2 else hasty, seed))
        for seed in range(6)
    ]
    for thread in reading:
        thread.start()
    for thread in reading:
        thread.join()
    assert wrong == []
    patient.close()
    hasty.close()
    assert no_more_than(before)
