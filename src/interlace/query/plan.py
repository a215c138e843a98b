"""The plan: a bounded query over integer codes, with its sensitivity from metadata alone.

Nothing here depends on data, and nothing depends on how the query was written: two texts
that mean the same in one column give one plan, and ``text`` is its identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from interlace.core.errors import ParameterError
from interlace.core.queries import Sensitivity
from interlace.query.predicates import Predicate
from interlace.query.schema import Dataset, Table
from interlace.query.text import sql_of

#: No dataset may hold more units (registration refuses it), and no plan may move by more for
#: one of them: so every exact answer stays within 2^62 and its arithmetic within 128 bits.
MOST_UNITS = 2**30
LARGEST_SENSITIVITY = 2**32


@dataclass(frozen=True)
class Aggregate:
    """One number per unit, clamped to [lower, upper], then added up over the units.

    ``kind`` says what a unit's number is: "rows" and "units" its count of matching rows (for
    "units" clamped to 1), "sum" the sum of the codes of ``column`` over them. A unit without
    a matching row contributes 0, whatever the bounds (FORMULAS 11).
    """

    kind: Literal["rows", "units", "sum"]
    column: str | None
    lower: int
    upper: int
    digits: int = 0

    @classmethod
    def rows(cls, table: Table) -> Aggregate:
        """COUNT(*): at most rows_per_unit for one unit."""
        return cls("rows", None, 0, table.rows_per_unit)

    @classmethod
    def units(cls) -> Aggregate:
        """COUNT(DISTINCT unit): 1 for each unit with a matching row."""
        return cls("units", None, 0, 1)

    @classmethod
    def sum(cls, table: Table, column: str) -> Aggregate:
        """SUM(column): what rows_per_unit rows within the column's bounds can add up to."""
        kind = table.kind(column)
        lower, upper = kind.codes
        rows = table.rows_per_unit
        return cls("sum", column, rows * min(lower, 0), rows * max(upper, 0), kind.digits)

    @property
    def sensitivity(self) -> int:
        """max(|lower|, |upper|) and not upper - lower: a unit is added or removed, and adds
        0 when absent (FORMULAS 11). At least 1, so that noise always has a scale."""
        return max(abs(self.lower), abs(self.upper), 1)


@dataclass(frozen=True)
class Plan:
    """A query that may be asked; satisfies ``core.queries.Plan``.

    A vector of one cell for each aggregate. Raises ParameterError if one unit could move an
    answer by more than 2^32 units of its last digit.

    >>> from interlace.query.columns import Integer
    >>> from interlace.query.predicates import Always
    >>> labs = Table("labs", {"value": Integer(-5, 500)}, rows_per_unit=60)
    >>> total = Aggregate.sum(labs, "value")
    >>> plan = Plan(Dataset("clinic", "id", (labs,)), labs, (total,), Always(True))
    >>> plan.text, plan.sensitivity.linf, plan.monotone
    ('SELECT SUM("value") FROM "labs"', 30000, False)
    """

    dataset: Dataset
    table: Table
    aggregates: tuple[Aggregate, ...]
    where: Predicate

    def __post_init__(self) -> None:
        if not self.aggregates or len({item.digits for item in self.aggregates}) > 1:
            raise ParameterError("aggregates", "must be at least one, all of the same digits")
        if self.sensitivity.linf > LARGEST_SENSITIVITY:
            raise ParameterError(
                "aggregates",
                f"one unit could move the answer by {self.sensitivity.linf} units of its last "
                f"digit; the limit is 2^32",
            )

    def __hash__(self) -> int:
        return hash(self.text)  # once for all: its parts hold long lists

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.aggregates)

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """How far the exact answer moves when one unit leaves with all its rows (R10)."""
        cells = [item.sensitivity for item in self.aggregates]
        return Sensitivity(len(cells), sum(cells), sum(cell**2 for cell in cells), max(cells))

    @property
    def monotone(self) -> bool:
        """Whether removing a unit can only lower every cell."""
        return all(item.lower >= 0 for item in self.aggregates)

    @property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """For each cell what one unit can contribute: (lower, upper), 0 always among it."""
        return tuple((item.lower, item.upper) for item in self.aggregates)

    @property
    def digits(self) -> int:
        """Answers are in units of 10^-digits: more than 0 only for a SUM over a Decimal."""
        return self.aggregates[0].digits

    @cached_property
    def text(self) -> str:
        """The canonical SQL of the plan: its identity within the dataset's snapshot. It
        parses to this plan again."""
        return sql_of(self.dataset, self.table, self.aggregates, self.where)
