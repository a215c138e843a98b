"""The verifier's intervals contain the worst cases that are computed without it."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from mpmath import mp

import interlace as il
from interlace.core.mechanisms import Gaussian, GuessAndCheck, Laplace, SparseVector
from interlace.core.mechanisms.protocol import Mechanism
from interlace.verify import Question, Report, verify
from tests.verify.referee import (
    DIGITS,
    Game,
    Pair,
    Small,
    above,
    exactly,
    geometric,
    sparse_vector,
)

SQUARE: list[Pair] = [(0, 0), (0, 1), (1, 0), (1, 1)]
SWAPPED: list[Pair] = [(0, 1), (1, 0)]


def contains(span: tuple[float, float], value: object) -> bool:
    low, high = map(exactly, span)
    return bool(low <= value <= high)


def narrow(report: Report) -> bool:
    return all(p.worst[1] - p.worst[0] <= 1e-12 for p in report.points)


SPARSE = [
    (SparseVector(epsilon=1), 2, SQUARE),
    (SparseVector(epsilon=1, cutoff=2), 3, SWAPPED),
    (SparseVector(epsilon=3, cutoff=2, threshold_share=0.5), 3, SQUARE),
    (SparseVector(epsilon=2, sensitivity=2), 2, [(0, 2), (1, 0), (5, 3)]),
    (SparseVector(epsilon=1.5, monotone=True), 3, [(0, 1), (1, 1), (-1, 0)]),
]


@pytest.mark.parametrize(("mechanism", "rounds", "pairs"), SPARSE, ids=str)
def test_a_sparse_vector(mechanism: SparseVector, rounds: int, pairs: list[Pair]) -> None:
    report = verify(mechanism, rounds=rounds, values=pairs, epsilon=[0.1, 0.3])
    with mp.workdps(DIGITS):
        game = sparse_vector(mechanism, pairs, rounds)
        for point in report.points:
            exact = game.delta(mp.exp(exactly(point.at))) if point.kind == "delta" else None
            assert contains(point.worst, game.epsilon() if exact is None else exact), point
    assert narrow(report)
    assert report.points[-1].at == 0


def test_the_default_questions_are_all_pairs_around_the_threshold() -> None:
    mechanism = SparseVector(epsilon=1)
    report, same = verify(mechanism, rounds=2), verify(mechanism, rounds=2, values=SQUARE)
    assert report.questions == tuple(f"({a}, {b}) >= 0" for a, b in SQUARE)
    assert report.points == same.points
    # The mirror image of a comparison is one with the mirror image of the values.
    mirrored = [Question(-a, -b, at_most=0) for a, b in SQUARE]
    assert verify(mechanism, rounds=2, values=mirrored).points == report.points
    moved = [Question(a + 7, b + 7, at_least=7) for a, b in SQUARE]
    assert verify(mechanism, rounds=2, values=moved).points == report.points


GOLDEN = [
    ((1, 1), [Fraction(4, 27), 0, 0], Fraction(11, 7)),
    ((1, 2), [Fraction(4, 27), Fraction(4, 63), 0], Fraction(11, 4)),
    (
        (1, 3),
        [Fraction(298, 1701), Fraction(188, 2835), Fraction(172, 8505)],
        Fraction(239, 49),
    ),
]


@pytest.mark.parametrize(("size", "deltas", "ratio"), GOLDEN)
@pytest.mark.parametrize("declared", [True, False])
def test_the_sparse_vector_with_halves(
    size: tuple[int, int], deltas: list[Fraction], ratio: Fraction, declared: bool
) -> None:
    # FORMULAS 10, exact rationals; here through the protocol.
    cutoff, rounds = size
    report = verify(Small(cutoff=cutoff, declared=declared), rounds=rounds, values=SQUARE)
    for factor, delta in zip((1, 2, 4), deltas, strict=True):
        exact = report.pair.delta(exp_epsilon=factor)
        assert abs(Fraction(exact) - delta) <= Fraction(report.distance) * (1 + factor)
    assert contains(report.findings.delta(Fraction(0)), exactly(deltas[0]))
    with mp.workdps(DIGITS):
        found = report.points[-1]
        assert found.kind == "epsilon"
        if declared:
            assert contains(found.worst, mp.log(exactly(ratio)))
            assert narrow(report)
        else:
            # Epsilon at a delta of 1e-12 is a little less.
            assert found.at == Fraction(1, 10**12)
            assert found.worst[1] == pytest.approx(math.log(ratio), abs=1e-8)


@pytest.mark.soak
@pytest.mark.parametrize(("cutoff", "rounds"), [(1, 11), (2, 9)])
def test_many_rounds_come_near_the_claim(cutoff: int, rounds: int) -> None:
    # Lyu, Su and Li: epsilon however many questions there are.
    reached = [
        verify(SparseVector(epsilon=1, cutoff=cutoff), rounds=t, values=SWAPPED).points[-1].worst
        for t in (rounds - 4, rounds)
    ]
    assert 0.7 < reached[0][0] < reached[1][0]
    assert reached[1][1] <= 1


def test_two_sparse_vectors_at_once() -> None:
    # FORMULAS 10: the best interleaving adversary.
    report = verify(Small(), rounds=2, values=SWAPPED)
    both = il.interleave(report.pair, report.pair)
    for factor, delta in ((1, Fraction(424, 1701)), (2, Fraction(424, 3969))):
        off = abs(Fraction(both.delta(exp_epsilon=factor)) - delta)
        assert off <= 2 * Fraction(report.distance) * (1 + factor)


@pytest.mark.parametrize("answers", [1, 2, 3])
def test_laplace_is_randomised_response(answers: int) -> None:
    mechanism = Laplace(scale=2, answers=answers)
    places = [0.1, 0.3, 0.7, 1.2]
    report = verify(mechanism, epsilon=places)
    assert report.verdict == "tight"
    with mp.workdps(DIGITS):
        whole = mp.exp(mp.mpf(1) / 2)
        for point in report.points[:-1]:
            terms = [
                math.comb(answers, k) * max(whole ** (answers - k) - mp.exp(e) * whole**k, 0)
                for e in [exactly(point.at)]
                for k in range(answers + 1)
            ]
            assert contains(point.worst, mp.fsum(terms) / (1 + whole) ** answers)
        assert contains(report.points[-1].worst, mp.mpf(answers) / 2)
    assert narrow(report)
    assert len(report.pair.graph()) <= 10


@pytest.mark.parametrize(("scale", "shift"), [(Fraction(5, 2), 3), (Fraction(3, 4), 2)])
def test_laplace_of_a_larger_sensitivity(scale: Fraction, shift: int) -> None:
    report = verify(Laplace(scale=scale, sensitivity=shift), epsilon=[0.25, 1])
    with mp.workdps(DIGITS):
        for point in report.points[:-1]:
            factor = mp.exp(exactly(point.at))
            terms = [
                max(geometric(scale, z) - factor * geometric(scale, z - shift), 0)
                for z in range(-300, 300)
            ]
            assert contains(point.worst, mp.fsum(terms))
        assert contains(report.points[-1].worst, exactly(shift / scale))


@pytest.mark.parametrize(("sigma", "shift"), [(2, 1), (1.5, 2), (0.75, 1)])
def test_the_gaussian(sigma: float, shift: int) -> None:
    mechanism = Gaussian(sigma=sigma, sensitivity=shift)
    report = verify(mechanism, epsilon=[0.2, 1, 2])
    with mp.workdps(DIGITS):
        weight = [mp.exp(-(mp.mpf(z) ** 2) / (2 * mp.mpf(sigma) ** 2)) for z in range(100)]
        total = weight[0] + 2 * mp.fsum(weight[1:])

        def tail(start: object) -> object:
            # FORMULAS 8.4: P(Y > start).
            first = int(mp.floor(start)) + 1
            return mp.fsum(weight[abs(z)] for z in range(first, 100)) / total

        for point in report.points[:-1]:
            middle = exactly(point.at) * mp.mpf(sigma) ** 2 / shift
            half = mp.mpf(shift) / 2
            exact = tail(middle - half) - mp.exp(exactly(point.at)) * tail(middle + half)
            assert contains(point.worst, exact), point
    assert all(p.worst[1] - p.worst[0] <= 1e-12 for p in report.points[:-1])
    assert report.verdict == "slack"


def test_guess_and_check() -> None:
    mechanism = GuessAndCheck(epsilon=0.7, tolerance=10)
    b, n = mechanism.check.opening().scale, mechanism.check.query_noise().scale
    m = mechanism.measure.scale
    secrets, values = range(-60, 61), range(-60, 61)
    report = verify(mechanism, rounds=2, values=SWAPPED, epsilon=[0.5, 1])

    def laws(bit: int, public: int, pair: Pair) -> dict[object, tuple[int, list[object]]]:
        if public == 0:
            return {"halted": (0, [mp.mpf(1)] * len(secrets))}
        # |value - guess| - tolerance is the value.
        off = [above(n, z - pair[bit]) for z in secrets]
        found: dict[object, tuple[int, list[object]]] = {"no": (1, [1 - p for p in off])}
        for v in values:
            share = geometric(m, v - pair[bit])
            found[v] = (0, [p * share for p in off])
        return found

    with mp.workdps(25):
        opening = [geometric(b, z) for z in secrets]
        game = Game(opening, laws, SWAPPED, 2, 1)
        for point in report.points[:2]:
            # The sums above leave out less than 1e-17.
            exact = game.delta(mp.exp(exactly(point.at)))
            assert abs(exact - exactly(point.worst[1])) < 1e-15
    assert report.verdict == "slack"
    assert all(p.worst[1] - p.worst[0] <= 1e-12 for p in report.points)
    for whole, parts in zip(report.points, report.parts, strict=True):
        assert whole.worst[0] <= parts.worst[1]
        assert parts.worst[1] <= parts.claimed + 1e-12


def test_a_guarantee_of_another_kind_can_be_judged() -> None:
    mechanism: Mechanism = Laplace(scale=1)
    rho = il.ZCDP(Fraction(1, 2))
    assert verify(mechanism, claim=rho).verdict == "slack"
    assert verify(mechanism, claim=il.ApproxDP(0.9, 0.01)).verdict == "violated"
    assert verify(mechanism, claim=il.ApproxDP(0.9, 0.1)).verdict != "violated"
