"""From a plan's noisy integers to the table that an analyst sees: post-processing only.

A shape is public and travels as JSON beside the answer, so that an answer can be shown for ever
without reading its query again. Sees no data.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interlace.query.columns import Boolean, Category, Column, Day
from interlace.query.estimates import Cell, Estimator, Span, body_of, estimator_of
from interlace.query.fixed_point import Value, in_units
from interlace.query.keys import Key
from interlace.query.values import day_of


@dataclass(frozen=True)
class AnswerTable:
    """What an answer comes to. ``rows`` hold keys and items by name, in public order, and
    ``intervals`` for each row those of its items."""

    rows: tuple[Mapping[str, Value], ...]
    intervals: tuple[Mapping[str, tuple[Value, Value]], ...]


@dataclass(frozen=True)
class KeyColumn:
    """A key's name and public values: texts, or codes of numbers, days or truths."""

    name: str
    type: str
    digits: int
    codes: tuple[int | str, ...]

    @classmethod
    def of(cls, name: str, key: Key) -> KeyColumn:
        kind = key.term.kind
        if isinstance(kind, Category):
            return cls(name, "text", 0, tuple(kind.values[code] for code in key.codes))
        return cls(name, _type(kind), kind.digits, key.codes)

    @property
    def values(self) -> tuple[Value, ...]:
        """The values as a reader knows them."""
        return tuple(map(self._value, self.codes))

    def _value(self, code: int | str) -> Value:
        if isinstance(code, str):
            return code
        if self.type == "day":
            return day_of(code)
        return bool(code) if self.type == "truth" else in_units(code, self.digits)


def _type(kind: Column) -> str:
    return "day" if isinstance(kind, Day) else "truth" if isinstance(kind, Boolean) else "number"


@dataclass(frozen=True)
class Shape:
    """The keys, how many cells each part has for one group, which of the parts are counts, and
    the items over them."""

    keys: tuple[KeyColumn, ...]
    widths: tuple[int, ...]
    counts: tuple[bool, ...]
    columns: tuple[Estimator, ...]

    @classmethod
    def number(cls, name: str, digits: int) -> Shape:
        """Of one number."""
        return cls((), (1,), (False,), (Cell(name, 0, digits),))

    @property
    def groups(self) -> int:
        """The number of rows."""
        return math.prod(len(key.codes) for key in self.keys)

    @property
    def scalar(self) -> bool:
        """Whether the answer is one number."""
        return not self.keys and len(self.columns) == 1

    def table(self, values: Sequence[int], spans: Sequence[Span]) -> AnswerTable:
        """The table of these noisy cells and of the intervals around them."""
        cells, ranges = list(self._cut(values)), list(self._cut(spans))
        rows, intervals = [], []
        for i, group in enumerate(itertools.product(*(key.values for key in self.keys))):
            here, around = [part[i] for part in cells], [part[i] for part in ranges]
            found = {column.name: column.estimate(here, around) for column in self.columns}
            keys = dict(zip((key.name for key in self.keys), group, strict=True))
            rows.append(keys | {name: item.value for name, item in found.items()})
            intervals.append({name: item.interval for name, item in found.items()})
        return AnswerTable(tuple(rows), tuple(intervals))

    def consistent(self, values: Sequence[int], total: int | None = None) -> tuple[int, ...]:
        """The cells with all counts at least 0; with a ``total``, those of each part of counts
        moved as little as possible (in the sum of squares) to add up to it, too."""
        changed: list[int] = []
        start = 0
        for width, count in zip(self.widths, self.counts, strict=True):
            part = list(values[start : start + width * self.groups])
            changed += nonnegative(part, total) if count else part
            start += len(part)
        return tuple(changed)

    def _cut(self, numbers: Sequence[Any]) -> Iterator[list[Sequence[Any]]]:
        """The cells of each part, group by group."""
        start = 0
        for width in self.widths:
            end = start + width * self.groups
            yield [numbers[i : i + width] for i in range(start, end, width)]
            start = end

    def body(self) -> dict[str, Any]:
        """The shape as JSON."""
        keys = [[key.name, key.type, key.digits, list(key.codes)] for key in self.keys]
        return {
            "keys": keys,
            "widths": list(self.widths),
            "counts": list(self.counts),
            "columns": [body_of(column) for column in self.columns],
        }

    @classmethod
    def read(cls, body: Mapping[str, Any]) -> Shape:
        """The shape whose ``body`` this is."""
        keys = (KeyColumn(name, kind, digits, tuple(c)) for name, kind, digits, c in body["keys"])
        columns = tuple(map(estimator_of, body["columns"]))
        return cls(tuple(keys), tuple(body["widths"]), tuple(body["counts"]), columns)


def nonnegative(counts: Sequence[int], total: int | None) -> list[int]:
    """The nearest counts that are at least 0 and add up to ``total``, if that is given: what is
    too much is taken from all alike, as far as they have it; what is left of a whole is given
    to the largest remainders.

    >>> nonnegative([5, -2, 3], None), nonnegative([5, -2, 3], 6)
    ([5, 0, 3], [4, 0, 2])
    """
    if total is None:
        return [max(count, 0) for count in counts]
    goal = max(total, 0)
    kept, sums, size = sorted(counts, reverse=True), 0, 0
    for size, count in enumerate(kept, 1):
        sums += count
        # From each of these (sums - goal)/size is taken; those that have no more than it get 0.
        if size < len(kept) and kept[size] * size <= sums - goal:
            break
    parts = [divmod(max(count * size - (sums - goal), 0), size) for count in counts]
    found = [whole for whole, _ in parts]
    left = goal - sum(found)
    for place in sorted(range(len(counts)), key=lambda i: -parts[i][1])[:left]:
        found[place] += 1
    return found
