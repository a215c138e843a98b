"""The first half of a registration: reads each source once, into the stage, as places.

A stage's table holds ``k``, how its source writes the unit (NULL: none), and ``p0``, ``p1`` and so
on, the places of the values on the axes of codes; no rule was applied yet. Then it counts what
each rule will do. Nothing here is seen by a query.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb

from interlace.core.errors import DataError
from interlace.engines.base import TableReport, Touched
from interlace.engines.duckdb import normalise
from interlace.engines.duckdb.files import STAGE, counts, identifier
from interlace.engines.duckdb.sources import Source, attach_source
from interlace.query.columns import Category
from interlace.query.schema import Columns

#: When none of so many rows fits its declaration, the declaration is wrong.
_MANY = 100


@dataclass(frozen=True)
class Staged:
    """A source in the stage: the short name of its table there, and the declaration."""

    short: str
    table: str
    columns: Columns
    unit: str | None

    @property
    def stored(self) -> str:
        """Where the stage holds it."""
        return f"{STAGE}.{self.short}"

    def codes(self) -> list[str]:
        """The expressions of the columns' codes, NULL where a row is to be dropped."""
        return [normalise.code(kind, f"p{j}") for j, (_, kind) in enumerate(self.columns)]

    def kept(self, *needed: str) -> str:
        """The condition that a row is kept, and has all that is ``needed``."""
        names = [*needed, *(f"c{j}" for j in range(len(self.columns)))]
        return " AND ".join(f"{name} IS NOT NULL" for name in names) or "TRUE"


def stage(
    connection: duckdb.DuckDBPyConnection,
    short: str,
    table: tuple[str, Columns],
    source: Source,
    unit: str | None,
) -> Staged:
    """Reads a source, of a table of that name and columns, into the stage under a short name.

    ``unit`` is the column that identifies units, None for a public table. Raises DataError.
    """
    name, columns = table
    staged = Staged(short, name, columns, unit)
    types = _view(connection, staged, source)
    items = [_unit(connection, staged, types[unit]) if unit else "NULL AS k"]
    labels, joins = [], []
    for j, (column, kind) in enumerate(columns):
        where = f"table {name!r}, column {column!r}"
        sql_type = types[column]
        if isinstance(kind, Category):
            labels.append(f", {normalise.label(kind, f'r{j}', sql_type, where)} AS l{j}")
            joins.append(
                f" LEFT JOIN {_labels(connection, short, j, kind)} AS d{j} ON l{j} = d{j}.label"
            )
            place = normalise.label_place(f"l{j}", f"d{j}.code")
        else:
            place = normalise.place(kind, f"r{j}", sql_type, where)
        items.append(f"{place} AS p{j}")
    connection.execute(
        f"CREATE TABLE {staged.stored} AS SELECT {', '.join(items)} "
        f"FROM (SELECT *{''.join(labels)} FROM raw_{short}) AS raw{''.join(joins)}"
    )
    return staged


def _view(connection: duckdb.DuckDBPyConnection, staged: Staged, source: Source) -> dict[str, str]:
    """Shows a source's columns as ``r0``, ``r1`` and so on, its unit as ``u``; their SQL types."""
    short, unit = staged.short, staged.unit
    wanted = [column for column, _ in staged.columns]
    try:
        found = attach_source(
            connection, f"source_{short}", source, [*([unit] if unit else []), *wanted]
        )
    except DataError as error:
        raise DataError(f"table {staged.table!r}: {error}") from None
    raw = [f"{identifier(found[column][0])} AS r{j}" for j, column in enumerate(wanted)]
    if unit:
        raw.append(f"{identifier(found[unit][0])} AS u")
    connection.execute(
        f"CREATE TEMP VIEW raw_{short} AS SELECT {', '.join(raw)} FROM source_{short}"
    )
    return {column: sql_type for column, (_, sql_type) in found.items()}


def _unit(connection: duckdb.DuckDBPyConnection, staged: Staged, sql_type: str) -> str:
    where = f"table {staged.table!r}, unit {staged.unit!r}"
    text = normalise.unit_text("u", sql_type, where)
    blurred = normalise.blurred("u", sql_type)
    if blurred:
        [lost] = counts(connection, f"SELECT count(*) FROM raw_{staged.short} WHERE {blurred}")
        if lost:
            raise DataError(f"{where}: ids this large lose digits as floats: give integers or text")
    # Integers are looked up as such, which is several times faster than by their text.
    return f"{'u' if normalise.family(sql_type) == 'integer' else text} AS k"


def _labels(connection: duckdb.DuckDBPyConnection, short: str, j: int, kind: Category) -> str:
    table = f"labels_{short}_{j}"
    connection.execute(
        f"CREATE TEMP TABLE {table} AS SELECT unnest(?::VARCHAR[]) AS label, "
        f"CAST(unnest(range(len(?::VARCHAR[]))) AS BIGINT) AS code",
        [list(kind.values), list(kind.values)],
    )
    return table


def report(connection: duckdb.DuckDBPyConnection, staged: Staged) -> TableReport:
    """What each rule does to the rows in the stage; how many will be kept.

    Raises DataError if none of a hundred rows or more is left.
    """
    unit = "k IS NOT NULL" if staged.unit else "TRUE"
    rules = [
        (column, rule)
        for j, (column, kind) in enumerate(staged.columns)
        for rule in normalise.rules(kind, f"p{j}")
    ]
    met = [f"({unit}) AND ({condition})" for _, (_, _, condition) in rules]
    kept = " AND ".join([unit, *(f"({code}) IS NOT NULL" for code in staged.codes())])
    asked = ", ".join(f"count(*) FILTER ({condition})" for condition in (unit, kept, *met))
    read, with_unit, left, *rows = counts(
        connection, f"SELECT count(*), {asked} FROM {staged.stored}"
    )
    if not left and read >= _MANY:
        raise DataError(
            f"table {staged.table!r}: no row of the source fits the declaration: check the types, "
            "units and domains of its columns"
        )
    touched = tuple(
        Touched(column, rule, done, count)
        for (column, (rule, done, _)), count in zip(rules, rows, strict=True)
    )
    return TableReport(staged.table, read, read - with_unit, left, touched)
