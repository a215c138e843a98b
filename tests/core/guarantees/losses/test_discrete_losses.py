"""Discrete Laplace and discrete Gaussian losses against sums of 60 digits, and known numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.guarantees.losses import DiscreteGaussian, DiscreteLaplace
from interlace.core.interval import Interval
from tests.effort import examples

Weight = Callable[[int], mpmath.mpf]


def _mp(x: Fraction | int) -> mpmath.mpf:
    return mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator


def _gaussian(sigma: Fraction) -> tuple[Weight, range]:
    return lambda z: mpmath.exp(-((z / _mp(sigma)) ** 2) / 2), _around(int(42 * sigma) + 3)


def _laplace(scale: Fraction) -> tuple[Weight, range]:
    return lambda z: mpmath.exp(-abs(z) / _mp(scale)), _around(int(160 * scale) + 3)


def _around(reach: int) -> range:
    return range(-reach, reach + 1)


def _delta(law: tuple[Weight, range], shift: int, epsilon: Fraction) -> mpmath.mpf:
    """The hockey stick as the sum over all outcomes, each term by itself."""
    weight, noise = law
    x = mpmath.exp(_mp(epsilon))
    total = mpmath.fsum(weight(z) for z in noise)
    terms = (weight(z) - x * weight(z + shift) for z in noise)
    return mpmath.fsum(t for t in terms if t > 0) / total


def _renyi(law: tuple[Weight, range], shift: int, alpha: Fraction) -> mpmath.mpf:
    weight, noise = law
    a = _mp(alpha)
    outcomes = range(noise[0], noise[-1] + shift + 1)
    total = mpmath.fsum(weight(z) for z in outcomes)
    return mpmath.log(
        mpmath.fsum(weight(z - shift) ** a * weight(z) ** (1 - a) for z in outcomes) / total
    ) / (a - 1)


def _holds(found: Interval, exact: mpmath.mpf, width: str) -> None:
    low, high = mpmath.mpf(str(found.lower)), mpmath.mpf(str(found.upper))
    slack = abs(exact) * mpmath.mpf("1e-55")
    assert low - slack <= exact <= high + slack
    assert high - low <= abs(exact) * mpmath.mpf(width)


@settings(max_examples=examples(25))
@given(
    st.fractions(Fraction(1, 5), 12, max_denominator=100),
    st.integers(1, 9),
    st.floats(0, 1).map(Fraction),
)
def test_delta_of_a_discrete_laplace_is_the_sum(scale: Fraction, shift: int, at: Fraction) -> None:
    epsilon = at * shift / scale
    with mpmath.workdps(70):
        exact = _delta(_laplace(scale), shift, epsilon)
        found = DiscreteLaplace(scale, shift).delta_enclosure(epsilon)
        if exact < mpmath.mpf("1e-60"):
            assert found.upper < 1e-57
        else:
            _holds(found, exact, str(mpmath.mpf("1e-50") / exact))


@settings(max_examples=examples(25))
@given(
    st.fractions(Fraction(1, 5), 9, max_denominator=100),
    st.integers(1, 9),
    st.floats(0, 30).map(Fraction),
)
def test_delta_of_a_discrete_gaussian_is_the_sum(
    sigma: Fraction, shift: int, above: Fraction
) -> None:
    epsilon = above * shift / sigma
    with mpmath.workdps(70):
        exact = _delta(_gaussian(sigma), shift, epsilon)
        _holds(DiscreteGaussian(sigma, shift).delta_enclosure(epsilon), exact, "1e-40")


@settings(max_examples=examples(20))
@given(
    st.fractions(Fraction(1, 3), 6, max_denominator=20),
    st.integers(1, 5),
    st.floats(1.001, 40).map(Fraction),
)
def test_renyi_divergences_are_the_sums(scale: Fraction, shift: int, alpha: Fraction) -> None:
    with mpmath.workdps(90):
        weight, _ = _laplace(scale)
        wide = _around(int(160 * scale * alpha) // 20 + shift + int(140 * scale) + 3)
        exact = _renyi((weight, wide), shift, alpha)
        found = DiscreteLaplace(scale, shift).renyi_enclosure(alpha)
        _holds(found, exact, "1e-30")
        weight, noise = _gaussian(scale)
        reach = noise[-1] + int(alpha * shift) + 1
        exact = _renyi((weight, _around(reach)), shift, alpha)
        found = DiscreteGaussian(scale, shift).renyi_enclosure(alpha)
        _holds(found, exact, "1e-28")


@pytest.mark.parametrize(
    ("sigma", "shift", "delta"),
    [(1, 1, 1e-10), (1, 1, 1e-300), (10, 3, 1e-6), (Fraction(1, 2), 2, 1e-50), (50, 1, 1e-15)],
)
def test_epsilon_of_a_discrete_gaussian_gives_delta_back(
    sigma: Fraction, shift: int, delta: float
) -> None:
    found = DiscreteGaussian(sigma, shift).epsilon_enclosure(Fraction(repr(delta)))
    with mpmath.workdps(70):
        target = _mp(Fraction(repr(delta)))
        law = _gaussian(Fraction(sigma))
        for end in (found.lower, found.upper):
            # d delta/d epsilon is at most e^epsilon times a tail: far below 1e30 delta here.
            assert abs(_delta(law, shift, Fraction(end)) / target - 1) < mpmath.mpf("1e-20")


def test_the_known_numbers() -> None:
    # One discrete Laplace answer at epsilon 1, against 0.3935 and 0.3679 of continuous noise.
    one = DiscreteLaplace(1)
    assert round(one.delta(0), 4) == round(one.renyi(1), 4) == 0.4621
    # The discrete Gaussian at sigma 1, and the continuous curve, which is too small.
    assert round(DiscreteGaussian(1).delta(0.024), 4) == 0.3916
    continuous = mpmath.ncdf(0.476) - mpmath.exp(0.024) * mpmath.ncdf(-0.524)
    assert round(float(continuous), 4) == 0.3755
