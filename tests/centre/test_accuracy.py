"""Accuracy before spending: exact from the laws, free, and true."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import interlace as il
from interlace.core.laws import Joint
from interlace.core.queries import Query, Sensitivity
from interlace.engines.duckdb.engine import DuckDBEngine
from tests.centre.support import ALL_SQL, clinic
from tests.core.mechanisms.doubles import Reading
from tests.effort import examples

m = il.mechanisms
FEES = "SELECT SUM(fee) FROM people"  # one fee is at most 10.00
BOUNDED = {ALL_SQL: "one unit counts at most 1", FEES: "one unit adds between 0.00 and 10.00"}
CONFIDENCES = st.fractions(Fraction(1, 2), Fraction(999, 1000), max_denominator=1000)


def test_it_is_what_the_answers_interval_will_be(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.ZCDP(999))
        for mechanism in (m.Laplace(epsilon=0.1, answers=2), m.Gaussian(rho=0.01, answers=2)):
            session = account.open(mechanism, "people")
            for sql in (ALL_SQL, FEES):
                expected = session.accuracy(sql)
                answer = session.ask(sql)
                assert isinstance(answer.interval, tuple)
                low, high = answer.interval
                assert isinstance(answer.value, int | Decimal)
                assert isinstance(expected.radius, int | Decimal)
                assert answer.value - expected.radius == low
                assert answer.value + expected.radius == high
                assert answer.bounding == expected.bounding == BOUNDED[sql]


def test_it_costs_nothing_and_reads_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(9))
        sessions = account.plan(
            [m.Laplace(epsilon=0.1), m.SparseVector(epsilon=0.1), _check(0.1)], "people"
        )
        before = centre.ledger.head()

        def touched(*_: object) -> None:
            raise AssertionError("accuracy reached the engine or the sampler")

        monkeypatch.setattr(DuckDBEngine, "read", touched)
        monkeypatch.setattr("interlace.centre.noise.POOL.draw", touched)
        for session in sessions:
            near = session.accuracy(ALL_SQL, confidence=0.5)
            far = session.accuracy(ALL_SQL, confidence=0.999)
            assert isinstance(near.radius, int | Decimal)
            assert isinstance(far.radius, int | Decimal)
            assert 0 < near.radius < far.radius
            assert near.bounding == "one unit counts at most 1"
            assert (far.measured is not None) == isinstance(session.mechanism, m.GuessAndCheck)
        assert centre.ledger.head() == before
        with pytest.raises(il.QueryRefused):
            sessions[0].accuracy("SELECT age FROM people")
        for bad in (0, 1, -1, 2, float("nan")):
            with pytest.raises(il.ParameterError, match="confidence"):
                sessions[0].accuracy(ALL_SQL, confidence=bad)
        with pytest.raises(il.ParameterError, match="sensitivity=1000"):
            sessions[1].accuracy(FEES)


def _check(epsilon: float) -> Any:
    return m.GuessAndCheck(epsilon=epsilon, tolerance=5)


@settings(max_examples=examples(20))
@given(epsilon=st.floats(0.05, 3), confidence=CONFIDENCES, bound=st.integers(1, 30))
def test_values_are_covered_and_no_smaller_radius_would_do(
    epsilon: float, confidence: Fraction, bound: int
) -> None:
    plan = Reading(sensitivity=Sensitivity.scalar(bound))
    for mechanism in (m.Laplace(epsilon=epsilon), m.Gaussian(rho=epsilon)):
        radius = mechanism.within(plan, confidence).radius
        law = mechanism.law(Query(plan))
        assert not isinstance(law, Joint)
        assert 2 * law.tail(radius + 1).upper <= 1 - Decimal(confidence.numerator) / Decimal(
            confidence.denominator
        ) + Decimal("1e-25")
        if radius:
            missed = 2 * Fraction(law.tail(radius).lower)
            assert missed > 1 - confidence - Fraction(1, 10**20)


@settings(max_examples=examples(10))
@given(epsilon=st.floats(0.3, 3), confidence=CONFIDENCES, cutoff=st.integers(1, 3))
def test_a_value_further_from_the_threshold_gets_the_right_verdict(
    epsilon: float, confidence: Fraction, cutoff: int
) -> None:
    sieve = m.SparseVector(epsilon=epsilon, cutoff=cutoff)
    radius = sieve.within(Reading(sensitivity=Sensitivity.scalar(1)), confidence).radius
    threshold, noise = sieve.opening(), sieve.query_noise()
    reach = threshold.radius(Fraction(999999, 1000000))
    # A value radius + 1 below its threshold passes iff noise - threshold's noise >= radius + 1.
    wrong = sum(
        float(threshold.pmf(z).upper) * float(noise.tail(radius + 1 + z).upper)
        for z in range(-reach, reach + 1)
    )
    assert wrong <= float(1 - confidence) + 1e-12
