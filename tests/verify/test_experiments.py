"""The theorems as experiments: nothing fails, what is wrong is flagged, and how near they come."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from random import Random

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from interlace.core.composition import compose
from interlace.core.errors import ParameterError
from interlace.core.finite import Certificate, Counterexample, certify
from interlace.core.finite.worst import WorstCase
from interlace.core.guarantees import ApproxDP
from interlace.verify.experiments import (
    EXPERIMENTS,
    Point,
    corollary1,
    greatest_moment,
    optimal_delta,
    run,
    theorem1,
    theorem2,
    theorem3,
)
from interlace.verify.outcome import Experiment, Finding, Outcome, Trial
from interlace.verify.random_pairs import Shape, described, random_pair, randomised_response
from tests.effort import examples

ONE, THREE = Fraction(1), Fraction(3)
SMALL = {"theorem1": 40, "theorem2": 15, "theorem3": 12, "corollary1": 12}
LARGE = {"theorem1": 4_000, "theorem2": 1_000, "theorem3": 2_000, "corollary1": 800}


def wrong(trial: Callable[[Random], Trial], trials: int = 40) -> Outcome:
    return Experiment("wrong", "false", trial).run(trials, seed=1)


@pytest.mark.parametrize("name", SMALL)
def test_nothing_fails(name: str) -> None:
    found = run(name, SMALL[name], seed=20221120)
    assert (found.failures, found.first, found.holds) == (0, None, True)
    assert found.trials == SMALL[name] < found.comparisons
    # Neither vacuous nor beyond: some trials reach their bound, and not all.
    assert found.closest == pytest.approx(1, abs=1e-14)
    assert found.usual is not None
    assert 0.3 < found.usual < 1


@pytest.mark.soak
@pytest.mark.parametrize("name", LARGE)
def test_nothing_fails_in_the_long_run(name: str) -> None:
    found = run(name, LARGE[name], seed=Random().randrange(2**32))
    assert found.holds, str(found)


@settings(max_examples=examples(5), deadline=None)
@given(st.sampled_from(sorted(SMALL)), st.integers(0, 2**64))
def test_nothing_fails_whatever_the_seed(name: str, seed: int) -> None:
    found = run(name, 1, seed)
    assert found.holds, str(found)


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_the_optimal_bound_of_randomised_responses_is_that_of_the_table(copies: int) -> None:
    # FORMULAS 10, e^epsilon0 = 3.
    rows = {1: "1/2 1/4 0 0", 2: "1/2 7/16 3/8 0", 3: "11/16 17/32 3/8 9/32"}
    points = [(THREE, Fraction(0))] * copies
    found = [optimal_delta(points, Fraction(ratio)) for ratio in (1, 2, 3, 9)]
    assert found == [Fraction(delta) for delta in rows[copies].split()]


@settings(max_examples=examples(25))
@given(
    st.lists(
        st.tuples(st.fractions(0, 2, max_denominator=20), st.fractions(0, 1, max_denominator=9)),
        min_size=1,
        max_size=4,
    ),
    st.fractions(0, 3, max_denominator=20),
)
def test_the_optimal_bound_is_that_of_the_accountant(
    guarantees: list[tuple[Fraction, Fraction]], epsilon: Fraction
) -> None:
    expected = compose([ApproxDP(e, d) for e, d in guarantees]).delta(epsilon)
    found = optimal_delta([(_exp(e), d) for e, d in guarantees], _exp(epsilon))
    assert float(found) == pytest.approx(expected, abs=1e-12)


def _exp(exponent: Fraction) -> Fraction:
    with mpmath.workdps(40):
        return Fraction(str(mpmath.exp(mpmath.mpf(exponent.numerator) / exponent.denominator)))


def test_a_bound_that_is_too_small_is_flagged_with_its_systems() -> None:
    def cheap(points: Sequence[Point], ratio: Fraction) -> Fraction:
        return optimal_delta(points, ratio) * Fraction(999, 1000)

    found = wrong(partial(theorem1, bound=cheap))
    assert 0 < found.failures < found.trials
    assert found.closest is not None
    assert found.closest > 1
    assert found.first is not None
    assert found.first.call.startswith("run('wrong', trials=1, seed=1, start=")
    assert found.first.claim in str(found)
    assert "after (): 'a' -> " in str(found) or "after (): 'ask' -> " in str(found)


def test_a_bound_that_forgets_delta_or_an_interaction_is_flagged() -> None:
    def pure(points: Sequence[Point], ratio: Fraction) -> Fraction:
        return optimal_delta([(r, Fraction(0)) for r, _ in points], ratio)

    def alone(points: Sequence[Point], ratio: Fraction) -> Fraction:
        return max(optimal_delta([point], ratio) for point in points)

    assert not wrong(partial(theorem1, bound=pure)).holds
    assert not wrong(partial(theorem1, bound=alone)).holds


def test_a_bound_that_is_met_by_no_randomised_response_is_flagged() -> None:
    # A sum of the deltas instead of the product is sound but not what is claimed of those.
    def loose(points: Sequence[Point], ratio: Fraction) -> Fraction:
        leak = sum((delta for _, delta in points), Fraction(0))
        return min(leak + optimal_delta([(r, Fraction(0)) for r, _ in points], ratio), ONE)

    assert not wrong(partial(theorem1, bound=loose)).holds


def test_a_moment_that_is_not_the_product_is_flagged() -> None:
    def off(pair: WorstCase, alpha: int, bit: int) -> Fraction | None:
        found = greatest_moment(pair, alpha, bit)
        return found if found in (None, ONE) else found + Fraction(1, 10**30)

    assert not wrong(partial(theorem2, moment=off), 5).holds


def test_the_moment_of_one_randomised_response() -> None:
    # (3^2 + 3^-1) / 4 at order 2: e^(alpha eps) and e^((1 - alpha) eps) over 1 + e^eps.
    response = randomised_response(THREE, Fraction(0))
    assert greatest_moment(response, 2, 0) == Fraction(7, 3)
    assert greatest_moment(randomised_response(THREE, Fraction(1, 9)), 2, 1) is None


def test_false_certificates_and_attacks_are_flagged() -> None:
    def generous(pair: WorstCase, ratio: Fraction, delta: Fraction) -> Certificate | Counterexample:
        found = certify(pair, exp_epsilon=ratio, delta=delta)
        if isinstance(found, Counterexample):
            # A certificate of something weaker that says it is of what was asked.
            weaker = certify(pair, exp_epsilon=ratio, delta=1)
            assert isinstance(weaker, Certificate)
            return dataclasses.replace(weaker, delta=delta)
        return found

    def elsewhere(
        pair: WorstCase, ratio: Fraction, delta: Fraction
    ) -> Certificate | Counterexample:
        return certify(pair, exp_epsilon=ratio, delta=(1 + delta) / 2)

    assert not wrong(partial(theorem3, certifier=generous), 5).holds
    assert not wrong(partial(theorem3, certifier=elsewhere), 5).holds


def test_the_largest_omega_would_be_wrong() -> None:
    # Few pairs show it: they must lose most at orders where one of them claims nothing.
    experiment = Experiment("wrong", "false", partial(corollary1, least_omega=max))
    found = experiment.run(5, seed=1, start=19)
    assert found.failures == 2
    assert found.closest == pytest.approx(1.02106, abs=1e-5)


def test_a_divergence_of_zero_that_was_rounded_up_is_no_failure() -> None:
    # Equal laws in both pairs: 2e-58 is not at most the 1.6e-58 of two sums.
    assert run("corollary1", 1, seed=1, start=124).holds


def test_equal_arguments_give_equal_findings_and_a_trial_can_be_repeated_alone() -> None:
    first, second = (run("theorem1", 6, seed=7) for _ in range(2))
    assert dataclasses.replace(first, seconds=0) == dataclasses.replace(second, seconds=0)
    alone = [run("theorem1", 1, seed=7, start=number).comparisons for number in range(6)]
    assert sum(alone) == first.comparisons


def test_progress_is_told_of_every_trial() -> None:
    told: list[tuple[str, int, int]] = []
    run("theorem1", 3, seed=1, progress=lambda *done: told.append(done))
    assert told == [("trials", 1, 3), ("trials", 2, 3), ("trials", 3, 3)]


def test_an_error_names_the_trial() -> None:
    def broken(_: Random) -> Trial:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        wrong(broken)
    assert caught.value.__notes__ == ["in run('wrong', trials=1, seed=1, start=0)"]


@pytest.mark.parametrize(
    ("name", "trials", "seed", "start", "argument"),
    [
        ("theorem4", 1, 1, 0, "name"),
        ("theorem1", 0, 1, 0, "trials"),
        ("theorem1", 1, -1, 0, "seed"),
        ("theorem1", 1, 1, -1, "start"),
    ],
)
def test_what_is_refused(name: str, trials: int, seed: int, start: int, argument: str) -> None:
    with pytest.raises(ParameterError) as caught:
        run(name, trials, seed, start=start)
    assert caught.value.name == argument


def test_an_outcome_is_printed_as_a_table() -> None:
    console = Console(width=100)
    with console.capture() as printed:
        console.print(run("theorem1", 2, seed=1))
    assert "theorem1" in printed.get()
    assert "failures" in printed.get()
    failed = wrong(lambda _: Trial((), [Finding("[b]1[/b] is 2", holds=False)]), 1)
    with console.capture() as printed:
        console.print(failed)
    assert "false: [b]1[/b] is 2" in printed.get()
    assert "again: run('wrong', trials=1, seed=1, start=0)" in printed.get()


def test_every_theorem_is_there() -> None:
    assert set(EXPERIMENTS) == set(SMALL) == set(LARGE)


def test_random_pairs_have_the_kinds_that_are_promised() -> None:
    rng = Random(5)
    pairs = [random_pair(rng, Shape(2, 2, 2)) for _ in range(60)]
    laws = [[pair.law(bit, (), "a") for bit in (0, 1)] for pair in pairs]
    assert any(zero == one for zero, one in laws)
    assert any(zero.keys() != one.keys() for zero, one in laws)
    assert any(len(zero) == 1 for zero, _ in laws)
    assert any(pair.delta(exp_epsilon=1) == 0 for pair in pairs)
    common = [random_pair(rng, Shape(2, 3, 1), common=True) for _ in range(60)]
    assert all(pair.law(0, (), "b").keys() == pair.law(1, (), "b").keys() for pair in common)


def test_a_pair_in_words_names_each_law_that_can_be_reached() -> None:
    pair = random_pair(Random(3), Shape(2, 2, 2))
    lines = described(pair).splitlines()
    assert len(lines) == len(set(lines)) <= 2 + 2 * 2 * 2
    assert all(line.startswith("after (") for line in lines)
