"""What a snapshot calls its tables and columns, whatever their declared names: by place.

A table of units has the unit's keyed id, its columns' codes, and where a unit may have several rows
the ranks by which queries bound them (see ``engines``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from interlace.query.joins import Joined
from interlace.query.schema import AnyTable, Dataset, Table

#: The column that holds a unit's keyed id.
UNIT = "unit"
#: The column that numbers a unit's rows from 1, in an order that only the secret key tells.
RANK = "rank"


def key_rank(j: int) -> str:
    """The column that numbers, from 1, the distinct keys that a unit has of its table's j-th
    key set; rows of one key share a number.

    >>> key_rank(0)
    'k0'
    """
    return f"k{j}"


def table_name(dataset: Dataset, table: AnyTable) -> str:
    """What the snapshot calls a table.

    >>> people = Table("people", {})
    >>> table_name(Dataset("clinic", "id", (people,)), people)
    't0'
    """
    if isinstance(table, Table):
        return f"t{dataset.tables.index(table)}"
    return f"p{dataset.public.index(table)}"


@dataclass(frozen=True)
class Names:
    """Stored names of the declared tables and columns of a query."""

    tables: Mapping[str, str]
    columns: Mapping[tuple[str, str], str]

    @classmethod
    def of(cls, dataset: Dataset, joined: Joined) -> Names:
        used: list[AnyTable] = [*joined.tables, *(lookup.public for lookup in joined.lookups)]
        columns = {
            (table.name, name): f"c{place}"
            for table in used
            for place, name in enumerate(table.column_names)
        }
        return cls({table.name: table_name(dataset, table) for table in used}, columns)
