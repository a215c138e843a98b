"""What hands a filter its past - sums, states, a caller's decimal context - may be anything."""

from __future__ import annotations

import decimal
import json
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import interlace as il
from interlace.core.composition.value_filters import recheck
from interlace.core.composition.value_filters.decimals import Line
from interlace.core.composition.value_filters.inequality import profile_within
from interlace.core.errors import CheckFailed


def test_sums_that_tell_not_what_was_spent_are_refused() -> None:
    # "advanced" holds rho beside delta: an epsilon of the budget's notion tells neither.
    budget = il.ApproxDP(1, 1e-6)
    for spent in (il.ApproxDP(0.9, 0), il.ApproxDP(0, 1e-8), il.ApproxDP(0, 0)):
        for rule in ("advanced", "reach", "residue"):
            with pytest.raises(il.ParameterError, match="give state"):
                il.Filter(budget, rule, spent=spent)


def test_sums_at_lower_orders_say_nothing_of_what_was_spent() -> None:
    with pytest.raises(il.Unproven):
        il.Filter(il.TCDP(1, 10), spent=il.TCDP(0.5, 2))
    with pytest.raises(il.Unproven):
        il.Filter(il.RenyiDP(10, 1), spent=il.RenyiDP(2, 0.1))
    # At higher ones they hold at the budget's, too.
    assert il.Filter(il.TCDP(1, 10), spent=il.TCDP(0.5, 20)).remaining == il.TCDP(0.5, 10)
    assert il.Filter(il.RenyiDP(2, 1), spent=il.RenyiDP(10, 0.1)).remaining == il.RenyiDP(2, 0.9)


@pytest.mark.parametrize(
    "budget",
    [il.PureDP(1), il.RenyiDP(2, 1), il.ZCDP(1), il.TCDP(1, 10), il.ApproxDP(1, 0.5)],
    ids=str,
)
def test_what_was_spent_is_gone_on_with(budget: Any) -> None:
    f = il.Filter(budget, "basic" if isinstance(budget, il.ApproxDP) else None)
    f.admit(il.PureDP(0.3))
    again = il.Filter(budget, f.rule, spent=f.spent)
    assert (again.spent, again.remaining) == (f.spent, f.remaining)


BAD = [
    "/5", "5/", "/", "", "1/0", "1/2/3", "-1", "+1", "1e3", " 1", "1_0", "\u0661", "\u00b2", "nan",
    "9" * 1400, "9" * 5000, "1/" + "9" * 5000, 1, 0.5, float("nan"), True, None, [], {},
]  # fmt: skip


@pytest.mark.parametrize("rule", ["reach", "residue", "advanced", "basic"])
def test_states_that_are_none_are_refused_by_name(rule: str) -> None:
    budget = il.ApproxDP(1, 1e-6)
    f = il.Filter(budget, rule)
    honest = f.state
    states: list[Any] = ["text", 5, [], None]
    for field, text in honest.items():
        wrong = [bad for bad in BAD if not (bad is None and field == "sum_epsilon")]
        states += [{**honest, field: bad} for bad in wrong] if text is not None else []
    for state in states:
        if state is not None:
            with pytest.raises(il.ParameterError):
                il.Filter(budget, rule, state=state)
        with pytest.raises(il.ParameterError):
            f.follow(f.charge(il.PureDP(0)), state)
    assert f.state == honest


def test_a_tiny_w_gives_no_delta_of_0() -> None:
    w = Fraction(1, 10**7)
    assert profile_within(Fraction(1), w, Fraction(1, 10**100), 96)
    assert not profile_within(Fraction(1), w, Fraction(0), 96)
    # All of delta is set aside: nothing is left for what is not pure.
    f = il.Filter(il.ApproxDP(1, 1e-6), structural=1e-6)
    with pytest.raises(il.ParameterError, match="within the budget"):
        il.Filter(f.budget, structural=1e-6, state={**f.state, "w": str(w)})


@pytest.mark.parametrize(
    ("budget", "rule"),
    [
        (il.PureDP(1), "reach"),
        (il.ApproxDP(1, 1e-6), "reach"),
        (il.ApproxDP(1, 1e-6), "residue"),
        (il.GaussianDP(1), "residue"),
    ],
    ids=str,
)
def test_a_certificate_names_no_budget_but_what_it_proves(budget: Any, rule: str) -> None:
    f = il.Filter(budget, rule)
    f.admit(il.PureDP(0.1))
    document: Any = json.loads(json.dumps(f.certificate()))
    assert recheck(document) == 1
    for place in ("budget", "point"):
        for name, text in document.get(place, {}).items():
            if name == "relation":
                continue
            less = "zcdp" if name == "notion" else str(Fraction(text) / 2)
            forged = {**document, place: {**document[place], name: less}}
            with pytest.raises(CheckFailed, match="budget"):
                recheck(forged)
    wrong = {"notion": "gaussian", "relation": "add_remove", "mu": "1/2"}
    with pytest.raises(CheckFailed, match="budget"):
        recheck({**document, "budget": wrong})


CONTEXTS = [
    decimal.Context(prec=1, traps=[]),
    decimal.Context(prec=3, Emin=-2, Emax=2, traps=[]),
    decimal.Context(prec=5, traps=[decimal.Inexact, decimal.Rounded, decimal.FloatOperation]),
    decimal.Context(prec=2, Emin=-9, traps=[decimal.Subnormal, decimal.Underflow]),
]


def everything() -> list[object]:
    found: list[object] = []
    for budget in (il.ApproxDP(1, 1e-6), il.GaussianDP(1), il.RenyiDP(8, 2), il.ZCDP(1)):
        f = il.Filter(budget)
        f.admit(il.PureDP(0.1))
        f.admit(il.compose([(il.PureDP(0.003), 100)]))
        found += [f.state, f.spent, f.remaining, f.largest(il.PureDP)]
    odometer = il.Odometer(1e-6)
    odometer.add(il.PureDP(0.1))
    return [*found, odometer.reading, il.scales.gaussian(1, 1e-5)]


@pytest.mark.parametrize("context", CONTEXTS, ids=str)
def test_nothing_rests_on_the_callers_decimals(context: decimal.Context) -> None:
    expected = everything()
    f = il.Filter(il.ApproxDP(1, 1e-6))
    f.admit(il.PureDP(0.1))
    with decimal.localcontext(context):
        assert everything() == expected
        line = Line(37)  # of which none was kept
        low, high = line.value(Fraction(-1), Fraction(1))
        assert recheck(f.certificate()) == 1
    assert line.least == Decimal("1e-37")
    assert high - low < Decimal("1e-30")
    # Phi(-1/2) - e Phi(-3/2), by mpmath.
    assert Decimal("0.1269367375066439458008296247") < low <= high
    assert high < Decimal("0.1269367375066439458008296248")
