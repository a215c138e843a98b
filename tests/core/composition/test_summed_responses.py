"""Known losses that are randomised responses are summed exactly, as such."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import product

import pytest

from interlace.core.composition import compose
from interlace.core.guarantees import ApproxDP, Guarantee, PureDP
from interlace.core.guarantees.losses import DiscreteLaplace, Pair, PrivacyLoss, RandomisedResponse

_THIRD = Fraction(1, 3)


def _exact_delta(odds: list[Fraction], ratio: Fraction) -> Fraction:
    """The sum over all outcomes of max(P - ratio Q, 0), where one answer is odds times as likely."""
    total = Fraction(0)
    for signs in product((True, False), repeat=len(odds)):
        p = q = Fraction(1)
        for right, x in zip(signs, odds, strict=True):
            p *= (x if right else 1) / (1 + x)
            q *= (1 if right else x) / (1 + x)
        total += max(p - ratio * q, Fraction(0))
    return total


def _pair(odds: Fraction) -> Pair:
    right = odds / (1 + odds)
    return Pair([right, 1 - right], [1 - right, right])


@pytest.mark.parametrize(
    "odds",
    [
        [Fraction(2)] * 6,
        [Fraction(2), Fraction(3), Fraction(3), Fraction(11, 10)],
        [1 + Fraction(1, 10**30), Fraction(5, 4), Fraction(10**20)],
    ],
)
def test_pairs_of_two_answers_are_summed_to_many_digits(odds: list[Fraction]) -> None:
    c = compose([_pair(x) for x in odds])
    found = c.delta_enclosure(Fraction(0))
    assert found.contains(_exact_delta(odds, Fraction(1)))
    assert found.upper - found.lower < Decimal("1e-50")
    assert "exact" in c.explain(1e-3)
    # epsilon at this delta is log(ratio): delta just above it is less, just below it more.
    share = _exact_delta(odds, Fraction(6, 5))
    reached = c.epsilon_enclosure(share)
    assert reached.upper - reached.lower < Decimal("1e-20")
    assert _exact_delta(odds, Fraction(reached.exp().upper)) <= share
    assert _exact_delta(odds, Fraction(reached.exp().lower)) >= share


@pytest.mark.parametrize(
    ("loss", "pure"),
    [
        (DiscreteLaplace(2.5), PureDP(0.4)),
        (DiscreteLaplace(3), PureDP(_THIRD)),
        (RandomisedResponse(_THIRD), PureDP(_THIRD)),
    ],
)
def test_exact_responses_are_pure_guarantees(loss: PrivacyLoss, pure: PureDP) -> None:
    others: list[Guarantee] = [PureDP(0.4), ApproxDP(0.1, 1e-9)]
    known, same = compose([(loss, 20), *others]), compose([(pure, 20), *others])
    assert known.epsilon_interval(1e-6) == same.epsilon_interval(1e-6)
    assert known.delta_interval(1) == same.delta_interval(1)
    assert known.explain(1e-6) == same.explain(1e-6)


def test_other_losses_are_no_responses() -> None:
    lopsided = Pair([Fraction(1, 4), Fraction(3, 4)], [Fraction(1, 2), Fraction(1, 2)])
    leaky = Pair([1, 0], [0, 1])
    for loss in (DiscreteLaplace(2, 2), RandomisedResponse(1, 3), lopsided, leaky):
        assert loss.response is None
    for plan in (compose([leaky]), compose([leaky, PureDP(0.5)]), compose([(leaky, 3), lopsided])):
        assert plan.delta(5) == 1
        assert plan.profile([0, 1]) == [1, 1]
        assert plan.epsilon(0.5) == math.inf
    assert compose([Pair([1], [1]), PureDP(0.5)]).epsilon(0) == 0.5


def test_parts_that_floats_do_not_tell_apart_are_ordered_exactly() -> None:
    tiny = Fraction(1, 10**40)
    epsilons = [_THIRD + tiny, _THIRD - tiny, _THIRD, Fraction(10**400), Fraction(10**400) + 1]
    c = compose([PureDP(e) for e in epsilons])
    assert [g.epsilon0 for g, _ in c.parts if isinstance(g, PureDP)] == sorted(epsilons)
    assert compose([PureDP(e) for e in epsilons[::-1]]) == c
