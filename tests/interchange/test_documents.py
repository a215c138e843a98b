"""Guarantees as JSON: what is written is read back equal, and nothing else is read."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlace as il
from interlace.interchange import from_json, to_json

CHANGE = il.Relation.CHANGE_ONE
THIRD = Fraction(1, 3)

EVERY: list[Any] = [
    il.PureDP(THIRD),
    il.ApproxDP(1, 1e-6, relation=CHANGE),
    il.ZCDP(THIRD),
    il.TCDP(1, Fraction(9, 4)),
    il.RenyiDP(8, THIRD),
    il.GaussianDP(THIRD),
    il.losses.DiscreteLaplace(THIRD, 2),
    il.losses.DiscreteGaussian(THIRD, 2, relation=CHANGE),
    il.losses.RoundedGaussian(2.5),
    il.losses.RandomisedResponse(THIRD, 5),
    il.losses.BoundedRange(0.3),
    il.losses.Pair([THIRD, 1 - THIRD], [0.5, 0.5]),
    il.losses.TradeOff([(0, 1), (0.25, 0.25), (1, 0)]),
    il.Batch([0.1, 0.3, 0.2], [0, 1e-6, 0]),
    il.compose([]),
]


@pytest.mark.parametrize("guarantee", EVERY)
def test_every_guarantee_is_read_back(guarantee: Any) -> None:
    found = from_json(to_json(guarantee))
    assert found == guarantee
    assert type(found) is type(guarantee)
    together = il.compose([(guarantee, 3)])
    assert from_json(to_json(together)) == together


def test_a_mixture_is_read_back() -> None:
    mixture = il.compose([(g, n) for n, g in enumerate(EVERY, 1) if g.relation is not CHANGE])
    assert from_json(to_json(mixture)) == mixture


@given(st.fractions(0, 50), st.fractions(0, 1), st.integers(1, 10**12))
def test_any_numbers_are_exact(epsilon: Fraction, delta: Fraction, count: int) -> None:
    together = il.compose([(il.ApproxDP(epsilon, delta), count)])
    assert from_json(to_json(together)) == together
    many = il.compose([(together, 1)] * 1000) if count > 10**11 else together
    assert from_json(to_json(many)) == many


def test_the_form_is_the_one_that_was_published() -> None:
    # Version 1 stays readable: this text was written by hand.
    text = """{"format": "interlace-guarantee", "version": 1, "relation": "add_remove",
        "composition": [
            {"count": 3, "guarantee":
                {"notion": "approximate", "relation": "add_remove", "epsilon": "1/10", "delta": "0"}},
            {"count": 1, "guarantee":
                {"loss": "discrete_laplace", "relation": "add_remove", "scale": "5/2", "shift": 2}}]}"""
    assert from_json(text) == il.compose(
        [(il.ApproxDP(0.1, 0), 3), il.losses.DiscreteLaplace(2.5, 2)]
    )


def changed(guarantee: Any, **fields: Any) -> str:
    return json.dumps(json.loads(to_json(guarantee)) | fields)


LAPLACE = il.losses.DiscreteLaplace(2.5, 3)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "text"),
        ("[]", "format"),
        ("{}", "format"),
        ("[" * 100_000, "text"),
        (changed(LAPLACE, format="other"), "format"),
        (changed(LAPLACE, version=2), "version"),
        (changed(LAPLACE, version=True), "version"),
        (changed(LAPLACE, version=1.0), "version"),
        (changed(LAPLACE, more=1), "text"),
        (changed(LAPLACE, relation="other"), "relation"),
        (changed(LAPLACE, loss="other"), "loss"),
        (changed(LAPLACE, loss=["pair"]), "loss"),
        (changed(LAPLACE, scale="2.5"), "scale"),
        (changed(LAPLACE, scale=2.5), "scale"),
        (changed(LAPLACE, scale="1/0"), "scale"),
        (changed(LAPLACE, scale="-1"), "scale"),
        (changed(LAPLACE, scale="10/4"), "text"),
        (changed(LAPLACE, scale="1" * 5000), "scale"),
        (changed(LAPLACE, shift="3"), "shift"),
        (changed(LAPLACE, shift=3.0), "shift"),
        (changed(LAPLACE, shift=True), "shift"),
        (changed(LAPLACE, shift=0), "shift"),
        (changed(LAPLACE, scale=float("nan")), "text"),
        (to_json(LAPLACE).replace('"shift": 3', '"shift": 3, "shift": 4'), "text"),
        (changed(il.PureDP(1), epsilon="-1"), "epsilon"),
        (changed(il.PureDP(1), more="1"), "guarantee"),
        (changed(il.Batch([0.1]), batch=["0.10"]), "batch"),
        (changed(il.Batch([0.1]), batch=["nan"]), "epsilons"),
        (changed(il.Batch([0.1]), batch=["0.3", "0.1"]), "text"),
        (changed(il.Batch([0.1]), deltas=["0.1", "0.2"]), "deltas"),
        (changed(il.Batch([0.1]), deltas=None), "deltas"),
        (changed(EVERY[11], p=["1"]), "q"),
        (changed(EVERY[11], p=["1/3", "1/3"]), "p"),
        (changed(EVERY[11], q="1"), "q"),
        (changed(EVERY[12], points=[["0", "1", "1"]]), "points"),
        (changed(EVERY[12], points=["0"]), "points"),
    ],
)
def test_anything_else_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(il.ParameterError, match=rf"^{named}"):
        from_json(text)


def part(guarantee: Any, count: Any = 1) -> dict[str, Any]:
    body = json.loads(to_json(guarantee))
    return {
        "count": count,
        "guarantee": {k: body[k] for k in body if k not in {"format", "version"}},
    }


@pytest.mark.parametrize(
    ("parts", "named"),
    [
        (3, "composition"),
        ([3], "composition"),
        ([{"count": 1}], "composition"),
        ([part(il.PureDP(1), 0)], "count"),
        ([part(il.PureDP(1), True)], "count"),
        ([part(il.PureDP(1), 1.5)], "count"),
        ([part(il.PureDP(1), 10**30)], "count"),
        ([{"count": 1, "guarantee": 3}], "guarantee"),
        ([part(il.compose([il.PureDP(1)]))], "guarantee"),
        ([part(il.PureDP(2)), part(il.PureDP(1))], "parts"),
        ([part(il.PureDP(1)), part(il.PureDP(1))], "parts"),
    ],
)
def test_compositions_are_read_in_their_normal_form(parts: Any, named: str) -> None:
    with pytest.raises(il.ParameterError, match=rf"^{named}"):
        from_json(changed(il.compose([]), composition=parts))


def test_mixed_neighbours_are_refused() -> None:
    other = part(il.PureDP(2, relation=CHANGE))
    for parts in ([other], [part(il.PureDP(1)), other]):
        with pytest.raises(il.RelationMismatch):
            from_json(changed(il.compose([]), composition=parts))


def test_only_guarantees_are_written() -> None:
    class Own(il.PureDP):
        """A notion of the caller's."""

    for bad in (None, "text", il.mechanisms.Laplace(scale=1), Own(1)):
        with pytest.raises(il.ParameterError, match="guarantee"):
            to_json(bad)  # type: ignore[arg-type]  # what is refused
    with pytest.raises(il.ParameterError, match="text"):
        from_json(b"{}")  # type: ignore[arg-type]  # what is refused
