"""The verifier's adaptive analysts against reach and residue: none exceeds delta.

Each game is solved to its optimum: what an analyst reaches who picks every mechanism from all
answers so far, as far as the filter admits it. Numbers are exact; only e^E and e^epsilon are
rounded, by less than 1e-38, towards more for the filter.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction

import mpmath
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.composition.value_filters import (
    GaussianChild,
    PureChild,
    Reach,
    Residue,
    Rule,
    State,
)
from interlace.core.exact import Real
from interlace.core.finite.games import AdaptiveGame
from interlace.core.finite.menu import Child as Choice
from tests.core.composition.value_filters.reference import real
from tests.effort import examples

SLACK = 1 + Fraction(1, 10**30)


@dataclass(frozen=True)
class Admitting:
    """A rule and its state, as the verifier wants them."""

    rule: Rule
    state: State

    def admitting(self, guarantee: Hashable, /) -> Admitting | None:
        assert isinstance(guarantee, PureChild | GaussianChild)
        after = self.rule.step(self.state, guarantee)
        return None if after is None else Admitting(self.rule, after)


def _up(x: mpmath.mpf) -> Fraction:
    return Fraction(math.ceil(x * mpmath.mpf(10) ** 40), 10**40)


def _log(ratio: Fraction) -> Fraction:
    with mpmath.workdps(60):
        return _up(mpmath.log(real(ratio)))


def _response(name: str, ratio: Fraction, leak: Fraction, copies: int) -> Choice:
    told = PureChild(_log(ratio), leak)
    return Choice.randomised_response(
        name, exp_epsilon=ratio, delta=leak, guarantee=told, copies=copies
    )


def _gaussian(mu: Fraction, cuts: list[float], copies: int) -> Choice:
    """A Gaussian answer of which the interval between two cuts is told."""
    with mpmath.workdps(60):
        shifts = (mpmath.mpf(0), real(mu))
        below = [
            [Fraction(0), *(_up(mpmath.ncdf(c - s)) for c in cuts), Fraction(1)] for s in shifts
        ]
    cells: dict[Hashable, tuple[Real, Real]] = {
        k: (below[0][k + 1] - below[0][k], below[1][k + 1] - below[1][k])
        for k in range(len(cuts) + 1)
    }
    return Choice.of_laws("gaussian", cells, guarantee=GaussianChild.of(mu), copies=copies)


RATIOS = st.integers(21, 60).map(lambda n: Fraction(n, 20))
CUTS = st.lists(st.floats(-2, 3), min_size=1, max_size=3, unique=True).map(sorted)


@st.composite
def _menus(draw: st.DrawFn, part: Fraction) -> list[Choice]:
    menu = [
        _response(f"response {k}", draw(RATIOS), draw(st.sampled_from([0, 0, 1, 2])) * part / 3, n)
        for k, n in enumerate(draw(st.lists(st.integers(1, 3), min_size=1, max_size=3)))
    ]
    if draw(st.booleans()):
        mu = Fraction(draw(st.integers(1, 12)), 10)
        menu.append(_gaussian(mu, draw(CUTS), draw(st.integers(1, 2))))
    return menu


@settings(max_examples=examples(150), deadline=None)
@given(
    st.data(),
    st.integers(10, 130).map(lambda n: Fraction(n, 10)),
    st.sampled_from([1, 5, 20, 50, 100, 200]).map(lambda n: Fraction(n, 1000)),
    st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(3, 4)]),
    st.booleans(),
)
def test_no_analyst_exceeds_delta(
    data: st.DataObject, ratio: Fraction, delta: Fraction, share: Fraction, residue: bool
) -> None:
    rule: Rule = Reach.of(_log(ratio), delta, share * delta)
    start = rule.start()
    if residue:
        rule = Residue.of(mu_squared=start.w, structural=share * delta)
        start = rule.start()
    menu = data.draw(_menus(share * delta))
    game = AdaptiveGame(menu, Admitting(rule, start), rounds=6)
    assert game.delta(exp_epsilon=ratio) <= delta * SLACK


@settings(max_examples=examples(60), deadline=None)
@given(st.data(), st.integers(2, 15), st.integers(10, 60).map(lambda n: Fraction(n, 10)))
def test_residue_holds_the_whole_curve(data: st.DataObject, w: int, ratio: Fraction) -> None:
    rule = Residue.of(mu_squared=Fraction(w, 10))
    game = AdaptiveGame(data.draw(_menus(Fraction(0))), Admitting(rule, rule.start()), rounds=6)
    with mpmath.workdps(50):
        e, root = mpmath.log(real(ratio)), mpmath.sqrt(mpmath.mpf(w) / 10)
        curve = mpmath.ncdf(root / 2 - e / root) - real(ratio) * mpmath.ncdf(-root / 2 - e / root)
        assert real(game.delta(exp_epsilon=ratio)) <= curve * (1 + mpmath.mpf(10) ** -30)


def test_the_trap_of_optimal_composition_does_not_spring() -> None:
    # FORMULAS 6.4, with a menu that holds the trap: 0.401 at a budget of 0.338.
    with mpmath.workdps(60):
        menu = [
            _response(f"RR({e})", Fraction(mpmath.nstr(mpmath.exp(e), 45)), Fraction(0), n)
            for e, n in ((mpmath.mpf("0.5"), 1), (mpmath.mpf(1), 2), (mpmath.mpf("1.5"), 1))
        ]
        ratio = Fraction(mpmath.nstr(mpmath.exp(1), 45))
    rule = Reach.of(_log(ratio), Fraction(338, 1000))
    reached = AdaptiveGame(menu, Admitting(rule, rule.start())).delta(exp_epsilon=ratio)
    assert Fraction(25, 100) < reached <= Fraction(338, 1000)


def _reached(rule: Rule, ratio: int, menu: list[Choice]) -> Fraction:
    return AdaptiveGame(menu, Admitting(rule, rule.start())).delta(exp_epsilon=ratio)


def test_the_best_analyst_found_reaches_98_percent() -> None:
    # Of 3,000 random menus: the bound has hardly any room.
    delta = Fraction(1, 20)
    menu = [
        _response(f"response {k}", Fraction(n, 10), Fraction(0), copies)
        for k, (n, copies) in enumerate([(31, 2), (14, 2), (22, 2)])
    ]
    rule = Reach.of(_log(Fraction(8)), delta)
    found = AdaptiveGame(menu, Admitting(rule, rule.start())).worst(exp_epsilon=8)
    assert Fraction(98, 100) * delta < found.lower == found.upper <= delta
    # It is shown in docs/filters.md.
    assert str(found.strategy).splitlines() == [
        "response 0",
        "  on 0: response 2",
        "    on 0: response 1",
    ]


def test_a_budget_too_large_would_be_seen() -> None:
    delta, menu = Fraction(1, 20), [_response("response", Fraction(13, 10), Fraction(0), 14)]
    fair, large = (Reach.of(_log(Fraction(4)), delta * n / 2) for n in (2, 3))
    assert _reached(fair, 4, menu) <= delta < _reached(large, 4, menu)
