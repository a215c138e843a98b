"""Holds: files that are taken away, and files that would stay behind."""

from __future__ import annotations

import contextlib
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest

from interlace.core.errors import LedgerError
from interlace.ledger import SQLiteLedger, locks
from interlace.ledger.holds import _KEPT
from tests.contracts import ledgers

#: What a session and its answers must carry.
OF_S: dict[str, Any] = {"dataset": "liver", "account": "ada", "session": "s"}


def test_a_hold_whose_file_was_taken_away_records_no_answer(tmp_path: Path) -> None:
    """Between draw and commit another process could have entered the same session."""
    with SQLiteLedger(tmp_path) as ledger, SQLiteLedger(tmp_path) as other:
        with ledger.acquire("s"):
            next((tmp_path / "locks").iterdir()).unlink()
            with other.acquire("s"):
                with (
                    pytest.raises(LedgerError, match="was taken away"),
                    ledger.transaction() as transaction,
                ):
                    transaction.append("answer", **OF_S, round=1)
                with other.transaction() as transaction:
                    transaction.append("answer", **OF_S, round=1)
                assert len(list((tmp_path / "locks").iterdir())) == 1
        with ledger.acquire("s"), ledger.transaction() as transaction:
            transaction.append("answer", **OF_S, round=2)
        assert ledger.verify().seq == 2


def test_a_hold_that_lost_its_file_leaves_the_next_ones_alone(tmp_path: Path) -> None:
    with SQLiteLedger(tmp_path) as ledger, SQLiteLedger(tmp_path) as other:
        first = ledger.acquire("s")
        with contextlib.ExitStack() as stack:
            with first:
                next((tmp_path / "locks").iterdir()).unlink()
                stack.enter_context(other.acquire("s"))
            assert len(list((tmp_path / "locks").iterdir())) == 1  # the other's


def test_few_files_stay_open_and_none_behind(tmp_path: Path) -> None:
    folder = tmp_path / "locks"
    with SQLiteLedger(tmp_path) as ledger:
        for number in range(_KEPT + 20):
            with ledger.acquire(f"../{number}\0/\n"):
                pass
        assert len(list(folder.iterdir())) == _KEPT
        assert ledger._names._places == {}
        with ledger.acquire("held"):
            with SQLiteLedger(tmp_path):  # as another process would
                assert len(list(folder.iterdir())) == 1
            with pytest.raises(LedgerError, match="already"), ledger.acquire("held"):
                pass
        with ledger.acquire("../0\0/\n"):  # whose file is gone
            assert len(list(folder.iterdir())) == 2
    assert list(folder.iterdir()) == []


def test_what_killed_processes_left_is_taken_away(tmp_path: Path) -> None:
    with (
        SQLiteLedger(tmp_path) as ledger,
        ledgers.process("sqlite", tmp_path, "hold", "s") as child,
    ):
        child.go()
        assert [child.line() for _ in range(3)] == ["ready", "asks", "held"]
        child.kill()
        assert len(list((tmp_path / "locks").iterdir())) == 1
        with ledger.acquire("s"):
            pass
        SQLiteLedger(tmp_path).close()
        assert list((tmp_path / "locks").iterdir()) == []


def test_a_file_that_was_let_go_meanwhile_is_not_held(tmp_path: Path) -> None:
    """As the thread of the commits may find, of a thread that was interrupted: no error, which
    would end what is committed with it."""
    path = str(tmp_path / "lock")
    descriptor = locks.locked(path)
    assert locks.is_still(path, descriptor)
    locks.drop(descriptor)
    assert not locks.is_still(path, descriptor)


def test_the_collector_may_drop_files_while_one_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that nobody has any more is found by the collector, at any moment."""
    descriptors, opened = locks._descriptors, os.open
    with tempfile.TemporaryDirectory() as folder:
        first = descriptors.take(f"{folder}/first")

        def collect(path: str, flags: int, mode: int) -> int:
            descriptors.drop(first)
            return opened(path, flags, mode)

        taken = list[int]()
        with monkeypatch.context() as patch:
            patch.setattr(os, "open", collect)
            thread = threading.Thread(
                target=lambda: taken.append(descriptors.take(f"{folder}/second")), daemon=True
            )
            thread.start()
            thread.join(20)
        assert len(taken) == 1
        assert descriptors.file(first) is None or first == taken[0]
        descriptors.drop(taken[0])
