"""Laws as values: the scale rule, vectors, equality, and what a shift changes."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from interlace.core import gaussian_sums, laws
from interlace.core.errors import ParameterError
from interlace.core.interval import ONE, Interval
from interlace.core.laws import (
    LARGEST_SCALE,
    SMALLEST_SCALE,
    DiscreteGaussian,
    DiscreteLaplace,
    Law,
    Point,
    Vector,
    scale_up,
)

# The scale rule (R9).


@given(st.fractions(SMALLEST_SCALE, LARGEST_SCALE) | st.floats(2**-29, 2**40))
def test_a_scale_is_the_least_float64_that_is_not_below(asked: Fraction | float) -> None:
    exact = asked if isinstance(asked, Fraction) else Fraction(repr(asked))
    scale = scale_up(asked, "scale")
    assert Fraction(float(scale)) == scale >= exact
    assert Fraction(math.nextafter(float(scale), 0)) < exact
    assert scale_up(scale, "scale") == scale
    for kind in (DiscreteLaplace, DiscreteGaussian):
        law = kind(asked)
        assert (law.scale if isinstance(law, DiscreteLaplace) else law.sigma) == scale
        assert law == kind(scale)


@pytest.mark.parametrize(
    "scale",
    [
        *(0, -1, 0.0, math.nan, math.inf, True, None, "1", 1e-10, 5e-324, 1e13),
        SMALLEST_SCALE * Fraction(10**30 - 1, 10**30),
        LARGEST_SCALE + Fraction(1, 10**30),
    ],
)
def test_other_scales_are_refused(scale: Any) -> None:
    with pytest.raises(ParameterError, match=r"^scale: "):
        DiscreteLaplace(scale)
    with pytest.raises(ParameterError, match=r"^sigma: "):
        DiscreteGaussian(scale)


# What the laws are for.


@pytest.mark.parametrize("scale", ["1/3", "1", "20", "500.5"])
@pytest.mark.parametrize("shift", [1, 2, 7])
def test_a_shift_changes_discrete_laplace_by_its_share(scale: str, shift: int) -> None:
    law = DiscreteLaplace(Fraction(scale))
    bound, other = Interval.of(shift / law.scale), Interval.of(-shift / law.scale)
    losses = [(law.pmf(z) / law.pmf(z - shift)).log() for z in range(-30, 31)]
    assert all(loss.lower <= bound.upper and other.lower <= loss.upper for loss in losses)
    # It is reached, and no less would do.
    assert max(loss.upper for loss in losses) >= bound.lower
    assert min(loss.lower for loss in losses) <= other.upper


@pytest.mark.parametrize("sigma", ["1/3", "1", "5/2"])
@pytest.mark.parametrize("shift", [1, 2, 3])
@pytest.mark.parametrize("alpha", [1.01, 1.5, 2, 5, 33])
def test_a_shift_changes_discrete_gaussian_within_its_rho(
    sigma: str, shift: int, alpha: float
) -> None:
    law = DiscreteGaussian(Fraction(sigma))
    with mp.workdps(60):
        divergence, bound = _renyi(law, shift, mpmath.mpf(alpha))
        assert divergence <= bound * (1 + mpmath.mpf(10) ** -40)
        assert divergence >= bound / 2 or sigma == "1/3"


def _renyi(law: DiscreteGaussian, shift: int, a: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
    """The divergence of order ``a`` of a shifted law, and what FORMULAS 8.4 allows."""
    # The moment is that of a Gaussian around alpha * shift: enough integers around there.
    centre = round(a * shift)
    total = mpmath.mpf(0)
    for z in range(centre - 45, centre + 46):
        p, q = (mpmath.mpf(str(law.pmf(k).upper)) for k in (z - shift, z))
        total += p**a * q ** (1 - a)
    divergence = mp.log(total) / (a - 1)
    variance = law.sigma**2
    return divergence, a * shift**2 * variance.denominator / (2 * mpmath.mpf(variance.numerator))


# Point and Vector; laws as values.


def test_point_is_no_noise() -> None:
    law = Point()
    assert [law.pmf(z) for z in (-1, 0, 1)] == [Interval.of(0), ONE, Interval.of(0)]
    assert [law.tail(z) for z in (-1, 0, 1)] == [ONE, ONE, Interval.of(0)]
    assert [law.cdf(z) for z in (-1, 0, 1)] == [Interval.of(0), ONE, ONE]
    assert law.radius(Fraction(1, 2)) == 0


@pytest.mark.parametrize("law", [DiscreteLaplace(2), DiscreteGaussian(2)], ids=repr)
def test_a_vector_is_independent_draws(law: Law) -> None:
    vector = Vector(law, 3)
    assert vector.size == 3
    assert vector.joint([1, -2, 0]) == law.pmf(1) * law.pmf(2) * law.pmf(0)
    assert vector.pmf(1) == law.pmf(1)
    assert vector.tail(1) == law.tail(1)
    assert vector.cdf(1) == law.cdf(1)
    # All cells at once.
    t = vector.radius(Fraction(19, 20))
    inside = ONE - law.tail(t + 1) - law.tail(t + 1)
    assert Fraction(inside.power(3).lower) >= Fraction(19, 20)
    with pytest.raises(ParameterError, match=r"^values: "):
        vector.joint([1, 2])


@pytest.mark.parametrize("law", [Vector(DiscreteLaplace(1), 2), Vector(DiscreteLaplace(1), 1)])
def test_no_vector_of_vectors(law: Law) -> None:
    with pytest.raises(ParameterError, match=r"^law: "):
        Vector(law, 2)


@pytest.mark.parametrize("size", [0, -1, True, 1.5, None])
def test_a_vector_has_a_size(size: Any) -> None:
    with pytest.raises(ParameterError, match=r"^size: "):
        Vector(DiscreteLaplace(1), size)


def test_laws_are_values() -> None:
    same: list[tuple[Law, Law]] = [
        (DiscreteLaplace(10), DiscreteLaplace(10.0)),
        (DiscreteGaussian(0.5), DiscreteGaussian(Fraction(1, 2))),
        (Vector(DiscreteLaplace(2), 2), Vector(DiscreteLaplace(2.0), 2)),
    ]
    for a, b in same:
        assert a == b
        assert hash(a) == hash(b)
        assert pickle.loads(pickle.dumps(a)) == a  # noqa: S301  our own bytes
        with pytest.raises(AttributeError):
            a.size = 7  # type: ignore[misc]  # it is read-only, and this proves it
    different = {DiscreteLaplace(10), DiscreteGaussian(10), DiscreteLaplace(math.nextafter(10, 11))}
    assert len({*different, Vector(DiscreteLaplace(10), 10), Point()}) == 5


def test_the_caches_are_bounded() -> None:
    law = DiscreteGaussian(3)
    for z in range(1, 4300):
        law.tail(z)
    for cached in (gaussian_sums.weights_from, gaussian_sums.theta, laws._radius):
        size = cached.cache_info()
        assert size.maxsize is not None
        assert size.currsize <= size.maxsize
