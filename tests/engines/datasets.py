"""Random small datasets of several tables, with key sets and public tables, and their sources."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import strategies as st

from interlace.engines.base import Registered, Snapshot
from interlace.engines.duckdb.register import register
from interlace.query.columns import Column
from interlace.query.schema import Dataset, KeySet, PublicTable, Table
from tests.engines import strategies
from tests.engines.reference import Raw, normalised_public

KEY = b"the key of these tests"
TYPES = pa.schema(
    [
        ("id", pa.int64()),
        ("amount", pa.float64()),
        ("price", pa.float64()),
        ("test", pa.string()),
        ("seen", pa.date32()),
        ("male", pa.bool_()),
    ]
)


@dataclass(frozen=True)
class Given:
    """A declared dataset, and the rows of each source, public ones under their names too."""

    dataset: Dataset
    rows: Mapping[str, list[Raw]]

    def registered(self, folder: Path, key: bytes = KEY) -> Registered:
        """The dataset as it is registered into a folder."""
        sources = {name: pa.Table.from_pylist(part, TYPES) for name, part in self.rows.items()}
        return register(sources, self.dataset, folder, key)

    def without(self, unit: int) -> Given:
        """What is left when a unit leaves with all its rows in all tables."""
        names = {table.name for table in self.dataset.tables}
        kept = {
            name: [row for row in part if name not in names or row["id"] != unit]
            for name, part in self.rows.items()
        }
        return Given(self.dataset, kept)

    def shuffled(self, seed: int) -> Given:
        """The same rows in another order."""
        chosen = random.Random(seed)
        return Given(
            self.dataset,
            {name: chosen.sample(part, len(part)) for name, part in self.rows.items()},
        )


@st.composite
def givens(draw: st.DrawFn) -> Given:
    """Two tables, the second of one row a unit, and a public one."""
    visits = draw(_tables("visits", draw(st.integers(2, 5))))
    people = draw(_tables("people", 1))
    wards = PublicTable("wards", draw(st.sampled_from(["test", "amount", "seen"])), _declared(draw))
    dataset = Dataset("clinic", "id", (visits, people), (wards,))
    rows = {
        "visits": draw(strategies.rows(one_per_unit=False)),
        "people": draw(strategies.rows(one_per_unit=True)),
        "wards": _once(draw(strategies.rows(one_per_unit=False)), wards),
    }
    return Given(dataset, rows)


def _declared(draw: st.DrawFn) -> dict[str, Column]:
    return draw(strategies.columns())


@st.composite
def _tables(draw: st.DrawFn, name: str, rows: int) -> Table:
    columns = _declared(draw)
    some = st.lists(st.sampled_from(sorted(columns)), min_size=1, max_size=2, unique=True)
    sets = draw(st.lists(some, max_size=3, unique_by=frozenset))
    key_sets = [KeySet(tuple(names), draw(st.integers(1, 3))) for names in sets]
    return Table(name, columns, rows, key_sets)


def _once(rows: Sequence[Raw], table: PublicTable) -> list[Raw]:
    """The rows with a key that no earlier one has."""
    seen, found = set(), []
    for raw in rows:
        row = normalised_public(raw, dict(table.columns))
        if row is None or row[table.key] not in seen:
            found.append(raw)
        if row is not None:
            seen.add(row[table.key])
    return found


def stored(snapshot: Snapshot, table: str) -> list[dict[str, Any]]:
    """The rows of a snapshot's table, ranks and all, in an order of their own."""
    with duckdb.connect(str(snapshot.path), read_only=True) as connection:
        result = connection.execute(f"SELECT * FROM {table} ORDER BY ALL")
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]
