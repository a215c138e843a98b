"""Parquet files of plain columns: written for dummy data, and of others only the schema is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

from interlace.core.errors import DataError
from interlace.engines.duckdb.files import identifier


def write_parquet(file: Path, columns: Mapping[str, tuple[str, Sequence[object]]]) -> None:
    """Write columns, each with its SQL type, into a new file. Raises OSError."""
    picked = ", ".join(
        f"unnest(?::{sql_type}[]) AS {identifier(name)}" for name, (sql_type, _) in columns.items()
    )
    with duckdb.connect() as connection:
        # Not "COPY ... TO ?": DuckDB takes no parameter there.
        relation = connection.sql(f"SELECT {picked}", params=[list(v) for _, v in columns.values()])
        relation.write_parquet(str(file))


def parquet_schema(file: Path) -> dict[str, str]:
    """The SQL types of a file's columns by their names. Only its schema is read, no value, and
    no statistics either: those are data.

    Raises DataError for a file that is no Parquet file.
    """
    with duckdb.connect() as connection:
        try:
            rows = connection.execute(
                "DESCRIBE SELECT * FROM read_parquet(?)", [str(file)]
            ).fetchall()
        except duckdb.Error:
            rows = None  # what DuckDB says may quote the file
    if rows is None:
        raise DataError(f"{file} cannot be read as a Parquet file")
    return {str(name): str(sql_type) for name, sql_type, *_ in rows}
