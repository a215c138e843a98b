"""Guarantees as events of ``dp_accounting``, in the named tuples that it reads."""

from __future__ import annotations

from collections import namedtuple
from fractions import Fraction
from typing import Any

from interlace.core.composition import Composition, compose
from interlace.core.errors import RelationMismatch, Unproven
from interlace.core.exact import float_down, float_up
from interlace.core.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, Relation
from interlace.core.guarantees.losses import DiscreteLaplace

_MODULE = "dp_accounting.dp_event"

EventTuple = Any
"""What ``dp_accounting.DpEvent.from_named_tuple`` makes an event of."""


def to_dp_accounting(guarantee: Guarantee) -> EventTuple:
    """The guarantee as a named tuple: ``dp_accounting.DpEvent.from_named_tuple`` of it is an event
    for accounting by adding or removing one unit, at least as large in every number.

    PureDP is the discrete Laplace noise of that loss, whose curve is that of randomised response
    (FORMULAS 7.3, 8.2). Compositions keep their counts. Raises Unproven for what no event says, and
    RelationMismatch for a guarantee of other neighbours: an event would claim it of these.

    >>> event = to_dp_accounting(GaussianDP(0.5))
    >>> event.class_name, event.noise_multiplier
    ('GaussianDpEvent', 2.0)
    """
    if guarantee.relation is not Relation.ADD_REMOVE:
        raise RelationMismatch(
            f"{guarantee} is for {guarantee.relation}, and events are for adding or removing one unit"
        )
    parts = guarantee.parts if isinstance(guarantee, Composition) else compose([guarantee]).parts
    events = [_times(_event(part), count) for part, count in parts]
    return events[0] if len(events) == 1 else _tuple("ComposedDpEvent", events=events)


def _times(event: EventTuple, count: int) -> EventTuple:
    return event if count == 1 else _tuple("SelfComposedDpEvent", event=event, count=count)


def _event(part: Guarantee) -> EventTuple:
    match part:
        case PureDP():
            return _pure(part.epsilon0)
        case ApproxDP() if not part.delta0:
            return _pure(part.epsilon0)
        case ApproxDP() if part.delta0 == 1:
            return _tuple("NonPrivateDpEvent")
        case ZCDP():
            return _tuple("ZCDpEvent", rho=float_up(part.rho), xi=0.0)
        case GaussianDP() if not part.mu:
            return _tuple("NoOpDpEvent")
        case GaussianDP():
            return _tuple("GaussianDpEvent", noise_multiplier=float_down(1 / part.mu))
        case DiscreteLaplace():
            return _laplace(1 / part.scale, part.shift)
        case _:
            raise Unproven(f"{part}: no event of dp_accounting says it")


def _pure(epsilon: Fraction) -> EventTuple:
    return _laplace(epsilon, 1) if epsilon else _tuple("NoOpDpEvent")


def _laplace(each: Fraction, shift: int) -> EventTuple:
    return _tuple("DiscreteLaplaceDpEvent", noise_parameter=float_up(each), sensitivity=shift)


def _tuple(name: str, **values: object) -> EventTuple:
    make: Any = namedtuple  # noqa: PYI024  its fields are the event's, known only now
    made = make(f"{name}Tuple", ["module_name", "class_name", *values])
    return made(_MODULE, name, *values.values())
