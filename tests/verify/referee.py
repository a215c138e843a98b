"""The best adversary by plain recursion at 40 digits, and mechanisms to verify. Nothing is
tested here, and nothing of the verifier is used."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import mpmath
from mpmath import mp

from interlace.core.composition import Composition, compose
from interlace.core.guarantees import PureDP
from interlace.core.interval import Interval
from interlace.core.laws import Law, Point
from interlace.core.mechanisms import SparseVector
from interlace.core.mechanisms.protocol import (
    Add,
    Answer,
    Compare,
    Mechanism,
    Move,
    Outcome,
    Program,
    Secret,
    Within,
)
from interlace.core.queries import Plan, Query

Pair = tuple[int, int]
Number = Any
"""An mpmath number."""
Laws = Callable[[int, Any, Pair], Mapping[Hashable, tuple[Any, Sequence[Number]]]]
"""laws(bit, public, pair) -> {response: (public state after it, its probability by secret)}."""

DIGITS = 40


def geometric(scale: Fraction, z: int) -> Number:
    """P(Z = z) of discrete Laplace noise."""
    r = mp.exp(mp.mpf(-scale.denominator) / scale.numerator)
    return (1 - r) / (1 + r) * r ** abs(z)


def above(scale: Fraction, z: int) -> Number:
    """P(Z >= z)."""
    r = mp.exp(mp.mpf(-scale.denominator) / scale.numerator)
    return r**z / (1 + r) if z > 0 else 1 - r ** (1 - z) / (1 + r)


@dataclass(frozen=True)
class Game:
    """A mechanism with one secret, in numbers."""

    opening: Sequence[Number]
    laws: Laws
    pairs: Sequence[Pair]
    rounds: int
    start: Any

    @cached_property
    def leaves(self) -> list[tuple[Any, Number, Number]]:
        """Every history with its two probabilities."""
        return list(self._leaves())

    def _leaves(self) -> Iterator[tuple[Any, Number, Number]]:
        waiting: list[Any] = [((), self.start, list(self.opening), list(self.opening))]
        while waiting:
            history, public, first, second = waiting.pop()
            if len(history) == self.rounds:
                yield history, mp.fsum(first), mp.fsum(second)
                continue
            for pair in self.pairs:
                one, other = self.laws(0, public, pair), self.laws(1, public, pair)
                waiting += [
                    (
                        (*history, (pair, response)),
                        following,
                        [w * p for w, p in zip(first, one[response][1], strict=True)],
                        [w * p for w, p in zip(second, other[response][1], strict=True)],
                    )
                    for response, (following, _) in one.items()
                ]

    def delta(self, factor: Number) -> Number:
        """The best adversary's hockey stick, in the worse order."""
        found = {h: (p, q) for h, p, q in self.leaves}
        return max(
            self._best((), {h: masses[::order] for h, masses in found.items()}, factor)
            for order in (1, -1)
        )

    def _best(self, at: tuple[Any, ...], found: Mapping[Any, Any], factor: Number) -> Number:
        values = {h: max(p - factor * q, mp.mpf(0)) for h, (p, q) in found.items()}
        for depth in range(self.rounds, len(at), -1):
            sums: dict[Any, dict[Pair, Number]] = {}
            for history, value in values.items():
                before, (pair, _) = history[: depth - 1], history[depth - 1]
                by_pair = sums.setdefault(before, {})
                by_pair[pair] = by_pair.get(pair, mp.mpf(0)) + value
            values = {before: max(by_pair.values()) for before, by_pair in sums.items()}
        return values[at]

    def epsilon(self) -> Number:
        """The greatest log-likelihood ratio."""
        return max(abs(mp.log(p / q)) for _, p, q in self.leaves)

    def probabilities(self, event: set[Any]) -> tuple[Number, Number]:
        """Of a set of histories, each perhaps cut short, on the two neighbours."""
        seen = [(p, q) for h, p, q in self.leaves if any(h[: len(e)] == e for e in event)]
        return mp.fsum(p for p, _ in seen), mp.fsum(q for _, q in seen)


def sparse_vector(mechanism: SparseVector, pairs: Sequence[Pair], rounds: int) -> Game:
    """The production mechanism with the scales that it serves."""
    scales = mechanism.opening().scale, mechanism.query_noise().scale
    return comparing(*scales, mechanism.cutoff, pairs, rounds)


def comparing(
    threshold: Fraction, scale: Fraction, cutoff: int, pairs: Sequence[Pair], rounds: int
) -> Game:
    """Straight from its description: passes iff value + noise >= threshold noise."""
    reach = math.ceil(90 * threshold)
    secrets = range(-reach, reach + 1)

    @cache
    def passed(value: int) -> tuple[Number, ...]:
        return tuple(above(scale, z - value) for z in secrets)

    def laws(bit: int, public: int, pair: Pair) -> Mapping[Hashable, tuple[int, Sequence[Number]]]:
        if public == 0:
            return {"halted": (0, [mp.mpf(1)] * len(secrets))}
        p = passed(pair[bit])
        return {"True": (public - 1, p), "False": (public, [1 - x for x in p])}

    opening = [geometric(threshold, z) for z in secrets]
    return Game(opening, laws, pairs, rounds, cutoff)


@dataclass(frozen=True)
class Halves:
    """P(z) = 2^-|z| / 3: its probabilities are rational, its scale is not."""

    size = 1

    def pmf(self, z: int) -> Interval:
        return Interval.of(Fraction(1, 3 * 2 ** abs(z)))

    def tail(self, z: int) -> Interval:
        return Interval.of(Fraction(2, 3 * 2**z) if z > 0 else 1 - Fraction(1, 3 * 2**-z))

    def cdf(self, z: int) -> Interval:
        return self.tail(-z)

    def radius(self, confidence: Fraction) -> int:
        return next(t for t in range(10**4) if Fraction(4, 3 * 2 ** (t + 1)) <= 1 - confidence)


def exactly(value: Number) -> Number:
    """A float or a fraction as it is."""
    exact = Fraction(value)
    return mpmath.mpf(exact.numerator) / exact.denominator


@dataclass(frozen=True)
class Small:
    """A sparse vector of one's own, in the protocol. ``declared`` says whether it compares by
    the kernel or in its own code; what is broken is named."""

    law: Law = field(default_factory=Halves)
    threshold: Law = field(default_factory=Halves)
    cutoff: int = 1
    declared: bool = True
    strict: bool = False
    leaks: bool = False
    claimed: float = 3.0
    sensitivity = 1

    @property
    def guarantee(self) -> Composition:
        return compose([PureDP(self.claimed)])

    def opening(self) -> Law:
        return self.threshold

    def start(self) -> int:
        return self.cutoff

    def left(self, public: int) -> int:
        return public

    def move(self, public: int, query: Query) -> Move:
        del public
        assert query.guess is None
        kernel = Compare(self.law) if self.declared else Add(self.law)
        return Move(query.plan, kernel, query.comparison)

    def within(self, plan: Plan, confidence: Fraction) -> Within:
        del plan
        return Within(self.law.radius(confidence))

    def answer(self, secret: Secret, public: int, query: Query, outcome: Outcome) -> Answer:
        del public, query
        if self.declared:
            return Answer(outcome[0] == 1, outcome[0] == 1)
        gap = outcome[0] - secret[0]
        passed = gap > 0 if self.strict else gap >= 0
        return Answer(outcome[0] if self.leaks and passed else passed, passed)

    def after(self, public: int, query: Query, answer: Answer) -> int:
        del query
        return public - 1 if answer.verdict else public


NO_NOISE: Law = Point()


@dataclass(frozen=True)
class Both:
    """Two mechanisms; a round asks one of them, or the second if the first one passes."""

    first: Mechanism
    second: Mechanism
    hidden: bool = False

    @property
    def children(self) -> Mapping[str, Mechanism]:
        return {"first": self.first, "second": self.second}

    @property
    def guarantee(self) -> Composition:
        return compose([self.first, self.second])

    def start(self) -> int:
        return 2

    def left(self, public: int) -> int:
        return public

    def within(self, plan: Plan, confidence: Fraction) -> Within:
        return self.first.within(plan, confidence)

    def program(self, public: int, query: Query) -> Program:
        answer = yield ("first" if public == 2 else "second"), query
        return Answer(False, False) if self.hidden else answer

    def after(self, public: int, query: Query, answer: Answer) -> int:
        del query
        return public - 1 if answer.verdict else public
