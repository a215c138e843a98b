"""Filters: what may be admitted when parameters are chosen from earlier answers (R3).

A filter charges a mechanism's whole guarantee when it is admitted (R1) and keeps exact
sums. Only rules proved for adaptive, concurrent admission are here; optimal composition is
not one of them. The only mutable thing in the core, and it holds nothing but its sum.
"""

from __future__ import annotations

import math
import threading
from fractions import Fraction
from typing import assert_never

from interlace.core.composition.composed import Composition, Guaranteed, compose
from interlace.core.errors import BudgetExceeded, ParameterError, RelationMismatch, Unproven
from interlace.core.exact import LARGEST_BITS, Real, rational
from interlace.core.guarantees import (
    ZCDP,
    ApproxDP,
    Guarantee,
    Notion,
    PureDP,
    is_notion,
    to_zcdp,
)
from interlace.core.guarantees.base import briefly
from interlace.core.guarantees.enclosures import (
    LONGEST_PARAMETER,
    fitting,
    length,
    shorten_down,
)

#: A sum whose exact form is longer than this is rounded up to a multiple of 2**-SUM_SCALE.
SUM_BITS, SUM_SCALE = 512, 256

Budget = Notion

_RULES = frozenset({"basic", "zcdp"})
_NO_FILTERS = frozenset({"optimal", "kov", "mv", "murtagh-vadhan", "pld", "f-dp"})


class Filter:
    """Admits mechanisms one after another, each chosen from all answers so far.

    ``budget`` is a PureDP or ApproxDP (rule "basic": sums of epsilon and of delta, FORMULAS
    6.2) or a ZCDP (rule "zcdp": sums of rho, 6.5); ``spent`` is what earlier admissions
    used, in the budget's notion. Sums are exact. Once a sum's exact form exceeds 512 bits it
    is rounded up to a multiple of 2**-256, so that an admission costs the same however long
    the history. Safe to share between threads.

    Raises Unproven for rules that are no filters (optimal composition, FORMULAS 6.4), and
    ParameterError for an unknown rule, a budget of the wrong notion, or ``spent`` beyond it.

    >>> f = Filter(PureDP(1))
    >>> for _ in range(10):
    ...     f.admit(PureDP(0.1))
    >>> f.remaining, f.admits(PureDP(1e-17))
    (PureDP(0), False)
    """

    def __init__(
        self, budget: Budget, rule: str | None = None, *, spent: Budget | None = None
    ) -> None:
        self._rule = _checked_rule(budget, rule)
        self._budget = budget
        self._limits = _coordinates(budget)
        self._spent: Sum = (Fraction(0), Fraction(0))
        if spent is not None:
            self._spent = self._read(spent)
        self._lock = threading.Lock()

    def _read(self, spent: Budget) -> Sum:
        if type(spent) is not type(self._budget):
            raise ParameterError("spent", f"must be a {type(self._budget).__name__}")
        if spent.relation is not self._budget.relation:
            raise RelationMismatch(
                f"the budget is for {self._budget.relation}, spent for {spent.relation}"
            )
        if not self._holds(_coordinates(spent)):
            raise ParameterError("spent", f"must lie within the budget {self._budget}")
        return _coordinates(spent)

    def _holds(self, total: Sum) -> bool:
        return total[0] <= self._limits[0] and total[1] <= self._limits[1]

    @property
    def budget(self) -> Budget:
        return self._budget

    @property
    def rule(self) -> str:
        return self._rule

    @property
    def spent(self) -> Budget:
        """The sum of what was admitted: a reading, not a guarantee chosen in advance."""
        return _like(self._budget, self._spent)

    @property
    def remaining(self) -> Budget:
        """What is left, rounded down where its exact form is too long."""
        (a, b), (c, d) = self._limits, self._spent
        return _like(self._budget, (_fitting_down(a - c), _fitting_down(b - d)))

    def charge(self, item: Guarantee | Guaranteed, delta: Real | None = None) -> Budget:
        """What admitting ``item`` would charge, in the filter's notion; charges nothing.

        ``delta`` commits one point (epsilon(delta), delta) of the item's curve, for budgets
        with a delta only; a zCDP part needs it. Without it pure and (epsilon, delta) parts
        are charged at the plain sums.

        Raises ParameterError for a missing or unusable ``delta``, RelationMismatch, and
        Unproven for delta > 0 under rule "zcdp".
        """
        composed = compose([item])
        if composed.parts and composed.relation is not self._budget.relation:
            raise RelationMismatch(
                f"the budget is for {self._budget.relation}, the request for {composed.relation}"
            )
        if self._rule == "zcdp":
            return _zcdp_charge(composed, delta, self._budget)
        return _basic_charge(composed, delta, self._budget)

    def admits(self, item: Guarantee | Guaranteed, delta: Real | None = None) -> bool:
        """Whether ``admit`` would succeed now. Raises as ``charge`` does."""
        return self._holds(_added(self._spent, _coordinates(self.charge(item, delta))))

    def admit(self, item: Guarantee | Guaranteed, delta: Real | None = None) -> None:
        """Charge ``item``. Raises BudgetExceeded, and changes nothing, where it does not fit;
        raises as ``charge`` does."""
        charge = self.charge(item, delta)
        with self._lock:
            after = _added(self._spent, _coordinates(charge))
            if not self._holds(after):
                raise BudgetExceeded(self.spent, charge, self.remaining)
            # The exact sum fits, so a rounded one may not be what refuses the rest.
            first, second = (min(_rounded(x), y) for x, y in zip(after, self._limits, strict=True))
            self._spent = first, second


def _checked_rule(budget: object, rule: object) -> str:
    if not is_notion(budget):
        raise ParameterError(
            "budget", f"must be PureDP, ApproxDP or ZCDP, not {type(budget).__name__}"
        )
    own = "zcdp" if type(budget) is ZCDP else "basic"
    if rule is None:
        return own
    if not isinstance(rule, str):
        raise ParameterError("rule", f"must be 'basic' or 'zcdp', not {type(rule).__name__}")
    if rule.lower() in _NO_FILTERS:
        raise Unproven(
            f"rule {rule.lower()!r} is no filter: optimal composition holds only for parameters "
            "fixed in advance, and an adaptive analyst exceeds the budget under it. "
            f"Use {own!r}, or compose a plan and commit one point of it."
        )
    if rule not in _RULES:
        raise ParameterError("rule", "must be 'basic' or 'zcdp'")
    if rule != own:
        raise ParameterError(
            "rule",
            f"{rule!r} needs a budget of its notion, not {type(budget).__name__}: use {own!r}",
        )
    return rule


def _zcdp_charge(composed: Composition, delta: Real | None, budget: Budget) -> ZCDP:
    if delta is not None:
        raise ParameterError("delta", "is not used by rule 'zcdp': leave it out")
    rho = Fraction(0)
    for guarantee, count in composed.parts:
        rho = _charged(rho + to_zcdp(guarantee).rho * count)
    return ZCDP(rho, relation=budget.relation)


def _basic_charge(composed: Composition, delta: Real | None, budget: Budget) -> ApproxDP | PureDP:
    if delta is not None:
        exact = rational(delta, "delta", maximum=1)
        if exact and type(budget) is PureDP:
            raise ParameterError("delta", f"{_NO_DELTA}: leave it out")
        return _committed_point(composed, exact, budget)
    epsilon_sum = delta_sum = Fraction(0)
    for guarantee, count in composed.parts:
        match guarantee:
            case PureDP():
                epsilon_sum = _charged(epsilon_sum + guarantee.epsilon0 * count)
            case ApproxDP():
                epsilon_sum = _charged(epsilon_sum + guarantee.epsilon0 * count)
                delta_sum = _charged(delta_sum + guarantee.delta0 * count)
            case ZCDP():
                _refuse_unless_empty(guarantee, budget)
            case _:
                assert_never(guarantee)
    return _point(epsilon_sum, min(Fraction(1), delta_sum), budget)


_NO_DELTA = "a pure budget holds no delta"


def _refuse_unless_empty(guarantee: ZCDP, budget: Budget) -> None:
    if guarantee.rho == 0:
        return
    if type(budget) is PureDP:
        raise ParameterError(
            "delta",
            f"{_NO_DELTA}, and a zCDP guarantee has no epsilon without one: ask the custodian "
            "for a quota in zCDP or (epsilon, delta)",
        )
    raise ParameterError(
        "delta",
        "a zCDP guarantee is charged to this budget at one committed point: give the delta of "
        "that point",
    )


def _committed_point(composed: Composition, delta: Fraction, budget: Budget) -> ApproxDP | PureDP:
    found = composed.epsilon(delta)
    if math.isinf(found):
        raise ParameterError(
            "delta",
            f"this guarantee has no finite epsilon at {briefly(delta)}: give a larger delta",
        )
    # Exactly the float, not the decimal it prints: it was rounded up in binary.
    return _point(Fraction(found), delta, budget)


def _point(epsilon: Fraction, delta: Fraction, budget: Budget) -> ApproxDP | PureDP:
    if delta == 0 and type(budget) is PureDP:
        return PureDP(epsilon, relation=budget.relation)
    return ApproxDP(epsilon, delta, relation=budget.relation)


Sum = tuple[Fraction, Fraction]
"""Sums of epsilon and of delta, or of rho and nothing."""


def _coordinates(guarantee: Budget) -> Sum:
    match guarantee:
        case PureDP():
            return guarantee.epsilon0, Fraction(0)
        case ApproxDP():
            return guarantee.epsilon0, guarantee.delta0
        case ZCDP():
            return guarantee.rho, Fraction(0)
        case _:
            assert_never(guarantee)


def _like(budget: Budget, values: Sum) -> Budget:
    match budget:
        case PureDP():
            return PureDP(values[0], relation=budget.relation)
        case ApproxDP():
            return ApproxDP(*values, relation=budget.relation)
        case ZCDP():
            return ZCDP(values[0], relation=budget.relation)
        case _:
            assert_never(budget)


def _added(spent: Sum, charge: Sum) -> Sum:
    return spent[0] + charge[0], spent[1] + charge[1]


def _charged(total: Fraction) -> Fraction:
    """Exact as long as a parameter may be, so that a budget can be asked for itself."""
    return fitting(total, LARGEST_BITS)


def _rounded(value: Fraction) -> Fraction:
    """Exact while short, else up: the sum may only look larger than it is."""
    if length(value) <= SUM_BITS:
        return value
    return Fraction(-(-(value.numerator << SUM_SCALE) // value.denominator), 1 << SUM_SCALE)


def _fitting_down(value: Fraction) -> Fraction:
    return value if length(value) <= LONGEST_PARAMETER else shorten_down(value)
