"""Guess-and-check: Algorithm 1 as written, its price, its intervals."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.signal import fftconvolve

from interlace.core.composition import compose
from interlace.core.errors import SessionHalted
from interlace.core.exact import float_up
from interlace.core.guarantees import PureDP
from interlace.core.laws import DiscreteLaplace
from interlace.core.mechanisms import GuessAndCheck
from interlace.core.queries import Query, Sensitivity
from tests.core.mechanisms.doubles import Reading, Run, reading, scripted
from tests.core.mechanisms.enumeration import Losses, precise_loss

epsilons = st.fractions(Fraction(1, 1000), 20, max_denominator=10**6) | st.floats(1e-3, 20)


def test_it_costs_four_epsilon() -> None:
    # FORMULAS 5: 3 epsilon for the checks and epsilon for the values, pure and exact.
    for epsilon in (1, 0.5, 0.25, 0.1):
        made = GuessAndCheck(epsilon=epsilon, tolerance=5, cutoff=3)
        exact = Fraction(repr(epsilon))
        assert made.check.guarantee == compose([PureDP(3 * exact)])
        assert made.measure.guarantee == compose([(PureDP(exact / 3), 3)])
        assert made.guarantee.epsilon(0) == float_up(4 * exact)
        assert made.guarantee == compose([made.check, made.measure])


@given(epsilons, st.integers(1, 1000), st.integers(1, 1000))
def test_it_never_costs_more(epsilon: float | Fraction, cutoff: int, sensitivity: int) -> None:
    made = GuessAndCheck(epsilon=epsilon, tolerance=1, cutoff=cutoff, sensitivity=sensitivity)
    rho, nu = made.check.opening().scale, made.check.query_noise().scale
    check = sensitivity / rho + 2 * cutoff * sensitivity / nu
    value = sensitivity / made.measure.scale
    assert made.guarantee == compose([PureDP(check), (PureDP(value), cutoff)])
    total = check + cutoff * value
    assert 4 * made.epsilon * (1 - Fraction(1, 2**50)) < total <= 4 * made.epsilon


@given(epsilons, st.integers(1, 1000), st.integers(1, 1000))
def test_its_noise_is_that_of_algorithm_1(
    epsilon: float | Fraction, cutoff: int, sensitivity: int
) -> None:
    made = GuessAndCheck(epsilon=epsilon, tolerance=1, cutoff=cutoff, sensitivity=sensitivity)
    exact = epsilon if isinstance(epsilon, Fraction) else Fraction(repr(epsilon))
    assert made.check.opening() == DiscreteLaplace(sensitivity / exact)
    assert made.check.query_noise() == DiscreteLaplace(cutoff * sensitivity / exact)
    full = Query(reading(0, bound=sensitivity))
    assert made.measure.law(full) == DiscreteLaplace(cutoff * sensitivity / exact)
    assert made.measure.answers == made.check.cutoff == cutoff


@pytest.mark.parametrize("cutoff", [1, 2])
def test_its_checks_lose_at_most_three_epsilon_and_nearly_that(cutoff: int) -> None:
    # Lemma 6 by enumeration: |f - guess| - tolerance moves by at most 1, either way.
    made = GuessAndCheck(epsilon=0.7, tolerance=10, cutoff=cutoff)
    rho, nu = made.check.opening().scale, made.check.query_noise().scale
    exact = Losses(rho, nu)
    losses = {
        (fails, passes, low, high, a, b): exact.loss(
            [(low, low + a, False)] * fails + [(high, high + b, True)] * passes
        )
        for fails in range(7)
        for passes in range(cutoff + 1)
        for low, high, a, b in product(range(-20, 11, 2), range(-10, 41, 2), (1, -1), (1, -1))
        if fails + passes
    }
    worst = max(losses, key=lambda k: abs(losses[k]))
    assert abs(losses[worst]) <= 2.1 * (1 + 1e-9)
    # FORMULAS 5: 2.0999 of 2.1, with 6 failures before the only pass.
    assert abs(losses[worst]) >= (2.0999 if cutoff == 1 else 1.95)
    fails, passes, low, high, a, b = worst
    steps = [(low, low + a, False)] * fails + [(high, high + b, True)] * passes
    again = abs(precise_loss(rho, nu, steps))
    assert abs(again - abs(losses[worst])) < 1e-9
    assert again <= 2.1


def test_a_round_is_that_of_algorithm_1() -> None:
    made = GuessAndCheck(epsilon=1, tolerance=10, cutoff=2)
    # rho = 3 once; then nu for each check, and a fresh draw for each value.
    run = Run(made, scripted([3, 0, -1, 5, 12, 2, 7, -40]))
    query = Query(reading(113), guess=100)  # off by 13 = E + rho: the edge

    first = run.ask(query)  # nu = 0: 13 >= 13
    assert (first.verdict, first.value) == (True, 112)
    second = run.ask(query)  # nu = 5: but value noise 12
    assert (second.verdict, second.value) == (True, 125)
    assert run.left == 0
    with pytest.raises(SessionHalted):
        run.ask(query)
    rho, nu, value = made.check.opening(), made.check.query_noise(), made.measure.law(query)
    drawn = [law for law in run.laws if isinstance(law, DiscreteLaplace)]
    assert drawn == [rho, nu, value, nu, value]


def test_a_right_guess_costs_nothing_and_tells_nothing_more() -> None:
    run = Run(GuessAndCheck(epsilon=1, tolerance=10), scripted([3, -1, *[0] * 300]))
    for _ in range(300):
        answer = run.ask(Query(reading(112), guess=100))
        assert (answer.verdict, answer.value) == (False, 100)
    assert run.left == 1
    assert len(run.steps) == 300
    # Only checks were made: no value was measured.
    assert {step.value for step in run.steps} == {False}


def test_nothing_after_the_check_depends_on_its_outcome_but_the_measure() -> None:
    # At absurd epsilons the measure's scale would be too small to serve: it is raised, since
    # a refusal would tell the check's outcome.
    made = GuessAndCheck(epsilon=2**31, tolerance=1, sensitivity=4)
    run = Run(made)
    small = Reading((9,), Sensitivity.scalar(1))
    assert run.ask(Query(small, guess=0)).value == 9


# Intervals, by exact sums over the noise.


def _masses(scale: Fraction, reach: int) -> npt.NDArray[np.float64]:
    z = np.arange(-reach, reach + 1)
    b = float(scale)
    return np.asarray(np.exp(-np.abs(z) / b) * np.tanh(1 / (2 * b)))


@pytest.mark.parametrize(
    ("epsilon", "cutoff"), [(2, 1), (0.5, 1), (0.1, 1), (0.5, 5), (0.2, 5), (0.5, 40), (20, 1)]
)
@pytest.mark.parametrize("bound", [1, 2])
def test_whatever_the_guess_the_interval_holds_the_value(
    epsilon: float, cutoff: int, bound: int
) -> None:
    made = GuessAndCheck(epsilon=epsilon, tolerance=7, cutoff=cutoff, sensitivity=2)
    query = Query(reading(0, bound=bound), guess=0)
    # The two radii, from answers.
    right = Run(made).ask(query)
    wrong = Run(made).ask(Query(reading(10**6, bound=bound), guess=0))
    assert right.verdict is False
    assert wrong.verdict is True
    assert right.confidence == wrong.confidence == Fraction(19, 20)
    guessed = right.spans[0][1]
    measured = wrong.spans[0][1] - 10**6

    rho, nu = made.check.opening().scale, made.check.query_noise().scale
    value = made.measure.law(query)
    assert isinstance(value, DiscreteLaplace)
    reach = int(40 * max(rho, nu)) + 40
    # By Fourier transforms, which are off by some 1e-16 in all.
    difference = fftconvolve(_masses(rho, reach), _masses(nu, reach))  # of rho - nu
    above = np.cumsum(difference[::-1])[::-1]  # P(rho - nu >= k) at index k + 2 reach
    z = np.abs(np.arange(-reach, reach + 1))
    miss = float(_masses(value.scale, reach)[z > measured].sum())
    for off in range(guessed + 40):
        # Not off iff off - tolerance + nu < rho.
        passed_by = float(above[min(off - 7 + 1, 2 * reach) + 2 * reach])
        lost = (passed_by if off > guessed else 0) + (1 - passed_by) * miss
        assert lost <= 0.05
    # And it is not absurdly wide.
    assert measured <= 5 * value.scale + 2
