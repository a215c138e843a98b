"""Bounds of one Rényi order against the best two-point pair, found by another way, and against
random pairs of more points."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.guarantees import one_order, two_points
from interlace.core.interval import Interval
from tests.effort import examples


def _exactly(x: Fraction) -> mpmath.mpf:
    return mpmath.mpf(x.numerator) / x.denominator


def _moment(p: mpmath.mpf, q: mpmath.mpf, alpha: mpmath.mpf) -> mpmath.mpf:
    """The sum of P^alpha Q^(1-alpha) of a two-point pair."""
    return p**alpha * q ** (1 - alpha) + (1 - p) ** alpha * (1 - q) ** (1 - alpha)


def _least_q(p: mpmath.mpf, alpha: mpmath.mpf, limit: mpmath.mpf) -> mpmath.mpf:
    """The least q whose pair with p keeps within ``limit`` in both directions."""
    low, high = mpmath.mpf(0), p
    for _ in range(70):
        q = (low + high) / 2
        if max(_moment(p, q, alpha), _moment(q, p, alpha)) > limit:
            low = q
        else:
            high = q
    return high


def _optimum(alpha: Fraction, divergence: Fraction, epsilon: Fraction) -> mpmath.mpf:
    """The largest p - e^epsilon q over the pairs, straight from the definition: concave in p, so
    a golden section finds it, over the logarithm of the odds."""
    a, x = _exactly(alpha), mpmath.exp(_exactly(epsilon))
    limit = mpmath.exp((a - 1) * _exactly(divergence))

    def value(odds: mpmath.mpf) -> mpmath.mpf:
        p = 1 / (1 + mpmath.exp(-odds))
        return p - x * _least_q(p, a, limit)

    part = (mpmath.sqrt(5) - 1) / 2
    low, high = mpmath.mpf(-50), mpmath.mpf(50)
    left, right = high - part * (high - low), low + part * (high - low)
    at_left, at_right = value(left), value(right)
    for _ in range(72):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - part * (high - low)
            at_left = value(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + part * (high - low)
            at_right = value(right)
    return max(at_left, at_right)


@pytest.mark.parametrize(
    ("alpha", "divergence", "epsilon"),
    [
        ("3", "0.5", "0"),
        ("3", "0.5", "0.6"),
        ("3", "0.5", "2.772"),
        ("20", "0.001", "0"),
        ("20", "0.001", "0.0189"),
        ("1.0001", "0.3", "0"),
        ("1.0001", "0.3", "1"),
        ("1.5", "2", "2"),
        ("200", "0.8", "0.7"),
        ("200", "0.8", "1"),
        ("2", "1e-8", "1e-4"),
        ("6", "12", "13"),
    ],
)
def test_delta_is_the_optimum_over_two_point_pairs(
    alpha: str, divergence: str, epsilon: str
) -> None:
    order, d, at = Fraction(alpha), Fraction(divergence), Fraction(epsilon)
    found = one_order.delta(order, Interval.of(d), at)
    attained = two_points.attained_delta(order, d, at)
    with mpmath.workdps(30):
        exact = _optimum(order, d, at)
        # A search is below the optimum, by what it left of the logarithm of the odds.
        assert exact * (1 - mpmath.mpf("1e-14")) <= mpmath.mpf(str(found.upper))
        assert mpmath.mpf(str(found.upper)) <= exact * (1 + mpmath.mpf("1e-12"))
        assert exact * (1 - mpmath.mpf("1e-10")) <= mpmath.mpf(str(attained))
    assert attained <= found.upper


@pytest.mark.parametrize(
    ("divergence", "alpha", "golden"),
    [("0.5", 3, 2.772), ("0.001", 20, 0.0189)],
)
def test_the_known_epsilons(divergence: str, alpha: int, golden: float) -> None:
    # FORMULAS 7.2, computed independently; by the simple bound 2.999 and 0.1556.
    share = Interval.of(Fraction(1, 1000))
    found = one_order.epsilon(Fraction(alpha), Interval.of(Fraction(divergence)), share)
    assert found.up() == pytest.approx(golden, rel=2e-3)
    assert float(found.upper - found.lower) < 1e-40


_excess = st.floats(-6, 5).map(lambda x: Fraction(f"{10**x:.6g}"))
_losses = st.floats(-9, 2).map(lambda x: Fraction(f"{10**x:.6g}"))
_deltas = st.one_of(
    st.floats(-300, -1).map(lambda x: Fraction(f"{10**x:.6g}")),
    st.floats(0.05, 0.95).map(lambda x: Fraction(f"{x:.6g}")),
)


@settings(max_examples=examples(150))
@given(_excess, _losses, _deltas)
def test_a_pair_attains_what_is_said(excess: Fraction, d: Fraction, delta: Fraction) -> None:
    order, share = 1 + excess, Interval.of(delta)
    upper = one_order.epsilon(order, Interval.of(d), share).upper
    lower = two_points.attained_epsilon(order, d, share)
    assert lower <= upper
    assert float(upper - lower) <= 1e-7 * float(upper)
    at = Fraction(upper)
    if at > 0:
        above = one_order.delta(order, Interval.of(d), at)
        assert float(above.upper) <= float(delta) * (1 + 1e-7)
        assert float(above.upper) >= float(delta) * (1 - 1e-6)
        assert two_points.attained_delta(order, d, at) <= above.upper


def _divergence(p: list[Fraction], q: list[Fraction], alpha: mpmath.mpf) -> mpmath.mpf:
    total = mpmath.fsum(
        _exactly(a) ** alpha * _exactly(b) ** (1 - alpha) for a, b in zip(p, q, strict=True)
    )
    return mpmath.log(total) / (alpha - 1)


_weights = st.lists(st.integers(1, 10**6), min_size=5, max_size=5)


@settings(max_examples=examples(80))
@given(_weights, _weights, st.floats(-3, 2).map(lambda x: Fraction(f"{10**x:.6g}")))
def test_no_pair_of_more_points_does_better(
    first: list[int], second: list[int], excess: Fraction
) -> None:
    p = [Fraction(w, sum(first)) for w in first]
    q = [Fraction(w, sum(second)) for w in second]
    alpha = 1 + excess
    with mpmath.workdps(60):
        both = [_divergence(x, y, _exactly(alpha)) for x, y in ((p, q), (q, p))]
        d = Fraction(str(max(both) * (1 + mpmath.mpf("1e-50")) + mpmath.mpf("1e-55")))
        for ratio in {a / b for a, b in zip(p, q, strict=True) if a > b}:
            # The hockey stick at each of the pair's own ratios, rounded down to an epsilon.
            at = max(Fraction(0), Fraction(str(mpmath.log(_exactly(ratio)))) - Fraction(1, 10))
            x = mpmath.exp(_exactly(at))
            stick = mpmath.fsum(
                max(_exactly(a) - x * _exactly(b), mpmath.mpf(0)) for a, b in zip(p, q, strict=True)
            )
            found = one_order.delta(alpha, Interval.of(d), at)
            assert mpmath.mpf(str(found.upper)) >= stick * (1 - mpmath.mpf("1e-40"))


@pytest.mark.parametrize("excess", ["1e-20", "1e-9", "1", "1e4", "1e40", "1e300"])
@pytest.mark.parametrize("divergence", ["1e-300", "1e-29", "1e-12", "1", "1e4", "1e10", "1e200"])
def test_extremes_stay_on_the_safe_side(excess: str, divergence: str) -> None:
    order, d = 1 + Fraction(excess), Fraction(divergence)
    before = 1.0
    for epsilon in ("0", "1e-300", "1e-12", "0.1", "1", "1e4", "1e8", "1e200"):
        found = one_order.delta(order, Interval.of(d), Fraction(epsilon)).up()
        assert 0 <= found <= before * (1 + 1e-9)
        before = found
    below = math.inf
    for delta in ("1e-600", "1e-300", "1e-50", "1e-10", "0.1", "0.9"):
        share = Interval.of(Fraction(delta))
        found = one_order.epsilon(order, Interval.of(d), share).up()
        assert 0 <= found <= below * (1 + 1e-9)
        assert two_points.attained_epsilon(order, d, share) <= Fraction(found)
        below = found


def test_a_small_divergence_of_a_high_order_is_nearly_pure() -> None:
    # Order infinity is pure DP, and a high order comes close to it.
    order, share = Fraction(10**9), Interval.of(Fraction(1, 10**9))
    found = one_order.epsilon(order, Interval.of(Fraction(1, 2)), share)
    assert found.up() == pytest.approx(0.5, abs=1e-7)
