"""Plans: a batch fixed in advance, composed optimally inside, one admission of the filter."""

from __future__ import annotations

import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import interlace as il
from interlace.ledger import CHARGE, SESSION
from tests.centre.support import ALL_SQL, clinic

m = il.mechanisms
DELTA = Fraction(1, 10**7)


def test_a_plan_commits_one_point_of_its_optimal_composition(tmp_path: Path) -> None:
    members = [m.Laplace(epsilon=0.1) for _ in range(50)]
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.ApproxDP(4, 1e-6))
        sessions = account.plan(members, "people", delta=DELTA)
        spent = account.spent
        assert len(sessions) == 50
        assert isinstance(spent, il.ApproxDP)
        charge = il.ApproxDP(Fraction(il.compose([(il.PureDP(0.1), 50)]).epsilon(DELTA)), DELTA)
        optimal = charge.epsilon0
        # The deltas' own part is used up, and the reading allows for what is left of the rest.
        assert DELTA * Fraction(999_999, 10**6) < spent.delta0 <= DELTA
        # Added up they would not fit.
        assert optimal < 4
        with pytest.raises(il.BudgetExceeded):
            account.plan(members, "people")
        assert all(session.charge == charge and session.members == 50 for session in sessions)
        assert {s.id for s in sessions} == {s.id for s in account.sessions()}
        centre.audit()


def test_members_are_asked_in_any_order_or_never_and_stay_charged(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.ZCDP(1))
        plan: list[Any] = [
            m.Gaussian(rho=0.1, answers=2),
            m.SparseVector(epsilon=0.5),
            m.Laplace(epsilon=0.3),
        ]
        gaussian, sieve, _never = account.plan(plan, "people")
        spent = account.spent
        assert spent == il.Filter(il.ZCDP(9)).charge(il.compose(plan))
        gaussian.ask(ALL_SQL)
        sieve.ask(ALL_SQL, at_least=10**6)
        gaussian.ask(ALL_SQL)
        assert account.spent == spent
        centre.audit()
    with il.open(tmp_path) as centre:
        assert [s.mechanism for s in centre.account("ada").sessions()] == plan
        assert centre.account("ada").spent == spent


def test_a_plan_that_does_not_fit_opens_nothing(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(1))
        before = centre.ledger.head()
        with pytest.raises(il.BudgetExceeded):
            account.plan([m.Laplace(epsilon=0.6), m.Laplace(epsilon=0.6)], "people")
        for bad in ([], None, "Laplace", [m.Laplace(epsilon=0.1), il.PureDP(1)]):
            with pytest.raises(il.ParameterError, match="mechanism"):
                account.plan(bad, "people")  # type: ignore[arg-type]  # on purpose
        assert centre.ledger.head() == before


def test_a_plan_is_admitted_whole_or_not_at_all_under_a_race(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(1))
        barrier = threading.Barrier(20)
        won: list[int] = []

        def race() -> None:
            barrier.wait()
            try:
                won.append(len(account.plan([m.Laplace(epsilon=0.25)] * 3, "people")))
            except il.BudgetExceeded:
                won.append(0)

        threads = [threading.Thread(target=race) for _ in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(won) == [0] * 19 + [3]
        assert len(list(centre.ledger.events(CHARGE))) == 1
        assert len(list(centre.ledger.events(SESSION))) == 3
        centre.audit()
