"""OpenDP measurements, read by their privacy maps.

A measurement is known by its attributes; the measure that its map is in says which guarantee it
has. Nothing is invoked but the map.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from interlace.core.errors import ParameterError, RelationMismatch, Unproven
from interlace.core.exact import Real, float_down, float_up, rational
from interlace.core.guarantees import ZCDP, ApproxDP, Notion, PureDP, Relation, RenyiDP
from interlace.core.guarantees.base import read_relation
from interlace.interchange.reading import attribute, binary, is_infinite

#: Metrics in which a distance is a number of rows that were replaced, or whether a value was.
_REPLACING = ("ChangeOneDistance", "ChangeOneIdDistance", "HammingDistance", "DiscreteDistance")
#: Metrics in which it is a number of rows that were added or removed.
_ADDING = ("SymmetricDistance", "SymmetricIdDistance", "InsertDeleteDistance")
#: In those a row that is replaced goes and comes.
_REPLACED = 2


def from_opendp(
    measurement: Any,
    d_in: Any,
    *,
    relation: Relation | None = None,
    delta: Real | None = None,
    alpha: Real | None = None,
) -> Notion:
    """The guarantee of an OpenDP ``measurement`` for datasets at distance ``d_in``.

    MaxDivergence is pure DP, Approximate(MaxDivergence) is (epsilon, delta)-DP, zero-concentrated
    divergence is zCDP. A privacy profile (SmoothedMaxDivergence) is read at ``delta``, a curve of
    Rényi divergences at the order ``alpha``. An infinite loss is (0, 1)-DP. OpenDP's floats bound
    its losses from above, and are the binary numbers that they are.

    ``relation`` is what one unit may do to be at that distance: by default to be added or removed,
    or changed where the metric counts rows that were replaced, or compares values. Where it counts
    rows that were added or removed, a row that is changed is at distance 2. A measurement that
    answers interactively must hold its map against adaptive questions.

    Raises RelationMismatch for a relation that the metric does not have at ``d_in``, Unproven for
    other measures, and ParameterError for what is no measurement and for missing arguments.

    >>> import opendp.prelude as dp
    >>> dp.enable_features("contrib")
    >>> space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    >>> from_opendp(dp.m.make_laplace(*space, scale=4.0), d_in=1)
    PureDP(0.25)
    """
    measure = str(attribute(measurement, "output_measure", "measurement"))
    found = _relation(str(attribute(measurement, "input_metric", "measurement")), relation, d_in)
    for name, value, needed in (
        ("delta", delta, measure == _PROFILE),
        ("alpha", alpha, measure == _CURVE),
    ):
        if (value is None) is needed:
            problem = "must be given: the map is a curve" if needed else "is not for this measure"
            raise ParameterError(name, f"{problem}, {measure}")
    read = _MEASURES.get(measure)
    if read is None:
        raise Unproven(
            f"the measure {measure} is not read: use one of {', '.join(_MEASURES)}, or a combinator "
            "of OpenDP that converts it"
        )
    losses = attribute(measurement, "map", "measurement")(d_in)
    return read(losses, found, delta if alpha is None else alpha)


def _relation(metric: str, relation: Relation | None, d_in: Any) -> Relation:
    # Anywhere in its name: a metric of groups or frames names the one inside.
    replaces = any(name in metric for name in _REPLACING)
    if relation is None:
        return Relation.CHANGE_ONE if replaces else Relation.ADD_REMOVE
    if read_relation(relation) is Relation.ADD_REMOVE and replaces:
        raise RelationMismatch(
            f"a distance in {metric} counts what was replaced: it says nothing of a unit that is "
            "added or removed"
        )
    adds = any(name in metric for name in _ADDING) and isinstance(d_in, numbers.Real)
    if relation is Relation.CHANGE_ONE and adds and d_in < _REPLACED:
        raise RelationMismatch(
            f"a unit that is changed is never at distance {d_in} in {metric}: each of its rows goes "
            "and comes, so give 2 for one row"
        )
    return relation


def _unlimited(relation: Relation) -> ApproxDP:
    return ApproxDP(0, 1, relation=relation)


def _pure(loss: Any, relation: Relation, at: Real | None) -> Notion:
    del at
    if is_infinite(loss):
        return _unlimited(relation)
    return PureDP(binary(loss, "epsilon"), relation=relation)


def _zcdp(loss: Any, relation: Relation, at: Real | None) -> Notion:
    del at
    return (
        _unlimited(relation) if is_infinite(loss) else ZCDP(binary(loss, "rho"), relation=relation)
    )


def _approximate(loss: Any, relation: Relation, at: Real | None) -> Notion:
    del at
    epsilon, delta = loss
    if is_infinite(epsilon):
        return _unlimited(relation)
    # Sums of deltas may exceed 1; that is no more than nothing held.
    exact = min(Fraction(1), binary(delta, "delta"))
    return ApproxDP(binary(epsilon, "epsilon"), exact, relation=relation)


def _approximate_zcdp(loss: Any, relation: Relation, at: Real | None) -> Notion:
    rho, delta = loss
    if binary(delta, "delta"):
        raise Unproven(
            "Approximate(ZeroConcentratedDivergence) with delta > 0 is no notion here: convert it "
            "with OpenDP's make_zCDP_to_approxDP and read the profile at a delta"
        )
    return _zcdp(rho, relation, at)


def _profile(loss: Any, relation: Relation, at: Real | None) -> Notion:
    assert at is not None
    exact = rational(at, "delta", maximum=1)
    # At no larger a delta: there epsilon is no smaller.
    epsilon = attribute(loss, "epsilon", "measurement.map")(float_down(exact))
    if is_infinite(epsilon):
        return _unlimited(relation)
    return ApproxDP(binary(epsilon, "epsilon"), exact, relation=relation)


def _renyi(loss: Any, relation: Relation, at: Real | None) -> Notion:
    assert at is not None
    order = rational(at, "alpha", minimum=1, above=True)
    if not callable(loss):
        raise ParameterError("measurement.map", "must give a curve of Rényi divergences")
    # At no smaller an order: divergences do not fall in the order.
    epsilon = loss(float_up(order))
    if is_infinite(epsilon):
        return _unlimited(relation)
    return RenyiDP(order, binary(epsilon, "epsilon"), relation=relation)


_PROFILE = "SmoothedMaxDivergence"
_CURVE = "RenyiDivergence"
_MEASURES: Mapping[str, Callable[[Any, Relation, Real | None], Notion]] = {
    "MaxDivergence": _pure,
    "Approximate(MaxDivergence)": _approximate,
    "FixedSmoothedMaxDivergence": _approximate,
    "ZeroConcentratedDivergence": _zcdp,
    "Approximate(ZeroConcentratedDivergence)": _approximate_zcdp,
    _PROFILE: _profile,
    _CURVE: _renyi,
}
