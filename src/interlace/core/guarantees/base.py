"""What every guarantee is: a privacy statement about one neighbouring relation.

A guarantee holds for an interactive mechanism against every adaptive adversary. The base
class reads arguments and rounds results; the notions supply enclosures. It computes
nothing itself.
"""

from __future__ import annotations

import enum
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from typing import Self

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, natural, rational
from interlace.core.guarantees.enclosures import loss_up
from interlace.core.interval import Interval

_SHOWN_DIGITS = 12


class Relation(enum.Enum):
    """Which pairs of datasets count as neighbours (R10)."""

    ADD_REMOVE = "add_remove"
    """One unit is added or removed, with all its rows in all tables."""
    CHANGE_ONE = "change_one"
    """One unit's rows are replaced by others."""


class Guarantee(ABC):
    """A privacy guarantee of an interactive mechanism, for one neighbouring relation.

    >>> from interlace.core.guarantees import PureDP
    >>> PureDP(1).delta(1), PureDP(1).epsilon(0), PureDP(1).group(3)
    (0.0, 1.0, PureDP(3))
    """

    relation: Relation

    def epsilon(self, delta: Real) -> float:
        """The certified epsilon at ``delta`` in [0, 1], rounded up; inf where there is none.

        Raises ParameterError for a ``delta`` outside [0, 1] or NaN.
        """
        return loss_up(self.epsilon_enclosure(rational(delta, "delta", maximum=1)).upper)

    def delta(self, epsilon: Real) -> float:
        """The certified delta at ``epsilon`` >= 0, rounded up, at most 1.

        Raises ParameterError for a negative, infinite or NaN ``epsilon``.
        """
        return min(1.0, loss_up(self.delta_enclosure(rational(epsilon, "epsilon")).upper))

    def renyi(self, alpha: Real) -> float:
        """The Rényi divergence of order ``alpha`` in [1, inf], rounded up; order 1 is KL.

        Raises ParameterError for an ``alpha`` below 1 or NaN.
        """
        order = None if is_infinite(alpha) else rational(alpha, "alpha", minimum=1)
        return loss_up(self.renyi_enclosure(order).upper)

    def group(self, size: int) -> Self:
        """The guarantee for a group of ``size`` units (FORMULAS 7.7).

        Raises ParameterError unless ``size`` is an integer of at least 1.
        """
        return self.scaled(natural(size, "size"))

    @abstractmethod
    def epsilon_enclosure(self, delta: Fraction) -> Interval:
        """Encloses the certified epsilon at an exact delta; INFINITE where there is none."""

    @abstractmethod
    def delta_enclosure(self, epsilon: Fraction) -> Interval:
        """Encloses the certified delta at an exact epsilon >= 0."""

    @abstractmethod
    def renyi_enclosure(self, alpha: Fraction | None) -> Interval:
        """Encloses the divergence of order alpha >= 1, or of order infinity for None;
        INFINITE where it has no bound."""

    @abstractmethod
    def scaled(self, size: int) -> Self:
        """The guarantee for a group of ``size`` >= 1 units."""


@dataclass(frozen=True, init=False, repr=False)
class Parametric(Guarantee):
    """A guarantee that is told by a few exact parameters. ``repr`` reads back exactly."""

    def __repr__(self) -> str:
        return self._described(exactly)

    def __str__(self) -> str:
        return self._described(briefly)

    def _described(self, number: Callable[[Fraction], str]) -> str:
        names = (f.name for f in fields(self) if f.name != "relation")
        values = [number(getattr(self, name)) for name in names]
        if self.relation is not Relation.ADD_REMOVE:
            values.append(f"relation={self.relation}")
        return f"{type(self).__name__}({', '.join(values)})"


def is_infinite(alpha: Real) -> bool:
    """Whether this is infinity, of any type of number."""
    if isinstance(alpha, Decimal):
        return alpha.is_infinite() and not alpha.is_signed()
    return isinstance(alpha, numbers.Real) and alpha == math.inf


def hash_of(*parameters: Fraction) -> int:
    """A hash of exact numbers. A fraction's own takes the inverse modulo a prime: far slower."""
    return hash(tuple([x.as_integer_ratio() for x in parameters]))


def read_relation(value: Relation) -> Relation:
    """Raises ParameterError for anything but a Relation."""
    if not isinstance(value, Relation):
        raise ParameterError("relation", f"must be a Relation, not {type(value).__name__}")
    return value


def exactly(value: Fraction) -> str:
    """Python source that reads back as exactly this number: a decimal where one is short."""
    if value.denominator == 1:
        return str(value.numerator)
    try:
        text = repr(float(value))
    except OverflowError:
        return repr(value)
    return text if Fraction(text) == value else repr(value)


def briefly(value: Fraction) -> str:
    """The number for a reader: exact where that is short, else rounded, with a mark."""
    text = exactly(value)
    if not text.startswith("Fraction") and len(text) <= _SHOWN_DIGITS + 8:
        return text
    if len(text) <= len("Fraction(1234, 12345)") and value.denominator < 10**5:
        return f"{value.numerator}/{value.denominator}"
    return f"≈{loss_up(value):.{_SHOWN_DIGITS}g}"
