"""Plans: the largest mechanism of a shape that fits so many times into a budget.

The parameters of a plan are fixed before any answer (R2); for mechanisms that are chosen from
answers, ask ``Filter.largest``. What is found is checked by the same composition that
``compose`` offers, so that the search itself needs no trust.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeVar, overload

from interlace.core.composition.boundary import FARTHEST, Tried, boundary
from interlace.core.composition.composed import Composition, Guaranteed, compose
from interlace.core.composition.filters.costs import sum_rule
from interlace.core.errors import ParameterError, RelationMismatch
from interlace.core.exact import Real, natural, rational
from interlace.core.guarantees import (
    TCDP,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    Notion,
    PureDP,
    RenyiDP,
    is_notion,
)
from interlace.core.guarantees.enclosures import log_roughly

T = TypeVar("T", bound=Guarantee | Guaranteed)

_NO_DELTA = Fraction(0)
#: Both probes of a direction lie this close to 1, in powers of 2.
_PROBES = 60


@overload
def plan(budget: Notion, shape: type[ApproxDP], count: int, *, delta: Real) -> ApproxDP: ...
@overload
def plan(budget: Notion, shape: type[TCDP], count: int) -> TCDP: ...
@overload
def plan(budget: Notion, shape: type[RenyiDP], count: int) -> RenyiDP: ...
@overload
def plan(
    budget: Notion, shape: Callable[[float], T], count: int, *, grows: bool | None = None
) -> T: ...
def plan(
    budget: Notion,
    shape: Callable[..., Any],
    count: int,
    *,
    delta: Real | None = None,
    grows: bool | None = None,
) -> Any:
    """The largest mechanism of a ``shape`` of which ``count``, fixed in advance, fit ``budget``.

    ``shape`` is a notion - PureDP, ZCDP, GaussianDP; ApproxDP with a ``delta`` each; RenyiDP and
    TCDP at the order of a budget of that notion - or makes a guarantee or a mechanism from one
    float. Its loss ``grows`` with the float or falls (a scale of noise); if that is not told, it
    is found out. Mechanisms that ``shape`` refuses with a ParameterError do not fit.

    A budget in (epsilon, delta), pure or of one Rényi order holds what ``compose`` certifies at it;
    one in zCDP, tCDP or GDP what adds up to it, as in a filter (FORMULAS 6.5, 6.7). What is returned
    fits, its float read as the decimal it prints; with one larger by a part of 1e-12 it would not.

    Raises ParameterError where no power of 2 fits or all do, RelationMismatch for a shape for other
    neighbours, and Unproven for one that says nothing in the budget's notion.

    >>> plan(PureDP(1), PureDP, 10), plan(ZCDP(0.5), GaussianDP, 4)
    (PureDP(0.1), GaussianDP(0.5))
    >>> plan(ApproxDP(1, 1e-6), ApproxDP, 100, delta=1e-9).epsilon0 > 2.3 * plan(
    ...     ApproxDP(1, 0), PureDP, 100).epsilon0
    True
    """
    if not is_notion(budget):
        raise ParameterError("budget", "must be a guarantee of one notion, such as ApproxDP(1, 0)")
    times = natural(count, "count")
    make = _shaped(budget, shape, delta)

    def trial(x: float) -> Tried[Any] | None:
        found = _made(make, x)
        if found is None:
            return None
        together = compose([(found, times)])
        return Tried(found, fits(budget, together), _taken(budget, together))

    growing = _grows(make) if grows is None else grows
    found = boundary(trial, grows=growing)
    if found is None:
        return _nothing(trial, growing=growing)
    if not found.reached:
        raise ParameterError("budget", f"holds every one of the shape up to 2**{FARTHEST}")
    return found.value


def fits(budget: Notion, composition: Composition) -> bool:
    """Whether the budget holds the composition, by an exact comparison.

    Raises RelationMismatch for other neighbours, and Unproven for parts that say nothing in the
    budget's notion.

    >>> fits(PureDP(1), compose([(PureDP(0.1), 10)])), fits(PureDP(1), compose([PureDP(1.01)]))
    (True, False)
    """
    if composition.relation is not budget.relation:
        raise RelationMismatch(
            f"the budget is for {budget.relation}, the shape for {composition.relation}"
        )
    match budget:
        case PureDP():
            return composition.epsilon_enclosure(_NO_DELTA).upper <= budget.epsilon0
        case ApproxDP():
            return composition.epsilon_enclosure(budget.delta0).upper <= budget.epsilon0
        case RenyiDP():
            return composition.renyi_enclosure(budget.alpha).upper <= budget.epsilon0
        case ZCDP() | TCDP() | GaussianDP():
            rule = sum_rule("plan", budget)
            return rule.steps(rule.start(), rule.charge(composition.parts)) is not None


def _taken(budget: Notion, composition: Composition) -> float | None:
    """The logarithm of what is taken of the budget, roughly, where ``fits`` knows it anyway."""
    match budget:
        case PureDP():
            upper = composition.epsilon_enclosure(_NO_DELTA).upper
        case ApproxDP():
            upper = composition.epsilon_enclosure(budget.delta0).upper
        case RenyiDP():
            upper = composition.renyi_enclosure(budget.alpha).upper
        case _:
            return None
    if not upper.is_finite() or upper <= 0 or not budget.epsilon0:
        return None
    return log_roughly(Fraction(upper)) - log_roughly(budget.epsilon0)


def _shaped(
    budget: Notion, shape: Callable[..., Any], delta: Real | None
) -> Callable[[float], Any]:
    """The shape as a function of one float."""
    relation = budget.relation
    if shape is ApproxDP:
        if delta is None:
            raise ParameterError("delta", "must be given: the delta of each ApproxDP")
        each = rational(delta, "delta", maximum=1)
        return lambda x: ApproxDP(x, each, relation=relation)
    if delta is not None:
        raise ParameterError("delta", "is for the shape ApproxDP alone")
    if shape is PureDP or shape is ZCDP or shape is GaussianDP:
        return lambda x: shape(x, relation=relation)
    if shape is RenyiDP and isinstance(budget, RenyiDP):
        return lambda x: RenyiDP(budget.alpha, x, relation=relation)
    if shape is TCDP and isinstance(budget, TCDP):
        return lambda x: TCDP(x, budget.omega, relation=relation)
    if shape is RenyiDP or shape is TCDP:
        raise ParameterError(
            "shape", "has an order: give a function, such as lambda x: il.RenyiDP(8, x)"
        )
    if not callable(shape):
        raise ParameterError("shape", f"must be a notion or a function, not {_kind(shape)}")
    return shape


def _made(make: Callable[[float], Any], x: float) -> Guarantee | Guaranteed | None:
    try:
        found = make(x)
    except ParameterError:
        return None
    if not isinstance(found, Guarantee | Guaranteed):
        raise ParameterError("shape", f"must make guarantees or mechanisms, not {_kind(found)}")
    return found


def _grows(make: Callable[[float], Any]) -> bool:
    """Whether the loss grows with the parameter, told by delta at epsilon 0 of two of a shape."""
    for step in range(_PROBES):
        for power in (step, -step - 1):
            low, high = _made(make, 2.0**power), _made(make, 2.0 ** (power + 1))
            if low is None or high is None:
                continue
            first, second = (compose([x]).delta_enclosure(Fraction(0)) for x in (low, high))
            if first.upper < second.lower:
                return True
            if second.upper < first.lower:
                return False
    raise ParameterError("grows", "must be given: the loss of this shape does not tell it")


def _nothing(trial: Callable[[float], Tried[Any] | None], *, growing: bool) -> Any:
    """The mechanism without any loss: it may fit where no other does."""
    none = trial(0.0) if growing else None
    if none is not None and none.fits:
        return none.value
    raise ParameterError("budget", "holds not so many of this shape, however small each is")


def _kind(value: object) -> str:
    # Its type alone: the object may be a table.
    return type(value).__name__
