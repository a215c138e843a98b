"""Filters: what may be admitted when parameters are chosen from earlier answers (R3).

A filter charges a mechanism's whole guarantee when it is admitted (R1). Only rules proved for
adaptive, concurrent admission are here; optimal composition is not one of them. The only mutable
thing in the core beside the odometer, and it holds nothing but its state and how it came to it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, Self, TypeVar, overload

from interlace.core.composition.composed import Guaranteed, compose
from interlace.core.composition.filters.largest import largest
from interlace.core.composition.filters.opening import RULES, opened
from interlace.core.composition.filters.points import committed
from interlace.core.composition.filters.rule import Budget, Charge, Document, Parts, Steps
from interlace.core.composition.filters.sums import SumRule
from interlace.core.errors import BudgetExceeded, ParameterError, RelationMismatch
from interlace.core.exact import Real, rational
from interlace.core.guarantees import ApproxDP, Guarantee, is_notion

Item = Guarantee | Guaranteed
T = TypeVar("T", bound=Item)

_NOTIONS = frozenset(RULES)


class Filter:
    """Admits mechanisms one after another, each chosen from all answers so far.

    What is admitted stays within ``budget``, for interactive mechanisms that are asked
    concurrently. The rule is fixed when the filter is made; it decides the notion of the budget,
    and its default for each notion stands first:

    - PureDP: "basic", sums of epsilon; "reach" is the same there.
    - ApproxDP: "reach", a value function for this one (epsilon, delta), which admits nearly what
      would be optimal had all been fixed in advance (FORMULAS 6.12); "residue", the value function
      of a whole GDP curve; "advanced", sums of rho beside delta, structurally (6.6); "basic",
      sums of epsilon and of delta (6.2).
    - ZCDP: "zcdp", sums of rho (6.5).

    "reach", "residue" and "advanced" set the part ``structural`` of delta aside, once and for all,
    for mechanisms that have a delta of their own: theirs stay within it, and what it leaves pays
    for everything else. By default it is a tenth of delta; 0 admits pure mechanisms only. Such a
    mechanism enters as (epsilon, delta): a guarantee without an epsilon of its own, like zCDP, by
    the one point that ``delta`` commits.

    A filter's budget is the guarantee of all that is asked behind it, so filters nest: opening
    another one behind this is ``admit(other.budget)``, charged whole, whatever is then admitted
    there (R1; Haney et al. 2023 for sums and GDP, Theorem 3 for "reach").

    ``state`` goes on where the filter of that ``state`` stopped; ``spent``, for rules that add up in
    the budget's notion, starts with these sums. Safe to share between threads. An admission costs the same however long
    the history, of which every step is kept for ``certificate``.

    Raises Unproven for rules that are no filters (optimal composition, FORMULAS 6.4), and
    ParameterError for an unknown rule, a budget of the wrong notion, or a part, state or sums
    beyond it.

    >>> from interlace.core.guarantees import PureDP
    >>> f = Filter(ApproxDP(1, 1e-6))
    >>> f.rule, f.admits(PureDP(1))
    ('reach', True)
    >>> f = Filter(PureDP(1))
    >>> for _ in range(10):
    ...     f.admit(PureDP(0.1))
    >>> f.remaining, f.admits(PureDP(1e-17))
    (PureDP(0), False)
    """

    def __init__(
        self,
        budget: Budget,
        rule: str | None = None,
        *,
        structural: Real | None = None,
        spent: Budget | None = None,
        state: Mapping[str, object] | None = None,
    ) -> None:
        self._rule, self._part = opened(budget, rule, structural)
        self._start = self._state = self._rule.start()
        if state is not None:
            self._start = self._state = self._written(state)
        if spent is not None:
            if state is not None:
                raise ParameterError("spent", "is part of the state: leave it out")
            self._start = self._state = self._read(spent)
        self._history: list[Any] = []
        self._lock = threading.Lock()

    @classmethod
    def exhausted(
        cls, budget: Budget, rule: str | None = None, *, structural: Real | None = None
    ) -> Self:
        """A filter that has spent its whole budget: it admits only what is free.

        >>> from interlace.core.guarantees import PureDP
        >>> Filter.exhausted(ApproxDP(1, 1e-6)).admits(PureDP(1e-9))
        False
        """
        full, _ = opened(budget, rule, structural)
        return cls(budget, rule, structural=structural, state=full.write(full.full()))

    def _written(self, state: Mapping[str, object]) -> Any:
        if not isinstance(state, Mapping):
            raise ParameterError("state", f"must be a mapping, not {type(state).__name__}")
        return self._rule.read(state)

    def _read(self, spent: Budget) -> Any:
        if type(spent) is not type(self.budget):
            raise ParameterError("spent", f"must be a {type(self.budget).__name__}")
        self._check_relation(((spent, 1),), "spent")
        # As it would be charged: it may hold at other orders than those of the budget.
        charge = self._rule.charge(((spent, 1),))
        # Other rules' sums are no guarantee in the budget's notion, so none tells them.
        if not isinstance(self._rule, SumRule) or type(charge) is not type(self.budget):
            raise ParameterError(
                "spent", f"does not tell what rule {self.rule!r} holds: give state"
            )
        steps = self._rule.steps(self._rule.start(), charge)
        if steps is None:
            raise ParameterError("spent", f"must lie within the budget {self.budget}")
        return self._rule.after(steps[-1])

    def _check_relation(self, parts: Parts, what: str) -> None:
        for guarantee, _ in parts:
            if guarantee.relation is not self.budget.relation:
                raise RelationMismatch(
                    f"the budget is for {self.budget.relation}, {what} for {guarantee.relation}"
                )

    def __repr__(self) -> str:
        return f"<Filter of {self.budget}, rule {self.rule!r}: remaining {self.remaining}>"

    @property
    def budget(self) -> Budget:
        """What all that is admitted stays within: the promise."""
        return self._rule.budget

    @property
    def rule(self) -> str:
        """The rule's name."""
        return self._rule.name

    @property
    def structural(self) -> Fraction:
        """The part of delta that is set aside for mechanisms with a delta of their own."""
        return self._part

    @property
    def state(self) -> dict[str, str | None]:
        """All that the past decides, as exact text: what ``state=`` takes."""
        return self._rule.write(self._state)

    @property
    def spent(self) -> Budget:
        """The budget less what ``remaining`` tells, rounded up: a reading, not a guarantee
        chosen in advance, and no claim about what was admitted so far. Where the rule adds up
        in the budget's notion it is the sum of what was admitted."""
        return self._rule.spent(self._state)

    @property
    def remaining(self) -> Budget:
        """A budget of which a new filter would admit nothing that this one refuses, rounded down;
        but for what the last digits of steps leave, and for epsilons below 2**-100.

        A new filter of the same rule, with what is left of the structural part; for "reach" of rule
        "residue" or, while that is more, of "basic", since what reach gains depends on the epsilons
        before. What a single next mechanism may cost is another question: see ``largest``.
        """
        return self._rule.remaining(self._state)

    def charge(self, item: Item, delta: Real | None = None) -> Charge:
        """What admitting ``item`` would charge, in the terms of the filter's rule; charges
        nothing. A charge is an item, and is charged as itself.

        Rules that add up charge a guarantee in the budget's notion, "advanced" a ZCDP (beside an
        ApproxDP(0, delta) for deltas). "reach" and "residue" charge the guarantees themselves, a
        composition of several: each of them is a step.

        ``delta`` commits one point (epsilon(delta), delta) of the item's curve, for budgets
        with a delta only; a zCDP part needs it. Without it the parts of a composition are
        charged one by one.

        Raises ParameterError for a missing or unusable ``delta``, RelationMismatch, and
        Unproven for a guarantee that says nothing in the budget's notion.
        """
        parts = ((item, 1),) if is_notion(item) else compose([item]).parts
        self._check_relation(parts, "the request")
        if delta is not None:
            parts = committed(parts, rational(delta, "delta", maximum=1), self.budget)
        return self._rule.charge(parts)

    def admits(self, item: Item, delta: Real | None = None) -> bool:
        """Whether ``admit`` would succeed now. Raises as ``charge`` does."""
        return self._rule.steps(self._state, self.charge(item, delta)) is not None

    def admit(self, item: Item, delta: Real | None = None) -> None:
        """Charge ``item``. Raises BudgetExceeded, and changes nothing, where it does not fit;
        raises as ``charge`` does."""
        charge = self.charge(item, delta)
        with self._lock:
            steps = self._rule.steps(self._state, charge)
            if steps is None:
                fits = self._rule.most(self._state, charge)
                raise BudgetExceeded(self.spent, charge, self.remaining, fits)
            if steps:
                self._state = self._rule.after(steps[-1])
                self._history += steps

    @overload
    def largest(self, shape: type[ApproxDP], delta: Real) -> ApproxDP: ...

    @overload
    def largest(self, shape: Callable[[float], T], delta: Real | None = None) -> T: ...

    def largest(self, shape: Callable[..., Any], delta: Real | None = None) -> Any:
        """The largest next mechanism that fits, which ``admit`` (at this ``delta``) then takes,
        unless another thread was faster.

        ``shape`` makes a guarantee or a mechanism of a float with which its loss grows: PureDP,
        ZCDP, ``lambda e: il.mechanisms.Laplace(epsilon=e)``. For ApproxDP itself ``delta`` is the
        mechanism's own. The float is the largest that fits, so a sum that ends between two floats
        is not used up.

        Raises BudgetExceeded where nothing of this shape fits, and as ``charge`` does.

        >>> from interlace.core.guarantees import PureDP
        >>> Filter(PureDP(1), spent=PureDP(0.3)).largest(PureDP)
        PureDP(0.7)
        """
        make = shape
        if shape is ApproxDP:
            if delta is None:
                raise ParameterError("delta", "is needed for the shape ApproxDP")
            make, delta = partial(make, delta=delta), None
        if isinstance(shape, type) and shape in _NOTIONS:
            make = partial(make, relation=self.budget.relation)
        state = self._state
        found = largest(
            make, lambda item: self._rule.steps(state, self.charge(item, delta)) is not None
        )
        if found is None:
            raise BudgetExceeded(self.spent, "anything of this shape", self.remaining)
        return found

    def follow(self, charge: Charge, state: Mapping[str, object], steps: Steps = ()) -> None:
        """Go on to a ``state`` that was written down after this ``charge``, if it is proved that
        it follows; ``steps`` are those of the charge's certificate, where the rule has steps.

        Nothing is computed anew: what another version found stands, if it was sound. Raises
        CheckFailed, and changes nothing, where it is not. ``certificate`` goes on from there.
        """
        with self._lock:
            after = self._written(state)
            self._rule.follow(self._state, charge, after, steps)
            self._start = self._state = after
            self._history = []

    def covers(self, charged: Charge, item: Item, delta: Real | None = None) -> bool:
        """Whether ``charged`` pays for the item: it is no less than what it would be charged.
        Raises as ``charge`` does."""
        return self._rule.covers(charged, self.charge(item, delta))

    def steps(self) -> Steps:
        """The steps of ``certificate``; none for rules that only add up."""
        found = self.certificate().get("steps", ())
        assert isinstance(found, Sequence)
        return found

    def certificate(self) -> Document:
        """What was admitted, in exact numbers as text, for a second program.

        For "reach" and "residue" the steps (epsilon, w, w', y0), each of which
        ``value_filters.recheck`` proves anew; else the charges beside the limits. From the
        ``state`` on with which this filter was made.
        """
        with self._lock:
            start, history = self._start, list(self._history)
        return self._rule.certificate(start, history)
