"""Responses that are certain, where logarithms are exactly 0: divergences of pairs that have some,
beside those that have none."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.finite import FinitePair, interleave
from interlace.core.finite.laws import History
from interlace.verify.random_pairs import Shape, random_pair
from tests.effort import examples

ORDERS = (Fraction(1), Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(9))


def certain(exact: bool, rounds: int = 2) -> FinitePair:
    one = 1 if exact else 1.0
    return FinitePair(lambda *_: {"same": one}, queries=["ask"], rounds=rounds)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("alpha", ORDERS)
def test_where_every_response_is_certain_nothing_is_told(alpha: Fraction, exact: bool) -> None:
    # A part in 2**62 for floats, whose laws might have been off by that much.
    assert 0 <= certain(exact).renyi(alpha) < 1e-12
    assert 0 <= interleave(certain(exact), certain(exact)).renyi(alpha) < 1e-12


@settings(max_examples=examples(25))
@given(st.integers(0, 2**32), st.sampled_from(ORDERS))
def test_divergences_of_random_pairs_with_certain_responses(seed: int, alpha: Fraction) -> None:
    rng = Random(seed)
    pair = random_pair(rng, Shape(2, rng.randint(1, 2), 2), common=True)
    found = pair.renyi(alpha)
    assert found == pytest.approx(float(plain(pair, alpha)), abs=1e-14, rel=1e-14)
    # A certain answer beside it adds nothing.
    both = interleave(pair, certain(exact=True, rounds=1)).renyi(alpha)
    assert both == pytest.approx(found, abs=1e-14, rel=1e-14)


def plain(pair: FinitePair, alpha: Fraction) -> mpmath.mpf:
    """By the chain rule, of both orders of the pair."""
    with mpmath.workdps(40):
        order = mpmath.mpf(alpha.numerator) / alpha.denominator - 1
        return max(_after(pair, order, bit, ()) for bit in (0, 1))


def _after(pair: FinitePair, order: mpmath.mpf, bit: int, history: History) -> mpmath.mpf:
    if len(history) == pair.rounds:
        return mpmath.mpf(0)
    found = []
    for query in pair.queries:
        here, there = pair.law(bit, history, query), pair.law(1 - bit, history, query)
        total = mpmath.mpf(0)
        for response, p in here.items():
            own, ratio = Fraction(p), Fraction(p) / Fraction(there[response])
            weight = mpmath.mpf(own.numerator) / own.denominator
            loss = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
            loss += _after(pair, order, bit, (*history, (query, response)))
            total += weight * (mpmath.exp(order * loss) if order else loss)
        found.append(mpmath.log(total) / order if order else total)
    return max(found)
