"""What the verifier enumerates: laws with their errors, answers that are one response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from interlace.core.composition import Composition, compose
from interlace.core.errors import ParameterError
from interlace.core.laws import DiscreteGaussian, DiscreteLaplace, Point, Vector
from interlace.core.mechanisms import GuessAndCheck, Laplace
from interlace.core.mechanisms.protocol import (
    Answer,
    Mechanism,
    Outcome,
    Program,
    Secret,
    Within,
)
from interlace.core.queries import Plan, Query
from interlace.verify import Report, responses, verify
from interlace.verify.noise import UNIT, Mass, Noise, completed
from interlace.verify.questions import questions
from tests.effort import examples
from tests.verify.referee import DIGITS, Pair, Small, above, comparing, exactly, geometric

CUT = Fraction(1, 2**70)
scales = st.fractions(Fraction(1, 8), 12, max_denominator=64)


@given(scales, st.integers(-60, 60), st.integers(0, 40))
def test_the_masses_of_discrete_laplace_noise(scale: Fraction, low: int, more: int) -> None:
    law = DiscreteLaplace(scale)
    noise = Noise(law, CUT)
    with mp.workdps(60):
        exact = above(law.scale, low) - above(law.scale, low + more + 1)
        cases = [
            (noise.between(low, low + more), exact),
            (noise.between(low, low), geometric(law.scale, low)),
            (noise.between(low, None), above(law.scale, low)),
            (noise.between(None, low), 1 - above(law.scale, low + 1)),
        ]
        for found, value in cases:
            assert found.value > 0
            assert abs(exactly(Fraction(found.value, UNIT)) - value) <= exactly(
                Fraction(found.error, UNIT)
            )
            assert found.error < 2**20
        assert 2 * above(law.scale, noise.radius + 1) <= exactly(CUT)
        assert 2 * above(law.scale, noise.radius) > exactly(CUT)


def test_a_gaussian_and_no_noise() -> None:
    noise = Noise(DiscreteGaussian(3), CUT)
    masses = [noise.between(z, z) for z in range(-noise.radius, noise.radius + 1)]
    values, error = completed(masses)
    assert sum(values) == UNIT
    assert 0 <= UNIT - sum(m.value for m in masses) <= CUT * UNIT + error
    none = Noise(Point(), CUT)
    assert (none.radius, none.certain) == (0, True)
    assert [none.between(z, z).value for z in (-1, 0, 1)] == [0, UNIT, 0]
    assert none.between(1, None) == Mass(0, 0)


@settings(max_examples=examples(5))
@given(scales, scales, st.integers(1, 2), st.sets(st.integers(-3, 4), min_size=1, max_size=2))
def test_random_sparse_vectors(
    threshold: Fraction, scale: Fraction, cutoff: int, places: set[int]
) -> None:
    noise, opening = DiscreteLaplace(1 + scale / 6), DiscreteLaplace(1 + threshold / 6)
    pairs: list[Pair] = [(v, v + 1) for v in sorted(places)] + [(1, 0)]
    mechanism = Small(noise, opening, cutoff=cutoff, claimed=50)
    report = verify(mechanism, rounds=2, values=pairs, epsilon=[Fraction(1, 5)])
    with mp.workdps(DIGITS):
        game = comparing(opening.scale, noise.scale, cutoff, pairs, 2)
        for point in report.points[:2]:
            exact = game.delta(mp.exp(exactly(point.at)))
            assert exactly(point.worst[0]) <= exact <= exactly(point.worst[1])
        low, high = report.points[-1].worst
        assert exactly(low) <= game.epsilon() <= exactly(high)
        assert high - low <= 1e-12


@dataclass(frozen=True)
class Remembers:
    """Its state follows the first answer, so that not all answers lead to the same one. A
    second round answers with less noise after an answer above ``place``."""

    first: Mechanism
    calm: Mechanism
    sharp: Mechanism
    place: int = 3
    coarse: int = 1

    @property
    def children(self) -> Mapping[str, Mechanism]:
        return {"first": self.first, "calm": self.calm, "sharp": self.sharp}

    @property
    def guarantee(self) -> Composition:
        return compose(list(self.children.values()))

    def start(self) -> str:
        return "first"

    def left(self, public: str) -> int:
        return int(public != "end")

    def within(self, plan: Plan, confidence: Fraction) -> Within:
        return self.first.within(plan, confidence)

    def program(self, public: str, query: Query) -> Program:
        answer = yield public, query
        assert isinstance(answer.value, int)
        return Answer(answer.value // self.coarse)

    def after(self, public: str, query: Query, answer: Answer) -> str:
        del query
        if public != "first":
            return "end"
        assert isinstance(answer.value, int)
        return "sharp" if answer.value > self.place else "calm"


def remembers(place: int = 3, coarse: int = 1) -> Remembers:
    first, calm, sharp = (Laplace(scale=Fraction(1, n)) for n in (2, 3, 5))
    return Remembers(first, calm, sharp, place, coarse)


MERGED: list[tuple[Any, int]] = [
    (Laplace(scale=Fraction(1, 2), answers=2), 2),
    (Laplace(scale=Fraction(1, 2), sensitivity=3), 1),
    (GuessAndCheck(epsilon=4, tolerance=2), 2),
    (remembers(), 2),
    (remembers(place=0), 2),
    (remembers(coarse=3), 2),
    (remembers(coarse=-2, place=1), 2),
]


@pytest.mark.parametrize(("mechanism", "rounds"), MERGED, ids=lambda x: str(x)[-60:])
def test_one_response_for_many_answers_changes_nothing(
    mechanism: Any, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def report() -> Report:
        values: list[Pair] = [(0, 1), (1, 0)]
        return verify(mechanism, rounds=rounds, values=values, epsilon=[0.3, 1, 4])

    merged = report()
    monkeypatch.setattr(responses, "_together", lambda _: {})
    apart = report()
    # Where different outcomes have one answer, that answer stays by itself.
    assert (merged.nodes < apart.nodes) == (getattr(mechanism, "coarse", 1) == 1)
    for one, other in zip(merged.points[:-1], apart.points[:-1], strict=True):
        assert max(one.worst[0], other.worst[0]) <= min(one.worst[1], other.worst[1])
        assert one.worst[1] - one.worst[0] <= 1e-12


@dataclass(frozen=True)
class Typed(Small):
    """Says 1 or True, which are equal for Python."""

    def answer(self, secret: Secret, public: int, query: Query, outcome: Outcome) -> Answer:
        del public, query
        return Answer(True if outcome[0] >= secret[0] else 1)


def test_answers_that_look_different_are_told_apart() -> None:
    few = Typed(DiscreteLaplace(1), DiscreteLaplace(Fraction(1, 2)), declared=False)
    report = verify(few, rounds=1, values=[(0, 1)])
    assert report.points[0].worst[0] > 0.1


def test_an_opening_of_several_draws() -> None:
    # Two secrets, of which the first one is compared with.
    part = Fraction(1, 5)
    twice = Vector(DiscreteLaplace(part), 2)
    both = verify(Small(DiscreteLaplace(1), twice), rounds=1)
    one = verify(Small(DiscreteLaplace(1), DiscreteLaplace(part)), rounds=1)
    for point, same in zip(both.points[:-1], one.points[:-1], strict=True):
        assert abs(point.worst[1] - same.worst[1]) <= 1e-12


def test_questions_are_told_apart_from_plain_pairs() -> None:
    _, asked = questions(Laplace(scale=1, sensitivity=4), None)
    assert [q.values for q in asked] == [(0, 4), (4, 0)]
    plan, asked = questions(GuessAndCheck(epsilon=1, tolerance=7), [(3, 3), (3, 3), (2, 3)])
    assert [(q.values, q.guess) for q in asked] == [((3, 3), -7), ((2, 3), -7)]
    assert not plan.monotone
    with pytest.raises(ParameterError, match=r"^values: .*one: must be an integer"):
        questions(Laplace(scale=1), [(0, 1.5)])  # type: ignore[list-item]  # what is refused
