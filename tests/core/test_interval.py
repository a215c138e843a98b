"""Interval arithmetic encloses the exact result, tightly, whatever surrounds it."""

from __future__ import annotations

import decimal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import flint
import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.exact import float_down, float_up
from interlace.core.interval import DIGITS, ONE, PI, ZERO, Interval

NARROW = Fraction(1, 10**55)

HOSTILE = [
    decimal.Context(
        prec=1,
        rounding=decimal.ROUND_UP,
        Emin=-2,
        Emax=2,
        traps=[decimal.Inexact, decimal.Rounded, decimal.FloatOperation],
    ),
    decimal.Context(prec=3, rounding=decimal.ROUND_FLOOR, Emin=-5, Emax=5),
    decimal.Context(prec=200, rounding=decimal.ROUND_CEILING, clamp=1),
    decimal.Context(),
]

_small = st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=10**12)
numbers = _small | st.builds(lambda f, k: f * Fraction(10) ** k, _small, st.integers(-200, 200))
positive = numbers.map(abs).filter(bool)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Fraction, Fraction]:
    """A wide interval's ends."""
    a, b = draw(numbers), draw(numbers)
    return min(a, b), max(a, b)


@pytest.fixture(autouse=True)
def _ambient() -> Iterator[None]:
    # Every test of this file runs in such surroundings.
    with decimal.localcontext(HOSTILE[0]):
        yield


def around(low: Fraction, high: Fraction) -> Interval:
    return Interval(Interval.of(low).lower, Interval.of(high).upper)


def exactly(value: Decimal) -> Fraction:
    return Fraction(value)


def encloses(found: Interval, exact: Fraction) -> None:
    lower, upper = exactly(found.lower), exactly(found.upper)
    assert lower <= exact <= upper
    assert upper - lower <= NARROW * abs(exact)


@given(numbers)
def test_of_is_the_tightest_enclosure(value: Fraction) -> None:
    encloses(Interval.of(value), value)
    if value.denominator == 1 and abs(value) < 10**DIGITS:
        assert Interval.of(value).lower == Interval.of(value).upper == value.numerator
    assert Interval.of(value).contains(value)


@given(numbers, numbers)
def test_sums_differences_and_products(a: Fraction, b: Fraction) -> None:
    x, y = Interval.of(a), Interval.of(b)
    encloses(x * y, a * b)
    encloses(-x, -a)
    # A sum cancels: it is narrow beside its terms, not beside itself.
    for found, exact in ((x + y, a + b), (x - y, a - b)):
        assert found.contains(exact)
        width = exactly(found.upper) - exactly(found.lower)
        assert width <= NARROW * (abs(a) + abs(b))


@given(numbers, numbers.filter(bool))
def test_quotients(a: Fraction, b: Fraction) -> None:
    encloses(Interval.of(a) / Interval.of(b), a / b)


@given(pairs(), pairs(), st.fractions(0, 1), st.fractions(0, 1))
def test_wide_intervals_enclose_every_pair_of_members(
    x: tuple[Fraction, Fraction], y: tuple[Fraction, Fraction], s: Fraction, t: Fraction
) -> None:
    a, b = x[0] + s * (x[1] - x[0]), y[0] + t * (y[1] - y[0])
    wide, other = around(*x), around(*y)
    assert (wide + other).contains(a + b)
    assert (wide - other).contains(a - b)
    assert (wide * other).contains(a * b)
    assert (-wide).contains(-a)
    if other.lower > 0 or other.upper < 0:
        assert (wide / other).contains(a / b)


@given(st.fractions(0, 100, max_denominator=10**6), st.integers(0, 40))
def test_powers(base: Fraction, exponent: int) -> None:
    found = Interval.of(base).power(exponent)
    assert found.contains(base**exponent)
    assert exactly(found.upper) - exactly(found.lower) <= NARROW * base**exponent


@pytest.mark.parametrize("ends", [(-1, 1), (0, 1), (-1, 0), (0, 0)])
def test_no_division_by_an_interval_around_zero(ends: tuple[int, int]) -> None:
    with pytest.raises(ZeroDivisionError):
        ONE / Interval(Decimal(ends[0]), Decimal(ends[1]))


def _mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def _rational(value: mpmath.mpf) -> Fraction:
    sign, mantissa, exponent, _ = value._mpf_
    scale = Fraction(2) ** int(exponent)
    return int(mantissa) * (-scale if sign else scale)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt"])
@given(value=_small)
def test_functions_enclose_what_mpmath_finds(name: str, value: Fraction) -> None:
    argument = value / 10**5 if name == "exp" else abs(value) + Fraction(1, 10**7)
    with mpmath.workdps(120):
        exact = _rational(getattr(mpmath, name)(_mp(argument)))
    found: Interval = getattr(Interval.of(argument), name)()
    assert found.contains(exact)
    width = exactly(found.upper) - exactly(found.lower)
    # An argument known to 60 digits: exp magnifies its error by the argument's size, and
    # log near 1 is narrow beside the argument.
    assert width <= NARROW * max(abs(exact), 1 if name == "log" else 0)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt"])
def test_functions_are_rounded_outwards_from_exact_arguments(name: str) -> None:
    # Arb's balls as a second opinion, on arguments that 60 digits hold exactly.
    flint.ctx.dps = 150
    for n in range(1, 400):
        argument = Fraction(n * n, 64)
        ball = getattr(flint.arb(flint.fmpq(n * n, 64)), name)()
        found: Interval = getattr(Interval.of(argument), name)()
        assert flint.arb(str(found.lower)) <= ball
        assert flint.arb(str(found.upper)) >= ball


@given(pairs(), st.fractions(0, 1))
def test_functions_of_wide_intervals(ends: tuple[Fraction, Fraction], t: Fraction) -> None:
    low, high = (abs(x) % 1000 for x in ends)
    low, high = min(low, high), max(low, high)
    inside = Interval.of(low + t * (high - low))
    for name in ("exp", "sqrt") + (("log",) if low else ()):
        outer: Interval = getattr(around(low, high), name)()
        inner: Interval = getattr(inside, name)()
        assert outer.lower <= inner.upper
        assert inner.lower <= outer.upper


def test_the_far_ends_of_exp() -> None:
    # 10^-(10^18) is the smallest positive decimal; below it only [0, tiny] is true.
    nothing = Interval.of(-(10**30)).exp()
    assert nothing.lower == 0 < nothing.upper < Decimal("1e-999999999999")
    deep = Interval.of(-(10**9)).exp()
    assert 0 < deep.lower < deep.upper
    digits = deep.lower.as_tuple().digits
    assert len(digits) >= DIGITS - 1
    with pytest.raises(decimal.Overflow):
        Interval.of(10**30).exp()
    assert ZERO.exp().contains(1)
    assert Interval.of(0).sqrt().contains(0)


def test_no_root_or_logarithm_of_a_negative_number() -> None:
    for name in ("sqrt", "log"):
        with pytest.raises(decimal.InvalidOperation):
            getattr(Interval.of(-1), name)()


def test_pi() -> None:
    with mpmath.workdps(120):
        encloses(PI, _rational(+mpmath.pi))


@given(pairs())
def test_clip_keeps_the_order_and_the_range(ends: tuple[Fraction, Fraction]) -> None:
    cut = around(*ends).clip(0, 1)
    assert 0 <= cut.lower <= cut.upper <= 1
    assert around(*ends).clip(0).lower >= 0


@given(pairs())
def test_floats_go_outwards(ends: tuple[Fraction, Fraction]) -> None:
    wide = around(*ends)
    assert wide.down() <= float_down(exactly(wide.lower))
    assert wide.up() >= float_up(exactly(wide.upper))


@pytest.mark.parametrize("context", HOSTILE)
def test_the_ambient_context_changes_nothing(context: decimal.Context) -> None:
    def results() -> list[Interval]:
        a, b = Interval.of(Fraction(22, 7)), Interval.of(Fraction(-1, 3))
        done = [
            a + b,
            a - b,
            a * b,
            a / b,
            -a,
            a.exp(),
            a.log(),
            a.sqrt(),
            a.power(5),
            a.clip(0, 1),
        ]
        return [*done, Interval.of(10**70), Interval.of(Decimal("0." + "7" * 70))]

    with decimal.localcontext(decimal.Context(prec=28)):
        expected = results()
        floats = [(x.up(), x.down()) for x in expected]
    with decimal.localcontext(context):
        assert results() == expected
        assert [(x.up(), x.down()) for x in expected] == floats


def test_threads_share_the_contexts_without_harm() -> None:
    def work(seed: int) -> list[Interval]:
        decimal.getcontext().prec = 1 + seed
        x = Interval.of(Fraction(seed + 1, 7))
        return [f() for f in _chains(x) for _ in range(200)]

    barrier = threading.Barrier(8)

    def meet(seed: int) -> list[Interval]:
        barrier.wait()
        return work(seed)

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(meet, range(8)))
    assert together == [work(seed) for seed in range(8)]


def _chains(x: Interval) -> list[Callable[[], Interval]]:
    return [x.exp, x.log, x.sqrt, lambda: x * x / (x + ONE), lambda: ONE - x, lambda: x.power(9)]
