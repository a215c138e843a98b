"""What a failing disk may and may not do: no answer is drawn twice, no size tells a verdict."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import interlace as il
from interlace.centre.noise import POOL
from interlace.core.laws import Law
from interlace.ledger import ANSWER, SESSION, SQLiteLedger
from tests.centre.support import ALL_SQL, WOMEN_SQL, clinic

m = il.mechanisms


@contextlib.contextmanager
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def full(*_: object, **__: object) -> None:
        raise il.LedgerError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(SQLiteLedger, "append", full)
        yield


def test_a_round_that_could_not_be_stored_is_not_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Law] = []
    draw = POOL.draw

    def counted(law: Law) -> tuple[int, ...]:
        drawn.append(law)
        return draw(law)

    monkeypatch.setattr(POOL, "draw", counted)
    with clinic(tmp_path) as centre:
        session = centre.account("ada", quota=il.PureDP(9)).open(
            m.Laplace(epsilon=0.01, answers=3), "people"
        )
        drawn.clear()
        with full_disk(monkeypatch):
            for sql in (ALL_SQL, ALL_SQL, WOMEN_SQL):
                with pytest.raises(il.LedgerError, match="full"):
                    session.ask(sql)
        assert len(drawn) == 1
        # Another handle of the session, and another question: the drawn round comes first.
        other = centre.account("ada").session(session.id)
        answer = other.ask(WOMEN_SQL)
        assert answer.round == 2
        assert [a.sql for a in session.history()] == [ALL_SQL, WOMEN_SQL]
        assert len(drawn) == 2
        centre.audit()


def test_asking_the_same_again_gives_the_round_that_was_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clinic(tmp_path) as centre:
        session = centre.account("ada", quota=il.PureDP(9)).open(
            m.Laplace(epsilon=0.01, answers=2), "people"
        )
        with full_disk(monkeypatch), pytest.raises(il.LedgerError):
            session.ask(ALL_SQL, key="a")
        assert session.ask(ALL_SQL, key="a") == session.ask(ALL_SQL, key="a")
        assert [a.round for a in session.history()] == [1]


def test_a_drawn_round_whose_place_was_taken_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clinic(tmp_path) as centre, il.open(tmp_path) as elsewhere:
        session = centre.account("ada", quota=il.PureDP(9)).open(
            m.Laplace(epsilon=0.01, answers=3), "people"
        )
        with full_disk(monkeypatch), pytest.raises(il.LedgerError):
            session.ask(ALL_SQL)
        elsewhere.session(session.id).ask(WOMEN_SQL)
        assert session.ask(ALL_SQL).round == 2
        assert [a.sql for a in session.history()] == [WOMEN_SQL, ALL_SQL]
        centre.audit()


@pytest.mark.parametrize(
    ("mechanism", "arguments"),
    [
        (m.Laplace(scale=2**30, answers=40), {}),
        (m.Gaussian(sigma=2**30, answers=40), {}),
        (m.SparseVector(epsilon=0.001, cutoff=40), {"at_least": 400}),
        (m.GuessAndCheck(epsilon=0.001, tolerance=1, cutoff=40), {"guess": 400}),
    ],
)
def test_what_is_stored_has_a_size_that_no_draw_decides(
    tmp_path: Path, mechanism: Any, arguments: dict[str, Any]
) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.ZCDP(2**40))
        sessions = [account.open(mechanism, "people") for _ in range(6)]
        answers = [session.ask(ALL_SQL, **arguments) for session in sessions for _ in range(6)]
        assert len({len(str(answer)) for answer in answers}) > 1
        sizes = {len(_text(event.body)) for event in centre.ledger.events(ANSWER)}
        assert len(sizes) == 1
        secrets = {len(event.secret or b"") for event in centre.ledger.events(SESSION)}
        assert len(secrets) == 1


def _text(body: object) -> str:
    return repr(body).replace("True", "true").replace("False", "false").replace(" ", "")
