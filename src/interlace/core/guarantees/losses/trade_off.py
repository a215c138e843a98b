"""Trade-off curves that are piecewise linear, as privacy losses, and their groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self, final

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, rational
from interlace.core.guarantees.base import Relation, briefly, exactly, read_relation
from interlace.core.guarantees.losses import curves
from interlace.core.guarantees.losses.atoms import Atoms, Direction, coarser, refuse_length
from interlace.core.guarantees.losses.base import PrivacyLoss
from interlace.core.guarantees.losses.curves import Points
from interlace.core.guarantees.losses.finite import Outcomes
from interlace.core.guarantees.losses.pair import Pair
from interlace.core.interval import Interval


@final
@dataclass(frozen=True, init=False, repr=False)
class TradeOff(PrivacyLoss):
    """f-DP for a convex, piecewise linear f (FORMULAS 1.7): whoever takes answers with the unit
    for answers without it with probability at most a, misses those without it with probability
    at least f(a).

    ``points`` are (a, f(a)), a ascending from 0, f down to 0. Removing the unit is judged by
    f, adding it by its inverse; where f is its own inverse they are the same. Group privacy is
    1 - (1 - f) composed with itself (FORMULAS 7.7), of a curve below f and its inverse.

    Raises ParameterError for points that are no such curve, and for groups whose curve would
    have more than 65,536 points.

    >>> f = TradeOff([(0, 1), (0.25, 0.25), (1, 0)])
    >>> f.delta(0), f.group(2).delta(0), TradeOff.of(Pair([1, 0], [0.9, 0.1])).delta(1)
    (0.5, 0.6666666666666667, 0.1)
    """

    points: Points
    relation: Relation

    def __init__(
        self,
        points: Iterable[tuple[Real, Real]],
        *,
        relation: Relation = Relation.ADD_REMOVE,
    ) -> None:
        object.__setattr__(self, "points", curves.checked(_read(points)))
        object.__setattr__(self, "relation", read_relation(relation))

    @classmethod
    def of(cls, pair: Pair) -> Self:
        """The trade-off curve of a pair: the errors of the likelihood-ratio tests."""
        return cls(curves.of_outcomes(pair.p, pair.q), relation=pair.relation)

    def __repr__(self) -> str:
        return self._shown(exactly)

    def __str__(self) -> str:
        if len(self.points) > 4:
            return f"TradeOff of {len(self.points)} points"
        return self._shown(briefly)

    def _shown(self, number: Callable[[Fraction], str]) -> str:
        inner = ", ".join(f"({number(a)}, {number(b)})" for a, b in self.points)
        if self.relation is not Relation.ADD_REMOVE:
            return f"TradeOff([{inner}], relation={self.relation})"
        return f"TradeOff([{inner}])"

    @cached_property
    def _outcomes(self) -> dict[Direction, Outcomes]:
        p, q = curves.outcomes(self.points)
        return {
            Direction.REMOVE: Outcomes(p, q),
            Direction.ADD: Outcomes(q[::-1], p[::-1]),
        }

    @property
    def symmetric(self) -> bool:
        return curves.inverse(self.points) == self.points

    def profile(self, direction: Direction, epsilon: Fraction) -> Interval:
        return self._outcomes[direction].profile(epsilon)

    def inverse(self, direction: Direction, delta: Fraction) -> Interval:
        return self._outcomes[direction].inverse(delta)

    def divergence(self, direction: Direction, alpha: Fraction | None) -> Interval:
        return self._outcomes[direction].divergence(alpha)

    def scaled(self, size: int) -> Self:
        if size == 1:
            return self
        # Some of the group may be added and others removed.
        both = curves.below_both(self.points, curves.inverse(self.points))
        return type(self)(curves.power(both, size), relation=self.relation)

    def atoms(
        self,
        direction: Direction = Direction.REMOVE,
        *,
        upper: bool = True,
        most: int | None = None,
    ) -> Atoms:
        return coarser(self._outcomes[direction].atoms, most, upper=upper)


def _read(points: Iterable[tuple[Real, Real]]) -> Points:
    if isinstance(points, str | bytes) or not isinstance(points, Iterable):
        raise ParameterError("points", f"must be pairs (a, f(a)), not {type(points).__name__}")
    found = []
    for index, point in enumerate(points):
        refuse_length("points", index + 1)
        if not isinstance(point, tuple | list) or len(point) != 2:
            raise ParameterError(f"points[{index}]", "must be a pair (a, f(a))")
        a, b = (rational(value, f"points[{index}]", maximum=1) for value in point)
        found.append((a, b))
    return tuple(found)
