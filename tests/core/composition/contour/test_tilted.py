"""Laws of finitely many values: moments, nodes and bounds within their errors, in balls."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import flint
import numpy as np
import numpy.typing as npt
import pytest

from interlace.core.composition.contour.finite import FiniteLoss
from interlace.core.composition.contour.grid import Grid
from tests.core.composition.contour.referees import balls
from tests.effort import examples

Ball = Any
Floats = npt.NDArray[np.float64]


@pytest.fixture(autouse=True)
def _exactly() -> Iterator[None]:
    with balls():
        yield


def _loss(draw: np.random.Generator) -> FiniteLoss:
    """Spread evenly, at random, on a lattice, or in clusters; some masses are tiny."""
    size = int(draw.choice([1, 2, 3, 17, 150, 700]))
    scale = float(10 ** draw.uniform(-3, 1))
    kind = int(draw.integers(0, 3))
    places: Floats = draw.normal(size=size)
    if kind == 1:
        places = np.arange(float(size)) - size / 2
    elif kind == 2:
        places = np.asarray(np.rint(places) + draw.normal(size=size) * 1e-3)
    masses = -draw.exponential(size=size) * float(draw.choice([1.0, 20.0]))
    count = float(np.rint(10 ** draw.uniform(0, draw.choice([1, 3, 9]))))
    log_masses = masses - np.log(np.exp(masses).sum()) - float(draw.choice([0.0, 1e-3]))
    return FiniteLoss(np.unique(places) * scale, log_masses[: np.unique(places).size], count)


def _terms(loss: FiniteLoss) -> list[tuple[Ball, Ball]]:
    return [
        (flint.arb(v), flint.arb(m).exp())
        for v, m in zip(loss.values.tolist(), loss.log_masses.tolist(), strict=True)
    ]


@pytest.mark.parametrize("seed", range(examples(40)))
def test_moments_nodes_and_bounds_are_within_their_errors(seed: int) -> None:
    draw = np.random.default_rng(seed)
    loss = _loss(draw)
    width = float(np.ptp(loss.values)) + 1e-3
    c = float(10 ** draw.uniform(-3, 1.5)) / width
    found = loss.cumulants(c)
    tilted = [(v, m * (v * c).exp()) for v, m in _terms(loss)]
    whole = sum((m for _, m in tilted), flint.arb(0))
    assert not abs(whole.log() * int(loss.count) - found.value) > found.error
    count, step = int(loss.count), float(10 ** draw.uniform(-4, 1)) / width
    first = int(10 ** draw.uniform(0, 4))
    grid = Grid.of(first, first + 300, step).plus([loss], c)
    phi, lost = grid.phi.ravel(), grid.lost.ravel()
    for k in [0, *draw.integers(0, grid.size, 4).tolist()]:
        t = flint.arb(step) * (first + k)
        at = float(grid.t.ravel()[k])
        one = sum((m * flint.acb((v * t).cos(), (v * t).sin()) for v, m in tilted), flint.acb(0))
        exact = (one / whole) ** count
        assert not abs(exact - flint.acb(phi[k].real, phi[k].imag)) > lost[k]
        nodes = loss.nodes(c, np.array([at]))
        modulus = flint.arb(float(nodes.log_modulus[0])).exp()
        if math.isfinite(nodes.error[0]):
            turn = flint.arb(float(nodes.phase[0]))
            gap = abs(exact - modulus * flint.acb(turn.cos(), turn.sin()))
            assert not gap > abs(exact) * (2 * flint.arb(float(nodes.error[0]))).expm1()
        else:
            assert not abs(exact) > modulus * (1 + flint.arb(1e-12))
        around = np.array([at * float(draw.choice([1e-9, 1e-3, 0.3]))])
        bound = float(loss.log_bounds(c, at - around / 2, at + around)[0])
        assert not abs(exact) > flint.arb(bound).exp() * (1 + flint.arb(1e-9))


@pytest.mark.parametrize("count", [1, 50, 10**4, 10**8])
def test_rounding_grows_with_the_root_of_the_count(count: int) -> None:
    values = np.linspace(-0.2, 0.2, 401)
    log_masses = -values * values * 30
    log_masses -= np.log(np.exp(log_masses).sum())
    loss = FiniteLoss(values, log_masses, float(count), 0.0)
    root = math.sqrt(count)
    assert loss.cumulants(5 / root).error <= 1e-13 * root + 1e-12
    assert loss.nodes(5 / root, np.array([3 / root])).error[0] <= 1e-12 * (root + 1)


def test_rows_where_phi_is_tiny_are_not_evaluated() -> None:
    values = np.linspace(-1, 1, 2001)
    loss = FiniteLoss(values, np.full(2001, -math.log(2001)), 400.0)
    row, place = np.array([0.0, 20.0, 3000.0]), np.arange(2000.0) * 0.005
    found, error = loss.numbers(0.0, row, place)
    assert found[0].any()
    assert not found[1].any()
    assert error[1].max() < 1e-22
    # Of values 1/1000 apart the modulus has the period 2000 pi: still far from there.
    assert not found[2].any()


def test_groups_of_values_say_what_single_ones_do_not() -> None:
    values = np.linspace(-1, 1, 20001)
    loss = FiniteLoss(values, np.full(20001, -math.log(20001)), 100.0)
    low = np.array([4.0, 10.0, 40.0])
    assert loss.log_bounds(0.0, low, low * 1.01).max() < -10
