"""Extremes: losses from 1e-12 to 1e3, 1e15 of them, delta from 1e-300 to 0.99, epsilon at 0 and at
the total, Gaussian parts from mu = 1e-6 to 1e3: an enclosure always, and without great cost."""

from __future__ import annotations

import random
import resource
import time
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import pytest

from interlace.core.composition.contour import built, delta, deltas, epsilon
from interlace.core.composition.terms import Losses
from interlace.core.interval import ZERO, Interval
from tests.core.composition.contour import referees
from tests.core.composition.contour.referees import width

SHARES = [Fraction(1, 10**300), Fraction(1, 10**50), Fraction(1, 10**6), Fraction(99, 100)]


@pytest.fixture(autouse=True)
def _exactly() -> Iterator[None]:
    with referees.balls(300):
        yield


def test_the_referee_of_many_equal_losses_is_the_sum() -> None:
    losses = ((Fraction(1, 20), 300),)
    law = referees.law(losses)
    for at in ("0", "0.5", "2.33", "12", "14.95", "15"):
        exact = referees.delta(law, Fraction(at))
        found = referees.binomial_delta(*losses[0], Fraction(at))
        assert not abs(found - exact) > 0
        assert found.rad() <= exact.mid() * referees.ball(Fraction(1, 10**20))


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ("1e-12", 10**4),
        ("1e-3", 10**6),
        ("5", 10**7),
        ("1000", 10**9),
        ("20", 10**15),
        pytest.param("1e-4", 10**9, marks=pytest.mark.soak),
        pytest.param("1e-3", 10**9, marks=pytest.mark.soak),
    ],
)
def test_of_very_many_equal_losses(value: str, count: int) -> None:
    loss = Fraction(value)
    model = built(((loss, count),))
    for share in SHARES:
        found = epsilon(model, Interval.of(share))
        assert found.lower <= found.upper <= Decimal(count) * Decimal(value)
        goal = referees.ball(share)
        assert not referees.binomial_delta(loss, count, Fraction(found.upper)) > goal
        if found.lower > 0:
            assert not referees.binomial_delta(loss, count, Fraction(found.lower)) < goal
        # The angle of 1e15 times 20 is beyond a float: there the upper end is Chernoff's bound.
        assert width(found) < 1e-5 or (value == "20" and found.lower == 0)


@pytest.mark.parametrize("loss", ["1e-12", "1", "1e3"])
@pytest.mark.parametrize("mu_squared", ["1e-12", "1e-2", "1e6"])
def test_of_one_loss_beside_a_gaussian_one(loss: str, mu_squared: str) -> None:
    """Wide at times, where the Gaussian part is too small to make the integrand fall."""
    losses, normal = ((Fraction(loss), 1),), Fraction(mu_squared)
    model, law = built(losses, normal), referees.law(losses)
    total = Fraction(loss)
    points = [Fraction(0), total / 2, total, total + normal, total + normal * 9 + 1]
    for at, found in zip(points, deltas(model, points), strict=True):
        assert referees.holds_delta(found, referees.delta(law, at, normal))
    for share in SHARES:
        found = epsilon(model, Interval.of(share))
        assert referees.holds_epsilon(found, law, share, normal)
        assert found.upper.is_finite()


@pytest.mark.parametrize("size", ["1e-30", "1e-150", "1e-300"])
def test_of_losses_that_are_next_to_nothing(size: str) -> None:
    tiny = Fraction(size)
    for losses, normal in (
        (((tiny, 3),), Fraction(0)),
        (((tiny, 3), (Fraction(1), 2)), Fraction(0)),
        (((Fraction(1), 2),), tiny**2),
        ((), tiny),
    ):
        model, law = built(losses, normal), referees.law(losses)
        for share in (Fraction(1, 10**200), Fraction(1, 10**5)):
            found = epsilon(model, Interval.of(share))
            assert referees.holds_epsilon(found, law, share, normal)
        for at in (Fraction(0), Fraction(2)):
            assert referees.holds_delta(delta(model, at), referees.delta(law, at, normal))


@pytest.mark.parametrize("far", ["3", "1e6", "1e100", "1e300"])
@pytest.mark.parametrize("mu_squared", ["0", "1e-12", "1"])
def test_far_beyond_all_losses_delta_is_next_to_nothing(far: str, mu_squared: str) -> None:
    model = built(((Fraction(1, 10), 20),), Fraction(mu_squared))
    found = delta(model, Fraction(far))
    assert found == deltas(model, [Fraction(far)])[0]
    assert found.lower <= found.upper
    if mu_squared == "0":
        assert found == ZERO
    elif far != "3" or mu_squared != "1":
        assert found.upper < Decimal("1e-10000")


def _uniform(size: int, low: float, high: float) -> Losses:
    draw = random.Random(size)
    return tuple(sorted((Fraction(repr(draw.uniform(low, high))), 1) for _ in range(size)))


@pytest.mark.parametrize(
    ("losses", "mu_squared", "at"),
    [
        (((Fraction(1, 10), 100),), "1e-12", "20"),
        (((Fraction(7), 30),), "1e-6", "72"),
        (_uniform(8, 0.5, 20), "3e-10", "0"),
        (_uniform(1000, 10, 50), "0", "10"),
        (((Fraction("0.07"), 1), (Fraction("0.07003"), 7)), "1e-11", "0.06"),
    ],
    ids=["beyond", "few", "mixed", "large", "near"],
)
def test_neither_time_nor_memory_explodes(losses: Losses, mu_squared: str, at: str) -> None:
    """Nothing narrow can be said by a line here; it may not take minutes or gigabytes to say so."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    model = built(losses, Fraction(mu_squared))
    found = delta(model, Fraction(at))
    seconds = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert found.lower <= found.upper
    # Before: up to 45 s and 5 GB.
    assert seconds < 15
    assert grown < 800
