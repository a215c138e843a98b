"""Composition against sums over all subsets, and its promises on random plans."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.composition import bounds, compose, optimal, renyi, terms
from interlace.core.composition.atoms import Table, counted
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


@settings(max_examples=examples(20))
@given(_lattice, st.floats(0, 1))
def test_the_ways_of_counting_agree(epsilons: list[Fraction], part: float) -> None:
    losses = tuple(sorted({e: epsilons.count(e) for e in epsilons if e}.items()))
    if not losses:
        return
    found = optimal.model(losses)
    lattice = optimal.common_lattice(losses)
    assert found is not None
    assert lattice is not None
    step, total = lattice
    strides = [(int(e / step), n) for e, n in losses]
    packed = optimal.TwoPointLoss(
        found.total, step, None,
        Table.of(counted(strides, step, total // 2 + 1)),
    )  # fmt: skip
    at = found.total * Fraction(repr(part))
    one, other = found.delta(at), packed.delta(at)
    assert max(one.lower, other.lower) <= min(one.upper, other.upper)


@settings(max_examples=examples(15))
@given(_reals, st.floats(0, 1))
def test_rounding_outward_encloses(epsilons: list[Fraction], part: float) -> None:
    losses = tuple(sorted({e: epsilons.count(e) for e in epsilons}.items()))
    exact = optimal.model(losses)
    below, above = (optimal.model(bounds.rounded(losses, up=up) or ()) for up in (False, True))
    assert exact is not None
    assert below is not None
    assert above is not None
    at = exact.total * Fraction(repr(part))
    assert below.delta(at).lower <= exact.delta(at).lower
    assert above.delta(at).upper >= exact.delta(at).upper


@settings(max_examples=examples(30))
@given(_plans, st.floats(0, 1), st.floats(-9, 0).map(lambda x: 10**x))
def test_closed_forms_and_renyi_lie_above(
    epsilons: list[Fraction], part: float, delta: float
) -> None:
    c = compose([PureDP(e) for e in epsilons])
    held = terms.terms(c.parts)
    if not held.losses:
        return
    at = held.total * Fraction(repr(part))
    share = held.leak.share(Fraction(repr(delta)))
    exact_epsilon, exact_delta = c.epsilon_interval(delta)[0], c.delta_interval(at)[0]
    assert bounds.closed_epsilon(held, share) >= exact_epsilon
    assert renyi.epsilon_bound(held, share) >= exact_epsilon
    assert bounds.closed_delta(held, at) >= exact_delta
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


@settings(max_examples=examples(12))
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


@settings(max_examples=examples(20))
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
        assert c.delta(epsilon) <= delta * (1 + 1e-9)
