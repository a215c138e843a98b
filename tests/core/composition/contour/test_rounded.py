"""Rounded Gaussian noise by sums over its cells, against balls over all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import flint
import numpy as np
import pytest

from interlace.core.composition import compose
from interlace.core.composition.contour import built, delta, epsilon
from interlace.core.composition.contour.rounded import RoundedGaussianLoss
from interlace.core.guarantees import GaussianDP, PureDP
from interlace.core.guarantees.losses import DiscreteGaussian, RoundedGaussian
from interlace.core.interval import Interval
from tests.core.composition.contour.referees import ball, balls, holds_delta, width

Ball = Any


@pytest.fixture(autouse=True)
def _exactly() -> Iterator[None]:
    with balls(1600):
        yield


def _masses(sigma: Fraction, first: int, last: int) -> dict[int, Ball]:
    """The mass of each cell: a difference of two tails on the side where it loses nothing."""
    scale = ball(sigma) * flint.arb(2).sqrt()

    def cell(x: int) -> Ball:
        at = abs(x)
        return (((ball(at) - 0.5) / scale).erfc() - ((ball(at) + 0.5) / scale).erfc()) / 2

    return {x: cell(x) for x in range(first, last + 1)}


def _law(sigma: Fraction, shift: int, c: float) -> list[tuple[Ball, Ball]]:
    """(loss, mass under P) of every cell that can matter at the tilt ``c``."""
    reach = math.ceil(24 * sigma)
    cells = _masses(sigma, -reach, math.ceil(c * shift) + reach + shift)
    return [((p / cells[x + shift]).log(), p) for x, p in cells.items() if x + shift in cells]


@pytest.mark.parametrize(
    ("sigma", "shift", "c", "count"),
    [
        ("1", 1, 0.3, 1),
        ("1", 3, 15.0, 2),
        ("1.7", 2, 1e-4, 10**6),
        ("4", 1, 7.0, 60),
        ("10", 7, 0.02, 1000),
        ("25", 1, 900.0, 3),
        ("40", 1, 2.0, 10**9),
    ],
)
def test_moments_and_nodes_are_within_their_errors(
    sigma: str, shift: int, c: float, count: int
) -> None:
    kind = RoundedGaussianLoss(Fraction(sigma), shift, count)
    law = _law(Fraction(sigma), shift, c)
    found = kind.cumulants(c)
    whole = sum((p * (v * c).exp() for v, p in law), flint.arb(0))
    assert not abs(whole.log() * count - found.value) > found.error
    small = min(1, math.sqrt(found.value / count))
    assert found.error <= 2e-12 * (1 + count * small + found.value)
    mu, period = shift / float(Fraction(sigma)), 2 * math.pi * float(Fraction(sigma)) ** 2 / shift
    near = 1 / (mu * math.sqrt(count))
    row = np.array([0.0, near, 3 * near, period / 2, period, 20 * period])
    place = np.array([0.0, near / 3])
    t = np.add.outer(row, place)
    nodes, (numbers, lost) = kind.nodes(c, t.ravel()), kind.numbers(c, row, place)
    bounds = kind.log_bounds(c, t[:, 0], t[:, 1])
    for k, at in enumerate(t.ravel().tolist()):
        turns = ((p * (v * c).exp(), v * at) for v, p in law)
        phi = sum((w * flint.acb(x.cos(), x.sin()) for w, x in turns), flint.acb(0)) / whole
        exact = phi**count
        assert not abs(exact) > flint.arb(float(bounds[k // 2])).exp() * (1 + flint.arb(1e-12))
        number = numbers.ravel()[k]
        assert not abs(exact - flint.acb(number.real, number.imag)) > lost.ravel()[k]
        modulus = flint.arb(float(nodes.log_modulus[k])).exp()
        if math.isfinite(nodes.error[k]):
            turn = flint.arb(float(nodes.phase[k]))
            about = modulus * flint.acb(turn.cos(), turn.sin())
            assert not abs(exact - about) > abs(exact) * (2 * flint.arb(nodes.error[k])).expm1()
        else:
            assert not abs(exact) > modulus * (1 + flint.arb(1e-12))


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize(("sigma", "shift"), [("1", 1), ("1.25", 2)])
def test_few_answers_have_the_delta_of_all_sums(sigma: str, shift: int, count: int) -> None:
    reach = math.ceil(10 * Fraction(sigma))
    cells = _masses(Fraction(sigma), -reach, reach + shift)
    law = [((cells[x] / cells[x + shift]).log(), cells[x]) for x in range(-reach, reach + 1)]
    rest = count * (1 - sum((p for _, p in law), flint.arb(0)))
    sums: list[tuple[Ball, Ball]] = []
    for chosen in combinations_with_replacement(range(len(law)), count):
        ways = math.factorial(count)
        for j in set(chosen):
            ways //= math.factorial(chosen.count(j))
        value, mass = flint.arb(0), flint.arb(ways)
        for j in chosen:
            value, mass = value + law[j][0], mass * law[j][1]
        sums.append((value, mass))
    model = built((), integers=[(RoundedGaussian(Fraction(sigma), shift), count)])
    for at in (Fraction(0), Fraction(1, 3), Fraction(2), Fraction(9, 2)):
        found = delta(model, at)
        above = ((v, p) for v, p in sums if v > ball(at))
        least = sum((p * -(ball(at) - v).expm1() for v, p in above), flint.arb(0))
        # What lies beyond the cells adds between nothing and its mass.
        exact = least + rest * flint.arb(0.5, 0.5)
        assert holds_delta(found, exact)
        assert width(found) < 1e-4


@pytest.mark.parametrize(("sigma", "shift", "count"), [("1.5", 1, 7), ("3.25", 2, 300)])
def test_many_answers_agree_with_lists_of_their_cells(sigma: str, shift: int, count: int) -> None:
    loss, pure = RoundedGaussian(Fraction(sigma), shift), ((Fraction(1, 10), 5),)
    by_cells = built(pure, integers=[(loss, count)])
    for share in (Fraction(1, 3), Fraction(1, 10**20)):
        found = epsilon(by_cells, Interval.of(share))
        for upper in (False, True):
            listed = built(pure, finite=[(loss.atoms(upper=upper), count)], upper=upper)
            other = epsilon(listed, Interval.of(share))
            if upper:
                assert found.lower <= other.upper
            else:
                assert other.lower <= found.upper


@pytest.mark.parametrize("sigma", [1, 3, 10, 100])
@pytest.mark.parametrize("count", [50, 1000, 10**6])
def test_the_interval_is_narrow_and_below_that_of_the_continuous_law(
    sigma: int, count: int
) -> None:
    part = RoundedGaussian(sigma)
    lower, upper = compose([(part, count)]).epsilon_interval(1e-6)
    assert upper - lower <= 2e-9 * upper
    # Rounding is a post-processing, and one that matters.
    continuous = compose([(GaussianDP(part.mu), count)]).epsilon(1e-6)
    assert upper < continuous
    # By Sheppard's correction the variance grows by a part 1/(12 sigma^2).
    assert continuous - lower <= continuous / (8 * sigma**2)


def test_wide_noise_is_as_discrete_gaussian_noise_of_the_rounded_variance() -> None:
    sigma, count = Fraction(12), 400
    lower, upper = compose([(RoundedGaussian(sigma), count)]).epsilon_interval(1e-6)
    wider = Fraction(math.sqrt(sigma**2 + Fraction(1, 12)))
    other = compose([(DiscreteGaussian(wider), count)]).epsilon(1e-6)
    assert abs(other - upper) <= 2e-7 * other
    assert upper > lower


def test_a_tilt_that_is_too_far_is_left_to_the_bound_of_the_continuous_law() -> None:
    kind = RoundedGaussianLoss(Fraction(2), 1, 5)
    found = kind.cumulants(1e4)
    most = 5 * 1e4 * (1e4 + 1) / 8
    assert found.value - found.error <= 0
    assert most <= found.value + found.error <= most * (1 + 1e-9)
    assert not np.isfinite(kind.nodes(1e4, np.ones(1)).error).any()
    assert kind.numbers(1e4, np.ones(1), np.ones(1))[1].min() >= 2
    assert kind.log_bounds(1e4, np.ones(1), np.ones(1)).max() == 0
    model = built((), integers=[(RoundedGaussian(2), 5)])
    assert delta(model, Fraction(10**5)).upper < Interval.of(Fraction(1, 10**300)).lower


def test_other_losses_beside_it_add_up() -> None:
    alone = compose([(RoundedGaussian(10), 200)]).epsilon(1e-6)
    lower, upper = compose(
        [(RoundedGaussian(10), 200), (PureDP(0.05), 20), GaussianDP(0.1), DiscreteGaussian(9)]
    ).epsilon_interval(1e-6)
    assert alone < lower <= upper <= lower * (1 + 1e-9)


@pytest.mark.parametrize("shift", [99, 101, 3000])
def test_values_that_are_far_apart_are_told_apart(shift: int) -> None:
    lower, upper = compose([(RoundedGaussian(1, shift), 50)]).epsilon_interval(1e-6)
    most = compose([(GaussianDP(shift), 50)]).epsilon(1e-6)
    assert most / 2 < lower
    assert lower <= upper <= most * (1 + 1e-9)
