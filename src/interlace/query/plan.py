"""The plan: a bounded query over integer codes, with its sensitivity from metadata alone.

Nothing here depends on data, and nothing depends on how the query was written: two texts
that mean the same in one column give one plan, and ``text`` is its identity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from interlace.core.errors import ParameterError
from interlace.core.queries import Sensitivity, Shares
from interlace.query.arithmetic import shown
from interlace.query.estimates import Estimator
from interlace.query.joins import Joined
from interlace.query.keys import MOST_KEYS, Key
from interlace.query.parts import Part
from interlace.query.predicates import Predicate
from interlace.query.schema import Dataset
from interlace.query.shape import KeyColumn, Shape
from interlace.query.text import Writer, sql_of

#: No dataset may hold more units (registration refuses it), and no plan may move by more for
#: one of them: so every exact answer stays within 2^70 and its arithmetic within 128 bits.
MOST_UNITS = 2**30
LARGEST_SENSITIVITY = 2**40
#: So many noisy numbers may go into the items of an answer, each counted for each item: what is made of
#: them is made after the draw, which should take seconds at most.
MOST_USES = 2**16


@dataclass(frozen=True)
class Item:
    """One of the SELECT list: its name, its text, and what it is made of."""

    text: str
    column: Estimator


@dataclass(frozen=True)
class Plan:
    """A query that may be asked; satisfies ``core.queries.Plan``.

    A vector with the cells of one part after the other; the cells of a part have the order of
    its keys, the last key fastest. Raises ParameterError if one unit could move a cell by
    more than 2^40 units of its last digit, or for more than 4,096 cells.

    >>> from interlace.query.columns import Integer
    >>> from interlace.query.parse import parse
    >>> from interlace.query.schema import Table
    >>> labs = Table("labs", {"value": Integer(-5, 500)}, rows_per_unit=60)
    >>> plan = parse("select sum(value) from labs", Dataset("clinic", "id", (labs,)))
    >>> plan.text, plan.sensitivity.linf, plan.monotone
    ('SELECT SUM("value") FROM "labs"', 30000, False)
    """

    dataset: Dataset
    joined: Joined
    where: Predicate
    keys: tuple[tuple[str, Key], ...]
    parts: tuple[Part, ...]
    items: tuple[Item, ...]

    def __post_init__(self) -> None:
        if self.size > MOST_KEYS:
            raise ParameterError(
                "sql",
                f"asks for {shown(self.size)} noisy numbers, and the limit is {MOST_KEYS:,}: group by "
                "fewer keys, or by wider buckets",
            )
        if self.uses > MOST_USES:
            raise ParameterError(
                "sql",
                f"has items that take {shown(self.uses)} noisy numbers, and the limit is "
                f"{MOST_USES:,}: ask for fewer items at once",
            )
        if self.sensitivity.linf > LARGEST_SENSITIVITY:
            raise ParameterError(
                "sql",
                f"one unit could move the answer by {self.sensitivity.linf} units of its last "
                "digit, and the limit is 2^40: CLAMP the expression or the aggregate",
            )

    def __hash__(self) -> int:
        return hash(self.text)  # once for all: its parts hold long lists

    @property
    def uses(self) -> int:
        """How many noisy numbers its items are made of, for all groups together."""
        groups = math.prod(len(key.codes) for _, key in self.keys)
        return groups * sum(item.column.uses for item in self.items)

    @property
    def size(self) -> int:
        """The number of cells."""
        return sum(part.size for part in self.parts)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """How far the exact answer moves when one unit leaves with all its rows (R10)."""
        moved = [part.sensitivity for part in self.parts]
        return Sensitivity(
            sum(item.l0 for item in moved),
            sum(item.l1 for item in moved),
            sum(item.l2_squared for item in moved),
            max(item.linf for item in moved),
        )

    @property
    def shares(self) -> Shares:
        """Of each part its number of cells and its sensitivity: each gets noise of its own scale."""
        return tuple((part.size, part.sensitivity) for part in self.parts)

    @property
    def monotone(self) -> bool:
        """Whether removing a unit can only lower every cell."""
        return all(part.bounds[0] >= 0 for part in self.parts)

    @property
    def digits(self) -> int:
        """Of a plan of one part: its cells are in units of 10^-digits."""
        return self.parts[0].digits

    @cached_property
    def shape(self) -> Shape:
        """How its numbers become the table that an analyst sees."""
        keys = tuple(KeyColumn.of(name, key) for name, key in self.keys)
        groups = math.prod(len(key.codes) for key in keys)
        return Shape(
            keys,
            tuple(part.size // groups for part in self.parts),
            tuple(part.kind != "sum" for part in self.parts),
            tuple(item.column for item in self.items),
        )

    @cached_property
    def text(self) -> str:
        """The canonical SQL of the plan: its identity within the dataset's snapshot. It parses to
        a plan of the same parts, and names nothing."""
        names = list(dict.fromkeys(item.text for item in self.items))  # one name, one column
        return sql_of(self.dataset, self.joined, names, self.where, [k.term for _, k in self.keys])

    def text_of(self, part: Part) -> str:
        """The canonical SQL of one part: its identity within the dataset's snapshot."""
        name = Writer(self.joined.single).aggregate(part, self.dataset.unit)
        keys = [key.term for key in part.keys]
        return sql_of(self.dataset, self.joined, [name], self.where, keys)
