"""Plans and scales of noise: what is found fits, and what is a little larger does not."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlace as il
from interlace.core.composition.boundary import Tried, boundary
from interlace.core.composition.planning import fits
from interlace.core.guarantees import Notion
from tests.effort import examples

#: How much larger one must be that does not fit any more.
BEYOND = 1 + Fraction(2, 10**12)

CHANGE = il.Relation.CHANGE_ONE

PLANS: list[tuple[Notion, Callable[[Fraction | float], Notion], int]] = [
    (il.PureDP(1), il.PureDP, 3),
    (il.ApproxDP(1, 1e-6), il.PureDP, 100),
    (il.ApproxDP(1, 1e-6), il.PureDP, 10**6),
    (il.ApproxDP(0.5, 1e-9), il.GaussianDP, 60),
    (il.ApproxDP(2, 1e-5), il.ZCDP, 20),
    (il.ZCDP(0.5), il.PureDP, 7),
    (il.ZCDP(0.5), il.GaussianDP, 7),
    (il.GaussianDP(1), il.GaussianDP, 3),
    (il.GaussianDP(1), il.PureDP, 4),
    (il.RenyiDP(8, 1), il.PureDP, 5),
    (il.TCDP(1, 8), il.ZCDP, 5),
]


def parameter(guarantee: Notion) -> Fraction:
    match guarantee:
        case il.PureDP() | il.ApproxDP() | il.RenyiDP():
            return guarantee.epsilon0
        case il.ZCDP() | il.TCDP():
            return guarantee.rho
        case il.GaussianDP():
            return guarantee.mu


@pytest.mark.parametrize(("budget", "shape", "count"), PLANS)
def test_what_is_found_fits_and_a_little_more_does_not(
    budget: Notion, shape: Callable[[Fraction | float], Notion], count: int
) -> None:
    found: Notion = il.plan(budget, shape, count)
    assert fits(budget, il.compose([(found, count)]))
    larger = shape(parameter(found) * BEYOND)
    assert not fits(budget, il.compose([(larger, count)]))


@settings(max_examples=examples(25), deadline=None)
@given(
    st.fractions(Fraction(1, 100), 8, max_denominator=1000),
    st.integers(1, 12),
    st.integers(1, 60),
)
def test_any_budget_is_filled(epsilon: Fraction, digits: int, count: int) -> None:
    budget = il.ApproxDP(epsilon, Fraction(1, 10**digits))
    found = il.plan(budget, il.PureDP, count)
    together = il.compose([(found, count)])
    assert Fraction(together.epsilon_enclosure(budget.delta0).upper) <= epsilon
    larger = il.PureDP(found.epsilon0 * BEYOND)
    assert il.compose([(larger, count)]).epsilon_enclosure(budget.delta0).upper > epsilon


def test_exact_plans_are_round() -> None:
    assert il.plan(il.PureDP(1), il.PureDP, 10) == il.PureDP(0.1)
    assert il.plan(il.PureDP(0.3), il.PureDP, 3) == il.PureDP(0.1)
    assert il.plan(il.ZCDP(0.5), il.GaussianDP, 4) == il.GaussianDP(0.5)
    assert il.plan(il.GaussianDP(1), il.GaussianDP, 100) == il.GaussianDP(0.1)


def test_a_plan_inverts_the_known_composition() -> None:
    # FORMULAS 10: 100 x (0.1, 1e-8) at 1e-5 is 4.32963671401661.
    budget = il.ApproxDP(Fraction("4.32963671401661"), 1e-5)
    found = il.plan(budget, il.ApproxDP, 100, delta=1e-8)
    assert float(found.epsilon0) == pytest.approx(0.1, rel=1e-13)
    assert found.delta0 == Fraction(1, 10**8)
    # and of 60 Gaussians of sigma 20 at 0.002 it is 0.902939643006.
    gaussian = il.plan(il.ApproxDP(Fraction("0.902939643006"), 0.002), il.GaussianDP, 60)
    assert float(gaussian.mu) == pytest.approx(1 / 20, rel=1e-11)


def test_a_mechanism_is_planned_by_its_noise_in_either_direction() -> None:
    budget = il.ApproxDP(1, 1e-6)
    by_noise = il.plan(budget, lambda s: il.mechanisms.Gaussian(sigma=s, answers=20), 5)
    by_loss = il.plan(budget, lambda rho: il.mechanisms.Gaussian(rho=rho, answers=20), 5)
    assert fits(budget, il.compose([(by_noise, 5)]))
    assert fits(budget, il.compose([(by_loss, 5)]))
    assert float(by_noise.sigma) == pytest.approx(float(by_loss.sigma), rel=1e-11)
    less = il.mechanisms.Gaussian(sigma=by_noise.sigma / BEYOND, answers=20)
    assert not fits(budget, il.compose([(less, 5)]))


def test_a_loss_that_is_known_exactly_is_planned_by_it() -> None:
    budget = il.ApproxDP(1, 1e-6)
    found = il.plan(budget, lambda s: il.losses.DiscreteLaplace(s, 2), 10, grows=False)
    assert fits(budget, il.compose([(found, 10)]))
    less = il.losses.DiscreteLaplace(found.scale / BEYOND, 2)
    assert not fits(budget, il.compose([(less, 10)]))
    # Better than the pure loss by itself.
    assert 2 / found.scale > il.plan(budget, il.PureDP, 10).epsilon0


def test_orders_are_those_of_the_budget() -> None:
    assert il.plan(il.RenyiDP(8, 1), il.RenyiDP, 4) == il.RenyiDP(8, 0.25)
    assert il.plan(il.TCDP(1, 8), il.TCDP, 4) == il.TCDP(0.25, 8)
    with pytest.raises(il.ParameterError, match="order"):
        il.plan(il.ApproxDP(1, 1e-6), il.RenyiDP, 4)


def test_neighbours_are_those_of_the_budget() -> None:
    budget = il.PureDP(1, relation=CHANGE)
    assert il.plan(budget, il.PureDP, 2) == il.PureDP(0.5, relation=CHANGE)
    with pytest.raises(il.RelationMismatch):
        il.plan(budget, il.losses.RandomisedResponse, 2)


def test_what_nothing_or_everything_fits_is_refused() -> None:
    with pytest.raises(il.ParameterError, match="however small"):
        il.plan(il.ApproxDP(1, 1e-6), il.ApproxDP, 100, delta=1e-7)
    with pytest.raises(il.ParameterError, match="every one"):
        il.plan(il.ApproxDP(1, 1), il.GaussianDP, 2)
    assert il.plan(il.PureDP(0), il.PureDP, 5) == il.PureDP(0)


def test_arguments_are_read_strictly() -> None:
    budget = il.ApproxDP(1, 1e-6)
    with pytest.raises(il.ParameterError, match="delta"):
        il.plan(budget, il.ApproxDP, 3)  # type: ignore[arg-type]  # what is refused
    with pytest.raises(il.ParameterError, match="delta"):
        il.plan(budget, il.PureDP, 3, delta=0.1)  # type: ignore[arg-type]  # what is refused
    with pytest.raises(il.ParameterError, match="count"):
        il.plan(budget, il.PureDP, 0)
    with pytest.raises(il.ParameterError, match="shape"):
        il.plan(budget, lambda x: x, 2)  # type: ignore[type-var]  # what is refused
    with pytest.raises(il.ParameterError, match="grows"):
        il.plan(budget, lambda _: il.PureDP(1), 2)
    with pytest.raises(il.ParameterError, match="budget"):
        il.plan(il.compose([]), il.PureDP, 2)  # type: ignore[call-overload]  # what is refused
    with pytest.raises(il.Unproven):
        il.plan(il.ZCDP(1), lambda x: il.ApproxDP(x, 1e-9), 2)


def test_a_shape_with_a_domain_of_its_own_is_planned_within_it() -> None:
    def narrow(x: float) -> il.PureDP:
        if not 3000 <= x <= 5000:
            raise il.ParameterError("x", "must be between 3000 and 5000")
        return il.PureDP(Fraction(x) / 10**6)

    assert float(il.plan(il.PureDP(1), narrow, 220, grows=True).epsilon0) == pytest.approx(
        1 / 220, rel=1e-12
    )
    # All of them fit: the largest that is allowed.
    assert float(il.plan(il.PureDP(1), narrow, 2, grows=True).epsilon0) == pytest.approx(
        0.005, rel=1e-12
    )


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"), [(1, 1e-5, 3.73063163482), (10, 1e-5, 0.49988862)]
)
def test_the_gaussian_scale_is_the_known_one(epsilon: int, delta: float, sigma: float) -> None:
    assert il.scales.gaussian(epsilon, delta) == pytest.approx(sigma, rel=3e-9)


def gaussian_delta(sigma: Fraction, epsilon: float) -> mpmath.mpf:
    # FORMULAS 7.5, to 60 digits.
    with mpmath.workdps(60):
        mu = mpmath.mpf(sigma.denominator) / sigma.numerator
        above = mpmath.ncdf(-epsilon / mu + mu / 2)
        return above - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


@pytest.mark.parametrize("epsilon", [0, 0.01, 1, 20])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-40])
def test_the_gaussian_scale_meets_the_target_and_less_does_not(
    epsilon: float, delta: float
) -> None:
    found = Fraction(il.scales.gaussian(epsilon, delta))
    assert gaussian_delta(found, epsilon) <= delta
    assert gaussian_delta(found / BEYOND, epsilon) > delta


def discrete_delta(weight: Callable[[int], mpmath.mpf], epsilon: float, shift: int) -> mpmath.mpf:
    """The sum over all integers that matter of (P(z) - e^epsilon P(z + shift))+."""
    total = sum(weight(z) for z in range(-400, 401))
    above = (weight(z) - mpmath.exp(epsilon) * weight(z + shift) for z in range(-400, 401))
    return sum(x for x in above if x > 0) / total


@pytest.mark.parametrize(
    ("epsilon", "delta", "shift"), [(1, 1e-5, 1), (3, 1e-4, 2), (0.5, 1e-2, 3)]
)
def test_discrete_scales_meet_the_target_and_less_does_not(
    epsilon: float, delta: float, shift: int
) -> None:
    with mpmath.workdps(40):

        def gauss(scale: Fraction) -> mpmath.mpf:
            s = mpmath.mpf(scale.numerator) / scale.denominator
            return discrete_delta(lambda z: mpmath.exp(-z * z / (2 * s * s)), epsilon, shift)

        def laplace(scale: Fraction) -> mpmath.mpf:
            s = mpmath.mpf(scale.numerator) / scale.denominator
            return discrete_delta(lambda z: mpmath.exp(-abs(z) / s), epsilon, shift)

        sigma = Fraction(il.scales.discrete_gaussian(epsilon, delta, shift))
        assert gauss(sigma) <= delta < gauss(sigma / BEYOND)
        scale = Fraction(il.scales.discrete_laplace(epsilon, delta, shift))
        assert laplace(scale) <= delta < laplace(scale / BEYOND)


def test_pure_laplace_scales_are_sensitivity_over_epsilon() -> None:
    assert il.scales.discrete_laplace(0.5) == 2.0
    assert il.scales.discrete_laplace(0.1, sensitivity=3) == 30.0
    third = il.scales.discrete_laplace(3)
    assert Fraction(1, 3) <= Fraction(third) < Fraction(1, 3) * BEYOND


def test_a_scale_is_safe_in_binary_and_in_decimals() -> None:
    for epsilon in (0.3, 0.7, 1.1, 3):
        found = il.scales.gaussian(epsilon, 1e-6)
        for reading in (Fraction(found), Fraction(repr(found))):
            assert il.GaussianDP(1 / reading).delta(epsilon) <= 1e-6


def test_scales_that_are_not_there_are_refused() -> None:
    for noise in (il.scales.gaussian, il.scales.discrete_gaussian):
        with pytest.raises(il.ParameterError, match="epsilon"):
            noise(1, 0)
    with pytest.raises(il.ParameterError, match="epsilon"):
        il.scales.discrete_laplace(0, 0)
    for bad in (-1, math.nan, math.inf):
        with pytest.raises(il.ParameterError, match="epsilon"):
            il.scales.gaussian(bad, 1e-6)
        with pytest.raises(il.ParameterError, match="sensitivity"):
            il.scales.gaussian(1, 1e-6, sensitivity=bad)
    with pytest.raises(il.ParameterError, match="delta"):
        il.scales.gaussian(1, 2)


@given(st.floats(1e-200, 1e200), st.booleans(), st.booleans())
def test_a_boundary_is_found_to_its_precision(edge: float, grows: bool, told: bool) -> None:
    def trial(x: float) -> Tried[float]:
        ahead = math.log(x) - math.log(edge) if grows else math.log(edge) - math.log(x)
        return Tried(x, x <= edge if grows else x >= edge, ahead if told else None)

    found = boundary(trial, grows=grows)
    assert found is not None
    assert found.reached
    assert trial(found.at).fits
    worse = found.at * (1 + 2e-12) if grows else found.at / (1 + 2e-12)
    assert not trial(worse).fits
