"""Losses as values: what they accept, how they print, equality, groups."""

from __future__ import annotations

import math
import pickle
import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import interlace as il
from interlace.core.errors import ParameterError
from interlace.core.guarantees import Relation
from interlace.core.guarantees.losses import (
    BoundedRange,
    DiscreteGaussian,
    DiscreteLaplace,
    Pair,
    PrivacyLoss,
    RandomisedResponse,
    RoundedGaussian,
    TradeOff,
)

ALL: list[PrivacyLoss] = [
    DiscreteLaplace(0.1, 3),
    DiscreteGaussian(Fraction(22, 7)),
    RoundedGaussian(2.5, 2, relation=Relation.CHANGE_ONE),
    RandomisedResponse(1, 3),
    BoundedRange(Decimal("0.25")),
    Pair([0.5, 0.5], [0.1, 0.9]),
    Pair([Fraction(1, 3), Fraction(2, 3)], [1, 0]),
    TradeOff([(0, 1), (0.25, 0.25), (1, 0)], relation=Relation.CHANGE_ONE),
]


def test_they_are_public_guarantees() -> None:
    assert all(isinstance(loss, il.Guarantee) for loss in ALL)
    assert {type(loss).__name__ for loss in ALL} < set(il.losses.__all__)
    assert il.losses.DiscreteGaussian is DiscreteGaussian


@pytest.mark.parametrize("loss", ALL, ids=str)
def test_they_are_exact_values(loss: PrivacyLoss) -> None:
    loss.delta(0.1)
    loss.atoms()
    assert pickle.loads(pickle.dumps(loss)) == loss  # noqa: S301 - our own bytes
    assert hash(pickle.loads(pickle.dumps(loss))) == hash(loss)  # noqa: S301 - our own bytes
    names = {name: getattr(il.losses, name) for name in il.losses.__all__}
    source = repr(loss).replace("Relation.CHANGE_ONE", "R")
    found = eval(source, {**names, "Fraction": Fraction, "R": Relation.CHANGE_ONE})  # noqa: S307 - our own repr
    assert found == loss
    assert loss.group(1) == loss
    with pytest.raises(AttributeError):
        loss.relation = Relation.CHANGE_ONE


def test_they_print_briefly() -> None:
    assert str(DiscreteLaplace(Fraction(1, 3), 2)) == "DiscreteLaplace(1/3, 2)"
    many = [Fraction(k, 15) for k in range(1, 6)]
    assert str(Pair(many, many[::-1])) == "Pair of 5 outcomes"
    assert str(TradeOff.of(Pair(many, many[::-1]))) == "TradeOff of 6 points"
    assert str(Pair([0.5, 0.5], [0.25, 0.75])) == "Pair([0.5, 0.5], [0.75, 0.25])"


@pytest.mark.parametrize(
    "bad", [math.nan, math.inf, -math.inf, -1, -0.1, True, "1", None, Decimal("NaN"), 1j, [1]]
)
def test_bad_parameters_are_refused_by_name(bad: Any) -> None:
    for name, make in (
        ("scale", lambda: DiscreteLaplace(bad)),
        ("sigma", lambda: DiscreteGaussian(bad)),
        ("sigma", lambda: RoundedGaussian(bad)),
        ("epsilon", lambda: RandomisedResponse(bad)),
        ("eta", lambda: BoundedRange(bad)),
        (r"p\[1\]", lambda: Pair([1, bad], [1, 0])),
        (r"points\[1\]", lambda: TradeOff([(0, 1), (bad, 0)])),
        ("delta", lambda: BoundedRange(1).epsilon(bad)),
        ("epsilon", lambda: DiscreteGaussian(1).delta(bad)),
    ):
        with pytest.raises(ParameterError, match=rf"^{name}: "):
            make()


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, 2**62 + 1, None, "2"])
def test_bad_shifts_and_counts_are_refused_by_name(bad: Any) -> None:
    for kind in (DiscreteLaplace, DiscreteGaussian, RoundedGaussian):
        with pytest.raises(ParameterError, match=r"^shift: "):
            kind(2**40, bad)
    with pytest.raises(ParameterError, match=r"^categories: "):
        RandomisedResponse(1, bad if bad != 2**62 + 1 else 1)
    for loss in ALL:
        if bad != 2**62 + 1:
            with pytest.raises(ParameterError, match=r"^size: "):
                loss.group(bad)


def test_losses_that_protect_nobody_and_laws_out_of_range_are_refused() -> None:
    for make in (
        lambda: DiscreteLaplace(1, 10**12 + 1),
        lambda: DiscreteGaussian(1, 10**4 + 1),
        lambda: RoundedGaussian(1, 10**4 + 1),
        lambda: DiscreteGaussian(1, 10**4).group(2),
        lambda: DiscreteLaplace(2**40, 2**61).group(4),
    ):
        with pytest.raises(ParameterError, match=r"^shift: "):
            make()
    for sigma in (Fraction(1, 2**31), 2**41, 0):
        with pytest.raises(ParameterError, match=r"^sigma: "):
            DiscreteGaussian(sigma)
    with pytest.raises(ParameterError, match=r"^relation: "):
        BoundedRange(1, relation="add_remove")  # type: ignore[arg-type]  # the refusal is tested


@pytest.mark.parametrize(
    ("p", "q", "name"),
    [
        ([0.5, 0.4], [0.5, 0.5], "p"),
        ([0.5, 0.5], [0.5, 0.5000001], "q"),
        ([1], [0.5, 0.5], "q"),
        ({"a": 1}, [1], "q"),
        ([1], {"a": 1}, "q"),
        ("1", [1], "p"),
        ([], [], "p"),
        (5, [1], "p"),
        ({"a": 0.3}, {"b": 1}, "p"),
        ([Fraction(1, 2**4000 + k) for k in range(2, 9)], [1], "p"),
        ((Fraction(1, 70000) for _ in range(70000)), [1], "p"),
    ],
)
def test_what_is_no_pair_is_refused(p: Any, q: Any, name: str) -> None:
    with pytest.raises(ParameterError, match=rf"^{name}: "):
        Pair(p, q)


@pytest.mark.parametrize(
    ("points", "name"),
    [
        ([], "points"),
        ([(0, 1)], "points"),
        ([(0.1, 0.9), (1, 0)], "points"),
        ([(0, 1), (0.5, 0.6), (1, 0)], r"points\[1\]"),
        ([(0, 1), (0.5, 0.1), (0.4, 0)], "points"),
        ([(0, 0.5), (0.5, 0.6), (1, 0)], "points"),
        ([(0, 1), (0.5, 0.1)], "points"),
        ([(0, 1), 5], r"points\[1\]"),
        ([(0, 1), (0.5, 0.1, 3)], r"points\[1\]"),
        ("01", "points"),
        (7, "points"),
    ],
)
def test_what_is_no_trade_off_curve_is_refused(points: Any, name: str) -> None:
    with pytest.raises(ParameterError, match=rf"^{name}: "):
        TradeOff(points)


def test_every_way_to_write_a_number_is_one_value() -> None:
    assert (
        DiscreteLaplace(0.1) == DiscreteLaplace(Fraction(1, 10)) == DiscreteLaplace(Decimal("0.1"))
    )
    three: Any = np.int64(3)
    assert DiscreteGaussian(np.float64(0.5), three) == DiscreteGaussian(0.5, 3)
    assert Pair(np.array([0.5, 0.5]), (0.25, 0.75)) == Pair([0.5, 0.5], [0.25, 0.75])
    assert TradeOff([(0, 1), (0.5, 0.5), (1, 0)]) == TradeOff([(0, 1), (1, 0)])
    assert TradeOff([(0, 1), (0.4, 0)]) == TradeOff([(0, 1), (0.4, 0), (1, 0)])


def test_groups() -> None:
    assert DiscreteLaplace(2, 3).group(4) == DiscreteLaplace(2, 12)
    assert DiscreteGaussian(2, 3).group(4) == DiscreteGaussian(2, 12)
    assert RoundedGaussian(2, 3).group(4) == RoundedGaussian(2, 12)
    assert RandomisedResponse(0.5).group(4) == RandomisedResponse(2)
    for loss in (DiscreteLaplace(2), DiscreteGaussian(3), RoundedGaussian(3), BoundedRange(0.3)):
        for e in (0, 0.2, 1.0):
            assert loss.delta(e) <= loss.group(2).delta(e) <= loss.group(5).delta(e)


def test_large_pairs_are_served_in_time() -> None:
    n = 20_000
    p = [Fraction(2 * k + 1, n * n) for k in range(n)]
    start = time.perf_counter()
    pair = Pair(p, p[::-1])
    assert pair.symmetric
    assert pair.delta(0) == pytest.approx(0.5, rel=1e-4)
    assert len(pair.atoms(most=500).losses) <= 500
    assert time.perf_counter() - start < 60
