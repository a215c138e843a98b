"""What a mechanism costs under each rule that adds up: the conversions into a budget's notion.

Each is exact or tight where the notion allows it, and rounds up. Where a guarantee says nothing
in the budget's notion it is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from interlace.core.composition.composed import compose
from interlace.core.composition.filters.losses import stated
from interlace.core.composition.filters.points import point, refuse_without_point
from interlace.core.composition.filters.rule import (
    Budget,
    Charge,
    Parts,
    parameter_down,
    parameter_up,
    root_down,
    root_up,
    told,
)
from interlace.core.composition.filters.sums import Cost, Numbers, SumRule
from interlace.core.composition.terms import Part
from interlace.core.composition.value_filters.steps import covering
from interlace.core.errors import Unproven
from interlace.core.exact import LARGEST_BITS
from interlace.core.guarantees import (
    TCDP,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Notion,
    PureDP,
    RenyiDP,
)
from interlace.core.guarantees.base import briefly
from interlace.core.guarantees.concentrated import response_rho
from interlace.core.guarantees.conversions import response_renyi
from interlace.core.guarantees.enclosures import fitting, shorten_up
from interlace.core.guarantees.losses import BoundedRange, PrivacyLoss


def summed(values: list[tuple[Fraction, int]]) -> Fraction:
    """The sum, exact as long as a parameter may be, so that a budget can be asked for itself."""
    total = Fraction(0)
    for value, count in values:
        total = fitting(total + value * count, LARGEST_BITS)
    return total


def _epsilon_delta(guarantee: Notion) -> Numbers:
    if isinstance(guarantee, PureDP):
        return guarantee.epsilon0, Fraction(0)
    assert isinstance(guarantee, ApproxDP)
    return guarantee.epsilon0, guarantee.delta0


def _basic_charge(parts: Parts, budget: Budget) -> Charge:
    epsilons, deltas = [], []
    for part, count in parts:
        guarantee = stated(part)
        if isinstance(guarantee, PureDP | ApproxDP):
            epsilon, delta = _epsilon_delta(guarantee)
            epsilons.append((epsilon, count))
            deltas.append((delta, count))
        else:
            refuse_without_point(guarantee or part, budget)
    return point(summed(epsilons), min(Fraction(1), summed(deltas)), budget)


def _basic(numbers: Numbers, budget: Budget) -> Budget:
    if isinstance(budget, PureDP):
        return PureDP(numbers[0], relation=budget.relation)
    return ApproxDP(*numbers, relation=budget.relation)


_response_rho = lru_cache(maxsize=256)(response_rho)


def rho_of(part: Part) -> Fraction:
    """The rho of a guarantee, rounded up (FORMULAS 7.3, 7.5, 8.5). Raises Unproven for one that
    says nothing in zCDP."""
    if isinstance(part, BoundedRange):
        return part.eta * part.eta / 8
    guarantee = stated(part)
    match guarantee:
        case ZCDP():
            return guarantee.rho
        case GaussianDP():
            return guarantee.mu * guarantee.mu / 2
        case PureDP():
            return _response_rho(guarantee.epsilon0)
        case ApproxDP() if not guarantee.delta0:
            return _response_rho(guarantee.epsilon0)
        case _:
            raise unproven(part, "zCDP")


def unproven(guarantee: Part, notion: str) -> Unproven:
    """The error for a guarantee that says nothing in a notion."""
    if isinstance(guarantee, ApproxDP):
        return Unproven(
            f"{guarantee} has delta > 0 and says nothing in {notion}. A budget in (epsilon, delta) "
            "holds it, in its structural part."
        )
    return Unproven(
        f"{guarantee} says nothing in {notion} that holds for all of it: ask for a budget in its "
        "own notion, or in (epsilon, delta), and commit a point of it there."
    )


def _rho(guarantee: Notion) -> Numbers:
    assert isinstance(guarantee, ZCDP | TCDP)
    return (guarantee.rho,)


def _zcdp_charge(parts: Parts, budget: Budget) -> Charge:
    rho = summed([(rho_of(guarantee), count) for guarantee, count in parts])
    return ZCDP(rho, relation=budget.relation)


def _zcdp(numbers: Numbers, budget: Budget) -> Budget:
    return ZCDP(numbers[0], relation=budget.relation)


def _tcdp_charge(parts: Parts, budget: Budget) -> Charge:
    assert isinstance(budget, TCDP)
    found = []
    for guarantee, count in parts:
        if isinstance(guarantee, TCDP):
            if guarantee.omega < budget.omega:
                raise Unproven(
                    f"{guarantee} holds up to a lower order than the budget's omega, "
                    f"{briefly(budget.omega)}, which was fixed when the filter was made"
                )
            found.append((guarantee.rho, count))
        else:
            found.append((rho_of(guarantee), count))
    return TCDP(summed(found), budget.omega, relation=budget.relation)


def _tcdp(numbers: Numbers, budget: Budget) -> Budget:
    assert isinstance(budget, TCDP)
    return TCDP(numbers[0], budget.omega, relation=budget.relation)


def _divergence(guarantee: Part, alpha: Fraction) -> Fraction:
    """The Rényi divergence of order alpha, rounded up: exact where it is rational, for randomised
    response its own curve (FORMULAS 7.3)."""
    match guarantee:
        case RenyiDP() if guarantee.alpha >= alpha:
            return guarantee.epsilon0
        case ZCDP() | GaussianDP():
            return alpha * rho_of(guarantee)
        case TCDP() if guarantee.omega >= alpha:
            return alpha * guarantee.rho
        case PureDP():
            return _response(guarantee.epsilon0, alpha)
        case ApproxDP() if not guarantee.delta0:
            return _response(guarantee.epsilon0, alpha)
        case PrivacyLoss() if (found := guarantee.renyi_enclosure(alpha).upper).is_finite():
            return shorten_up(Fraction(found))
        case _:
            raise unproven(guarantee, f"Rényi DP of order {briefly(alpha)}")


@lru_cache(maxsize=256)
def _response(epsilon: Fraction, alpha: Fraction) -> Fraction:
    return shorten_up(Fraction(response_renyi(epsilon, alpha).upper))


def _renyi_charge(parts: Parts, budget: Budget) -> Charge:
    assert isinstance(budget, RenyiDP)
    epsilon = summed([(_divergence(guarantee, budget.alpha), n) for guarantee, n in parts])
    return RenyiDP(budget.alpha, epsilon, relation=budget.relation)


def _renyi_numbers(guarantee: Notion) -> Numbers:
    assert isinstance(guarantee, RenyiDP)
    return (guarantee.epsilon0,)


def _renyi(numbers: Numbers, budget: Budget) -> Budget:
    assert isinstance(budget, RenyiDP)
    return RenyiDP(budget.alpha, numbers[0], relation=budget.relation)


def _gaussian_charge(parts: Parts, budget: Budget) -> Charge:
    found: list[tuple[Notion, int]] = []
    for part, count in parts:
        guarantee = stated(part)
        match guarantee:
            case GaussianDP():
                found.append((guarantee, count))
            case PureDP():
                found.append((_gaussian_of(guarantee.epsilon0, budget), count))
            case ApproxDP() if not guarantee.delta0:
                found.append((_gaussian_of(guarantee.epsilon0, budget), count))
            case ZCDP() if not guarantee.rho:
                pass
            case _:
                raise unproven(part, "GDP")
    return told(compose(found).parts, budget)


_variance = lru_cache(maxsize=256)(covering)


def _gaussian_of(epsilon: Fraction, budget: Budget) -> GaussianDP:
    return GaussianDP(root_up(_variance(epsilon)), relation=budget.relation)


def _mu_squared(guarantee: Notion) -> Numbers:
    assert isinstance(guarantee, GaussianDP)
    return (guarantee.mu * guarantee.mu,)


Make = Callable[[Numbers, Budget], Budget]


def _cost(
    names: tuple[str, ...],
    charge: Callable[[Parts, Budget], Charge],
    numbers: Callable[[Notion], Numbers],
    make: Make,
) -> Cost:
    """A cost whose sums are the numbers of a guarantee in the budget's notion."""

    def down(left: Numbers, budget: Budget) -> Budget:
        return make(tuple(map(parameter_down, left)), budget)

    def reading(left: Numbers, limits: Numbers, budget: Budget) -> tuple[Budget, Budget]:
        used = tuple(parameter_up(x - y) for x, y in zip(limits, left, strict=True))
        return make(used, budget), down(left, budget)

    return Cost(names, charge, numbers, reading, down)


def _gaussian_reading(left: Numbers, limits: Numbers, budget: Budget) -> tuple[Budget, Budget]:
    spent = GaussianDP(root_up(limits[0] - left[0]), relation=budget.relation)
    return spent, _gaussian_most(left, budget)


def _gaussian_most(left: Numbers, budget: Budget) -> Budget:
    return GaussianDP(root_down(left[0]), relation=budget.relation)


_BASIC = _cost(("epsilon", "delta"), _basic_charge, _epsilon_delta, _basic)
_GAUSSIAN = Cost(("mu_squared",), _gaussian_charge, _mu_squared, _gaussian_reading, _gaussian_most)
_SUMMED: dict[type[Notion], Cost] = {
    PureDP: _BASIC,
    ApproxDP: _BASIC,
    RenyiDP: _cost(("epsilon",), _renyi_charge, _renyi_numbers, _renyi),
    ZCDP: _cost(("rho",), _zcdp_charge, _rho, _zcdp),
    TCDP: _cost(("rho",), _tcdp_charge, _rho, _tcdp),
    GaussianDP: _GAUSSIAN,
}


def sum_rule(name: str, budget: Budget) -> SumRule:
    """The rule that adds up in the budget's own notion."""
    cost = _SUMMED[type(budget)]
    return SumRule(name, budget, cost, cost.numbers(budget))
