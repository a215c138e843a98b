"""Event trees of ``dp_accounting``, read as compositions.

An event is known by the name of its class and by its attributes, or as the named tuple that its
library makes of it. What is not proven for concurrent, adaptive use is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from interlace.core.composition import Composition, compose
from interlace.core.errors import ParameterError, Unproven
from interlace.core.exact import natural
from interlace.core.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, Relation
from interlace.core.guarantees.base import read_relation
from interlace.core.guarantees.losses import DiscreteLaplace, Pair
from interlace.interchange.reading import attribute, binary

#: Events inside events: deeper trees are refused.
_DEEPEST = 100

_SAMPLING = (
    "a sample answers by chance only, and amplification by it is not proven here for mechanisms "
    "that are asked adaptively and concurrently; take the event inside it, without the gain"
)
_REFUSED: Mapping[str, str] = {
    "PoissonSampledDpEvent": _SAMPLING,
    "SampledWithReplacementDpEvent": _SAMPLING,
    "SampledWithoutReplacementDpEvent": _SAMPLING,
    "TruncatedSubsampledGaussianDpEvent": _SAMPLING,
    "MixtureOfGaussiansDpEvent": _SAMPLING,
    "SingleEpochTreeAggregationDpEvent": (
        "a tree over a stream whose items come between the answers is not proven here; compose "
        "the Gaussian of its nodes for items that are fixed in advance"
    ),
    "RepeatAndSelectDpEvent": (
        "the best of a random number of runs is no composition of them, and its own theorem is "
        "not proven here for mechanisms that are asked interactively"
    ),
    "UnsupportedDpEvent": "it says of itself that nothing is known of it",
}


def from_dp_accounting(event: Any, *, relation: Relation = Relation.ADD_REMOVE) -> Composition:
    """The guarantee of a ``dp_accounting`` event, all of its parameters fixed in advance (R2).

    Gaussian noise is Gaussian DP (FORMULAS 7.5); continuous Laplace noise is pure; discrete
    Laplace noise has its exact loss at sensitivity 1 (8.2) and is pure above, where a vector may
    spread it; randomised response has its exact law. A non-private event is (0, 1)-DP. To change
    one unit moves sums by twice their bound: so ``relation`` says what neighbours are. Floats are
    the binary numbers that they are.

    Raises Unproven for events of sampling, selection and trees, for unknown ones, for zCDP with
    xi > 0 and for randomised response without a change of one; ParameterError for other objects.

    >>> from collections import namedtuple
    >>> GaussianDpEvent = namedtuple("GaussianDpEvent", "noise_multiplier")
    >>> from_dp_accounting(GaussianDpEvent(4.0)).parts
    ((GaussianDP(0.25), 1),)
    """
    return _read(event, read_relation(relation), "event", 0)


def _read(event: Any, relation: Relation, where: str, depth: int) -> Composition:
    if depth > _DEEPEST:
        raise ParameterError(where, f"must not be nested deeper than {_DEEPEST} events")
    name = _name(event)
    if name == "ComposedDpEvent":
        return compose(_members(event, relation, where, depth))
    if name == "SelfComposedDpEvent":
        count = natural(attribute(event, "count", where), f"{where}.count", minimum=0)
        inner = attribute(event, "event", where)
        return compose([(_read(inner, relation, f"{where}.event", depth + 1), count)])
    if name in _REFUSED:
        raise Unproven(f"{where}: {name}: {_REFUSED[name]}")
    leaf = _LEAVES.get(name)
    if leaf is None:
        raise _unknown(name, where)
    found = leaf(event, relation, where)
    return compose([] if found is None else [found])


def _members(event: Any, relation: Relation, where: str, depth: int) -> Iterable[Composition]:
    events = attribute(event, "events", where)
    if isinstance(events, str | bytes) or not isinstance(events, Iterable):
        raise ParameterError(f"{where}.events", "must be a list of events")
    for index, inner in enumerate(events):
        yield _read(inner, relation, f"{where}.events[{index}]", depth + 1)


def _name(event: Any) -> str:
    # As a named tuple, the event's class is told by a field.
    told = getattr(event, "class_name", None) if hasattr(event, "_fields") else None
    if isinstance(told, bytes):
        told = told.decode(errors="replace")
    return told if isinstance(told, str) else type(event).__name__


def _unknown(name: str, where: str) -> ParameterError | Unproven:
    if name.endswith("DpEvent"):
        return Unproven(f"{where}: {name} is not known here: nothing is proven of it")
    return ParameterError(where, f"must be an event of dp_accounting, not {name}")


def _moves(relation: Relation) -> int:
    """How often one unit's bound a sum moves: replacing takes away and adds."""
    return 2 if relation is Relation.CHANGE_ONE else 1


def _noise(event: Any, name: str, where: str) -> Fraction:
    return binary(attribute(event, name, where), f"{where}.{name}")


def _nothing_held(relation: Relation) -> ApproxDP:
    return ApproxDP(0, 1, relation=relation)


def _gaussian(event: Any, relation: Relation, where: str) -> Guarantee:
    noise = _noise(event, "noise_multiplier", where)
    if not noise:
        return _nothing_held(relation)
    return GaussianDP(_moves(relation) / noise, relation=relation)


def _laplace(event: Any, relation: Relation, where: str) -> Guarantee:
    noise = _noise(event, "noise_multiplier", where)
    if not noise:
        return _nothing_held(relation)
    return PureDP(_moves(relation) / noise, relation=relation)


def _discrete_laplace(event: Any, relation: Relation, where: str) -> Guarantee | None:
    each = _noise(event, "noise_parameter", where)
    bound = natural(
        attribute(event, "sensitivity", where), f"{where}.sensitivity", minimum=0
    ) * _moves(relation)
    if not bound:
        return None
    if not each:
        return PureDP(0, relation=relation)
    if bound > 1:
        return PureDP(each * bound, relation=relation)
    try:
        return DiscreteLaplace(1 / each, relation=relation)
    except ParameterError:
        # Beyond the scales whose loss is computed it is pure all the same.
        return PureDP(each, relation=relation)


def _randomised_response(event: Any, relation: Relation, where: str) -> Guarantee | None:
    if relation is not Relation.CHANGE_ONE:
        raise Unproven(
            f"{where}: RandomizedResponseDpEvent compares two answers of one unit: give "
            "relation=Relation.CHANGE_ONE"
        )
    noise = binary(
        attribute(event, "noise_parameter", where), f"{where}.noise_parameter", maximum=1
    )
    buckets = natural(attribute(event, "num_buckets", where), f"{where}.num_buckets")
    if buckets == 1:
        return None
    if not noise:
        return _nothing_held(relation)
    other = noise / buckets
    true, rest = 1 - noise + other, (buckets - 2) * other
    return Pair([true, other, rest], [other, true, rest], relation=relation)


def _zcdp(event: Any, relation: Relation, where: str) -> Guarantee:
    rho = binary(attribute(event, "rho", where), f"{where}.rho")
    if binary(getattr(event, "xi", 0), f"{where}.xi"):
        raise Unproven(f"{where}: ZCDpEvent with xi > 0 is no notion here: only rho-zCDP is")
    return ZCDP(rho, relation=relation)


def _epsilon_delta(event: Any, relation: Relation, where: str) -> Guarantee:
    epsilon = binary(attribute(event, "epsilon", where), f"{where}.epsilon")
    delta = binary(attribute(event, "delta", where), f"{where}.delta", maximum=1)
    return ApproxDP(epsilon, delta, relation=relation)


def _pure(event: Any, relation: Relation, where: str) -> Guarantee:
    return PureDP(binary(attribute(event, "epsilon", where), f"{where}.epsilon"), relation=relation)


def _free(event: Any, relation: Relation, where: str) -> None:
    del event, relation, where


def _non_private(event: Any, relation: Relation, where: str) -> Guarantee:
    del event, where
    return _nothing_held(relation)


_LEAVES: Mapping[str, Callable[[Any, Relation, str], Guarantee | None]] = {
    "NoOpDpEvent": _free,
    "NonPrivateDpEvent": _non_private,
    "GaussianDpEvent": _gaussian,
    "LaplaceDpEvent": _laplace,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "RandomizedResponseDpEvent": _randomised_response,
    "ZCDpEvent": _zcdp,
    "EpsilonDeltaDpEvent": _epsilon_delta,
    "PureDpEvent": _pure,
}
