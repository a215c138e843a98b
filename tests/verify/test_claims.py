"""Where a claim is compared, and what a composite's claim may rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

import interlace as il
from interlace.core.mechanisms import Laplace
from interlace.core.mechanisms.protocol import Answer, Program, Within
from interlace.core.queries import Plan, Query


@pytest.mark.parametrize(
    ("delta", "verdict"), [(0.3, "slack"), (0.2876492, "slack"), (0.2876, "violated")]
)
def test_a_claim_with_a_large_delta_is_compared_at_its_own_epsilon(
    delta: float, verdict: str
) -> None:
    """Randomised response of loss 1 has delta(0.5) = (e - e^0.5)/(1 + e) = 0.28764913..."""
    report = il.verify(Laplace(epsilon=1), claim=il.ApproxDP(0.5, delta))
    assert report.verdict == verdict
    *_, own, last = report.points  # where the claim is made, up to rounding
    assert (own.kind, last.kind) == ("delta", "epsilon")
    assert (float(own.at), own.claimed) == pytest.approx((0.5, delta))
    assert (float(last.at), last.claimed) == pytest.approx((delta, 0.5))
    assert (report.attack is not None) == (verdict == "violated")


@dataclass(frozen=True)
class Either:
    """Has two children and asks the first alone."""

    first: Laplace
    second: Laplace

    @property
    def children(self) -> Mapping[str, Laplace]:
        return {"first": self.first, "second": self.second}

    @property
    def guarantee(self) -> il.Composition:
        return il.compose([il.PureDP(1)])

    def start(self) -> int:
        return 1

    def left(self, public: int) -> int:
        return public

    def within(self, plan: Plan, confidence: Fraction) -> Within:
        return self.first.within(plan, confidence)

    def program(self, public: int, query: Query) -> Program:
        del public
        answer = yield "first", query
        return answer

    def after(self, public: int, query: Query, answer: Answer) -> int:
        del query, answer
        return public - 1


def test_a_whole_may_be_sound_where_its_parts_at_will_are_not() -> None:
    """Its program never asks the second child: the claim rests on that."""
    mechanism: Any = Either(Laplace(epsilon=1), Laplace(epsilon=1))
    report = il.verify(mechanism, rounds=1)
    assert report.verdict == "tight"
    assert report.attack is None
    assert report.parts_verdict == "violated"
    assert "its parts, interleaved at will: violated" in str(report)
    assert report.json()["parts_verdict"] == "violated"


def test_a_leaf_has_no_parts() -> None:
    assert il.verify(Laplace(epsilon=1)).parts_verdict is None
