"""Points (epsilon, delta) of a guarantee, to which it is committed when it is charged."""

from __future__ import annotations

import math
from fractions import Fraction

from interlace.core.composition.composed import Composition
from interlace.core.composition.filters.rule import Budget, Parts
from interlace.core.composition.terms import Part
from interlace.core.errors import ParameterError
from interlace.core.guarantees import (
    TCDP,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Notion,
    PureDP,
    RenyiDP,
    is_notion,
)
from interlace.core.guarantees.base import briefly

_NO_DELTA = "a pure budget holds no delta"
#: What the notions are called.
NAMES: dict[type[Notion], str] = {
    PureDP: "pure DP",
    ApproxDP: "(epsilon, delta)",
    RenyiDP: "Rényi DP",
    ZCDP: "zCDP",
    TCDP: "tCDP",
    GaussianDP: "GDP",
}


def committed(parts: Parts, delta: Fraction, budget: Budget) -> Parts:
    """The parts as one point (epsilon(delta), delta) of their composition.

    Raises ParameterError where there is none, and where the budget has no delta.
    """
    if not isinstance(budget, ApproxDP | PureDP):
        raise ParameterError(
            "delta", f"is not used by a budget in {NAMES[type(budget)]}: leave it out"
        )
    if delta and type(budget) is PureDP:
        raise ParameterError("delta", f"{_NO_DELTA}: leave it out")
    found = Composition(parts, budget.relation).epsilon(delta)
    if math.isinf(found):
        raise ParameterError(
            "delta",
            f"this guarantee has no finite epsilon at {briefly(delta)}: give a larger delta",
        )
    # Exactly the float, not the decimal it prints: it was rounded up in binary.
    return ((point(Fraction(found), delta, budget), 1),)


def refuse_without_point(guarantee: Part, budget: Budget) -> None:
    """Raises ParameterError for a guarantee that has an epsilon only beside a delta, unless it
    is empty."""
    if is_empty(guarantee):
        return
    kind = NAMES[type(guarantee)] if is_notion(guarantee) else type(guarantee).__name__
    if type(budget) is PureDP:
        raise ParameterError(
            "delta",
            f"{_NO_DELTA}, and a {kind} guarantee has no epsilon without one: ask the custodian "
            f"for a quota in {kind} or (epsilon, delta)",
        )
    raise ParameterError(
        "delta",
        f"a {kind} guarantee is charged to this budget at one committed point: give the delta of "
        "that point, as delta=1e-9, which is taken from the budget's",
    )


def point(epsilon: Fraction, delta: Fraction, budget: Budget) -> ApproxDP | PureDP:
    """(epsilon, delta), as a pure guarantee where the budget is one and delta is 0."""
    if delta == 0 and type(budget) is PureDP:
        return PureDP(epsilon, relation=budget.relation)
    return ApproxDP(epsilon, delta, relation=budget.relation)


def is_empty(guarantee: Part) -> bool:
    """Whether a guarantee is one of no loss at all."""
    match guarantee:
        case ZCDP() | TCDP():
            return guarantee.rho == 0
        case GaussianDP():
            return guarantee.mu == 0
        case RenyiDP() | PureDP():
            return guarantee.epsilon0 == 0
        case ApproxDP():
            return guarantee.epsilon0 == guarantee.delta0 == 0
        case _:
            return False
