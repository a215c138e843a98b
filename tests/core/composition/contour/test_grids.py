"""Many nodes at once, as numbers: each within its error of the characteristic function, in balls;
and sums over them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import flint
import numpy as np
import numpy.typing as npt
import pytest

from interlace.core.composition.contour.finite import FiniteLoss
from interlace.core.composition.contour.gaussian import GaussianLoss
from interlace.core.composition.contour.grid import Grid
from interlace.core.composition.contour.model import Kind
from interlace.core.composition.contour.responses import Responses
from interlace.core.composition.contour.sums import Sums
from tests.core.composition.contour.referees import balls
from tests.effort import examples

Floats = npt.NDArray[np.float64]
Ball = Any


@pytest.fixture(autouse=True)
def _exactly() -> Iterator[None]:
    with balls():
        yield


def _responses(draw: np.random.Generator, seed: int) -> Responses:
    size = int(draw.integers(1, 9))
    epsilons = np.sort(10 ** draw.uniform(-3, 0.5, size))
    counts = np.ones(size)
    if seed % 2:
        counts = np.rint(10 ** draw.uniform(0, draw.choice([1, 4, 12]), size))
        epsilons = np.sort(epsilons / np.sqrt(counts))
    return Responses(epsilons, counts)


def _phi(losses: Responses, mu_squared: float, c: float, t: Ball) -> Ball:
    found = (flint.arb(mu_squared) * (-t * t / 2)).exp()
    found = found * (flint.acb(0, 1) * (t * (flint.arb(c) + 0.5) * mu_squared)).exp()
    for e, n in zip(losses.epsilon.tolist(), losses.count.tolist(), strict=True):
        x = flint.arb(e)
        tau = (x * (flint.arb(c) + 0.5)).tanh()
        found *= flint.acb((x * t).cos(), tau * (x * t).sin()) ** int(n)
    return found


@pytest.mark.parametrize("seed", range(examples(40)))
def test_every_node_is_within_its_error(seed: int) -> None:
    draw = np.random.default_rng(seed)
    losses = _responses(draw, seed)
    mu_squared = float(draw.choice([0.0, 1e-6, 0.1]))
    c, step = float(10 ** draw.uniform(-3, 2.5)), float(10 ** draw.uniform(-2, 1))
    first = int(10 ** draw.uniform(0, 6))
    last = first + int(draw.integers(0, 900))
    kinds: list[Kind] = [losses, GaussianLoss(mu_squared)] if mu_squared else [losses]
    grid = Grid.of(first, last, step).plus(kinds, c)
    # Added one after the other they are the same.
    parts = [Responses(losses.epsilon[i:], losses.count[i:]) for i in (1,)]
    later = Grid.of(first, last, step).plus([Responses(losses.epsilon[:1], losses.count[:1])], c)
    later = later.plus([*parts, *kinds[1:]], c)
    assert grid.size == last + 1 - first
    for found in (grid, later):
        phi, lost = found.phi.ravel(), found.lost.ravel()
        for k in draw.integers(0, grid.size, 12).tolist():
            exact = _phi(losses, mu_squared, c, flint.arb(step) * (first + k))
            gap = abs(exact - flint.acb(phi[k].real, phi[k].imag))
            assert not gap > lost[k]
        assert not phi[grid.size :].any()
        assert not lost[grid.size :].any()
    if losses.count.max() == 1:
        assert grid.lost.max() < 1e-6


@pytest.mark.parametrize("seed", range(examples(10)))
def test_of_losses_with_finitely_many_values(seed: int) -> None:
    draw = np.random.default_rng(seed)
    masses = draw.uniform(0.1, 1, 5)
    values = np.sort(draw.uniform(-1, 1, 5))
    loss = FiniteLoss(values, np.log(masses / masses.sum()), 3.0)
    grid = Grid.of(5, 300, 0.7).plus([loss, loss], 2.0)
    for k in draw.integers(0, grid.size, 12).tolist():
        t = flint.arb(0.7) * (5 + k)
        sums = [flint.acb(0), flint.acb(0)]
        for v, m in zip(values.tolist(), loss.log_masses.tolist(), strict=True):
            tilted = (flint.arb(m) + 2 * flint.arb(v)).exp()
            sums[0] += tilted * (flint.acb(0, 1) * t * v).exp()
            sums[1] += tilted
        exact = (sums[0] / sums[1]) ** 6
        found = complex(grid.phi.ravel()[k])
        assert not abs(exact - flint.acb(found.real, found.imag)) > grid.lost.ravel()[k]


@pytest.mark.parametrize("seed", range(examples(12)))
def test_sums_are_within_their_errors(seed: int) -> None:
    draw = np.random.default_rng(seed)
    first, last, step = int(draw.integers(1, 10_000)), 40, float(10 ** draw.uniform(-2, 0))
    grid = Grid.of(first, first + last, step).plus([_responses(draw, 0)], 1.0)
    weights = [np.asarray(1 / (1 + 1j * grid.t)), None]
    sums = Sums.of((grid.row, grid.place), grid.phi, 0 * grid.lost, weights, 2.0**-52)
    at, factors = float(draw.uniform(0, 100)), (0.3, 0.7)
    exact = flint.acb(0)
    for k, phi in enumerate(grid.phi.ravel()[: grid.size].tolist()):
        t = flint.arb(step) * (first + k)
        weight = flint.arb(0.3) / flint.acb(1, t) + flint.arb(0.7)
        exact += flint.acb(phi.real, phi.imag) * weight * (flint.acb(0, -1) * t * at).exp()
    error = sums.error(at, factors)
    assert not abs(exact.real - sums.about(at, factors)) > error
    assert error < 1e-6
    # An error of phi is one of the sum.
    wrong = Sums.of((grid.row, grid.place), grid.phi, 0 * grid.lost + 1e-3, weights, 0.0)
    assert wrong.error(at, factors) >= 1e-3 * 0.7 * grid.size


def test_what_is_no_number_has_no_error_that_is_one() -> None:
    grid = Grid.of(1, 30, 0.1).plus([Responses(np.array([1.0]), np.array([1.0]))], 1.0)
    spoiled = grid.phi.copy()
    spoiled[0, 0] = math.nan
    sums = Sums.of((grid.row, grid.place), spoiled, grid.lost, [None], 0.0)
    assert not sums.error(1.0, (1.0,)) < math.inf
    assert not sums.about(1.0, (1.0,)) < math.inf
