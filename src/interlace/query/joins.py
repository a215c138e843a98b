"""FROM as data: which tables of the dataset a query joins, and how. Sees no data and no SQL."""

from __future__ import annotations

import math
from dataclasses import dataclass

from interlace.query.schema import PublicTable, Table
from interlace.query.terms import Ref


@dataclass(frozen=True)
class Lookup:
    """A public table, joined by its key to a column: a row finds at most one of its rows."""

    public: PublicTable
    by: Ref


@dataclass(frozen=True)
class Joined:
    """Tables of units, joined on the unit, in the order of their declaration; and public tables
    in an order in which each is joined to one before it or to a table of units.

    >>> Joined((Table("visits", {}, rows_per_unit=3), Table("labs", {}, rows_per_unit=5))).rows
    15
    """

    tables: tuple[Table, ...]
    lookups: tuple[Lookup, ...] = ()

    @property
    def rows(self) -> int:
        """How many rows a unit may have: every row of one table meets every row of the others,
        and lookups only leave rows out."""
        return math.prod(table.rows_per_unit for table in self.tables)

    @property
    def multiplied(self) -> bool:
        """Whether several rows of a unit meet several others of it. What it holds beyond its
        bounds would be multiplied, and how long a query takes, or that it fails, would tell of
        that one unit: its rows are bounded before they meet.

        >>> Joined((Table("visits", {}, rows_per_unit=3), Table("people", {}))).multiplied
        False
        """
        return sum(table.rows_per_unit > 1 for table in self.tables) > 1

    @property
    def single(self) -> bool:
        """Whether one table is read alone."""
        return len(self.tables) + len(self.lookups) == 1

    def same(self, ref: Ref) -> Ref:
        """The column that a public table's key equals in every row, or the column itself."""
        for lookup in self.lookups:
            if (lookup.public.name, lookup.public.key) == (ref.table, ref.name):
                return self.same(lookup.by)
        return ref

    def origin(self, ref: Ref) -> Ref:
        """The column of a table of units by which a column is looked up, or the column itself."""
        for lookup in self.lookups:
            if lookup.public.name == ref.table:
                return self.origin(lookup.by)
        return ref
