"""What composition is given: laws whose atoms say what the closed forms say, on a sound side."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import ParameterError
from interlace.core.guarantees.losses import (
    Atoms,
    BoundedRange,
    Direction,
    DiscreteGaussian,
    DiscreteLaplace,
    Pair,
    PrivacyLoss,
    RandomisedResponse,
    RoundedGaussian,
    TradeOff,
)
from interlace.core.guarantees.losses.atoms import coarser, enclosed
from interlace.core.guarantees.losses.moments import divergence_of
from interlace.core.interval import ONE, ZERO, Interval
from tests.effort import examples

#: Every kind, finite and infinite, on every way that atoms are made.
FINITE: list[PrivacyLoss] = [
    DiscreteLaplace(1),
    DiscreteLaplace(Fraction(7, 3), 9),
    RandomisedResponse(0.7),
    RandomisedResponse(0.7, 5),
    Pair([0.5, 0.3, 0.2], [0.2, 0.2, 0.6]),
    Pair([0.5, 0.3, 0.2, 0], [0.2, 0.2, 0.5, 0.1]),
    TradeOff([(0, 0.95), (0.1, 0.5), (0.5, 0.1), (1, 0)]),
]
ENDLESS: list[PrivacyLoss] = [
    DiscreteGaussian(2, 3),
    DiscreteGaussian(Fraction(1, 3)),
    DiscreteGaussian(20),
    RoundedGaussian(2, 3),
    RoundedGaussian(Fraction(1, 3)),
    DiscreteLaplace(Fraction(1, 20), 200),
]
BLOCKS: list[tuple[PrivacyLoss, int, float]] = [
    (DiscreteLaplace(300, 1000), 60, 0.05),
    (DiscreteLaplace(300, 1000), 999, 2e-4),
    (DiscreteLaplace(1, 5000), 40, 1.0),
    (DiscreteLaplace(10**6, 3 * 10**6), 500, 1e-3),
    (DiscreteGaussian(100, 7), 400, 0.02),
    (DiscreteGaussian(3000), 300, 0.03),
    (DiscreteGaussian(10**9, 10**6), 300, 0.03),
    (DiscreteGaussian(1000, 2500), 300, 0.1),
    (DiscreteGaussian(30, 7), 16, 20.0),
    (RoundedGaussian(100, 7), 400, 0.02),
    (RoundedGaussian(10**9, 10**6), 300, 0.03),
    (BoundedRange(2), 500, 0.01),
    (BoundedRange(0.001), 100, 0.01),
]


def _delta(atoms: Atoms, epsilon: Fraction) -> Interval:
    """E[(1 - e^(epsilon - L))+], atom by atom."""
    total = atoms.leak
    for loss, mass in zip(atoms.losses, atoms.masses, strict=True):
        above = (enclosed(loss) - Interval.of(epsilon)).clip(0)
        if above.upper > 0:
            total = total + mass * (ONE - (-above).exp()).clip(0)
    return total


def _points(loss: PrivacyLoss) -> list[Fraction]:
    far = loss.epsilon(1e-9)
    far = far if math.isfinite(far) else 3.0
    return [Fraction(far) * k / 7 for k in range(8)]


def _moments(atoms: Atoms) -> tuple[Interval, Interval]:
    """The masses of all atoms under P and under Q, the leak included in the first."""
    p, q = atoms.leak, ZERO
    for loss, mass in zip(atoms.losses, atoms.masses, strict=True):
        p, q = p + mass, q + mass * (-enclosed(loss)).exp()
    return p, q


@pytest.mark.parametrize("loss", FINITE, ids=str)
@pytest.mark.parametrize("direction", list(Direction))
def test_finite_atoms_give_the_profile_and_the_divergences(
    loss: PrivacyLoss, direction: Direction
) -> None:
    atoms = loss.atoms(direction)
    assert atoms == loss.atoms(direction, upper=False)
    for epsilon in _points(loss):
        found, exact = _delta(atoms, epsilon), loss.profile(direction, epsilon)
        assert abs(found.upper - exact.upper) < Decimal("1e-45")
        assert abs(found.lower - exact.lower) < Decimal("1e-45")
    for alpha in (Fraction(1), Fraction(5, 4), Fraction(30), None):
        first, second = divergence_of(atoms, alpha), loss.divergence(direction, alpha)
        if first.upper.is_infinite():
            assert second.upper.is_infinite()
        else:
            assert abs(first.upper - second.upper) < Decimal("1e-40")
    p, q = _moments(atoms)
    assert abs(p.upper - 1) < Decimal("1e-50")
    assert q.upper - 1 <= Decimal("1e-50")


@pytest.mark.parametrize("loss", ENDLESS, ids=str)
def test_endless_laws_are_cut_on_a_sound_side_and_far_out(loss: PrivacyLoss) -> None:
    upper, lower = loss.atoms(), loss.atoms(upper=False)
    assert upper.leak.upper < Decimal("1e-320")
    assert lower.leak == ZERO
    assert abs(_moments(upper)[0].upper - 1) < Decimal("1e-40")
    for epsilon in [*_points(loss), Fraction(loss.epsilon(1e-300))]:
        exact = loss.delta_enclosure(epsilon)
        assert _delta(lower, epsilon).lower <= exact.upper
        assert _delta(upper, epsilon).upper >= exact.lower
        assert _delta(upper, epsilon).upper <= exact.upper * (1 + Decimal("1e-15"))
        assert _delta(lower, epsilon).lower >= exact.lower * (1 - Decimal("1e-15"))
    for alpha in (Fraction(1), Fraction(5, 4), Fraction(9)):
        found = divergence_of(Atoms(upper.losses, upper.masses), alpha)
        exact = loss.renyi_enclosure(alpha)
        assert abs(found.upper - exact.upper) < exact.upper * Decimal("1e-20")


@pytest.mark.parametrize(("loss", "most", "width"), BLOCKS, ids=str)
def test_coarse_laws_lie_on_their_sides_and_near(
    loss: PrivacyLoss, most: int, width: float
) -> None:
    upper, lower = (loss.atoms(upper=side, most=most) for side in (True, False))
    assert max(len(upper.losses), len(lower.losses)) <= most
    p, q = _moments(upper)
    assert abs(p.upper - 1) < Decimal("1e-25")
    assert q.upper - 1 <= Decimal("1e-25")
    middle = loss.epsilon(0.01)
    for epsilon in [*_points(loss), Fraction(loss.epsilon(1e-200)) * Fraction(999, 1000)]:
        exact = loss.delta_enclosure(epsilon)
        high, low = _delta(upper, epsilon), _delta(lower, epsilon)
        assert high.upper >= exact.lower
        assert low.lower <= exact.upper
        if epsilon < middle:
            assert high.lower <= exact.upper * (1 + Decimal(width))
        # Of bounded range the lower law is one mechanism of many.
        if epsilon < middle and not isinstance(loss, BoundedRange):
            assert low.upper >= exact.lower * (1 - Decimal(width))


@pytest.mark.parametrize(("loss", "most", "width"), BLOCKS, ids=str)
def test_what_is_served_is_well_formed(loss: PrivacyLoss, most: int, width: float) -> None:
    del width
    for upper in (True, False):
        atoms = loss.atoms(upper=upper, most=most)
        assert len(atoms.losses) == len(atoms.masses)
        ends = [enclosed(x) for x in atoms.losses]
        assert all(a.upper < b.lower for a, b in pairwise(ends))
        assert all(0 <= m.lower <= m.upper <= 1 for m in atoms.masses)
        if atoms.step is not None:
            base = atoms.losses[0]
            assert isinstance(base, Fraction)
            for x in atoms.losses:
                assert isinstance(x, Fraction)
                assert ((x - base) / atoms.step).denominator == 1


def _convolved(first: Atoms, second: Atoms) -> Atoms:
    """Both together, by every pair of atoms."""
    sums: dict[Fraction, Interval] = {}
    for x, m in zip(first.losses, first.masses, strict=True):
        for y, n in zip(second.losses, second.masses, strict=True):
            total = enclosed(x) + enclosed(y)
            # Equal sums come out a last digit apart.
            at = round(Fraction(total.upper), 40)
            sums[at] = sums.get(at, ZERO) + m * n
    order = sorted(sums)
    leak = first.leak + second.leak
    return Atoms(tuple(order), tuple(sums[x] for x in order), leak)


@pytest.mark.parametrize(
    ("k", "deltas"),
    [
        (1, ("1/2", "1/4", "0", "0")),
        (2, ("1/2", "7/16", "3/8", "0")),
        (3, ("11/16", "17/32", "3/8", "9/32")),
    ],
)
@pytest.mark.parametrize("make", [RandomisedResponse, lambda x: DiscreteLaplace(1 / x)])
def test_atoms_compose_to_the_known_values(
    k: int, deltas: tuple[str, ...], make: Callable[[Fraction], PrivacyLoss]
) -> None:
    log3 = Fraction("1.098612288668109691395245236922525704647490557822749451734694")
    atoms = whole = make(log3).atoms()
    for _ in range(k - 1):
        whole = _convolved(whole, atoms)
    logs = [Fraction(0), Fraction(math.log(2)), log3, 2 * log3]
    for epsilon, delta in zip(logs, deltas, strict=True):
        assert float(_delta(whole, epsilon).upper) == pytest.approx(
            float(Fraction(delta)), rel=1e-14, abs=1e-30
        )


@settings(max_examples=examples(15), deadline=None)
@given(
    st.integers(20, 30).flatmap(
        lambda n: st.tuples(*[st.lists(st.integers(1, 99), min_size=n, max_size=n)] * 2)
    ),
    st.integers(16, 19),
)
def test_coarse_pairs_stay_on_their_sides_when_composed(
    weights: tuple[list[int], list[int]], most: int
) -> None:
    p, q = ([Fraction(w, sum(row)) for w in row] for row in weights)
    pair = Pair(p, q)
    exact = pair.atoms()
    upper, lower = (coarser(exact, most, upper=side) for side in (True, False))
    twice = [_convolved(a, a) for a in (lower, exact, upper)]
    for epsilon in (Fraction(0), Fraction(1, 2), Fraction(2), Fraction(4)):
        low, middle, high = (_delta(a, epsilon) for a in twice)
        slack = Decimal("1e-35")
        # Differences: they are rounded to 28 digits, sums would be.
        assert low.lower - middle.upper <= slack
        assert middle.lower - high.upper <= slack
        assert high.lower - middle.upper <= Decimal("0.05")
    p_mass, q_mass = _moments(upper)
    assert abs(p_mass.upper - 1) < Decimal("1e-45")
    assert abs(q_mass.upper - 1) < Decimal("1e-45")


@pytest.mark.parametrize("loss", [*FINITE, *ENDLESS, BoundedRange(1.5)], ids=str)
def test_profiles_are_convex_and_fall_in_the_exponential_of_epsilon(loss: PrivacyLoss) -> None:
    for direction in Direction:
        xs = [Fraction(k, 4) + 1 for k in range(25)]
        values = [loss.profile(direction, _log(x)) for x in xs]
        for first, second in pairwise(values):
            assert second.lower <= first.upper
        for a, b, c in zip(values, values[1:], values[2:], strict=False):
            assert (b + b).lower <= (a + c).upper + Decimal("1e-15")
        if loss.symmetric:
            assert values == [loss.profile(Direction.REMOVE, _log(x)) for x in xs]
    if not loss.symmetric:
        both = [loss.profile(d, Fraction(1, 3)).upper for d in Direction]
        assert loss.delta_enclosure(Fraction(1, 3)).upper == max(both)


def _log(x: Fraction) -> Fraction:
    return Fraction(math.log(x)) if x > 1 else Fraction(0)


@pytest.mark.parametrize("loss", [*FINITE, *ENDLESS, BoundedRange(1.5)], ids=str)
@settings(max_examples=examples(10), deadline=None)
@given(at=st.floats(-300, -0.001).map(lambda x: 10**x))
def test_epsilon_and_delta_fit_together(loss: PrivacyLoss, at: float) -> None:
    epsilon = loss.epsilon(at)
    if math.isfinite(epsilon):
        assert loss.delta(epsilon) <= at * (1 + 1e-9) + 1e-45
        assert epsilon == 0 or loss.delta(epsilon * (1 - 1e-9)) >= at * (1 - 1e-9)
    assert loss.renyi(1) <= loss.renyi(2) <= loss.renyi(math.inf)


@pytest.mark.parametrize("loss", [*FINITE, *ENDLESS, BoundedRange(1)], ids=str)
@pytest.mark.parametrize("most", [15, 65537, 0, -1, 2.5, True])
def test_numbers_of_atoms_out_of_range_are_refused(loss: PrivacyLoss, most: int) -> None:
    with pytest.raises(ParameterError, match=r"^most: "):
        loss.atoms(most=most)
