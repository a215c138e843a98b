"""Odometers: readings against formulas, all small games, and long runs with a binomial bound."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlace as il
from interlace.core.guarantees.losses import RoundedGaussian
from tests.effort import examples

FORMS = ("mixture", "line")


def _real(x: Fraction) -> Any:
    return mpmath.mpf(x.numerator) / x.denominator


def _variance(epsilons: list[Fraction]) -> Any:
    return sum(2 * _real(e) * mpmath.tanh(_real(e) / 2) for e in epsilons)


@settings(max_examples=examples(30), deadline=None)
@given(
    st.lists(st.fractions(Fraction(1, 100), 2, max_denominator=100), min_size=1, max_size=8),
    st.sampled_from(["0.3", "0.01", "1e-6", "1e-30"]),
    st.sampled_from(["0.01", "1", "7"]),
)
def test_readings_are_the_formulas_rounded_up(
    epsilons: list[Fraction], delta: str, around: str
) -> None:
    with mpmath.workdps(50):
        d, y, v = mpmath.mpf(delta), mpmath.mpf(around), _variance(epsilons)
        total = sum(map(_real, epsilons))
        half = -mpmath.log(d) / 2
        line = mpmath.sqrt(y * half) + v * mpmath.sqrt(half / y) + v / 2
        found = []
        for form in FORMS:
            o = il.Odometer(Fraction(delta), form=form, around=Fraction(around))
            for epsilon in epsilons:
                o.add(il.PureDP(epsilon))
            found.append(o.reading)
        exact = min(line, total)
        assert exact <= found[1].epsilon <= exact * (1 + 1e-12)
        # Whatever its gamma: on its curve, and never below the best fixed line.
        best = min(mpmath.sqrt(4 * v * half) + v / 2, total)
        assert best <= found[0].epsilon <= total * (1 + 1e-12)
        assert all(
            Fraction(delta) <= r.delta <= Fraction(delta) * (1 + Fraction(1, 10**12)) for r in found
        )


def test_at_its_own_variance_the_line_is_advanced_composition() -> None:
    # FORMULAS 6.8 and 2.4, with V = y.
    o = il.Odometer(1e-6, form="line", around=Fraction(1))
    o.add(il.ZCDP(0.5))
    with mpmath.workdps(30):
        assert o.reading.epsilon == pytest.approx(float(mpmath.sqrt(2 * mpmath.log(10**6)) + 0.5))
    mixture = il.Odometer(1e-6)
    mixture.add(il.ZCDP(0.5))
    assert o.reading.epsilon < mixture.reading.epsilon < 1.06 * o.reading.epsilon
    # Far from there the mixture wins.
    for _ in range(20):
        o.add(il.ZCDP(5))
        mixture.add(il.ZCDP(5))
    assert mixture.reading.epsilon < o.reading.epsilon


def test_the_mixture_stays_above_its_supermartingale() -> None:
    # At the reading the mixture of likelihoods is at least 1/delta: what Ville's inequality needs.
    for delta in (Fraction(9, 10), Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**9)):
        for v in (Fraction(1, 1000), Fraction(1), Fraction(40)):
            o = il.Odometer(delta)
            o.add(il.ZCDP(v / 2))
            with mpmath.workdps(40):
                gamma = _real(_gamma(o))
                x = (mpmath.mpf(o.reading.epsilon) - _real(v) / 2) / mpmath.sqrt(_real(v) + gamma)
                root = mpmath.sqrt(gamma / (_real(v) + gamma))
                mixed = 2 * root * mpmath.exp(x * x / 2) * mpmath.ncdf(x)
                assert mixed * _real(delta) >= 1
                assert mixed * _real(delta) < 2.1


def _gamma(o: il.Odometer) -> Fraction:
    from interlace.core.composition import odometers

    return odometers._gamma(o._around, o._delta)


Bound = Callable[[tuple[int, ...]], float]


def _worst(epsilons: list[Fraction], rounds: int, bound: Bound) -> Any:
    """The largest chance that some moment's loss exceeds its bound, over every analyst who picks
    the next epsilon from all outcomes so far."""
    chances = [1 / (1 + mpmath.exp(-_real(e))) for e in epsilons]

    @cache
    def chance(counts: tuple[int, ...], loss: Fraction, left: int) -> Any:
        if loss > Fraction(bound(counts)):
            return mpmath.mpf(1)
        best = mpmath.mpf(0)
        for i, epsilon in enumerate(epsilons) if left else ():
            after = (*counts[:i], counts[i] + 1, *counts[i + 1 :])
            up = chance(after, loss + epsilon, left - 1)
            down = chance(after, loss - epsilon, left - 1)
            best = max(best, chances[i] * up + (1 - chances[i]) * down)
        return best

    return chance((0,) * len(epsilons), Fraction(0), rounds)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("delta", [Fraction(1, 2), Fraction(1, 5), Fraction(1, 50)])
@pytest.mark.parametrize(
    "epsilons", [["1/2"], ["1"], ["1/4", "1"], ["3/10", "7/10", "2"], ["1/10", "1/5"]]
)
def test_no_analyst_crosses_the_reading(form: str, delta: Fraction, epsilons: list[str]) -> None:
    sizes = [Fraction(e) for e in epsilons]

    @cache
    def bound(counts: tuple[int, ...]) -> float:
        o = il.Odometer(delta, form=form, around=2)
        o.add(il.compose([(il.PureDP(e), n) for e, n in zip(sizes, counts, strict=True)]))
        return o.reading.epsilon

    with mpmath.workdps(30):
        worst = _worst(sizes, 14 if len(sizes) < 3 else 9, bound)
        assert worst <= _real(delta)
        # And with the bound of one moment for all moments it is crossed more often than that.
        if (form, delta, epsilons) == ("line", Fraction(1, 2), ["1/4", "1"]):
            smaller = _worst(sizes, 14, lambda counts: bound(counts) * 0.4)
            assert smaller > _real(delta)


def test_readings_do_not_fall() -> None:
    draw = random.Random(2)
    for form in FORMS:
        o, before = il.Odometer(1e-5, form=form), 0.0
        for _ in range(60):
            e = Fraction(draw.randint(1, 90), 100)
            o.add(
                draw.choice([il.PureDP(e), il.ZCDP(e / 9), il.GaussianDP(e), RoundedGaussian(30)])
            )
            assert o.reading.epsilon >= before
            before = o.reading.epsilon


@pytest.mark.parametrize("form", FORMS)
def test_long_runs_cross_no_more_often_than_delta(form: str) -> None:
    # If the chance of a crossing is at most delta, more crossings than `most` are seen with a
    # chance below 1e-6: the exact binomial tail.
    runs, rounds, delta = 4000, 400, Fraction(1, 20)
    readings = []
    o = il.Odometer(delta, form=form, around=2)
    for _ in range(rounds):
        o.add(il.PureDP(0.1))
        readings.append(o.reading.epsilon)
    # In steps of 0.1: the loss after k responses exceeds the reading from there on.
    limits = [int(reading * 10 + 1e-9) for reading in readings]
    draw, heads = random.Random(1), 1 / (1 + 2.718281828459045**-0.1)
    crossed = 0
    for _ in range(runs):
        loss = 0
        for limit in limits:
            loss += 1 if draw.random() < heads else -1
            if loss > limit:
                crossed += 1
                break
    with mpmath.workdps(30):
        p, most, above = _real(delta), runs, mpmath.mpf(0)
        while above < 1e-6:
            above += mpmath.binomial(runs, most) * p**most * (1 - p) ** (runs - most)
            most -= 1
    assert most + 1 < 1.4 * runs * delta
    assert 20 < crossed <= most + 1


def test_mechanisms_with_a_delta_count_in_their_good_branches() -> None:
    o = il.Odometer(1e-6)
    o.add(il.compose([(il.ApproxDP(0.1, 1e-9), 100)]))
    pure = il.Odometer(1e-6)
    pure.add(il.compose([(il.PureDP(0.1), 100)]))
    assert o.reading.epsilon == pure.reading.epsilon
    assert (
        Fraction(11, 10**7)
        <= Fraction(o.reading.delta)
        <= Fraction(11, 10**7) * (1 + Fraction(1, 10**12))
    )
    point = il.Odometer(1e-6)
    point.add(il.ZCDP(0.01), delta=1e-8)
    with_point = il.Odometer(1e-6)
    with_point.add(il.ApproxDP(Fraction(il.compose([il.ZCDP(0.01)]).epsilon(1e-8)), 1e-8))
    assert point.reading == with_point.reading
    o.add(il.ApproxDP(0, 1))
    assert o.reading.delta == 1.0


def test_a_sum_of_epsilons_bounds_the_loss_surely() -> None:
    o = il.Odometer(1e-6)
    o.add(il.PureDP(0.1))
    assert o.reading.epsilon == 0.1
    o.add(il.GaussianDP(0.001))
    assert o.reading.epsilon > 0.3
    assert il.Odometer(0.5).reading == il.Reading(0.0, 0.5)


def test_what_an_odometer_refuses() -> None:
    for delta in (0, 1, -1, 2, float("nan")):
        with pytest.raises(il.ParameterError, match=r"^delta: "):
            il.Odometer(delta)
    with pytest.raises(il.ParameterError, match=r"^form: "):
        il.Odometer(0.1, form="best")
    with pytest.raises(il.ParameterError, match=r"^around: "):
        il.Odometer(0.1, around=0)
    o = il.Odometer(0.1)
    for bad in (il.RenyiDP(3, 0.1), il.TCDP(0.1, 5)):
        with pytest.raises(il.Unproven, match=type(bad).__name__):
            o.add(bad)
    with pytest.raises(il.RelationMismatch):
        o.add(il.PureDP(1, relation=il.Relation.CHANGE_ONE))
    assert o.reading.epsilon == 0.0
    # A reading is no guarantee: nothing composes or admits it.
    with pytest.raises(il.ParameterError):
        il.compose([o.reading])  # type: ignore[list-item]  # what is tested
    with pytest.raises(il.ParameterError):
        il.Filter(il.PureDP(1)).admit(o.reading)  # type: ignore[arg-type]  # what is tested


def test_threads_add_up() -> None:
    o = il.Odometer(1e-6)

    def add() -> None:
        for _ in range(50):
            o.add(il.PureDP(0.01))

    threads = [threading.Thread(target=add) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    whole = il.Odometer(1e-6)
    whole.add(il.compose([(il.PureDP(0.01), 400)]))
    assert o.reading.epsilon == pytest.approx(whole.reading.epsilon, rel=1e-12)
