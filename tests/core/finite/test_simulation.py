"""Theorem 3 played: the post-processing of a label has exactly the mechanism's law."""

from __future__ import annotations

import inspect
import math
import random
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import ParameterError, SessionHalted
from interlace.core.finite.certificate import Certificate, certify
from interlace.core.finite.laws import History
from interlace.core.finite.pair import FinitePair
from interlace.core.finite.simulate import LABELS, Simulation, drawn, label_law, simulate
from tests.core.finite.random_pairs import least_delta, random_pair, sparse_vector
from tests.effort import examples


def certified(pair: FinitePair, ratio: Fraction, delta: Fraction) -> Certificate:
    found = certify(pair, exp_epsilon=ratio, delta=delta)
    assert isinstance(found, Certificate)
    return found


def transcripts(pair: FinitePair, bit: int) -> Iterator[tuple[History, Fraction]]:
    """Every whole transcript and its joint function, from the pair's own laws."""
    stack: list[tuple[History, Fraction]] = [((), Fraction(1))]
    while stack:
        history, weight = stack.pop()
        if len(history) == pair.rounds:
            yield history, weight
            continue
        for query in pair.queries:
            for y, p in pair.law(bit, history, query).items():
                stack.append(((*history, (query, y)), weight * Fraction(p)))


def branch_of(certificate: Certificate, label: str, history: History) -> Fraction:
    """P(the answers of ``history`` | its questions, the label), one conditional after another."""
    simulation = Simulation(certificate, label, random.Random(0))
    product = Fraction(1)
    for t, (query, y) in enumerate(history):
        product *= simulation.law(history[:t], query).get(y, Fraction(0))
        if not product:
            return product
    return product


@given(
    st.integers(0, 2**32),
    st.sampled_from([Fraction(1), Fraction(2), Fraction(5)]),
    st.sampled_from(["least", "above it", "1"]),
)
@settings(max_examples=examples(60))
def test_the_simulation_has_exactly_the_law_of_the_mechanism(
    seed: int, ratio: Fraction, which: str
) -> None:
    pair = random_pair(seed)
    least = least_delta(pair, ratio)
    delta = {"least": least, "above it": (1 + least) / 2, "1": Fraction(1)}[which]
    certificate = certified(pair, ratio, delta)
    for bit in (0, 1):
        labels = label_law(ratio, delta, bit)
        assert sum(labels.values()) == 1
        for history, weight in transcripts(pair, bit):
            mixed = sum(
                (p * branch_of(certificate, x, history) for x, p in labels.items() if p),
                Fraction(0),
            )
            assert mixed == weight


def test_each_branch_is_a_system_whatever_was_said_before() -> None:
    pair = sparse_vector(2)
    certificate = certified(pair, Fraction(2), Fraction(4, 63))
    for label in LABELS:
        simulation = Simulation(certificate, label, random.Random(0))
        stack: list[History] = [()]
        while stack:
            history = stack.pop()
            for query in pair.queries:
                law = simulation.law(history, query)
                assert sum(law.values()) == 1
                if len(history) + 1 < pair.rounds:
                    stack += [(*history, (query, y)) for y in law]


def test_the_label_is_approximate_randomised_response() -> None:
    # FORMULAS 2.1.
    law = label_law(Fraction(3), Fraction(1, 5), 0)
    assert law == dict(zip(LABELS, map(Fraction, ("1/5", "3/5", "1/5", "0")), strict=True))
    assert list(label_law(Fraction(3), Fraction(1, 5), 1).values()) == [*law.values()][::-1]


def test_the_post_processing_knows_no_bit() -> None:
    for method in (Simulation.__init__, Simulation.ask, Simulation.law):
        assert "bit" not in inspect.signature(method).parameters
    certificate = certified(sparse_vector(2), Fraction(2), Fraction(4, 63))
    # Equal labels and equal randomness: equal answers, whatever the bit was.
    by_label: dict[str, set[object]] = {}
    for bit in (0, 1):
        for seed in range(200):
            played = simulate(certificate, random.Random(seed), bit)
            replay = Simulation(certificate, played.label, random.Random(7))
            answers = tuple(replay.ask((0, 1)) for _ in range(2))
            by_label.setdefault(played.label, set()).add(answers)
    assert all(len(answers) == 1 for answers in by_label.values())


def test_draws_have_the_law_that_they_are_drawn_from() -> None:
    # 20,000 plays. For each transcript |frequency - p| <= t has probability at least
    # 1 - 2 exp(-2 n t^2) (Hoeffding); 8 transcripts at 2e-8 each: below 2e-7 in all.
    pair, n = sparse_vector(2), 20_000
    certificate = certified(pair, Fraction(2), Fraction(4, 63))
    rng = random.Random(20261130)
    tolerance = math.sqrt(math.log(2 / 2e-8) / (2 * n))
    for bit in (0, 1):
        exact = {
            tuple(y for _, y in history): weight
            for history, weight in transcripts(pair, bit)
            if [x for x, _ in history] == [(0, 1), (1, 0)]
        }
        assert sum(exact.values()) == 1
        assert len(exact) <= 4
        seen: Counter[tuple[object, ...]] = Counter()
        for _ in range(n):
            played = certificate.simulate(rng, bit)
            seen[played.ask((0, 1)), played.ask((1, 0))] += 1
        assert seen.keys() <= exact.keys()
        for answers, weight in exact.items():
            assert abs(seen[answers] / n - weight) <= tolerance


class Counted:
    """Gives the integers it was told to, and keeps what was asked."""

    def __init__(self, *values: int) -> None:
        self.values, self.stops = list(values), list[int]()

    def randrange(self, stop: int, /) -> int:
        self.stops.append(stop)
        return self.values.pop(0)


def test_a_draw_is_one_uniform_integer_and_exact() -> None:
    law = {"a": Fraction(1, 6), "b": Fraction(0), "c": Fraction(3, 4), "d": Fraction(1, 12)}
    rng = Counted(*range(12))
    assert Counter(drawn(law, rng) for _ in range(12)) == {"a": 2, "c": 9, "d": 1}
    assert rng.stops == [12] * 12


def test_questions_that_cannot_be_answered() -> None:
    certificate = certified(sparse_vector(1), Fraction(1), Fraction(4, 27))
    played = simulate(certificate, random.Random(1), 0)
    with pytest.raises(ParameterError, match=r"^query"):
        played.ask("other")
    played.ask((0, 1))
    assert len(played.history) == 1
    with pytest.raises(SessionHalted):
        played.ask((0, 1))
    with pytest.raises(ParameterError, match=r"^bit"):
        simulate(certificate, random.Random(1), 2)
    with pytest.raises(ParameterError, match=r"^label"):
        Simulation(certificate, "x", random.Random(1))
    telling = certified(
        FinitePair(lambda bit, *_: {bit: 1}, queries=[0], rounds=2), Fraction(1), Fraction(1)
    )
    with pytest.raises(ParameterError, match=r"^history"):
        Simulation(telling, "I am 0", random.Random(1)).law(((0, 1),), 0)
    with pytest.raises(ParameterError, match=r"^law"):
        drawn({"a": Fraction(1, 2), "b": Fraction(0)}, Counted(1))
