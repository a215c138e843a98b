"""The step inequality: its enclosure, and the theorem that one point decides for all beyond."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.composition.value_filters.fixed import OutOfReach
from interlace.core.composition.value_filters.inequality import excess, profile_within
from tests.core.composition.value_filters.reference import (
    defect,
    exact_defect,
    real,
    tight_step,
    value,
)
from tests.effort import examples

WIDTHS = st.one_of(st.floats(1e-6, 1), st.floats(0.1, 20), st.floats(1, 450)).map(Fraction)
EPSILONS = st.one_of(
    st.floats(1e-3, 0.1), st.floats(0.01, 3), st.floats(1, 20), st.floats(1e-12, 1e-3)
).map(Fraction)
SHARES = st.one_of(st.just(0.0), st.floats(1e-4, 1)).map(Fraction)


@settings(max_examples=examples(150), deadline=None)
@given(WIDTHS, EPSILONS, st.floats(0, 6), SHARES, st.sampled_from([64, 96, 160, 256]))
def test_the_excess_is_enclosed(
    w: Fraction, epsilon: Fraction, z: float, share: Fraction, bits: int
) -> None:
    t = Fraction(z * float(w) ** 0.5)
    after = w * share if share < 1 else w - min(w, epsilon * epsilon)
    try:
        low, high = excess(t, epsilon, w, after, bits)
    except OutOfReach:
        assert bits < 256
        return
    with mpmath.workdps(400):
        q = real(t) ** 2 / (2 * real(w)) + real(w) / 8
        scale = mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(q - real(t) / 2)
        scale *= (1 + mpmath.exp(-real(epsilon))) * mpmath.mpf(2) ** bits
        assert low <= exact_defect(t, epsilon, w, after) * scale <= high


@pytest.mark.parametrize("t", [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(2)])
def test_the_excess_is_enclosed_where_a_meets_0(t: Fraction) -> None:
    # a = t/sqrt(w) - sqrt(w)/2 is 0 at w = 2 t: no precision decides its sign.
    w, epsilon = 2 * t or Fraction(1), Fraction(1, 3)
    low, high = excess(t, epsilon, w, w * Fraction(7, 8), 96)
    with mpmath.workdps(60):
        q = real(t) ** 2 / (2 * real(w)) + real(w) / 8
        scale = mpmath.sqrt(2 * mpmath.pi) * mpmath.exp(q - real(t) / 2)
        scale *= (1 + mpmath.exp(-real(epsilon))) * mpmath.mpf(2) ** 96
        assert low <= exact_defect(t, epsilon, w, w * Fraction(7, 8)) * scale <= high
    assert high - low < 2**24


def _theorem_at(w: float, epsilon: float, t: float) -> None:
    """A step that is tight at t must hold beyond; by symmetry also at +-y."""
    after = tight_step(mpmath.mpf(t), mpmath.mpf(epsilon), mpmath.mpf(w))
    if after is None:
        return
    span = 8 * mpmath.sqrt(mpmath.mpf(w)) + 3 * mpmath.mpf(epsilon)
    for k in range(41):
        y = mpmath.mpf(t) + span * k / 40
        bound = mpmath.mpf(10) ** -60
        assert defect(-y, epsilon, w, after) <= bound, (w, epsilon, t, y)
        assert defect(y, epsilon, w, after) <= bound, (w, epsilon, t, y)


@pytest.mark.parametrize("w", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("share", [0.1, 0.7, 1.5])
def test_the_inequality_at_one_point_holds_beyond_it_on_a_grid(w: float, share: float) -> None:
    with mpmath.workdps(80):
        for z in (0.0, 0.3, 1.0, 2.5):
            _theorem_at(w, share * w**0.5, z * w**0.5)


@settings(max_examples=examples(20), deadline=None)
@given(st.floats(0.01, 100), st.floats(0.01, 2.5), st.floats(0, 4))
def test_the_inequality_at_one_point_holds_beyond_it(w: float, share: float, z: float) -> None:
    with mpmath.workdps(80):
        _theorem_at(w, share * w**0.5, z * w**0.5)


def test_it_need_not_hold_before_that_point() -> None:
    # So that the theorem's "beyond" is not idle: reach gains by it.
    with mpmath.workdps(50):
        w, epsilon, t = mpmath.mpf(1), mpmath.mpf(1) / 2, mpmath.mpf(2)
        assert defect(mpmath.mpf(0), epsilon, w, tight_step(t, epsilon, w)) > 0


@pytest.mark.parametrize("seed", range(6))
def test_a_gaussian_takes_exactly_its_square(seed: int) -> None:
    draw = random.Random(seed)
    with mpmath.workdps(25):
        w, y = mpmath.mpf(draw.uniform(0.2, 5)), mpmath.mpf(draw.uniform(-4, 4))
        square = w * draw.uniform(0.1, 0.9)
        mu = mpmath.sqrt(square)
        mean = mpmath.quad(
            lambda x: mpmath.npdf(x) * value(y + square / 2 + mu * x, w - square), range(-12, 13)
        )
        assert abs(mean - value(y, w)) < mpmath.mpf(10) ** -18


@settings(max_examples=examples(100), deadline=None)
@given(st.floats(0, 30), st.floats(1e-4, 450), st.floats(-1e-9, 1e-9))
def test_the_profile_is_decided_on_the_right_side(z: float, w: float, shift: float) -> None:
    e = z * w**0.5
    with mpmath.workdps(300):
        exact = value(-mpmath.mpf(e), mpmath.mpf(w))
        delta = Fraction(str(mpmath.nstr(exact, 40))) * (1 + Fraction(shift))
        if not 0 < delta < 1 or abs(shift) < 1e-14:
            return
        assert profile_within(Fraction(e), Fraction(w), delta, 256) == (exact <= real(delta))


@pytest.mark.parametrize(("delta", "holds"), [(Fraction(1, 10**600), True), (Fraction(1, 2), True)])
def test_a_profile_beyond_all_floats(delta: Fraction, holds: bool) -> None:
    assert profile_within(Fraction(1), Fraction(1, 10**20), delta, 256) is holds
    assert not profile_within(Fraction(1), Fraction(10**8), delta, 256)
