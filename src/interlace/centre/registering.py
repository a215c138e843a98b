"""What a custodian hands over to be registered, in its forms, and what comes back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from interlace.centre.checks import check_left_out, checked_domain
from interlace.core.errors import ParameterError
from interlace.engines.base import Report
from interlace.engines.duckdb.sources import Source
from interlace.query.columns import Column
from interlace.query.declarations.reading import read_declaration
from interlace.query.schema import Dataset, KeySet, Table


@dataclass(frozen=True)
class Registration:
    """A dataset that was registered: its public declaration, and which ``version`` of it this is.

    ``report`` tells how many rows each rule touched. It is exact, so it is the custodian's
    alone: it was kept nowhere, and nobody may see it who may not see the data. ``str()`` of the
    registration is a table that holds it; its ``repr`` does not.
    """

    dataset: Dataset
    version: int
    domain: str
    report: Report = field(repr=False)

    def __str__(self) -> str:
        return (
            f"dataset {self.dataset.name}, version {self.version}, units of domain {self.domain}\n"
            f"{self.report}"
        )


@dataclass(frozen=True)
class Handed:
    """A declaration, where each table of it comes from, and the domain if one was named."""

    dataset: Dataset
    sources: Mapping[str, Source]
    domain: str | None


@dataclass(frozen=True)
class Single:
    """What declares one table, as ``Centre.register`` is given it; None where nothing is."""

    name: str | None
    unit: str | None
    columns: Mapping[str, Column] | None
    rows_per_unit: int | None
    key_sets: Iterable[KeySet] | None

    def dataset(self) -> Dataset:
        """The dataset of one table. Raises ParameterError for what is missing."""
        if self.name is None or self.unit is None or self.columns is None:
            missing = next(n for n in ("name", "unit", "columns") if getattr(self, n) is None)
            raise ParameterError(missing, "is needed to register a single table")
        if not isinstance(self.columns, Mapping):
            raise ParameterError(
                "columns", 'must map names to types, as in {"age": il.Integer(0, 120)}'
            )
        rows = 1 if self.rows_per_unit is None else self.rows_per_unit
        table = Table(self.name, self.columns, rows, self.key_sets or ())
        return Dataset(self.name, self.unit, (table,))


def handed(
    source: Source | Dataset,
    single: Single,
    tables: Mapping[str, Source] | None,
    domain: str | None,
) -> Handed:
    """What is to be registered: one table, a ``Dataset``, or the path of a TOML declaration.
    Raises ParameterError for what does not go together, DataError."""
    sources: Mapping[str, Source]
    if isinstance(source, str | Path) and str(source).endswith(".toml"):
        check_left_out(vars(single) | {"domain": domain}, "stands in the TOML declaration")
        declaration = read_declaration(Path(source))
        dataset, sources, domain = declaration.dataset, declaration.sources, declaration.domain
    elif isinstance(source, Dataset):
        check_left_out(vars(single), "stands in the declaration")
        dataset, sources = source, {}
    else:
        check_left_out({"tables": tables}, "belongs to a declaration of many tables")
        dataset = single.dataset()
        sources = {dataset.name: source}
    return Handed(dataset, _merged(dataset, sources, tables or {}), checked_domain(domain))


def _merged(
    dataset: Dataset, sources: Mapping[str, Source], tables: Mapping[str, Source]
) -> dict[str, Source]:
    """All sources; those in ``tables`` come before a declaration's own."""
    names = [table.name for table in dataset.every_table]
    unknown = set(tables) - set(names)
    if unknown:
        raise ParameterError(
            "tables", f"{min(unknown)!r} is not declared: there are {', '.join(names)}"
        )
    return {**sources, **tables}
