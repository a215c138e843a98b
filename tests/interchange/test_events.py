"""Events of dp_accounting: doubles of them always, the library's own where it is installed."""

from __future__ import annotations

import importlib
import importlib.util
import math
from dataclasses import make_dataclass
from fractions import Fraction
from typing import Any

import pytest

import interlace as il
from interlace.core.guarantees import Guarantee
from interlace.interchange import from_dp_accounting, to_dp_accounting

CHANGE = il.Relation.CHANGE_ONE


def event(name: str, **values: Any) -> Any:
    """An object of a class of that name with these attributes."""
    return make_dataclass(name, list(values))(**values)


def gaussian(noise: float) -> Any:
    return event("GaussianDpEvent", noise_multiplier=noise)


LEAVES: list[tuple[Any, Guarantee]] = [
    (gaussian(4.0), il.GaussianDP(0.25)),
    (event("LaplaceDpEvent", noise_multiplier=2.0), il.PureDP(0.5)),
    (
        event("DiscreteLaplaceDpEvent", noise_parameter=0.5, sensitivity=1),
        il.losses.DiscreteLaplace(2),
    ),
    (event("DiscreteLaplaceDpEvent", noise_parameter=0.5, sensitivity=3), il.PureDP(1.5)),
    (event("ZCDpEvent", rho=0.5, xi=0.0), il.ZCDP(0.5)),
    (event("EpsilonDeltaDpEvent", epsilon=1.0, delta=0.25), il.ApproxDP(1, 0.25)),
    (event("PureDpEvent", epsilon=1), il.PureDP(1)),
    (event("NonPrivateDpEvent"), il.ApproxDP(0, 1)),
    (gaussian(0.0), il.ApproxDP(0, 1)),
]


@pytest.mark.parametrize(("leaf", "guarantee"), LEAVES)
def test_each_event_is_its_guarantee(leaf: Any, guarantee: Guarantee) -> None:
    assert from_dp_accounting(leaf) == il.compose([guarantee])


def test_trees_keep_their_counts() -> None:
    inner = event("SelfComposedDpEvent", event=gaussian(4.0), count=10)
    tree = event(
        "ComposedDpEvent",
        events=[inner, event("NoOpDpEvent"), gaussian(4.0), event("ZCDpEvent", rho=1.0)],
    )
    twice = event("SelfComposedDpEvent", event=tree, count=2)
    found = from_dp_accounting(twice)
    assert found == il.compose([(il.GaussianDP(0.25), 22), (il.ZCDP(1), 2)])
    assert from_dp_accounting(event("SelfComposedDpEvent", event=tree, count=0)) == il.compose([])


def test_floats_are_the_binary_numbers_that_they_are() -> None:
    ((part, _count),) = from_dp_accounting(event("LaplaceDpEvent", noise_multiplier=0.1)).parts
    assert isinstance(part, il.PureDP)
    assert part.epsilon0 == 1 / Fraction(0.1) != 10


def test_changing_one_unit_moves_a_sum_twice() -> None:
    assert from_dp_accounting(gaussian(4.0), relation=CHANGE) == il.compose(
        [il.GaussianDP(0.5, relation=CHANGE)]
    )
    discrete = event("DiscreteLaplaceDpEvent", noise_parameter=0.5, sensitivity=1)
    assert from_dp_accounting(discrete, relation=CHANGE) == il.compose(
        [il.PureDP(1, relation=CHANGE)]
    )


def test_randomised_response_has_its_own_law() -> None:
    response = event("RandomizedResponseDpEvent", noise_parameter=0.5, num_buckets=2)
    with pytest.raises(il.Unproven, match="CHANGE_ONE"):
        from_dp_accounting(response)
    # 3/4 against 1/4: delta(0) = 1/2, epsilon = log 3.
    found = from_dp_accounting(response, relation=CHANGE)
    assert found.delta(0) == pytest.approx(0.5, rel=1e-9)
    assert found.epsilon(0) == pytest.approx(math.log(3))
    four = event("RandomizedResponseDpEvent", noise_parameter=0.5, num_buckets=4)
    # 5/8 against 1/8 and two of 1/8.
    assert from_dp_accounting(four, relation=CHANGE).delta(0) == pytest.approx(0.5, rel=1e-9)
    assert from_dp_accounting(four, relation=CHANGE).epsilon(0) == pytest.approx(math.log(5))
    sure = event("RandomizedResponseDpEvent", noise_parameter=0.0, num_buckets=2)
    assert from_dp_accounting(sure, relation=CHANGE).epsilon(0.5) == math.inf
    alone = event("RandomizedResponseDpEvent", noise_parameter=0.0, num_buckets=1)
    assert from_dp_accounting(alone, relation=CHANGE).epsilon(0) == 0


REFUSED = [
    "PoissonSampledDpEvent",
    "SampledWithReplacementDpEvent",
    "SampledWithoutReplacementDpEvent",
    "TruncatedSubsampledGaussianDpEvent",
    "MixtureOfGaussiansDpEvent",
    "SingleEpochTreeAggregationDpEvent",
    "RepeatAndSelectDpEvent",
    "UnsupportedDpEvent",
    "NewDpEvent",
]


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_proven_is_refused_by_name_and_place(name: str) -> None:
    tree = event("ComposedDpEvent", events=[gaussian(1.0), event(name)])
    with pytest.raises(il.Unproven, match=rf"event\.events\[1\].*{name}"):
        from_dp_accounting(tree)


def test_other_objects_are_refused() -> None:
    for bad in (None, 3, "GaussianDpEvent", event("GaussianDpEvent"), gaussian(math.nan)):
        with pytest.raises(il.ParameterError):
            from_dp_accounting(bad)
    for noise in (-1.0, math.inf, True, "1"):
        with pytest.raises(il.ParameterError, match="noise_multiplier"):
            from_dp_accounting(event("GaussianDpEvent", noise_multiplier=noise))
    for count in (-1, 1.5, True):
        with pytest.raises(il.ParameterError, match="count"):
            from_dp_accounting(event("SelfComposedDpEvent", event=gaussian(1.0), count=count))
    with pytest.raises(il.Unproven, match="xi"):
        from_dp_accounting(event("ZCDpEvent", rho=1.0, xi=0.1))
    deep = gaussian(1.0)
    for _ in range(200):
        deep = event("ComposedDpEvent", events=[deep])
    with pytest.raises(il.ParameterError, match="deeper"):
        from_dp_accounting(deep)


OUT: list[Any] = [
    il.PureDP(0.5),
    il.GaussianDP(0.25),
    il.ZCDP(0.5),
    il.ApproxDP(0, 1),
    il.losses.DiscreteLaplace(2),
]


@pytest.mark.parametrize("guarantee", OUT)
def test_out_and_in_again_has_the_same_curve(guarantee: Any) -> None:
    back = from_dp_accounting(to_dp_accounting(il.compose([(guarantee, 7)])))
    for delta in (0.5, 1e-6):
        known = il.compose([(guarantee, 7)]).epsilon(delta)
        assert back.epsilon(delta) == pytest.approx(known, rel=1e-8)


def test_what_goes_out_never_gets_smaller() -> None:
    for guarantee in (il.PureDP(Fraction(1, 3)), il.GaussianDP(Fraction(1, 3)), il.ZCDP(0.1)):
        back = from_dp_accounting(to_dp_accounting(guarantee))
        assert back.delta_enclosure(Fraction(1, 10)).upper >= (
            il.compose([guarantee]).delta_enclosure(Fraction(1, 10)).lower
        )
    with pytest.raises(il.Unproven):
        to_dp_accounting(il.ApproxDP(1, 1e-6))


@pytest.mark.parametrize(
    "guarantee",
    [
        il.PureDP(0.5, relation=CHANGE),
        il.GaussianDP(0.5, relation=CHANGE),
        il.ApproxDP(0, 1, relation=CHANGE),
        il.losses.DiscreteLaplace(2, relation=CHANGE),
        il.compose([(il.ZCDP(0.5, relation=CHANGE), 3)]),
    ],
    ids=str,
)
def test_no_event_claims_a_guarantee_of_other_neighbours(guarantee: Guarantee) -> None:
    with pytest.raises(il.RelationMismatch):
        to_dp_accounting(guarantee)


@pytest.mark.parametrize("epsilon", [1e300, 1e10, 1e-12, 1e-300])
def test_discrete_laplace_of_any_size_is_read(epsilon: float) -> None:
    found = from_dp_accounting(
        event("DiscreteLaplaceDpEvent", noise_parameter=epsilon, sensitivity=1)
    )
    assert found.epsilon(0) >= epsilon
    assert found.epsilon(0) == pytest.approx(epsilon, rel=1e-12)
    assert from_dp_accounting(to_dp_accounting(il.PureDP(epsilon))).epsilon(0) >= epsilon


def test_the_library_agrees_where_it_is_installed() -> None:
    if importlib.util.find_spec("dp_accounting") is None:
        pytest.skip("dp_accounting is not installed: the doubles above stand for it")
    library = importlib.import_module("dp_accounting")
    pld = importlib.import_module("dp_accounting.pld")
    tree = library.ComposedDpEvent(
        [
            library.SelfComposedDpEvent(library.GaussianDpEvent(8.0), 20),
            importlib.import_module("dp_accounting.dp_event").DiscreteLaplaceDpEvent(0.5, 1),
            library.NoOpDpEvent(),
        ]
    )
    accountant = pld.PLDAccountant()
    accountant.compose(tree)
    ours = from_dp_accounting(tree).epsilon(1e-6)
    assert ours <= accountant.get_epsilon(1e-6) * (1 + 1e-9)
    assert ours == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-3)
    assert from_dp_accounting(tree.to_named_tuple()) == from_dp_accounting(tree)
    back = library.DpEvent.from_named_tuple(to_dp_accounting(from_dp_accounting(tree)))
    assert from_dp_accounting(back) == from_dp_accounting(tree)
    changing = pld.PLDAccountant(library.NeighboringRelation.REPLACE_ONE)
    changing.compose(library.GaussianDpEvent(4.0))
    assert from_dp_accounting(library.GaussianDpEvent(4.0), relation=CHANGE).epsilon(
        1e-6
    ) == pytest.approx(changing.get_epsilon(1e-6), rel=1e-3)
    with pytest.raises(il.Unproven, match="Poisson"):
        from_dp_accounting(library.PoissonSampledDpEvent(0.1, library.GaussianDpEvent(1.0)))
