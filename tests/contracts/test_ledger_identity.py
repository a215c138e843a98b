"""Which ledger it is, and its events by their numbers, whichever database is behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlace.ledger import Head
from tests.contracts.ledgers import OPEN

KINDS = pytest.mark.parametrize("kind", sorted(OPEN))


@KINDS
def test_every_ledger_has_an_id_of_its_own_and_keeps_it(kind: str, tmp_path: Path) -> None:
    first, second = (OPEN[kind](tmp_path / name) for name in "ab")
    again = OPEN[kind](tmp_path / "a")
    assert first.id == again.id != second.id
    for ledger in (first, second, again):
        ledger.close()


@KINDS
def test_an_event_is_found_by_its_number(kind: str, tmp_path: Path) -> None:
    ledger = OPEN[kind](tmp_path)
    with ledger.transaction() as transaction:
        events = [transaction.append("note", body={"number": n}) for n in range(1, 4)]
        assert transaction.at(3) == events[2]
        assert ledger.at(3) is None  # not committed yet
    assert [ledger.at(n) for n in range(5)] == [None, *events, None]
    ledger.close()


def test_a_head_is_written_as_it_is_kept() -> None:
    assert str(Head(12, "ab" * 32)) == "12:" + "ab" * 32
