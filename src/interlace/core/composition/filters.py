"""Filters: what may be admitted when parameters are chosen from earlier answers (R3).

A filter charges a mechanism's whole guarantee when it is admitted (R1) and keeps exact
sums. Only rules proved for adaptive, concurrent admission are here; optimal composition is
not one of them. The only mutable thing in the core, and it holds nothing but its sum.
"""

from __future__ import annotations

import threading
from fractions import Fraction

from interlace.core.composition.composed import Composition, Guaranteed, compose
from interlace.core.errors import BudgetExceeded, ParameterError, RelationMismatch, Unproven
from interlace.core.exact import Real, rational
from interlace.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP, to_zcdp
from interlace.core.guarantees.enclosures import length

#: A sum whose exact form is longer than this is rounded up to a multiple of 2**-SUM_SCALE.
SUM_BITS, SUM_SCALE = 512, 256

Budget = PureDP | ApproxDP | ZCDP

_BY_NOTION = {"basic": (PureDP, ApproxDP), "zcdp": (ZCDP,)}
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
        self._spent = _nothing(budget) if spent is None else spent
        if type(self._spent) is not type(budget) or not _within(self._spent, budget):
            raise ParameterError(
                "spent", f"must be a {type(budget).__name__} within the budget, got {spent!r}"
            )
        if self._spent.relation is not budget.relation:
            raise RelationMismatch(
                f"the budget is for {budget.relation}, spent for {self._spent.relation}"
            )
        self._lock = threading.Lock()

    @property
    def budget(self) -> Budget:
        return self._budget

    @property
    def rule(self) -> str:
        return self._rule

    @property
    def spent(self) -> Budget:
        """The sum of what was admitted: a reading, not a guarantee chosen in advance."""
        return self._spent

    @property
    def remaining(self) -> Budget:
        return _difference(self._budget, self._spent)

    def charge(self, item: Guarantee | Guaranteed, delta: Real | None = None) -> Budget:
        """What admitting ``item`` would charge, in the filter's notion; charges nothing.

        ``delta`` commits one point (epsilon(delta), delta) of the item's curve, for rule
        "basic" only; a zCDP part needs it. Without it pure and (epsilon, delta) parts are
        charged at the plain sums.

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
        return _within(_sum(self._spent, self.charge(item, delta)), self._budget)

    def admit(self, item: Guarantee | Guaranteed, delta: Real | None = None) -> None:
        """Charge ``item``. Raises BudgetExceeded, and changes nothing, where it does not fit;
        raises as ``charge`` does."""
        charge = self.charge(item, delta)
        with self._lock:
            after = _sum(self._spent, charge)
            if not _within(after, self._budget):
                raise BudgetExceeded(self._spent, charge, self.remaining)
            self._spent = _like(self._budget, after)


def _checked_rule(budget: object, rule: str | None) -> str:
    if not isinstance(budget, PureDP | ApproxDP | ZCDP):
        raise ParameterError("budget", f"must be PureDP, ApproxDP or ZCDP, got {budget!r}")
    own = "zcdp" if isinstance(budget, ZCDP) else "basic"
    if rule is None:
        return own
    if isinstance(rule, str) and rule.lower() in _NO_FILTERS:
        raise Unproven(
            f"rule {rule!r} is no filter: optimal composition holds only for parameters fixed "
            "in advance, and an adaptive analyst exceeds the budget under it (FORMULAS 6.4). "
            f"Use {own!r}, or compose a plan and commit one point of it."
        )
    if rule not in _BY_NOTION:
        raise ParameterError("rule", f"must be 'basic' or 'zcdp', got {rule!r}")
    if not isinstance(budget, _BY_NOTION[rule]):
        raise ParameterError("rule", f"{rule!r} needs a budget of its notion, got {budget!r}")
    return rule


def _zcdp_charge(composed: Composition, delta: Real | None, budget: Budget) -> ZCDP:
    if delta is not None:
        raise ParameterError("delta", "is not used by rule 'zcdp': leave it out")
    rho = Fraction(0)
    for guarantee, count in composed.parts:
        if isinstance(guarantee, PureDP | ApproxDP | ZCDP):
            rho += to_zcdp(guarantee).rho * count
    return ZCDP(_rounded(rho), relation=budget.relation)


def _basic_charge(composed: Composition, delta: Real | None, budget: Budget) -> ApproxDP | PureDP:
    if delta is not None:
        return _committed_point(composed, rational(delta, "delta", maximum=1), budget)
    epsilon_sum = delta_sum = Fraction(0)
    for guarantee, count in composed.parts:
        if isinstance(guarantee, ZCDP):
            if guarantee.rho == 0:
                continue
            raise ParameterError(
                "delta",
                "a zCDP guarantee is charged to this budget at one committed point: give the "
                "delta of that point",
            )
        if isinstance(guarantee, PureDP | ApproxDP):
            epsilon_sum += guarantee.epsilon0 * count
        if isinstance(guarantee, ApproxDP):
            delta_sum += guarantee.delta0 * count
    return _point(_rounded(epsilon_sum), min(Fraction(1), _rounded(delta_sum)), budget)


def _committed_point(composed: Composition, delta: Fraction, budget: Budget) -> ApproxDP | PureDP:
    found = composed.epsilon(delta)
    try:
        # Exactly the float, not the decimal it prints: it was rounded up in binary.
        return _point(Fraction(found), delta, budget)
    except OverflowError:
        raise ParameterError(
            "delta", f"this guarantee has no finite epsilon at {delta}: give a larger delta"
        ) from None


def _point(epsilon: Fraction, delta: Fraction, budget: Budget) -> ApproxDP | PureDP:
    if delta == 0 and isinstance(budget, PureDP):
        return PureDP(epsilon, relation=budget.relation)
    return ApproxDP(epsilon, delta, relation=budget.relation)


def _coordinates(guarantee: Budget) -> tuple[Fraction, Fraction]:
    if isinstance(guarantee, ZCDP):
        return guarantee.rho, Fraction(0)
    return guarantee.epsilon0, guarantee.delta0 if isinstance(guarantee, ApproxDP) else Fraction(0)


Sum = tuple[Fraction, Fraction]


def _sum(spent: Budget, charge: Budget) -> Sum:
    (a, b), (c, d) = _coordinates(spent), _coordinates(charge)
    return _rounded(a + c), _rounded(b + d)


def _rounded(value: Fraction) -> Fraction:
    """Exact while short, else up: the sum may only look larger than it is."""
    if length(value) <= SUM_BITS:
        return value
    return Fraction(-(-(value.numerator << SUM_SCALE) // value.denominator), 1 << SUM_SCALE)


def _within(spent: Sum | Budget, budget: Budget) -> bool:
    first, second = spent if isinstance(spent, tuple) else _coordinates(spent)
    limit, other = _coordinates(budget)
    return first <= limit and second <= other


def _like(budget: Budget, values: Sum) -> Budget:
    first, second = values
    if isinstance(budget, ZCDP):
        return ZCDP(first, relation=budget.relation)
    if isinstance(budget, PureDP):
        return PureDP(first, relation=budget.relation)
    return ApproxDP(first, second, relation=budget.relation)


def _nothing(budget: Budget) -> Budget:
    return _like(budget, (Fraction(0), Fraction(0)))


def _difference(budget: Budget, spent: Budget) -> Budget:
    (a, b), (c, d) = _coordinates(budget), _coordinates(spent)
    return _like(budget, (a - c, b - d))
