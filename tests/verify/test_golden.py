"""The production sparse vector beside the known values of FORMULAS 10.

They are for noise of ratio exactly 1/2, and a scale that is served is a float64 (R9): the
nearest one has a ratio that is off by about 1e-16, and so are the worst cases.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

import interlace as il

#: Three times log 2 from above, of which the threshold gets a third: both noises have one scale.
EPSILON = Fraction(3 * 69314718055994530942, 10**20)
VALUES = [(0, 0), (0, 1), (1, 0), (1, 1)]
NEAR = 2e-15


@pytest.mark.parametrize(
    ("rounds", "at_one", "at_two", "ratio"),
    [
        (1, Fraction(4, 27), Fraction(0), Fraction(11, 7)),
        (2, Fraction(4, 27), Fraction(4, 63), Fraction(11, 4)),
        (3, Fraction(298, 1701), Fraction(188, 2835), Fraction(239, 49)),
    ],
)
def test_its_worst_cases_are_the_known_ones(
    rounds: int, at_one: Fraction, at_two: Fraction, ratio: Fraction
) -> None:
    mechanism = il.mechanisms.SparseVector(epsilon=EPSILON, threshold_share=Fraction(1, 3))
    assert mechanism.opening() == mechanism.query_noise()
    assert math.exp(-1 / mechanism.opening().scale) == pytest.approx(0.5, abs=1e-15)
    report = il.verify(mechanism, rounds=rounds, values=VALUES)
    for epsilon, delta in ((Fraction(0), at_one), (Fraction(69314718055994530942, 10**20), at_two)):
        low, high = report.findings.delta(epsilon)
        assert high - low <= 1e-15
        assert abs(low - delta) <= NEAR
    low, high = report.points[-1].worst
    assert high - low <= 2e-15
    assert abs(low - math.log(ratio)) <= NEAR
