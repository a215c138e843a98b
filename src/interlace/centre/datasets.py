"""The centre's datasets: registered as snapshots, then only parsed against and read.

A dataset has versions, each a snapshot of its own; whoever parses or reads says which.
"""

from __future__ import annotations

import secrets
from functools import lru_cache
from pathlib import Path

# Ahead of the first question, which would load it: a child that is forked while another
# thread loads it would wait for its import for ever.
import sqlglot.dialects.duckdb  # noqa: F401

from interlace.centre.faults import disk_errors, reach
from interlace.centre.interrupts import interruptible, uninterrupted
from interlace.centre.names import checked_name
from interlace.centre.read_cache import ReadCache
from interlace.centre.records import DatasetRecord
from interlace.centre.registering import Handed, Registration
from interlace.centre.sealing import Place, Sealer
from interlace.centre.versions import next_version
from interlace.core.errors import LedgerCorrupt, LedgerError, NotFound
from interlace.engines.base import Engine, Progress, Snapshot
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.duckdb.files import file_digest
from interlace.engines.duckdb.register import register
from interlace.ledger import DATASET, Ledger
from interlace.query.parse import parse
from interlace.query.plan import Plan

#: How many plans are remembered. The longest questions take half a megabyte each. Not for all
#: accounts together: how long it takes to parse would tell what others have asked.
_REMEMBERED = 1024


class Datasets:
    """The registered datasets of one centre, and the engines that read them."""

    def __init__(self, ledger: Ledger, folder: Path, sealer: Sealer) -> None:
        self._ledger = ledger
        self._sealer = sealer
        self._folder = folder
        self._engines: dict[tuple[str, int], Engine] = {}
        self._closed = False
        self._found = lru_cache(None)(self._find)
        self._parsed = lru_cache(_REMEMBERED)(self._parse)
        self._cache = ReadCache()

    def close(self) -> None:
        """Give up the engines; running reads may end, later ones raise EngineError."""
        self._closed = True
        for engine in list(self._engines.values()):
            engine.close()
        self._cache.clear()  # of private data

    def all(self) -> list[DatasetRecord]:
        """All versions of all datasets in the order of their registration."""
        return [DatasetRecord.read(event) for event in self._ledger.events(DATASET)]

    @uninterrupted()
    @disk_errors()
    def register(
        self, given: Handed, version: int | None, progress: Progress | None = None
    ) -> Registration:
        """Write the snapshot, then record it. Raises NameTaken, ParameterError, DataError."""
        dataset = given.dataset
        with self._ledger.acquire("registration"):  # one at a time, in all processes
            known = self.all()
            number, domain = next_version(dataset, given.domain, version, known)
            self._remove_orphans({record.file for record in known})
            key = self._key(dataset.name)
            reach("register.before-snapshot")
            with interruptible():
                done = register(given.sources, dataset, self._folder, key, progress=progress)
            snapshot = done.snapshot
            reach("register.after-snapshot")
            record = DatasetRecord(dataset, snapshot.path.name, snapshot.digest, domain, number)
            sealed = self._sealer.seal(key, Place(DATASET, dataset.name))
            with self._ledger.transaction() as transaction:
                transaction.append(
                    DATASET, dataset=dataset.name, round=number, body=record.body(), secret=sealed
                )
                reach("register.before-commit")
            reach("register.after-commit")
            return Registration(dataset, number, domain, done.report)

    def _key(self, name: str) -> bytes:
        """The secret key of the units: that of the earlier versions, whose ids must stay."""
        event = self._ledger.last(DATASET, dataset=name)
        return secrets.token_bytes(32) if event is None else self._sealer.unseal(event)

    def _remove_orphans(self, known: set[str]) -> None:
        """Remove snapshots that were written but never recorded: a process died between."""
        for path in self._folder.glob("*.duckdb"):
            if path.name not in known:
                path.unlink()

    def read(self, account: str, name: str, version: int, plan: Plan) -> tuple[int, ...]:
        """The exact answer to a plan, for an account. Raises EngineError.

        Read once for the account, and remembered: a snapshot does not change.
        """
        if self._closed:
            raise LedgerError("the centre was closed: open it again")
        return self._cache.read((account, name, version), plan, self._engine(name, version).read)

    def _engine(self, name: str, version: int) -> Engine:
        engine = self._engines.get((name, version))
        if engine is None:
            # Making an engine touches no file, so one too many does no harm.
            made = DuckDBEngine(self._snapshot(self.version(name, version)))
            engine = self._engines.setdefault((name, version), made)
        return engine

    @disk_errors()
    def check(self) -> None:
        """Read every snapshot's file whole. Raises LedgerCorrupt for one that is not the file
        that was registered, or whose units were not hashed by the key of their dataset."""
        keys: dict[str, bytes] = {}
        for event in self._ledger.events(DATASET):
            record = DatasetRecord.read(event)
            snapshot, key = self._snapshot(record), self._sealer.unseal(event)
            if not snapshot.path.is_file() or file_digest(snapshot.path) != snapshot.digest:
                raise LedgerCorrupt("its snapshot is missing or was changed", event.seq)
            if keys.setdefault(record.dataset.name, key) != key:
                raise LedgerCorrupt("its units have another key than before", event.seq)

    def _snapshot(self, record: DatasetRecord) -> Snapshot:
        return Snapshot(record.dataset, self._folder / record.file, record.digest)

    def plan(self, account: str, name: str, version: int, sql: str) -> Plan:
        """What a question comes to, for an account. Raises QueryRefused."""
        return self._parsed(account, name, version, sql)

    def _parse(self, account: str, name: str, version: int, sql: str) -> Plan:
        del account
        return parse(sql, self.version(name, version).dataset)

    def version(self, name: str, version: int) -> DatasetRecord:
        """That version of the dataset. Raises LedgerCorrupt if there is none."""
        return self._found(name, version)

    def _find(self, name: str, version: int) -> DatasetRecord:
        for event in self._ledger.events(DATASET, dataset=name):
            record = DatasetRecord.read(event)
            if record.version == version:
                return record
        raise LedgerCorrupt(f"there is no version {version} of dataset {name!r}")

    def find(self, name: str) -> DatasetRecord:
        """The latest version of that dataset. Raises NotFound, naming those that there are."""
        event = self._ledger.last(DATASET, dataset=checked_name(name, "dataset"))
        if event is None:
            known = ", ".join(dict.fromkeys(record.dataset.name for record in self.all()))
            raise NotFound(f"no dataset {name!r}: registered are {known or 'none yet'}")
        return DatasetRecord.read(event)
