"""Random pairs of finite systems, exact mechanisms by hand, and claims about them, for tests.
Nothing is tested here."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import cache

from interlace.core.finite.certificate import Certificate, certify
from interlace.core.finite.counterexample import Counterexample
from interlace.core.finite.laws import History, Query
from interlace.core.finite.pair import FinitePair

Table = dict[History, dict[Query, dict[object, Fraction]]]
_TOP, _BOTTOM, _HALTED = "pass", "fail", "halted"


def random_pair(seed: int, rounds: int | None = None) -> FinitePair:
    """|X|, |Y| and T from 1 to 3; zeros, supports that differ, bits that agree in places."""
    rng = random.Random(seed)
    queries = list(range(rng.randint(1, 3)))
    size, length = rng.randint(1, 3), rounds or rng.randint(1, 3)
    zeros, alike = rng.choice([0, 0.2, 0.5]), rng.choice([0, 0.5, 0.9])
    tables: tuple[Table, Table] = ({}, {})

    def law() -> list[int]:
        weights = [0 if rng.random() < zeros else rng.randint(1, 4) for _ in range(size)]
        return weights if any(weights) else law()

    def fill(history: History, left: int) -> None:
        for table in tables:
            table[history] = {}
        for query in queries:
            first = law()
            second = first if rng.random() < alike else law()
            for table, weights in zip(tables, (first, second), strict=True):
                table[history][query] = {
                    f"y{i}": Fraction(w, sum(weights)) for i, w in enumerate(weights)
                }
            if left > 1:
                for i in range(size):
                    fill((*history, (query, f"y{i}")), left - 1)

    fill((), length)
    return FinitePair(
        lambda bit, history, query: tables[bit][history][query], queries=queries, rounds=length
    )


def least_delta(pair: FinitePair, ratio: Fraction) -> Fraction:
    """What the best adversary gains, by the plainest recursion over the laws themselves."""

    def best(history: History, p: Fraction, q: Fraction, bit: int) -> Fraction:
        if len(history) == pair.rounds:
            return max(p - ratio * q, Fraction(0))
        found = []
        for query in pair.queries:
            here = pair.law(bit, history, query) if p else {}
            there = pair.law(1 - bit, history, query) if q else {}
            total = Fraction(0)
            for y in here | there:
                after = (*history, (query, y))
                total += best(
                    after, p * Fraction(here.get(y, 0)), q * Fraction(there.get(y, 0)), bit
                )
            found.append(total)
        return max(found)

    return max(best((), Fraction(1), Fraction(1), bit) for bit in (0, 1))


def randomised_response(ratio: Fraction, rounds: int) -> FinitePair:
    """One question, asked ``rounds`` times with fresh noise."""
    return FinitePair(
        lambda bit, _history, _query: {bit: ratio / (1 + ratio), 1 - bit: 1 / (1 + ratio)},
        queries=["ask"],
        rounds=rounds,
    )


@cache
def _passing(values: tuple[int, ...], verdicts: tuple[bool, ...]) -> Fraction:
    """P(verdicts) of a sparse vector on these values: threshold 0, geometric noise of ratio 1/2
    once on the threshold, and on each value; the sum over the threshold is in closed form."""
    r, one = Fraction(1, 2), Fraction(1)
    total = Fraction(0)
    # From z = 2 up, P(value + noise >= z) is c·r^z; from z = 0 down it is 1 - d·r^-z.
    for first, inside, slopes in (
        (2, (one - 1, 1), [r**-v / (1 + r) for v in values]),
        (0, (one, -1), [r ** (1 + v) / (1 + r) for v in values]),
    ):
        start, sign = inside
        polynomial = [one]
        for slope, passed in zip(slopes, verdicts, strict=True):
            constant, linear = (start, sign * slope) if passed else (1 - start, -sign * slope)
            polynomial = [
                constant * a + linear * b
                for a, b in zip([*polynomial, one - 1], [one - 1, *polynomial], strict=True)
            ]
        for power, a in enumerate(polynomial):
            total += a * r ** (first * (power + 1)) / (1 - r ** (power + 1))
    middle = r
    for value, passed in zip(values, verdicts, strict=True):
        p = r / (1 + r) if value == 0 else 1 - r / (1 + r)
        middle *= p if passed else 1 - p
    return (total + middle) * (1 - r) / (1 + r)


def sparse_vector(rounds: int, cutoff: int = 1) -> FinitePair:
    """Queries are (value under bit 0, value under bit 1), each 0 or 1."""

    def step(bit: int, history: History, query: Query) -> dict[object, Fraction]:
        if sum(y == _TOP for _, y in history) == cutoff:
            return {_HALTED: Fraction(1)}
        asked = [x for x, _ in history] + [query]
        values = tuple(x[bit] for x in asked if isinstance(x, tuple))
        before = tuple(y == _TOP for _, y in history)
        whole = _passing(values[:-1], before)
        return {y: _passing(values, (*before, y == _TOP)) / whole for y in (_TOP, _BOTTOM)}

    return FinitePair(step, queries=[(a, b) for a in (0, 1) for b in (0, 1)], rounds=rounds)


def certificate(pair: FinitePair, ratio: Fraction | int, delta: Fraction | int) -> Certificate:
    found = certify(pair, exp_epsilon=ratio, delta=delta)
    assert isinstance(found, Certificate)
    return found


def counterexample(pair: FinitePair, ratio: Fraction | int, delta: Fraction) -> Counterexample:
    found = certify(pair, exp_epsilon=ratio, delta=delta)
    assert isinstance(found, Counterexample)
    return found
