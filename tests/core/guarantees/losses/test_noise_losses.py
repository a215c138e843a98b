"""Losses of integer noise against sums over all outcomes, and the numbers that are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.guarantees.losses import (
    Direction,
    DiscreteGaussian,
    DiscreteLaplace,
    RoundedGaussian,
)
from interlace.core.guarantees.losses.lattice import integer_tail, normal_tail
from interlace.core.interval import Interval
from tests.core.guarantees.losses.referee import Noise, gaussian, holds, laplace, mp, rounded
from tests.effort import examples

_scales = st.fractions(Fraction(1, 5), 6, max_denominator=100)
_shifts = st.integers(1, 7)


def _gauss(mu: float, epsilon: float) -> float:
    with mpmath.workdps(40):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return float(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))


@settings(max_examples=examples(15), deadline=None)
@given(_scales, _shifts, st.floats(0, 1).map(Fraction))
def test_delta_of_a_discrete_laplace_is_the_sum(scale: Fraction, shift: int, at: Fraction) -> None:
    epsilon = at * shift / scale
    with mpmath.workdps(70):
        exact = laplace(scale).delta(shift, epsilon)
        found = DiscreteLaplace(scale, shift).delta_enclosure(epsilon)
        if exact < 1e-30:
            assert found.upper < Decimal("2e-30")
        else:
            holds(found, exact, 1e-25)


@settings(max_examples=examples(15), deadline=None)
@given(_scales, _shifts, st.floats(0, 30).map(Fraction))
def test_delta_of_the_gaussians_is_the_sum(sigma: Fraction, shift: int, above: Fraction) -> None:
    epsilon = above * shift / sigma
    with mpmath.workdps(70):
        exact = gaussian(sigma).delta(shift, epsilon)
        holds(DiscreteGaussian(sigma, shift).delta_enclosure(epsilon), exact, 1e-35)
    with mpmath.workdps(70):
        exact = rounded(sigma).delta(shift, epsilon)
        holds(RoundedGaussian(sigma, shift).delta_enclosure(epsilon), exact, 1e-25)


@settings(max_examples=examples(10), deadline=None)
@given(_scales, st.integers(1, 4), st.one_of(st.just(1), st.floats(1.001, 20)).map(Fraction))
def test_divergences_are_the_sums(scale: Fraction, shift: int, alpha: Fraction) -> None:
    far = int(alpha * shift) + 1
    with mpmath.workdps(90):
        exact = laplace(scale, far).renyi(shift, alpha)
        holds(DiscreteLaplace(scale, shift).renyi_enclosure(alpha), exact, 1e-25)
        exact = gaussian(scale, far).renyi(shift, alpha)
        holds(DiscreteGaussian(scale, shift).renyi_enclosure(alpha), exact, 1e-25)


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(3), Fraction(15)])
@pytest.mark.parametrize("alpha", [1, Fraction(3, 2), 8])
def test_divergences_of_a_rounded_gaussian_are_the_sums(sigma: Fraction, alpha: Fraction) -> None:
    with mpmath.workdps(70):
        exact = Noise(rounded(sigma).weight, range(-260, 261)).renyi(2, Fraction(alpha))
        holds(RoundedGaussian(sigma, 2).renyi_enclosure(Fraction(alpha)), exact, 1e-25)


def test_wide_rounded_gaussians_have_nearly_the_divergence_of_a_gaussian() -> None:
    for sigma, shift, alpha in ((40, 3, 2), (5000, 7, 1), (2**35, 10**6, 5), (10**6, 1, 10**9)):
        found = RoundedGaussian(sigma, shift).renyi_enclosure(Fraction(alpha))
        exact = Fraction(alpha * shift**2, 2 * sigma**2)
        # Rounding adds 1/12 to the variance, the blocks of the lower end a little more.
        assert found.contains(exact / (1 + Fraction(1, 12 * sigma**2)))
        assert found.upper >= Interval.of(exact).lower * (1 - Decimal("1e-6"))
        assert found.lower >= Interval.of(exact).lower * Decimal("0.999") or alpha > 10**6


@pytest.mark.parametrize(
    ("loss", "noise"),
    [
        (DiscreteGaussian, gaussian),
        (RoundedGaussian, rounded),
    ],
)
@pytest.mark.parametrize(
    ("sigma", "shift", "delta"),
    [
        (Fraction(1), 1, "1e-10"),
        (Fraction(1), 1, "1e-300"),
        (Fraction(10), 3, "1e-6"),
        (Fraction(1, 2), 2, "1e-50"),
        (Fraction(66), 1, "1e-15"),
        (Fraction(66), 90, "0.3"),
    ],
)
def test_epsilon_gives_delta_back(
    loss: Callable[[Fraction, int], DiscreteGaussian | RoundedGaussian],
    noise: Callable[[Fraction], Noise],
    sigma: Fraction,
    shift: int,
    delta: str,
) -> None:
    found = loss(sigma, shift).epsilon_enclosure(Fraction(delta))
    assert 0 < found.upper - found.lower < Decimal("1e-25")
    with mpmath.workdps(80):
        target = mp(Fraction(delta))
        law = noise(sigma)
        for end in (found.lower, found.upper):
            assert abs(law.delta(shift, Fraction(end)) / target - 1) < 1e-18


@pytest.mark.parametrize(
    ("scale", "shift", "delta"), [(1, 1, "1e-10"), (10, 7, "0.01"), (Fraction(3, 2), 40, "1e-12")]
)
def test_epsilon_of_a_discrete_laplace_gives_delta_back(
    scale: Fraction, shift: int, delta: str
) -> None:
    found = DiscreteLaplace(scale, shift).epsilon_enclosure(Fraction(delta))
    with mpmath.workdps(70):
        exact = laplace(Fraction(scale)).delta(shift, Fraction(found.upper))
        assert abs(exact / mp(Fraction(delta)) - 1) < 1e-18


def test_the_known_numbers() -> None:
    # One discrete Laplace answer at epsilon 1, against 0.3935 and 0.3679 of continuous noise.
    one = DiscreteLaplace(1)
    assert round(one.delta(0), 4) == round(one.renyi(1), 4) == 0.4621
    # The discrete Gaussian at sigma 1, and the continuous curve, which is too small.
    assert round(DiscreteGaussian(1).delta(0.024), 4) == 0.3916
    assert round(_gauss(1, 0.024), 4) == 0.3755
    # rho is the same, and exact at integers.
    assert DiscreteGaussian(2, 3).renyi(5) == 5 * 9 / 8
    assert DiscreteGaussian(2, 3).renyi(1) == 9 / 8


@pytest.mark.parametrize("sigma", [0.7, 1, 2, 5, 40])
def test_a_rounded_gaussian_is_a_gaussian_guarantee_and_a_discrete_one_is_none(
    sigma: float,
) -> None:
    discrete, rounding = DiscreteGaussian(sigma), RoundedGaussian(sigma)
    assert rounding.mu == 1 / Fraction(repr(sigma))
    mu = 1 / sigma
    above = [
        discrete.delta(e) > _gauss(mu, e) * (1 + 1e-12) for e in (0, mu / 40, mu / 3, mu, 3 * mu)
    ]
    assert any(above) or sigma > 5
    for e in (0.0, mu / 40, mu / 3, mu, 3 * mu, 9 * mu):
        assert rounding.delta(e) <= _gauss(mu, e) * (1 + 1e-12)


@settings(max_examples=examples(30), deadline=None)
@given(
    st.one_of(
        st.fractions(65, 300, max_denominator=9),
        st.fractions(Fraction(1, 4), 64, max_denominator=9),
    ),
    st.floats(0.1, 38),
)
def test_tails_on_the_integers_are_enclosed(sigma: Fraction, t: float) -> None:
    m = max(1, int(t * sigma))
    with mpmath.workdps(70):
        s = mp(sigma)
        total = mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * s * s)))
        step = mpmath.exp(-1 / (s * s))
        weight, ratio = mpmath.exp(-((m / s) ** 2) / 2), mpmath.exp(-(2 * m + 1) / (2 * s * s))
        value = mpmath.mpf(0)
        for _ in range(int(18 * sigma) + 20):
            value, weight, ratio = value + weight, weight * ratio, ratio * step
        holds(integer_tail(sigma, m), value / total, 1e-25)


@settings(max_examples=examples(60))
@given(st.floats(-30, 40).map(Fraction))
def test_normal_tails_are_enclosed(t: Fraction) -> None:
    with mpmath.workdps(80):
        holds(normal_tail(t), mpmath.erfc(mp(t) / mpmath.sqrt(2)) / 2, 1e-30)


@pytest.mark.parametrize("kind", [DiscreteGaussian, RoundedGaussian])
def test_extreme_gaussians_stay_on_the_safe_side(
    kind: Callable[..., DiscreteGaussian | RoundedGaussian],
) -> None:
    for sigma, shift in ((2**40, 1), (2**30, 2**40), (Fraction(1, 2000), 1)):
        loss = kind(sigma, shift)
        for epsilon in (0, 1e-12, 1.0, 1e4, 1e12, 1e300):
            assert 0 <= loss.delta(epsilon) <= 1
        for delta in (1e-300, 1e-6, 0.5, 1 - 1e-12):
            epsilon = loss.epsilon(delta)
            assert loss.delta(epsilon) <= delta * (1 + 1e-9)
        assert loss.epsilon(0) == loss.renyi(math.inf) == math.inf
        assert loss.renyi(1) <= loss.renyi(2) <= loss.renyi(1e300)
    assert kind(1).epsilon(Fraction(1, 10**900)) > kind(1).epsilon(1e-300)
    assert kind(1).epsilon(1) == kind(1).epsilon(0.9) == 0
    one = kind(1)
    assert one.profile(Direction.ADD, Fraction(1)) == one.profile(Direction.REMOVE, Fraction(1))


def test_extreme_laplaces_stay_on_the_safe_side() -> None:
    for scale, shift in ((2**40, 1), (1, 10**12), (Fraction(1, 2**30), 1), (2**40, 2**62)):
        loss = DiscreteLaplace(scale, shift)
        largest = Fraction(shift) / scale
        for at in (0, Fraction(1, 2), 1 - Fraction(1, 10**9), 1, 7):
            assert 0 <= loss.delta(largest * at) <= 1
        for delta in (0, 1e-300, 1e-6, 0.5):
            assert loss.delta(loss.epsilon(delta)) <= delta * (1 + 1e-9) + 1e-40
        assert Fraction(loss.epsilon(0)) >= largest
        assert loss.delta(largest) == 0
        assert loss.renyi(1) <= loss.renyi(2) <= loss.renyi(1e300) <= loss.renyi(math.inf)
        assert Fraction(loss.renyi(2)) <= largest * largest + Fraction(1, 10**40)
