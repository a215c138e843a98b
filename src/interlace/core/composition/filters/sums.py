"""Rules that add up: what each admission costs is exact, and the sums stay within limits.

"basic" adds epsilon and delta (FORMULAS 6.2), "zcdp", "tcdp" and "renyi" what bounds the Rényi
divergences (6.5), "gaussian" the squares of mu (6.7); "advanced" is in advanced.py. All of them are
proved for interactive mechanisms that are chosen adaptively and asked concurrently: Haney et al.
2023 (6.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from interlace.core.composition.composed import Composition
from interlace.core.composition.filters.rule import (
    Budget,
    Charge,
    Document,
    Parts,
    Rule,
    Steps,
    read_number,
)
from interlace.core.errors import CheckFailed, ParameterError
from interlace.core.guarantees import Notion, encode_notion, is_notion
from interlace.core.guarantees.enclosures import length

#: What is left, if its exact form is longer than this, is rounded down to a multiple of
#: 2**-SUM_SCALE.
SUM_BITS, SUM_SCALE = 512, 256

FORMAT, VERSION = "interlace filter", 1

Numbers = tuple[Fraction, ...]
Step = tuple[Numbers, Numbers]
"""What was taken, and what is left."""


Reading = Callable[[Numbers, Numbers, Budget], tuple[Budget, Budget]]
"""From what is left of the limits, the limits and the budget to what is spent, rounded up, and what
remains, rounded down."""


@dataclass(frozen=True)
class Cost:
    """How a rule adds up: the names of its sums, what parts are charged, what a guarantee in a
    charge adds to the sums, and what sums are as guarantees."""

    names: tuple[str, ...]
    charge: Callable[[Parts, Budget], Charge]
    numbers: Callable[[Notion], Numbers]
    reading: Reading
    most: Callable[[Numbers, Budget], Notion]
    """The largest charge, from what is left; rounded down."""
    within: Callable[[Numbers, Numbers, Budget], bool] = lambda left, limits, _budget: all(
        x <= y for x, y in zip(left, limits, strict=True)
    )
    """Whether so much may be left of the budget."""


@final
@dataclass(frozen=True)
class SumRule(Rule[Numbers, Step]):
    """Exact sums within ``limits``: the state is what they leave.

    Once that has an exact form of more than 512 bits it is rounded down to a multiple of 2**-256,
    so that an admission costs the same however long the history.
    """

    name: str
    budget: Budget
    cost: Cost
    limits: Numbers

    def start(self) -> Numbers:
        return self.limits

    def full(self) -> Numbers:
        return (Fraction(0),) * len(self.limits)

    def charge(self, parts: Parts) -> Charge:
        return self.cost.charge(parts, self.budget)

    def numbers(self, charge: Charge) -> Numbers:
        """What a charge adds to the sums."""
        if not isinstance(charge, Composition):
            return self.cost.numbers(charge)
        total = self.full()
        for guarantee, count in charge.parts:
            assert is_notion(guarantee)
            one = self.cost.numbers(guarantee)
            total = tuple(x + count * y for x, y in zip(total, one, strict=True))
        return total

    def steps(self, state: Numbers, charge: Charge) -> list[Step] | None:
        taken = self.numbers(charge)
        left = _less(state, taken)
        if any(x < 0 for x in left):
            return None
        return [(taken, tuple(map(_rounded, left)))]

    def after(self, step: Step) -> Numbers:
        return step[1]

    def spent(self, state: Numbers) -> Budget:
        return self.cost.reading(state, self.limits, self.budget)[0]

    def remaining(self, state: Numbers) -> Budget:
        return self.cost.reading(state, self.limits, self.budget)[1]

    def most(self, state: Numbers, charge: Charge) -> Notion | None:
        del charge  # whatever is asked for is charged in one notion
        return self.cost.most(state, self.budget)

    def write(self, state: Numbers) -> dict[str, str | None]:
        return {name: str(x) for name, x in zip(self.cost.names, state, strict=True)}

    def read(self, document: Mapping[str, object]) -> Numbers:
        names = self.cost.names
        if set(document) != set(names):
            raise ParameterError("state", f"must hold {', '.join(names)} and nothing else")
        found = tuple(read_number(document, name) for name in names)
        if not self.cost.within(found, self.limits, self.budget):
            raise ParameterError("state", f"must lie within the budget {self.budget}")
        return found

    def certificate(self, start: Numbers, history: Sequence[Step]) -> Document:
        return {
            "format": FORMAT,
            "version": VERSION,
            "rule": self.name,
            "budget": encode_notion(self.budget),
            "start": self.write(start),
            "charges": [self.write(taken) for taken, _ in history],
            "end": self.write(history[-1][1] if history else start),
        }

    def follow(self, before: Numbers, charge: Charge, after: Numbers, steps: Steps) -> None:
        del steps  # one subtraction
        exact = _less(before, self.numbers(charge))
        if any(x < 0 for x in exact):
            raise CheckFailed("charge", "is more than was left")
        if any(x > y for x, y in zip(after, exact, strict=True)):
            raise CheckFailed("state", "says that more is left than is")

    def covers(self, charged: Charge, cost: Charge) -> bool:
        pairs = zip(self.numbers(charged), self.numbers(cost), strict=True)
        return all(x >= y for x, y in pairs)


def _less(first: Numbers, second: Numbers) -> Numbers:
    return tuple(x - y for x, y in zip(first, second, strict=True))


def _rounded(value: Fraction) -> Fraction:
    """Exact while short, else down: less may be left than is, never more."""
    if length(value) <= SUM_BITS:
        return value
    return Fraction((value.numerator << SUM_SCALE) // value.denominator, 1 << SUM_SCALE)
