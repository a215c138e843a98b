"""What the contour is made of, piece by piece: cumulants, nodes, kernels and bounds of |phi|, each
against balls of 400 bits. An error that a piece claims is never less than the one it has."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import numpy.typing as npt
import pytest

from interlace.core.composition.contour.blocks import Enough, bounded
from interlace.core.composition.contour.building import built
from interlace.core.composition.contour.compression import compressed
from interlace.core.composition.contour.drawing import framed
from interlace.core.composition.contour.finite import FiniteLoss
from interlace.core.composition.contour.gaussian import GaussianLoss
from interlace.core.composition.contour.kernels import Kernel, LatticeKernel, RealKernel
from interlace.core.composition.contour.model import Lattice, Model
from interlace.core.composition.contour.responses import Responses
from interlace.core.composition.contour.search import saddle_of
from interlace.core.composition.contour.values import Cumulants, Nodes
from interlace.core.interval import Interval
from tests.core.composition.contour.referees import ball, balls
from tests.effort import examples

Floats = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]
Ball = Any


@pytest.fixture(autouse=True)
def _exactly() -> Iterator[None]:
    with balls():
        yield


def _moment(s: Ball, epsilons: Floats, counts: Floats, mu_squared: float = 0.0) -> Ball:
    """E[e^(sL)] of two-point losses, and of a Gaussian one."""
    total = (s * (s + 1) * flint.acb(mu_squared) / 2).exp()
    for e, n in zip(epsilons.tolist(), counts.tolist(), strict=True):
        x = flint.acb(e)
        total *= ((x * (s + 0.5)).cosh() / (x / 2).cosh()) ** int(n)
    return total


def _phi(c: float, t: float, epsilons: Floats, counts: Floats, mu_squared: float = 0.0) -> Ball:
    top = _moment(flint.acb(c, t), epsilons, counts, mu_squared)
    return top / _moment(flint.acb(c), epsilons, counts, mu_squared)


def _holds(nodes: Nodes, k: int, exact: Ball) -> bool:
    """Whether a node is as near as it says, or else bounds the modulus."""
    if not math.isfinite(nodes.error[k]):
        return not abs(exact) > flint.arb(float(nodes.log_modulus[k])).exp() * (1 + 1e-13)
    claimed = flint.acb(float(nodes.log_modulus[k]), float(nodes.phase[k])).exp()
    return not abs(claimed / exact - 1) > flint.arb(2 * float(nodes.error[k])).expm1()


def _lists(seed: int) -> tuple[Floats, Floats]:
    """A few two-point losses: of one size, of many sizes, tiny ones many times."""
    draw = np.random.default_rng(seed)
    size = int(draw.integers(1, 12))
    spread = draw.choice([0.1, 1.0, 4.0])
    epsilons = np.unique(10 ** (draw.uniform(-4, 1) + draw.uniform(-spread, spread, size)))
    counts = np.ones(epsilons.size)
    if seed % 3 == 0:
        counts = np.rint(10 ** draw.uniform(0, 15, epsilons.size))
        epsilons = np.sort(epsilons / np.sqrt(counts))
    return epsilons, counts


@pytest.mark.parametrize("seed", range(examples(60)))
def test_cumulants_and_nodes_are_as_near_as_they_say(seed: int) -> None:
    epsilons, counts = _lists(seed)
    draw = np.random.default_rng(seed)
    losses = Responses(epsilons, counts)
    for c in 10 ** draw.uniform(-6, 3, 3):
        exact = _moment(flint.acb(float(c)), epsilons, counts).log().real
        found = losses.cumulants(float(c))
        assert not abs(exact - found.value) > found.error
        # Where one factor all but vanishes, and anywhere.
        near = np.pi / 2 / epsilons[0] * (1 + draw.choice([0.0, 1e-16, 1e-13, 1e-9], 4))
        t = np.concatenate([[0.0], near, 10 ** draw.uniform(-3, 4, 4) / epsilons[-1]])
        nodes = losses.nodes(float(c), t)
        bounds = losses.log_bounds(float(c), t * 0.999, t * 1.001)
        for k, at in enumerate(t.tolist()):
            phi = _phi(float(c), at, epsilons, counts)
            assert _holds(nodes, k, phi)
            assert not abs(phi).log() > bounds[k] + 1e-13


def test_a_bound_for_very_many_tiny_losses_is_not_rounded_down() -> None:
    """1 - sin^2 rounds to a float below: to the power of 1e15 that is no bound any more."""
    counts = np.array([1e15])
    losses = Responses(np.array([0.8e-8]), counts)
    for t in (0.3, 0.9, 1.0, 1.3, 2.0):
        bound = losses.log_bounds(1.0, np.array([t]), np.array([t]))[0]
        assert not abs(_phi(1.0, t, losses.epsilon, counts)).log() > bound


def test_a_sum_that_grows_by_tiny_parts_knows_what_it_lost() -> None:
    """Parts below half a unit of the sum vanish: ten thousand of them do count."""
    value = Cumulants(1000.0, 0.0, 0.0, 0.0)
    nodes = Nodes(np.array([-1000.0]), np.array([1000.0]), np.array([0.0]))
    part = 5e-14
    for _ in range(10_000):
        value = value + Cumulants(part, 0.0, 0.0, 0.0)
        nodes = nodes + Nodes(np.array([-part]), np.array([part]), np.array([0.0]))
    assert value.value + value.error >= 1000 + 10_000 * part
    assert nodes.log_modulus[0] - nodes.error[0] <= -1000 - 10_000 * part
    assert nodes.phase[0] + nodes.error[0] >= 1000 + 10_000 * part


def test_many_small_errors_together_leave_a_bound_of_the_modulus() -> None:
    part = Nodes(np.array([-1.0]), np.array([0.0]), np.array([0.9e-3]))
    nodes = part
    for _ in range(1999):
        nodes = nodes + part
    # The moduli may be e^(-1 + 0.0009) each.
    assert nodes.error[0] == math.inf
    assert nodes.log_modulus[0] >= 2000 * (-1 + 0.9e-3)


def _real_list(size: int, seed: int) -> Model:
    epsilons = np.random.default_rng(seed).uniform(0.01, 0.2, size)
    return built(tuple((Fraction(e), 1) for e in np.sort(epsilons)))


def _finite_model() -> Model:
    draw = np.random.default_rng(5)
    values, masses = np.sort(draw.uniform(-1, 1, 30)), draw.uniform(0, 1, 30)
    loss = FiniteLoss(values, np.log(masses / masses.sum()), 40.0)
    return Model(Responses(np.zeros(0), np.zeros(0)), GaussianLoss(0.0), (loss,))


def _phi_of(model: Model, c: float, t: float, mu_squared: float) -> Ball:
    found = _phi(c, t, model.responses.epsilon, model.responses.count, mu_squared)
    for kind in model.others:
        assert isinstance(kind, FiniteLoss)
        moments = [
            sum(
                (
                    flint.arb(m).exp() * (s * flint.acb(v)).exp()
                    for v, m in zip(kind.values.tolist(), kind.log_masses.tolist(), strict=True)
                ),
                flint.acb(0),
            )
            for s in (flint.acb(c, t), flint.acb(c))
        ]
        found *= (moments[0] / moments[1]) ** int(kind.count)
    return found


@pytest.mark.parametrize(
    "model",
    [
        _real_list(100, 1),
        _real_list(500, 2),
        _real_list(1500, 3),
        built(tuple((Fraction(k, 7919), k % 3 + 1) for k in range(50, 600)), Fraction(1, 50)),
        _finite_model(),
    ],
    ids=["100", "500", "1500", "counted", "finite"],
)
@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 10**6), Fraction(1, 10**40)])
def test_blocks_bound_the_characteristic_function(model: Model, share: Fraction) -> None:
    """Among others: no loss may be counted twice, once in a bin and once by itself."""
    saddle = saddle_of(model, Interval.of(share))
    frame = framed(model, saddle)
    draw = np.random.default_rng(7)
    start = float(frame.t[-1]) + frame.step
    blocks = bounded(model, saddle.c, np.linspace(start, 40 * start, 65), start, Enough(0.0, 0.0))
    for found in (frame.beyond, blocks):
        if not found.low.size:
            continue
        # Blocks where the bound is largest, near the axis, and any.
        order = np.argsort(-found.bound)
        near = np.argsort(found.low)
        chosen = [*order[:3], *near[:3], *draw.choice(found.low.size, 4)]
        for k in chosen:
            at = float(draw.choice([found.low[k], found.high[k]]))
            exact = abs(_phi_of(model, saddle.c, at, frame.gaussian))
            assert not exact > flint.arb(float(found.bound[k]))


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(1, 10**6), Fraction(1, 10**40)])
def test_many_losses_as_few_are_as_near_as_they_say(share: Fraction) -> None:
    draw = np.random.default_rng(11)
    for epsilons in (
        np.sort(draw.uniform(0.01, 0.2, 900)),
        np.sort(10 ** draw.uniform(-5, -0.5, 2500)),
        np.sort(0.1 * (1 + 1e-9 * draw.uniform(-1, 1, 450))),
    ):
        model = built(tuple((Fraction(e), 1) for e in epsilons))
        ones = np.ones(epsilons.size)
        saddle = saddle_of(model, Interval.of(share))
        found = model.cumulants(saddle.c)
        exact = _moment(flint.acb(saddle.c), epsilons, ones).log().real
        assert not abs(exact - found.value) > found.error
        t = np.array([0.0, 0.3, 1.0, 3.0, 9.0]) / math.sqrt(found.bend)
        nodes = model.nodes(saddle.c, t)
        for k, at in enumerate(t.tolist()):
            assert _holds(nodes, k, _phi(saddle.c, at, epsilons, ones))


@pytest.mark.parametrize("high", [0.011, 0.02, 0.2])
def test_what_few_points_change_is_bounded_up_to_the_singularity(high: float) -> None:
    """On the imaginary axis, where log cosh(z a) has its singularity at |z a| = pi/2."""
    epsilons = np.sort(np.random.default_rng(13).uniform(0.01, high, 450))
    found = compressed(Responses(epsilons, np.ones(450)))
    assert found is not None
    told = 0
    for part in (0.01, 0.3, 0.5, 0.7, 0.8, 0.85):
        modulus = part * math.pi / 2 / high
        claimed = found.error(modulus)
        if not math.isfinite(claimed):
            continue
        a = flint.acb(0, modulus)
        exact, few = flint.acb(0), flint.acb(0)
        for z in epsilons.tolist():
            exact += ((z * a).cosh() / (flint.acb(z) / 2).cosh()).log()
        points = found.points
        for z, n in zip(points.epsilon.tolist(), points.count.tolist(), strict=True):
            few += n * ((z * a).cosh() / (flint.acb(z) / 2).cosh()).log()
        assert not abs(exact - few) > claimed
        told += float(abs(exact - few).mid()) > 1e-4 * claimed
    assert told
    assert found.error(math.pi / 2 / 0.01) == math.inf


def values_of(kernel: Kernel, c: float, t: Floats, epsilon: Fraction) -> tuple[Complexes, Floats]:
    """W, and how far rounding may have moved it."""
    parts = list(zip(kernel.coefficients(epsilon), kernel.functions(c, t), strict=True))
    moduli = sum((factor * np.abs(part) for factor, part in parts), np.zeros(t.size))
    found = sum((factor * part for factor, part in parts), np.zeros(t.size, dtype=np.complex128))
    return found, moduli * kernel.rounded(c)


@pytest.mark.parametrize("seed", range(examples(40)))
def test_kernels_are_as_near_as_they_say(seed: int) -> None:
    """Also where the two terms of the lattice's sum all but cancel."""
    draw = np.random.default_rng(seed)
    spacing = Fraction(float(10 ** draw.uniform(-4, 1)))
    c = float(10 ** draw.uniform(-3, 2)) / float(spacing)
    a = ball(spacing)
    # 1 - e^-x = e^(-ca) (e^-x - e^-a): there W vanishes at t = pi/a.
    fall = (-a * c).exp()
    zero = -((1 + fall * (-a).exp()) / (1 + fall)).log()
    x = Fraction(float(zero.mid())) if seed % 2 else spacing * Fraction(float(draw.uniform()))
    kernel = LatticeKernel(Lattice(Fraction(7), spacing))
    epsilon = 7 - spacing * 3 - x
    t = np.pi / float(spacing) * np.array([0.0, 0.1, 0.7, 0.999, 1 - 1e-9])
    values, lost = values_of(kernel, c, t, epsilon)
    bounds = kernel.bounds(c, t)
    assert kernel.at(epsilon) == epsilon + x
    for k, at in enumerate(t.tolist()):
        s = flint.acb(c, at)
        first, second = 1 - (-ball(x)).exp(), (-ball(x)).exp() - (-a).exp()
        below = (1 - (-s * a).exp()) * (1 - (-(s + 1) * a).exp())
        exact = a * (first + (-s * a).exp() * second) / below
        assert (
            not abs(exact - flint.acb(complex(values[k]).real, complex(values[k]).imag)) > lost[k]
        )
        assert not abs(exact) > bounds[k] * (1 + 1e-12)
    values, lost = values_of(RealKernel(), c, t, epsilon)
    for k, at in enumerate(t.tolist()):
        s = flint.acb(c, at)
        gap = abs(1 / (s * (s + 1)) - flint.acb(complex(values[k]).real, complex(values[k]).imag))
        assert not gap > lost[k]
