"""Certificates: every step proved anew, by the package's second program and by arb."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.composition.value_filters import (
    Child,
    GaussianChild,
    PureChild,
    Reach,
    Residue,
    Rule,
    certificate,
    recheck,
)
from interlace.core.errors import CheckFailed
from tests.effort import examples

REACH = Reach.of(Fraction("4.8866"), Fraction(1, 10**6), Fraction(1, 10**7))


def _history(rule: Rule, children: list[Child]) -> dict[str, Any]:
    state = start = rule.start()
    kept = []
    for child in children:
        after = rule.step(state, child)
        if after is not None:
            kept.append((child, 1, after))
            state = after
    return json.loads(json.dumps(certificate(rule, start, kept)))  # type: ignore[no-any-return]


def _mixed(seed: int, gaussians: bool) -> list[Child]:
    draw = random.Random(seed)
    found: list[Child] = []
    for _ in range(25):
        if gaussians and draw.random() < 0.2:
            found.append(GaussianChild.of(Fraction(draw.randint(1, 300), 1000)))
        else:
            leak = Fraction(draw.choice([0, 0, 1, 2]), 10**8)
            size = draw.choice([Fraction(1, 1000), Fraction(1, 20), Fraction(1, 2)])
            found.append(PureChild(size * draw.randint(1, 8) / 3, leak))
    return found


@settings(max_examples=examples(12), deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans())
def test_every_step_is_proved_anew(seed: int, gaussians: bool, large: bool) -> None:
    rules: list[Rule] = [REACH, Residue.of(mu_squared=25 if large else 1, structural=REACH.delta)]
    for rule in rules:
        document = _history(rule, _mixed(seed, gaussians))
        assert recheck(document) == len(document["steps"]) > 0


def _arb(x: str | Fraction) -> Any:
    exact = Fraction(x)
    return flint.arb(exact.numerator) / flint.arb(exact.denominator)


def _normal(x: Any) -> Any:
    return (-x / flint.arb(2).sqrt()).erfc() / 2


def _value(y: Any, w: str) -> Any:
    if w == "0":
        return (1 - (-y).exp()) if y > 0 else flint.arb(0)
    root = _arb(w).sqrt()
    return _normal(y / root + root / 2) - (-y).exp() * _normal(y / root - root / 2)


@pytest.mark.parametrize("mu_squared", [1, 25, 450, 2000])
def test_arb_proves_every_step_too(mu_squared: int) -> None:
    # Up to w = 2000: there 1 - Phi is about 1e-110.
    flint.ctx.prec = 1600
    try:
        for rule in (REACH, Residue.of(mu_squared=mu_squared, structural=REACH.delta)):
            for step in _history(rule, _mixed(mu_squared, gaussians=True))["steps"]:
                if step["kind"] == "gaussian" or step["epsilon"] == "0":
                    continue
                y0, epsilon = _arb(step["y0"]), _arb(step["epsilon"])
                p = 1 / (1 + (-epsilon).exp())
                up, down = _value(epsilon - y0, step["after"]), _value(-epsilon - y0, step["after"])
                assert p * up + (1 - p) * down <= _value(-y0, step["w"])
    finally:
        flint.ctx.prec = 53


def test_large_budgets_are_proved_anew() -> None:
    document = _history(Residue.of(mu_squared=450), [PureChild.of(e) for e in (0.1, 1, 3, 20)])
    assert recheck(document) == 4


Change = Callable[[dict[str, Any]], object]


def _raise_after(document: dict[str, Any]) -> None:
    # By a thousandth of what the step cost, and passed on to the next.
    step, following = document["steps"][2:4]
    w, after = Fraction(step["w"]), Fraction(step["after"])
    step["after"] = following["w"] = str(after + (w - after) / 1000)


CHANGES: dict[str, Change] = {
    "a step costs too little": _raise_after,
    "the start is too wide": lambda d: _start(d, Fraction(d["start"]["w"]) * Fraction(1001, 1000)),
    "a y0 is too far": lambda d: d["steps"][3].update(y0=str(Fraction(d["steps"][3]["y0"]) + 1)),
    "a step is left out": lambda d: d["steps"].pop(1),
    "an epsilon is larger": lambda d: d["steps"][1].update(epsilon="3/2"),
    "w grows": lambda d: d["steps"][-1].update(after=d["start"]["w"]),
    "a delta is larger": lambda d: d["steps"][0].update(delta="1/1000"),
    "a number is negative": lambda d: d["steps"][0].update(y0="-1"),
    "a number is none": lambda d: d["steps"][0].update(epsilon="1/0"),
    "a number is missing": lambda d: d["steps"][0].pop("w"),
    "another kind": lambda d: d["steps"][0].update(kind="discrete gaussian"),
    "a Gaussian takes more": lambda d: d["steps"][0].update(kind="gaussian", mu_squared="1/2"),
    "another rule": lambda d: d.update(rule="optimal"),
    "another budget": lambda d: d.update(delta="1/10000000000"),
    "all of delta for parts": lambda d: d.update(structural="1"),
    "another format": lambda d: d.update(version=2),
    "no steps": lambda d: d.update(steps="none"),
    "no step": lambda d: d["steps"].insert(0, 1),
}


def _start(document: dict[str, Any], w: Fraction) -> None:
    document["start"]["w"] = document["steps"][0]["w"] = str(w)


@pytest.mark.parametrize("change", CHANGES)
def test_what_is_not_so_is_not_proved(change: str) -> None:
    children: list[Child] = [PureChild.of(Fraction(n, 10)) for n in (3, 1, 4, 2, 5)]
    document = _history(REACH, children)
    assert recheck(copy.deepcopy(document)) == 5
    CHANGES[change](document)
    with pytest.raises(CheckFailed):
        recheck(document)


@pytest.mark.parametrize("document", [None, [], "reach", {}])
def test_what_is_no_certificate_is_refused(document: object) -> None:
    with pytest.raises(CheckFailed):
        recheck(document)


def test_a_residue_certificate_may_not_start_above_its_budget() -> None:
    document = _history(Residue.of(mu=1), [PureChild.of(0.1)])
    document["mu_squared"] = "99/100"
    with pytest.raises(CheckFailed, match="mu_squared"):
        recheck(document)


def test_y0_is_0_after_a_gaussian() -> None:
    document = _history(REACH, [GaussianChild.of(Fraction(1, 10)), PureChild.of(0.1)])
    assert document["steps"][1]["y0"] == "0"
    document["steps"][1]["y0"] = "1"
    with pytest.raises(CheckFailed, match="y0"):
        recheck(document)
