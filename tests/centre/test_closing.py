"""Sessions and accounts end: closed, switched off or expired, from every handle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import interlace as il
from interlace.centre import closing
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.ledger import RESTORED
from interlace.query.plan import Plan
from tests.centre.support import ALL_SQL, clinic
from tests.checker import check

m = il.mechanisms


def test_a_closed_session_answers_nothing_and_stays_charged(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre, il.open(tmp_path) as elsewhere:
        account = centre.account("ada", quota=il.PureDP(1))
        session = account.open(m.Laplace(epsilon=0.125, answers=4), "people")
        other = account.open(m.Laplace(epsilon=0.25), "people")
        answer = session.ask(ALL_SQL, key="a")
        elsewhere.session(session.id).close()
        session.close()  # again: no harm
        for key in (None, "a"):
            with pytest.raises(il.Closed, match="closed"):
                session.ask(ALL_SQL, key=key)
        assert session.history() == [answer]
        assert account.spent == il.PureDP(0.75)
        assert other.ask(ALL_SQL).round == 1
        centre.audit()


def test_an_account_that_is_switched_off_opens_and_answers_nothing(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        ada = centre.account("ada", quota=il.PureDP(1))
        ben = centre.account("ben", quota=il.PureDP(1))
        sessions = [a.open(m.Laplace(epsilon=0.25), "people") for a in (ada, ben)]
        ada.switch_off()
        ada.switch_off()
        with pytest.raises(il.Closed, match="switched off"):
            sessions[0].ask(ALL_SQL)
        with pytest.raises(il.Closed, match="switched off"):
            ada.open(m.Laplace(epsilon=0.25), "people")
        assert sessions[1].ask(ALL_SQL).round == 1
        assert ada.spent == il.PureDP(0.25)
        # What they may have learned is still what the quotas say.
        assert centre.guarantee().epsilon(0) == 2
        centre.audit()
    with il.open(tmp_path) as centre, pytest.raises(il.Closed):
        centre.account("ada").sessions()[0].ask(ALL_SQL)


def test_an_account_expires_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end = datetime(2031, 1, 1, tzinfo=UTC)
    monkeypatch.setattr(closing, "now", lambda: end - timedelta(seconds=1))
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(1), expires=end)
        assert centre.account("ada", quota=il.PureDP(1), expires=end).expires == end
        with pytest.raises(il.NameTaken):
            centre.account("ada", quota=il.PureDP(1))
        session = account.open(m.Laplace(epsilon=0.05, answers=5), "people")
        session.ask(ALL_SQL)
        monkeypatch.setattr(closing, "now", lambda: end)
        with pytest.raises(il.Closed, match="expired"):
            session.ask(ALL_SQL)
        with pytest.raises(il.Closed, match="expired"):
            account.open(m.Laplace(epsilon=0.25), "people")
        assert len(session.history()) == 1


def test_an_expiry_has_a_time_zone(tmp_path: Path) -> None:
    bad: Any
    with clinic(tmp_path) as centre:
        for bad in (datetime(2031, 1, 1), "2031-01-01", 7):  # noqa: DTZ001  on purpose
            with pytest.raises(il.ParameterError, match="expires"):
                centre.account("ada", quota=il.PureDP(1), expires=bad)


@pytest.mark.parametrize("by", ["this centre", "another", "restoring"])
def test_what_ends_while_it_is_asked_records_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """A read may take minutes; whoever switched off meanwhile was told that nothing follows."""
    folder = tmp_path / "clinic"
    with clinic(folder) as centre, il.open(folder) as elsewhere:
        session = centre.account("ada", quota=il.PureDP(1)).open(m.Laplace(epsilon=0.25), "people")
        read = DuckDBEngine.read

        def slow(engine: DuckDBEngine, plan: Plan) -> tuple[int, ...]:
            if by == "restoring":
                with elsewhere.ledger.transaction() as transaction:
                    transaction.append(RESTORED)
            else:
                (centre if by == "this centre" else elsewhere).account("ada").switch_off()
            return read(engine, plan)

        monkeypatch.setattr(DuckDBEngine, "read", slow)
        for _ in range(2):  # nor is it recorded later
            with pytest.raises((il.Closed, il.SessionVoid)):
                session.ask(ALL_SQL)
        assert session.history() == []
        assert session.left == 0
    assert check(folder) == []
