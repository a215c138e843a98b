"""Bounded range: its curves against the mechanisms with two answers that it is made of."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.guarantees.losses import BoundedRange, Pair
from interlace.core.guarantees.losses.atoms import enclosed
from interlace.core.interval import Interval
from tests.core.guarantees.losses.referee import holds, mp
from tests.effort import examples

_etas = st.floats(-6, 1.3).map(lambda x: Fraction(repr(float(f"{10**x:.4g}"))))


def _member(eta: mpmath.mpf, t: mpmath.mpf) -> tuple[mpmath.mpf, mpmath.mpf]:
    """The masses of the losses t and t - eta."""
    top = (mpmath.exp(eta) - mpmath.exp(t)) / mpmath.expm1(eta)
    return top, 1 - top


def _delta(eta: mpmath.mpf, t: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    top, low = _member(eta, t)
    first = top * max(0, -mpmath.expm1(epsilon - t))
    return first + low * max(0, -mpmath.expm1(epsilon - t + eta))


def _renyi(eta: mpmath.mpf, t: mpmath.mpf, alpha: mpmath.mpf) -> mpmath.mpf:
    top, low = _member(eta, t)
    if alpha == 1:
        return top * t + low * (t - eta)
    b = alpha - 1
    return mpmath.log(top * mpmath.exp(b * t) + low * mpmath.exp(b * (t - eta))) / b


@settings(max_examples=examples(25), deadline=None)
@given(_etas, st.floats(0, 1).map(Fraction), st.floats(1, 60).map(Fraction))
def test_the_curves_are_the_largest_of_the_mechanisms_with_two_answers(
    eta: Fraction, at: Fraction, alpha: Fraction
) -> None:
    loss = BoundedRange(eta)
    with mpmath.workdps(70):
        e, x, a = mp(eta), mp(at * eta), mp(alpha)
        delta, renyi = loss.delta_enclosure(at * eta), loss.renyi_enclosure(alpha)
        thresholds = [e * k / 60 for k in range(1, 60)]
        grid = max(_delta(e, t, x) for t in thresholds)
        best = _delta(e, (e + x) / 2, x)
        assert grid <= best * (1 + mpmath.mpf("1e-40"))
        if at < 1:
            holds(delta, best, 1e-30)
        else:
            assert delta.upper == 0
        most = _renyi(e, _best(e, a), a)
        assert max(_renyi(e, t, a) for t in thresholds) <= most * (1 + mpmath.mpf("1e-40"))
        holds(renyi, most, 1e-20)


def _best(eta: mpmath.mpf, alpha: mpmath.mpf) -> mpmath.mpf:
    """Where the divergence is stationary in t."""
    if alpha == 1:
        return mpmath.log(mpmath.expm1(eta) / eta)
    b = alpha - 1
    rise = mpmath.exp(eta) - mpmath.exp(-b * eta)
    return mpmath.log(b * rise / (alpha * -mpmath.expm1(-b * eta)))


@settings(max_examples=examples(60))
@given(_etas, st.floats(-300, -0.01).map(lambda x: Fraction(repr(10**x))))
def test_epsilon_gives_delta_back(eta: Fraction, delta: Fraction) -> None:
    found = BoundedRange(eta).epsilon_enclosure(delta)
    if found.upper == 0:
        assert BoundedRange(eta).delta_enclosure(Fraction(0)).lower <= Interval.of(delta).upper
        return
    with mpmath.workdps(400):
        e = mp(eta)
        for end in (found.lower, found.upper):
            x = mpmath.mpf(str(end))
            value = _delta(e, (e + x) / 2, x)
            # As a distance in epsilon: the slope is steep and flat in turn.
            gap = mpmath.sqrt(mp(delta) * -mpmath.expm1(-e)) - mpmath.sqrt(
                value * -mpmath.expm1(-e)
            )
            assert abs(gap) < mpmath.mpf("1e-45")


@pytest.mark.parametrize("eta", [1e-9, 0.01, 1, 5, 30])
def test_it_is_eta_squared_over_eight_zcdp_and_eta_dp(eta: float) -> None:
    loss = BoundedRange(eta)
    for alpha in (1, 1 + 1e-12, 1.5, 2, 10, 1e6, 1e300):
        assert loss.renyi(alpha) <= min(alpha * eta * eta / 8, eta) * (1 + 1e-15)
    assert loss.renyi(math.inf) == eta
    if eta < 0.1:
        assert loss.renyi(2) >= 2 * eta * eta / 8 * 0.999
    assert loss.delta(eta) == 0
    assert loss.delta(0) == pytest.approx(math.tanh(eta / 4), rel=1e-15)
    assert loss.epsilon(0) == eta
    assert loss.group(4) == BoundedRange(Fraction(repr(eta)) * 4)


def test_nothing_is_lost_at_zero() -> None:
    nothing = BoundedRange(0)
    assert nothing.delta(0) == nothing.epsilon(0) == nothing.epsilon(0.5) == nothing.renyi(3) == 0
    assert nothing.atoms().losses == (Fraction(0),)


@pytest.mark.parametrize("seed", range(6))
def test_every_exponential_mechanism_is_covered(seed: int) -> None:
    # Scores of sensitivity 1, weights e^(eta score/2), on two neighbouring datasets.
    scores = [(i * 7 + seed * 3) % 5 / 2 for i in range(6)]
    moved = [s + ((i * 5 + seed) % 3 - 1) * 0.8 for i, s in enumerate(scores)]
    eta = Fraction(3, 2)
    weights = [[Fraction(math.exp(float(eta) * s / 2)) for s in row] for row in (scores, moved)]
    laws = [[w / sum(row) for w in row] for row in weights]
    pair, loss = Pair(*laws), BoundedRange(eta)
    for epsilon in (0, 0.1, 0.5, 1, 1.4):
        assert pair.delta(epsilon) <= loss.delta(epsilon) + 1e-15
    for alpha in (1, 2, 9, math.inf):
        assert pair.renyi(alpha) <= loss.renyi(alpha) + 1e-15


@pytest.mark.parametrize("eta", [1e-6, 0.5, 4, 40])
def test_the_lower_law_is_a_mechanism_of_that_range(eta: float) -> None:
    atoms = BoundedRange(eta).atoms(upper=False)
    low, top = (Fraction(str(enclosed(loss).upper)) for loss in atoms.losses)
    with mpmath.workdps(60):
        masses = _member(mp(top - low), mp(top))
        holds(atoms.masses[1], masses[0], 1e-40)
        holds(atoms.masses[0], masses[1], 1e-40)
    assert abs((top - low) / Fraction(repr(eta)) - 1) < Fraction(1, 10**50)
    assert atoms.step == Fraction(repr(eta))
    mean = sum(
        float(m.upper) * float(enclosed(x).upper)
        for m, x in zip(atoms.masses, atoms.losses, strict=True)
    )
    assert mean == pytest.approx(BoundedRange(eta).renyi(1), rel=1e-6)
