"""Adaptive analysts who break optimal composition as a filter, enumerated exactly.

A game is a tree: a node opens a randomised response (with a leak), and chooses the next from
its outcome. Its true delta is the hockey stick over all leaves. Optimal composition, asked
for each realised list alone, accepts every branch; the filters must not let the game pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache

import mpmath
import pytest

from interlace.core.composition import Filter, compose
from interlace.core.errors import BudgetExceeded
from interlace.core.guarantees import ZCDP, ApproxDP, PureDP

with mpmath.workdps(50):
    _LOG = {n: Fraction(str(mpmath.log(n))) for n in (2, 3)}

History = tuple[str, ...]
Strategy = Callable[[History], tuple[Fraction, Fraction] | None]
"""From the outcomes so far to the next (e^epsilon, delta), or None to stop."""
Admits = Callable[[History, tuple[Fraction, Fraction]], bool]


def _outcomes(ratio: Fraction, leak: Fraction) -> Iterator[tuple[str, Fraction, Fraction]]:
    good, bad = (1 - leak) * ratio / (1 + ratio), (1 - leak) / (1 + ratio)
    yield from (("I am 0", leak, Fraction(0)), ("I am 1", Fraction(0), leak))
    yield from (("0", good, bad), ("1", bad, good))


def _leaves(
    strategy: Strategy, admits: Admits, history: History = ()
) -> Iterator[tuple[Fraction, Fraction]]:
    child = strategy(history)
    if child is None or not admits(history, child):
        yield Fraction(1), Fraction(1)
        return
    for name, p, q in _outcomes(*child):
        if p or q:
            for p_rest, q_rest in _leaves(strategy, admits, (*history, name)):
                yield p * p_rest, q * q_rest


def _value(strategy: Strategy, ratio: Fraction, admits: Admits = lambda _h, _c: True) -> Fraction:
    leaves = list(_leaves(strategy, admits))
    sticks = [
        sum((max(p - ratio * q, Fraction(0)) for p, q in pairs), Fraction(0))
        for pairs in (leaves, [(q, p) for p, q in leaves])
    ]
    return max(sticks)


def _lists(strategy: Strategy, history: History = ()) -> Iterator[list[tuple[Fraction, Fraction]]]:
    child = strategy(history)
    if child is None:
        yield []
        return
    for name, p, q in _outcomes(*child):
        if p or q:
            for rest in _lists(strategy, (*history, name)):
                yield [child, *rest]


@cache
def _exp(epsilon: str) -> Fraction:
    with mpmath.workdps(50):
        return Fraction(str(mpmath.exp(mpmath.mpf(epsilon))))


def _trap(history: History) -> tuple[Fraction, Fraction] | None:
    """R3: RR(0.5); on "1" RR(1.5); on "0" RR(1.0), and on its "1" RR(1.0) again."""
    step = {(): "0.5", ("1",): "1.5", ("0",): "1", ("0", "1"): "1"}.get(history)
    return None if step is None else (_exp(step), Fraction(0))


def _small(history: History) -> tuple[Fraction, Fraction] | None:
    """e^eps = 2; on "0" the same again; on "1" a leak of 1/9."""
    two, none = Fraction(2), Fraction(0)
    return {(): (two, none), ("0",): (two, none), ("1",): (Fraction(1), Fraction(1, 9))}.get(
        history
    )


_EPSILON = {_exp(x): Fraction(x) for x in ("0.5", "1", "1.5")} | {
    Fraction(1): Fraction(0), Fraction(2): _LOG[2],
}  # fmt: skip


def _guarantee(child: tuple[Fraction, Fraction]) -> PureDP | ApproxDP:
    ratio, leak = child
    return ApproxDP(_EPSILON[ratio], leak) if leak else PureDP(_EPSILON[ratio])


def test_the_true_values_of_the_games() -> None:
    assert float(_value(_trap, _exp("1"))) == pytest.approx(0.401083, abs=5e-7)
    assert _value(_small, Fraction(3)) == Fraction(4, 27)


@pytest.mark.parametrize(
    ("strategy", "epsilon", "ratio", "delta"),
    [
        (_trap, Fraction(1), _exp("1"), Fraction(338, 1000)),
        (_small, _LOG[3] + Fraction(1, 10**40), Fraction(3), Fraction(1, 9) + Fraction(1, 10**30)),
    ],
)
def test_optimal_composition_would_accept_every_list(
    strategy: Strategy, epsilon: Fraction, ratio: Fraction, delta: Fraction
) -> None:
    for realised in _lists(strategy):
        c = compose([_guarantee(child) for child in realised])
        assert c.delta_enclosure(epsilon).upper <= delta
    assert _value(strategy, ratio) > delta * Fraction(11, 10)


def _behind(make: Callable[[], Filter]) -> Admits:
    """What the filter lets through, replayed along each path: it sees the list so far."""
    admitted: dict[History, list[tuple[Fraction, Fraction]]] = {(): []}

    def admits(history: History, child: tuple[Fraction, Fraction]) -> bool:
        f = make()
        known = admitted[history]
        for earlier in known:
            f.admit(_guarantee(earlier))
        try:
            f.admit(_guarantee(child))
        except BudgetExceeded:
            return False
        for name in ("0", "1", "I am 0", "I am 1"):
            admitted[(*history, name)] = [*known, child]
        return True

    return admits


@pytest.mark.parametrize(
    ("strategy", "epsilon", "ratio", "delta"),
    [
        (_trap, Fraction(1), _exp("1"), Fraction(338, 1000)),
        (_small, _LOG[3], Fraction(3), Fraction(1, 9)),
    ],
)
def test_the_basic_filter_holds_its_budget_in_both_games(
    strategy: Strategy, epsilon: Fraction, ratio: Fraction, delta: Fraction
) -> None:
    guarded = _value(strategy, ratio, _behind(lambda: Filter(ApproxDP(epsilon, delta), "basic")))
    assert guarded <= delta < _value(strategy, ratio)


def test_the_zcdp_filter_holds_its_budget_in_the_trap() -> None:
    # The largest rho whose curve claims no more than (1, 0.338).
    low, high = 0.0, 2.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if ZCDP(middle).delta(1) <= 0.338 else (low, middle)
    value = _value(_trap, _exp("1"), _behind(lambda: Filter(ZCDP(low))))
    assert value <= Fraction(338, 1000)
    assert low > 0.3


@pytest.mark.parametrize("budget", [ApproxDP(1, 0.338), PureDP(1), ZCDP(0.5)])
def test_some_branch_of_the_trap_is_refused(budget: ApproxDP | PureDP | ZCDP) -> None:
    for path in (["0.5", "1.5"], ["0.5", "1", "1"]):
        f, admitted = Filter(budget), []
        for epsilon in path:
            child = PureDP(Fraction(epsilon))
            admitted.append(f.admits(child))
            if admitted[-1]:
                f.admit(child)
        assert not all(admitted)


def test_ten_parallel_draws_of_which_the_first_one_wins() -> None:
    # Rejection sampling: racing RR(0.1) until "1" shows has loss 1, as ten sessions have.
    p, q = 1 / (1 + mpmath.exp("0.1")), 1 / (1 + mpmath.exp("-0.1"))
    loss = abs(10 * mpmath.log((1 - p) / (1 - q)))
    assert loss == pytest.approx(1.0, abs=1e-12)
    f = Filter(PureDP(0.5))
    for _ in range(5):
        f.admit(PureDP(0.1))
    with pytest.raises(BudgetExceeded):
        f.admit(PureDP(0.1))


def test_optimal_points_chosen_afterwards_are_no_filter() -> None:
    # FORMULAS 9: 12 x RR(0.1), then RR(2.560) or (1.8, 0.02) by the outcome. Both pass alone
    # at (3, 0.02); committed points, summed, refuse each.
    first = compose([(PureDP(0.1), 12)])
    second = (PureDP(2.560), ApproxDP(1.8, 0.02))
    for child in second:
        assert compose([first, child]).delta(3) <= 0.0205
        f = Filter(ApproxDP(3, 0.02), "basic")
        f.admit(first, delta=0.01)
        assert not f.admits(child)


def test_the_game_of_optimal_points_exceeds_its_budget() -> None:
    heads = 1 / (1 + mpmath.exp("-0.1"))
    worst = mpmath.mpf(0)
    limit = mpmath.exp(3)
    for k in range(13):
        loss = mpmath.mpf("0.1") * (12 - 2 * k)
        mass = mpmath.binomial(12, k) * heads ** (12 - k) * (1 - heads) ** k
        best = mpmath.mpf(0)
        for e, d in ((mpmath.mpf("2.560"), mpmath.mpf(0)), (mpmath.mpf("1.8"), mpmath.mpf("0.02"))):
            ratio = limit * mpmath.exp(-loss)
            p, q = mpmath.exp(e) / (1 + mpmath.exp(e)), 1 / (1 + mpmath.exp(e))
            stick = d + (1 - d) * (max(p - ratio * q, 0) + max(q - ratio * p, 0))
            best = max(best, stick)
        worst += mass * best
    assert worst == pytest.approx(0.03656, abs=1e-5)  # 2.560 is itself rounded
