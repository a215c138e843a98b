"""Real-valued losses, few and many: sums over all their values say what an interval must hold, for
random and awkward lists, in both directions; beyond such sums an enclosure of the integral by
python-flint does, with a true Gaussian loss that bounds the rest."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from fractions import Fraction

import pytest

from interlace.core.composition.contour import built, delta, epsilon
from interlace.core.composition.optimal import model as summed
from interlace.core.composition.terms import Losses
from interlace.core.interval import Interval
from tests.core.composition.contour import referees
from tests.core.composition.contour.referees import Dense, width
from tests.effort import examples

#: Denominators that no lattice is made for.
HIDDEN = Fraction(1, 1000) + Fraction(1, 3**60)
SHARES = [Fraction(1, 10**n) for n in (1, 2, 4, 6, 10, 15, 30, 50, 100, 300)]


@pytest.fixture(autouse=True)
def _exactly() -> Iterator[None]:
    with referees.balls():
        yield


def _counted(epsilons: list[Fraction]) -> Losses:
    return tuple((e, epsilons.count(e)) for e in sorted(set(epsilons)))


def _uniform(draw: random.Random, size: int, low: float, high: float) -> list[Fraction]:
    return [Fraction(repr(draw.uniform(low, high))) for _ in range(size)]


def _few(draw: random.Random) -> Losses:
    """1 to 30 losses whose values can be summed."""
    size = draw.choice([1, 2, 3, 5, 8, 12, 16, 20, 24, 28])
    kind = draw.randrange(6)
    if kind == 0:  # of all sizes
        return _counted([Fraction(repr(10 ** draw.uniform(-4, 0.7))) for _ in range(size)])
    if kind == 1:  # near-equal: a lattice but for what is far below it
        blur = 10 ** draw.randint(-12, -3)
        return _counted([Fraction(1, 5) + Fraction(draw.random() * blur) for _ in range(size)])
    if kind == 2:  # near a lattice
        blur = 10 ** draw.randint(-12, -3)
        steps = [Fraction(draw.randint(1, 9), 20) for _ in range(size)]
        return _counted([s + Fraction(draw.random() * blur) for s in steps])
    if kind == 3:  # one huge, the others tiny
        return _counted([*_uniform(draw, size, 1e-6, 1e-3), Fraction(draw.choice([3, 40]))])
    if kind == 4:  # few irrational multiples, each many times
        roots = [Fraction(math.sqrt(p)) / 20 for p in draw.sample([2, 3, 5, 7], 3)]
        return tuple(sorted((r, draw.choice([5, 25, 60])) for r in roots))
    return _counted(_uniform(draw, size, 0.01, 0.2))


@pytest.mark.parametrize("seed", [*range(examples(16)), *(
    pytest.param(seed, marks=pytest.mark.soak) for seed in range(1000, 1000 + examples(300))
)])  # fmt: skip
def test_of_few_losses_against_sums_in_decimals(seed: int) -> None:
    draw = random.Random(seed)
    losses = _few(draw)
    exact, model = summed(losses), built(losses)
    if exact is None:
        pytest.skip("more values than the exact sum lists")
    share = draw.choice(SHARES)
    found, sums = epsilon(model, Interval.of(share)), exact.epsilon(Interval.of(share))
    assert found.lower <= sums.upper
    assert sums.lower <= found.upper
    at = exact.total * Fraction(draw.choice([0.0, draw.random(), 1 - 10 ** -draw.uniform(0, 9)]))
    found, sums = delta(model, at), exact.delta(at)
    assert found.lower <= sums.upper
    assert sums.lower <= found.upper


def _many(draw: random.Random) -> list[int]:
    """50 to 100 losses as multiples of a small step."""
    size = draw.choice([50, 60, 75, 100])
    kind = draw.randrange(5)
    if kind == 0:  # anything
        return [draw.randint(10, 200) for _ in range(size)]
    if kind == 1:  # few values, many times
        few = draw.sample(range(20, 200), 4)
        return [draw.choice(few) for _ in range(size)]
    if kind == 2:  # near a lattice of 50
        return [50 * draw.randint(1, 4) + draw.choice([-1, 0, 0, 1]) for _ in range(size)]
    if kind == 3:  # one huge, many tiny
        return [3000, *(draw.randint(1, 9) for _ in range(size))]
    return [draw.choice([99, 100, 101, 141]) for _ in range(size)]


@pytest.mark.parametrize("seed", [*range(examples(8)), *(
    pytest.param(seed, marks=pytest.mark.soak) for seed in range(1000, 1000 + examples(120))
)])  # fmt: skip
def test_of_fifty_to_a_hundred_losses_against_sums_in_positive_floats(seed: int) -> None:
    """On a lattice that the code cannot know."""
    draw = random.Random(seed)
    numbers = _many(draw)
    step = HIDDEN * draw.choice([Fraction(1), Fraction(1, 3), Fraction(4)])
    dense = Dense.of(numbers, step)
    model = built(_counted([n * step for n in numbers]))
    assert model.lattice is None
    total = sum(numbers) * step
    for share in draw.sample(SHARES, 2):
        found, goal = epsilon(model, Interval.of(share)), referees.ball(share)
        if found.lower > 0:
            assert not dense.delta(Fraction(found.lower)) < goal
        assert not dense.delta(Fraction(found.upper)) > goal
        assert found.upper <= Interval.of(total).upper
    at = total * Fraction(draw.choice([draw.random(), draw.random() / 4]))
    assert referees.holds_delta(delta(model, at), dense.delta(at))


@pytest.mark.parametrize(
    ("size", "share", "most"),
    [
        (29, 1, 5e-9),
        (29, 6, 1e-9),
        (35, 4, 1e-9),
        (50, 1, 1e-9),
        (50, 6, 1e-9),
        (55, 10, 1e-9),
        (60, 6, 1e-9),
        (70, 15, 1e-9),
        (100, 6, 1e-9),
        (100, 15, 1e-9),
        *(
            pytest.param(size, share, 1e-9, marks=pytest.mark.soak)
            for size in (50, 60, 80, 100, 150, 300, 1200)
            for share in (1, 2, 4, 10, 15, 20, 30, 50, 100, 200, 300)
        ),
    ],
)
def test_of_real_losses_the_interval_is_narrow_at_every_delta(
    size: int, share: int, most: float
) -> None:
    losses = _counted(_uniform(random.Random(size), size, 0.01, 0.2))
    found = epsilon(built(losses), Interval.of(Fraction(1, 10**share)))
    assert width(found) < most


@pytest.mark.parametrize(
    ("size", "share"),
    [(50, "1e-6"), (60, "1e-10"), pytest.param(29, "1e-4", marks=pytest.mark.soak)],
)
def test_what_is_narrow_is_where_lists_rounded_up_and_down_say(size: int, share: str) -> None:
    """To 1/400000 each way: sums on a lattice in positive floats, below and above."""
    losses = _uniform(random.Random(size), size, 0.01, 0.2)
    step = Fraction(1, 400_000)
    found = epsilon(built(_counted(losses)), Interval.of(Fraction(share)))
    goal = referees.ball(Fraction(share))
    below = Dense.of([math.floor(e / step) for e in losses], step)
    above = Dense.of([math.ceil(e / step) for e in losses], step)
    assert not below.delta(Fraction(found.upper)) > goal
    assert not above.delta(Fraction(found.lower)) < goal
    # The referees tell something: a millionth beside it is wrong.
    aside = Fraction(1, 10**4)
    assert above.delta(Fraction(found.upper) + aside) < goal
    assert below.delta(Fraction(found.lower) - aside) > goal


def _line(losses: Losses, mu_squared: float, at: float) -> float:
    """The c at which the tilted loss has about the mean ``at``."""
    low, high = 0.05, 1e4
    for _ in range(40):
        c = math.sqrt(low * high)
        mean = (c + 0.5) * mu_squared
        mean += sum(n * float(e) * math.tanh(float(e) * (c + 0.5)) for e, n in losses)
        low, high = (c, high) if mean < at else (low, c)
    return low


@pytest.mark.parametrize(
    ("size", "mu_squared"),
    [
        (60, "0.05"),
        (60, "0.5"),
        pytest.param(200, "0.05", marks=pytest.mark.soak),
        pytest.param(1000, "0.2", marks=pytest.mark.soak),
    ],
)
def test_beyond_sums_against_enclosures_of_the_integral(size: int, mu_squared: str) -> None:
    """The Gaussian loss makes what is cut off explicit: |F| falls like e^(-mu^2 t^2/2)/t^2."""
    losses = _counted(_uniform(random.Random(size), size, 0.01, 0.2))
    normal = Fraction(mu_squared)
    model = built(losses, normal)
    deviation = math.sqrt(float(normal) + sum(float(e * e) for e, _ in losses))
    mean = float(normal) / 2 + sum(float(e) * math.tanh(e / 2) for e, _ in losses)
    for far in (1.0, 4.5):
        at = Fraction(mean + far * deviation)
        with referees.balls(160):
            exact = referees.integral(losses, normal, at, _line(losses, float(normal), float(at)))
        found = delta(model, at)
        assert referees.holds_delta(found, exact)
        assert float(exact.rad() / exact.mid()) < 1e-12
        assert width(found) < 1e-8
        # And the other way: epsilon at a delta just above and below the ball's.
        for factor in (Fraction(999_999_999, 10**9), Fraction(10**9 + 1, 10**9)):
            share = Fraction(float(exact.mid())) * factor
            there = epsilon(model, Interval.of(share))
            assert (there.upper > at) if factor < 1 else (there.lower < at)
            assert width(there) < 1e-9
