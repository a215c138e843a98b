"""Holds: files that are taken away, and files that would stay behind."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from interlace.core.errors import LedgerError
from interlace.ledger import SQLiteLedger
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
