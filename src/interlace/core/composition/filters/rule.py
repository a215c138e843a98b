"""What every rule of a filter is: a frozen budget, and pure functions over its state.

A filter's whole past is its state. ``Filter`` holds one and replaces it; nothing else does.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isqrt
from typing import Generic, TypeVar

from interlace.core.composition.composed import Composition
from interlace.core.composition.terms import Part
from interlace.core.errors import ParameterError
from interlace.core.exact import LARGEST_BITS
from interlace.core.guarantees import Notion, is_notion
from interlace.core.guarantees.enclosures import (
    LONGEST_PARAMETER,
    fitting,
    length,
    shorten_down,
)

Budget = Notion
Charge = Notion | Composition
"""What an admission costs, in the terms that a rule charges in: where one guarantee cannot say it
exactly, several together."""
Parts = tuple[tuple[Part, int], ...]
Document = dict[str, object]
Steps = Sequence[Mapping[str, str]]
"""The steps of a certificate, where a rule has steps."""

S = TypeVar("S")
"""A state."""
H = TypeVar("H")
"""A step, with the state after it."""

#: A rational as ``str(Fraction)`` writes it, no longer than a state may hold.
_RATIONAL = re.compile(r"[0-9]{1,1300}(/[0-9]{1,1300})?")


class Rule(ABC, Generic[S, H]):
    """A rule with the budget that all that is admitted stays within, under the name by which it is
    asked for. Every method is a pure function."""

    name: str
    budget: Budget

    @abstractmethod
    def start(self) -> S:
        """The state that has admitted nothing."""

    @abstractmethod
    def full(self) -> S:
        """A state in which nothing fits any more but what is free."""

    @abstractmethod
    def charge(self, parts: Parts) -> Charge:
        """What admitting the parts costs, in any state; a charge is charged as itself.

        Raises ParameterError or Unproven for a part that the rule does not cover.
        """

    @abstractmethod
    def steps(self, state: S, charge: Charge) -> Sequence[H] | None:
        """The steps that an admission takes; None where it is refused. An empty sequence where
        nothing is charged."""

    @abstractmethod
    def after(self, step: H) -> S:
        """The state after a step."""

    @abstractmethod
    def spent(self, state: S) -> Budget:
        """See ``Filter.spent``."""

    @abstractmethod
    def remaining(self, state: S) -> Budget:
        """See ``Filter.remaining``."""

    @abstractmethod
    def most(self, state: S, charge: Charge) -> Notion | None:
        """About the largest mechanism of the charge's shape that fits, for an error's text."""

    @abstractmethod
    def write(self, state: S) -> dict[str, str | None]:
        """The state as exact text."""

    @abstractmethod
    def read(self, document: Mapping[str, object]) -> S:
        """The state that was written. Raises ParameterError for anything else, and for a state
        beyond the budget."""

    @abstractmethod
    def certificate(self, start: S, history: Sequence[H]) -> Document:
        """The steps that were taken from ``start`` on, for a second program."""

    @abstractmethod
    def follow(self, before: S, charge: Charge, after: S, steps: Steps) -> None:
        """Prove that ``after`` may come after ``before`` by this charge, with the ``steps`` of its
        certificate. Raises CheckFailed."""

    @abstractmethod
    def covers(self, charged: Charge, cost: Charge) -> bool:
        """Whether ``charged`` pays for what is charged as ``cost``."""


def parts_of(charge: Charge) -> Parts:
    """The guarantees of a charge with their counts."""
    return charge.parts if isinstance(charge, Composition) else ((charge, 1),)


def told(parts: Parts, budget: Budget) -> Charge:
    """The charge of distinct, sorted parts: a guarantee where it is one, once."""
    if len(parts) == 1 and parts[0][1] == 1 and is_notion(parts[0][0]):
        return parts[0][0]
    return Composition(parts, budget.relation)


def parameter_down(value: Fraction) -> Fraction:
    """``value``, rounded down where its exact form is too long for a parameter."""
    return value if length(value) <= LONGEST_PARAMETER else shorten_down(value)


def parameter_up(value: Fraction) -> Fraction:
    """``value``, rounded up where its exact form is too long for a parameter."""
    return fitting(value, LARGEST_BITS)


def root_down(value: Fraction) -> Fraction:
    """The square root: exact where it is rational, else below it by a part of 2**-120.

    >>> root_down(Fraction(4, 9)), root_down(Fraction(2)) ** 2 < 2
    (Fraction(2, 3), True)
    """
    exact = _root(value)
    return _far_root(value) if exact is None else exact


def root_up(value: Fraction) -> Fraction:
    """The square root: exact where it is rational, else above it by a part of 2**-120."""
    exact = _root(value)
    if exact is not None:
        return exact
    low = _far_root(value)
    return low + low / (1 << 120)


def _root(value: Fraction) -> Fraction | None:
    numerator, denominator = isqrt(value.numerator), isqrt(value.denominator)
    found = Fraction(numerator, denominator)
    return found if found * found == value else None


def _far_root(value: Fraction) -> Fraction:
    # 2**shift scales the root to 125 bits or more, so that the floor loses less than 2**-124.
    shift = max(0, 125 + (value.denominator.bit_length() - value.numerator.bit_length()) // 2 + 1)
    return Fraction(isqrt((value.numerator << 2 * shift) // value.denominator), 1 << shift)


def read_number(document: Mapping[str, object], name: str) -> Fraction:
    """A number of a state. Raises ParameterError for what is none."""
    text = document.get(name)
    # The form first: 1e999999999 is short text and a huge number.
    if not isinstance(text, str) or not _RATIONAL.fullmatch(text):
        raise ParameterError("state", f"{name} must be the text of a rational, such as 1/11")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ParameterError("state", f"{name} must be the text of a rational") from None
