"""What the verifier says of sound and of broken mechanisms, and what it refuses."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest
from mpmath import mp

import interlace as il
from interlace.core.errors import ParameterError
from interlace.core.finite import evaluate
from interlace.core.laws import DiscreteGaussian, DiscreteLaplace
from interlace.core.mechanisms import Gaussian, GuessAndCheck, Laplace, SparseVector
from interlace.verify import Attack, Point, Question, Report, verify
from interlace.verify.plot import draw
from interlace.verify.report import judge
from tests.verify.referee import (
    DIGITS,
    NO_NOISE,
    Both,
    Pair,
    Small,
    exactly,
    sparse_vector,
)

SWAPPED: list[Pair] = [(0, 1), (1, 0)]

LIBRARY: list[tuple[Any, str]] = [
    (Laplace(epsilon=1), "tight"),
    (Laplace(scale=1.5, answers=2, sensitivity=2), "tight"),
    (Gaussian(rho=0.2), "slack"),
    (Gaussian(sigma=0.5, answers=2), "slack"),
    (SparseVector(epsilon=1), "slack"),
    (SparseVector(epsilon=2, cutoff=2, threshold_share=0.5), "slack"),
    (SparseVector(epsilon=1, monotone=True), "slack"),
    (GuessAndCheck(epsilon=1, tolerance=5), "slack"),
    (GuessAndCheck(epsilon=4, tolerance=1, cutoff=2, sensitivity=2), "slack"),
]


def test_no_mechanism_of_the_library_is_left_out() -> None:
    assert {type(m).__name__ for m, _ in LIBRARY} == set(il.mechanisms.__all__)


@pytest.mark.parametrize(("mechanism", "verdict"), LIBRARY, ids=lambda x: str(x)[:60])
def test_the_library_keeps_what_it_claims(mechanism: Any, verdict: str) -> None:
    report = il.verify(mechanism, rounds=2)
    assert report.verdict == verdict
    assert report.attack is None
    for point in (*report.points, *report.parts):
        low, high = point.worst
        assert 0 <= low <= high <= point.claimed + 1e-12
        # Epsilon moves more, where delta is flat.
        assert high - low <= (1e-12 if point.kind == "delta" else 1e-8)
    assert bool(report.parts) == isinstance(mechanism, GuessAndCheck)
    for whole, parts in zip(report.points, report.parts, strict=False):
        assert whole.worst[0] <= parts.worst[1]
    # The adversary is worth what the recursion says, by its transcripts.
    at = Fraction(math.exp(report.reached_at))
    found = evaluate(report.adversary, report.pair, exp_epsilon=at)
    assert float(found) == pytest.approx(report.reached, rel=1e-6, abs=1e-12)
    assert float(report.pair.delta(exp_epsilon=at)) == pytest.approx(float(found), rel=1e-9)


def proves(attack: Attack | None) -> bool:
    assert attack is not None
    claimed = math.exp(attack.epsilon) * attack.q + attack.delta
    return attack.p > claimed * (1 + 1e-12)


def test_half_the_noise_is_seen_through() -> None:
    # Noise of scale 1 where 1/2-DP needs scale 2.
    report = verify(Laplace(scale=1), claim=il.PureDP(0.5))
    assert report.verdict == "violated"
    assert proves(report.attack)
    assert str(report.attack) in str(report)
    doubled = Gaussian(rho=0.4)
    claim = Gaussian(rho=0.1).guarantee
    report = verify(doubled, claim=claim)
    assert report.verdict == "violated"
    assert proves(report.attack)


def test_an_attack_on_a_sparse_vector_has_the_probabilities_it_says() -> None:
    # Made for epsilon = 2, said to be for 1: all its noise is halved.
    mechanism = SparseVector(epsilon=2)
    report = verify(mechanism, rounds=3, values=SWAPPED, claim=il.PureDP(1))
    assert report.verdict == "violated"
    attack = report.attack
    assert proves(attack)
    assert attack is not None
    pairs = {f"({a}, {b}) >= 0": (a, b) for a, b in SWAPPED}
    event = {tuple((pairs[q], answer) for q, answer in t) for t in attack.transcripts}
    with mp.workdps(DIGITS):
        game = sparse_vector(mechanism, SWAPPED, 3)
        p, q = [
            mp.fsum(masses[order] for history, *masses in game.leaves if starts(history, event))
            for order in (attack.adversary.first, 1 - attack.adversary.first)
        ]
        # After a halt the adversary may go on; then all questions are alike.
        share = len(SWAPPED)
        assert attack.p <= p
        assert p < attack.p * share**3 * (1 + mp.mpf(10) ** -12)
        assert q <= attack.q * share**3
        assert exactly(attack.p) > mp.exp(1) * exactly(attack.q)


def starts(history: Any, event: set[Any]) -> bool:
    return any(history[: len(e)] == e for e in event)


BROKEN = [
    # FORMULAS 10: no noise on the compared value; the value itself is released.
    (Small(law=NO_NOISE, claimed=4), 2),
    (Small(law=NO_NOISE, claimed=4, declared=False), 2),
    (Small(DiscreteLaplace(1.5), DiscreteLaplace(1), declared=False, leaks=True, claimed=1.2), 2),
    (Small(DiscreteLaplace(2), DiscreteLaplace(1), claimed=1), 3),
    (Small(DiscreteGaussian(1), DiscreteGaussian(1), claimed=1), 3),
]


@pytest.mark.parametrize(("mechanism", "rounds"), BROKEN, ids=lambda x: str(x)[:80])
def test_broken_ones_are_attacked(mechanism: Small, rounds: int) -> None:
    report = verify(mechanism, rounds=rounds)
    assert report.verdict == "violated"
    assert proves(report.attack)


def test_a_strict_comparison_is_as_private() -> None:
    # On integers it is the other one with a threshold that is larger by 1.
    loose = verify(Small(declared=False), rounds=2, values=[(0, 1), (1, 0), (1, 1)])
    moved = [(1, 2), (2, 1), (2, 2)]
    strict = verify(Small(declared=False, strict=True), rounds=2, values=moved)
    assert loose.verdict == strict.verdict == "slack"
    for one, other in zip(loose.points, strict.points, strict=True):
        assert one.worst[0] <= other.worst[1] + 1e-12
        assert other.worst[0] <= one.worst[1] + 1e-12


def test_comparing_in_its_own_code_says_the_same_at_more_cost() -> None:
    declared, own = (verify(Small(declared=d), rounds=3) for d in (True, False))
    for one, other in zip(declared.points[:-1], own.points[:-1], strict=True):
        assert max(one.worst[0], other.worst[0]) <= min(one.worst[1], other.worst[1])
        assert other.worst[1] - other.worst[0] <= 1e-12
    assert declared.points[-1].at == 0
    assert own.points[-1].at > 0


def test_verdicts() -> None:
    def point(low: float, high: float, claimed: float) -> Point:
        return Point("delta", Fraction(1), claimed, (low, high))

    width = Fraction(1, 100)
    nothing = point(0, 1e-20, 0)
    assert judge([nothing], width) == "slack"
    assert judge([point(0.11, 0.2, 0.1), nothing], width) == "violated"
    assert judge([point(0.095, 0.1, 0.1), nothing], width) == "tight"
    assert judge([point(0.05, 0.06, 0.1), nothing], width) == "slack"
    assert judge([point(0.05, 0.105, 0.1), nothing], width) == "holds"
    assert judge([point(0.05, 0.2, 0.1), nothing], width) == "undecided"
    assert judge([point(0, 0.2, 0), nothing], width) == "undecided"
    endless = Point("epsilon", Fraction(0), 1.0, (0.5, math.inf))
    assert judge([endless], width) == "undecided"


def test_a_report_is_read_by_people_and_programs() -> None:
    report = verify(GuessAndCheck(epsilon=2, tolerance=3), rounds=2, values=SWAPPED, epsilon=0.5)
    body = json.loads(json.dumps(report.json()))
    assert body["verdict"] == report.verdict
    assert [p["at"] for p in body["points"]] == [0.0, 0.5, 8.0, 1e-12]
    assert len(body["parts"]) == len(body["points"])
    assert body["points"][1]["upper"] == report.points[1].worst[1]
    assert body["attack"] is None
    text = str(report)
    assert text.startswith(f"{report.mechanism}: slack\n")
    assert "its parts, interleaved at will: slack" in text
    assert "(0, 1) guess -3" in text
    picture = draw(report)
    assert picture.count("<polyline") == 2
    assert re.fullmatch(r"<svg .*</svg>\n", picture, re.DOTALL)


def test_the_package_is_called_as_its_function() -> None:
    assert il.verify(Laplace(scale=1)).points == verify(Laplace(scale=1)).points
    assert isinstance(il.verify(Laplace(scale=1)), Report)


def test_progress_is_told() -> None:
    told: list[tuple[str, int, int]] = []
    verify(SparseVector(epsilon=2), rounds=1, progress=lambda *what: told.append(what))
    assert all(0 <= done <= of for _, done, of in told)
    assert {"the worst case", "the best adversary"} < {what for what, _, _ in told}
    assert told[-1][1] == told[-1][2]


@dataclass(frozen=True)
class Listed(Small):
    """With a public state that can change."""

    def start(self) -> Any:
        return [1]

    def left(self, public: Any) -> int:
        return public[0] if isinstance(public, list) else 1


SV = SparseVector(epsilon=1)
REFUSED: list[tuple[Any, dict[str, Any], str]] = [
    (Listed(), {}, "mechanism: its public states must be frozen"),
    (Both(Laplace(scale=1), Laplace(scale=1)), {"values": []}, "values: must name at least"),
    (Both(Small(), Small(), hidden=True), {"rounds": 2}, "mechanism: its public state must follow"),
    (Laplace(scale=10**6), {}, "mechanism: its noise spreads over"),
    (SparseVector(epsilon=1e-6), {}, "mechanism: about .* secrets"),
    (
        Small(DiscreteLaplace(50), DiscreteLaplace(50), declared=False),
        {},
        "mechanism: about .* ans",
    ),
    (SV, {"values": [(0, 2)]}, "values: a pair may differ by"),
    (SV, {"values": [(0, 1, 2)]}, "values: must be pairs"),
    (SV, {"values": [Question(0, 1, guess=3)]}, "values: a SparseVector does not take"),
    (SV, {"rounds": 0}, "rounds: "),
    (SV, {"rounds": 40}, "rounds: .* rounds have about"),
    (SV, {"tolerance": 0}, "tolerance: "),
    (SV, {"delta": 2}, "delta: "),
    (SV, {"epsilon": [-1]}, "epsilon: "),
    (SparseVector(epsilon=1, monotone=True), {"values": SWAPPED}, "values: the mechanism takes mo"),
]


@pytest.mark.parametrize(("mechanism", "arguments", "problem"), REFUSED, ids=lambda x: str(x)[:40])
def test_what_is_refused(mechanism: Any, arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(ParameterError, match=f"^{problem}"):
        verify(mechanism, **arguments)


def test_a_mechanism_that_may_change_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^mechanism: must be a frozen value"):
        verify(Unhashable())


class Unhashable:
    """Anything with an equality of its own and no hash."""

    __hash__ = None  # type: ignore[assignment]  # what is refused
    guarantee = Laplace(scale=1).guarantee

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def test_a_question_has_one_form() -> None:
    with pytest.raises(ParameterError, match=r"^values: "):
        Question(0, 1, at_least=1, guess=2)
    with pytest.raises(ParameterError, match=r"^zero: "):
        Question(2**70 + 1, 1)
