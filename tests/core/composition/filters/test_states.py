"""A filter's state: written down, gone on with, followed without computing it again, certified."""

from __future__ import annotations

import copy
import json
import random
import threading
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import interlace as il
from interlace.core.composition.value_filters import (
    PureChild,
    Reach,
    Residue,
    admitted,
    certificate,
    recheck,
)
from interlace.core.errors import CheckFailed
from tests.core.composition.filters.behind import real
from tests.core.composition.value_filters.reference import exact_defect

MAKERS: dict[str, Callable[[], il.Filter]] = {
    "basic": lambda: il.Filter(il.PureDP(3)),
    "sums": lambda: il.Filter(il.ApproxDP(3, 1e-6), "basic"),
    "reach": lambda: il.Filter(il.ApproxDP(3, 1e-6)),
    "residue": lambda: il.Filter(il.ApproxDP(3, 1e-6), "residue", structural=1e-8),
    "advanced": lambda: il.Filter(il.ApproxDP(3, 1e-6), "advanced"),
    "residue of GDP": lambda: il.Filter(il.GaussianDP(1)),
    "gaussian": lambda: il.Filter(il.GaussianDP(1), "gaussian"),
    "zcdp": lambda: il.Filter(il.ZCDP(0.5)),
    "tcdp": lambda: il.Filter(il.TCDP(0.5, 8)),
    "renyi": lambda: il.Filter(il.RenyiDP(8, 2)),
}
CHILDREN = [il.PureDP(0.1), il.compose([(il.PureDP(0.03), 5), il.PureDP(0.2)]), il.PureDP(1 / 3)]


@pytest.mark.parametrize("name", MAKERS)
def test_a_state_is_gone_on_with(name: str) -> None:
    whole, first = MAKERS[name](), MAKERS[name]()
    for child in CHILDREN:
        whole.admit(child)
    first.admit(CHILDREN[0])
    state = json.loads(json.dumps(first.state))
    second = il.Filter(first.budget, first.rule, structural=first.structural, state=state)
    assert (second.spent, second.remaining) == (first.spent, first.remaining)
    for child in CHILDREN[1:]:
        second.admit(child)
    assert second.state == whole.state


@pytest.mark.parametrize("name", MAKERS)
def test_what_was_charged_is_followed_without_being_computed(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[Any, Any, Any]] = []
    for child in CHILDREN:
        f = MAKERS[name]()
        if written:
            f = il.Filter(f.budget, f.rule, structural=f.structural, state=written[-1][1])
        f.admit(child)
        written.append((f.charge(child), f.state, f.steps()))

    def refuse(*_: object) -> None:
        raise AssertionError("a step was computed again")

    monkeypatch.setattr("interlace.core.composition.value_filters.moves.narrowed", refuse)
    follower = MAKERS[name]()
    for charge, state, steps in json.loads(json.dumps([(1, s, [*t]) for _, s, t in written])):
        del charge
        follower.follow(written[0][0], state, steps)
        written.append(written.pop(0))
    assert follower.state == written[-1][1]
    # A certificate is of what comes after.
    assert follower.certificate()["start"] == follower.certificate()["end"] == follower.state


@pytest.mark.parametrize("name", MAKERS)
def test_what_does_not_follow_is_not_followed(name: str) -> None:
    f = MAKERS[name]()
    f.admit(CHILDREN[0])
    honest, steps = f.state, [dict(step) for step in f.steps()]
    start = MAKERS[name]()
    charge = start.charge(CHILDREN[0])
    before = start.state
    for key, text in honest.items():
        if text in (None, "0", "1"):
            continue
        more = Fraction(text or 0) * (1 + Fraction(1, 10**9))
        if key == "sum_epsilon":
            more = Fraction(text or 0) * Fraction(9, 10)
        with pytest.raises((CheckFailed, il.ParameterError)):
            start.follow(charge, {**honest, key: str(more)}, steps)
    with pytest.raises(CheckFailed):
        start.follow(il.Filter(f.budget, f.rule).charge(il.PureDP(2.9)), honest, steps)
    for bad in ({}, {**honest, "more": "1"}, dict.fromkeys(honest, "x"), dict.fromkeys(honest)):
        with pytest.raises(il.ParameterError):
            start.follow(charge, bad, steps)
    assert start.state == before
    start.follow(charge, honest, steps)


@pytest.mark.parametrize("name", MAKERS)
def test_covers(name: str) -> None:
    f = MAKERS[name]()
    assert f.covers(f.charge(il.PureDP(0.3)), il.PureDP(0.3))
    assert f.covers(f.charge(il.PureDP(0.3)), il.PureDP(0.2))
    assert not f.covers(f.charge(il.PureDP(0.2)), il.PureDP(0.3))
    both = il.compose([(il.PureDP(0.1), 2)])
    assert f.covers(f.charge(both), il.PureDP(0.1))
    assert not f.covers(f.charge(il.PureDP(0.1)), both)
    assert f.covers(f.charge(both), both)
    # One pure mechanism of the sum costs no less than its parts.
    assert f.covers(f.charge(il.PureDP(0.2)), both)


@pytest.mark.parametrize("name", ["reach", "residue", "residue of GDP"])
def test_certificates_of_filters_are_proved_anew(name: str) -> None:
    f = MAKERS[name]()
    for child in CHILDREN:
        f.admit(child)
    if name != "residue of GDP":
        f.admit(il.ApproxDP(0.1, 1e-9))
    f.admit(il.GaussianDP(0.1))
    document: Any = json.loads(json.dumps(f.certificate()))
    assert recheck(document) == len(document["steps"]) >= 8 + (name != "residue of GDP")
    # From a state on, the steps since.
    later = il.Filter(f.budget, f.rule, structural=f.structural, state=f.state)
    later.admit(il.PureDP(0.05))
    assert recheck(json.loads(json.dumps(later.certificate()))) == 1
    wrong = copy.deepcopy(document)
    wrong["end"]["w"] = str(Fraction(wrong["end"]["w"]) * 2)
    with pytest.raises(CheckFailed, match="end"):
        recheck(wrong)
    if name == "residue":
        document["point"]["delta"] = "1/2000000"
        with pytest.raises(CheckFailed, match="more than delta"):
            recheck(document)


def test_certificates_of_sums_list_the_charges() -> None:
    f = il.Filter(il.ZCDP(1))
    f.admit(il.ZCDP(0.25))
    f.admit(il.compose([(il.ZCDP(0.125), 2)]))
    found = f.certificate()
    assert found["rule"] == "zcdp"
    assert found["start"] == {"rho": "1"}
    assert found["charges"] == [{"rho": "1/4"}, {"rho": "1/4"}]
    assert found["end"] == {"rho": "1/2"}


def test_many_equal_children_take_few_steps_each_of_them_proved() -> None:
    # Whatever the count; against mpmath at the last of them, and by the second program.
    for w, e, count in (
        (1, "1/1000", 900_000),
        (4, "1/100", 30_000),
        (Fraction(1, 9), "1/500", 9000),
    ):
        rule, child = Residue.of(mu_squared=w), PureChild.of(Fraction(e))
        pieces = admitted(rule, rule.start(), child, count)
        assert pieces is not None
        assert sum(n for _, n, _ in pieces) == count
        assert len(pieces) < 700
        before = rule.start().w
        for _, n, state in pieces:
            each = (before - state.w) / n
            assert exact_defect(Fraction(0), child.epsilon, state.w + each, state.w) <= 0
            before = state.w
        # Hardly more than epsilon**2 for each.
        assert w - pieces[-1][2].w < count * child.epsilon**2 * (1 + Fraction(1, 1000))
        assert recheck(certificate(rule, rule.start(), pieces)) == len(pieces)


def test_many_at_once_are_admitted_while_they_add_up() -> None:
    for e, count in (("1/1000", 5000), ("1/100000", 500_000), ("1/20", 100)):
        rule, child = Reach.of(5, Fraction(1, 10**12)), PureChild.of(Fraction(e))
        pieces = admitted(rule, rule.start(), child, count)
        assert pieces is not None
        assert recheck(certificate(rule, rule.start(), pieces)) == len(pieces) <= 400
    assert il.Filter(il.PureDP(5), "reach").admits(il.compose([(il.PureDP(0.001), 5000)]))
    assert not il.Filter(il.PureDP(5), "reach").admits(il.compose([(il.PureDP(0.001), 5001)]))


def test_many_with_a_delta_stay_within_the_part() -> None:
    child = il.ApproxDP(0.001, 1e-10)
    f = il.Filter(il.ApproxDP(1, 1e-6))
    assert not f.admits(il.compose([(child, 1001)]))
    f.admit(il.compose([(child, 999)]))
    good = f.state["good"]
    assert good is not None
    assert Fraction(good) >= 1 - Fraction(1, 10**7)
    assert recheck(f.certificate()) > 0
    # A forged count takes more than was proved.
    document: Any = json.loads(json.dumps(f.certificate()))
    [large] = [s for s in document["steps"] if int(s.get("count", 1)) > 100]
    large["count"] = str(int(large["count"]) * 2)
    with pytest.raises(CheckFailed):
        recheck(document)


@pytest.mark.parametrize("count", ["0", "-1", "x", "1/2", 3])
def test_a_count_is_a_positive_number(count: Any) -> None:
    rule, child = Residue.of(mu=1), PureChild.of(0.1)
    document: Any = certificate(rule, rule.start(), [(child, 1, rule.step(rule.start(), child))])  # type: ignore[list-item]  # admitted
    document["steps"][0]["count"] = count
    with pytest.raises(CheckFailed, match="count"):
        recheck(document)


def test_threads_share_a_value_filter() -> None:
    f = il.Filter(il.ApproxDP(1, 1e-6))
    barrier, refused = threading.Barrier(8), []

    def ask() -> None:
        barrier.wait()
        for _ in range(40):
            try:
                f.admit(il.PureDP(0.05))
            except il.BudgetExceeded:
                refused.append(1)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    alone = il.Filter(il.ApproxDP(1, 1e-6))
    most = 0
    while alone.admits(il.PureDP(0.05)):
        alone.admit(il.PureDP(0.05))
        most += 1
    assert len(f.steps()) == most == 320 - len(refused)
    assert f.state == alone.state
    assert recheck(f.certificate()) == most


def test_the_state_stays_short_however_odd_the_parameters() -> None:
    draw = random.Random(4)
    f = il.Filter(il.ApproxDP(3, 1e-6))
    for _ in range(40):
        odd = draw.getrandbits(900) | 1
        f.admit(il.ApproxDP(Fraction(draw.getrandbits(880), odd), Fraction(1, odd)))
    assert all(len(text or "") < 400 for text in f.state.values())
    g = il.Filter(il.GaussianDP(1), "gaussian")
    for _ in range(40):
        g.admit(il.GaussianDP(Fraction(1, draw.getrandbits(400) | 1)))
    text = g.state["mu_squared"]
    assert text is not None
    assert len(text) < 400
    assert real(Fraction(text)) > 0.999
