"""Theorem 3 made explicit: every certificate checks, every refusal is an attack that proves it."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import ParameterError
from interlace.core.finite import interleave
from interlace.core.finite import levels as listing
from interlace.core.finite.certificate import Certificate, Joint, certify
from interlace.core.finite.counterexample import Counterexample
from interlace.core.finite.laws import History
from interlace.core.finite.pair import FinitePair
from tests.core.finite.random_pairs import (
    certificate,
    counterexample,
    least_delta,
    random_pair,
    randomised_response,
    sparse_vector,
)
from tests.effort import examples

RATIOS = [Fraction(1), Fraction(4, 3), Fraction(2), Fraction(7)]
seeds = st.integers(0, 2**32)


@given(seeds, st.sampled_from(RATIOS), st.sampled_from(["least", "above it", "1"]))
@settings(max_examples=examples(120))
def test_there_is_a_certificate_from_the_least_delta_on(
    seed: int, ratio: Fraction, which: str
) -> None:
    pair = random_pair(seed)
    least = least_delta(pair, ratio)
    delta = {"least": least, "above it": (1 + 2 * least) / 3, "1": Fraction(1)}[which]
    checked = certificate(pair, ratio, delta).check(pair)
    assert (checked.kind, checked.delta, checked.system) == ("certificate", delta, True)


@given(seeds, st.sampled_from(RATIOS), st.sampled_from([Fraction(1, 10**20), Fraction(1, 2), 1]))
@settings(max_examples=examples(120))
def test_below_the_least_delta_there_is_an_attack(
    seed: int, ratio: Fraction, missing: Fraction
) -> None:
    pair = random_pair(seed)
    least = least_delta(pair, ratio)
    if not least:
        assert certificate(pair, ratio, 0).check(pair).delta == 0
        return
    delta = least * (1 - missing)
    attack = counterexample(pair, ratio, delta)
    assert attack.check(pair).kind == "counterexample"
    assert attack.excess == least
    assert attack.p > ratio * attack.q + delta
    assert probabilities(attack, pair) == (attack.p, attack.q)


def probabilities(attack: Counterexample, pair: FinitePair) -> tuple[Fraction, ...]:
    """Play the adversary against the pair's own laws."""
    totals = [Fraction(0), Fraction(0)]
    stack: list[tuple[Any, History, Fraction, Fraction]] = [
        (attack.strategy, (), Fraction(1), Fraction(1))
    ]
    while stack:
        question, history, *weights = stack.pop()
        for y, seen in question.answers.items():
            after = [
                w * Fraction(pair.law(b, history, question.query).get(y, 0)) if w else w
                for b, w in enumerate(weights)
            ]
            if seen.then is not None:
                stack.append((seen.then, (*history, (question.query, y)), after[0], after[1]))
            elif seen.event:
                totals = [totals[b] + after[b] for b in (0, 1)]
    return totals[attack.bit], totals[1 - attack.bit]


def test_pairs_without_a_difference_and_pairs_that_tell() -> None:
    same = FinitePair(
        lambda *_: {0: Fraction(1, 3), 1: Fraction(2, 3)}, queries=["a", "b"], rounds=2
    )
    telling = FinitePair(lambda bit, *_: {bit: 1}, queries=["a"], rounds=2)
    for ratio in RATIOS:
        assert certificate(same, ratio, 0).check(same).system
        assert certificate(telling, ratio, 1).check(telling).system
        attack = counterexample(telling, ratio, Fraction(999, 1000))
        assert (attack.p, attack.q) == (Fraction(1), Fraction(0))
        # It is known after the first answer: the adversary stops there.
        assert str(attack).splitlines() == ["ask 'a'", "  0: say 0", "  1: say 1"]


@pytest.mark.parametrize(
    ("rounds", "deltas"), [(1, "1/2 1/4 0 0"), (2, "1/2 7/16 3/8 0"), (3, "11/16 17/32 3/8 9/32")]
)
def test_golden_randomised_response(rounds: int, deltas: str) -> None:
    # FORMULAS 10: e^eps0 = 3, exact delta at e^eps = 1, 2, 3, 9.
    pair = randomised_response(Fraction(3), rounds)
    for ratio, text in zip((1, 2, 3, 9), deltas.split(), strict=True):
        delta = Fraction(text)
        assert certificate(pair, ratio, delta).check(pair).transcripts > 2
        if delta:
            assert counterexample(pair, ratio, delta - Fraction(1, 10**9)).excess == delta


@pytest.mark.parametrize(
    ("rounds", "ratio", "text"),
    [
        (1, 1, "4/27"), (1, 2, "0"), (2, 1, "4/27"), (2, 2, "4/63"), (2, 4, "0"),
        (3, 1, "298/1701"), (3, 2, "188/2835"), (3, 4, "172/8505"),
    ],
)  # fmt: skip
def test_golden_sparse_vector(rounds: int, ratio: int, text: str) -> None:
    # FORMULAS 10: exact sparse vector, geometric noise of ratio 1/2, one pass.
    pair, delta = sparse_vector(rounds), Fraction(text)
    assert certificate(pair, ratio, delta).check(pair).delta == delta
    if delta:
        attack = counterexample(pair, ratio, delta - Fraction(1, 10**9))
        assert attack.check(pair).kind == "counterexample"
        assert attack.excess == delta


@pytest.mark.parametrize(("ratio", "text"), [(1, "424/1701"), (2, "424/3969")])
def test_golden_two_sparse_vectors_at_once(ratio: int, text: str) -> None:
    # FORMULAS 10: the best adversary that interleaves questions to both.
    one, delta = sparse_vector(2), Fraction(text)
    crossing = FinitePair(one.law, queries=[(0, 1), (1, 0)], rounds=2)
    both = interleave(crossing, crossing)
    assert certify(both, exp_epsilon=ratio, delta=delta).check(both).kind == "certificate"
    attack = certify(both, exp_epsilon=ratio, delta=delta - Fraction(1, 10**9))
    assert isinstance(attack, Counterexample)
    assert attack.check(both).system
    assert attack.excess == delta


def test_epsilon_is_taken_at_a_power_that_is_rounded_up() -> None:
    pair = randomised_response(Fraction(3), 1)
    found = certify(pair, epsilon=1.0986122886681098, delta=0)  # log 3, rounded up
    assert isinstance(found, Certificate)
    assert 3 < found.exp_epsilon < Fraction(3) + Fraction(1, 10**14)
    assert found.check(pair).exp_epsilon == found.exp_epsilon
    assert found.epsilon >= 1.0986122886681098
    below = certify(pair, epsilon=1.0986122886681096, delta=0)
    assert isinstance(below, Counterexample)
    assert below.check(pair).kind == "counterexample"
    assert certificate(pair, 1, Fraction(1, 2)).epsilon == 0


def test_float_laws_are_read_at_their_exact_values() -> None:
    pair = FinitePair(lambda bit, *_: {bit: 0.7, 1 - bit: 0.3}, queries=["a"], rounds=2)
    found = certify(pair, exp_epsilon=2.4, delta=0.28)
    assert found.check(pair).kind == "certificate"


def test_what_is_too_large_is_said_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = FinitePair(
        lambda *_: {i: Fraction(1, 8) for i in range(8)}, queries=list(range(8)), rounds=30
    )
    with pytest.raises(ParameterError, match=r"^rounds: there are about 1\.5e\+54 transcripts"):
        certify(wide, exp_epsilon=2, delta=0)
    long = FinitePair(lambda *_: {0: Fraction(1)}, queries=[0], rounds=101)
    with pytest.raises(ParameterError, match=r"^rounds: must be at most 100"):
        certify(long, exp_epsilon=2, delta=0)
    # One that widens only at the end is found while it is listed.
    late = FinitePair(
        lambda _b, history, _q: (
            {i: Fraction(1, 70) for i in range(70)} if len(history) > 1 else {0: Fraction(1)}
        ),
        queries=[0],
        rounds=4,
    )
    monkeypatch.setattr(listing, "MOST_TRANSCRIPTS", 3000)
    with pytest.raises(ParameterError, match=r"^rounds: there are more than 3000 "):
        certify(late, exp_epsilon=2, delta=0)
    # As deep as is allowed, down to the text and back.
    deep = FinitePair(lambda *_: {0: Fraction(1)}, queries=[0], rounds=100)
    assert certify(deep, exp_epsilon=2, delta=0).check(deep).transcripts == 101


def test_bad_arguments_are_refused() -> None:
    pair = randomised_response(Fraction(3), 1)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"delta": 0}, "epsilon"),
        ({"epsilon": 1, "exp_epsilon": 2, "delta": 0}, "epsilon"),
        ({"exp_epsilon": 0.5, "delta": 0}, "exp_epsilon"),
        ({"epsilon": -1, "delta": 0}, "epsilon"),
        ({"epsilon": 1, "delta": 1.5}, "delta"),
        ({"epsilon": 1, "delta": float("nan")}, "delta"),
    ]
    for arguments, named in cases:
        with pytest.raises(ParameterError, match=rf"^{named}"):
            certify(pair, **arguments)
    found = certificate(pair, 3, 0)
    with pytest.raises(ParameterError, match=r"^history"):
        found.at((("ask", 7),))


def walk(node: Joint) -> Iterator[Joint]:
    yield node
    for answers in node.then.values():
        for child in answers.values():
            yield from walk(child)


@given(seeds, st.sampled_from(RATIOS))
@settings(max_examples=examples(50))
def test_n_is_pure_epsilon_indistinguishable_and_m_holds_its_parts(
    seed: int, ratio: Fraction
) -> None:
    pair = random_pair(seed)
    delta = (least_delta(pair, ratio) + 1) / 2
    for node in walk(certificate(pair, ratio, delta).root):
        for b in (0, 1):
            # Lemma 1 of Lyu (FORMULAS 3.4), at every prefix.
            rest = node.m[b] - delta * node.e[b]
            other = node.m[1 - b] - delta * node.e[1 - b]
            assert 0 <= rest <= ratio * other
