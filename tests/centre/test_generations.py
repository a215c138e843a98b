"""Accounts over time: a cap first, then generations that each commit one point of it (R4)."""

from __future__ import annotations

import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import interlace as il
from interlace.centre.generations import CAP, GENERATION
from interlace.ledger import ACCOUNT
from tests.centre.support import ALL_SQL, clinic

m = il.mechanisms
DELTA = Fraction(1, 10**7)


def test_accounts_come_after_answers_as_long_as_the_cap_holds(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        centre.fix_cap(il.PureDP(2))
        centre.account("ada", quota=il.PureDP(1)).open(m.Laplace(epsilon=0.5), "people").ask(
            ALL_SQL
        )
        centre.account("ben", quota=il.PureDP(0.75))
        with pytest.raises(il.BudgetExceeded) as refusal:
            centre.account("eve", quota=il.PureDP(0.5))
        assert refusal.value.remaining == il.PureDP(0.25)
        assert [account.name for account in centre.accounts()] == ["ada", "ben"]
        centre.audit()
    with il.open(tmp_path) as centre:
        assert centre.cap == il.PureDP(2)
        centre.account("eve", quota=il.PureDP(0.25))
        centre.audit()


def test_a_generation_commits_its_optimal_composition_and_shows_it_first(tmp_path: Path) -> None:
    quotas: dict[str, Any] = {f"analyst {i}": il.PureDP(0.1) for i in range(60)}
    optimal = il.compose([(il.PureDP(0.1), 60)]).epsilon(DELTA)
    with clinic(tmp_path) as centre:
        centre.fix_cap(il.ApproxDP(5, 1e-6))
        before = centre.ledger.head()
        cost = centre.generation_cost(quotas, delta=DELTA)
        assert centre.ledger.head() == before
        assert isinstance(cost, il.ApproxDP)
        assert optimal <= cost.epsilon0 < Fraction(optimal) + Fraction(1, 10**12)
        accounts = centre.generation(quotas, delta=DELTA)
        assert [account.name for account in accounts] == list(quotas)
        assert len({account.generation for account in accounts}) == 1
        # Of one generation: composed. All that there may ever be: the cap.
        assert centre.guarantee(list(quotas)).epsilon(DELTA) == optimal
        assert centre.guarantee().epsilon(1e-6) == 5
        with pytest.raises(il.BudgetExceeded):
            centre.generation({f"late {i}": il.PureDP(0.1) for i in range(60)}, delta=DELTA)
        centre.audit()


def test_a_coalition_across_generations_is_promised_the_cap(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        centre.fix_cap(il.ZCDP(1))
        centre.generation({"ada": il.ZCDP(0.1), "ben": il.PureDP(0.2)})
        centre.account("eve", quota=il.ZCDP(0.2))
        assert centre.guarantee(["ada", "ben"]).cap is None
        together = centre.guarantee(["ada", "eve"])
        assert together.cap == il.ZCDP(1)
        assert together.epsilon(1e-6) == il.ZCDP(1).epsilon(1e-6)
        assert together.quotas == (il.ZCDP(0.1), il.ZCDP(0.2))


def test_the_cap_is_fixed_once_and_first(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        assert centre.cap is None
        with pytest.raises(il.NotFound, match="cap"):
            centre.generation_cost({"ada": il.PureDP(1)})
        bad: Any
        for bad in (1.0, il.compose([]), il.ApproxDP(1, 1), None):
            with pytest.raises(il.ParameterError, match="cap"):
                centre.fix_cap(bad)
        centre.account("ada", quota=il.PureDP(1))
        with pytest.raises(il.Unproven, match="before the first account"):
            centre.fix_cap(il.PureDP(3))
    with clinic(tmp_path / "other") as centre:
        centre.fix_cap(il.PureDP(3))
        with pytest.raises(il.NameTaken):
            centre.fix_cap(il.PureDP(4))
        for bad in ({}, [], None, {"": il.PureDP(1)}, {"ada": 1.0}):
            with pytest.raises(il.ParameterError, match="quota"):
                centre.generation(bad)
        centre.generation({"ada": il.PureDP(1)})
        with pytest.raises(il.NameTaken):
            centre.generation({"ben": il.PureDP(1), "ada": il.PureDP(1)})
        assert [account.name for account in centre.accounts()] == ["ada"]
        assert len(list(centre.ledger.events(GENERATION))) == 1


def test_generations_race_for_the_last_of_the_cap(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        centre.fix_cap(il.PureDP(1))
        barrier = threading.Barrier(20)
        won: list[int] = []

        def race(i: int) -> None:
            barrier.wait()
            try:
                centre.account(f"analyst {i}", quota=il.PureDP(0.75))
                won.append(i)
            except il.BudgetExceeded:
                pass

        threads = [threading.Thread(target=race, args=(i,)) for i in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        assert len(centre.accounts()) == 1
        centre.audit()


def test_the_audit_names_what_no_cap_pays_for(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        centre.fix_cap(il.PureDP(1))
        centre.account("ada", quota=il.PureDP(0.5))
        account = centre.ledger.last(ACCOUNT)
        generation = centre.ledger.last(GENERATION)
        assert account is not None
        assert generation is not None
        with centre.ledger.transaction() as transaction:
            transaction.append(ACCOUNT, account="eve", body=dict(account.body))
        with pytest.raises(il.LedgerCorrupt, match="no generation pays for"):
            centre.audit()
    with clinic(tmp_path / "other") as centre, centre.ledger.transaction() as transaction:
        transaction.append(GENERATION, body=dict(generation.body))
    with il.open(tmp_path / "other") as centre:
        with pytest.raises(il.LedgerCorrupt, match="without a cap"):
            centre.audit()
        assert centre.ledger.last(CAP) is None
