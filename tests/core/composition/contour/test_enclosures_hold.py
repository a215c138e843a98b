"""Enclosures of composed losses hold what sums over all values, in balls, say they must."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.composition.contour import built, delta, epsilon
from interlace.core.composition.terms import Losses
from interlace.core.interval import Interval
from tests.core.composition.contour import referees
from tests.effort import examples

_REAL = st.floats(0.001, 1.5).map(lambda x: Fraction(repr(x)))
_DECIMAL = st.integers(1, 30).map(lambda n: Fraction(n, 20))
_NEAR = st.integers(0, 9).map(lambda n: Fraction(1, 10) + Fraction(n, 10**9))
_LISTS = st.one_of(
    st.lists(_REAL, min_size=1, max_size=9),
    st.lists(_DECIMAL, min_size=1, max_size=14),
    st.lists(_NEAR, min_size=2, max_size=9),
    # One huge and some tiny.
    st.lists(st.floats(1e-6, 1e-3).map(lambda x: Fraction(repr(x))), min_size=1, max_size=8).map(
        lambda few: [*few, Fraction(40)]
    ),
)
_SHARES = st.sampled_from([Fraction(1, 2), Fraction(1, 20), Fraction(1, 10**4), Fraction(1, 10**9),
                           Fraction(1, 10**30), Fraction(1, 10**300)])  # fmt: skip


def counted(epsilons: list[Fraction]) -> Losses:
    return tuple(sorted(Counter(epsilons).items()))


@settings(max_examples=examples(25))
@given(_LISTS, _SHARES, st.floats(0, 1.05), st.sampled_from(["0", "0.01", "0.5"]))
def test_of_random_and_awkward_lists(
    epsilons: list[Fraction], share: Fraction, part: float, mu_squared: str
) -> None:
    losses, normal = counted(epsilons), Fraction(mu_squared)
    model = built(losses, normal)
    at = sum(epsilons, Fraction(0)) * Fraction(repr(part))
    with referees.balls(1300):
        law = referees.law(losses)
        assert referees.holds_delta(delta(model, at), referees.delta(law, at, normal))
        assert referees.holds_epsilon(epsilon(model, Interval.of(share)), law, share, normal)


@pytest.mark.parametrize(
    ("value", "count"),
    [("0.1", 100), ("0.01", 1500), ("0.5", 300), ("3", 40), ("1e-9", 200), ("100", 9), ("1/3", 77)],
)
def test_of_equal_losses(value: str, count: int) -> None:
    losses = ((Fraction(value), count),)
    model = built(losses)
    with referees.balls(1500):
        law = referees.law(losses)
        total = Fraction(value) * count
        for part in (
            Fraction(0),
            Fraction(1, 7),
            Fraction(1, 2),
            Fraction(99, 100),
            1 - Fraction(1, 10**6),
        ):
            exact = referees.delta(law, total * part)
            assert referees.holds_delta(delta(model, total * part), exact)
        for share in (
            Fraction(1, 3),
            Fraction(1, 10**6),
            Fraction(1, 10**50),
            Fraction(1, 10**300),
        ):
            found = epsilon(model, Interval.of(share))
            assert referees.holds_epsilon(found, law, share)
            assert referees.width(found) < 1e-11


def test_of_many_one_decimal_losses_that_lie_on_a_lattice() -> None:
    # Where refining the integral agrees with itself and is wrong (FORMULAS 2.11).
    draw = random.Random(4)
    losses = counted([Fraction(draw.randint(1, 9), 10) for _ in range(300)])
    model = built(losses)
    with referees.balls():
        law = referees.law(losses)
        for at in ("12.1", "0", "60", "100.05"):
            found = delta(model, Fraction(at))
            assert referees.holds_delta(found, referees.delta(law, Fraction(at)))
            assert referees.width(found) < 1e-10


def test_of_a_lattice_beside_a_few_real_losses() -> None:
    losses = counted([Fraction(1, 10)] * 200 + [Fraction("0.1234567"), Fraction("0.7654321")])
    model = built(losses)
    with referees.balls():
        law = referees.law(losses)
        for share in (Fraction(1, 4), Fraction(1, 10**7)):
            assert referees.holds_epsilon(epsilon(model, Interval.of(share)), law, share)
        for at in ("0", "3.21", "12"):
            assert referees.holds_delta(
                delta(model, Fraction(at)), referees.delta(law, Fraction(at))
            )


@pytest.mark.parametrize("count", [61, 100, 400, 3000])
def test_of_long_real_lists_the_interval_is_narrow(count: int) -> None:
    draw = random.Random(count)
    losses = counted([Fraction(repr(draw.uniform(0.01, 0.2))) for _ in range(count)])
    found = epsilon(built(losses), Interval.of(Fraction(1, 10**6)))
    assert referees.width(found) < 3e-9
    # Rounded to three decimals, each loss up or down, the sums can be made.
    down = counted([Fraction(math.floor(e * 1000), 1000) for e, n in losses for _ in range(n)])
    up = counted([Fraction(math.ceil(e * 1000), 1000) for e, n in losses for _ in range(n)])
    below, above = (epsilon(built(x), Interval.of(Fraction(1, 10**6))) for x in (down, up))
    assert below.lower <= found.lower
    assert found.upper <= above.upper
