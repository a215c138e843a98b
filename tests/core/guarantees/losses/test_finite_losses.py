"""Losses of finite pairs, randomised response and trade-off curves against exact sums."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import Unproven
from interlace.core.guarantees import PureDP
from interlace.core.guarantees.losses import Direction, Pair, RandomisedResponse, TradeOff
from interlace.core.interval import Interval
from tests.effort import examples

Laws = tuple[list[Fraction], list[Fraction]]


def _normalised(weights: list[int]) -> list[Fraction]:
    return [Fraction(w, sum(weights)) for w in weights]


@st.composite
def _laws(draw: st.DrawFn) -> Laws:
    n = draw(st.integers(2, 7))
    weights = st.lists(st.integers(0, 30), min_size=n, max_size=n).filter(any)
    return _normalised(draw(weights)), _normalised(draw(weights))


def _stick(p: list[Fraction], q: list[Fraction], x: Fraction) -> Fraction:
    return sum((max(a - x * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))


def _ends(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around e^epsilon, 1e-70 apart."""
    with mpmath.workdps(90):
        x = Fraction(str(mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)))
    return x - Fraction(1, 10**70), x + Fraction(1, 10**70)


def _around(found: Interval, low: Fraction, high: Fraction) -> None:
    assert Fraction(found.lower) <= high
    assert low <= Fraction(found.upper)
    assert found.upper - found.lower <= Decimal("1e-50")


@settings(max_examples=examples(100))
@given(_laws(), st.floats(0, 4).map(Fraction))
def test_delta_of_a_pair_is_the_exact_sum_in_both_directions(laws: Laws, epsilon: Fraction) -> None:
    p, q = laws
    pair = Pair(p, q)
    low, high = _ends(epsilon)
    _around(pair.profile(Direction.REMOVE, epsilon), _stick(p, q, high), _stick(p, q, low))
    _around(pair.profile(Direction.ADD, epsilon), _stick(q, p, high), _stick(q, p, low))
    both = [max(_stick(p, q, x), _stick(q, p, x)) for x in (high, low)]
    _around(pair.delta_enclosure(epsilon), *both)


@settings(max_examples=examples(100))
@given(_laws(), st.fractions(0, Fraction(99, 100), max_denominator=1000))
def test_epsilon_of_a_pair_is_the_exact_threshold(laws: Laws, delta: Fraction) -> None:
    p, q = laws
    found = Pair(p, q).epsilon_enclosure(delta)
    # The largest of log((p - delta)/q) over sets that hold the ratios from some value on.
    best = Fraction(1)
    for a, b in ((p, q), (q, p)):
        for cut in {x / y if y else None for x, y in zip(a, b, strict=True)}:
            top = [
                (x, y)
                for x, y in zip(a, b, strict=True)
                if not y or (cut is not None and x / y >= cut)
            ]
            mass, other = sum(x for x, _ in top) - delta, sum(y for _, y in top)
            if mass > 0 and not other:
                assert found.lower == Decimal("Infinity")
                return
            best = max(best, mass / other) if other else best
    with mpmath.workdps(90):
        exact = Fraction(str(mpmath.log(mpmath.mpf(best.numerator) / best.denominator)))
    assert abs(Fraction(found.lower) - exact) <= Fraction(1, 10**45)
    assert abs(Fraction(found.upper) - exact) <= Fraction(1, 10**45)


@settings(max_examples=examples(60))
@given(_laws(), st.integers(2, 5))
def test_renyi_of_a_pair_is_the_exact_sum(laws: Laws, alpha: int) -> None:
    p, q = laws
    pair = Pair(p, q)
    for direction, (a, b) in ((Direction.REMOVE, (p, q)), (Direction.ADD, (q, p))):
        found = pair.divergence(direction, Fraction(alpha))
        if any(x and not y for x, y in zip(a, b, strict=True)):
            assert found.upper == pair.divergence(direction, Fraction(1)).upper == math.inf
            continue
        moment = sum(x**alpha / y ** (alpha - 1) for x, y in zip(a, b, strict=True) if x)
        with mpmath.workdps(90):
            exact = mpmath.log(mpmath.mpf(moment.numerator) / moment.denominator) / (alpha - 1)
            assert abs(mpmath.mpf(str(found.lower)) - exact) < 1e-40
            assert abs(mpmath.mpf(str(found.upper)) - exact) < 1e-40
            rows = [
                (mpmath.mpf(x.numerator) / x.denominator, x / y)
                for x, y in zip(a, b, strict=True)
                if x
            ]
            kl = mpmath.fsum(
                x * mpmath.log(mpmath.mpf(r.numerator) / r.denominator) for x, r in rows
            )
            assert abs(mpmath.mpf(str(pair.divergence(direction, Fraction(1)).upper)) - kl) < 1e-40
            top = max(mpmath.log(mpmath.mpf(r.numerator) / r.denominator) for _, r in rows)
            assert abs(mpmath.mpf(str(pair.divergence(direction, None).upper)) - top) < 1e-40


def test_what_is_told_apart_needlessly_does_not_matter() -> None:
    fine = Pair([0.1, 0.2, 0.2, 0.5, 0], [0.2, 0.4, 0.1, 0.25, 0.05])
    assert fine == Pair({"a": 0.3, "b": 0.7}, {"b": 0.35, "a": 0.6, "c": 0.05})
    assert hash(fine) == hash(Pair([0.7, 0.3, 0], [0.35, 0.6, 0.05]))
    assert Pair([1], [1]).delta(0) == Pair([1], [1]).epsilon(0) == Pair([1], [1]).renyi(2) == 0
    apart = Pair([1, 0], [0, 1])
    assert apart.delta(100) == 1
    assert apart.epsilon(0.999) == apart.renyi(1) == math.inf
    assert apart.epsilon(1) == 0


@settings(max_examples=examples(60))
@given(st.integers(2, 8), st.integers(2, 9), st.floats(0, 3).map(Fraction))
def test_randomised_response_is_its_pair(ratio: int, categories: int, epsilon: Fraction) -> None:
    # e^epsilon0 = ratio, between two neighbouring rationals.
    with mpmath.workdps(80):
        loss = Fraction(str(mpmath.log(ratio)))
    p = [Fraction(ratio, ratio + categories - 1)] + [Fraction(1, ratio + categories - 1)] * (
        categories - 1
    )
    q = [p[1], p[0], *p[2:]]
    pair = Pair(p, q)
    assert pair.symmetric
    response = RandomisedResponse(loss, categories)
    found, exact = response.delta_enclosure(epsilon), pair.delta_enclosure(epsilon)
    assert abs(found.upper - exact.upper) < Decimal("1e-50")
    for delta in (Fraction(0), Fraction(1, 1000), Fraction(1, 3)):
        one, other = response.epsilon_enclosure(delta), pair.epsilon_enclosure(delta)
        assert abs(one.upper - other.upper) < Decimal("1e-45")
    for alpha in (Fraction(1), Fraction(3, 2), Fraction(7), None):
        one, other = response.renyi_enclosure(alpha), pair.renyi_enclosure(alpha)
        assert abs(one.upper - other.upper) < Decimal("1e-45")
        assert abs(one.lower - other.lower) < Decimal("1e-45")


@pytest.mark.parametrize("epsilon", [0, 1e-12, 0.3, 5, 1e3, 1e300])
def test_two_categories_are_every_pure_mechanism(epsilon: float) -> None:
    response, pure = RandomisedResponse(epsilon), PureDP(epsilon)
    for at in (0, epsilon / 3, epsilon, 2 * epsilon):
        assert response.delta(at) == pytest.approx(pure.delta(at), rel=1e-15, abs=0)
    for alpha in (1, 1 + 1e-12, 2, 1e6, math.inf):
        assert response.renyi(alpha) == pytest.approx(pure.renyi(alpha), rel=1e-15, abs=0)
    for delta in (0, 1e-300, 0.1):
        assert response.epsilon(delta) == pytest.approx(pure.epsilon(delta), rel=1e-15, abs=0)
    assert RandomisedResponse(epsilon, 5).group(3) == RandomisedResponse(
        Fraction(repr(epsilon)) * 3
    )


@settings(max_examples=examples(60))
@given(_laws(), st.floats(0, 4).map(Fraction))
def test_a_pair_and_its_trade_off_curve_are_one_loss(laws: Laws, epsilon: Fraction) -> None:
    pair = Pair(*laws)
    curve = TradeOff.of(pair)
    for direction in Direction:
        assert curve.profile(direction, epsilon) == pair.profile(direction, epsilon)
        assert curve.divergence(direction, Fraction(2)) == pair.divergence(direction, Fraction(2))
    assert curve.symmetric == pair.symmetric
    assert TradeOff.of(Pair(laws[1], laws[0])).symmetric == pair.symmetric
    turned = TradeOff.of(Pair(laws[1], laws[0]))
    assert turned.profile(Direction.ADD, epsilon) == pair.profile(Direction.REMOVE, epsilon)


@st.composite
def _chains(draw: st.DrawFn) -> list[list[Fraction]]:
    n = draw(st.integers(2, 5))
    weights = st.lists(st.integers(1, 20), min_size=n, max_size=n)
    return [_normalised(draw(weights)) for _ in range(draw(st.integers(3, 5)))]


@settings(max_examples=examples(60))
@given(_chains(), st.floats(0, 4).map(Fraction))
def test_the_group_curve_covers_every_chain(laws: list[list[Fraction]], epsilon: Fraction) -> None:
    # A guarantee that covers each step, in both directions, covers the ends when grouped.
    steps = list(pairwise(laws))
    points = [(Fraction(0), Fraction(1)), (Fraction(1), Fraction(0))]
    for p, q in steps:
        points += [*TradeOff.of(Pair(p, q)).points, *TradeOff.of(Pair(q, p)).points]
    curve = TradeOff(_hull(points))
    assert curve.symmetric
    group = curve.group(len(steps))
    ends = Pair(laws[0], laws[-1])
    assert group.delta_enclosure(epsilon).upper >= ends.delta_enclosure(epsilon).lower
    assert group.group(1) == group


def _hull(points: list[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """The lower convex hull by brute force: the points under no chord's upper side."""
    left = sorted(set(points))
    return [
        (a, b)
        for a, b in left
        if all(
            b * (u - x) < y * (u - a) + v * (a - x) for x, y in left for u, v in left if x < a < u
        )
        and not any(x == a and y < b for x, y in left)
    ]


def test_known_groups() -> None:
    # f of randomised response at log 3: (1/4, 1/4). Twice: 1 - f(x) = 1/4 at x = 1/12.
    response = TradeOff([(0, 1), (0.25, 0.25), (1, 0)])
    quarter, twelfth = Fraction(1, 4), Fraction(1, 12)
    twice = TradeOff([(0, 1), (twelfth, quarter), (quarter, twelfth), (1, 0)])
    assert response.group(2) == twice
    # (0, delta): k times the delta. A leak of 0.1 either way.
    assert TradeOff([(0, 0.9), (0.9, 0)]).group(3) == TradeOff([(0, 0.7), (0.7, 0), (1, 0)])
    assert TradeOff([(0, 0.9), (0.9, 0)]).group(20).delta(7) == 1
    # A pure guarantee stays one, at k times the loss.
    large = response.group(300)
    assert large.epsilon(0) == pytest.approx(300 * math.log(3), rel=1e-12)
    assert large.delta(100) <= PureDP(300 * math.log(3)).delta(100)
    # One-sided curves are taken from both sides.
    one_sided = TradeOff([(0, 1), (0.5, 0.1), (1, 0)])
    assert not one_sided.symmetric
    assert one_sided.group(2).symmetric


def test_a_pair_has_no_group_of_its_own_kind() -> None:
    pair = Pair([0.5, 0.5], [0.4, 0.6])
    assert pair.group(1) == pair
    with pytest.raises(Unproven, match=r"TradeOff\.of"):
        pair.group(2)
