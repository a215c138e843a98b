"""Lemma 4 and Claim 3: equality at the extremal function, and no other breaks the bound."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from interlace.core.errors import CheckFailed, ParameterError
from interlace.core.finite.holder import HolderWitness, holder_witness
from interlace.core.finite.laws import History
from interlace.core.finite.pair import FinitePair
from tests.core.finite.random_pairs import random_pair, randomised_response, sparse_vector
from tests.effort import examples


def best_moment(pair: FinitePair, bit: int, alpha: int) -> Fraction | None:
    """The largest Σ P^α Q^(1-α), conditional after conditional; None where it is infinite."""

    def best(history: History) -> Fraction | None:
        if len(history) == pair.rounds:
            return Fraction(1)
        found = []
        for query in pair.queries:
            p, q = (pair.law(b, history, query) for b in (bit, 1 - bit))
            if any(y not in q for y in p):
                return None
            total = Fraction(0)
            for y in p:
                rest = best((*history, (query, y)))
                if rest is None:
                    return None
                total += Fraction(p[y]) ** alpha / Fraction(q[y]) ** (alpha - 1) * rest
            found.append(total)
        return max(found)

    return best(())


@given(st.integers(0, 2**32), st.sampled_from([2, 3, 7]))
@settings(max_examples=examples(60))
def test_both_sides_meet_at_the_extremal_function(seed: int, alpha: int) -> None:
    pair = random_pair(seed)
    moments = [best_moment(pair, bit, alpha) for bit in (0, 1)]
    if None in moments:
        with pytest.raises(ParameterError, match="infinite"):
            holder_witness(pair, alpha)
        return
    witness = holder_witness(pair, alpha)
    assert witness.moment == max(m for m in moments if m is not None) == moments[witness.bit]
    witness.check()
    for depth in range(pair.rounds + 1):
        left, right = witness.sides(depth)
        assert left == witness.moment
        assert right.contains(left)
        assert right.upper - right.lower < Fraction(1, 10**40) * (1 + left)


@given(st.integers(0, 2**32), st.sampled_from([2, 5]), st.data())
@settings(max_examples=examples(40))
def test_no_other_function_breaks_the_inequality(
    seed: int, alpha: int, data: st.DataObject
) -> None:
    pair = random_pair(seed)
    assume(all(best_moment(pair, bit, alpha) is not None for bit in (0, 1)))
    witness = holder_witness(pair, alpha)
    depth = data.draw(st.integers(0, pair.rounds))
    values = {
        row.history: data.draw(st.fractions(0, 3, max_denominator=9))
        for row in witness.levels[depth]
    }
    assert witness.holds(depth, values.__getitem__)
    # Close to the extremal function it is nearly tight, and still holds.
    near = {row.history: Fraction(witness.extremal(row).lower) for row in witness.levels[depth]}
    assert witness.holds(depth, near.__getitem__)


def test_a_smaller_divergence_is_broken_by_the_extremal_function() -> None:
    witness = holder_witness(sparse_vector(2), 2)
    smaller = replace(witness, moment=witness.moment * (1 - Fraction(1, 10**9)))
    for depth in range(3):
        near = {row.history: Fraction(witness.extremal(row).lower) for row in witness.levels[depth]}
        assert witness.holds(depth, near.__getitem__)
        assert not smaller.holds(depth, near.__getitem__)
    with pytest.raises(CheckFailed, match=r"^levels\[0\]"):
        smaller.check()


@pytest.mark.parametrize(("rounds", "text"), [(1, "39/35"), (2, "58/45"), (3, "4431603/3186470")])
def test_golden_moments_of_the_sparse_vector(rounds: int, text: str) -> None:
    # FORMULAS 10, computed independently.
    witness = holder_witness(sparse_vector(rounds), 2)
    assert witness.moment == Fraction(text)
    witness.check()


def test_moments_of_repeated_randomised_response_are_powers() -> None:
    # Theorem 2 of Lyu: one copy has 9/4 · 1/4 · ... = 7/3 at alpha 2 for e^eps = 3.
    for rounds in (1, 2, 3):
        witness = holder_witness(randomised_response(Fraction(3), rounds), 2)
        assert witness.moment == Fraction(7, 3) ** rounds
        assert [len(level) for level in witness.levels] == [2**t for t in range(rounds + 1)]


def changed(witness: HolderWitness, depth: int, name: str) -> HolderWitness:
    row = witness.levels[depth][0]
    worse = replace(row, **{name: getattr(row, name) * Fraction(101, 100)})
    levels = list(witness.levels)
    levels[depth] = (worse, *levels[depth][1:])
    return replace(witness, levels=tuple(levels))


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("name", ["p", "q", "rest"])
def test_a_witness_with_a_number_changed_is_refused(depth: int, name: str) -> None:
    witness = holder_witness(randomised_response(Fraction(3), 2), 3)
    with pytest.raises(CheckFailed, match=r"^levels"):
        changed(witness, depth, name).check()


def test_bad_arguments_are_refused() -> None:
    pair = randomised_response(Fraction(3), 1)
    for alpha in (1, 65, True):
        with pytest.raises(ParameterError, match=r"^alpha"):
            holder_witness(pair, alpha)
    witness = holder_witness(pair, 2)
    for depth in (-1, 2):
        with pytest.raises(ParameterError, match=r"^depth"):
            witness.sides(depth)
    with pytest.raises(ParameterError, match=r"^h"):
        witness.holds(1, lambda _: -1)
