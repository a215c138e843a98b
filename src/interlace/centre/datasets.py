"""The centre's datasets: registered once as snapshots, then only parsed against and read."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

# Ahead of the first question, which would load it: a child that is forked while another
# thread loads it would wait for its import for ever.
import sqlglot.dialects.duckdb  # noqa: F401

from interlace.centre.faults import disk_errors, reach
from interlace.centre.interrupts import interruptible, uninterrupted
from interlace.centre.names import checked_name
from interlace.centre.records import DatasetRecord
from interlace.centre.sealing import Place, Sealer
from interlace.core.errors import LedgerCorrupt, LedgerError, NameTaken, NotFound, ParameterError
from interlace.engines.base import Engine, Snapshot
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.duckdb.register import file_digest, register
from interlace.engines.duckdb.sources import Source
from interlace.ledger import DATASET, Ledger
from interlace.query.declaration import read_declaration
from interlace.query.parse import parse
from interlace.query.plan import Plan
from interlace.query.schema import Dataset

#: How many plans are remembered, and how many values. The longest questions take half a
#: megabyte each. Not for all accounts together: how long it takes to parse or to read would
#: tell what others have asked.
_REMEMBERED = 1024


class Datasets:
    """The registered datasets of one centre, and the engines that read them."""

    def __init__(self, ledger: Ledger, folder: Path, sealer: Sealer) -> None:
        self._ledger = ledger
        self._sealer = sealer
        self._folder = folder
        self._engines: dict[str, Engine] = {}
        self._closed = False
        self._found = lru_cache(None)(self._find)
        self._parsed = lru_cache(_REMEMBERED)(self._parse)
        self._read = lru_cache(_REMEMBERED)(self._value)

    def close(self) -> None:
        """Give up the engines; running reads may end, later ones raise EngineError."""
        self._closed = True
        for engine in list(self._engines.values()):
            engine.close()
        self._read.cache_clear()  # exact values of private data

    def all(self) -> list[DatasetRecord]:
        """The datasets in the order of their registration."""
        return [DatasetRecord.read(event) for event in self._ledger.events(DATASET)]

    @uninterrupted()
    @disk_errors()
    def register(self, dataset: Dataset, sources: Mapping[str, Source], domain: str) -> None:
        """Write the snapshot, then record it. Raises NameTaken, ParameterError, DataError."""
        with self._ledger.acquire("registration"):  # one at a time, in all processes
            known = self.all()
            if dataset.name in (record.dataset.name for record in known):
                raise NameTaken(
                    f"dataset {dataset.name!r} is registered already: use it as it is, or choose "
                    "another name"
                )
            self._remove_orphans({record.file for record in known})
            key = secrets.token_bytes(32)
            reach("register.before-snapshot")
            with interruptible():
                snapshot = register(sources, dataset, self._folder, key)
            reach("register.after-snapshot")
            record = DatasetRecord(dataset, snapshot.path.name, snapshot.digest, domain)
            sealed = self._sealer.seal(key, Place(DATASET, dataset.name))
            with self._ledger.transaction() as transaction:
                transaction.append(
                    DATASET, dataset=dataset.name, round=1, body=record.body(), secret=sealed
                )
                reach("register.before-commit")
            reach("register.after-commit")

    def _remove_orphans(self, known: set[str]) -> None:
        """Remove snapshots that were written but never recorded: a process died between."""
        for path in self._folder.glob("*.duckdb"):
            if path.name not in known:
                path.unlink()

    def read(self, account: str, name: str, plan: Plan) -> tuple[int, ...]:
        """The exact answer to a plan, for an account. Raises EngineError.

        Read once for the account, and remembered: a snapshot does not change.
        """
        if self._closed:
            raise LedgerError("the centre was closed: open it again")
        return self._read(account, name, plan)

    def _value(self, account: str, name: str, plan: Plan) -> tuple[int, ...]:
        del account
        engine = self._engines.get(name)
        if engine is None:
            # Making an engine touches no file, so one too many does no harm.
            engine = self._engines.setdefault(name, DuckDBEngine(self._snapshot(name)))
        return engine.read(plan)

    @disk_errors()
    def check(self) -> None:
        """Read every snapshot's file whole. Raises LedgerCorrupt for one that is not the file
        that was registered."""
        for event in self._ledger.events(DATASET):
            snapshot = self._snapshot(DatasetRecord.read(event).dataset.name)
            if not snapshot.path.is_file() or file_digest(snapshot.path) != snapshot.digest:
                raise LedgerCorrupt("its snapshot is missing or was changed", event.seq)

    def _snapshot(self, name: str) -> Snapshot:
        record = self.find(name)
        return Snapshot(record.dataset, self._folder / record.file, record.digest)

    def plan(self, account: str, name: str, sql: str) -> Plan:
        """What a question comes to, for an account. Raises QueryRefused."""
        return self._parsed(account, name, sql)

    def _parse(self, account: str, name: str, sql: str) -> Plan:
        del account
        return parse(sql, self.find(name).dataset)

    def find(self, name: str) -> DatasetRecord:
        """The dataset of that name. Raises NotFound, naming those that there are."""
        return self._found(checked_name(name, "dataset"))

    def _find(self, name: str) -> DatasetRecord:
        event = self._ledger.last(DATASET, dataset=name)
        if event is None:
            known = ", ".join(record.dataset.name for record in self.all()) or "none yet"
            raise NotFound(f"no dataset {name!r}: registered are {known}")
        return DatasetRecord.read(event)


def declared(
    path: Path, tables: Mapping[str, Source]
) -> tuple[Dataset, dict[str, Source], str | None]:
    """The dataset of a TOML declaration, its sources (those in ``tables`` come first) and the
    domain of its units."""
    declaration = read_declaration(path)
    names = {table.name for table in declaration.dataset.tables}
    unknown = set(tables) - names
    if unknown:
        raise ParameterError(
            "tables", f"{min(unknown)!r} is not declared: there are {', '.join(names)}"
        )
    return declaration.dataset, {**declaration.sources, **tables}, declaration.domain
