"""What ``interlace init`` and ``interlace check-config`` do: a declaration, from a schema on."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from interlace.centre.described import domain_of, misfit_of, missing_of
from interlace.core.errors import DataError, ParameterError
from interlace.engines.duckdb.parquet import parquet_schema
from interlace.query.declarations.advising import ColumnFacts, TableFacts, advice_on, facts_of
from interlace.query.declarations.checking import Problem, check_declaration
from interlace.query.declarations.drafting import draft
from interlace.query.declarations.reading import Declaration
from interlace.query.declarations.source_schema import Found, field_of, header_of, tables_of
from interlace.query.schema import Dataset

#: A first line that is longer names no columns.
_LONGEST_LINE = 2**20


def drafted(
    schemas: Sequence[Path],
    public: Sequence[Path],
    out: Path | None,
    name: str | None,
    unit: str | None,
    dialect: str | None,
) -> str:
    """The draft of a declaration, as it is to be printed or what is to be said of the new file.
    Raises DataError, ParameterError."""
    tables, lookups = (
        [found for schema in given for found in read_schema(schema, dialect, out)]
        for given in (schemas, public)
    )
    title = name or (None if out is None else out.stem)
    text = draft(tables, title, unit, lookups)
    if out is None:
        return text
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ParameterError("-o", f"{out} exists: a draft writes over nothing") from None
    except OSError as error:
        raise ParameterError("-o", f"{out} cannot be written: {error.strerror}") from None
    return f"{out}: fill in what is MISSING, then run `interlace check-config {out}`\n"


def read_schema(path: Path, dialect: str | None, out: Path | None) -> list[Found]:
    """The tables of a file's schema; no value is read. Raises DataError, ParameterError."""
    ending = path.suffix.lower()
    # Where the declaration will be, its paths are relative to.
    here = Path.cwd() if out is None else out.parent
    source = os.path.relpath(path, here)
    if ending in (".parquet", ".pq"):
        fields = {name: field_of(kind) for name, kind in parquet_schema(path).items()}
        return [Found(path.stem, fields, source)]
    if ending in (".csv", ".tsv"):
        with path.open("rb") as file:
            line = file.readline(_LONGEST_LINE)
        return [Found(path.stem, header_of(line, "," if ending == ".csv" else "\t"), source)]
    if ending == ".sql":
        try:
            return tables_of(path.read_text(encoding="utf-8"), dialect)
        except UnicodeDecodeError:
            raise DataError(f"{path} is not UTF-8 text") from None
    raise ParameterError("schema", f"{path} must be a .parquet, .csv, .tsv or .sql file")


def checked(file: Path, *, as_json: bool) -> bool:
    """Print what a declaration lacks, or what one unit can do under it; whether it is complete.
    Raises DataError."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise DataError(f"{file} cannot be read as UTF-8 text") from None
    found = check_declaration(text)
    dataset = None if found.declaration is None else found.declaration.dataset
    if as_json:
        told = {"complete": dataset is not None, "problems": [vars(p) for p in found.problems]}
        click.echo(json.dumps(told | _json(dataset), indent=2, ensure_ascii=False))
    elif found.declaration is not None:
        console = Console(width=None if sys.stdout.isatty() else 120)
        _show(found.declaration.dataset, console)
        for place in _sourceless(found.declaration, file.parent):
            console.print(f"consider {place}", markup=False, highlight=False)
        console.print("complete: it can be registered", style="green")
    else:
        _list(file, found.problems)
    return dataset is not None


def _list(file: Path, problems: Sequence[Problem]) -> None:
    """What is wrong, line by line, then each reason once."""
    for problem in problems:
        click.echo(f"{file}, {problem}" if problem.line else f"{file}: {problem}")
    reasons: dict[str, dict[str, None]] = {}
    for problem in problems:
        if problem.why is not None:
            reasons.setdefault(problem.why, {})[problem.key] = None
    if reasons:
        click.echo("\nWhy it matters:")
    for why, keys in reasons.items():
        text = f"{', '.join(keys)}: {why}."
        click.echo(textwrap.fill(text, 96, initial_indent="  ", subsequent_indent="    "))
    click.echo(f"\nnot complete: {len(problems)} to mend")


def _show(dataset: Dataset, console: Console) -> None:
    """What one unit, with all its rows, can do at most."""
    for found in facts_of(dataset):
        rows = found.table.rows_per_unit
        console.print(
            f"table {found.table.name}: of one unit {rows:,} row{'s' * (rows > 1)} at most; "
            f"COUNT(*) moves by {found.count_moves:,}, COUNT(DISTINCT {dataset.unit}) by 1",
            markup=False,
            highlight=False,
        )
        shown = Table(
            "column", "domain", "missing", "misfit", "SUM moves by", "groups", "of a unit"
        )
        for column in found.columns:
            shown.add_row(*map(escape, _row(column)))
        console.print(shown)
        for keys in found.table.key_sets:
            listed = ", ".join(keys.columns)
            console.print(
                f"  key set ({listed}): {keys.keys_per_unit:,} keys of a unit", markup=False
            )
    for public in dataset.public:
        console.print(f"public table {public.name}, by key {public.key}", markup=False)
    for advice in advice_on(dataset):
        console.print(f"consider {advice}", markup=False, highlight=False)


def _sourceless(declaration: Declaration, folder: Path) -> Iterator[str]:
    """The tables whose source is not there. Nothing is opened."""
    dataset = declaration.dataset
    for kind, tables in (("tables", dataset.tables), ("public", dataset.public)):
        for table in tables:
            source = declaration.sources.get(table.name)
            if source is None:
                yield f"{kind}.{table.name}: without a source it is to be handed over in Python"
            elif not (folder / source).exists():
                yield f"{kind}.{table.name}.source: there is no file {source} yet"


def _row(column: ColumnFacts) -> tuple[str, ...]:
    kind = column.kind
    keys = ("-", "-")
    if column.keys is not None and column.keys_of_unit is not None:
        keys = f"{column.keys:,}", f"{column.keys_of_unit:,}"
    return column.name, domain_of(kind), missing_of(kind), misfit_of(kind), _moves(column), *keys


def _moves(column: ColumnFacts) -> str:
    if column.sum_moves is None:
        return "-"
    return f"{float(column.sum_moves):,.{column.kind.digits}f}"


def _json(dataset: Dataset | None) -> dict[str, Any]:
    if dataset is None:
        return {}
    return {
        "dataset": json.loads(dataset.to_json()),
        "one_unit": [_table_json(found) for found in facts_of(dataset)],
        "advice": [vars(advice) for advice in advice_on(dataset)],
    }


def _table_json(found: TableFacts) -> dict[str, Any]:
    return {
        "table": found.table.name,
        "rows": found.table.rows_per_unit,
        "count_moves": found.count_moves,
        "columns": [
            {
                "column": column.name,
                "missing": missing_of(column.kind),
                "misfit": misfit_of(column.kind),
                "sum_moves": None if column.sum_moves is None else str(column.sum_moves),
                "keys": column.keys,
                "keys_of_unit": column.keys_of_unit,
            }
            for column in found.columns
        ],
    }
