"""Exact parameters in, directed floats out: every door by which a number comes or goes."""

from __future__ import annotations

import decimal
import math
import time
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, float_down, float_up, natural, rational

LARGEST = Fraction(2**1024 - 2**971)
SMALLEST = Fraction(1, 2**1074)

fractions = st.fractions() | st.builds(
    lambda n, d, k: Fraction(n, d) * Fraction(10) ** k,
    st.integers(-(2**80), 2**80),
    st.integers(1, 2**80),
    st.integers(-330, 330),
)


def test_a_float_is_the_decimal_that_it_prints() -> None:
    assert rational(0.1, "epsilon") == Fraction(1, 10)
    assert sum(rational(0.1, "epsilon") for _ in range(10)) == 1
    assert rational(1e-17, "epsilon") == Fraction(1, 10**17)
    assert rational(5e-324, "delta") == Fraction(5, 10**324)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_numpy_floats_are_the_decimals_that_they_print(kind: Callable[[float], Any]) -> None:
    assert rational(kind(0.1), "epsilon") == Fraction(1, 10)


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint64])
def test_numpy_integers_become_plain_ones(kind: Callable[[int], Any]) -> None:
    exact = rational(kind(7), "epsilon")
    assert exact == 7
    assert type(exact.numerator) is int
    assert type(natural(kind(7), "answers")) is int


@given(st.floats(min_value=0, allow_nan=False, allow_infinity=False))
def test_every_float_is_read_as_its_shortest_decimal(value: float) -> None:
    assert rational(value, "x") == Fraction(repr(value))
    assert rational(np.float64(value), "x") == Fraction(repr(value))


@given(st.fractions(min_value=0, max_denominator=10**50))
def test_exact_numbers_are_kept(value: Fraction) -> None:
    assert rational(value, "x") == value


@given(st.decimals(min_value=0, allow_nan=False, allow_infinity=False))
def test_decimals_are_kept_whatever_the_ambient_context(value: Decimal) -> None:
    if abs(value.adjusted()) > 1000:
        return
    with decimal.localcontext(decimal.Context(prec=1, Emin=-1, Emax=1)):
        assert rational(value, "x") == Fraction(value)


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        np.float64("nan"),
        np.float32("inf"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("-Infinity"),
        True,
        np.bool_(True),
        "0.1",
        "NaN",
        b"1",
        None,
        1j,
        [1],
        np.array(0.1),
        -1,
        -0.1,
        Fraction(-1, 10**30),
        Decimal("1e999999999"),
        Decimal("1e-999999999"),
        Decimal("0e999999999"),
        Decimal("1." + "3" * 2000),
        10**5000,
        -(10**5000),
        Fraction(1, 10**5000),
    ],
    ids=lambda value: type(value).__name__,
)
def test_everything_else_is_refused_at_once_naming_the_argument(value: Any) -> None:
    started = time.perf_counter()
    with pytest.raises(ParameterError, match=r"^epsilon: ") as refused:
        rational(value, "epsilon")
    assert refused.value.name == "epsilon"
    assert time.perf_counter() - started < 1


def test_minus_zero_is_zero() -> None:
    assert rational(-0.0, "epsilon") == 0
    with pytest.raises(ParameterError):
        rational(-0.0, "epsilon", above=True)


def test_the_ends_of_the_domain() -> None:
    assert rational(1, "delta", maximum=1) == 1
    assert rational(0, "delta", maximum=1) == 0
    with pytest.raises(ParameterError, match="above 0"):
        rational(0, "scale", above=True)
    with pytest.raises(ParameterError, match="at most 1"):
        rational(Fraction(10**40 + 1, 10**40), "delta", maximum=1)
    with pytest.raises(ParameterError, match="at least 1"):
        rational(Fraction(10**40 - 1, 10**40), "alpha", minimum=1)


def test_a_refusal_does_not_print_what_it_was_given() -> None:
    class Table:
        def __repr__(self) -> str:
            return "name=Ann diagnosis=positive"

    wrong: Any = Table()
    for read in (rational, natural):
        with pytest.raises(ParameterError) as refused:
            read(wrong, "epsilon")
        assert "Ann" not in str(refused.value)


@pytest.mark.parametrize(
    "value",
    [0, -1, 10**12 + 1, 10**5000, True, np.bool_(True), 1.0, np.float64(1), "1", None],
    ids=lambda value: type(value).__name__,
)
def test_a_count_is_an_integer_within_bounds(value: Any) -> None:
    with pytest.raises(ParameterError, match=r"^answers: ") as refused:
        natural(value, "answers")
    assert refused.value.name == "answers"


def test_counts_at_the_bounds() -> None:
    assert natural(1, "n") == 1
    assert natural(10**12, "n") == 10**12
    assert natural(-5, "n", minimum=-5, maximum=-5) == -5


def _next_to(value: Fraction, rounded: float, direction: int) -> None:
    """``rounded`` is the tightest float on that side (1: above, -1: below) of ``value``."""
    if math.isinf(rounded):
        assert direction * value > LARGEST
        assert rounded == direction * math.inf
        return
    assert direction * (Fraction(rounded) - value) >= 0
    inner = math.nextafter(rounded, -direction * math.inf)
    assert math.isinf(inner) or direction * (Fraction(inner) - value) < 0


@given(fractions)
def test_directed_rounding_is_the_tightest_on_its_side(value: Fraction) -> None:
    _next_to(value, float_up(value), 1)
    _next_to(value, float_down(value), -1)
    assert float_up(-value) == -float_down(value)


@given(
    st.decimals(allow_nan=False, allow_infinity=False, places=40) | st.decimals("-1e300", "1e300")
)
def test_directed_rounding_of_decimals(value: Decimal) -> None:
    _next_to(Fraction(value), float_up(value), 1)
    _next_to(Fraction(value), float_down(value), -1)


@given(st.integers(-(2**1100), 2**1100))
def test_directed_rounding_of_integers(value: int) -> None:
    _next_to(Fraction(value), float_up(value), 1)
    _next_to(Fraction(value), float_down(value), -1)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_its_own_rounding(value: float) -> None:
    for exact in (Fraction(value), Decimal(value)):
        assert float_up(exact) == float_down(exact) == value


@pytest.mark.parametrize("huge", [10**400, Fraction(10**400, 3), Decimal("1e400"), LARGEST + 1])
def test_overflow_goes_outwards_or_stops_at_the_largest_float(huge: Real) -> None:
    assert not isinstance(huge, float)
    assert float_up(huge) == math.inf
    assert float_down(huge) == float(LARGEST)
    assert float_up(-huge) == -float(LARGEST)
    assert float_down(-huge) == -math.inf


@pytest.mark.parametrize("tiny", [SMALLEST / 10**30, Decimal("1e-400"), Decimal("1e-999999999")])
def test_underflow_stops_at_the_smallest_float_or_zero(tiny: Fraction | Decimal) -> None:
    assert float_up(tiny) == float(SMALLEST) > 0
    assert float_down(tiny) == 0
    # Not -tiny: a Decimal's minus rounds to the ambient context.
    negative = tiny.copy_negate() if isinstance(tiny, Decimal) else -tiny
    assert float_up(negative) == 0
    assert float_down(negative) == -float(SMALLEST)


@pytest.mark.parametrize("rounding", [decimal.ROUND_UP, decimal.ROUND_FLOOR, decimal.ROUND_05UP])
def test_the_ambient_context_changes_nothing(rounding: str) -> None:
    third = Decimal("0." + "3" * 60)
    hostile = decimal.Context(
        prec=2, rounding=rounding, Emin=-2, Emax=2, traps=[decimal.FloatOperation, decimal.Inexact]
    )
    expected = float_up(third), float_down(third), rational(third, "x")
    with decimal.localcontext(hostile):
        assert (float_up(third), float_down(third), rational(third, "x")) == expected
