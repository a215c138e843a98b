"""OpenDP measurements, the library's own: read by their maps, never below them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import opendp.prelude as dp
import pytest

import interlace as il
from interlace.interchange import from_opendp

CHANGE = il.Relation.CHANGE_ONE


@pytest.fixture(autouse=True)
def features() -> None:
    dp.enable_features("contrib", "honest-but-curious")


def number() -> tuple[Any, Any]:
    return dp.atom_domain(T=int), dp.absolute_distance(T=int)


def laplace(scale: float = 3.0) -> Any:
    return dp.m.make_laplace(*number(), scale=scale)


def gaussian(scale: float = 2.0) -> Any:
    return dp.m.make_gaussian(*number(), scale=scale)


def user(measure: Any, loss: Callable[[Any], Any]) -> Any:
    return dp.m.make_user_measurement(*number(), measure, lambda x: x, loss, TO=int)


def test_each_measure_is_its_notion() -> None:
    assert from_opendp(laplace(4.0), 2) == il.PureDP(0.5)
    assert from_opendp(gaussian(), 1) == il.ZCDP(0.125)
    assert from_opendp(dp.c.make_approximate(laplace(4.0)), 1) == il.ApproxDP(0.25, 0)
    assert from_opendp(dp.c.make_approximate(gaussian()), 1) == il.ZCDP(0.125)


def test_a_float_is_never_read_as_less_than_it_is() -> None:
    found = from_opendp(laplace(), 1)
    assert isinstance(found, il.PureDP)
    assert found.epsilon0 == Fraction(laplace().map(1)) >= Fraction(1, 3)


def test_a_profile_is_read_at_a_delta() -> None:
    profile: Any = dp.c.make_zCDP_to_approxDP(gaussian())
    curve: Any = profile.map
    epsilon = Fraction(curve(1).epsilon(1e-6))
    found = from_opendp(profile, 1, delta=1e-6)
    assert isinstance(found, il.ApproxDP)
    # It is asked at a float of at most this delta.
    assert 0 <= found.epsilon0 - epsilon < Fraction(1, 10**12)
    fixed = from_opendp(dp.c.make_fix_delta(profile, 1e-6), 1)
    assert isinstance(fixed, il.ApproxDP)
    assert fixed.epsilon0 == epsilon
    # Ours of the same rho is no larger.
    assert il.ZCDP(0.125).epsilon(1e-6) <= float(fixed.epsilon0)
    with pytest.raises(il.ParameterError, match="delta"):
        from_opendp(profile, 1)
    with pytest.raises(il.ParameterError, match="delta"):
        from_opendp(laplace(), 1, delta=1e-6)


def test_a_curve_is_read_at_an_order() -> None:
    curve = user(dp.renyi_divergence(), lambda d: lambda alpha: alpha * d / 8)
    assert from_opendp(curve, 1, alpha=4) == il.RenyiDP(4, 0.5)
    third = from_opendp(curve, 1, alpha=Fraction(10, 3))
    assert isinstance(third, il.RenyiDP)
    assert third.epsilon0 >= Fraction(10, 24)
    for missing in (None, 1, math.nan):
        with pytest.raises(il.ParameterError, match="alpha"):
            from_opendp(curve, 1, alpha=missing)


def test_an_infinite_loss_holds_nothing() -> None:
    assert from_opendp(user(dp.max_divergence(), lambda _: math.inf), 1) == il.ApproxDP(0, 1)


def test_leaks_beside_zcdp_and_other_measures_are_refused() -> None:
    leaking = user(dp.approximate(dp.zero_concentrated_divergence()), lambda _: (0.1, 1e-6))
    with pytest.raises(il.Unproven, match="make_zCDP_to_approxDP"):
        from_opendp(leaking, 1)
    with pytest.raises(il.Unproven, match="mine"):
        from_opendp(user(dp.user_divergence("mine"), lambda _: 1.0), 1)


def test_the_metric_tells_the_neighbours() -> None:
    vector = dp.vector_domain(dp.atom_domain(bounds=(0, 1)))
    added = dp.t.make_sum(vector, dp.symmetric_distance()) >> laplace(4.0)
    assert from_opendp(added, 1) == il.PureDP(0.25)
    assert from_opendp(added, 2, relation=CHANGE) == il.PureDP(0.5, relation=CHANGE)
    sized = dp.vector_domain(dp.atom_domain(bounds=(0, 1)), size=10)
    changed = dp.t.make_sum(sized, dp.symmetric_distance())
    changed = dp.t.make_metric_unbounded(sized, dp.change_one_distance()) >> changed
    noisy = changed >> laplace(4.0)
    assert from_opendp(noisy, 1).relation is CHANGE
    with pytest.raises(il.RelationMismatch):
        from_opendp(noisy, 1, relation=il.Relation.ADD_REMOVE)


@pytest.mark.parametrize("metric", [dp.symmetric_distance, dp.insert_delete_distance])
def test_a_changed_row_is_at_distance_2_where_rows_are_counted(metric: Callable[[], Any]) -> None:
    vector = dp.vector_domain(dp.atom_domain(bounds=(0, 1)))
    added = dp.t.make_sum(vector, metric()) >> laplace(4.0)
    for near in (0, 1):
        with pytest.raises(il.RelationMismatch, match="give 2"):
            from_opendp(added, near, relation=CHANGE)
    assert from_opendp(added, 2, relation=CHANGE).epsilon(0) == 0.5


def test_randomised_response_compares_two_answers_of_one_unit() -> None:
    response = dp.m.make_randomized_response_bool(0.75)
    found = from_opendp(response, 1)
    assert found.relation is CHANGE
    assert found.epsilon(0) == pytest.approx(math.log(3))
    with pytest.raises(il.RelationMismatch):
        from_opendp(response, 1, relation=il.Relation.ADD_REMOVE)


def test_metrics_are_known_inside_others() -> None:
    for inner, relation in (("ChangeOneIdDistance", CHANGE), ("SymmetricIdDistance", None)):
        double = SimpleNamespace(
            output_measure="MaxDivergence",
            input_metric=f"FrameDistance({inner}('id'))",
            map=lambda d_in: 0.5 * d_in,
        )
        assert from_opendp(double, 1).relation is (relation or il.Relation.ADD_REMOVE)
        other = il.Relation.ADD_REMOVE if relation else CHANGE
        with pytest.raises(il.RelationMismatch):
            from_opendp(double, 1, relation=other)


@pytest.mark.parametrize("loss", [math.nan, -1.0, "1", None, True])
def test_losses_that_are_none_are_refused(loss: object) -> None:
    double = SimpleNamespace(
        output_measure="MaxDivergence", input_metric="AbsoluteDistance(i32)", map=lambda _: loss
    )
    with pytest.raises(il.ParameterError, match="epsilon"):
        from_opendp(double, 1)


def test_what_is_no_measurement_is_refused() -> None:
    for bad in (
        None,
        3,
        dp.t.make_sum(dp.vector_domain(dp.atom_domain(bounds=(0, 1))), dp.symmetric_distance()),
    ):
        with pytest.raises(il.ParameterError, match="measurement"):
            from_opendp(bad, 1)
