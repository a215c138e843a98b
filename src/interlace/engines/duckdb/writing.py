"""The second half of a registration: from places in the stage to the snapshot's tables.

A unit's rows and their ranks depend on that unit's source rows, the declaration and the key
only (FORMULAS 11). There is a window here so that no query needs one.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence

import duckdb

from interlace.core.errors import DataError
from interlace.engines.base import Beyond
from interlace.engines.duckdb.files import CATALOG, STAGE, counts
from interlace.engines.duckdb.staging import Staged
from interlace.query.plan import MOST_UNITS
from interlace.query.schema import Columns, PublicTable, Table
from interlace.query.snapshot_names import RANK, UNIT, key_rank

#: Of a SHA-256 in hex: 64 bits.
HASH_DIGITS = 16


def number_units(
    connection: duckdb.DuckDBPyConnection, staged: Sequence[Staged], key: bytes
) -> None:
    """Makes the stage's tables ``u0``, ``u1`` and so on: from how a source writes a unit to its
    keyed hash. Raises DataError for too many units, and for two with one hash.

    A text counts in Unicode normal form C: one person in two forms would be two units, each
    protected for its own rows only.
    """
    for i, part in enumerate(staged):
        connection.execute(
            f"CREATE TABLE {STAGE}.i{i} AS SELECT k, nfc_normalize(CAST(k AS VARCHAR)) AS id "
            f"FROM (SELECT DISTINCT k FROM {part.stored} WHERE k IS NOT NULL)"
        )
    parts = (f"SELECT id FROM {STAGE}.i{i}" for i in range(len(staged)))
    connection.execute(
        f"CREATE TABLE {STAGE}.units AS SELECT id, {_hashed(key.hex(), 'id')} AS {UNIT} "
        f"FROM (SELECT DISTINCT id FROM ({' UNION ALL '.join(parts)}))"
    )
    units, hashes = counts(
        connection, f"SELECT count(*), count(DISTINCT {UNIT}) FROM {STAGE}.units"
    )
    if units > MOST_UNITS:
        raise DataError(f"a dataset may hold {MOST_UNITS} units")
    if hashes != units:
        raise DataError("two units share an id under this key: register with another key")
    for i in range(len(staged)):
        connection.execute(
            f"CREATE TABLE {STAGE}.u{i} AS SELECT k, {UNIT} "
            f"FROM {STAGE}.i{i} JOIN {STAGE}.units USING (id)"
        )


def write_table(
    connection: duckdb.DuckDBPyConnection, i: int, table: Table, staged: Staged, key: bytes
) -> tuple[int, tuple[Beyond, ...]]:
    """Writes table ``t{i}``: codes and ranks, clustered by unit. The number of its rows, and what
    lies beyond the bounds of a unit. Raises DataError."""
    codes = [f"c{j}" for j in range(len(table.columns))]
    listed = ", ".join([UNIT, *codes])
    items = "".join(f", {code} AS c{j}" for j, code in enumerate(staged.codes()))
    connection.execute(
        f"CREATE TEMP VIEW coded{i} AS SELECT {listed} FROM (SELECT {UNIT}{items} "
        f"FROM {staged.stored} JOIN {STAGE}.u{i} USING (k)) WHERE {staged.kept(UNIT)}"
    )
    ranks = [key_rank(j) for j in range(len(table.key_sets))]
    if table.rows_per_unit == 1:  # a first row has the first key
        ones = "".join(f", 1::INTEGER AS {name}" for name in ranks)
        connection.execute(
            f"CREATE TABLE {CATALOG}.t{i} AS SELECT {listed}{ones} FROM coded{i} ORDER BY {listed}"
        )
    else:
        joins = "".join(
            _key_ranks(connection, i, j, table, key) for j in range(len(table.key_sets))
        )
        picked = ", ".join([f"rows.{name}" for name in (UNIT, *codes, RANK)] + ranks)
        hashed = _hashed(_derived(key, "row rank", table.name), listed)
        connection.execute(
            f"CREATE TABLE {CATALOG}.t{i} AS SELECT {picked} FROM ({_ranked(hashed, codes, RANK)} "
            f"FROM coded{i}) AS rows{joins} ORDER BY rows.{UNIT}, rows.{RANK}"
        )
    return _checked(connection, i, table)


def _key_ranks(
    connection: duckdb.DuckDBPyConnection, i: int, j: int, table: Table, key: bytes
) -> str:
    """Ranks each unit's distinct keys of a key set; the join that gives them to its rows."""
    keys = table.key_sets[j]
    codes = [f"c{table.column_names.index(column)}" for column in keys.columns]
    listed = ", ".join([UNIT, *codes])
    hashed = _hashed(_derived(key, "key rank", table.name, *keys.columns), listed)
    stored = f"{STAGE}.k{i}_{j}"
    connection.execute(
        f"CREATE TABLE {stored} AS {_ranked(hashed, codes, key_rank(j))} "
        f"FROM (SELECT DISTINCT {listed} FROM coded{i})"
    )
    same = " AND ".join(f"rows.{name} = d{j}.{name}" for name in (UNIT, *codes))
    return f" JOIN {stored} AS d{j} ON {same}"


def _ranked(hashed: str, codes: Sequence[str], rank: str) -> str:
    """Of each unit, from 1, in the order of a hash; then of the codes, so that only rows with
    the same codes are left to chance."""
    order = ", ".join([hashed, *codes])
    return (
        f"SELECT *, CAST(row_number() OVER (PARTITION BY {UNIT} ORDER BY {order}) AS INTEGER) "
        f"AS {rank}"
    )


def _derived(key: bytes, *purpose: str) -> str:
    """A key for one purpose, in hex: the hash of an id is never one of a row."""
    return hmac.digest(key, "\0".join(purpose).encode(), "sha256").hex()


def _hashed(key: str, listed: str) -> str:
    """64 bits of the SHA-256 of a key in hex, a colon, and values joined by commas."""
    digest = f"sha256('{key}:' || concat_ws(',', {listed}))"
    return f"CAST('0x' || {digest}[1:{HASH_DIGITS}] AS UBIGINT)"


def _checked(
    connection: duckdb.DuckDBPyConnection, i: int, table: Table
) -> tuple[int, tuple[Beyond, ...]]:
    """What every later step relies on, looked up in what was written; and what lies beyond."""
    bounds = _bounds(table)
    sound = [f"{UNIT} IS NOT NULL", *_within(table.columns)]
    sound += [f"COALESCE({name} >= 1, FALSE)" for name, _ in bounds]
    asked = [f"count(*) FILTER (NOT ({' AND '.join(sound)}))"]
    asked += [f"count(*) FILTER ({name} > {bound})" for name, (_, bound) in bounds]
    rows, unsound, *beyond = counts(
        connection, f"SELECT count(*), {', '.join(asked)} FROM {CATALOG}.t{i}"
    )
    if unsound:
        raise DataError(f"table {table.name!r}: a code outside its bounds was written")
    if table.rows_per_unit == 1:
        [units] = counts(connection, f"SELECT count(DISTINCT {UNIT}) FROM {CATALOG}.t{i}")
        if units != rows:
            raise DataError(
                f"table {table.name!r} declares rows_per_unit = 1, but a unit has more rows: "
                f"declare how many one unit may contribute"
            )
    found = (
        Beyond(columns, bound, count, _units_beyond(connection, i, name, bound) if count else 0)
        for (name, (columns, bound)), count in zip(bounds, beyond, strict=True)
    )
    return rows, tuple(found)


def _bounds(table: Table) -> list[tuple[str, tuple[tuple[str, ...], int]]]:
    """Each stored rank with its key set (none for rows) and its bound."""
    rows = [(RANK, ((), table.rows_per_unit))] if table.rows_per_unit > 1 else []
    return [
        *rows,
        *(
            (key_rank(j), (keys.columns, keys.keys_per_unit))
            for j, keys in enumerate(table.key_sets)
        ),
    ]


def _units_beyond(connection: duckdb.DuckDBPyConnection, i: int, name: str, bound: int) -> int:
    [units] = counts(
        connection,
        f"SELECT count(DISTINCT {UNIT}) FROM {CATALOG}.t{i} WHERE {name} > {bound}",
    )
    return units


def write_public(
    connection: duckdb.DuckDBPyConnection, i: int, table: PublicTable, staged: Staged
) -> int:
    """Writes public table ``p{i}``, in the order of its key; the number of its rows.

    Raises DataError, naming the key, if one is there twice: all of it is public.
    """
    codes = ", ".join(f"c{j}" for j in range(len(table.columns)))
    items = ", ".join(f"{code} AS c{j}" for j, code in enumerate(staged.codes()))
    key = f"c{table.column_names.index(table.key)}"
    connection.execute(
        f"CREATE TABLE {CATALOG}.p{i} AS SELECT {codes} FROM (SELECT {items} "
        f"FROM {staged.stored}) WHERE {staged.kept()} ORDER BY {key}"
    )
    twice = connection.execute(
        f"SELECT {key} FROM {CATALOG}.p{i} GROUP BY {key} HAVING count(*) > 1 ORDER BY {key} LIMIT 1"
    ).fetchall()
    if twice:
        raise DataError(
            f"public table {table.name!r}: more than one row has the key "
            f"{table.kind(table.key).show(twice[0][0])}: a key must name one row"
        )
    sound = " AND ".join(_within(table.columns))
    rows, unsound = counts(
        connection, f"SELECT count(*), count(*) FILTER (NOT ({sound})) FROM {CATALOG}.p{i}"
    )
    if unsound:
        raise DataError(f"public table {table.name!r}: a code outside its bounds was written")
    return rows


def _within(columns: Columns) -> list[str]:
    return [
        f"COALESCE(c{j} BETWEEN {kind.codes[0]} AND {kind.codes[1]}, FALSE)"
        for j, (_, kind) in enumerate(columns)
    ]
