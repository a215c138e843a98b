"""Adaptive games: the known counterexamples, an independent enumeration, every shipped filter."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.composition import Filter, compose
from interlace.core.errors import BudgetExceeded, ParameterError
from interlace.core.finite.game_values import Choice
from interlace.core.finite.games import AdaptiveGame
from interlace.core.finite.menu import Child
from interlace.core.guarantees import ZCDP, ApproxDP, Notion, PureDP
from tests.effort import examples

LOG2, LOG3 = Fraction(str(mpmath.mp.log(2))), Fraction(str(mpmath.mp.log(3)))


@dataclass(frozen=True)
class Shipped:
    """A summing filter of the library as a rule of the game: rebuilt from what it has spent."""

    budget: Notion
    spent: Notion | None = None

    def admitting(self, guarantee: Hashable) -> Shipped | None:
        assert isinstance(guarantee, PureDP | ApproxDP | ZCDP)
        rule = "zcdp" if isinstance(self.budget, ZCDP) else "basic"
        f = Filter(self.budget, rule, spent=self.spent)
        try:
            f.admit(guarantee)
        except BudgetExceeded:
            return None
        return Shipped(self.budget, f.spent)


@dataclass(frozen=True)
class Optimal:
    """The unsound rule: a list passes when its optimal composition does."""

    epsilon: Fraction
    delta: Fraction
    admitted: tuple[Notion, ...] = ()

    def admitting(self, guarantee: Hashable) -> Optimal | None:
        assert isinstance(guarantee, PureDP | ApproxDP)
        after = tuple(sorted((*self.admitted, guarantee), key=repr))
        if compose(after).delta_enclosure(self.epsilon).upper > self.delta:
            return None
        return Optimal(self.epsilon, self.delta, after)


@dataclass(frozen=True)
class Everything:
    def admitting(self, guarantee: Hashable) -> Everything:
        del guarantee
        return self


def rr(epsilon: str, copies: int = 1) -> Child:
    exact = Fraction(epsilon)
    return Child.randomised_response(
        f"RR({epsilon})", epsilon=exact, guarantee=PureDP(exact), copies=copies
    )


def leaves(
    strategy: Choice | None, menu: list[Child], p: Fraction, q: Fraction
) -> Iterator[tuple[Fraction, Fraction]]:
    """The transcripts of one strategy, from the laws alone."""
    if strategy is None:
        yield p, q
        return
    [child] = [c for c in menu if c.name == strategy.child]
    for outcome in child.outcomes:
        a, b = outcome.p
        assert isinstance(a, Fraction)
        assert isinstance(b, Fraction)
        yield from leaves(strategy.after(outcome.name), menu, p * a, q * b)


def stick(strategy: Choice | None, menu: list[Child], ratio: Fraction, bit: int) -> Fraction:
    pairs = list(leaves(strategy, menu, Fraction(1), Fraction(1)))
    ordered = [(q, p) if bit else (p, q) for p, q in pairs]
    return sum((max(p - ratio * q, Fraction(0)) for p, q in ordered), Fraction(0))


TRAP = [rr("0.5"), rr("1.5"), rr("1", 2)]
TRAP_RULE = Optimal(Fraction(1), Fraction(338, 1000))


def test_optimal_composition_is_caught_as_no_filter_by_the_adaptive_trap() -> None:
    # FORMULAS 10: 0.401083, of lists that reach 0.337835 each.
    found = AdaptiveGame(TRAP, TRAP_RULE).worst(epsilon=1)
    assert float(found.lower) == pytest.approx(0.401083, abs=5e-7)
    assert found.upper - found.lower < Fraction(1, 10**50)
    assert found.lower > TRAP_RULE.delta * Fraction(118, 100)
    assert str(found.strategy).splitlines() == [
        "RR(0.5)", "  on 0: RR(1.5)", "  on 1: RR(1)", "    on 0: RR(1)",
    ]  # fmt: skip


def test_the_natural_filter_is_caught_in_exact_numbers() -> None:
    # FORMULAS 11: target e^epsilon = 3, delta = 1/9; the adaptive analyst gets 4/27.
    leak = ApproxDP(0, Fraction(1, 9))
    menu = [
        Child.randomised_response("RR", exp_epsilon=2, guarantee=PureDP(LOG2), copies=2),
        Child.randomised_response("leak", exp_epsilon=1, delta=Fraction(1, 9), guarantee=leak),
    ]
    rule = Optimal(LOG3, Fraction(1, 9) + Fraction(1, 10**12))
    found = AdaptiveGame(menu, rule).worst(exp_epsilon=3)
    assert found.lower == found.upper == Fraction(4, 27)
    assert str(found.strategy).splitlines() == ["RR", "  on 0: RR", "  on 1: leak"]
    # The two children of either branch alone reach 1/9.
    for children in ((0, 0), (0, 1)):
        pair = [Child(f"{i}", menu[c].outcomes, None) for i, c in enumerate(children)]
        assert AdaptiveGame(pair, Everything()).delta(exp_epsilon=3) == Fraction(1, 9)


def test_the_two_options_after_a_first_answer() -> None:
    # FORMULAS 6.4: .24500 where either option alone has .2 at epsilon 1.
    menu = [rr("0.3"), rr("1.28744"), rr("0.77759", 2)]
    found = AdaptiveGame(menu, Optimal(Fraction(1), Fraction("0.20001"))).worst(epsilon=1)
    assert float(found.lower) == pytest.approx(0.245, abs=5e-6)


@pytest.mark.parametrize(
    ("copies", "deltas"),
    [(1, "1/2 1/4 0 0"), (2, "1/2 7/16 3/8 0"), (3, "11/16 17/32 3/8 9/32")],
)
def test_randomised_response_fixed_in_advance(copies: int, deltas: str) -> None:
    menu = [Child.randomised_response("RR", exp_epsilon=3, guarantee=None, copies=copies)]
    game = AdaptiveGame(menu, Everything())
    assert [game.delta(exp_epsilon=x) for x in (1, 2, 3, 9)] == [
        Fraction(d) for d in deltas.split()
    ]
    leaky = [
        Child.randomised_response(
            "RR", exp_epsilon=3, delta=Fraction(1, 100), guarantee=None, copies=2
        )
    ]
    assert AdaptiveGame(leaky, Everything()).delta(exp_epsilon=3) == Fraction(6199, 16000)


def test_moments_of_randomised_response_multiply() -> None:
    # FORMULAS 10: D_2 of RR(log 3) is 0.8472978603872036, of two copies twice that.
    menu = [Child.randomised_response("RR", exp_epsilon=3, guarantee=None, copies=2)]
    moment = AdaptiveGame(menu, Everything()).renyi_moment(2)
    assert math.log(moment) / 2 == pytest.approx(0.8472978603872036, abs=1e-15)
    enclosed = AdaptiveGame([rr("1", 2)], Everything()).renyi_moment(4)
    assert math.log(enclosed) / 3 == pytest.approx(2 * PureDP(1).renyi(4), abs=1e-14)


fractions = st.fractions(Fraction(1, 20), 1, max_denominator=20)


@st.composite
def laws(draw: st.DrawFn) -> dict[Hashable, tuple[Fraction, Fraction]]:
    """A pair of laws on two or three outcomes, zeros among them."""
    size = draw(st.integers(2, 3))
    weights = st.lists(st.integers(0, 5), min_size=size, max_size=size).filter(any)
    p, q = draw(weights), draw(weights)
    return {i: (Fraction(p[i], sum(p)), Fraction(q[i], sum(q))) for i in range(size)}


def _every_strategy(menu: list[Child], rounds: int) -> Iterator[Choice | None]:
    yield None
    if not rounds:
        return
    for i, child in enumerate(menu):
        rest = menu[:i] + menu[i + 1 :]
        below = list(_every_strategy(rest, rounds - 1))
        stack: list[tuple[tuple[Hashable, Choice], ...]] = [()]
        for outcome in child.outcomes:
            stack = [
                before if after is None else (*before, (outcome.name, after))
                for before in stack
                for after in below
            ]
        yield from (Choice(child.name, then) for then in stack)


@given(st.lists(laws(), min_size=2, max_size=2), fractions)
@settings(max_examples=examples(40))
def test_no_strategy_of_all_is_better_and_the_found_one_is_that_good(
    pairs: list[dict[Hashable, tuple[Fraction, Fraction]]], inverse: Fraction
) -> None:
    menu = [Child.of_laws(f"{i}", pair, guarantee=None) for i, pair in enumerate(pairs)]
    ratio = 1 / inverse
    found = AdaptiveGame(menu, Everything()).worst(exp_epsilon=ratio)
    assert found.lower == found.upper == stick(found.strategy, menu, ratio, found.bit)
    best = max(stick(s, menu, ratio, b) for s in _every_strategy(menu, 2) for b in (0, 1))
    assert found.upper == best


@given(
    st.lists(st.sampled_from([Fraction(n, 10) for n in (2, 5, 9, 14)]), min_size=1, max_size=3),
    st.sampled_from([Fraction(0), Fraction(1, 9)]),
    st.sampled_from([Fraction(0), Fraction(7, 10), Fraction(2)]),
)
@settings(max_examples=examples(25))
def test_enclosures_hold_what_rational_powers_of_fifty_digits_give(
    epsilons: list[Fraction], delta: Fraction, epsilon: Fraction
) -> None:
    def power(value: Fraction) -> Fraction:
        with mpmath.workdps(60):
            return Fraction(str(mpmath.exp(mpmath.mpf(value.numerator) / value.denominator)))

    enclosed, near = [], []
    for i, value in enumerate(epsilons):
        told: dict[str, Any] = {"guarantee": None, "delta": delta, "copies": 2}
        enclosed.append(Child.randomised_response(f"{i}", epsilon=value, **told))
        near.append(Child.randomised_response(f"{i}", exp_epsilon=power(value), **told))
    found = AdaptiveGame(enclosed, Everything(), rounds=3).worst(epsilon=epsilon)
    exact = AdaptiveGame(near, Everything(), rounds=3).worst(exp_epsilon=power(epsilon))
    assert exact.lower == exact.upper
    assert found.lower - Fraction(1, 10**50) <= exact.upper <= found.upper + Fraction(1, 10**50)
    assert found.upper - found.lower < Fraction(1, 10**50)
    # The strategies are as good as each other.
    assert stick(exact.strategy, near, power(epsilon), exact.bit) == exact.upper
    assert abs(stick(found.strategy, near, power(epsilon), found.bit) - exact.upper) < Fraction(
        1, 10**50
    )


def _true_delta(pair: dict[Hashable, tuple[Fraction, Fraction]], ratio: Fraction) -> Fraction:
    sides = [sum(max(x[b] - ratio * x[1 - b], Fraction(0)) for x in pair.values()) for b in (0, 1)]
    return Fraction(max(sides))


@st.composite
def approximate_children(draw: st.DrawFn, i: int) -> Child:
    """A mechanism and a true (epsilon, delta) of it, as a filter is told."""
    kind = draw(st.sampled_from(["response", "laws"]))
    copies = draw(st.integers(1, 2))
    if kind == "laws":
        pair = draw(laws())
        ratio = draw(st.sampled_from([Fraction(1), Fraction(2), Fraction(3)]))
        epsilon = {1: Fraction(0), 2: LOG2, 3: LOG3}[int(ratio)] + Fraction(1, 10**12)
        told = ApproxDP(epsilon if ratio > 1 else 0, _true_delta(pair, ratio))
        return Child.of_laws(f"{i}", pair, guarantee=told, copies=copies)
    epsilon = draw(st.sampled_from([Fraction(n, 10) for n in (1, 2, 3, 5, 8, 13)]))
    delta = draw(st.sampled_from([Fraction(0), Fraction(1, 100), Fraction(1, 9)]))
    return Child.randomised_response(
        f"{i}", epsilon=epsilon, delta=delta, guarantee=ApproxDP(epsilon, delta), copies=copies
    )


menus = st.integers(1, 3).flatmap(
    lambda n: st.tuples(*(approximate_children(i) for i in range(n)))
)  # fmt: skip


@given(
    menus,
    st.sampled_from([Fraction(n, 10) for n in (0, 5, 10, 20)]),
    st.sampled_from([Fraction(n, 20) for n in (0, 2, 6, 12)]),
)
@settings(max_examples=examples(60))
def test_the_basic_filter_keeps_its_promise_on_random_menus(
    menu: tuple[Child, ...], epsilon: Fraction, delta: Fraction
) -> None:
    budget = ApproxDP(epsilon, delta)
    found = AdaptiveGame(menu, Shipped(budget), rounds=4).worst(epsilon=epsilon)
    assert found.lower <= delta
    assert found.upper <= delta + Fraction(1, 10**50)


@st.composite
def concentrated_children(draw: st.DrawFn, i: int) -> Child:
    """Randomised response, or a choice of bounded range eta, which is eta²/8-zCDP (FORMULAS 8.5)."""
    copies = draw(st.integers(1, 2))
    epsilon = draw(st.sampled_from([Fraction(n, 10) for n in (2, 3, 5, 8, 13)]))
    if draw(st.booleans()):
        told: Notion = PureDP(epsilon)
        return Child.randomised_response(f"{i}", epsilon=epsilon, guarantee=told, copies=copies)
    pair = draw(laws().filter(lambda pair: all(p and q for p, q in pair.values())))
    ratios = [p / q for p, q in pair.values()]
    eta = Fraction(math.log(max(ratios) / min(ratios)) + 1e-9)
    return Child.of_laws(f"{i}", pair, guarantee=ZCDP(eta**2 / 8), copies=copies)


@given(
    st.integers(1, 3).flatmap(lambda n: st.tuples(*(concentrated_children(i) for i in range(n)))),
    st.sampled_from([Fraction(n, 20) for n in (1, 2, 5, 10, 20)]),
)
@settings(max_examples=examples(40))
def test_the_zcdp_filter_keeps_its_promise_on_random_menus(
    menu: tuple[Child, ...], rho: Fraction
) -> None:
    game = AdaptiveGame(menu, Shipped(ZCDP(rho)), rounds=4)
    for alpha in (2, 5):
        with mpmath.workdps(40):
            promised = mpmath.exp((alpha - 1) * alpha * mpmath.mpf(str(float(rho))))
        assert game.renyi_moment(alpha) <= Fraction(str(promised)) + Fraction(1, 10**30)
    for epsilon in (Fraction(1, 2), Fraction(2)):
        assert game.worst(epsilon=epsilon).lower <= Fraction(ZCDP(rho).delta(epsilon))


def test_the_pure_filter_admits_no_more_than_its_sum() -> None:
    game = AdaptiveGame([rr("0.25", 8)], Shipped(PureDP(1)))
    assert game.delta(epsilon=1) < Fraction(1, 10**50)
    # All four that fit are opened where they help.
    four = AdaptiveGame([rr("0.25", 4)], Everything())
    assert abs(game.delta(epsilon=0.5) - four.delta(epsilon=0.5)) < Fraction(1, 10**50)
    assert game.delta(epsilon=0.5) > 0


def test_the_shipped_filter_holds_where_optimal_composition_does_not() -> None:
    game = AdaptiveGame(TRAP, Shipped(ApproxDP(1, Fraction(338, 1000))))
    assert 0 < game.delta(epsilon=1) <= Fraction(338, 1000)


@pytest.mark.parametrize(
    ("first", "option"), [("0.3", "1.3"), ("0.4", "1.2"), ("0.5", "1.5"), ("0.6", "1.1")]
)
def test_two_options_that_both_just_pass_break_optimal_composition(first: str, option: str) -> None:
    def delta_of(*epsilons: Fraction) -> Fraction:
        parts = [PureDP(Fraction(first)), *map(PureDP, epsilons)]
        return Fraction(compose(parts).delta_enclosure(Fraction(1)).upper)

    delta = delta_of(Fraction(option))
    low, high = 0, 2000  # the largest pair of equals that passes beside the option
    while high - low > 1:
        middle = (low + high) // 2
        fits = delta_of(Fraction(middle, 1000), Fraction(middle, 1000)) <= delta
        low, high = (middle, high) if fits else (low, middle)
    menu = [rr(first), rr(option), rr(str(low / 1000), 2)]
    unsound = AdaptiveGame(menu, Optimal(Fraction(1), delta)).worst(epsilon=1)
    assert unsound.lower > delta * Fraction(105, 100)
    assert AdaptiveGame(menu, Shipped(ApproxDP(1, delta))).delta(epsilon=1) <= delta


def test_a_cap_on_rounds_and_many_copies() -> None:
    menu = [rr("0.1", 100)]
    game = AdaptiveGame(menu, Everything(), rounds=40)
    # Fixed in advance, 40 copies: optimal composition (Theorem 1) is what the best analyst gets.
    expected = compose([(PureDP(Fraction("0.1")), 40)]).delta_enclosure(Fraction(1))
    found = game.worst(epsilon=1)
    assert found.lower <= Fraction(expected.upper)
    assert Fraction(expected.lower) <= found.upper


def test_bad_games_are_refused() -> None:
    one = rr("1")
    for menu, rounds, named in [
        ([], None, "menu"),
        ([one, one], None, "menu"),
        ([one], 0, "rounds"),
        ([rr("1", 200), rr("2", 200)], None, "rounds"),
    ]:
        with pytest.raises(ParameterError, match=rf"^{named}"):
            AdaptiveGame(menu, Everything(), rounds)
    with pytest.raises(ParameterError, match=r"^rule: .*wrap"):
        # It answers None to what it admits: taken for a rule, it would refuse everything.
        AdaptiveGame([one], Filter(PureDP(1)))  # type: ignore[arg-type]  # what is tested
    game = AdaptiveGame([one], Everything())
    for bad in ({}, {"epsilon": 1, "exp_epsilon": 3}, {"epsilon": -1}, {"exp_epsilon": 0.5}):
        with pytest.raises(ParameterError, match="epsilon"):
            game.delta(**bad)
    with pytest.raises(ParameterError, match=r"^alpha"):
        game.renyi_moment(1)
    leaky = Child.randomised_response("x", exp_epsilon=1, delta=0.1, guarantee=None)
    with pytest.raises(ParameterError, match=r"^alpha.*infinite"):
        AdaptiveGame([leaky], Everything()).renyi_moment(2)
    with pytest.raises(ParameterError, match=r"^laws: .*sum"):
        Child.of_laws("x", {0: (0.5, 1)}, guarantee=None)
    with pytest.raises(ParameterError, match=r"^laws\['a'\]"):
        Child.of_laws("x", {"a": (-1, 1)}, guarantee=None)
    with pytest.raises(ParameterError, match=r"^copies"):
        rr("1", 0)


def test_a_long_strategy_is_cut_when_printed() -> None:
    strategy = Choice("x")
    for _ in range(300):
        strategy = Choice("x", (("on", strategy),))
    lines = str(strategy).splitlines()
    assert len(lines) == 201
    assert lines[-1] == "…"
