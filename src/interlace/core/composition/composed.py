"""Guarantees of several mechanisms together, their parameters fixed before any answer (R2).

A composition is a value in a normal form. It holds concurrently: the mechanisms may be
asked in any order by one adaptive adversary. It is no filter: parameters that were chosen
from answers need ``Filter`` (R3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, Self, runtime_checkable

from interlace.core.composition import rules
from interlace.core.composition.pool import Pool, pool
from interlace.core.errors import ParameterError, RelationMismatch
from interlace.core.exact import Real, natural, rational
from interlace.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP, Relation
from interlace.core.guarantees.enclosures import loss_up
from interlace.core.interval import Interval

_ORDER = (PureDP, ApproxDP, ZCDP)

#: How often one guarantee may occur in all.
LARGEST_COUNT = 10**15


@runtime_checkable
class Guaranteed(Protocol):
    """Anything with a guarantee: a mechanism."""

    @property
    def guarantee(self) -> Guarantee: ...


Item = Guarantee | Guaranteed | tuple[Guarantee | Guaranteed, int]


@dataclass(frozen=True)
class Composition(Guarantee):
    """Several guarantees that hold together. Built by ``compose``.

    ``parts`` are distinct guarantees with their counts, sorted; equal compositions are
    equal values. ``epsilon`` and ``delta`` return the upper ends of the intervals.
    """

    parts: tuple[tuple[Guarantee, int], ...]
    relation: Relation = Relation.ADD_REMOVE

    def epsilon_interval(self, delta: Real) -> tuple[float, float]:
        """(lower, upper) around the least epsilon at ``delta`` that holds for all mechanisms
        with these guarantees; (inf, inf) where the leaks alone exceed ``delta``."""
        found = self.epsilon_enclosure(rational(delta, "delta", maximum=1))
        return max(0.0, found.down()), loss_up(found.upper)

    def delta_interval(self, epsilon: Real) -> tuple[float, float]:
        """(lower, upper) around the least delta at ``epsilon`` >= 0."""
        found = self.delta_enclosure(rational(epsilon, "epsilon"))
        return max(0.0, found.down()), min(1.0, loss_up(found.upper))

    def explain(self, delta: Real) -> str:
        """Which rule gave ``epsilon(delta)``, and the theorem it rests on."""
        found = _epsilon_of(self.pool, rational(delta, "delta", maximum=1))
        return f"epsilon {loss_up(found.enclosure.upper)} at delta {delta}: {found.rule}"

    @property
    def pool(self) -> Pool:
        """The parts sorted by the theorem that covers them."""
        return _pool_of(self.parts)

    def epsilon_enclosure(self, delta: Fraction) -> Interval:
        return _epsilon_of(self.pool, delta).enclosure

    def delta_enclosure(self, epsilon: Fraction) -> Interval:
        return _delta_of(self.pool, epsilon).enclosure

    def renyi_enclosure(self, alpha: Fraction | None) -> Interval | None:
        return rules.renyi(self.pool, alpha)

    def scaled(self, size: int) -> Self:
        grouped = [(g.scaled(size), n) for g, n in self.parts]
        return type(self)(_normal(Counter(dict(_summed(grouped)))), self.relation)

    def __str__(self) -> str:
        inner = ", ".join(f"{n} x {g}" if n > 1 else str(g) for g, n in self.parts)
        return f"Composition({inner})"


# Values of values: whoever asks again, or for the interval, is answered from memory.
_pool_of = lru_cache(maxsize=64)(pool)
_epsilon_of = lru_cache(maxsize=256)(rules.epsilon)
_delta_of = lru_cache(maxsize=256)(rules.delta)


def compose(items: Iterable[Item]) -> Composition:
    """The guarantee of all ``items`` together, for parameters fixed before any answer.

    An item is a guarantee, a mechanism (anything with ``.guarantee``), a composition, or a
    pair of one of these and a count up to 1e12. No items compose to 0. Sources: optimal
    composition of Kairouz-Oh-Viswanath and Murtagh-Vadhan, concurrent by Lyu 2022, Thm 1;
    zCDP by its Cor. 1 (FORMULAS 2.1-2.8).

    Raises ParameterError, naming the item's index, for anything else, and RelationMismatch
    where the items are for different neighbours.

    >>> c = compose([(PureDP(Fraction(1, 10)), 100)])
    >>> 4.77456758 < c.epsilon(1e-6) < 4.77456760
    True
    """
    if isinstance(items, Guarantee | str | bytes) or not isinstance(items, Iterable):
        raise ParameterError("items", f"must be a list of guarantees, got {items!r}")
    counted: Counter[Guarantee] = Counter()
    relation: Relation | None = None
    for index, item in enumerate(items):
        for guarantee, count in _parts(item, f"items[{index}]"):
            if relation not in (None, guarantee.relation):
                raise RelationMismatch(
                    f"items[{index}] is for {guarantee.relation}, the items before it for "
                    f"{relation}: guarantees compose only for one neighbouring relation."
                )
            relation = guarantee.relation
            counted[guarantee] += count
            if counted[guarantee] > LARGEST_COUNT:
                raise ParameterError(f"items[{index}] count", f"adds up to over {LARGEST_COUNT}")
    return Composition(_normal(counted), relation or Relation.ADD_REMOVE)


def _parts(item: object, name: str) -> Sequence[tuple[Guarantee, int]]:
    times = 1
    if isinstance(item, tuple):
        match item:
            case (inner, count):
                item, times = inner, natural(count, f"{name} count", minimum=0)
            case _:
                raise ParameterError(name, f"must be a pair (guarantee, count), got {item!r}")
    if not isinstance(item, Guarantee) and isinstance(item, Guaranteed):
        item = item.guarantee
    if isinstance(item, Composition):
        return [(g, n * times) for g, n in item.parts]
    if isinstance(item, _ORDER):
        return [(item, times)]
    raise ParameterError(name, f"must be a guarantee, a mechanism or a composition, got {item!r}")


def _normal(counted: Counter[Guarantee]) -> tuple[tuple[Guarantee, int], ...]:
    return tuple(sorted(((g, n) for g, n in counted.items() if n), key=lambda p: _key(p[0])))


def _key(guarantee: Guarantee) -> tuple[int, Fraction, Fraction]:
    if isinstance(guarantee, ApproxDP):
        return 1, guarantee.epsilon0, guarantee.delta0
    if isinstance(guarantee, ZCDP):
        return 2, guarantee.rho, Fraction(0)
    if isinstance(guarantee, PureDP):
        return 0, guarantee.epsilon0, Fraction(0)
    raise ParameterError("guarantee", f"cannot be composed: {guarantee!r}")


def _summed(parts: Iterable[tuple[Guarantee, int]]) -> Counter[Guarantee]:
    total: Counter[Guarantee] = Counter()
    for guarantee, count in parts:
        total[guarantee] += count
    return total
