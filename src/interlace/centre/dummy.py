"""Dummy data: a public random dataset to rehearse queries on, and a centre to rehearse in.

Everything comes from the public declaration. No data of the centre is opened here.
"""

from __future__ import annotations

import contextlib
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from interlace.core.errors import ParameterError
from interlace.core.exact import natural
from interlace.engines.duckdb.parquet import write_parquet
from interlace.query.columns import Boolean, Category, Column, Day, Decimal
from interlace.query.declarations.dummy import Values, dummy_tables
from interlace.query.declarations.writing import declaration_text
from interlace.query.schema import Dataset

if TYPE_CHECKING:
    from interlace.centre.centre import Centre

MOST_UNITS = 10**6
_LARGEST_SEED = 2**63


@dataclass(frozen=True)
class Dummy:
    """A random dataset of a declaration, for so many units, the same for one seed. Get one from
    ``Centre.dummy``.

    What queries answer on it says nothing about the private data: only that they are allowed,
    what they cost and how far the noise goes.
    """

    dataset: Dataset
    domain: str
    units: int
    seed: int

    @classmethod
    def of(cls, dataset: Dataset, domain: str, *, units: int, seed: int | None) -> Dummy:
        """That of a declaration; without a seed one is drawn. Raises ParameterError."""
        checked = natural(units, "units", maximum=MOST_UNITS)
        if seed is None:
            return cls(dataset, domain, checked, secrets.randbits(32))
        return cls(
            dataset, domain, checked, natural(seed, "seed", minimum=0, maximum=_LARGEST_SEED)
        )

    @cached_property
    def tables(self) -> Mapping[str, Values]:
        """The columns of every table by their names, public tables too: as plain values, in
        lists of one length for each table."""
        return dummy_tables(self.dataset, self.units, self.seed)

    def write(self, folder: str | Path) -> Path:
        """Write the tables as Parquet files into a new or empty folder, with a declaration that
        registers them as it is, and return the path of that.

        Raises ParameterError for a folder that holds something, or that cannot be written.
        """
        path = Path(folder)
        problem = None
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                problem = "must be new or empty"
            else:
                return self._written(path)
        except OSError as error:
            problem = f"cannot be written: {error.strerror}"
        raise ParameterError("folder", problem)

    def _written(self, folder: Path) -> Path:
        sources = {}
        for i, table in enumerate(self.dataset.every_table):
            # Not the table's name: it may hold what no file name may.
            sources[table.name] = f"table{i}.parquet"
            types = {self.dataset.unit: "BIGINT"}
            types |= {column: sql_type(kind) for column, kind in table.columns}
            values = self.tables[table.name]
            write_parquet(
                folder / sources[table.name], {c: (types[c], v) for c, v in values.items()}
            )
        file = folder / "dummy.toml"
        head = (
            f"# Dummy data for rehearsal: {self.units} units, drawn at random by seed {self.seed}\n"
            "# from the public declaration below. No value in it was seen in any data.\n\n"
        )
        file.write_text(head + declaration_text(self.dataset, sources, self.domain), "utf-8")
        return file

    @contextlib.contextmanager
    def rehearsal(self) -> Iterator[Centre]:
        """A temporary centre with this dataset registered, gone at the end of the block.

        Its accounts, sessions and refusals are those of any centre; its keys lie in the same
        temporary folder.
        """
        from interlace.centre.centre import Centre

        with tempfile.TemporaryDirectory(prefix="interlace-rehearsal-") as base:
            declaration = self.write(Path(base, "data"))
            state = Path(base, "state")
            state.mkdir(mode=0o700)
            with Centre(Path(base, "centre"), state=state) as centre:
                centre.register(declaration)
                yield centre


def sql_type(kind: Column) -> str:
    """The type that a column's values have in a file.

    >>> sql_type(Decimal(0, 1, digits=2))
    'DECIMAL(38,2)'
    """
    match kind:
        case Category():
            return "VARCHAR"
        case Day():
            return "DATE"
        case Boolean():
            return "BOOLEAN"
        case Decimal():
            return f"DECIMAL(38,{kind.digits})"
        case _:
            return "BIGINT"
