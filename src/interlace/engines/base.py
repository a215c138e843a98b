"""What every engine offers: exact integers of a plan over one snapshot.

An engine adds no noise and checks no budget; it may not show what it read in an error (R7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from interlace.core.errors import EngineError
from interlace.query.plan import Plan
from interlace.query.schema import Dataset

#: Told of each step of a registration as it begins: what it is, how many are done, and of how
#: many; at the end once more, with all of them done. It holds public names only.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Snapshot:
    """What a registration gives and the centre must remember: where the normalised tables
    lie, what they were declared to be, and the SHA-256 of the file (in hex)."""

    dataset: Dataset
    path: Path
    digest: str


@dataclass(frozen=True)
class Touched:
    """The rows that one rule of one column applied to, of the rows that have a unit.

    ``done`` is "drop", "clamp", or what was put there, as an SQL literal. A row that several
    rules applied to is counted under each, dropped or not.
    """

    column: str
    rule: Literal["missing", "out_of_range", "unknown"]
    done: str
    rows: int

    def __str__(self) -> str:
        end = {"drop": "dropped", "clamp": "clamped"}.get(self.done, f"became {self.done}")
        what = {"missing": "missing or unreadable"}.get(self.rule, self.rule.replace("_", " "))
        return f"column {self.column}: {self.rows:,} rows {what}, {end}"


@dataclass(frozen=True)
class Beyond:
    """What lies beyond a declared bound of one unit. It stays in the snapshot; queries leave it
    out or clamp it.

    ``columns`` is the key set, or empty for the bound on rows; ``rows`` is the number of rows
    beyond the bound, ``units`` of the units that have some.
    """

    columns: tuple[str, ...]
    bound: int
    rows: int
    units: int

    def __str__(self) -> str:
        what = f"keys of ({', '.join(self.columns)})" if self.columns else "rows"
        return f"beyond {self.bound:,} {what} a unit: {self.rows:,} rows of {self.units:,} units"


@dataclass(frozen=True)
class TableReport:
    """What became of the rows of one source: ``read`` there, ``without_unit`` (dropped), and
    ``kept`` in the end. ``str()`` lists what is not 0."""

    table: str
    read: int
    without_unit: int
    kept: int
    touched: tuple[Touched, ...] = ()
    beyond: tuple[Beyond, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"table {self.table}: {self.read:,} rows read, {self.kept:,} kept"
        if self.without_unit:
            yield f"  {self.without_unit:,} rows without a unit, dropped"
        yield from (f"  {part}" for part in self.touched if part.rows)
        yield from (f"  {part}" for part in self.beyond if part.rows)


@dataclass(frozen=True)
class Report:
    """How many rows each rule touched at a registration, for the custodian alone.

    It is exact, so whoever may not see the data may not see it: it is handed to whoever
    registers, and kept nowhere. ``str()`` tells it line by line.

    >>> print(Report((TableReport("labs", 9, 1, 6, (Touched("value", "missing", "drop", 2),)),)))
    table labs: 9 rows read, 6 kept
      1 rows without a unit, dropped
      column value: 2 rows missing or unreadable, dropped
    """

    tables: tuple[TableReport, ...]

    def __str__(self) -> str:
        return "\n".join(map(str, self.tables))


@dataclass(frozen=True)
class Registered:
    """What a registration gives: the snapshot to remember, and the report to forget, which is
    not part of its ``repr``."""

    snapshot: Snapshot
    report: Report = field(repr=False)


class Engine(Protocol):
    """Reads one snapshot, which is looked for at the first read. Safe to share between threads, and after a fork."""

    def read(self, plan: Plan) -> tuple[int, ...]:
        """The exact answer, one integer for each cell of the plan. Raises EngineError."""

    def close(self) -> None:
        """Gives back what is held once the reads that run have ended; a later ``read`` raises
        EngineError. Raises nothing."""


def failure() -> EngineError:
    """The one public form of a failure after a scan began: no word of the cause, which may
    depend on data. Raise it outside the handler, or the cause stays within reach as its
    context."""
    return EngineError(
        "the engine could not answer, and the charge is kept; the cause is not shown because "
        "it may depend on data: tell the custodian"
    )
