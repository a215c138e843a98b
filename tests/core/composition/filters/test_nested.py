"""Filters inside filters: a child's whole budget is charged, whatever is then admitted there."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlace as il
from interlace.core.finite.games import AdaptiveGame
from tests.core.composition.filters.behind import SLACK, Behind, log, response
from tests.effort import examples


@dataclass(frozen=True)
class Nest:
    """A parent, and children that are opened at their first mechanism."""

    parent: Behind
    closed: tuple[Behind, ...]
    opened: tuple[tuple[int, Behind], ...] = ()

    def admitting(self, guarantee: Hashable, /) -> Nest | None:
        assert isinstance(guarantee, tuple)
        where, item = guarantee
        if where is None:
            after = self.parent.admitting(item)
            return None if after is None else replace(self, parent=after)
        inside = dict(self.opened)
        parent: Behind | None = self.parent
        if where not in inside:
            inside[where] = self.closed[where]
            parent = self.parent.admitting(inside[where].budget)
        child = inside[where].admitting(item)
        if parent is None or child is None:
            return None
        return replace(
            self, parent=parent, opened=tuple(sorted({**inside, where: child}.items(), key=str))
        )


RATIOS = st.integers(22, 50).map(lambda n: Fraction(n, 20))


@settings(max_examples=examples(80), deadline=None)
@given(
    st.lists(st.tuples(RATIOS, st.sampled_from([None, 0, 1, 2])), min_size=2, max_size=4),
    st.integers(20, 90).map(lambda n: Fraction(n, 10)),
    st.sampled_from(["reach", "residue", "advanced", "basic"]),
    st.sampled_from(["reach", "residue", "basic"]),
)
def test_no_analyst_exceeds_the_parents_delta(
    menu: list[tuple[Fraction, int | None]], ratio: Fraction, outer: str, inner: str
) -> None:
    delta = Fraction(1, 10)
    parent = il.Filter(
        il.ApproxDP(log(ratio), delta), outer, structural=None if outer == "basic" else delta / 2
    )
    # One child in (epsilon, delta), one pure, one in GDP where the parent takes it.
    gdp = il.Filter(il.GaussianDP(Fraction(1, 2)))
    children = [
        il.Filter(
            il.ApproxDP(Fraction(1, 2), delta / 4),
            inner,
            structural=None if inner == "basic" else 0,
        ),
        il.Filter(il.PureDP(1)),
    ]
    children.append(gdp if outer != "basic" else children[1])
    start = Nest(Behind.of(parent), tuple(map(Behind.of, children)))
    offered = []
    for k, (r, where) in enumerate(menu):
        child = response(f"response {k}", r, copies=2)
        offered.append(replace(child, guarantee=(where, il.PureDP(log(r)))))
    game = AdaptiveGame(offered, start, rounds=5)
    assert game.delta(exp_epsilon=ratio) <= delta * SLACK


@pytest.mark.parametrize(
    ("parent", "child"),
    [
        (il.ZCDP(1), il.ZCDP(0.5)),
        (il.PureDP(1), il.PureDP(0.5)),
        (il.RenyiDP(4, 1), il.RenyiDP(4, 0.5)),
        (il.RenyiDP(4, 1), il.ZCDP(0.125)),
        (il.TCDP(1, 5), il.TCDP(0.5, 6)),
        (il.ZCDP(1), il.GaussianDP(1)),
        (il.ApproxDP(2, 1e-6), il.ApproxDP(0.5, 1e-8)),
    ],
)
def test_a_child_is_charged_whole(parent: il.PureDP, child: il.PureDP) -> None:
    f = il.Filter(parent)
    f.admit(il.Filter(child).budget)
    assert f.charge(child) != f.charge(type(parent)(*_nothing(parent)))
    assert not f.admits(parent)
    assert f.admits(child)


def _nothing(parent: object) -> tuple[int, ...]:
    match parent:
        case il.RenyiDP():
            return 4, 0
        case il.TCDP():
            return 0, 5
        case il.ApproxDP():
            return 0, 0
        case _:
            return (0,)


def test_gdp_children_fill_their_parent_exactly() -> None:
    f = il.Filter(il.GaussianDP(1))
    for _ in range(4):
        f.admit(il.Filter(il.GaussianDP(Fraction(1, 2))).budget)
    assert f.remaining == il.GaussianDP(0)
    assert not f.admits(il.GaussianDP(Fraction(1, 10**9)))
