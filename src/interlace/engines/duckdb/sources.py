"""Makes a source readable by a DuckDB connection, without letting it guess.

What a value becomes may not depend on the other rows: so a CSV file is read as text, and a
pandas column of objects is turned into text value by value. Normalises nothing.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import decimal
import math
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from interlace.core.errors import DataError

#: A path of a Parquet or CSV file, or a table in memory (pandas, pyarrow, polars).
Source = Any


def attach_source(
    connection: duckdb.DuckDBPyConnection, view: str, source: Source, columns: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """Makes ``source`` readable as ``view``; of each wanted column its name there and its type.

    Raises DataError if a file is missing or of another kind, if the object is no table, or
    if a column is missing or there twice; names of columns are compared as SQL does, an
    exact match first.
    """
    if isinstance(source, str | Path):
        _file(connection, Path(source)).create_view(view)
    else:
        table = _frame(source, columns) if _is_pandas(source) else source
        _register(connection, view, table)
    described = connection.execute(f"DESCRIBE {view}").fetchall()
    present = [(str(row[0]), str(row[1])) for row in described]
    return {column: _found(column, present) for column in columns}


def _register(connection: duckdb.DuckDBPyConnection, view: str, table: object) -> None:
    with contextlib.suppress(Exception):  # its own conversion may raise anything, and quote data
        connection.register(view, table)
        return
    raise DataError(
        f"a source must be a DataFrame, an Arrow table or a path of a .parquet or .csv file, "
        f"got {type(table).__name__}"
    )


def _found(column: str, present: list[tuple[str, str]]) -> tuple[str, str]:
    exact = [item for item in present if item[0] == column]
    matches = exact or [item for item in present if item[0].casefold() == column.casefold()]
    if len(matches) != 1:
        problem = "is missing" if not matches else "is there more than once"
        raise DataError(f"column {column!r} {problem} in the source")
    return matches[0]


def _file(connection: duckdb.DuckDBPyConnection, path: Path) -> duckdb.DuckDBPyRelation:
    if any(mark in str(path) for mark in "*?[]{}"):
        raise DataError(f"source file {path}: its name may not hold any of * ? [ ] {{ }}")
    if not path.is_file():
        raise DataError(f"source file {path} does not exist")
    ending = path.suffix.lower()
    if ending in (".parquet", ".pq"):
        return connection.read_parquet(str(path))
    if ending not in (".csv", ".tsv"):
        raise DataError(f"source file {path}: only .parquet, .csv and .tsv files are read")
    separator = "," if ending == ".csv" else "\t"
    names = _header(path, separator)
    return connection.read_csv(
        str(path),
        header=True,
        sep=separator,
        quotechar='"',
        escapechar='"',
        auto_detect=False,
        columns=dict.fromkeys(names, "VARCHAR"),
    )


def _header(path: Path, separator: str) -> list[str]:
    names: list[str] = []
    with (
        contextlib.suppress(UnicodeDecodeError, csv.Error),  # which may quote data
        path.open(encoding="utf-8-sig", newline="") as file,
    ):
        names = next(csv.reader(file, delimiter=separator), [])
    folded = [name.casefold() for name in names]
    if not names or len(set(folded)) < len(folded) or "" in names:
        raise DataError(
            f"source file {path}: its first line must name every column once, and all of it be UTF-8"
        )
    return names


def _is_pandas(source: object) -> bool:
    pandas = sys.modules.get("pandas")  # whoever made a DataFrame has loaded it
    return pandas is not None and isinstance(source, pandas.DataFrame)


def _frame(frame: Any, columns: Sequence[str]) -> Any:
    """The wanted columns alone, those of objects or categories as text."""
    names = [str(name) for name in frame.columns]
    present = [(name, "") for name in names]
    picked = {name: frame.iloc[:, names.index(name)] for name, _ in _all_found(columns, present)}
    plain = {
        name: series.map(_text, na_action=None).astype("string")
        if str(series.dtype) in ("object", "category")
        else series
        for name, series in picked.items()
    }
    result = frame.iloc[:, :0].reset_index(drop=True)
    return result.assign(**{name: series.array for name, series in plain.items()})


def _all_found(columns: Sequence[str], present: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [_found(column, present) for column in columns]


def _text(value: object) -> str | None:
    if isinstance(value, str):
        return str(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, datetime.datetime):
        # An instant is in the day that it is in UTC, as in a column of instants.
        return (value.astimezone(datetime.UTC) if value.tzinfo else value).isoformat(" ")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bool | int | float | decimal.Decimal | uuid.UUID) or _is_scalar(value):
        return str(value)
    raise DataError(f"a column holds objects of type {type(value).__name__}: convert it")


def _is_scalar(value: object) -> bool:
    return type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()
