"""Laplace and Gaussian: noise never below what the plan needs, guarantees never above."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.composition import compose
from interlace.core.guarantees import ZCDP, PureDP
from interlace.core.laws import (
    LARGEST_SCALE,
    SMALLEST_SCALE,
    DiscreteGaussian,
    DiscreteLaplace,
    Joint,
    Law,
    Vector,
)
from interlace.core.mechanisms import Gaussian, Laplace
from interlace.core.queries import LARGEST_INTEGER, Query, Sensitivity
from tests.core.mechanisms.doubles import Reading, Run, reading, scripted

parameters = st.fractions(Fraction(1, 10**4), 100, max_denominator=10**9) | st.floats(1e-4, 100)
bounds = st.integers(1, 10**5)


def exactly(value: Fraction | float) -> Fraction:
    return value if isinstance(value, Fraction) else Fraction(repr(value))


def scale(law: Law | Joint) -> Fraction:
    single = law.law if isinstance(law, Vector) else law
    assert isinstance(single, DiscreteLaplace | DiscreteGaussian)
    return single.scale if isinstance(single, DiscreteLaplace) else single.sigma


def total(guarantee: PureDP | ZCDP, count: int) -> object:
    return compose([(guarantee, count)])


def test_what_was_asked_for_is_what_is_given_where_it_can_be() -> None:
    assert Laplace(epsilon=0.1, answers=20).guarantee.epsilon(0) == 2
    assert Laplace(epsilon=0.1, answers=20).guarantee == total(PureDP(0.1), 20)
    assert Laplace(scale=4, answers=3, sensitivity=2).guarantee.epsilon(0) == 1.5
    assert Gaussian(rho=0.005, answers=20).guarantee == total(ZCDP(0.005), 20)
    assert Gaussian(rho=0.005, answers=20).guarantee.renyi(5) == 0.5
    assert Gaussian(sigma=2, sensitivity=3, answers=4).guarantee.renyi(1) == 4.5


@given(parameters, st.integers(1, 1000), bounds)
def test_laplace_costs_at_most_what_was_asked(
    epsilon: Fraction | float, answers: int, sensitivity: int
) -> None:
    made = Laplace(epsilon=epsilon, answers=answers, sensitivity=sensitivity)
    each = sensitivity / made.scale
    assert made.guarantee == total(PureDP(each), answers)
    assert exactly(epsilon) * (1 - Fraction(1, 2**51)) < each <= exactly(epsilon)


@given(parameters, st.integers(1, 1000), bounds)
def test_gaussian_costs_at_most_what_was_asked(
    rho: Fraction | float, answers: int, sensitivity: int
) -> None:
    made = Gaussian(rho=rho, answers=answers, sensitivity=sensitivity)
    each = sensitivity**2 / (2 * made.sigma**2)
    assert made.guarantee == total(ZCDP(each), answers)
    assert exactly(rho) * (1 - Fraction(1, 2**50)) < each <= exactly(rho)


def test_a_root_is_rounded_up_even_where_60_digits_cannot_tell() -> None:
    # sigma is the root of 1 + 10^-100: cut off, it would be 1, and cost more than was asked.
    asked = 1 / (2 * (1 + Fraction(1, 10**100)))
    assert Gaussian(rho=asked).sigma > 1
    plan = Reading((0,), Sensitivity(1, 2, 2, 1))
    sigma = scale(Gaussian(sigma=2**20).law(Query(plan)))
    assert sigma**2 > 2 * Fraction(2**40)


@given(parameters)
def test_a_scale_is_served_rounded_up(asked: Fraction | float) -> None:
    for served in (Laplace(scale=asked).scale, Gaussian(sigma=asked).sigma):
        assert served >= exactly(asked)
        assert Fraction(math.nextafter(float(served), 0)) < exactly(asked)


@given(parameters, bounds, bounds)
def test_noise_grows_with_the_plan_so_that_each_answer_costs_the_same(
    asked: Fraction | float, sensitivity: int, moved: int
) -> None:
    query = Query(reading(0, bound=moved))
    laplace = Laplace(epsilon=asked, sensitivity=sensitivity)
    served = scale(laplace.law(query))
    assert moved / served <= sensitivity / laplace.scale <= exactly(asked)
    gaussian = Gaussian(rho=asked, sensitivity=sensitivity)
    sigma = scale(gaussian.law(query))
    assert moved**2 / sigma**2 <= sensitivity**2 / gaussian.sigma**2
    # Rounded up and no more.
    assert served <= laplace.scale * moved / sensitivity * (1 + Fraction(1, 2**51))
    assert sigma <= gaussian.sigma * moved / sensitivity * (1 + Fraction(1, 2**51))


@given(st.integers(1, 10**9), st.integers(1, 10**12), parameters)
def test_a_vector_is_measured_by_its_own_norm(l1: int, l2: int, asked: Fraction | float) -> None:
    plan = Reading((0, 0, 0), Sensitivity(3, l1, l2, 1))
    laplace, gaussian = Laplace(scale=asked), Gaussian(sigma=asked)
    if l1 * laplace.scale > LARGEST_SCALE / 2 or l2 * gaussian.sigma**2 > LARGEST_SCALE**2 / 2:
        return
    noise, other = laplace.law(Query(plan)), gaussian.law(Query(plan))
    assert isinstance(noise, Vector)
    assert isinstance(other, Vector)
    assert noise.size == other.size == 3
    assert l1 / scale(noise) <= 1 / laplace.scale
    assert l2 / scale(other) ** 2 <= 1 / gaussian.sigma**2


def test_a_plan_that_no_unit_moves_is_still_answered_with_noise() -> None:
    plan = Reading((5,), Sensitivity(0, 0, 0, 0))
    assert scale(Laplace(scale=3).law(Query(plan))) == 3
    assert scale(Gaussian(sigma=3).law(Query(plan))) == 3


def test_noise_too_small_to_serve_is_raised_for_a_small_plan() -> None:
    # Refused would be worse: a composite asks this plan only after a draw.
    small = Query(reading(0, bound=1))
    assert scale(Laplace(scale=SMALLEST_SCALE, sensitivity=4).law(small)) == SMALLEST_SCALE
    assert scale(Gaussian(sigma=SMALLEST_SCALE, sensitivity=4).law(small)) == SMALLEST_SCALE


@pytest.mark.parametrize(
    "mechanism",
    [
        *(Laplace(epsilon=0.1), Laplace(epsilon=0.01, sensitivity=3), Laplace(scale=0.3)),
        *(Gaussian(rho=0.005), Gaussian(sigma=0.4), Gaussian(sigma=1e6, sensitivity=10**3)),
    ],
    ids=str,
)
@pytest.mark.parametrize("bound", [1, 3])
@pytest.mark.parametrize("size", [1, 4])
def test_the_interval_covers_exactly_the_noise_it_claims_to(
    mechanism: Laplace | Gaussian, bound: int, size: int
) -> None:
    values = (100, -7, 0, 3)[:size]
    query = Query(reading(*values, bound=bound))
    law = mechanism.law(query)
    assert not isinstance(law, Joint)
    radius = law.radius(Fraction(19, 20))
    for noise in (-radius - 1, -radius, 0, radius, radius + 1):
        answer = Run(mechanism, scripted([noise] * size)).ask(query)
        inside = [low <= v <= high for v, (low, high) in zip(values, answer.spans, strict=True)]
        assert inside == [abs(noise) <= radius] * size
        assert answer.confidence == Fraction(19, 20)
    # So it holds with the probability that no cell's noise is beyond: all cells at once.
    single = law.law if isinstance(law, Vector) else law
    miss = Fraction(single.tail(radius + 1).upper) * 2
    assert (1 - miss) ** size >= Fraction(19, 20)


@pytest.mark.parametrize("noise", [2**80, -(2**80)])
def test_answers_end_at_the_public_bounds(noise: int) -> None:
    sign = 1 if noise > 0 else -1
    mechanism = Laplace(scale=LARGEST_SCALE)
    answer = Run(mechanism, scripted([noise])).ask(Query(reading(sign * LARGEST_INTEGER)))
    assert answer.value == sign * LARGEST_INTEGER
    # The cut moved the answer towards the value: the interval holds it.
    assert answer.spans[0][0] <= sign * LARGEST_INTEGER <= answer.spans[0][1]
