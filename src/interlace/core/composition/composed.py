"""Guarantees of several mechanisms together, their parameters fixed before any answer (R2).

A composition is a value in a normal form. It holds concurrently: the mechanisms may be
asked in any order by one adaptive adversary. It is no filter: parameters that were chosen
from answers need ``Filter`` (R3).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Protocol, Self, TypeGuard, assert_never, runtime_checkable

from interlace.core.composition import rules
from interlace.core.composition.batch import Batch
from interlace.core.composition.terms import Part, Terms, terms
from interlace.core.errors import ParameterError, RelationMismatch
from interlace.core.exact import Real, natural, near, rational
from interlace.core.guarantees import (
    TCDP,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    Relation,
    RenyiDP,
    is_notion,
)
from interlace.core.guarantees.base import briefly, read_relation
from interlace.core.guarantees.enclosures import loss_up
from interlace.core.guarantees.losses import PrivacyLoss
from interlace.core.interval import Interval

_PAIR = 2
_SMALL = 1000

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

    ``parts`` are distinct guarantees of known notions with their counts, sorted; equal
    compositions are equal values. ``epsilon`` and ``delta`` return the upper ends of the
    intervals. Raises ParameterError for parts in any other form, and RelationMismatch where
    one is not for ``relation``.
    """

    parts: tuple[tuple[Part, int], ...]
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        read_relation(self.relation)
        if type(self.parts) is not tuple:
            raise ParameterError("parts", "must be a tuple of pairs: use compose")
        for part in self.parts:
            if type(part) is not tuple or len(part) != _PAIR or not _is_part(part[0]):
                raise ParameterError("parts", "must be pairs (guarantee, count): use compose")
            # An exact int: a count that compares otherwise would be charged otherwise.
            if type(part[1]) is not int:
                raise ParameterError("parts", "counts must be integers")
            natural(part[1], "parts", maximum=LARGEST_COUNT)
            if part[0].relation is not self.relation:
                raise RelationMismatch(
                    f"a part is for {part[0].relation}, the composition for {self.relation}"
                )
        keys = [_key(g) for g, _ in self.parts]
        if any(first >= second for first, second in pairwise(keys)):
            raise ParameterError("parts", "must be distinct and sorted: use compose")

    def epsilon_interval(self, delta: Real) -> tuple[float, float]:
        """(lower, upper) around the least epsilon at ``delta`` that holds for all mechanisms
        with these guarantees; (inf, inf) where the leaks alone exceed ``delta``."""
        found = self.epsilon_enclosure(rational(delta, "delta", maximum=1))
        return max(0.0, found.down()), loss_up(found.upper)

    def delta_interval(self, epsilon: Real) -> tuple[float, float]:
        """(lower, upper) around the least delta at ``epsilon`` >= 0."""
        found = self.delta_enclosure(rational(epsilon, "epsilon"))
        return max(0.0, found.down()), min(1.0, loss_up(found.upper))

    def profile(self, epsilons: Iterable[Real]) -> list[float]:
        """``delta`` at each of ``epsilons``, in their order; far faster than one by one where
        the parts are many."""
        exact = [rational(e, f"epsilons[{i}]") for i, e in enumerate(epsilons)]
        found = rules.deltas(self._terms, exact)
        return [min(1.0, loss_up(interval.upper)) for interval in found]

    def explain(self, delta: Real) -> str:
        """Which rule gave ``epsilon(delta)``, and the theorem it rests on."""
        exact = rational(delta, "delta", maximum=1)
        found = _epsilon_of(self._terms, exact)
        at = loss_up(found.enclosure.upper)
        return f"epsilon {at} at delta {briefly(exact)}: {found.told()}"

    @cached_property
    def _terms(self) -> Terms:
        # Equal small compositions share what was computed; to hash a large one takes longer.
        return _shared(self.parts) if len(self.parts) <= _SMALL else terms(self.parts)

    def epsilon_enclosure(self, delta: Fraction) -> Interval:
        return _epsilon_of(self._terms, delta).enclosure

    def delta_enclosure(self, epsilon: Fraction) -> Interval:
        return _delta_of(self._terms, epsilon).enclosure

    def renyi_enclosure(self, alpha: Fraction | None) -> Interval:
        return rules.renyi(self._terms, alpha)

    def scaled(self, size: int) -> Self:
        total: Counter[Part] = Counter()
        for guarantee, count in self.parts:
            total[guarantee.scaled(size)] += count
        return type(self)(_normal(total), self.relation)

    def __str__(self) -> str:
        inner = ", ".join(f"{n} x {g}" if n > 1 else str(g) for g, n in self.parts)
        return f"Composition({inner})"


# Values of values: whoever asks again, or for the interval, is answered from memory.
_shared = lru_cache(maxsize=64)(terms)
_epsilon_of = lru_cache(maxsize=64)(rules.epsilon)
_delta_of = lru_cache(maxsize=64)(rules.delta)


def compose(items: Iterable[Item]) -> Composition:
    """The guarantee of all ``items`` together, for parameters fixed before any answer.

    An item is a guarantee, a privacy loss, a batch, a mechanism (anything with ``.guarantee``), a
    composition, or a pair of one of these and a count up to 1e12. No items compose to 0. Sources:
    optimal composition of Kairouz-Oh-Viswanath and Murtagh-Vadhan, concurrent by Lyu 2022, Thm 1;
    Rényi bounds by its Thm 2 and Cor. 1; exact losses convolve (FORMULAS 2.1-2.8).

    More items never cost less, and never less than any member, up to the width of the intervals;
    beside bounds on Rényi divergences, up to some 1 % of delta.

    Raises ParameterError, naming the item's index, for anything else, and RelationMismatch
    where the items that occur are for different neighbours.

    >>> c = compose([(PureDP(Fraction(1, 10)), 100)])
    >>> 4.77456758 < c.epsilon(1e-6) < 4.77456760
    True
    """
    if isinstance(items, Mapping):
        raise ParameterError(
            "items", f"a {type(items).__name__} would lose its counts: give pairs, .items()"
        )
    if isinstance(items, Guarantee | str | bytes) or not isinstance(items, Iterable):
        raise ParameterError("items", f"must be a list of guarantees, not {_kind(items)}")
    counted: dict[Part, int] = {}
    relation: Relation | None = None
    for index, item in enumerate(items):
        for guarantee, count in _parts(item, f"items[{index}]"):
            if relation not in (None, guarantee.relation):
                raise RelationMismatch(
                    f"items[{index}] is for {guarantee.relation}, the items before it for "
                    f"{relation}: guarantees compose only for one neighbouring relation."
                )
            relation = guarantee.relation
            counted[guarantee] = number = counted.get(guarantee, 0) + count
            if number > LARGEST_COUNT:
                raise ParameterError(f"items[{index}] count", f"adds up to over {LARGEST_COUNT}")
    return Composition(_normal(counted), relation or Relation.ADD_REMOVE)


def _parts(item: Any, name: str) -> Sequence[tuple[Part, int]]:
    """The parts of an item; none where it is there 0 times."""
    given: Any = 1
    paired = isinstance(item, tuple)
    if paired:
        if len(item) != _PAIR:
            raise ParameterError(name, "must be a pair (guarantee, count)")
        item, given = item
    if not _is_part(item) and not isinstance(item, Guarantee) and isinstance(item, Guaranteed):
        item = item.guarantee
    if not _is_part(item) and type(item) is not Composition:
        raise ParameterError(
            name,
            "must be a guarantee, such as ApproxDP(0.1, 1e-8), a mechanism or a composition, not "
            f"{_kind(item)}",
        )
    times = natural(given, f"{name} count", minimum=0) if paired else 1
    parts = item.parts if isinstance(item, Composition) else [(item, 1)]
    return [(guarantee, number * times) for guarantee, number in parts] if times else []


def _is_part(value: object) -> TypeGuard[Part]:
    return is_notion(value) or isinstance(value, PrivacyLoss | Batch)


def _kind(value: object) -> str:
    # Its type alone: the object may be a table.
    return type(value).__name__


def _normal(counted: Mapping[Part, int]) -> tuple[tuple[Part, int], ...]:
    return tuple(sorted(counted.items(), key=lambda p: _key(p[0])))


def _key(part: Part) -> tuple[Any, ...]:
    """The parts' order: by kind, then by the parameters, which floats usually settle."""
    match part:
        case PureDP():
            return 0, near(part.epsilon0), part.epsilon0
        case ApproxDP():
            return 1, near(part.epsilon0), part.epsilon0, near(part.delta0), part.delta0
        case ZCDP():
            return 2, part.rho
        case TCDP():
            return 3, part.rho, part.omega
        case RenyiDP():
            return 4, part.alpha, part.epsilon0
        case GaussianDP():
            return 5, near(part.mu), part.mu
        case PrivacyLoss():
            return 6, repr(part)
        case Batch():
            return 7, part.digest
        case _:
            assert_never(part)
