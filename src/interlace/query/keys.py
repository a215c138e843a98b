"""GROUP BY as data: keys with all their public values. Sees no data and no SQL."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from interlace.query.days import periods
from interlace.query.joins import Joined
from interlace.query.predicates import Always, Every, Predicate, Ranges, Within, refs
from interlace.query.schema import Table
from interlace.query.terms import (
    Bucketed,
    Chosen,
    Scaled,
    Term,
    Truncated,
)

#: How many values a key may have, and how many noisy numbers a query.
MOST_KEYS = 4_096


@dataclass(frozen=True)
class Key:
    """A key and the codes for which there is a row, ascending."""

    term: Term
    codes: tuple[int, ...] = field(repr=False)


@dataclass(frozen=True)
class KeyLimit:
    """That a unit counts for at most ``most`` keys of the key set ``index`` of a table."""

    table: str
    index: int
    most: int


def public_codes(term: Term, where: Predicate, most: int = MOST_KEYS) -> tuple[int, ...] | None:
    """The codes that a key may have where the condition holds; None if they are more than
    ``most``. What the condition says of the key itself counts, and nothing else of it.

    >>> from interlace.query.columns import Integer
    >>> from interlace.query.terms import Ref
    >>> age = Ref("people", "age", Integer(0, 120))
    >>> public_codes(age, Within(age, ((3, 4), (9, 9))))
    (3, 4, 9)
    """
    ranges = _ranges(term, where)
    if isinstance(term, Bucketed | Truncated | Chosen | Scaled):
        codes = _listed(term, most)
        # If none is left there is still a table, of zeros.
        return codes and (tuple(c for c in codes if any(a <= c <= b for a, b in ranges)) or codes)
    if sum(high - low + 1 for low, high in ranges) > most:
        return None
    return tuple(code for low, high in ranges for code in range(low, high + 1))


def _ranges(term: Term, where: Predicate) -> Ranges:
    for part in where.parts if isinstance(where, Every) else (where,):
        if isinstance(part, Within) and part.term == term:
            return part.ranges
    return (term.kind.codes,)


def _listed(term: Bucketed | Truncated | Chosen | Scaled, most: int) -> tuple[int, ...] | None:
    lower, upper = term.kind.codes
    if isinstance(term, Bucketed):
        steps = (upper - lower) // term.width + 1
        return None if steps > most else tuple(range(lower, upper + 1, term.width))
    if isinstance(term, Truncated):
        found = periods(term.period, *term.of.kind.codes, most)
        return None if found is None else tuple(found)
    if isinstance(term, Scaled):  # a branch of fewer decimals than another
        of = public_codes(term.of, Always(True), most)
        return None if of is None else tuple(code * term.factor for code in of)
    codes: set[int] = set()
    for branch in (*(result for _, result in term.branches), term.otherwise):
        part = public_codes(branch, Always(True), most)
        if part is None or len(codes | set(part)) > most:
            return None
        codes |= set(part)
    return tuple(sorted(codes))


def key_limits(keys: Iterable[Term], joined: Joined) -> tuple[KeyLimit, ...]:
    """Of each table of units that these keys come from the least declared limit on how many of
    its keys a unit counts for: of a key set that determines them."""
    found = []
    for table, columns in _origins(keys, joined).items():
        sets = enumerate(table.key_sets)
        limits = [
            KeyLimit(table.name, i, s.keys_per_unit) for i, s in sets if columns <= {*s.columns}
        ]
        found += sorted(limits, key=lambda limit: limit.most)[:1]
    return tuple(found)


def most_groups(keys: Sequence[Key], joined: Joined, limits: Iterable[KeyLimit]) -> int:
    """In how many groups one unit may be: each of its groups comes from one combination of rows
    of the tables that the keys come from, or of keys where these are limited."""
    declared = {limit.table: limit.most for limit in limits}
    combined = 1
    for table in _origins([key.term for key in keys], joined):
        combined *= min(table.rows_per_unit, declared.get(table.name, table.rows_per_unit))
    return min(combined, math.prod(len(key.codes) for key in keys))


def _origins(keys: Iterable[Term], joined: Joined) -> dict[Table, set[str]]:
    """The tables of units that keys come from, and the columns that determine them."""
    used = {joined.origin(ref) for key in keys for ref in refs(key)}
    names = {
        table: {ref.name for ref in used if ref.table == table.name} for table in joined.tables
    }
    return {table: columns for table, columns in names.items() if columns}
