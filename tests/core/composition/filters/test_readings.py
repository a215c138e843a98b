"""What ``spent`` and ``remaining`` say, and that they say no more than is."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlace as il
from tests.effort import examples

CHILDREN = st.lists(
    st.one_of(
        st.integers(1, 400).map(lambda n: il.PureDP(Fraction(n, 1000))),
        st.integers(1, 300).map(lambda n: il.GaussianDP(Fraction(n, 1000))),
        st.integers(1, 200).map(lambda n: il.ApproxDP(Fraction(n, 1000), Fraction(1, 10**8))),
    ),
    max_size=12,
)


def _after(f: il.Filter, children: list[Any]) -> None:
    for child in children:
        if f.admits(child):
            f.admit(child)


def _part(f: il.Filter) -> Fraction:
    """What is left of the structural part."""
    return 1 - (1 - f.structural) / Fraction(f.state["good"] or 1)


def _numbers(guarantee: Any) -> tuple[Fraction, ...]:
    match guarantee:
        case il.ApproxDP():
            return guarantee.epsilon0, guarantee.delta0
        case il.GaussianDP():
            return (guarantee.mu**2,)
        case _:
            return (guarantee.epsilon0,)


@settings(max_examples=examples(40), deadline=None)
@given(CHILDREN, st.sampled_from(["reach", "residue", "advanced"]), st.sampled_from([1, 3]))
def test_what_remains_is_no_more_than_is(children: list[Any], rule: str, e: int) -> None:
    budget = il.ApproxDP(e, 1e-6)
    f = il.Filter(budget, rule)
    assert (f.spent, f.remaining) == (il.ApproxDP(0, 0), budget)
    _after(f, children)
    spent, left = f.spent, f.remaining
    assert isinstance(spent, il.ApproxDP)
    assert isinstance(left, il.ApproxDP)
    for x, y, whole in zip(_numbers(spent), _numbers(left), _numbers(budget), strict=True):
        assert whole <= x + y <= whole * (1 + Fraction(1, 2**100))
    # A new filter of what remains starts with no more: of the same rule, or of basic.
    part = Fraction(f.state["delta"] or 0) if rule == "advanced" else _part(f)
    new = il.Filter(left, "residue" if rule == "reach" else rule, structural=min(part, left.delta0))
    name = "rho" if rule == "advanced" else "w"
    if Fraction(new.state[name] or 0) > Fraction(f.state[name] or 0):
        assert rule == "reach"
        total = f.state["sum_epsilon"]
        assert total is not None
        assert left.epsilon0 == e - Fraction(total)


@settings(max_examples=examples(30), deadline=None)
@given(CHILDREN, st.lists(st.integers(1, 300), min_size=1, max_size=8))
def test_what_a_new_filter_admits_fits_here(children: list[Any], more: list[int]) -> None:
    f = il.Filter(il.ApproxDP(2, 1e-6))
    _after(f, children)
    left = f.remaining
    assert isinstance(left, il.ApproxDP)
    if left.epsilon0 == 0:
        return
    total = f.state["sum_epsilon"]
    adds_up = total is not None and left.epsilon0 == 2 - Fraction(total)
    for rule in ("residue", "basic") if adds_up else ("residue",):
        here = il.Filter(f.budget, state=f.state)
        part = None if rule == "basic" else _part(f)
        new = il.Filter(left, rule, structural=part)
        for n in more:
            child = il.PureDP(Fraction(n, 1000))
            if new.admits(child):
                new.admit(child)
                here.admit(child)


@pytest.mark.parametrize(
    ("budget", "rule", "nothing"),
    [
        (il.PureDP(1), None, il.PureDP(0)),
        (il.ApproxDP(1, 1e-6), None, il.ApproxDP(0, 0)),
        (il.ApproxDP(1, 1e-6), "residue", il.ApproxDP(0, 0)),
        (il.ApproxDP(1, 1e-6), "advanced", il.ApproxDP(0, 0)),
        (il.ApproxDP(1, 1e-6), "basic", il.ApproxDP(0, 0)),
        (il.ZCDP(1), None, il.ZCDP(0)),
        (il.TCDP(1, 9), None, il.TCDP(0, 9)),
        (il.RenyiDP(9, 1), None, il.RenyiDP(9, 0)),
        (il.GaussianDP(1), None, il.GaussianDP(0)),
        (il.GaussianDP(1), "gaussian", il.GaussianDP(0)),
    ],
)
def test_an_exhausted_filter_admits_only_what_is_free(
    budget: Any, rule: str | None, nothing: Any
) -> None:
    f = il.Filter.exhausted(budget, rule)
    assert (f.spent, f.remaining) == (budget, nothing)
    f.admit(il.PureDP(0))
    assert not f.admits(il.PureDP(1e-12))
    with pytest.raises(il.BudgetExceeded) as refused:
        f.admit(il.PureDP(0.1))
    assert refused.value.remaining == nothing


def test_a_refusal_tells_what_would_fit() -> None:
    f = il.Filter(il.ApproxDP(1, 1e-6))
    f.admit(il.PureDP(0.5))
    with pytest.raises(il.BudgetExceeded, match="At most") as refused:
        f.admit(il.PureDP(3))
    fits = refused.value.fits
    assert isinstance(fits, il.PureDP)
    assert refused.value.requested == il.PureDP(3)
    before = f.state
    f.admit(fits)
    assert f.state != before
    g = il.Filter(il.ApproxDP(1, 1e-6))
    with pytest.raises(il.BudgetExceeded) as refused:
        g.admit(il.ApproxDP(0.5, 2e-7))
    fits = refused.value.fits
    assert isinstance(fits, il.ApproxDP)
    assert fits.delta0 == Fraction(1, 10**7)
    g.admit(fits)
    h = il.Filter(il.GaussianDP(1))
    with pytest.raises(il.BudgetExceeded) as refused:
        h.admit(il.GaussianDP(2))
    assert refused.value.fits == il.GaussianDP(1)


def test_the_gdp_reading_adds_up_in_squares() -> None:
    for rule in ("residue", "gaussian"):
        f = il.Filter(il.GaussianDP(5), rule)
        f.admit(il.GaussianDP(3))
        assert (f.spent, f.remaining) == (il.GaussianDP(3), il.GaussianDP(4))
        f.admit(il.compose([(il.GaussianDP(2), 3)]))
        assert f.remaining == il.GaussianDP(2)
        f.admit(il.GaussianDP(1))
        left = f.remaining
        assert isinstance(left, il.GaussianDP)
        assert 3 * (1 - Fraction(1, 2**115)) < left.mu**2 < 3
