"""Reach and residue: what they admit, what they refuse, and what their state holds."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.composition.value_filters import (
    Child,
    GaussianChild,
    PureChild,
    Reach,
    Residue,
    Rule,
    State,
    steps,
)
from interlace.core.composition.value_filters.fixed import Pair
from interlace.core.composition.value_filters.inequality import excess
from interlace.core.errors import ParameterError, Unproven
from tests.core.composition.value_filters.reference import exact_defect, real, value
from tests.effort import examples

MILLIONTH = Fraction(1, 10**6)


def _point(w: int) -> Fraction:
    """The E at which sqrt(w)-GDP has delta 1e-6, a little above: V is then just above w."""
    with mpmath.workdps(50):
        root = mpmath.findroot(lambda e: mpmath.log(value(-e, mpmath.mpf(w)) * 10**6), 5 * w**0.5)
        return Fraction(mpmath.nstr(root, 40)) + Fraction(1, 10**14)


def _run(rule: Rule, epsilons: list[Fraction]) -> int:
    state, admitted = rule.start(), 0
    for epsilon in epsilons:
        after = rule.step(state, PureChild(epsilon))
        if after is None:
            return admitted
        state, admitted = after, admitted + 1
    return admitted


@pytest.mark.parametrize(
    ("epsilon", "reach", "residue"), [("0.1", 99, 98), ("0.3", 16, 10), ("1", 4, 0)]
)
def test_identical_children_admitted(epsilon: str, reach: int, residue: int) -> None:
    child = PureChild(Fraction(epsilon))
    both = Reach.of(_point(1), MILLIONTH), Residue.of(mu=1)
    assert tuple(rule.count(rule.start(), child) for rule in both) == (reach, residue)


def test_ten_thousand_small_children() -> None:
    rule = Reach.of(_point(1), MILLIONTH)
    assert rule.count(rule.start(), PureChild(Fraction(1, 100))) == 9998


@pytest.mark.soak
def test_ten_thousand_small_children_by_residue() -> None:
    rule = Residue.of(mu=1)
    assert rule.count(rule.start(), PureChild(Fraction(1, 100))) == 9997


@pytest.mark.parametrize(
    ("w", "lists", "reach", "residue"), [(1, 60, 34, 29), (4, 20, 128, 125), (16, 4, 513, 510)]
)
def test_mixes_of_random_children(w: int, lists: int, reach: float, residue: float) -> None:
    draw = random.Random(5)
    rules: tuple[Rule, ...] = Reach.of(_point(w), MILLIONTH), Residue.of(mu_squared=w)
    totals = [0, 0]
    for _ in range(lists):
        epsilons = [Fraction(draw.randint(10, 300), 1000) for _ in range(80 * w)]
        totals = [n + _run(rule, epsilons) for n, rule in zip(totals, rules, strict=True)]
    # Seven standard errors of a mean.
    allowed = 7 * 3.5 * w**0.5 / lists**0.5
    assert abs(totals[0] / lists - reach) < allowed
    assert abs(totals[1] / lists - residue) < allowed
    assert totals[0] > totals[1]


@settings(max_examples=examples(40), deadline=None)
@given(
    st.floats(1e-5, 450).map(Fraction),
    st.floats(0, 5),
    st.one_of(st.floats(1e-13, 1e-2), st.floats(1e-2, 4)).map(Fraction),
)
def test_a_step_is_sound_and_close_to_the_largest(w: Fraction, z: float, e: Fraction) -> None:
    t = Fraction(z * float(w) ** 0.5)
    after = steps.narrowed(w, t, e)
    with mpmath.workdps(100):
        if after is None:
            # Only where hardly anything would be left.
            assert exact_defect(t, e, w, w / 10**4) > 0
            return
        assert exact_defect(t, e, w, after) <= 0
        assert exact_defect(t, e, w, after + (w - after) / 10**5) > 0


def test_a_step_costs_the_same_whatever_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def counted(t: Fraction, epsilon: Fraction, w: Fraction, after: Fraction, bits: int) -> Pair:
        asked.append(bits)
        return excess(t, epsilon, w, after, bits)

    monkeypatch.setattr(steps, "excess", counted)
    rule, draw = Reach.of(_point(4), MILLIONTH), random.Random(3)
    admitted = _run(rule, [Fraction(draw.random() / 4 + 1e-3) for _ in range(300)])
    assert admitted > 100
    assert len(asked) <= 1.1 * (admitted + 1)
    assert max(asked) <= 192


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.integers(1, 900), min_size=1, max_size=12), st.sampled_from([0, 3, 30]))
def test_reach_admits_all_that_sums_admit(parts: list[int], digits: int) -> None:
    epsilons = [Fraction(n, 1000) for n in parts]
    rule = Reach.of(sum(epsilons), Fraction(1, 10**digits) if digits else 0)
    assert _run(rule, epsilons) == len(epsilons)


def test_a_pure_budget_is_basic_composition() -> None:
    rule = Reach.of(1, 0)
    assert rule.count(rule.start(), PureChild.of(0.1)) == 10
    assert rule.largest(rule.start()) == 1
    assert rule.start().w == 0


@pytest.mark.parametrize("text", ["1/3", "0.1", "7", "1e-40"])
def test_gaussians_fill_a_residue_budget_exactly(text: str) -> None:
    whole = Fraction(text)
    rule = Residue.of(mu_squared=whole)
    state: State | None = rule.start()
    for share in (Fraction(1, 7), Fraction(2, 7), Fraction(4, 7)):
        assert state is not None
        state = rule.step(state, GaussianChild(whole * share))
    assert state == State(Fraction(0), None, Fraction(1))
    assert rule.step(state, GaussianChild(Fraction(1, 10**50))) is None
    assert rule.step(state, PureChild(Fraction(1, 10**50))) is None
    assert rule.step(state, GaussianChild(Fraction(0))) == state


def test_after_a_gaussian_reach_goes_on_as_residue() -> None:
    reach, residue = Reach.of(_point(1), MILLIONTH), Residue.of(mu=1)
    after = reach.step(reach.start(), GaussianChild.of(Fraction(1, 2)))
    assert after is not None
    assert after.sum_epsilon is None
    assert reach.distance(after) == 0
    child = PureChild.of(0.1)
    assert reach.step(after, child) == residue.step(after, child)


def test_a_session_of_gaussian_answers_is_reserved_whole() -> None:
    assert GaussianChild.of(0.1, answers=25).mu_squared == Fraction(1, 4)
    assert GaussianChild.of(0.1, law="rounded") == GaussianChild.of(0.1)
    with pytest.raises(Unproven, match="not"):
        GaussianChild.of(0.1, law="discrete")


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(st.tuples(st.integers(1, 400), st.integers(0, 40)), max_size=8))
def test_children_with_a_delta_run_on_the_rest(parts: list[tuple[int, int]]) -> None:
    # Beside the pure rule of (delta - D)/(1 - D): the same w, and the product alone decides.
    delta, part = Fraction(1, 100), Fraction(1, 200)
    rule, pure = Reach.of(2, delta, part), Reach.of(2, (delta - part) / (1 - part))
    state, other, good = rule.start(), pure.start(), Fraction(1)
    assert state.w == other.w
    for epsilon, leak in parts:
        child = PureChild(Fraction(epsilon, 1000), Fraction(leak, 10**4))
        after = rule.step(state, child)
        alone = pure.step(other, PureChild(child.epsilon))
        if good * (1 - child.delta) < 1 - part or alone is None:
            assert after is None
            return
        assert after is not None
        good, state, other = good * (1 - child.delta), after, alone
        assert (state.w, state.sum_epsilon, state.good) == (other.w, other.sum_epsilon, good)


def test_a_delta_may_fill_its_part_exactly() -> None:
    rule = Reach.of(1, Fraction(1, 100), Fraction(1, 100))
    after = rule.step(rule.start(), PureChild.of(0, 0.01))
    assert after is not None
    assert rule.step(after, PureChild.of(0, Fraction(1, 10**40))) is None
    assert rule.step(after, PureChild.of(1)) is not None


@settings(max_examples=examples(15), deadline=None)
@given(st.floats(0.01, 3), st.sampled_from([3, 6, 20, 100]), st.integers(0, 3))
def test_the_largest_child_fits_and_hardly_more(e: float, digits: int, before: int) -> None:
    rule = Reach.of(e, Fraction(1, 10**digits))
    state = rule.start()
    for _ in range(before):
        state = rule.step(state, PureChild(rule.largest(state) / 4)) or state
    largest = rule.largest(state)
    assert rule.step(state, PureChild(largest)) is not None
    assert rule.step(state, PureChild(largest * Fraction(10**9 + 1, 10**9))) is None


def test_the_state_stays_short_whatever_is_asked() -> None:
    rule, draw = Reach.of(3, Fraction(1, 100), Fraction(1, 200)), random.Random(9)
    state = rule.start()
    for _ in range(60):
        odd = draw.getrandbits(900) | 1
        epsilon = Fraction(draw.getrandbits(890), odd) + Fraction(1, 10**30)
        child = PureChild(epsilon / 10**6, Fraction(1, odd))
        state = rule.step(state, child) or state
        state = rule.step(state, GaussianChild(Fraction(1, odd))) or state
    for number in (state.w, state.good):
        assert number.denominator.bit_length() <= 512
    total = _exact_sum(rule)
    assert total.denominator.bit_length() <= 512


def _exact_sum(rule: Reach) -> Fraction:
    state, draw, exact = rule.start(), random.Random(4), Fraction(0)
    for _ in range(20):
        child = PureChild(Fraction(1, draw.getrandbits(600) | 1 << 600 | 1) + Fraction(1, 1000))
        after = rule.step(state, child)
        assert after is not None
        state, exact = after, exact + child.epsilon
    assert state.sum_epsilon is not None
    assert state.sum_epsilon >= exact
    return state.sum_epsilon


@given(
    st.fractions(min_value=0, max_value=10),
    st.none() | st.fractions(min_value=0),
    st.fractions(min_value=0, max_value=1),
)
def test_a_state_is_read_back_exactly(w: Fraction, total: Fraction | None, good: Fraction) -> None:
    state = State(w, total, good)
    assert State.read(json.loads(json.dumps(state.document()))) == state


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"w": "1", "sum_epsilon": "0"},
        {"w": 1, "sum_epsilon": "0", "good": "1"},
        {"w": "1.5", "sum_epsilon": "0", "good": "1"},
        {"w": "-1", "sum_epsilon": "0", "good": "1"},
        {"w": "1/0", "sum_epsilon": "0", "good": "1"},
        {"w": "1", "sum_epsilon": "0", "good": "3/2"},
        {"w": "1", "sum_epsilon": "nan", "good": "1"},
        {"w": "9" * 5000, "sum_epsilon": "0", "good": "1"},
        {"w": "1", "sum_epsilon": "0", "good": "1", "more": "1"},
    ],
)
def test_nothing_else_is_read_as_a_state(document: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        State.read(document)


def test_budgets_out_of_range_are_refused() -> None:
    for epsilon, delta, part in ((1, 1, 0), (-1, 0.1, 0), (1, 0.1, 0.2), (float("nan"), 0.1, 0)):
        with pytest.raises(ParameterError):
            Reach.of(epsilon, delta, part)
    with pytest.raises(ParameterError, match="either"):
        Residue.of()
    with pytest.raises(ParameterError, match="either"):
        Residue.of(mu=1, mu_squared=1)
    with pytest.raises(ParameterError, match="structural"):
        Residue.of(mu=1, structural=1)


@pytest.mark.parametrize("bad", [Fraction(-1), Fraction(-1, 10**40), 0.5, "1", None])
def test_no_value_holds_what_would_make_budget_of_nothing(bad: Any) -> None:
    half = Fraction(1, 2)
    makers: list[Callable[[], object]] = [
        lambda: PureChild(bad),
        lambda: PureChild(half, bad),
        lambda: PureChild(half, Fraction(2)),
        lambda: GaussianChild(bad),
        lambda: State(bad, None, half),
        lambda: State(half, None, bad),
        lambda: State(half, None, Fraction(2)),
        lambda: State(half, bad or half * -1, half),
        lambda: Reach(bad, half),
        lambda: Reach(half, bad),
        lambda: Reach(half, half, bad),
        lambda: Residue(bad),
        lambda: Residue(half, bad),
    ]
    for make in makers:
        with pytest.raises(ParameterError):
            make()


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(0, "1e-6"), (0, "1e-20"), ("1e-9", "1e-12"), (1, "1e-300"), (10**4, "1e-6"), (1, "0.999999")],
)
def test_the_start_gives_hardly_less_than_the_budget(epsilon: str | int, delta: str) -> None:
    rule = Reach.of(Fraction(epsilon), Fraction(delta))
    w = rule.start().w
    with mpmath.workdps(1000):
        assert value(-real(rule.epsilon), real(w)) <= real(rule.delta)
        assert value(-real(rule.epsilon), real(w) * (1 + mpmath.mpf(10) ** -6)) > real(rule.delta)


@pytest.mark.parametrize("child", [PureChild.of(10**7), PureChild.of(1e9), PureChild.of(1e300)])
def test_a_huge_child_is_refused_without_fuss(child: Child) -> None:
    for rule in (Reach.of(1, MILLIONTH), Residue.of(mu=3), Residue.of(mu=10**4)):
        assert rule.step(rule.start(), child) is None
