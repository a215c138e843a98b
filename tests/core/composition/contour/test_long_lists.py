"""Long lists: against sums in positive floats on lattices that the code cannot know, and against
python-flint's enclosures of the integral; how narrow the intervals are; golden numbers."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import pytest

from interlace.core.composition.contour import Model, built, delta, deltas, epsilon
from interlace.core.composition.optimal import model as summed
from interlace.core.composition.terms import Losses
from interlace.core.interval import ONE, Interval
from tests.core.composition.contour import referees
from tests.core.composition.contour.referees import Dense, width
from tests.effort import examples

#: About 1/1000, with a denominator that no lattice is made for.
HIDDEN = Fraction(1, 1000) + Fraction(1, 3**60)


@pytest.fixture(autouse=True)
def _exactly() -> Iterator[None]:
    with referees.balls():
        yield


def _counted(numbers: list[int], step: Fraction) -> Losses:
    return tuple(sorted((n * step, times) for n, times in Counter(numbers).items()))


def _holds_epsilon(found: Interval, dense: Dense, share: Fraction) -> bool:
    goal = referees.ball(share)
    below = dense.delta(Fraction(found.lower)) < goal
    above = found.upper.is_finite() and dense.delta(Fraction(found.upper)) > goal
    return not ((found.lower > 0 and below) or above)


def _numbers(draw: random.Random) -> list[int]:
    kind = draw.randrange(5)
    if kind == 0:  # anything
        return [draw.randint(10, 200) for _ in range(draw.choice([60, 90, 200, 500]))]
    if kind == 1:  # near-equal
        return [draw.choice([99, 100, 101]) for _ in range(draw.choice([60, 150, 400]))]
    if kind == 2:  # one huge, many tiny
        return [5000, *(draw.randint(1, 5) for _ in range(draw.choice([100, 300])))]
    if kind == 3:  # a coarse lattice beside a few that do not lie on it
        return [100] * draw.choice([80, 200]) + [draw.randint(50, 150) for _ in range(5)]
    return [draw.choice([100, 200, 300, 70]) for _ in range(draw.choice([80, 200]))]


@pytest.mark.parametrize("step", [HIDDEN, Fraction(1, 1000)], ids=["hidden", "decimal"])
@pytest.mark.parametrize("seed", range(examples(4)))
def test_of_long_lists_against_sums_in_positive_floats(seed: int, step: Fraction) -> None:
    draw = random.Random(seed)
    numbers = _numbers(draw)
    dense, model = Dense.of(numbers, step), built(_counted(numbers, step))
    assert (model.lattice is None) == (step is HIDDEN)
    spread = math.sqrt(sum(n * n for n in numbers)) * float(step)
    points = [Fraction(spread * draw.uniform(1, 9)), sum(numbers) * step * Fraction(draw.random())]
    points.append(points[0] * Fraction(1001, 1000))
    for at, found in zip(points, deltas(model, points), strict=True):
        assert referees.holds_delta(found, dense.delta(at))
    assert referees.holds_delta(delta(model, points[0]), dense.delta(points[0]))
    one = draw.choice([Fraction(1, 10**6), Fraction(1, 10**30), Fraction(draw.random())])
    for share in (one, Fraction(1, 10**90)):
        assert _holds_epsilon(epsilon(model, Interval.of(share)), dense, share)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(4))
def test_of_very_long_lists_against_sums_in_positive_floats(seed: int) -> None:
    draw = random.Random(seed)
    step = HIDDEN / 50
    numbers = [draw.randint(500, 10_000) for _ in range(400)]
    dense, model = Dense.of(numbers, step), built(_counted(numbers, step))
    for at in (Fraction(1, 2), Fraction(5), Fraction(20), Fraction(30)):
        assert referees.holds_delta(delta(model, at), dense.delta(at))
    for share in (Fraction(1, 10**6), Fraction(1, 10**30), Fraction(1, 4)):
        assert _holds_epsilon(epsilon(model, Interval.of(share)), dense, share)


def _line(losses: Losses, mu_squared: float, epsilon: float) -> float:
    """The c at which the tilted loss has the mean ``epsilon``, if that is not tiny."""
    low, high = 0.05, 1e4
    for _ in range(50):
        c = math.sqrt(low * high)
        mean = (c + 0.5) * mu_squared
        mean += sum(float(e) * math.tanh(float(e) * (c + 0.5)) for e, _ in losses)
        low, high = (c, high) if mean < epsilon else (low, c)
    return low


@pytest.mark.parametrize("mu_squared", ["0.04", "1", "9"])
@pytest.mark.parametrize("size", [1, 4, 20, pytest.param(150, marks=pytest.mark.soak)])
def test_of_mixtures_against_enclosures_of_the_integral(size: int, mu_squared: str) -> None:
    draw = random.Random(size)
    losses = tuple(sorted((Fraction(repr(draw.uniform(0.01, 0.3))), 1) for _ in range(size)))
    normal = Fraction(mu_squared)
    model = built(losses, normal)
    deviation = math.sqrt(float(normal) + sum(float(e * e) for e, _ in losses))
    mean = float(normal) / 2 + sum(float(e) * math.tanh(e / 2) for e, _ in losses)
    for far in (-0.5, 2.0, 6.0):
        at = Fraction(max(mean + far * deviation, 0.0))
        with referees.balls(200):
            exact = referees.integral(losses, normal, at, _line(losses, float(normal), float(at)))
        found = delta(model, at)
        assert referees.holds_delta(found, exact)
        # The referee tells something.
        assert float(exact.rad() / exact.mid()) < 1e-12
        assert width(found) < 1e-8


@pytest.mark.parametrize("seed", range(examples(6)))
def test_of_what_can_be_summed_in_decimals(seed: int) -> None:
    """k = 1 to 28 real-valued losses: the exact model meets in the middle."""
    draw = random.Random(seed)
    size = draw.randint(15, 22)
    low, high = draw.choice([(0.01, 0.2), (0.3, 3.0), (1e-5, 1e-3)])
    losses = tuple(sorted((Fraction(repr(draw.uniform(low, high))), 1) for _ in range(size)))
    exact, model = summed(losses), built(losses)
    assert exact is not None
    # Far out values are listed, near the middle they are too many.
    for share in (Fraction(1, 10**60), Fraction(1, 10**9)):
        found, sums = epsilon(model, Interval.of(share)), exact.epsilon(Interval.of(share))
        assert found.lower <= sums.upper
        assert sums.lower <= found.upper
    at = exact.total * Fraction(draw.uniform(0.6, 1))
    found, sums = delta(model, at), exact.delta(at)
    assert found.lower <= sums.upper
    assert sums.lower <= found.upper


def _near(found: Interval, golden: str) -> bool:
    """Whether it is a number to the digits that are printed, and holds one of those."""
    unit = Decimal(1).scaleb(Decimal(golden).as_tuple().exponent)  # type: ignore[arg-type]  # no NaN
    return found.lower <= Decimal(golden) + unit and found.upper >= Decimal(golden) - unit


def _epsilon(losses: Losses, share: str, mu_squared: Fraction = Fraction(0)) -> Interval:
    return epsilon(built(losses, mu_squared), Interval.of(Fraction(share)))


FOURTEEN = """.392596 .457983 .487356 .568348 .456944 .557279 .065953 .306092 .568846 .406936
    .545495 .112263 .307988 .185615"""


def test_golden_numbers() -> None:
    """FORMULAS 10."""
    tenths = ((Fraction(1, 10), 100),)
    assert _near(_epsilon(tenths, "1e-6"), "4.77456758811")
    kept = Interval.of(1 - Fraction(1, 10**8)).power(100)
    share = Interval.of(Fraction(1, 10**5)) - (ONE - kept)
    assert _near(epsilon(built(tenths), share / kept), "4.32963671401661")
    assert _near(_epsilon(((Fraction(1, 10), 10),), "1e-6"), "0.999370905722")
    two = built(((Fraction(1, 2), 1), (Fraction(1), 1)))
    assert _near(delta(two, Fraction(1)), "0.179049889217")
    assert _near(delta(two, Fraction(0)), "0.462117157260")
    fourteen = built(tuple(sorted((Fraction(e), 1) for e in FOURTEEN.split())))
    kept = Interval.of(1 - Fraction(1, 10**9)).power(14)
    found = ONE - kept * (ONE - delta(fourteen, Fraction(2)))
    assert _near(found, "0.16151489486692348478")
    assert width(found) < 1e-9
    assert _near(_epsilon((), "0.002", Fraction(60, 400)), "0.902939643006")
    # The lattice on which refining an integral agrees with itself and is wrong (FORMULAS 2.11).
    many = ((Fraction(1, 10), 1000),)
    assert referees.holds_delta(
        delta(built(many), Fraction("12.1")), referees.delta(referees.law(many), Fraction("12.1"))
    )


@pytest.mark.parametrize(("size", "most"), [(100, 1e-9), (1000, 1e-9), (10_000, 1e-9)])
def test_of_many_real_losses_the_interval_is_narrow(size: int, most: float) -> None:
    draw = random.Random(size)
    losses = tuple(sorted((Fraction(repr(draw.uniform(0.01, 0.2))), 1) for _ in range(size)))
    assert width(_epsilon(losses, "1e-6")) < most


@pytest.mark.parametrize("digits", [1, 2])
def test_of_lattices_the_interval_is_narrower(digits: int) -> None:
    draw = random.Random(digits)
    unit = 10**digits
    numbers = [draw.randint(1, unit) for _ in range(300)]
    model: Model = built(_counted(numbers, Fraction(1, unit)))
    dense = Dense.of(numbers, Fraction(1, unit))
    for share in (Fraction(1, 10**6), Fraction(1, 10**15), Fraction(1, 10**100)):
        found = epsilon(model, Interval.of(share))
        assert width(found) < 1e-11
        assert _holds_epsilon(found, dense, share)
