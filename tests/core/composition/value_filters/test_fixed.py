"""Fixed-point enclosures against two libraries of arbitrary precision."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import flint
import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.composition.value_filters import fixed
from tests.core.composition.value_filters.reference import real
from tests.effort import examples

PRECISIONS = st.sampled_from([64, 80, 96, 128, 192, 256])
ARGUMENTS = st.one_of(
    st.floats(0, 3),
    st.floats(0, 40),
    st.floats(0, 1e5),
    st.integers(1, 60).map(lambda n: 2.0**-n),
    st.just(0.0),
)


def _units(x: float, bits: int) -> int:
    return int(Fraction(x) * 2**bits)


def _within(ends: fixed.Pair, exact: Any, bits: int) -> bool:
    return bool(ends[0] <= exact * mpmath.mpf(2) ** bits <= ends[1])


@settings(max_examples=examples(150))
@given(st.floats(-300, 300), PRECISIONS)
def test_exp_is_enclosed(x: float, bits: int) -> None:
    units = _units(x, bits)
    with mpmath.workprec(1200):
        low, high = fixed.exp_at(units, bits)
        assert _within((low, high), mpmath.exp(real(Fraction(units, 2**bits))), bits)
        assert high - low <= 4 + (high >> bits)


@settings(max_examples=examples(150))
@given(ARGUMENTS, PRECISIONS)
def test_the_mills_ratio_is_enclosed(x: float, bits: int) -> None:
    units = _units(x, bits)
    with mpmath.workprec(600):
        point = real(Fraction(units, 2**bits))
        tail = mpmath.erfc(point / mpmath.sqrt(2)) if x < 100 else None
        if tail is None:
            # The continued fraction; each remainder lies above the argument.
            exact = point + 40 / point
            for k in range(39, 0, -1):
                exact = point + k / exact
            exact = 1 / exact
        else:
            exact = mpmath.sqrt(mpmath.pi / 2) * mpmath.exp(point * point / 2) * tail
        ends = fixed.mills_at(units, bits)
        assert _within(ends, exact, bits)
        assert ends[1] - ends[0] < 2**17 * (1 + x * x / 100)


@pytest.mark.parametrize("bits", range(64, 161, 16))
def test_both_steps_of_the_rule_agree_with_arb_where_they_meet(bits: int) -> None:
    # Around 0.3 of the coarse rule's frequency, where the addition is dropped.
    border = 3 * fixed._coarse(bits).frequency[0] // 10
    flint.ctx.prec = 600
    try:
        for x in (border - 1, border, border + 1, border * 4, border * 10 // 3 + 1):
            point = flint.arb(x) / flint.arb(2) ** bits
            exact = (flint.arb.pi() / 2).sqrt() * (point * point / 2).exp()
            exact *= (point / flint.arb(2).sqrt()).erfc()
            low, high = fixed.mills_at(x, bits)
            scaled = exact * flint.arb(2) ** bits
            assert low <= scaled <= high
    finally:
        flint.ctx.prec = 53


@pytest.mark.parametrize("bits", [64, 100, 500, 2000])
def test_constants_are_enclosed(bits: int) -> None:
    with mpmath.workprec(bits + 100):
        two = fixed.log_two(bits)
        assert two <= mpmath.log(2) * mpmath.mpf(2) ** bits <= two + 2
        assert _within(fixed._pi(bits), mpmath.pi, bits)
        assert _within(fixed.root_two_pi(bits), mpmath.sqrt(2 * mpmath.pi), bits)


@given(st.fractions(min_value=-100, max_value=100), st.integers(1, 200))
def test_a_rational_number_is_enclosed_by_neighbours(x: Fraction, bits: int) -> None:
    low, high = fixed.scaled(*x.as_integer_ratio(), bits)
    assert low <= x * 2**bits <= high <= low + 1


def test_what_the_proof_does_not_cover_is_refused() -> None:
    one = 1 << 64
    for exponent in ((0, one), (fixed.FARTHEST * one, fixed.FARTHEST * one + 1)):
        with pytest.raises(fixed.OutOfReach):
            fixed.exp(exponent, 64)
    with pytest.raises(fixed.OutOfReach):
        fixed.mills((-one, 0), 64)
    low, high = fixed.exp((-fixed.FARTHEST * one - 2, -fixed.FARTHEST * one - 1), 64)
    assert low == 0
    assert high >= 1


def test_an_enclosure_around_0_holds_both_sides() -> None:
    bits = 64
    low, high = fixed.mills((-(1 << 50), 1 << 50), bits)
    with mpmath.workprec(200):
        for x in (-(2.0**-14), 0.0, 2.0**-14):
            point = mpmath.mpf(x)
            tail = mpmath.erfc(point / mpmath.sqrt(2)) * mpmath.exp(point**2 / 2)
            assert _within((low, high), mpmath.sqrt(mpmath.pi / 2) * tail, bits)
