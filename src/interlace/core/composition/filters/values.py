"""The rules "reach" and "residue" behind a filter: what is charged to them, and readings.

The steps themselves, with their proof, are in ``value_filters``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import final

from interlace.core.composition.composed import compose
from interlace.core.composition.filters.costs import unproven
from interlace.core.composition.filters.losses import stated
from interlace.core.composition.filters.points import is_empty, refuse_without_point
from interlace.core.composition.filters.rule import (
    Budget,
    Charge,
    Document,
    Parts,
    Rule,
    Steps,
    parameter_down,
    parameter_up,
    parts_of,
    root_down,
    root_up,
    told,
)
from interlace.core.composition.terms import Part
from interlace.core.composition.value_filters import (
    Child,
    GaussianChild,
    Piece,
    PureChild,
    Reach,
    Residue,
    State,
    admitted,
    certificate,
    children,
    recheck,
)
from interlace.core.composition.value_filters.steps import leaking, proved, within
from interlace.core.errors import CheckFailed, ParameterError
from interlace.core.guarantees import ApproxDP, GaussianDP, Notion, PureDP, encode_notion

Children = list[tuple[Child, int]]


@final
@dataclass(frozen=True)
class ValueRule(Rule[State, Piece]):
    """Reach or residue (FORMULAS 6.12) with the budget that it guards."""

    name: str
    budget: Budget
    rule: Reach | Residue

    def start(self) -> State:
        return _start(self.rule)

    def full(self) -> State:
        return State(Fraction(0), None, 1 - self.rule.structural)

    def charge(self, parts: Parts) -> Charge:
        kept: list[tuple[Part, int]] = []
        for part, count in parts:
            guarantee = stated(part) or part
            if self._is_covered(guarantee, part):
                kept.append((guarantee, count))
        return told(tuple(kept) if len(kept) == 1 else compose(kept).parts, self.budget)

    def _is_covered(self, guarantee: Part, part: Part) -> bool:
        """Whether there is something to charge. Raises for what this rule does not cover."""
        if isinstance(guarantee, ApproxDP) and guarantee.delta0 and self._is_gaussian:
            raise unproven(guarantee, "GDP")
        if isinstance(guarantee, PureDP | ApproxDP):
            return True
        if isinstance(guarantee, GaussianDP) and not isinstance(self.budget, PureDP):
            return True
        if self._is_gaussian and not is_empty(guarantee):
            raise unproven(part, "GDP")
        refuse_without_point(guarantee, self.budget)
        return False

    def steps(self, state: State, charge: Charge) -> list[Piece] | None:
        found: list[Piece] = []
        for child, count in _children(charge):
            pieces = admitted(self.rule, state, child, count)
            if pieces is None:
                return None
            found += pieces
            state = pieces[-1][2]
        return found

    def after(self, step: Piece) -> State:
        return step[2]

    @property
    def _is_gaussian(self) -> bool:
        return isinstance(self.budget, GaussianDP)

    def spent(self, state: State) -> Budget:
        budget, left, relation = self.budget, self.remaining(state), self.budget.relation
        if isinstance(budget, GaussianDP):
            return GaussianDP(root_up(budget.mu * budget.mu - state.w), relation=relation)
        if isinstance(budget, PureDP) and isinstance(left, PureDP):
            return PureDP(parameter_up(budget.epsilon0 - left.epsilon0), relation=relation)
        assert isinstance(budget, ApproxDP)
        assert isinstance(left, ApproxDP)
        epsilon = parameter_up(budget.epsilon0 - left.epsilon0)
        return ApproxDP(epsilon, parameter_up(budget.delta0 - left.delta0), relation=relation)

    def remaining(self, state: State) -> Budget:
        budget, relation = self.budget, self.budget.relation
        if isinstance(budget, GaussianDP):
            return GaussianDP(root_down(state.w), relation=relation)
        assert isinstance(budget, PureDP | ApproxDP)
        epsilon, part, rest = budget.epsilon0, self._leak_left(state), self._rest
        if state != self.start():
            # What a new "residue" would admit, or what would still add up.
            wide = within(state.w, rest)
            total = epsilon if state.sum_epsilon is None else state.sum_epsilon
            epsilon = min(epsilon, max(Fraction(0), epsilon - total, wide))
            if epsilon > wide or not wide:
                rest = min(rest, leaking(state.w, epsilon))
        epsilon = parameter_down(epsilon)
        if isinstance(budget, PureDP):
            return PureDP(epsilon, relation=relation)
        delta = part + (1 - part) * rest
        return ApproxDP(epsilon, parameter_down(delta), relation=relation)

    @property
    def _rest(self) -> Fraction:
        """What is left of delta for the good branches."""
        if not isinstance(self.budget, ApproxDP):
            return Fraction(0)
        part = self.rule.structural
        return (self.budget.delta0 - part) / (1 - part)

    def _leak_left(self, state: State) -> Fraction:
        """The largest delta of one more child."""
        return max(1 - (1 - self.rule.structural) / state.good, Fraction(0))

    def most(self, state: State, charge: Charge) -> Notion | None:
        relation = self.budget.relation
        epsilon = self.rule.largest(state)
        asked = parts_of(charge)[-1][0]
        found: Notion = PureDP(epsilon, relation=relation)
        if isinstance(asked, GaussianDP):
            found = GaussianDP(root_down(state.w), relation=relation)
        if isinstance(asked, ApproxDP) and asked.delta0:
            leak = parameter_down(min(asked.delta0, self._leak_left(state)))
            found = ApproxDP(epsilon, leak, relation=relation)
        return found if self.steps(state, found) is not None else None

    def write(self, state: State) -> dict[str, str | None]:
        return state.document()

    def read(self, document: Mapping[str, object]) -> State:
        state, start = State.read(document), self.start()
        if state.good < 1 - self.rule.structural:
            raise ParameterError("state", f"good must be at least {1 - self.rule.structural}")
        if start.sum_epsilon is None and state.sum_epsilon is not None:
            raise ParameterError("state", "sum_epsilon must be null for this rule")
        if state.w > start.w and not self._gives(state.w):
            raise ParameterError("state", f"w must lie within the budget {self.budget}")
        return state

    def _gives(self, w: Fraction) -> bool:
        """Whether so much w is proved to keep to the budget: another version may have found a
        wider start, and that stands."""
        return isinstance(self.budget, ApproxDP) and proved(self.budget.epsilon0, w, self._rest)

    def certificate(self, start: State, history: Sequence[Piece]) -> Document:
        return self._document(certificate(self.rule, start, history))

    def _document(self, steps: Document) -> Document:
        told = {**steps, "budget": encode_notion(self.budget)}
        if isinstance(self.budget, ApproxDP):
            epsilon, delta = self.budget.epsilon0, self.budget.delta0
            told["point"] = {"epsilon": str(epsilon), "delta": str(delta)}
        return told

    def follow(self, before: State, charge: Charge, after: State, steps: Steps) -> None:
        bare = self._document(certificate(self.rule, before, ()))
        recheck({**bare, "steps": list(steps), "end": after.document()})
        if not _pays(children(steps), _children(charge)):
            raise CheckFailed("steps", "are for less than what was charged")

    def covers(self, charged: Charge, cost: Charge) -> bool:
        return _pays(_children(charged), _children(cost))


def _pays(paid: Children, owed: Children) -> bool:
    """Whether children that were charged are no less than those that are: Gaussians in sum, pure
    ones one by one, or a single one for the sum of all."""
    if _gaussian(paid) < _gaussian(owed):
        return False
    most, least = _pure(paid), _pure(owed)
    if len(most) == 1 and most[0][1] == 1:
        epsilon = sum((child.epsilon * count for child, count in least), Fraction(0))
        delta = sum((child.delta * count for child, count in least), Fraction(0))
        return most[0][0].epsilon >= epsilon and most[0][0].delta >= delta
    while least:
        if not most:
            return False
        (larger, n), (smaller, m) = most.pop(), least.pop()
        if larger.epsilon < smaller.epsilon or larger.delta < smaller.delta:
            return False
        most += [(larger, n - m)] if n > m else []
        least += [(smaller, m - n)] if m > n else []
    return True


def _gaussian(children: Children) -> Fraction:
    found = (c.mu_squared * n for c, n in children if isinstance(c, GaussianChild))
    return sum(found, Fraction(0))


def _pure(children: Children) -> list[tuple[PureChild, int]]:
    """The pure ones with their counts, the largest last."""
    found = [(child, count) for child, count in children if isinstance(child, PureChild)]
    return sorted(found, key=lambda part: (part[0].epsilon, part[0].delta))


@lru_cache(maxsize=256)
def _start(rule: Reach | Residue) -> State:
    return rule.start()


def _children(charge: Charge) -> Children:
    """The children of a charge with their counts, in the order in which they are admitted: pure
    ones from the largest on, which mostly costs least, then Gaussians, after which reach is
    residue."""
    found = [(_child(guarantee), count) for guarantee, count in parts_of(charge)]
    if len(found) == 1:
        return found
    squared = _gaussian(found)
    ordered: Children = [*reversed(_pure(found))]
    return [*ordered, (GaussianChild(squared), 1)] if squared else ordered


def _child(guarantee: Part) -> Child:
    match guarantee:
        case PureDP():
            return PureChild(guarantee.epsilon0)
        case ApproxDP():
            return PureChild(guarantee.epsilon0, guarantee.delta0)
        case GaussianDP():
            return GaussianChild(guarantee.mu * guarantee.mu)
        case _:
            raise AssertionError("such a guarantee is charged by no value filter")


def reach(budget: ApproxDP | PureDP, structural: Fraction) -> ValueRule:
    """The rule "reach", with D = ``structural``."""
    delta = budget.delta0 if isinstance(budget, ApproxDP) else Fraction(0)
    return ValueRule("reach", budget, Reach(budget.epsilon0, delta, structural))


def residue(budget: ApproxDP | GaussianDP, structural: Fraction) -> ValueRule:
    """The rule "residue", with D = ``structural``."""
    if isinstance(budget, GaussianDP):
        return ValueRule("residue", budget, Residue(budget.mu * budget.mu, structural))
    width = _start(Reach(budget.epsilon0, budget.delta0, structural)).w
    return ValueRule("residue", budget, Residue(width, structural))
