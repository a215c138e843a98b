"""How much each rule admits, through ``il.Filter``; and the largest that still fits."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlace as il
from tests.core.composition.filters.behind import gaussian_delta, real
from tests.effort import examples

MILLIONTH = Fraction(1, 10**6)
Laplace = il.mechanisms.Laplace


@functools.cache
def point(w: int) -> Fraction:
    """The E at which sqrt(w)-GDP has delta 1e-6, a little above."""
    with mpmath.workdps(40):

        def missing(e: Any) -> Any:
            root = mpmath.sqrt(w)
            near, far = mpmath.ncdf(root / 2 - e / root), mpmath.ncdf(-root / 2 - e / root)
            return mpmath.log((near - mpmath.exp(e) * far) * 10**6)

        return Fraction(mpmath.nstr(mpmath.findroot(missing, 5 * w**0.5), 30)) + Fraction(1, 10**14)


def admitted(f: il.Filter, child: il.Guarantee, most: int = 20_000) -> int:
    count = 0
    while count < most and f.admits(child):
        f.admit(child)
        count += 1
    return count


@pytest.mark.parametrize(
    ("epsilon", "counts"),
    [
        # FORMULAS 6.12, at V = 1: reach, residue, advanced, basic.
        ("0.1", (99, 98, 88, 48)),
        ("0.3", (16, 10, 9, 16)),
        ("1", (4, 0, 0, 4)),
    ],
)
def test_identical_children(epsilon: str, counts: tuple[int, ...]) -> None:
    found = []
    for rule in ("reach", "residue", "advanced", "basic"):
        part = None if rule == "basic" else 0
        f = il.Filter(il.ApproxDP(point(1), MILLIONTH), rule, structural=part)
        found.append(admitted(f, il.PureDP(Fraction(epsilon))))
    # The conversion of zCDP is a little better than the table's.
    assert counts[2] <= found[2] <= counts[2] + 1
    assert (*found[:2], found[3]) == (*counts[:2], counts[3])


def test_ten_thousand_small_children_one_by_one_and_at_once() -> None:
    child = il.PureDP(Fraction(1, 100))
    budget = il.ApproxDP(point(1), MILLIONTH)
    assert admitted(il.Filter(budget, structural=0), child) == 9998
    # As a plan they lose a few steps, and no more.
    plans = [
        n
        for n in range(9990, 10000)
        if il.Filter(budget, structural=0).admits(il.compose([(child, n)]))
    ]
    assert max(plans) >= 9994
    assert max(plans) <= 9998


def test_one_order_beats_zcdp_for_many_large_children() -> None:
    # The table's third column, with the order fixed in advance and the two-point curve.
    child = il.PureDP(Fraction(3, 10))
    order, zcdp = Fraction(7, 2), Fraction("0.3927")
    best = 0
    for alpha in (order, Fraction(9, 2), Fraction(5)):
        low, high = 0.0, 20.0
        for _ in range(40):
            middle = (low + high) / 2
            fits = il.RenyiDP(alpha, middle).delta(point(1)) <= MILLIONTH
            low, high = (middle, high) if fits else (low, middle)
        best = max(best, admitted(il.Filter(il.RenyiDP(alpha, low)), child))
    assert best > admitted(il.Filter(il.ZCDP(zcdp)), child)


BUDGETS: list[tuple[Any, str]] = [
    (il.PureDP(1.5), "basic"),
    (il.PureDP(1.5), "reach"),
    (il.ApproxDP(1.5, 1e-6), "basic"),
    (il.ApproxDP(1.5, 1e-6), "reach"),
    (il.ApproxDP(1.5, 1e-6), "residue"),
    (il.ApproxDP(1.5, 1e-6), "advanced"),
    (il.RenyiDP(3, 0.5), "renyi"),
    (il.ZCDP(0.2), "zcdp"),
    (il.TCDP(0.2, 20), "tcdp"),
    (il.GaussianDP(0.7), "residue"),
    (il.GaussianDP(0.7), "gaussian"),
]
SHAPES: list[tuple[str, Callable[[float], Any], Any]] = [
    ("pure", il.PureDP, None),
    ("gdp", il.GaussianDP, None),
    ("zcdp", il.ZCDP, None),
    ("zcdp at a point", il.ZCDP, 1e-8),
    ("a delta", lambda e: il.ApproxDP(e, 1e-8), None),
    ("laplace", lambda e: Laplace(epsilon=e, answers=3), None),
    ("plan", lambda e: il.compose([(il.PureDP(e), 5), (il.PureDP(2 * e), 2)]), None),
]


@pytest.mark.parametrize(("budget", "rule"), BUDGETS, ids=str)
@pytest.mark.parametrize("before", [0, 2])
def test_the_largest_fits_and_hardly_more(budget: Any, rule: str, before: int) -> None:
    tried = 0
    for name, shape, delta in SHAPES:
        f = il.Filter(budget, rule)
        for _ in range(before):
            f.admit(il.PureDP(0.1))
        try:
            largest = f.largest(shape, delta)
        except (il.Unproven, il.ParameterError, il.BudgetExceeded):
            continue
        tried += 1
        f2 = il.Filter(budget, rule, state=f.state)
        f2.admit(largest, delta)
        more = shape(_size(largest) * (1 + 1e-7)) if name != "laplace" else None
        if more is not None:
            assert not f.admits(more, delta), (name, largest)
    assert tried >= 3


def _size(found: Any) -> float:
    match found:
        case il.PureDP() | il.ApproxDP():
            return float(found.epsilon0)
        case il.ZCDP():
            return float(found.rho)
        case il.GaussianDP():
            return float(found.mu)
        case Laplace():
            return 1.0
        case _:
            return float(found.parts[0][0].epsilon0)


@settings(max_examples=examples(15), deadline=None)
@given(st.floats(0.01, 3), st.lists(st.floats(0.001, 0.2), max_size=4))
def test_the_largest_of_a_sum_is_what_is_left(e: float, before: list[float]) -> None:
    f = il.Filter(il.PureDP(e))
    for epsilon in before:
        if f.admits(il.PureDP(epsilon)):
            f.admit(il.PureDP(epsilon))
    left = f.remaining
    assert isinstance(left, il.PureDP)
    if left.epsilon0 == 0:
        with pytest.raises(il.BudgetExceeded):
            f.largest(il.PureDP)
        return
    largest = f.largest(il.PureDP)
    assert largest.epsilon0 <= left.epsilon0
    assert Fraction(repr(math.nextafter(float(largest.epsilon0), math.inf))) > left.epsilon0
    f.admit(largest)


def test_the_largest_mechanism_of_a_session() -> None:
    f = il.Filter(il.ApproxDP(1, 1e-6))
    f.admit(il.PureDP(0.2))
    best = f.largest(lambda e: Laplace(epsilon=e, answers=100))
    f.admit(best)
    with pytest.raises(il.BudgetExceeded):
        f.admit(Laplace(scale=best.scale * Fraction(99, 100), answers=100))


def test_largest_of_a_delta_needs_one() -> None:
    f = il.Filter(il.ApproxDP(1, 1e-6))
    found = f.largest(il.ApproxDP, 1e-8)
    assert found.delta0 == Fraction(1, 10**8)
    f.admit(found)
    with pytest.raises(il.ParameterError, match=r"^delta: "):
        f.largest(il.ApproxDP)  # type: ignore[arg-type]  # what is tested
    with pytest.raises(il.BudgetExceeded):
        f.largest(il.ApproxDP, 1e-6)
    with pytest.raises(il.ParameterError, match="committed point"):
        f.largest(il.ZCDP)
    with pytest.raises(il.Unproven):
        il.Filter(il.ZCDP(1)).largest(il.ApproxDP, 1e-6)
    other = il.Filter(il.PureDP(1, relation=il.Relation.CHANGE_ONE))
    other.admit(other.largest(il.PureDP))


def test_gdp_of_a_residue_filter_is_what_its_curve_says() -> None:
    f = il.Filter(il.ApproxDP(point(1), MILLIONTH), "residue", structural=0)
    largest = f.largest(il.GaussianDP)
    with mpmath.workdps(40):
        assert (
            gaussian_delta(largest.mu**2, Fraction(mpmath.nstr(mpmath.exp(real(point(1))), 38)))
            <= 1e-6
        )
    assert 0.999999 < largest.mu <= 1.000001
