"""The privacy loss of any two finite distributions, given exactly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import chain
from typing import Any, Self, final

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, rational
from interlace.core.guarantees.base import Relation, briefly, exactly, read_relation
from interlace.core.guarantees.losses.atoms import (
    Atoms,
    Direction,
    coarser,
    refuse_length,
)
from interlace.core.guarantees.losses.base import PrivacyLoss
from interlace.core.guarantees.losses.finite import Outcomes, sufficient
from interlace.core.interval import Interval

#: The longest denominator, in bits, of a running sum of probabilities.
_LONGEST_SUM = 1 << 14
Law = Mapping[Any, Real] | Iterable[Real]


@final
@dataclass(frozen=True, init=False, repr=False)
class Pair(PrivacyLoss):
    """Two finite distributions: of the answers with the unit (``p``) and without it (``q``).

    Each is a mapping from outcomes to probabilities (a missing one is 0) or a sequence; floats
    are read as the decimals that they print, and each must sum to exactly 1. Outcomes with
    the same ratio p/q are merged, which loses nothing: two pairs with the same loss are equal.

    Raises ParameterError for negative or too many probabilities and for other sums.

    >>> pair = Pair({"yes": 0.75, "no": 0.25}, {"yes": 0.25, "no": 0.75})
    >>> pair.delta(0), pair.symmetric, Pair([1, 0], [0.9, 0.1]).delta(3)
    (0.5, True, 0.1)
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
    relation: Relation

    def __init__(self, p: Law, q: Law, *, relation: Relation = Relation.ADD_REMOVE) -> None:
        first, second = _read(p, q)
        merged = sufficient(zip(first, second, strict=True))
        object.__setattr__(self, "p", tuple(a for a, _ in merged))
        object.__setattr__(self, "q", tuple(b for _, b in merged))
        object.__setattr__(self, "relation", read_relation(relation))

    def __repr__(self) -> str:
        return self._shown(exactly)

    def __str__(self) -> str:
        if len(self.p) > 4:
            return f"Pair of {len(self.p)} outcomes"
        return self._shown(briefly)

    def _shown(self, number: Any) -> str:
        laws = [f"[{', '.join(number(x) for x in law)}]" for law in (self.p, self.q)]
        if self.relation is not Relation.ADD_REMOVE:
            laws.append(f"relation={self.relation}")
        return f"Pair({', '.join(laws)})"

    @cached_property
    def _outcomes(self) -> dict[Direction, Outcomes]:
        return {
            Direction.REMOVE: Outcomes(self.p, self.q),
            Direction.ADD: Outcomes(self.q[::-1], self.p[::-1]),
        }

    @property
    def symmetric(self) -> bool:
        return self.p == self.q[::-1]

    @property
    def response(self) -> Fraction | Interval | None:
        if len(self.p) > 2 or not self.symmetric or 0 in self.p:
            return None
        return self._outcomes[Direction.REMOVE].atoms.losses[-1]

    def profile(self, direction: Direction, epsilon: Fraction) -> Interval:
        return self._outcomes[direction].profile(epsilon)

    def inverse(self, direction: Direction, delta: Fraction) -> Interval:
        return self._outcomes[direction].inverse(delta)

    def divergence(self, direction: Direction, alpha: Fraction | None) -> Interval:
        return self._outcomes[direction].divergence(alpha)

    def scaled(self, size: int) -> Self:
        if size == 1:
            return self
        raise self._no_group("TradeOff.of(pair).group(size) gives a trade-off curve for one.")

    def atoms(
        self,
        direction: Direction = Direction.REMOVE,
        *,
        upper: bool = True,
        most: int | None = None,
    ) -> Atoms:
        return coarser(self._outcomes[direction].atoms, most, upper=upper)


def _read(p: Law, q: Law) -> tuple[list[Fraction], list[Fraction]]:
    if isinstance(p, Mapping) and isinstance(q, Mapping):
        # In order of first appearance: a set would order by hash.
        keys = list(dict.fromkeys(chain(p, q)))
        refuse_length("p", len(keys))
        return _law([p.get(key, 0) for key in keys], "p"), _law(
            [q.get(key, 0) for key in keys], "q"
        )
    if isinstance(p, Mapping) or isinstance(q, Mapping):
        raise ParameterError("q", "must be a mapping from outcomes where p is one, and only there")
    first, second = _law(p, "p"), _law(q, "q")
    if len(first) != len(second):
        raise ParameterError("q", f"must have as many probabilities as p: {len(first)}")
    return first, second


def _law(values: Iterable[Real], name: str) -> list[Fraction]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ParameterError(
            name, f"must be a mapping or a sequence of probabilities, not {type(values).__name__}"
        )
    law: list[Fraction] = []
    total = Fraction(0)
    for index, value in enumerate(values):
        refuse_length(name, index + 1)
        law.append(rational(value, f"{name}[{index}]", maximum=1))
        total += law[-1]
        if total.denominator.bit_length() > _LONGEST_SUM:
            raise ParameterError(name, "its probabilities have no common denominator of 16384 bits")
    if total != 1:
        raise ParameterError(
            name, f"must sum to exactly 1, not to {briefly(total)}: give Fractions or decimals"
        )
    return law
