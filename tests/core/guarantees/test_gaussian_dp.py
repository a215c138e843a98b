"""Gaussian DP against its formula at many digits, and against what else is known of it."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.guarantees import ZCDP, GaussianDP, PureDP, to_zcdp
from interlace.core.interval import Interval
from tests.effort import examples


def _exactly(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def _tail(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def _profile(mu: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """FORMULAS 7.5 as written."""
    m, e = _exactly(mu), _exactly(epsilon)
    return _tail(e / m - m / 2) - mpmath.exp(e) * _tail(e / m + m / 2)


def _contains(found: Interval, exact: mpmath.mpf, slack: str = "0") -> bool:
    room = mpmath.mpf(slack)
    low, high = mpmath.mpf(str(found.lower)), mpmath.mpf(str(found.upper))
    return bool(low - room <= exact <= high + room)


_mus = st.floats(-12, 3).map(lambda x: Fraction(f"{10**x:.5g}"))
_places = st.floats(-6, 36)


@settings(max_examples=examples(80))
@given(_mus, _places)
def test_the_profile_is_the_formula(mu: Fraction, place: float) -> None:
    # epsilon by how many standard deviations it lies beyond the mean loss, mu^2 / 2.
    epsilon = max(Fraction(0), mu * mu / 2 + mu * Fraction(place))
    found = GaussianDP(mu).delta_enclosure(epsilon)
    with mpmath.workdps(400):
        exact = _profile(mu, epsilon)
        assert _contains(found, exact)
        assert found.upper - found.lower <= float(exact) * 1e-30 or exact < mpmath.mpf("1e-290")


@pytest.mark.parametrize("mu", ["1e-12", "1e-3", "0.1", "1", "7", "100", "1000"])
@pytest.mark.parametrize("delta", ["0.999", "0.5", "1e-6", "1e-15", "1e-50", "1e-300"])
def test_epsilon_is_where_the_formula_meets_delta(mu: str, delta: str) -> None:
    m, d = Fraction(mu), Fraction(delta)
    found = GaussianDP(m).epsilon_enclosure(d)
    with mpmath.workdps(400):
        if found.upper == 0:
            assert _profile(m, Fraction(0)) <= _exactly(d)
            return
        low, high = Fraction(found.lower), Fraction(found.upper)
        assert high - low <= high / 10**19
        assert _profile(m, high) <= _exactly(d) <= _profile(m, low)


@settings(max_examples=examples(60))
@given(_mus, st.floats(-300, 0).map(lambda x: Fraction(f"{10**x:.5g}")))
def test_both_ways_meet(mu: Fraction, delta: Fraction) -> None:
    g = GaussianDP(mu)
    found = g.epsilon_enclosure(delta)
    assert found.upper - found.lower <= found.upper / 10**19
    assert g.delta_enclosure(Fraction(found.upper)).upper <= Interval.of(delta).upper
    if found.lower > 0:
        assert g.delta_enclosure(Fraction(found.lower)).upper >= Interval.of(delta).lower


@pytest.mark.parametrize(
    ("sigma", "delta", "epsilon", "digits"),
    [
        # The noise of the analytic Gaussian mechanism, computed independently: FORMULAS 10.
        ("3.73063163482", "1e-5", 1, 11),
        ("0.49988862", "1e-5", 10, 7),
    ],
)
def test_the_noise_of_the_analytic_mechanism(
    sigma: str, delta: str, epsilon: float, digits: int
) -> None:
    found = GaussianDP(1 / Fraction(sigma)).epsilon(Fraction(delta))
    assert found == pytest.approx(epsilon, rel=10**-digits * 5)


@settings(max_examples=examples(60))
@given(_mus, st.floats(1, 1e6), st.integers(1, 10**6))
def test_orders_and_groups_are_those_of_its_zcdp(mu: Fraction, alpha: float, size: int) -> None:
    g, z = GaussianDP(mu), ZCDP(mu * mu / 2)
    assert to_zcdp(g) == z
    assert g.renyi(alpha) == z.renyi(alpha)
    assert g.group(size) == GaussianDP(mu * size)
    assert to_zcdp(g.group(size)) == z.group(size)


@settings(max_examples=examples(40))
@given(
    st.floats(-3, 2).map(lambda x: Fraction(f"{10**x:.5g}")),
    st.floats(-200, -0.01).map(lambda x: Fraction(f"{10**x:.5g}")),
)
def test_it_says_more_than_its_zcdp_and_no_more_than_pure(mu: Fraction, delta: Fraction) -> None:
    # Blackwell: the converse is false. And pure DP is the stronger where the tail meets it:
    # the smallest mu of a pure epsilon is 2 quantile(e^eps / (1 + e^eps)), FORMULAS 7.5.
    g = GaussianDP(mu)
    assert g.epsilon(delta) <= ZCDP(mu * mu / 2).epsilon(delta)
    with mpmath.workdps(40):
        odds = _tail(-_exactly(mu) / 2) / _tail(_exactly(mu) / 2)
        pure = PureDP(Fraction(str(mpmath.log(odds))) * (1 - Fraction(1, 10**20)))
    for part in (Fraction(0), Fraction(1, 3), Fraction(9, 10)):
        assert g.delta(pure.epsilon0 * part) >= pure.delta(pure.epsilon0 * part)


def test_its_ends() -> None:
    assert GaussianDP(1).renyi(1) == 0.5
    assert GaussianDP(1).renyi(math.inf) == math.inf
    assert GaussianDP(1).epsilon(0) == math.inf
    assert GaussianDP(1).epsilon(1) == 0
    nothing = GaussianDP(0)
    assert nothing.epsilon(0) == nothing.delta(0) == nothing.renyi(math.inf) == 0
    assert 0 < GaussianDP(1e-300).delta(0) < 1e-300
    assert 0 < GaussianDP(1e12).epsilon(1e-6) < math.inf
    assert GaussianDP(1e300).delta(1) == 1
