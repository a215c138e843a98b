"""Compositions as values, and their golden numbers from exact or independent computations."""

from __future__ import annotations

import decimal
import math
import pickle
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import pytest

from interlace.core.composition import Composition, Filter, compose
from interlace.core.errors import ParameterError, RelationMismatch
from interlace.core.guarantees import (
    ZCDP,
    ApproxDP,
    Guarantee,
    PureDP,
    Relation,
    decode_notion,
    encode_notion,
)
from interlace.core.interval import Interval

_STEP = Fraction(1, 10**60)

HETEROGENEOUS = [
    ".392596",
    ".457983",
    ".487356",
    ".568348",
    ".456944",
    ".557279",
    ".065953",
    ".306092",
    ".568846",
    ".406936",
    ".545495",
    ".112263",
    ".307988",
    ".185615",
]


@dataclass(frozen=True)
class Opened:
    guarantee: Guarantee


@dataclass(frozen=True)
class Odd:
    guarantee: object


def test_order_and_grouping_do_not_matter() -> None:
    a, b, c = PureDP(0.1), ApproxDP(0.2, 1e-9), ZCDP(0.3)
    whole = compose([a, b, c, a])
    assert whole == compose([c, (a, 2), b]) == compose([compose([a, c]), compose([(a, 1), b])])
    assert whole == compose([Opened(a), (Opened(compose([a, b])), 1), c])
    assert hash(whole) == hash(compose([b, c, (a, 2)]))
    assert whole.parts == ((a, 2), (b, 1), (c, 1))
    assert compose([(compose([a, b]), 3)]).parts == ((a, 3), (b, 3))
    assert pickle.loads(pickle.dumps(whole)) == whole  # noqa: S301 - our own bytes


def test_nothing_composes_to_nothing() -> None:
    for nothing in (compose([]), compose([(PureDP(1), 0)]), compose([compose([])])):
        assert nothing.parts == ()
        assert nothing.epsilon_interval(0) == nothing.delta_interval(0) == (0, 0)
        assert nothing.renyi(math.inf) == nothing.renyi(2) == 0
        assert nothing.group(5) == nothing


@pytest.mark.parametrize(
    "bad",
    [None, 1, 0.5, "g", (PureDP(1),), (PureDP(1), 1, 1), (PureDP(1), -1), (PureDP(1), 1.5),
     (PureDP(1), True), (1, PureDP(1)), ((PureDP(1), 2), 2), [PureDP(1)], Odd(None)],
)  # fmt: skip
def test_bad_items_are_refused_by_index(bad: object) -> None:
    with pytest.raises(ParameterError, match=r"^items\[2\]"):
        compose([PureDP(1), PureDP(2), bad])  # type: ignore[list-item]  # what is tested


def test_a_single_guarantee_is_no_list() -> None:
    with pytest.raises(ParameterError, match=r"^items: "):
        compose(PureDP(1))  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize("kind", [dict, Counter])
def test_a_mapping_would_lose_its_counts(kind: type) -> None:
    with pytest.raises(ParameterError, match=r"^items: .*counts.*pairs"):
        compose(kind({PureDP(1): 5}))
    assert compose({PureDP(1): 5}.items()) == compose([(PureDP(1), 5)])


@dataclass(frozen=True)
class Private:
    """Something that prints what may not be printed."""

    def __repr__(self) -> str:
        return "alice is ill"


def test_messages_name_types_alone() -> None:
    secret: Any = Private()
    three: Any = (secret, 1, 2)
    made = Composition((), Relation.ADD_REMOVE)
    attempts: list[Callable[[], object]] = [
        lambda: compose(secret),
        lambda: compose([secret]),
        lambda: compose([(secret, 1)]),
        lambda: compose([(PureDP(1), secret)]),
        lambda: compose([three]),
        lambda: compose([Opened(secret)]),
        lambda: PureDP(secret),
        lambda: PureDP(1, relation=secret),
        lambda: Filter(secret),
        lambda: Filter(PureDP(1), secret),
        lambda: Filter(PureDP(1), spent=secret),
        lambda: Filter(PureDP(1)).admit(secret),
        lambda: Filter(PureDP(1)).admit(PureDP(1), delta=secret),
        lambda: made.epsilon(secret),
        lambda: made.group(secret),
        lambda: Composition(secret),
        lambda: Composition(((secret, 1),)),
        lambda: Composition(((PureDP(1), secret),)),
        lambda: encode_notion(secret),
        lambda: decode_notion(secret),
        lambda: decode_notion({"notion": secret, "relation": "add_remove"}),
        lambda: decode_notion({"notion": "pure", "relation": secret}),
        lambda: decode_notion({"notion": "pure", "relation": "add_remove", "epsilon": secret}),
    ]
    for attempt in attempts:
        with pytest.raises(ParameterError) as refused:
            attempt()
        assert "alice" not in str(refused.value)


_ONE, _TWO = PureDP(1), PureDP(2)


@pytest.mark.parametrize(
    "parts",
    [
        ((_ONE, -5),), ((_ONE, 5), (_TWO, -3)), ((_ONE, 0),), ((PureDP(10), Fraction(1, 10)),),
        ((_ONE, 1.0),), ((_ONE, True),), ((_ONE, 10**15 + 1),), ((compose([_TWO]), 1),),
        ((_TWO, 1), (_ONE, 1)), ((_ONE, 1), (_ONE, 1)), ((ZCDP(1), 1), (_ONE, 1)), [(_ONE, 1)],
        (_ONE,), ((_ONE,),), ((_ONE, 1, 1),), ([_ONE, 1],), ((None, 1),), None, "ab",
    ],
)  # fmt: skip
def test_a_composition_is_in_normal_form_or_not_at_all(parts: Any) -> None:
    with pytest.raises(ParameterError, match=r"^parts: "):
        Composition(parts)


def test_a_composition_is_for_one_relation() -> None:
    other = PureDP(1, relation=Relation.CHANGE_ONE)
    for parts, relation in (
        (((other, 1),), Relation.ADD_REMOVE),
        (((PureDP(1), 1),), Relation.CHANGE_ONE),
    ):
        with pytest.raises(RelationMismatch):
            Composition(parts, relation)
    with pytest.raises(ParameterError, match=r"^relation: "):
        Composition((), "add_remove")  # type: ignore[arg-type]  # what is tested
    c = compose([(other, 2), ZCDP(1, relation=Relation.CHANGE_ONE)])
    assert Composition(c.parts, c.relation) == c


def test_what_occurs_zero_times_does_not_matter() -> None:
    other = PureDP(1, relation=Relation.CHANGE_ONE)
    assert compose([(other, 0), PureDP(1)]) == compose([PureDP(1), (other, 0)])
    assert compose([PureDP(1), (compose([other]), 0)]) == compose([PureDP(1)])
    assert compose([(other, 0)]) == compose([])
    with pytest.raises(ParameterError, match=r"^items\[0\]: "):
        compose([("x", 0)])  # type: ignore[list-item]  # what is tested


def test_relations_do_not_mix() -> None:
    other = PureDP(1, relation=Relation.CHANGE_ONE)
    with pytest.raises(RelationMismatch, match=r"items\[1\]"):
        compose([PureDP(1), other])
    assert compose([other, compose([])]).relation is Relation.CHANGE_ONE


def _safely(found: float, golden: str) -> None:
    """To the last digit given, and on the safe side beyond it."""
    exact = Decimal(golden)
    unit = Decimal(1).scaleb(int(exact.as_tuple().exponent))
    assert exact - unit < Decimal(found) < exact + unit


@pytest.mark.parametrize(
    ("items", "delta", "golden"),
    [
        ([(PureDP(0.1), 100)], 1e-6, "4.77456758811"),
        ([(ApproxDP(0.1, 1e-8), 100)], 1e-5, "4.32963671401661"),
        ([(PureDP(0.1), 10)], 1e-6, "0.999370905722"),
        ([(ApproxDP(0.5, 1e-7), 10)], 2e-6, "4.99988547094"),
    ],
)
def test_golden_epsilon(items: list[tuple[Guarantee, int]], delta: float, golden: str) -> None:
    found = compose(items)
    _safely(found.epsilon(delta), golden)
    lower, upper = found.epsilon_interval(delta)
    assert lower <= upper == found.epsilon(delta)
    assert upper - lower < 1e-14


@pytest.mark.parametrize(
    ("items", "epsilon", "golden"),
    [
        ([PureDP(0.5), PureDP(1.0)], 1, "0.179049889217"),
        ([PureDP(0.5), PureDP(1.0)], 0, "0.462117157260"),
        ([(ApproxDP(0, 1e-6), 5)], 0, "0.00000499999000001"),
        ([ApproxDP(float(x), 1e-9) for x in HETEROGENEOUS], 2, "0.161514894866923"),
    ],
)
def test_golden_delta(items: list[Guarantee], epsilon: float, golden: str) -> None:
    _safely(compose(items).delta(epsilon), golden)


def test_the_heterogeneous_golden_value_to_twenty_digits() -> None:
    # The first was computed from binary floats; the second, by summing over the 2^14 subsets
    # at 60 digits, from the decimals that they print, which is what a float means here.
    for read, golden in (
        (lambda x: Fraction(float(x)), "0.16151489486692348478"),
        (Fraction, "0.16151489486692350427"),
    ):
        c = compose([ApproxDP(read(x), read("1e-9")) for x in HETEROGENEOUS])
        found, exact, unit = c.delta_enclosure(Fraction(2)), Decimal(golden), Decimal("1e-20")
        assert exact - unit < found.lower <= found.upper < exact + unit


@pytest.mark.parametrize(
    ("count", "ratio", "exact"),
    [
        (1, 1, "1/2"), (1, 2, "1/4"), (1, 3, "0"), (1, 9, "0"),
        (2, 1, "1/2"), (2, 2, "7/16"), (2, 3, "3/8"), (2, 9, "0"),
        (3, 1, "11/16"), (3, 2, "17/32"), (3, 3, "3/8"), (3, 9, "9/32"),
    ],
)  # fmt: skip
def test_randomised_response_at_log_3_is_exact(count: int, ratio: int, exact: str) -> None:
    _enclosed([(PureDP(x), count) for x in _log_3()], ratio, Fraction(exact))


def test_approximate_response_at_log_3_is_exact() -> None:
    leaky = [(ApproxDP(x, Fraction(1, 100)), 2) for x in _log_3()]
    _enclosed(leaky, 3, Fraction(6199, 16000))


def _log_3() -> tuple[Fraction, Fraction]:
    with mpmath.workdps(80):
        log3 = Fraction(str(mpmath.log(3)))
    return log3 - _STEP, log3 + _STEP


def _enclosed(
    ends: list[tuple[Guarantee, int]] | list[tuple[PureDP, int]] | list[tuple[ApproxDP, int]],
    ratio: int,
    exact: Fraction,
) -> None:
    with mpmath.workdps(80):
        at = Fraction(str(mpmath.log(ratio)))
    low = compose([ends[0]]).delta_enclosure(at + _STEP)
    high = compose([ends[1]]).delta_enclosure(max(Fraction(0), at - _STEP))
    hull = Interval(low.lower, high.upper)
    assert hull.contains(exact)
    assert hull.upper - hull.lower < Decimal("1e-40")


def test_below_the_leaks_there_is_no_epsilon() -> None:
    for count in (1, 10, 1000):
        leaky = compose([(ApproxDP(0.5, 1e-7), count)])
        edge = 1 - (1 - Fraction(1, 10**7)) ** count
        if count < 100:
            assert leaky.epsilon_interval(edge - Fraction(1, 10**200)) == (math.inf, math.inf)
            assert leaky.epsilon_interval(edge) == (count / 2, count / 2)
            assert leaky.epsilon(edge + Fraction(1, 10**200)) <= count / 2
        assert leaky.epsilon(float(edge) * 0.999) == math.inf
        assert leaky.epsilon(1) == 0
        assert leaky.renyi(2) == math.inf


def test_a_certain_leak() -> None:
    certain = compose([PureDP(1), ApproxDP(0, 1)])
    assert certain.epsilon(0.999999) == math.inf
    assert certain.epsilon(1) == 0
    assert certain.delta(10**6) == 1


def test_no_room_beside_zcdp() -> None:
    assert compose([PureDP(1), ZCDP(1)]).epsilon(0) == math.inf
    assert compose([ApproxDP(0, 0.1), ZCDP(1)]).epsilon(0.1) == math.inf
    assert compose([(PureDP(0.25), 4)]).epsilon(0) == 1


def test_renyi_adds_up() -> None:
    c = compose([(PureDP(0.5), 3), ZCDP(0.25)])
    assert c.renyi(4) == pytest.approx(3 * PureDP(0.5).renyi(4) + 1, rel=1e-14)
    assert c.renyi(math.inf) == math.inf
    assert compose([(PureDP(0.5), 3)]).renyi(math.inf) == 1.5


def test_groups_act_on_every_part() -> None:
    c = compose([(PureDP(0.5), 3), ZCDP(0.25), ApproxDP(0.1, 1e-9)])
    assert c.group(2) == compose([(PureDP(1), 3), ZCDP(1), ApproxDP(0.1, 1e-9).group(2)])


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ([(PureDP(0.1), 9)], "Murtagh"),
        ([ZCDP(1)], "Cor. 1"),
        ([ZCDP(1), PureDP(1)], "Lyu 2022"),
        ([ApproxDP(0, 1e-9)], "leaks"),
        ([(PureDP(0.1), 10**9)], "Lyu"),
    ],
)
def test_a_number_tells_its_rule(items: list[Guarantee], said: str) -> None:
    c = compose(items)
    text = c.explain(1e-6)
    assert said in text
    assert str(c.epsilon(1e-6)) in text
    assert text.count("\n") <= 1


@pytest.mark.parametrize("count", [10**6, 10**9])
def test_huge_counts_answer_with_certified_bounds(count: int) -> None:
    c = compose([(ApproxDP(1e-5, 1e-15), count)])
    lower, upper = c.epsilon_interval(1e-5)
    # The Gaussian limit: mean k eps^2 / 2, standard deviation eps sqrt(k).
    spread = 1e-5 * math.sqrt(count)
    assert 0 < lower < upper < spread**2 / 2 + 5.5 * spread
    low, high = c.delta_interval(spread)
    assert 0 <= low < high < 1
    assert high < 0.5


def test_extreme_parameters_do_not_overflow() -> None:
    for items in (
        [(PureDP(1e300), 2)],
        [(PureDP(1e4), 3)],
        [(PureDP(1e-300), 5)],
        [PureDP(1e4), ZCDP(1e6)],
        [PureDP(1e-12), ZCDP(1e-12)],
        [ApproxDP(1, Fraction(1, 10**900)), PureDP(1)],
    ):
        c = compose(items)
        for delta in (Fraction(1, 10**1000), 1e-300, 1e-6, 0.5, 1):
            lower, upper = c.epsilon_interval(delta)
            assert 0 <= lower <= upper
        for epsilon in (0, 1e-300, 1, 1e4, 1e12):
            low, high = c.delta_interval(epsilon)
            assert 0 <= low <= high <= 1


def test_counts_multiply_only_so_far() -> None:
    many = compose([(ApproxDP(0.9, 0.999), 10**12), (PureDP(2), 10**12)])
    c = compose([(many, 1000)])
    assert c.epsilon(0.5) == math.inf
    assert c.delta(10**9) == 1
    with pytest.raises(ParameterError, match=r"^items\[1\] count: "):
        compose([PureDP(1), (many, 1001)])


def test_the_callers_decimal_context_does_not_matter() -> None:
    c = compose([(PureDP(Fraction(1, 7)), 30), (ApproxDP(0.3, 1e-9), 3)])
    expected = PureDP(Fraction(1, 7)).renyi(3)
    with decimal.localcontext(decimal.Context(prec=2, traps=[decimal.Inexact])):
        assert PureDP(Fraction(1, 7)).renyi(3) == expected
        lower, upper = c.epsilon_interval(1e-6)
    assert upper - lower < 1e-14
    assert c.delta(upper) == pytest.approx(1e-6, rel=1e-9)


def test_str_is_for_readers() -> None:
    assert str(compose([(PureDP(0.1), 3), ZCDP(1)])) == "Composition(3 x PureDP(0.1), ZCDP(1))"
    assert isinstance(compose([]), Composition)


def test_numbers_are_no_guarantees() -> None:
    for item in (0.1, (0.1, 1e-8), (0.1, 3)):
        with pytest.raises(ParameterError, match=r"^items\[0\]: .*ApproxDP\(0\.1, 1e-8\)"):
            compose([item])  # type: ignore[list-item]  # what a newcomer writes first
    with pytest.raises(ParameterError, match=r"^items\[0\] count"):
        compose([(PureDP(1), 0.5)])  # type: ignore[list-item]  # no half mechanism
    assert compose([(PureDP(1), 0), (compose([PureDP(1)]), 2)]).parts == ((PureDP(1), 2),)
