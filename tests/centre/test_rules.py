"""Accounts under every rule: what is stored is gone on with, and proved by the audit."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import interlace as il
from interlace.centre.generations import GENERATION
from interlace.ledger import CHARGE
from tests.centre.support import ALL_SQL, clinic
from tests.checker import check

m = il.mechanisms

QUOTAS: dict[str, tuple[Any, str | None]] = {
    "pure": (il.PureDP(4), None),
    "reach of pure": (il.PureDP(4), "reach"),
    "reach": (il.ApproxDP(4, 1e-6), None),
    "residue": (il.ApproxDP(4, 1e-6), "residue"),
    "advanced": (il.ApproxDP(4, 1e-6), "advanced"),
    "basic": (il.ApproxDP(4, 1e-6), "basic"),
    "zcdp": (il.ZCDP(1), None),
    "tcdp": (il.TCDP(1, 30), None),
    "renyi": (il.RenyiDP(4, 3), None),
    "residue of GDP": (il.GaussianDP(2), None),
    "gaussian": (il.GaussianDP(2), "gaussian"),
}
DEFAULTS = {
    "pure": "basic",
    "reach": "reach",
    "zcdp": "zcdp",
    "tcdp": "tcdp",
    "renyi": "renyi",
    "residue of GDP": "residue",
}


@pytest.mark.parametrize("name", QUOTAS)
def test_an_account_goes_on_where_it_stopped(tmp_path: Path, name: str) -> None:
    quota, rule = QUOTAS[name]
    twin = il.Filter(quota, rule)
    first: list[Any] = [m.Laplace(epsilon=0.1), m.GuessAndCheck(epsilon=0.1, tolerance=9)]
    plan: list[Any] = [m.Laplace(epsilon=0.2), m.Laplace(epsilon=0.1), m.SparseVector(epsilon=0.3)]
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=quota, rule=rule)
        assert account.rule == DEFAULTS.get(name, account.rule)
        for mechanism in first:
            account.open(mechanism, "people").ask(ALL_SQL, **_guess(mechanism))
            twin.admit(mechanism)
    with il.open(tmp_path) as centre:
        account = centre.account("ada")
        assert (account.spent, account.remaining) == (twin.spent, twin.remaining)
        account.plan(plan, "people")
        twin.admit(il.compose(plan))
        last = centre.ledger.last(CHARGE, account="ada")
        assert last is not None
        assert last.body["state"] == twin.state
        largest = account.largest(lambda e: m.Laplace(epsilon=e))
        assert largest == twin.largest(lambda e: m.Laplace(epsilon=e))
        account.open(largest, "people")
        with pytest.raises(il.BudgetExceeded):
            account.open(m.Laplace(epsilon=1), "people")
        centre.audit()
        told = centre.statement().json()["accounts"][0]
        assert told["rule"] == account.rule
        assert len(told["rule_is"]) > 30
        assert account.rule in centre.statement().markdown()
        assert centre.guarantee().epsilon(1e-6) == il.compose([quota]).epsilon(1e-6)
    assert check(tmp_path) == []


def _guess(mechanism: object) -> dict[str, Any]:
    return {"guess": 400} if isinstance(mechanism, m.GuessAndCheck) else {}


@pytest.mark.parametrize("name", ["reach", "residue", "advanced"])
def test_a_session_with_a_delta_takes_its_part(tmp_path: Path, name: str) -> None:
    quota, rule = QUOTAS[name]
    gaussian = m.Gaussian(rho=0.001)
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=quota, rule=rule, structural=3e-8)
        assert account.structural == Fraction(3, 10**8)
        for _ in range(3):
            account.open(gaussian, "people", delta=1e-8)
        with pytest.raises(il.BudgetExceeded):
            account.open(gaussian, "people", delta=1e-8)
        if name == "advanced":
            # zCDP is charged as it is.
            own = il.Filter(il.ZCDP(1)).charge(gaussian)
            assert account.open(gaussian, "people").charge == own
        else:
            with pytest.raises(il.ParameterError, match="committed point"):
                account.open(gaussian, "people")
        account.open(m.Laplace(epsilon=0.1), "people")
        with pytest.raises(il.NameTaken):
            centre.account("ada", quota=quota, rule=rule)
        centre.audit()
    with il.open(tmp_path) as centre:
        assert centre.account("ada").structural == Fraction(3, 10**8)
        centre.account("ada", quota=quota, rule=rule, structural=3e-8)
        with pytest.raises(il.ParameterError, match="structural"):
            centre.account("ada", structural=3e-8)
    assert check(tmp_path) == []


def test_a_gdp_quota_refuses_discrete_gaussian_noise(tmp_path: Path) -> None:
    # Which is not of the GDP that its sigma suggests (FORMULAS 8.4).
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.GaussianDP(1))
        with pytest.raises(il.Unproven, match="GDP"):
            account.open(m.Gaussian(rho=0.001), "people")
        with pytest.raises(il.ParameterError, match=r"^delta: is not used"):
            account.open(m.Gaussian(rho=0.001), "people", delta=1e-9)
        account.open(m.Laplace(epsilon=0.1), "people")
        ben = centre.account("ben", quota=il.GaussianDP(0.5))
        assert centre.guarantee().epsilon(1e-6) == il.compose(
            [il.GaussianDP(1), ben.quota]
        ).epsilon(1e-6)


def test_generations_add_up_under_a_gdp_cap(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        centre.fix_cap(il.GaussianDP(1))
        centre.generation({f"g{i}": il.GaussianDP(0.4) for i in range(4)})
        centre.account("late", quota=il.GaussianDP(0.5)).open(m.Laplace(epsilon=0.1), "people").ask(
            ALL_SQL
        )
        with pytest.raises(il.BudgetExceeded) as refused:
            centre.account("more", quota=il.GaussianDP(0.4))
        left = refused.value.remaining
        assert isinstance(left, il.GaussianDP)
        assert Fraction(33, 100) < left.mu < Fraction(34, 100)
        last = centre.ledger.last(GENERATION)
        assert last is not None
        assert last.body["state"] == {"mu_squared": "11/100"}
        assert centre.guarantee().epsilon(1e-6) == il.GaussianDP(1).epsilon(1e-6)
        centre.audit()
    assert check(tmp_path) == []


@pytest.mark.parametrize(
    "cap", [il.ApproxDP(2, 1e-6), il.RenyiDP(4, 2), il.TCDP(0.5, 9), il.ZCDP(0.5)]
)
def test_generations_add_up_under_every_cap(tmp_path: Path, cap: Any) -> None:
    with clinic(tmp_path) as centre:
        centre.fix_cap(cap)
        for i in range(3):
            centre.account(f"a{i}", quota=il.PureDP(0.5))
        with pytest.raises(il.BudgetExceeded):
            centre.generation({f"b{i}": il.PureDP(0.9) for i in range(4)})
        centre.audit()
    assert check(tmp_path) == []


def test_a_restored_account_of_reach_has_spent_all(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        quota = il.ApproxDP(1, 1e-6)
        centre.account("ada", quota=quota).open(m.Laplace(epsilon=0.1), "people")
    il.restore(tmp_path)
    with il.open(tmp_path) as centre:
        account = centre.account("ada")
        assert (account.spent, account.remaining) == (quota, il.ApproxDP(0, 0))
        with pytest.raises(il.BudgetExceeded):
            account.open(m.Laplace(epsilon=1e-6), "people")
        centre.audit()


_VICTIM = """
import os, signal, sys
import interlace as il
from interlace.centre import account

def dying(name):
    if name == sys.argv[2]:
        os.kill(os.getpid(), signal.SIGKILL)

account.reach = dying
il.open(sys.argv[1]).account("ada").open(il.mechanisms.Laplace(epsilon=0.1), "people")
"""


@pytest.mark.parametrize(
    "moment",
    ["open.before-admission", "open.after-charge", "open.before-commit", "open.after-commit"],
)
def test_killed_while_reach_admits(tmp_path: Path, moment: str) -> None:
    twin = il.Filter(il.ApproxDP(1, 1e-6))
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=twin.budget)
        account.open(m.Laplace(epsilon=0.2), "people")
        twin.admit(m.Laplace(epsilon=0.2))
    command = [sys.executable, "-c", _VICTIM, str(tmp_path), moment]
    assert subprocess.run(command, check=False, timeout=120).returncode == -signal.SIGKILL
    if moment == "open.after-commit":
        twin.admit(m.Laplace(epsilon=0.1))
    with il.open(tmp_path) as centre:
        account = centre.account("ada")
        assert (account.spent, account.remaining) == (twin.spent, twin.remaining)
        account.open(m.Laplace(epsilon=0.3), "people")
        twin.admit(m.Laplace(epsilon=0.3))
        last = centre.ledger.last(CHARGE, account="ada")
        assert last is not None
        assert last.body["state"] == twin.state
        centre.audit()
    assert check(tmp_path) == []


def test_threads_race_for_what_reach_has_left(tmp_path: Path) -> None:
    alone, child = il.Filter(il.ApproxDP(1, 1e-6)), il.PureDP(0.25)
    fits = 0
    while alone.admits(child):
        alone.admit(child)
        fits += 1
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.ApproxDP(1, 1e-6))
        barrier, outcomes = threading.Barrier(12), []

        def race() -> None:
            barrier.wait()
            try:
                account.open(m.Laplace(epsilon=0.25), "people")
            except il.BudgetExceeded:
                outcomes.append(False)
            else:
                outcomes.append(True)

        threads = [threading.Thread(target=race) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(outcomes) == fits < 12
        assert account.remaining == alone.remaining
        centre.audit()


def test_the_states_that_are_stored_stand_whatever_a_later_version_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.ApproxDP(1, 1e-6))
        for _ in range(3):
            account.open(m.Laplace(epsilon=0.1), "people")
        left = account.remaining
    from interlace.core.composition.filters import values
    from interlace.core.composition.value_filters import moves

    def careless(*_: object) -> None:
        raise AssertionError("a step was computed again")

    # With another start, and without computing a step, the audit proves what is stored.
    smaller = values._start

    def narrower(rule: Any) -> Any:
        start = smaller(rule)
        return type(start)(start.w * Fraction(99, 100), start.sum_epsilon, start.good)

    with monkeypatch.context() as changed:
        changed.setattr(moves, "narrowed", careless)
        with il.open(tmp_path) as centre:
            centre.audit()
            assert centre.account("ada").remaining == left
    with monkeypatch.context() as changed:
        changed.setattr(values, "_start", narrower)
        with il.open(tmp_path) as centre:
            account = centre.account("ada")
            assert account.remaining != account.quota
            account.open(m.Laplace(epsilon=0.1), "people")
            centre.audit()
    assert check(tmp_path) == []


def test_an_admission_costs_the_same_whatever_the_history(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.ApproxDP(4, 1e-6))
        sizes = []
        for _ in range(40):
            account.open(m.Laplace(epsilon=0.02), "people")
            last = centre.ledger.last(CHARGE, account="ada")
            assert last is not None
            sizes.append(len(str(last.body)))
        # One charge is read and one step stored, of one size.
        assert max(sizes) - min(sizes) < 200
        assert all(size < 2500 for size in sizes)
