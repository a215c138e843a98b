"""Composition against sums over all subsets, and its promises on random plans."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.composition import compose, renyi, terms
from interlace.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP
from interlace.core.guarantees.enclosures import shorten_down
from tests.effort import examples

_lattice = st.lists(st.integers(0, 12).map(lambda n: Fraction(n, 10)), min_size=1, max_size=8)
_reals = st.lists(st.floats(0.001, 2).map(lambda x: Fraction(repr(x))), min_size=1, max_size=8)
_near = st.lists(st.integers(0, 5).map(lambda n: Fraction(1, 2) + Fraction(n, 10**15)),
                 min_size=2, max_size=8)  # fmt: skip
_plans = st.one_of(_lattice, _reals, _near)
_leaks = st.lists(st.sampled_from([0, 1e-9, 1e-300, 0.01]).map(lambda x: Fraction(repr(x))),
                  min_size=8, max_size=8)  # fmt: skip


def _brute(epsilons: list[Fraction], deltas: list[Fraction], at: Fraction) -> mpmath.mpf:
    """FORMULAS 2.3 as written: over all subsets, at 60 digits."""
    e = [mpmath.mpf(x.numerator) / x.denominator for x in epsilons]
    kept = mpmath.mpf(1)
    for d in deltas:
        kept *= 1 - mpmath.mpf(d.numerator) / d.denominator
    limit, total = mpmath.exp(mpmath.mpf(at.numerator) / at.denominator), mpmath.fsum(e)
    left = mpmath.mpf(0)
    for chosen in itertools.product((0, 1), repeat=len(e)):
        inside = mpmath.fsum(x for x, c in zip(e, chosen, strict=True) if c)
        left += max(mpmath.exp(inside) - limit * mpmath.exp(total - inside), mpmath.mpf(0))
    left /= mpmath.fprod(1 + mpmath.exp(x) for x in e)
    return 1 - kept * (1 - left)


@settings(max_examples=examples(60))
@given(_plans, _leaks, st.floats(0, 1.2))
def test_delta_contains_the_sum_over_subsets(
    epsilons: list[Fraction], leaks: list[Fraction], part: float
) -> None:
    at = sum(epsilons, Fraction(0)) * Fraction(repr(part))
    deltas = leaks[: len(epsilons)]
    with mpmath.workdps(60):
        exact = _brute(epsilons, deltas, at)
        c = compose([ApproxDP(e, d) for e, d in zip(epsilons, deltas, strict=True)])
        found = c.delta_enclosure(at)
        slack = mpmath.mpf("1e-57")
        assert mpmath.mpf(str(found.lower)) - slack <= exact <= mpmath.mpf(str(found.upper)) + slack
        assert float(found.upper - found.lower) <= 1e-40
    lower, upper = c.delta_interval(at)
    assert Fraction(lower) <= Fraction(found.upper)
    assert Fraction(upper) >= Fraction(found.lower)


@settings(max_examples=examples(60))
@given(_plans, _leaks, st.floats(-12, 0).map(lambda x: 10**x))
def test_epsilon_is_where_the_sum_over_subsets_meets_delta(
    epsilons: list[Fraction], leaks: list[Fraction], delta: float
) -> None:
    deltas = leaks[: len(epsilons)]
    c = compose([ApproxDP(e, d) for e, d in zip(epsilons, deltas, strict=True)])
    target = Fraction(repr(delta))
    found = c.epsilon_enclosure(target)
    with mpmath.workdps(60):
        if not found.upper.is_finite():
            bad = 1 - math.prod((1 - d for d in deltas), start=Fraction(1))
            assert bad > target
            return
        slack = mpmath.mpf("1e-56")
        goal = mpmath.mpf(target.numerator) / target.denominator
        assert _brute(epsilons, deltas, Fraction(found.upper)) <= goal + slack
        assert found.upper - found.lower <= Decimal("1e-30") * (1 + found.upper)
        before = Fraction(found.lower) - Fraction(1, 10**20)
        if before > 0:
            assert _brute(epsilons, deltas, before) > goal


def _kov(epsilon: Fraction, count: int, at: Fraction) -> mpmath.mpf:
    """FORMULAS 2.2 as written."""
    e, limit = (mpmath.mpf(x.numerator) / x.denominator for x in (epsilon, at))
    terms = (
        mpmath.binomial(count, j)
        * max(mpmath.exp((count - j) * e) - mpmath.exp(limit + j * e), mpmath.mpf(0))
        for j in range(count + 1)
    )
    return mpmath.fsum(terms) / (1 + mpmath.exp(e)) ** count


@pytest.mark.parametrize(("epsilon", "count"), [("1/10", 100), ("1/97", 500), ("3", 20)])
def test_equal_parts_against_the_homogeneous_formula(epsilon: str, count: int) -> None:
    e = Fraction(epsilon)
    c = compose([(PureDP(e), count)])
    with mpmath.workdps(90):
        for part in (0, 0.1, 0.25, 0.5, 0.75, 0.99, 1):
            at = e * count * Fraction(repr(part))
            found, exact = c.delta_enclosure(at), _kov(e, count, at)
            assert mpmath.mpf(str(found.lower)) <= exact <= mpmath.mpf(str(found.upper))
            assert found.upper - found.lower <= Decimal("1e-35") * found.upper


@settings(max_examples=examples(30))
@given(_plans, st.floats(0, 1), st.floats(-9, 0).map(lambda x: 10**x))
def test_the_renyi_rule_lies_above(epsilons: list[Fraction], part: float, delta: float) -> None:
    c = compose([PureDP(e) for e in epsilons])
    held = terms.terms(c.parts)
    if not held.losses:
        return
    at = held.total * Fraction(repr(part))
    share = held.leak.share(Fraction(repr(delta)))
    exact_epsilon, exact_delta = c.epsilon_interval(delta)[0], c.delta_interval(at)[0]
    assert renyi.epsilon_bound(held, share) >= exact_epsilon
    assert renyi.delta_bound(held, at) >= exact_delta


_parts: st.SearchStrategy[Guarantee] = st.one_of(
    st.integers(0, 20).map(lambda n: PureDP(Fraction(n, 10))),
    st.builds(ApproxDP, st.integers(0, 20).map(lambda n: Fraction(n, 10)),
              st.sampled_from([1e-9, 1e-4])),
)  # fmt: skip


@settings(max_examples=examples(40))
@given(st.lists(_parts, min_size=1, max_size=6), _parts, st.floats(0, 4),
       st.floats(-6, 0).map(lambda x: 10**x))  # fmt: skip
def test_more_parts_never_cost_less(
    parts: list[Guarantee], extra: Guarantee, epsilon: float, delta: float
) -> None:
    few, many = compose(parts), compose([extra, *reversed(parts)])
    assert many == compose([*parts, extra])
    assert few.delta(epsilon) <= many.delta(epsilon)
    assert few.epsilon(delta) <= many.epsilon(delta)
    for part in parts:
        assert part.delta(epsilon) <= many.delta(epsilon) * (1 + 1e-15)
        assert part.epsilon(delta) <= many.epsilon(delta) * (1 + 1e-15)


@settings(max_examples=examples(8))
@given(st.lists(st.integers(1, 15).map(lambda n: Fraction(n, 10)), min_size=1, max_size=4),
       st.floats(0.1, 1.5), st.floats(0.3, 6), st.floats(-9, -0.5).map(lambda x: 10**x))  # fmt: skip
def test_mixtures_never_beat_what_their_parts_can_be(
    epsilons: list[Fraction], hidden: float, at: float, delta: float
) -> None:
    # A zCDP part may in truth be a randomised response: its exact composition is a floor.
    response = shorten_down(Fraction(hidden), 20)
    rho = float(response) * math.tanh(float(response) / 2) * (1 + 1e-12)
    mixed = compose([*(PureDP(e) for e in epsilons), ZCDP(rho)])
    truth = compose([*(PureDP(e) for e in epsilons), PureDP(response)])
    assert mixed.delta(at) >= truth.delta_interval(at)[0]
    assert mixed.epsilon(delta) >= truth.epsilon_interval(delta)[0]
    lower, upper = mixed.epsilon_interval(delta)
    assert lower <= upper
    # And it is a Gaussian mechanism's too: ten pieces of rho / 10, each a response.
    piece = shorten_down(Fraction(math.sqrt(2 * rho / 10)), 20)
    if float(piece) * math.tanh(float(piece) / 2) * 10 <= rho:
        pieces = compose([*(PureDP(e) for e in epsilons), (PureDP(piece), 10)])
        assert mixed.epsilon(delta) >= pieces.epsilon_interval(delta)[0]


@settings(max_examples=examples(6))
@given(st.lists(_parts, min_size=1, max_size=4), st.floats(0.01, 2), st.floats(-9, -0.1),
       st.floats(0.01, 3))  # fmt: skip
def test_curves_of_mixtures_are_monotone(
    parts: list[Guarantee], rho: float, exponent: float, gap: float
) -> None:
    c = compose([*parts, ZCDP(rho)])
    delta = 10**exponent
    assert c.epsilon(delta) <= c.epsilon(delta * 10**-gap)
    assert c.delta(gap) >= c.delta(gap * 1.5)
    epsilon = c.epsilon(delta)
    if math.isfinite(epsilon):
        # Depths of the dominating loss differ at most.
        assert c.delta(epsilon) <= delta * (1 + 1e-2)


def _gauss(rho: Fraction, epsilon: mpmath.mpf) -> mpmath.mpf:
    mu = mpmath.sqrt(2 * mpmath.mpf(rho.numerator) / rho.denominator)
    near, far = mpmath.ncdf(mu / 2 - epsilon / mu), mpmath.ncdf(-mu / 2 - epsilon / mu)
    return near - mpmath.exp(epsilon) * far


@pytest.mark.parametrize("count", [1, 10**12])
@pytest.mark.parametrize("rho", ["0.01", "1", "1000"])
def test_a_lower_end_beside_zcdp_is_attained_however_rho_is_spread(rho: str, count: int) -> None:
    # Of 1e12 mechanisms of rho / 1e12 each nothing but the Gaussian limit can be made.
    whole = Fraction(rho)
    c = compose([(ZCDP(whole / count), count)])
    middle, spread = float(whole), math.sqrt(2 * float(whole))
    with mpmath.workdps(60):
        for place in (-2, -1, 0, 1, 2, 4):
            epsilon = max(0.0, middle + place * spread)
            lower, upper = c.delta_interval(epsilon)
            exact = _gauss(whole, mpmath.mpf(repr(epsilon)))
            assert exact * (1 - mpmath.mpf("1e-14")) <= lower <= exact <= upper
        for delta in (0.3, 1e-6):
            low, high = c.epsilon_interval(delta)
            assert _gauss(whole, mpmath.mpf(low)) >= delta * (1 - 1e-12) or low == 0
            assert low <= high


@pytest.mark.parametrize(("count", "epsilon", "rho"), [(40, "0.1", "0.2"), (300, "0.05", "0.01")])
def test_a_mixed_lower_end_lies_below_responses_beside_a_gaussian(
    count: int, epsilon: str, rho: str
) -> None:
    e, r = Fraction(epsilon), Fraction(rho)
    c = compose([(PureDP(e), count), ZCDP(r)])
    with mpmath.workdps(40):
        loss = mpmath.mpf(e.numerator) / e.denominator
        heads = 1 / (1 + mpmath.exp(-loss))
        atoms = [
            ((count - 2 * j) * loss,
             mpmath.binomial(count, j) * heads ** (count - j) * (1 - heads) ** j)
            for j in range(count + 1)
        ]  # fmt: skip
        for at in (0.0, 0.3, 1.0, 2.0):
            exact = mpmath.fsum(w * _gauss(r, mpmath.mpf(at) - x) for x, w in atoms)
            lower, upper = c.delta_interval(at)
            assert lower <= exact <= upper
            assert lower >= exact * 0.97


@settings(max_examples=examples(3))
@given(st.lists(st.floats(0.01, 0.2), min_size=32, max_size=40, unique=True), st.floats(0.01, 0.2),
       st.floats(-9, -1).map(lambda x: 10**x))  # fmt: skip
def test_beyond_the_exact_reach_more_still_costs_more(
    values: list[float], extra: float, delta: float
) -> None:
    few = compose([PureDP(x) for x in values])
    many = compose([few, PureDP(extra)])
    assert "integral" in few.explain(delta)
    lower, upper = few.epsilon_interval(delta)
    assert lower <= many.epsilon(delta)
    assert lower <= upper <= lower * (1 + 1e-4)


def test_a_long_plan_of_real_losses_is_tight() -> None:
    # Both ends against the exact sum on the lattice that these losses lie on.
    units = [1000 + 37 * i % 9001 for i in range(120)]
    step = Fraction(1, 10**5)
    c = compose([PureDP(u * step) for u in units])
    mass = np.zeros(sum(units) + 1)
    mass[0], top = 1.0, 0
    for u in units:
        p = 1 / (1 + math.exp(-u * float(step)))
        grown = mass[: top + u + 1] * p
        grown[u:] += mass[: top + 1] * (1 - p)
        mass[: top + u + 1], top = grown, top + u
    loss = (sum(units) - 2 * np.arange(sum(units) + 1)) * float(step)
    for epsilon in (0.0, 1.0, 3.0):
        kept = loss > epsilon
        exact = float(np.sum(mass[kept] * -np.expm1(epsilon - loss[kept])))
        lower, upper = c.delta_interval(epsilon)
        assert lower <= exact * (1 + 1e-10)
        assert exact * (1 - 1e-10) <= upper <= lower * (1 + 1e-7)


def test_parameters_with_long_exact_forms_answer() -> None:
    c = compose([PureDP(Fraction(1, 20) + Fraction(1, (1 << 2000) + 2 * i + 1)) for i in range(80)])
    lower, upper = c.epsilon_interval(1e-6)
    near = compose([(PureDP(0.05), 80)]).epsilon_interval(1e-6)
    assert lower <= near[0] * (1 + 1e-9)
    assert near[1] * (1 - 1e-9) <= upper <= lower * 1.001
