"""The centre: private tables, accounts and sessions over them, in one folder.

    folder/ledger…      the durable record (``ledger``); everything below is named in it
    folder/snapshots/   one read-only file for each registered dataset

Any number of threads and processes may open the same folder.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self

from interlace.centre.account import Account
from interlace.centre.coalition import CoalitionGuarantee
from interlace.centre.records import AccountRecord, DatasetRecord, SessionRecord
from interlace.centre.session import Session
from interlace.core.composition.filters import Budget, Filter
from interlace.core.errors import (
    NameTaken,
    NotFound,
    ParameterError,
    RelationMismatch,
    Unproven,
)
from interlace.core.guarantees import Relation
from interlace.engines.base import Engine, Snapshot
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.duckdb.register import register
from interlace.engines.duckdb.sources import Source
from interlace.ledger import ACCOUNT, ANSWER, DATASET, SESSION, Event, Ledger, SQLiteLedger
from interlace.query.columns import Column
from interlace.query.declaration import read_declaration
from interlace.query.parse import parse
from interlace.query.plan import Plan
from interlace.query.schema import Dataset, Table

_PLANS_REMEMBERED = 4096


class Centre:
    """A data centre in a folder. Get one from ``interlace.open``; close it or use ``with``."""

    def __init__(self, folder: str | Path, *, create: bool = True) -> None:
        self._folder = Path(folder)
        self._ledger = SQLiteLedger(self._folder, create=create)
        self._snapshots = self._folder / "snapshots"
        self._snapshots.mkdir(exist_ok=True, mode=0o700)
        self._engines: dict[str, Engine] = {}
        self._engines_lock = threading.Lock()
        self._plan = lru_cache(_PLANS_REMEMBERED)(self._parsed)
        self._dataset = lru_cache(None)(self._found)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Centre {self._folder}>"

    def close(self) -> None:
        """Give up files and connections. Sessions go on when the folder is opened again."""
        engines, self._engines = self._engines, {}
        for engine in engines.values():
            engine.close()
        self._ledger.close()

    # -- the custodian's side

    def register(
        self,
        source: Source,
        *,
        name: str | None = None,
        unit: str | None = None,
        columns: Mapping[str, Column] | None = None,
        rows_per_unit: int = 1,
        tables: Mapping[str, Source] | None = None,
    ) -> Dataset:
        """Register private data as a fixed, normalised snapshot, and return its declaration.

        ``source`` is a table (a DataFrame, or the path of a Parquet or CSV file) with its
        ``name``, the column ``unit`` that names the privacy unit, public bounds and domains
        of the ``columns``, and what one unit may contribute (``rows_per_unit``: with 1 more
        rows are an error, above it what more rows add is clamped). Or it is the path of a
        TOML declaration of many tables, whose sources may be handed over in ``tables``.

        Raises ParameterError or DataError naming what is wrong, never a value of the data;
        NameTaken if there is a dataset of that name.
        """
        if isinstance(source, str | Path) and str(source).endswith(".toml"):
            declared = read_declaration(Path(source))
            dataset = declared.dataset
            sources: dict[str, Source] = dict(declared.sources) | dict(tables or {})
        else:
            dataset = _single(name, unit, columns, rows_per_unit)
            sources = {dataset.name: source}
        with self._ledger.acquire("registration"):  # one at a time, in all processes
            self._refuse_taken(dataset.name)
            key = secrets.token_bytes(32)
            snapshot = register(sources, dataset, self._snapshots, key)
            record = DatasetRecord(dataset, 1, snapshot.path.name, snapshot.digest)
            with self._ledger.transaction() as transaction:
                transaction.append(
                    DATASET, dataset=dataset.name, round=1, body=record.body(), secret=key
                )
        return dataset

    def datasets(self) -> list[Dataset]:
        """The declarations of all registered datasets: public metadata."""
        return [DatasetRecord.read(event).dataset for event in self._ledger.events(DATASET)]

    def account(
        self, name: str, *, quota: Budget | None = None, rule: str | None = None
    ) -> Account:
        """Create an account with a ``quota``, or get the one of that name without.

        All accounts are created before the first answer leaves the centre: their quotas are
        then fixed in advance, which is what optimal composition across analysts needs (R2).

        Raises NameTaken, NotFound, Unproven for an account after the first answer,
        ParameterError for a rule that the quota's notion does not have.
        """
        if quota is None:
            if rule is not None:
                raise ParameterError("rule", "is fixed at creation: give it together with quota=")
            event = self._ledger.last(ACCOUNT, account=name)
            if event is None:
                raise NotFound(f"no account {name!r}: create it with quota=, a guarantee")
            return self._account(AccountRecord.read(event))
        if not isinstance(name, str) or not 0 < len(name) <= 200:
            raise ParameterError("name", "must be text of 1 to 200 characters")
        guard = Filter(quota, rule)
        if quota.relation is not Relation.ADD_REMOVE:
            raise RelationMismatch("quota: the centre's neighbours add or remove one unit (R10)")
        record = AccountRecord(name, quota, guard.rule)
        with self._ledger.transaction() as transaction:
            if transaction.last(ANSWER) is not None:
                raise Unproven(
                    "an account created after the first answer could depend on it, and optimal "
                    "composition needs quotas fixed in advance: create all accounts first"
                )
            transaction.append(ACCOUNT, account=name, body=record.body())
        return self._account(record)

    def accounts(self) -> list[Account]:
        """All accounts, in the order of their creation."""
        events = self._ledger.events(ACCOUNT)
        return [self._account(AccountRecord.read(event)) for event in events]

    def session(self, id: str) -> Session:
        """The session of that id, whoever opened it. Raises NotFound."""
        event = self._ledger.last(SESSION, session=id)
        if event is None:
            raise NotFound(f"no session {id!r}: see account.sessions()")
        return self._session(event)

    @property
    def ledger(self) -> Ledger:
        """The durable record, for audits."""
        return self._ledger

    def guarantee(self, coalition: Iterable[str] | None = None) -> CoalitionGuarantee:
        """What the named accounts, or all, can learn together at most: the optimal concurrent
        composition of their quotas.

        Raises NotFound for an unknown name, ParameterError for none or a repeated one.
        """
        if coalition is None:
            members = self.accounts()
        else:
            names = list(coalition)
            if not names or len(set(names)) < len(names):
                raise ParameterError("coalition", "must name at least one account, each once")
            members = [self.account(name) for name in names]
        return CoalitionGuarantee(
            tuple(member.name for member in members),
            tuple(member.quota for member in members),
            tuple(member.spent for member in members),
        )

    # -- what accounts and sessions need

    def _account(self, record: AccountRecord) -> Account:
        return Account(
            self._ledger, record, lambda name: self._dataset(name).version, self._session
        )

    def _session(self, event: Event) -> Session:
        record = SessionRecord.read(event)
        assert event.secret is not None
        name = record.dataset
        return Session(
            self._ledger,
            record,
            event.secret,
            parse=lambda sql: self._plan(name, sql),
            read=lambda plan: self._engine(name).read(plan),
        )

    def _parsed(self, dataset: str, sql: str) -> Plan:
        return parse(sql, self._dataset(dataset).dataset)

    def _found(self, name: str) -> DatasetRecord:
        event = self._ledger.last(DATASET, dataset=name)
        if event is None:
            known = ", ".join(sorted(d.name for d in self.datasets())) or "none yet"
            raise NotFound(f"no dataset {name!r}: registered are {known}")
        return DatasetRecord.read(event)

    def _engine(self, name: str) -> Engine:
        with self._engines_lock:
            if name not in self._engines:
                record = self._dataset(name)
                path = self._snapshots / record.file
                self._engines[name] = DuckDBEngine(Snapshot(record.dataset, path, record.digest))
            return self._engines[name]

    def _refuse_taken(self, name: str) -> None:
        if self._ledger.last(DATASET, dataset=name) is not None:
            raise NameTaken(f"there is a dataset {name!r} already: choose another name")


def _single(
    name: str | None, unit: str | None, columns: Mapping[str, Column] | None, rows_per_unit: int
) -> Dataset:
    for argument, value in (("name", name), ("unit", unit), ("columns", columns)):
        if value is None:
            raise ParameterError(argument, "is needed to register a single table")
    assert name is not None
    assert unit is not None
    assert columns is not None
    return Dataset(name, unit, (Table(name, columns, rows_per_unit),))
