"""Gaussian DP, truncated zCDP and Rényi DP in compositions, against sums at many digits and against
mechanisms that have the guarantees."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.composition import Composition, compose
from interlace.core.errors import RelationMismatch, Unproven
from interlace.core.guarantees import (
    TCDP,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    Relation,
    RenyiDP,
)
from interlace.core.guarantees.conversions import response_renyi
from tests.effort import examples


def _profile(mu: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """FORMULAS 7.5 at any real epsilon."""
    near, far = (epsilon / mu + s * mu / 2 for s in (-1, 1))
    root = mpmath.sqrt(2)
    return (mpmath.erfc(near / root) - mpmath.exp(epsilon) * mpmath.erfc(far / root)) / 2


def test_sixty_gaussians_have_the_known_epsilon() -> None:
    # FORMULAS 10, computed independently: sigma 20, at delta 0.002.
    found = compose([(GaussianDP(Fraction(1, 20)), 60)])
    lower, upper = found.epsilon_interval(0.002)
    assert lower <= 0.902939643006 + 1e-12
    assert upper >= 0.902939643006 - 1e-12
    assert upper - lower < 1e-14
    assert "squares of mu" in found.explain(0.002)


@settings(max_examples=examples(25))
@given(
    st.lists(st.floats(-4, 0.3).map(lambda x: Fraction(f"{10**x:.4g}")), min_size=1, max_size=5),
    st.floats(0, 6),
    st.sampled_from([Fraction(0), Fraction(1, 10**9), Fraction(1, 50)]),
)
def test_gaussians_are_one_gaussian_beside_leaks(
    mus: list[Fraction], place: float, leak: Fraction
) -> None:
    composed = compose([*map(GaussianDP, mus), ApproxDP(0, leak)])
    square = sum((m * m for m in mus), Fraction(0))
    epsilon = square * Fraction(place)
    with mpmath.workdps(400):
        mu = mpmath.sqrt(mpmath.mpf(square.numerator) / square.denominator)
        at = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        kept = 1 - mpmath.mpf(leak.numerator) / leak.denominator
        exact = 1 - kept * (1 - _profile(mu, at))
        found = composed.delta_enclosure(epsilon)
        low, high = mpmath.mpf(str(found.lower)), mpmath.mpf(str(found.upper))
        assert low <= exact <= high
        assert high - low <= exact * mpmath.mpf("1e-20")
    assert composed.renyi(3) == (math.inf if leak else compose([ZCDP(square / 2)]).renyi(3))
    assert composed.epsilon(leak) == math.inf


@pytest.mark.parametrize("epsilon", ["0", "0.3", "1", "2.5", "4", "9"])
def test_a_gaussian_beside_responses_is_the_mixture(epsilon: str) -> None:
    # Given the responses, what is left is a Gaussian at the epsilon that they leave.
    loss, count, mu = Fraction(1, 4), 8, Fraction(2, 3)
    composed = compose([(PureDP(loss), count), GaussianDP(mu)])
    with mpmath.workdps(60):
        one, m = mpmath.mpf(1) / 4, mpmath.mpf(2) / 3
        at = mpmath.mpf(epsilon)
        right = 1 / (1 + mpmath.exp(-one))
        exact = mpmath.fsum(
            mpmath.binomial(count, j)
            * right ** (count - j)
            * (1 - right) ** j
            * _profile(m, at - (count - 2 * j) * one)
            for j in range(count + 1)
        )
        lower, upper = composed.delta_interval(Fraction(epsilon))
        assert lower <= exact <= upper
        assert upper - lower <= 1e-8 * exact


def test_bounds_of_several_orders_hold_at_the_lowest_limit() -> None:
    c = compose([(RenyiDP(4, 0.1), 2), RenyiDP(8, 0.3), TCDP(0.05, 6), ZCDP(0.01), GaussianDP(0.2)])
    assert c.renyi(2) == pytest.approx(0.1 * 2 + 0.3 + 2 * (0.05 + 0.01 + 0.02), rel=1e-15)
    assert c.renyi(4) == pytest.approx(0.5 + 4 * 0.08, rel=1e-15)
    assert c.renyi(Fraction(41, 10)) == c.renyi(math.inf) == math.inf
    assert compose([TCDP(0.1, 6), (TCDP(0.1, 9), 2)]).renyi(6) == pytest.approx(1.8, rel=1e-15)


@pytest.mark.parametrize("delta", ["1e-300", "1e-50", "1e-6", "0.01", "0.5"])
@pytest.mark.parametrize("alpha", ["1.5", "8", "1000"])
def test_one_bound_of_one_order_is_exact(alpha: str, delta: str) -> None:
    c = compose([RenyiDP(Fraction(alpha), Fraction(1, 2))])
    lower, upper = c.epsilon_interval(Fraction(delta))
    assert upper == RenyiDP(Fraction(alpha), Fraction(1, 2)).epsilon(Fraction(delta))
    assert upper * (1 - 1e-9) <= lower <= upper
    low, high = c.delta_interval(Fraction(1, 3))
    assert high * (1 - 1e-9) <= low <= high


_losses = st.floats(-2, 0.7).map(lambda x: Fraction(f"{10**x:.4g}"))


@settings(max_examples=examples(6))
@given(
    _losses,
    st.integers(1, 12),
    _losses,
    st.floats(0.2, 40),
    st.floats(-12, -1).map(lambda x: 10**x),
)
def test_no_bound_is_better_than_mechanisms_that_have_it(
    loss: Fraction, count: int, mu: Fraction, excess: float, delta: float
) -> None:
    # Randomised responses and a Gaussian mechanism, exactly; and the same told by their
    # divergences only: of one order, of all up to one, of all.
    order = 1 + Fraction(f"{excess:.4g}")
    response = Fraction(response_renyi(loss, order).upper)
    kl = Fraction(response_renyi(loss, Fraction(1)).upper)
    exact = compose([(PureDP(loss), count), GaussianDP(mu)])
    least = exact.epsilon_interval(delta)[0]
    told: list[Composition] = [
        compose([(RenyiDP(order, response), count), GaussianDP(mu)]),
        compose([(RenyiDP(order, response), count), RenyiDP(order, order * mu * mu / 2)]),
        compose([(PureDP(loss), count), TCDP(mu * mu / 2, order)]),
        compose([(ZCDP(kl), count), TCDP(mu * mu / 2, order), ApproxDP(0, 0)]),
    ]
    for c in told:
        lower, upper = c.epsilon_interval(delta)
        assert least <= upper
        assert lower <= upper
        assert c.delta(Fraction(upper)) <= delta * (1 + 1e-6)


def test_more_members_never_cost_less() -> None:
    parts: list[Guarantee] = [
        RenyiDP(8, 0.1), TCDP(0.01, 20), ZCDP(0.02), GaussianDP(0.1), PureDP(0.2), ApproxDP(0.1, 1e-9),
    ]  # fmt: skip
    before = 0.0
    for k in range(1, len(parts) + 1):
        found = compose(parts[:k]).epsilon(1e-6)
        assert found >= before * (1 - 1e-9)
        assert found >= parts[k - 1].epsilon(1e-6) * (1 - 1e-9)
        before = found


def test_a_composition_is_one_value_however_it_is_written() -> None:
    parts: list[Guarantee] = [GaussianDP(1), RenyiDP(4, 1), TCDP(1, 4), ZCDP(1), PureDP(1)]
    assert compose(parts) == compose(parts[::-1]) == compose([compose(parts[:2]), *parts[2:]])
    assert compose([GaussianDP(1), GaussianDP(1)]) == compose([(GaussianDP(1), 2)])
    assert compose(parts).group(1) == compose(parts)
    assert compose([GaussianDP(1), TCDP(1, 4)]).group(3) == compose(
        [GaussianDP(3), TCDP(9, Fraction(4, 3))]
    )


def test_what_cannot_be_composed_is_refused() -> None:
    other = Relation.CHANGE_ONE
    for second in (GaussianDP(1, relation=other), RenyiDP(2, 1, relation=other)):
        with pytest.raises(RelationMismatch, match=r"items\[1\]"):
            compose([TCDP(1, 2), second])
    with pytest.raises(Unproven, match="group of 5"):
        compose([GaussianDP(1), RenyiDP(4, 1)]).group(5)
