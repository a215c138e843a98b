"""What each rule charges for each notion, against formulas in 50 digits; what it refuses."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlace as il
from interlace.core.composition.value_filters.steps import covering
from interlace.core.guarantees.losses import (
    BoundedRange,
    DiscreteGaussian,
    DiscreteLaplace,
    Pair,
    RandomisedResponse,
    RoundedGaussian,
)
from tests.core.composition.filters.behind import real
from tests.effort import examples

EPSILONS = st.fractions(Fraction(1, 1000), 12, max_denominator=1000)


def _close_above(found: Fraction, exact: Any, part: float = 1e-11) -> bool:
    return bool(exact <= real(found) <= exact * (1 + mpmath.mpf(part)))


@settings(max_examples=examples(40), deadline=None)
@given(EPSILONS, st.fractions(Fraction(11, 10), 60, max_denominator=50))
def test_pure_mechanisms_are_charged_what_is_tight(epsilon: Fraction, alpha: Fraction) -> None:
    child = il.PureDP(epsilon)
    with mpmath.workdps(60):
        e, a = real(epsilon), real(alpha)
        charged: Any = il.Filter(il.ZCDP(100)).charge(child)
        assert _close_above(charged.rho, e * mpmath.tanh(e / 2), 1e-30)
        charged = il.Filter(il.TCDP(100, alpha)).charge(child)
        assert _close_above(charged.rho, e * mpmath.tanh(e / 2), 1e-30)
        charged = il.Filter(il.RenyiDP(alpha, 100)).charge(child)
        moment = (mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (mpmath.exp(e) + 1)
        assert _close_above(charged.epsilon0, mpmath.log(moment) / (a - 1), 1e-30)
        charged = il.Filter(il.GaussianDP(100), "gaussian").charge(child)
        assert charged.mu**2 >= covering(epsilon)
        tail = mpmath.ncdf(-real(charged.mu) / 2)
        assert mpmath.mpf(1) - 1e-9 < tail * (1 + mpmath.exp(e)) <= 1


@pytest.mark.parametrize(
    "text", ["1e-30", "1e-9", "1e-4", "999e-6", "1001e-6", "3", "700", "5000", "1e30"]
)
def test_the_gdp_that_covers_a_pure_mechanism(text: str) -> None:
    # mu = 2 Phi^-1(e^epsilon/(1 + e^epsilon)), by the tail where p is near 1.
    epsilon = Fraction(text)
    mu_squared = covering(epsilon)
    with mpmath.workdps(80):
        e, x = real(epsilon), mpmath.sqrt(real(mu_squared)) / 2
        if epsilon > 10**6:
            # A tail is at most e^(-x**2/2)/2.
            assert mu_squared == 8 * epsilon
            return
        missing = mpmath.log(mpmath.ncdf(-x)) + mpmath.log1p(mpmath.exp(e))
        assert missing <= 0
        more = mpmath.log(mpmath.ncdf(-x * (1 - mpmath.mpf(10) ** -11))) + mpmath.log1p(
            mpmath.exp(e)
        )
        assert more > 0


def test_the_other_notions_are_charged_exactly() -> None:
    order = il.Filter(il.RenyiDP(5, 100))
    assert order.charge(il.ZCDP(0.25)) == il.RenyiDP(5, 1.25)
    assert order.charge(il.GaussianDP(0.5)) == il.RenyiDP(5, Fraction(5, 8))
    assert order.charge(il.TCDP(0.25, 5)) == il.RenyiDP(5, 1.25)
    assert order.charge(il.RenyiDP(7, 0.5)) == il.RenyiDP(5, 0.5)
    zcdp = il.Filter(il.ZCDP(9))
    assert zcdp.charge(il.GaussianDP(0.5)) == il.ZCDP(0.125)
    assert il.Filter(il.TCDP(9, 4)).charge(il.TCDP(1, 4)) == il.TCDP(1, 4)
    assert il.Filter(il.TCDP(9, 4)).charge(il.TCDP(1, 9)) == il.TCDP(1, 4)
    advanced = il.Filter(il.ApproxDP(3, 1e-6), "advanced")
    assert advanced.charge(il.ZCDP(0.01)) == il.ZCDP(0.01)
    rho = zcdp.charge(il.PureDP(0.5))
    assert advanced.charge(il.ApproxDP(0.5, 1e-9)) == il.compose([rho, il.ApproxDP(0, 1e-9)])
    several = il.compose([(il.ApproxDP(0.5, 1e-9), 3), il.GaussianDP(0.1)])
    found: Any = advanced.charge(several)
    assert found.parts[0] == (il.ApproxDP(0, 3e-9), 1)
    gaussian = il.Filter(il.GaussianDP(9), "gaussian")
    both = il.compose([(il.GaussianDP(0.5), 3), il.GaussianDP(2)])
    assert gaussian.charge(both) == both
    assert gaussian.charge(il.GaussianDP(2)) == il.GaussianDP(2)
    for rule in ("reach", "residue"):
        f = il.Filter(il.ApproxDP(3, 1e-6), rule)
        assert f.charge(both) == both
        assert f.charge(il.ApproxDP(1, 1e-8)) == il.ApproxDP(1, 1e-8)
        assert f.charge(several) == several
        assert f.charge(f.charge(several)) == several


UNPROVEN: list[tuple[Any, Any]] = [
    (il.ZCDP(1), il.ApproxDP(0.1, 1e-9)),
    (il.ZCDP(1), il.TCDP(0.1, 50)),
    (il.ZCDP(1), il.RenyiDP(50, 0.1)),
    (il.TCDP(1, 9), il.TCDP(0.1, 8)),
    (il.TCDP(1, 9), il.RenyiDP(50, 0.1)),
    (il.RenyiDP(9, 1), il.RenyiDP(8, 0.1)),
    (il.RenyiDP(9, 1), il.TCDP(0.1, 8)),
    (il.RenyiDP(9, 1), il.ApproxDP(0.1, 1e-9)),
    (il.GaussianDP(1), il.ZCDP(0.1)),
    (il.GaussianDP(1), il.ApproxDP(0.1, 1e-9)),
    (il.GaussianDP(1), DiscreteGaussian(100)),
]


@pytest.mark.parametrize(("budget", "child"), UNPROVEN)
def test_what_says_nothing_in_a_notion_is_refused_by_name(budget: Any, child: Any) -> None:
    rules = ("residue", "gaussian") if isinstance(budget, il.GaussianDP) else (None,)
    for rule in rules:
        f = il.Filter(budget, rule)
        with pytest.raises(il.Unproven, match=type(child).__name__):
            f.admit(child)
        assert f.spent == type(budget)(*_nothing(budget))
        with pytest.raises(il.ParameterError, match=r"^delta: is not used"):
            f.admit(child, delta=1e-9)


def _nothing(budget: Any) -> tuple[Any, ...]:
    match budget:
        case il.RenyiDP():
            return budget.alpha, 0
        case il.TCDP():
            return 0, budget.omega
        case _:
            return (0,)


@pytest.mark.parametrize("rule", ["reach", "residue", "basic"])
@pytest.mark.parametrize(
    "child", [il.ZCDP(0.004), il.TCDP(0.004, 90), il.RenyiDP(90, 0.1), DiscreteGaussian(100)]
)
def test_what_has_no_epsilon_of_its_own_is_committed_to_a_point(rule: str, child: Any) -> None:
    f = il.Filter(il.ApproxDP(3, 1e-6), rule)
    with pytest.raises(il.ParameterError, match=r"^delta: .*committed point"):
        f.admit(child)
    charged: Any = f.charge(child, 1e-8)
    assert charged.delta0 == Fraction(1, 10**8)
    assert charged.epsilon0 == Fraction(il.compose([child]).epsilon(1e-8))
    f.admit(child, 1e-8)


def test_privacy_losses_are_taken_for_what_they_say_most() -> None:
    reach, zcdp = il.Filter(il.ApproxDP(3, 1e-6)), il.Filter(il.ZCDP(9))
    order = il.Filter(il.RenyiDP(4, 9))
    laplace = DiscreteLaplace(10, shift=3)
    assert reach.charge(laplace) == il.PureDP(0.3)
    assert zcdp.charge(laplace) == zcdp.charge(il.PureDP(0.3))
    # One order has the loss's own divergence, which is less than that of the epsilon.
    own: Any = order.charge(laplace)
    assert (
        Fraction(laplace.renyi(4)) * Fraction(9999, 10000)
        <= own.epsilon0
        <= Fraction(laplace.renyi(4))
    )
    assert own.epsilon0 < order.charge(il.PureDP(0.3)).epsilon0  # type: ignore[union-attr]  # RenyiDP
    assert reach.charge(RandomisedResponse(0.5)) == il.PureDP(0.5)
    assert reach.charge(RoundedGaussian(10)) == il.GaussianDP(0.1)
    assert zcdp.charge(DiscreteGaussian(10)) == il.ZCDP(Fraction(1, 200))
    assert reach.charge(BoundedRange(0.5)) == il.PureDP(0.5)
    assert zcdp.charge(BoundedRange(0.5)) == il.ZCDP(Fraction(1, 32))
    gaussian = il.Filter(il.GaussianDP(1), "gaussian")
    assert gaussian.charge(il.compose([(RoundedGaussian(10), 4)])) == il.compose(
        [(il.GaussianDP(0.1), 4)]
    )
    pair = Pair(
        {"a": Fraction(2, 3), "b": Fraction(1, 3)}, {"a": Fraction(1, 3), "b": Fraction(2, 3)}
    )
    with mpmath.workdps(40):
        charged: Any = reach.charge(pair)
        assert _close_above(charged.epsilon0, mpmath.log(2), 1e-20)
    leaking = Pair({"a": Fraction(2, 3), "b": Fraction(1, 3)}, {"a": Fraction(1)})
    with pytest.raises(il.ParameterError, match=r"^delta: "):
        reach.charge(leaking)
    with pytest.raises(il.Unproven, match="Pair"):
        zcdp.charge(leaking)


def test_rules_and_parts_that_do_not_go_together_are_refused() -> None:
    both = il.ApproxDP(1, 1e-6)
    for rule in ("optimal", "kov", "PLD", "prv", "f-dp", "renyi-grid", "approximate-zcdp"):
        with pytest.raises(il.Unproven, match="is no filter"):
            il.Filter(both, rule)
    for budget, rule in (
        (il.GaussianDP(1), "reach"),
        (both, "renyi"),
        (il.RenyiDP(2, 1), "zcdp"),
        (il.TCDP(1, 3), "zcdp"),
    ):
        with pytest.raises(il.ParameterError, match=r"^rule: .*needs a budget of its notion"):
            il.Filter(budget, rule)
    with pytest.raises(il.ParameterError, match=r"^structural: "):
        il.Filter(both, structural=2e-6)
    with pytest.raises(il.ParameterError, match=r"^structural: .*not used"):
        il.Filter(both, "basic", structural=1e-7)
    with pytest.raises(il.ParameterError, match=r"^budget: .*below 1"):
        il.Filter(il.ApproxDP(1, 1))
    with pytest.raises(il.ParameterError, match=r"^spent: .*give state"):
        il.Filter(both, spent=il.ApproxDP(0.1, 0))
    f = il.Filter(both, "basic")
    with pytest.raises(il.ParameterError, match=r"^spent: "):
        il.Filter(both, "basic", spent=f.spent, state=f.state)
    assert il.Filter(both).structural == Fraction(1, 10**7)
    assert il.Filter(il.ApproxDP(1, 0)).rule == "basic"
    assert [il.Filter(b).rule for b in (il.ZCDP(1), il.TCDP(1, 2), il.RenyiDP(2, 1), il.GaussianDP(1))] == [
        "zcdp", "tcdp", "renyi", "residue",
    ]  # fmt: skip
