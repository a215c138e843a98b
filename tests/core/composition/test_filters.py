"""Filters: exact sums, refusals that change nothing, points that are committed, threads."""

from __future__ import annotations

import math
import threading
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.composition import Filter, compose
from interlace.core.errors import BudgetExceeded, ParameterError, RelationMismatch, Unproven
from interlace.core.guarantees import ZCDP, ApproxDP, PureDP, Relation, to_zcdp
from tests.effort import examples


def test_eleven_elevenths_fit_and_the_twelfth_does_not() -> None:
    f = Filter(PureDP(1))
    for _ in range(11):
        f.admit(PureDP(Fraction(1, 11)))
    assert f.spent == f.budget
    assert f.remaining == PureDP(0)
    with pytest.raises(BudgetExceeded) as refused:
        f.admit(PureDP(Fraction(1, 11)))
    assert refused.value.spent == PureDP(1)
    assert refused.value.requested == PureDP(Fraction(1, 11))
    assert refused.value.remaining == PureDP(0)
    assert f.spent == PureDP(1)


@pytest.mark.parametrize("budget", [PureDP(1), ApproxDP(1, 0), ApproxDP(1, 1e-6)])
def test_ten_tenths_fit_one_and_nothing_is_absorbed(budget: PureDP | ApproxDP) -> None:
    f = Filter(budget, "zcdp" if isinstance(budget, ZCDP) else "basic")
    for _ in range(10):
        f.admit(PureDP(0.1))
    for crumb in (1e-17, 1e-300, Fraction(1, 10**900)):
        assert not f.admits(PureDP(crumb))
        with pytest.raises(BudgetExceeded):
            f.admit(PureDP(crumb))
    f.admit(PureDP(0))


def test_zcdp_sums() -> None:
    f = Filter(ZCDP(1))
    assert f.rule == "zcdp"
    f.admit(ZCDP(0.5))
    f.admit(PureDP(0.5))
    assert f.spent == ZCDP(Fraction(1, 2) + to_zcdp(PureDP(0.5)).rho)
    f.admit(compose([(PureDP(0.1), 3), ZCDP(0.1), ApproxDP(0.1, 0)]))
    assert f.charge(compose([(PureDP(0.1), 3)])) == ZCDP(3 * to_zcdp(PureDP(0.1)).rho)
    assert not f.admits(ZCDP(1))
    with pytest.raises(Unproven, match="structural"):
        f.admit(ApproxDP(0.1, 1e-9))
    with pytest.raises(ParameterError, match=r"^delta: "):
        f.admit(ZCDP(0.01), delta=1e-6)


def test_basic_sums_both_parameters() -> None:
    f = Filter(ApproxDP(1, 1e-6), "basic")
    f.admit(ApproxDP(0.5, 1e-7))
    f.admit(compose([(ApproxDP(0.1, 1e-7), 2), PureDP(0.1)]))
    assert f.spent == ApproxDP(0.8, 3e-7)
    assert f.remaining == ApproxDP(0.2, 7e-7)
    assert not f.admits(ApproxDP(0, 8e-7))
    assert not f.admits(ApproxDP(0.3, 0))
    assert f.admits(ApproxDP(0.2, 7e-7))


def test_zcdp_children_commit_one_point_of_their_curve() -> None:
    f = Filter(ApproxDP(10, 1e-5), "basic")
    with pytest.raises(ParameterError, match=r"^delta: .*committed point"):
        f.admit(ZCDP(0.1))
    with pytest.raises(ParameterError, match=r"^delta: "):
        f.admits(compose([PureDP(1), ZCDP(0.1)]))
    f.admit(ZCDP(0), None)
    assert f.charge(ZCDP(0.1), 1e-6) == ApproxDP(Fraction(ZCDP(0.1).epsilon(1e-6)), 1e-6)
    plan = compose([(PureDP(0.1), 100)])
    assert f.charge(plan) == ApproxDP(10, 0)
    assert f.charge(plan, 1e-6) == ApproxDP(Fraction(plan.epsilon(1e-6)), 1e-6)
    f.admit(plan, delta=1e-6)
    f.admit(ZCDP(0.1), delta=1e-6)
    assert f.spent.epsilon0 > Fraction("4.774") + Fraction(ZCDP(0.1).epsilon(1e-6))  # type: ignore[union-attr]
    with pytest.raises(ParameterError, match="no finite epsilon"):
        f.admit(ApproxDP(1, 1e-3), delta=1e-4)


def test_a_pure_budget_refuses_every_delta() -> None:
    f = Filter(PureDP(10))
    assert f.admits(ApproxDP(1, 0))
    assert not f.admits(ApproxDP(1, 1e-300))
    with pytest.raises(BudgetExceeded) as refused:
        f.admit(ApproxDP(1, 1e-6))
    assert isinstance(refused.value.requested, ApproxDP)
    with pytest.raises(ParameterError, match="a pure budget holds no delta"):
        f.admit(ZCDP(0.1), delta=1e-6)
    with pytest.raises(ParameterError, match="a pure budget holds no delta"):
        f.admit(PureDP(0.1), delta=1e-6)
    with pytest.raises(ParameterError, match="a pure budget holds no delta"):
        f.admit(ZCDP(0.1))
    f.admit(PureDP(0.125), delta=0)
    assert f.spent == PureDP(0.125)


@pytest.mark.parametrize("value", [Fraction(1, 3**400), Fraction(1, 3**2500), Fraction(1, 7)])
def test_a_budget_holds_itself_however_long_it_is(value: Fraction) -> None:
    for budget in (PureDP(value), ZCDP(value), ApproxDP(value, value)):
        f = Filter(budget, "zcdp" if isinstance(budget, ZCDP) else "basic")
        f.admit(budget)
        assert f.spent == budget
        assert not f.admits(type(budget)(*(Fraction(1, 2**4000),) * _parameters(budget)))
        with pytest.raises(BudgetExceeded):
            f.admit(budget)


def _parameters(guarantee: PureDP | ApproxDP | ZCDP) -> int:
    return 2 if isinstance(guarantee, ApproxDP) else 1


def test_long_exact_forms_are_told_shortened_down() -> None:
    budget = Fraction(1, 2) + Fraction(1, 3**2500)
    f = Filter(PureDP(budget))
    f.admit(PureDP(Fraction(1, 5**900)))
    left = f.remaining
    assert isinstance(left, PureDP)
    exact = budget - Fraction(1, 5**900)
    assert exact * (1 - Fraction(1, 2**120)) <= left.epsilon0 <= exact
    with pytest.raises(BudgetExceeded) as refused:
        f.admit(PureDP(5))
    assert refused.value.remaining == left


def test_plans_of_long_parameters_are_charged_quickly_and_up() -> None:
    steps = [Fraction(1, (1 << 2000) + 2 * i + 1) for i in range(60)]
    charge = Filter(PureDP(1)).charge(compose([PureDP(x) for x in steps]))
    assert isinstance(charge, PureDP)
    total = sum(steps)
    assert total <= charge.epsilon0 <= total * (1 + Fraction(1, 2**110))


def test_a_subclass_may_not_slip_in() -> None:
    class Liar(PureDP):
        @property
        def guarantee(self) -> PureDP:
            return PureDP(0)

    for bad in (Liar(5), compose([PureDP(5)])):
        with pytest.raises(ParameterError, match=r"^budget: "):
            Filter(bad)  # type: ignore[arg-type]  # what is tested
    f = Filter(PureDP(1))
    with pytest.raises(ParameterError, match=r"^items\[0\]: .*not Liar"):
        f.admit(Liar(0))
    with pytest.raises(ParameterError, match=r"^items\[0\]: "):
        compose([PureDP(1), Liar(5)][1:])
    assert f.spent == PureDP(0)


@pytest.mark.parametrize("rule", ["optimal", "kov", "Murtagh-Vadhan", "pld"])
def test_optimal_composition_is_no_filter(rule: str) -> None:
    with pytest.raises(Unproven, match="no filter"):
        Filter(ApproxDP(1, 1e-6), rule)


@pytest.mark.parametrize(
    ("budget", "rule"),
    [(ZCDP(1), "basic"), (PureDP(1), "zcdp"), (ApproxDP(1, 0), "zcdp"), (PureDP(1), "best"),
     (PureDP(1), 3), (PureDP(1), "residue"), (PureDP(1), [1]), (PureDP(1), {})],
)  # fmt: skip
def test_unknown_rules_and_wrong_notions_are_refused(budget: PureDP, rule: str) -> None:
    with pytest.raises(ParameterError, match=r"^rule: "):
        Filter(budget, rule)


def test_bad_budgets_and_bad_spent_are_refused() -> None:
    for bad in (None, 1, 1.0, compose([PureDP(1)]), "1"):
        with pytest.raises(ParameterError, match=r"^budget: "):
            Filter(bad)  # type: ignore[arg-type]  # what is tested
    for spent in (PureDP(1.1), ZCDP(0.1), ApproxDP(0, 0), 1,
                  PureDP(0.1, relation=Relation.CHANGE_ONE)):  # fmt: skip
        with pytest.raises((ParameterError, RelationMismatch)):
            Filter(PureDP(1), spent=spent)  # type: ignore[arg-type]  # what is tested
    assert Filter(PureDP(1), spent=PureDP(1)).remaining == PureDP(0)
    assert not Filter(ApproxDP(1, 0.1), "basic", spent=ApproxDP(0.5, 0.1)).admits(ApproxDP(0, 1e-9))


def test_what_is_no_guarantee_is_refused_and_charges_nothing() -> None:
    f = Filter(PureDP(1))
    for bad in (None, 1, math.nan, "x", [PureDP(0.1)], (PureDP(0.1), -3), (PureDP(0.1), math.nan)):
        with pytest.raises(ParameterError):
            f.admit(bad)  # type: ignore[arg-type]  # what is tested
    for delta in (math.nan, -1, 2, math.inf):
        with pytest.raises(ParameterError, match=r"^delta: "):
            f.admit(PureDP(0.1), delta=delta)
    with pytest.raises(RelationMismatch):
        f.admit(PureDP(0.1, relation=Relation.CHANGE_ONE))
    assert f.spent == PureDP(0)


def test_long_histories_round_up_and_stay_cheap() -> None:
    f, exact = Filter(PureDP(10)), Fraction(0)
    for n in range(2, 1200):
        step = Fraction(1, 1000 + 7 * n)
        f.admit(PureDP(step))
        exact += step
    spent = f.spent
    assert isinstance(spent, PureDP)
    assert exact <= spent.epsilon0 < exact + Fraction(1200, 2**256)
    assert spent.epsilon0.denominator.bit_length() <= 600


@settings(max_examples=examples(60))
@given(st.lists(st.fractions(0, 1, max_denominator=10**40), max_size=30))
def test_a_filter_never_goes_below_zero(steps: list[Fraction]) -> None:
    for f in (Filter(PureDP(1)), Filter(ZCDP(1)), Filter(ApproxDP(1, 0.5), "basic")):
        total = Fraction(0)
        for step in steps:
            child = ZCDP(step) if isinstance(f.budget, ZCDP) else PureDP(step)
            if f.admits(child):
                f.admit(child)
                total += step
        assert total <= 1
        remaining = f.remaining
        assert isinstance(remaining, PureDP | ApproxDP | ZCDP)
        left = remaining.rho if isinstance(remaining, ZCDP) else remaining.epsilon0
        assert 0 <= left <= 1 - total


@pytest.mark.parametrize("budget", [PureDP(1), ApproxDP(1, 1e-6), ZCDP(1)])
def test_fifty_threads_ask_for_three_quarters_of_one(budget: PureDP | ApproxDP | ZCDP) -> None:
    child = ZCDP(0.75) if isinstance(budget, ZCDP) else PureDP(Decimal("0.75"))
    for _ in range(5):
        assert _race(Filter(budget), child) == [False] * 49 + [True]


def _race(f: Filter, child: PureDP | ZCDP) -> list[bool]:
    barrier = threading.Barrier(50)
    outcomes: list[bool] = []

    def ask() -> None:
        barrier.wait()
        try:
            f.admit(child)
        except BudgetExceeded:
            outcomes.append(False)
        else:
            outcomes.append(True)

    threads = [threading.Thread(target=ask) for _ in range(50)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return sorted(outcomes)
