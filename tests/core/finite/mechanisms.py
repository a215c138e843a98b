"""Mechanisms to test with: random ones, and the sparse vector with one secret, exact since its
tails are folded. Nothing is tested here."""

from __future__ import annotations

import random
from collections.abc import Hashable
from fractions import Fraction

from interlace.core.finite import FinitePair, fold

HALF = Fraction(1, 2)
VALUES = ((0, 0), (0, 1), (1, 0), (1, 1))
"""Queries: the value under bit 0 and under bit 1."""


def passes(threshold: int, value: int, ratio: Fraction) -> Fraction:
    """P(value + noise >= threshold) for geometric noise, P(k) = (1-r)/(1+r) r^|k|."""
    gap = threshold - value
    return ratio**gap / (1 + ratio) if gap > 0 else 1 - ratio ** (1 - gap) / (1 + ratio)


def thresholds(ratio: Fraction, rounds: int) -> dict[Hashable, Fraction]:
    """The threshold's noise on the integers. Above 1 and below 0 the probability to pass is
    linear in ratio^|threshold| for values 0 and 1, so that both tails are folded there."""
    lead = (1 - ratio) / (1 + ratio)
    weights: dict[Hashable, Fraction] = {0: lead, 1: lead * ratio}
    for i, weight in enumerate(fold(ratio, ratio, rounds), 1):
        weights[1 + i] = lead * ratio * weight
        weights[-i] = lead * weight
    return weights


def sparse_vector(
    rounds: int,
    cutoff: int = 1,
    *,
    noise: bool = True,
    queries: tuple[tuple[int, int], ...] = VALUES,
    ratio: Fraction = HALF,
) -> FinitePair:
    """Says whether value + noise reaches the noisy threshold, and halts after ``cutoff`` times."""
    opening = thresholds(ratio, rounds)

    def answer(
        bit: int, secret: int, passed: int, query: tuple[int, int]
    ) -> dict[Hashable, Fraction]:
        if passed == cutoff:
            return {"halted": Fraction(1)}
        value = query[bit]
        p = passes(secret, value, ratio) if noise else Fraction(value >= secret)
        return {"pass": p, "fail": 1 - p}

    def after(passed: int, _query: object, response: str) -> int:
        return passed + (response == "pass")

    return FinitePair.one_secret(
        lambda _: opening, answer, queries=queries, rounds=rounds, start=0, after=after
    )


def truncated_sparse_vector(rounds: int, cutoff: int, reach: int = 30) -> FinitePair:
    """The same in floats, with 2 reach + 1 thresholds: what lies beyond is put on the last."""
    ratio = HALF
    lead = (1 - ratio) / (1 + ratio)
    weights: dict[Hashable, float] = {
        z: float(lead * ratio ** abs(z)) for z in range(1 - reach, reach)
    }
    weights[reach] = weights[-reach] = float(ratio**reach / (1 + ratio))

    def answer(bit: int, secret: int, passed: int, query: tuple[int, int]) -> dict[Hashable, float]:
        if passed == cutoff:
            return {"halted": 1.0}
        p = float(passes(secret, query[bit], ratio))
        return {"pass": p, "fail": 1 - p}

    def after(passed: int, _query: object, response: str) -> int:
        return passed + (response == "pass")

    return FinitePair.one_secret(
        lambda _: weights, answer, queries=VALUES, rounds=rounds, start=0, after=after
    )


def weights(seed: object, size: int) -> list[Fraction]:
    """Random probabilities, some of them zero, that sum to one; equal for equal seeds."""
    rng = random.Random(repr(seed))
    zeros = rng.choice([0, 0.3])
    found = [0 if rng.random() < zeros else rng.randint(1, 5) for _ in range(size)]
    found[rng.randrange(size)] += 1
    return [Fraction(w, sum(found)) for w in found]


def random_step(seed: int, queries: int, responses: int, rounds: int) -> FinitePair:
    """Laws that depend on the history; under the two bits sometimes the same."""

    def step(bit: int, history: object, query: object) -> dict[Hashable, Fraction]:
        place = (seed, history, query)
        same = random.Random(repr(place)).random() < 0.3
        law = weights((place, 0 if same else bit), responses)
        return dict(enumerate(law))

    return FinitePair(step, queries=range(queries), rounds=rounds)


def random_opening(seed: int, bit: int, states: int) -> dict[Hashable, Fraction]:
    """The law of a hidden state."""
    return dict(enumerate(weights((seed, bit, "opening"), states)))


def random_transition(
    seed: int, bit: int, hidden: object, query: object
) -> dict[tuple[int, int], Fraction]:
    """Two responses and two states; certain in places."""
    law = weights((seed, bit if query else 0, hidden, query), 4)
    return {(i % 2, i // 2): p for i, p in enumerate(law)}
