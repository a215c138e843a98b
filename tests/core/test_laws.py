"""The laws of noise: certified probabilities and radii, against sums made elsewhere."""

from __future__ import annotations

import decimal
import math
import time
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest
from mpmath import mp

from interlace.core.errors import ParameterError
from interlace.core.interval import Interval
from interlace.core.laws import (
    LARGEST_SCALE,
    SMALLEST_SCALE,
    DiscreteGaussian,
    DiscreteLaplace,
    Law,
    Vector,
)

SCALES = ["1/1073741824", "1/50", "1/3", "1", "7/2", "20", "500.5", "10000", "1e9", "1099511627776"]
#: Beyond it the tails of a discrete Gaussian are enclosed less tightly, as it says.
EXACT = 500
BETWEEN = [Fraction(1, 1000), Fraction(1, 2), Fraction(19, 20), 1 - Fraction(1, 10**12)]


@pytest.fixture(autouse=True)
def _surroundings() -> Iterator[None]:
    # 80 digits for the other side; a caller's context that would spoil any number of ours.
    hostile = decimal.Context(prec=2, rounding=decimal.ROUND_UP, Emin=-9, Emax=9)
    with mp.workdps(80), decimal.localcontext(hostile):
        yield


def number(value: Fraction | Decimal | int) -> mpmath.mpf:
    exact = Fraction(value)
    return mpmath.mpf(exact.numerator) / exact.denominator


def holds(found: Interval, exact: mpmath.mpf, relative: str) -> None:
    """Encloses it, as far as 80 digits tell, and is that narrow."""
    lower, upper = (mpmath.mpf(str(end)) for end in (found.lower, found.upper))
    slack = exact * mpmath.mpf(10) ** -70
    assert lower <= exact + slack
    assert upper >= exact - slack
    # Where decimals end, at 10^-10^18, nothing is narrow beside itself.
    assert upper - lower <= mpmath.mpf(relative) * exact or upper < mpmath.mpf("1e-999999999999")


# The other side: plain sums, and for large scales the formula of Euler and Maclaurin.


def laplace_pmf(scale: Fraction, z: int) -> mpmath.mpf:
    r = mp.exp(-1 / number(scale))
    return -mp.expm1(-1 / number(scale)) / (1 + r) * mp.exp(-abs(z) / number(scale))


def laplace_tail(scale: Fraction, z: int) -> mpmath.mpf:
    if scale > 100:
        return mp.exp(-z / number(scale)) / (1 + mp.exp(-1 / number(scale)))
    total = term = laplace_pmf(scale, z)
    r = mp.exp(-1 / number(scale))
    while term > total * mpmath.mpf(10) ** -85:
        term *= r
        total += term
    return total


@cache
def gauss_sum(sigma: Fraction, z: int) -> mpmath.mpf:
    """Of exp(-k^2 / (2 sigma^2)) over k >= z."""
    s = number(sigma)
    first = mp.exp(-((z / s) ** 2) / 2)
    if sigma <= 501:
        total, term, k = mpmath.mpf(0), first, z
        while term > total * mpmath.mpf(10) ** -85:
            total += term
            term *= mp.exp(-(2 * k + 1) / (2 * s * s))
            k += 1
        return total
    x = z / s
    total = s * mp.sqrt(mp.pi / 2) * mp.erfc(x / mp.sqrt(2)) + first / 2
    hermite = [mpmath.mpf(1), x]
    for n in range(1, 40):
        hermite.append(x * hermite[n] - n * hermite[n - 1])
    for k in range(1, 18):
        derivative = -hermite[2 * k - 1] / s ** (2 * k - 1) * first
        total -= mp.bernoulli(2 * k) / mp.factorial(2 * k) * derivative
    return total


@cache
def gauss_total(sigma: Fraction) -> mpmath.mpf:
    return 1 + 2 * gauss_sum(sigma, 1)


def test_the_two_sums_of_the_other_side_agree() -> None:
    for z in (1, 300, 20000):
        direct = gauss_sum(Fraction(501), z)
        nearly = gauss_sum(Fraction(501) + Fraction(1, 10**60), z)
        assert abs(direct / nearly - 1) < mpmath.mpf(10) ** -48


# Probabilities.


def points(scale: Fraction, farthest: int) -> list[int]:
    return sorted({1, 2, *(math.ceil(scale * k) for k in (1, 3, farthest // 9, farthest))})


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_laplace(scale: str) -> None:
    law = DiscreteLaplace(Fraction(scale))
    # The farthest tail is below 1e-1000.
    for z in points(law.scale, 2310):
        holds(law.pmf(z), laplace_pmf(law.scale, z), "1e-46")
        holds(law.tail(z), laplace_tail(law.scale, z), "1e-50")
        holds(law.cdf(-z), laplace_tail(law.scale, z), "1e-50")
        holds(law.cdf(z - 1), 1 - laplace_tail(law.scale, z), "1e-50")
        assert law.pmf(z) == law.pmf(-z)
    assert law.tail(math.ceil(law.scale * 2310)).upper < Decimal("1e-1000")
    holds(law.pmf(0), laplace_pmf(law.scale, 0), "1e-46")


@pytest.mark.parametrize("scale", SCALES)
def test_discrete_gaussian(scale: str) -> None:
    law = DiscreteGaussian(Fraction(scale))
    tight = "1e-46" if law.sigma <= EXACT else "1e-4"
    total = gauss_total(law.sigma)
    for z in points(law.sigma, 70):
        weight = mp.exp(-((z / number(law.sigma)) ** 2) / 2)
        holds(law.pmf(z), weight / total, "1e-50")
        holds(law.tail(z), gauss_sum(law.sigma, z) / total, tight)
        holds(law.cdf(-z), gauss_sum(law.sigma, z) / total, tight)
        holds(law.cdf(z - 1), 1 - gauss_sum(law.sigma, z) / total, tight)
        assert law.pmf(z) == law.pmf(-z)
    assert law.tail(math.ceil(law.sigma * 70)).upper < Decimal("1e-1000")
    holds(law.pmf(0), 1 / total, "1e-50")


LAWS: list[Law] = [
    kind(Fraction(scale))
    for kind in (DiscreteLaplace, DiscreteGaussian)
    for scale in ("1/50", "1/3", "1", "7/2", "20", "500.5", "10000", "1e9")
]


def name(law: Law) -> str:
    return repr(law).replace("Fraction", "")


@pytest.mark.parametrize("law", LAWS, ids=name)
def test_tails_probabilities_and_their_total_fit_together(law: Law) -> None:
    for z in (-(10**9), -700, -3, -1, 0, 1, 2, 5, 33, 499, 12345, 10**9):
        step = law.tail(z) - law.tail(z + 1)
        assert step.lower <= law.pmf(z).upper
        assert law.pmf(z).lower <= step.upper
        assert (law.tail(z) + law.cdf(z - 1)).contains(1)
        assert law.cdf(z) == law.tail(-z)
    middle = Interval.of(0)
    for z in range(-60, 61):
        middle = middle + law.pmf(z)
    rest = law.tail(61)
    assert (middle + rest + rest).contains(1)


def test_far_out_tails_are_found_at_once() -> None:
    # Below 10^-1000000 Python's default context has no decimals any more.
    started = time.perf_counter()
    for law, z in (
        (DiscreteGaussian(1), 2200),
        (DiscreteGaussian(Fraction(1, 4096)), 1),
        (DiscreteGaussian(SMALLEST_SCALE), 2),
        (DiscreteGaussian(501), 2**62),
        (DiscreteGaussian(LARGEST_SCALE), 2**62),
        (DiscreteLaplace(SMALLEST_SCALE), 2**62),
        (DiscreteLaplace(LARGEST_SCALE), 2**62),
    ):
        assert 0 <= law.tail(z).lower < law.tail(z).upper < Decimal("1e-1000000")
        assert law.pmf(z).upper < Decimal("1e-1000000")
    assert time.perf_counter() - started < 2


# The radius.


def misses(law: Law, t: int) -> mpmath.mpf:
    """P(|Z| > t), from the other side."""
    if isinstance(law, DiscreteLaplace):
        return 2 * laplace_tail(law.scale, t + 1)
    assert isinstance(law, DiscreteGaussian)
    return 2 * gauss_sum(law.sigma, t + 1) / gauss_total(law.sigma)


@pytest.mark.parametrize("confidence", BETWEEN, ids=str)
@pytest.mark.parametrize("law", LAWS, ids=name)
def test_the_radius_is_the_least_that_covers(law: Law, confidence: Fraction) -> None:
    t = law.radius(confidence)
    allowed = number(1 - confidence)
    assert t >= 0
    assert misses(law, t) <= allowed
    slack = 1 if isinstance(law, DiscreteGaussian) and law.sigma > EXACT else 0
    assert t <= slack or misses(law, t - 1 - slack) > allowed


@pytest.mark.parametrize("kind", [DiscreteLaplace, DiscreteGaussian])
@pytest.mark.parametrize("scale", SCALES)
def test_the_radius_takes_no_time(
    kind: type[DiscreteLaplace | DiscreteGaussian], scale: str
) -> None:
    law = kind(Fraction(scale))
    started = time.perf_counter()
    radii = [law.radius(c) for c in (*BETWEEN, 1 - Fraction(1, 10**400))]
    assert radii == sorted(radii)
    assert time.perf_counter() - started < 3


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, math.nan, True, None])
@pytest.mark.parametrize("law", [DiscreteLaplace(2), DiscreteGaussian(2)], ids=name)
def test_no_radius_for_what_is_no_confidence(law: Law, confidence: Any) -> None:
    for asked in (law, Vector(law, 3)):
        with pytest.raises(ParameterError, match=r"^confidence: "):
            asked.radius(confidence)
