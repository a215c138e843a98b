"""A line badly chosen costs width, never soundness: any c, any step, any smoothing, any end; what is
not a number; losses that are added to a line one after the other."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from interlace.core.composition.contour import built
from interlace.core.composition.contour.blocks import Blocks
from interlace.core.composition.contour.drawing import framed
from interlace.core.composition.contour.growing import Growing
from interlace.core.composition.contour.line import Line
from interlace.core.composition.contour.model import Lattice
from interlace.core.composition.contour.saddle import for_epsilon, saddle
from interlace.core.composition.contour.search import on_line
from interlace.core.interval import Interval
from tests.core.composition.contour import referees
from tests.core.composition.contour.referees import Law
from tests.effort import examples

LISTS = [
    ((Fraction(1, 10), 60),),
    ((Fraction(1, 10), 40), (Fraction(1, 4), 9)),
    ((Fraction("0.1234567"), 30), (Fraction("0.3141592653589793"), 20)),
    tuple((Fraction(k, 97) + Fraction(1, 7**30), 1) for k in range(3, 12)),
]
NORMALS = [Fraction(0), Fraction(1, 10**4), Fraction(1, 4)]


@pytest.fixture(autouse=True)
def _exactly() -> Iterator[None]:
    with referees.balls():
        yield


def _holds(line: Line, law: Law, at: Fraction, mu_squared: Fraction) -> None:
    exact = referees.delta(law, at, mu_squared)
    assert referees.holds_delta(line.delta(at), exact)
    low, high = line.log_delta(at)
    assert not exact.log() > high
    assert not exact.log() < low


@pytest.mark.parametrize("mu_squared", NORMALS)
@pytest.mark.parametrize("losses", LISTS)
def test_any_line_encloses(losses: tuple[tuple[Fraction, int], ...], mu_squared: Fraction) -> None:
    """Steps so long that aliases count, smoothing so strong that it does, blocks that are not
    split, and a c that is far from the saddle."""
    law, model = referees.law(losses), built(losses, mu_squared)
    total = max(law)
    draw = random.Random(str(losses) + str(mu_squared))
    told = 0
    for _ in range(examples(12)):
        at = total * Fraction(draw.uniform(0, 0.9))
        c = for_epsilon(model, float(at)).c * math.exp(draw.gauss(0, 0.7))
        frame = framed(
            model,
            saddle(model, c),
            room=draw.choice([0.1, 0.6, 1.0, 1.5]),
            precision=draw.choice([1e-1, 1e-3, 1e-6]),
            work=draw.choice([0, 10_000, 1_000_000]),
        )
        for line in (frame.line(), _cut_short(frame.line(), draw)):
            _holds(line, law, at, mu_squared)
            low, high = line.log_delta(at)
            told += high - low < 0.5
    # Bounds that say nothing hold as well: that is no test.
    assert told > 1


def _cut_short(line: Line, draw: random.Random) -> Line:
    """With some nodes less, each bounded by its modulus."""
    kept = np.array([k == 0 or draw.random() > 0.05 for k in range(line.t.size)])
    nodes = line.nodes
    moduli = np.exp(nodes.log_modulus + np.where(np.isfinite(nodes.error), nodes.error, 0.0))
    shares = moduli * line.kernel.bounds(line.c, line.t) * (line.step / math.pi)
    areas = moduli * (line.step / math.pi)
    fewer = replace(
        nodes,
        log_modulus=nodes.log_modulus[kept],
        phase=nodes.phase[kept],
        error=nodes.error[kept],
    )
    tail = line.tail + float(shares[~kept].sum()) * (1 + 1e-9)
    rest = line.rest + float(areas[~kept].sum()) * (1 + 1e-9)
    return replace(line, t=line.t[kept], nodes=fewer, tail=tail, rest=rest)


@pytest.mark.parametrize("variance", ["0.3", "0.02", "1e-4"])
def test_what_smoothing_adds_is_bounded_wherever_the_line_is_cut(variance: str) -> None:
    """E[M(L - epsilon)] is an integral of phi to infinity, not to where the blocks end."""
    losses = ((Fraction(1, 3), 2), (Fraction(1), 1))
    law, more = referees.law(losses), Fraction(variance)
    model = built(losses)
    for at in (Fraction(1, 3), Fraction(1), Fraction(11, 10)):
        at_saddle = for_epsilon(model, float(at))
        frame = framed(model.smoothed(float(more)), at_saddle)
        added = referees.delta(law, at, more) - referees.delta(law, at)
        lobe = float(frame.t[-1])
        for part in (0.02, 0.1, 0.5, 1.0):
            end = lobe + (frame.end - lobe) * part
            near = frame.beyond.where(frame.beyond.low < end)
            cut = replace(
                frame,
                variance=float(more),
                end=end,
                beyond=Blocks(near.low, np.minimum(near.high, end), near.bound),
            )
            line = cut.line()
            unit = Fraction(line.axis.value + line.axis.error) - Fraction(line.c) * at
            assert not added > referees.ball(unit).exp() * line.added(at)
            _holds(line, law, at, Fraction(0))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_bounds_nothing(bad: float) -> None:
    model = built(LISTS[2])
    at = Fraction(3)
    line = framed(model, for_epsilon(model, 3.0)).line(model)
    spoiled = line.nodes.log_modulus.copy()
    spoiled[1] = bad
    turned = line.nodes.phase.copy()
    turned[1] = bad
    axis = line.axis
    with np.errstate(all="ignore"):
        for broken in (
            replace(line, nodes=replace(line.nodes, log_modulus=spoiled)),
            replace(line, nodes=replace(line.nodes, phase=turned)),
            replace(line, tail=abs(bad)),
            replace(line, axis=replace(axis, value=bad)),
            replace(line, axis=replace(axis, error=abs(bad))),
        ):
            if bad == -math.inf and broken.nodes.log_modulus is spoiled:
                continue  # a node that vanishes
            assert broken.log_delta(at) == (-math.inf, 0.0)
            found = on_line(broken, 3.0, Interval.of(Fraction(1, 100)))
            assert found.lower == 0
            assert not found.upper.is_finite()
        for shifts in (((-line.c, bad), (1.0, 0.0)), ((-line.c, 0.0), (1.0, bad))):
            low, _ = replace(line, shifts=shifts).log_delta(at)
            assert low == -math.inf or bad == -math.inf
        low, _ = replace(line, rest=abs(bad)).log_delta(at)
        assert low == -math.inf


@pytest.mark.parametrize("seed", range(examples(6)))
def test_a_loss_that_grows_encloses(seed: int) -> None:
    draw = random.Random(seed)
    growing, law, normal = Growing(), {Fraction(0): referees.ball(1)}, Fraction(0)
    menu = draw.choice(
        [
            [Fraction(1, 10)],
            [Fraction(1, 10), Fraction(1, 5), Fraction(3, 10)],
            [Fraction("0.1234567"), Fraction("0.2")],
        ]
    )
    for step in range(draw.choice([12, 25])):
        if draw.random() < 0.15:
            more = Fraction(draw.choice(["0.0001", "0.04"]))
            growing.add_gaussian(more)
            normal += more
        epsilon, count = draw.choice(menu), draw.choice([1, 1, 3])
        growing.add(epsilon, count)
        law = referees.convolved(law, referees.responses(epsilon, count))
        if step % 4 == 3:
            share = Fraction(1, 10 ** draw.choice([1, 6]))
            found = growing.epsilon(Interval.of(share))
            assert referees.holds_epsilon(found, law, share, normal)


def test_a_thousand_tiny_parts_are_not_lost_in_a_large_one() -> None:
    growing = Growing()
    tiny, share = Fraction(1, 10**6), Fraction(1, 10**5)
    growing.add(Fraction(1, 10), 200)
    growing.add_gaussian(Fraction(1, 4))
    growing.epsilon(Interval.of(share))
    for _ in range(2000):
        growing.add(tiny, 1)
    found = growing.epsilon(Interval.of(share))
    # A pure loss is dominated by a Gaussian one of mu^2 = pi/2 times its square, FORMULAS 7.5.
    law = referees.law([(Fraction(1, 10), 200)])
    low = referees.delta(law, Fraction(found.upper), Fraction(1, 4))
    high = referees.delta(law, Fraction(found.lower), Fraction(1, 4) + Fraction(8000, 10**12))
    assert not low > referees.ball(share)
    assert not high < referees.ball(share)


def test_a_lattice_of_one_point_is_its_own_line() -> None:
    assert built((), Fraction(1)).lattice is None
    assert built(((Fraction(1, 3), 2),)).lattice == Lattice(Fraction(2, 3), Fraction(2, 3))
