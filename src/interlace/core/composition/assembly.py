"""A plan, or a set of quotas, put together step by step, with its price after each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from interlace.core.composition.composed import Composition, Item, compose
from interlace.core.composition.terms import Leak, Part
from interlace.core.errors import RelationMismatch
from interlace.core.exact import Real, rational
from interlace.core.guarantees import ApproxDP, GaussianDP, PureDP, Relation
from interlace.core.guarantees.enclosures import loss_up, minus_log_one_minus, one_minus_exp
from interlace.core.interval import ZERO, Interval

if TYPE_CHECKING:
    from interlace.core.composition.contour.growing import Growing


class Assembly:
    """What is to be fixed in advance, while it is being chosen. This is no filter.

    ``add`` an item and read ``epsilon(delta)`` as often as you like: of pure, (epsilon, delta) and
    Gaussian parts a step costs the same however many there are; with other parts each reading
    composes all. The numbers are for parameters that do not depend on any answer (R2). Opening
    mechanisms one by one, and choosing the next from answers, by what is left here, exceeds the
    budget (FORMULAS 6.4): that needs a ``Filter``.

    Intervals are certified like those of ``compose``, but up to some 1e-6 wide relative to epsilon
    while the parts are few; ``composition()`` gives the tight ones. Not safe to share between
    threads.

    >>> plan = Assembly()
    >>> for _ in range(100):
    ...     plan.add(PureDP(0.1))
    >>> 4.7745 < plan.epsilon(1e-6) < 4.7746
    True
    """

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self._parts: Counter[Part] = Counter()
        self._leaks = ZERO
        self._growing: Growing | None = None
        self._composed: Composition | None = None
        self._others = False
        self._relation = Relation.ADD_REMOVE
        for item in items:
            self.add(item)

    def add(self, item: Item) -> None:
        """One more item, of the kinds that ``compose`` takes. Raises as that does, and changes
        nothing then."""
        added = compose([item])
        if added.parts and self._parts and added.relation is not self._relation:
            raise RelationMismatch(
                f"the item is for {added.relation}, those before it for {self._relation}: "
                "guarantees compose only for one neighbouring relation."
            )
        if added.parts:
            self._relation = added.relation
        for part, count in added.parts:
            self._parts[part] += count
            self._add(part, count)
        self._composed = None

    def _add(self, part: Part, count: int) -> None:
        from interlace.core.composition.contour.growing import Growing

        self._growing = self._growing or Growing()
        match part:
            case PureDP() | ApproxDP():
                if part.epsilon0:
                    self._growing.add(part.epsilon0, count)
            case GaussianDP():
                if part.mu:
                    self._growing.add_gaussian(part.mu**2 * count)
            case _:
                self._others = True
        if isinstance(part, ApproxDP) and part.delta0:
            if part.delta0 == 1:
                self._others = True
            else:
                lost = minus_log_one_minus(Interval.of(part.delta0))
                self._leaks = self._leaks + Interval.of(count) * lost

    def composition(self) -> Composition:
        """All items together."""
        if self._composed is None:
            self._composed = compose(self._parts.items())
        return self._composed

    def epsilon(self, delta: Real) -> float:
        """The certified epsilon of all items at ``delta``, rounded up; inf where the leaks alone
        exceed ``delta``. Raises ParameterError for a ``delta`` outside [0, 1]."""
        return self.epsilon_interval(delta)[1]

    def epsilon_interval(self, delta: Real) -> tuple[float, float]:
        """(lower, upper) around the least epsilon at ``delta``."""
        exact = rational(delta, "delta", maximum=1)
        share = self._share(exact)
        if self._growing is None or self._others or share.lower <= 0 or exact == 1:
            return self.composition().epsilon_interval(exact)
        found = self._growing.epsilon(share)
        return max(0.0, found.down()), loss_up(found.upper)

    def _share(self, delta: Fraction) -> Interval:
        """What ``delta`` leaves for the part without leaks."""
        if self._leaks == ZERO:
            return Interval.of(delta)
        return Leak(one_minus_exp(self._leaks), (-self._leaks).exp()).share(delta)
