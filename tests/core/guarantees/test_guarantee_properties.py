"""What every guarantee promises: monotone curves, and conversions that are never too good."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import mpmath
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.guarantees import (
    TCDP,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
)
from interlace.core.guarantees.enclosures import (
    expm1,
    loss_up,
    minus_log_one_minus,
    one_minus_exp,
    shorten_down,
    shorten_up,
)
from interlace.core.guarantees.normal import Gaussian, tail
from interlace.core.interval import Interval
from tests.effort import examples

_sizes = st.floats(-12, 3).map(lambda x: float(f"{10**x:.3g}"))
_deltas = st.one_of(
    st.floats(-300, 0).map(lambda x: 10**x), st.floats(0.001, 0.999), st.sampled_from([0.0, 1.0])
)
_orders = st.floats(1, 5).map(lambda x: float(f"{10**x:.3g}"))
_guarantees: st.SearchStrategy[Guarantee] = st.one_of(
    _sizes.map(PureDP),
    st.builds(ApproxDP, _sizes, _deltas),
    _sizes.map(ZCDP),
    st.builds(RenyiDP, _orders, _sizes),
    st.builds(TCDP, _sizes, _orders),
    _sizes.map(GaussianDP),
)


@settings(max_examples=examples(150))
@given(_guarantees, _deltas, _deltas)
def test_epsilon_does_not_increase_in_delta(g: Guarantee, first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert g.epsilon(low) >= g.epsilon(high) * (1 - 1e-15)


@settings(max_examples=examples(150))
@given(_guarantees, st.floats(0, 100), st.floats(0, 100))
def test_delta_does_not_increase_in_epsilon(g: Guarantee, first: float, second: float) -> None:
    low, high = sorted((first, second))
    assert g.delta(low) >= g.delta(high) * (1 - 1e-14)


@settings(max_examples=examples(150))
@given(_guarantees, _deltas)
def test_the_two_directions_fit_together(g: Guarantee, delta: float) -> None:
    epsilon = g.epsilon(delta)
    if math.isfinite(epsilon):
        assert g.delta(epsilon) <= delta * (1 + 1e-9) + 1e-320


@settings(max_examples=examples(100))
@given(_guarantees, st.floats(1, 1e6), st.floats(1, 1e6), st.integers(2, 9))
def test_renyi_and_groups_only_grow(g: Guarantee, a: float, b: float, size: int) -> None:
    low, high = sorted((a, b))
    assert g.renyi(low) <= g.renyi(high) * (1 + 1e-14)
    assert g.group(size).epsilon(0.01) >= g.epsilon(0.01)
    assert g.group(size).delta(0.5) >= g.delta(0.5)


@settings(max_examples=examples(60))
@given(st.floats(0.01, 8), st.floats(1e-9, 0.5))
def test_zcdp_never_beats_a_mechanism_that_has_it(epsilon: float, delta: float) -> None:
    # Randomised response at epsilon is exactly epsilon * tanh(epsilon / 2)-zCDP, and the
    # Gaussian mechanism is zCDP; both have closed profiles.
    zcdp = ZCDP(epsilon * math.tanh(epsilon / 2) * (1 + 1e-12))
    assert zcdp.epsilon(delta) >= PureDP(epsilon).epsilon(delta)
    mu = math.sqrt(2 * float(zcdp.rho)) * (1 - 1e-12)
    for at in (0.0, epsilon / 2, epsilon, 2 * epsilon):
        with mpmath.workdps(40):
            gauss = mpmath.ncdf(mu / 2 - at / mu) - mpmath.exp(at) * mpmath.ncdf(-mu / 2 - at / mu)
        assert zcdp.delta(at) >= gauss


@settings(max_examples=examples(100))
@given(st.floats(-200, 3).map(lambda x: Fraction(10**x)))
def test_helpers_enclose_without_losing_digits(x: Fraction) -> None:
    with mpmath.workdps(400):
        value = mpmath.mpf(x.numerator) / x.denominator
        cases = [(one_minus_exp, -mpmath.expm1(-value)), (expm1, mpmath.expm1(value))]
        if x < Fraction(9, 10):
            cases.append((minus_log_one_minus, -mpmath.log1p(-value)))
        for helper, exact in cases:
            found = helper(Interval.of(x))
            low, high = mpmath.mpf(str(found.lower)), mpmath.mpf(str(found.upper))
            assert low <= exact <= high
            assert high - low <= exact * mpmath.mpf("1e-45")


@settings(max_examples=examples(200))
@given(st.fractions(0, 10**9, max_denominator=10**30), st.integers(4, 200))
def test_rounding_helpers_keep_their_side(value: Fraction, bits: int) -> None:
    up, down = shorten_up(value, bits), shorten_down(value, bits)
    assert down <= value <= up
    assert up <= value * (1 + Fraction(1, 2 ** (bits - 1)))
    assert down >= value * (1 - Fraction(1, 2 ** (bits - 2)))
    found = loss_up(value)
    assert Fraction(found) >= value
    assert Fraction(repr(found)) >= value


@settings(max_examples=examples(40))
@given(st.floats(-40, 60), st.floats(-12, 4).map(lambda x: 10**x))
def test_the_normal_tail_and_the_gaussian_profile_are_enclosed(x: float, rho: float) -> None:
    with mpmath.workdps(120):
        point = mpmath.mpf(x)
        exact = mpmath.erfc(point / mpmath.sqrt(2)) / 2
        found = tail(Interval.of(Decimal(x)))
        low, high = mpmath.mpf(str(found.lower)), mpmath.mpf(str(found.upper))
        assert low <= exact <= high
        assert high - low <= exact * mpmath.mpf("1e-25")
        mu = mpmath.sqrt(2 * mpmath.mpf(rho))
        at = mu * mu / 2 + mpmath.mpf(x) / 10 * mu
        at = mpmath.mpf(float(at))
        near, far = mpmath.ncdf(mu / 2 - at / mu), mpmath.ncdf(-mu / 2 - at / mu)
        delta = near - mpmath.exp(at) * far
        profile = Gaussian.of_rho(Fraction(rho)).delta(Interval.of(Decimal(float(at))))
        slack = mpmath.mpf("1e-100")
        assert mpmath.mpf(str(profile.lower)) - slack <= delta
        assert delta <= mpmath.mpf(str(profile.upper)) + slack
