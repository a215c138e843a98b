"""Accounts: charged before a session exists, guarded by a filter, fixed before any answer."""

from __future__ import annotations

import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import interlace as il
from interlace.ledger import SESSION
from tests.centre.support import ALL_SQL, clinic

Laplace = il.mechanisms.Laplace


def test_fifty_threads_race_for_three_quarters_of_a_budget_and_one_gets_it(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(1))
        barrier = threading.Barrier(50)
        opened: list[str] = []
        refused: list[il.BudgetExceeded] = []

        def race() -> None:
            barrier.wait()
            try:
                opened.append(account.open(Laplace(epsilon=0.75), "people").id)
            except il.BudgetExceeded as error:
                refused.append(error)

        threads = [threading.Thread(target=race) for _ in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(opened), len(refused)) == (1, 49)
        assert account.spent.epsilon(0) == pytest.approx(0.75)
        assert len(list(centre.ledger.events(SESSION))) == 1


def test_ten_tenths_fit_and_nothing_more(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(1))
        for _ in range(10):
            account.open(Laplace(epsilon=0.1), "people")
        assert account.spent == il.PureDP(1)
        with pytest.raises(il.BudgetExceeded):
            account.open(Laplace(scale=2**40), "people")


def test_a_refused_session_leaves_nothing_behind(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(1))
        before = centre.ledger.head()
        with pytest.raises(il.BudgetExceeded) as refusal:
            account.open(Laplace(epsilon=2), "people")
        with pytest.raises(il.NotFound, match="people"):
            account.open(Laplace(epsilon=0.1), "nobody")
        with pytest.raises(il.ParameterError, match="delta"):
            account.open(il.mechanisms.Gaussian(rho=0.01), "people")
        assert centre.ledger.head() == before
        assert refusal.value.requested == il.PureDP(2)
        assert refusal.value.remaining == il.PureDP(1)


def test_the_whole_guarantee_is_charged_at_opening_and_asking_is_free(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.ZCDP(1))
        session = account.open(il.mechanisms.Gaussian(rho=Fraction(1, 50), answers=10), "people")
        assert account.spent == session.charge == il.ZCDP(Fraction(1, 5))
        for _ in range(10):
            session.ask(ALL_SQL)
        assert account.spent == session.charge


def test_an_epsilon_delta_account_commits_a_gaussian_session_to_one_point(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.ApproxDP(1, 1e-6))
        gaussian = il.mechanisms.Gaussian(rho=0.005)
        session = account.open(gaussian, "people", delta=1e-7)
        charged = session.charge
        assert isinstance(charged, il.ApproxDP)
        assert charged.delta0 == Fraction(1, 10**7)
        assert charged.epsilon(1e-7) >= gaussian.guarantee.epsilon(1e-7)


def test_an_account_in_another_notion_refuses_what_its_filter_does_not_cover(
    tmp_path: Path,
) -> None:
    with clinic(tmp_path) as centre:
        with pytest.raises(il.Unproven, match="no filter"):
            centre.account("ada", quota=il.ApproxDP(1, 1e-6), rule="optimal")
        with pytest.raises(il.RelationMismatch):
            centre.account("ada", quota=il.PureDP(1, relation=il.Relation.CHANGE_ONE))
        assert centre.accounts() == []


def test_accounts_are_fixed_before_the_first_answer(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        ada = centre.account("ada", quota=il.PureDP(1))
        session = ada.open(Laplace(epsilon=0.1), "people")
        centre.account("ben", quota=il.ZCDP(1))
        session.ask(ALL_SQL)
        with pytest.raises(il.Unproven, match="first answer"):
            centre.account("eve", quota=il.PureDP(1))
        assert [account.name for account in centre.accounts()] == ["ada", "ben"]


def test_names_are_taken_once_and_found_again(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        centre.account("ada", quota=il.PureDP(1))
        with pytest.raises(il.NameTaken):
            centre.account("ada", quota=il.PureDP(2))
        assert centre.account("ada").quota == il.PureDP(1)
        with pytest.raises(il.NotFound, match="ben"):
            centre.account("ben")
        with pytest.raises(il.ParameterError, match="rule"):
            centre.account("ada", rule="basic")
        for bad in ("", "x" * 201, 7):
            with pytest.raises(il.ParameterError, match="name"):
                centre.account(bad, quota=il.PureDP(1))  # type: ignore[arg-type]  # on purpose


def test_only_the_librarys_mechanisms_are_served(tmp_path: Path) -> None:
    class Mine(Laplace):  # type: ignore[misc]  # final, but only to a type checker
        """Claims what it likes."""

    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(1))
        for bad in (Mine(epsilon=0.1), il.PureDP(0.1), None):
            with pytest.raises(il.ParameterError, match="mechanism"):
                account.open(bad, "people")  # type: ignore[arg-type]  # on purpose


def test_the_coalition_guarantee_is_the_optimal_composition_of_the_quotas(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        quotas: list[Any] = [il.PureDP(0.5), il.ApproxDP(1, 1e-8), il.ZCDP(0.01)]
        for name, quota in zip("abc", quotas, strict=True):
            centre.account(name, quota=quota)
        together = centre.guarantee()
        assert together.accounts == ("a", "b", "c")
        assert together.epsilon(1e-6) == il.compose(quotas).epsilon(1e-6)
        assert together.delta(1) == il.compose(quotas).delta(1)
        assert together.epsilon(1e-6) < together.added_up(1e-6)
        assert centre.guarantee(["a"]).epsilon(0) == 0.5
        assert centre.guarantee(["b", "a"]).epsilon(1e-8) <= 1.5
        with pytest.raises(il.NotFound):
            centre.guarantee(["a", "z"])
        for bad in ([], ["a", "a"]):
            with pytest.raises(il.ParameterError, match="coalition"):
                centre.guarantee(bad)


def test_the_coalitions_promise_does_not_change_with_what_is_spent(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(1))
        promised = centre.guarantee().epsilon(1e-6)
        account.open(Laplace(epsilon=0.1), "people").ask(ALL_SQL)
        after = centre.guarantee()
        assert after.epsilon(1e-6) == promised
        assert after.spent == (il.PureDP(0.1),)
