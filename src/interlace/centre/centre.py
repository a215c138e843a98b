"""The centre: private tables, accounts and sessions over them, in one folder.

    folder/ledger…      the durable record (``ledger``); everything below is named in it
    folder/snapshots/   one read-only file for each registered dataset

Any number of threads and processes may open the same folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Self

from interlace.centre.account import Account
from interlace.centre.audit import Audit, audit
from interlace.centre.coalition import CoalitionGuarantee
from interlace.centre.datasets import Datasets, declared
from interlace.centre.faults import disk_errors, reach
from interlace.centre.heads import read_head
from interlace.centre.names import checked_name
from interlace.centre.outside import Outside
from interlace.centre.records import AccountRecord, SessionRecord
from interlace.centre.session import Live, Session
from interlace.core.composition.filters import Budget, Filter
from interlace.core.errors import (
    LedgerError,
    NameTaken,
    NotFound,
    ParameterError,
    RelationMismatch,
    Unproven,
)
from interlace.core.guarantees import ApproxDP, Relation
from interlace.engines.duckdb.sources import Source
from interlace.ledger import ACCOUNT, ANSWER, RESTORED, SESSION, Event, Head, Ledger, SQLiteLedger
from interlace.query.columns import Column
from interlace.query.schema import Dataset, Table

#: What a centre's folder may hold; anything else is somebody's.
_OURS = ("ledger", "locks", "snapshots", ".")


class Centre:
    """A data centre in a folder. Get one from ``interlace.open``; close it or use ``with``."""

    @disk_errors()
    def __init__(self, folder: str | Path, *, create: bool = True, head: str | None = None) -> None:
        self._folder = _checked_folder(folder)
        given = None if head is None else read_head(head, "head")
        self._ledger = SQLiteLedger(self._folder, create=create)
        try:
            self._outside = Outside.of(self._ledger, self._folder, given)
        except BaseException:
            self._ledger.close()
            raise
        snapshots = self._folder / "snapshots"
        snapshots.mkdir(exist_ok=True, mode=0o700)
        self._datasets = Datasets(self._ledger, snapshots, self._outside.sealer)
        self._live: dict[str, Live] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Centre {self._folder}>"

    def close(self) -> None:
        """Give up files and connections. Sessions go on when the folder is opened again."""
        self._outside.heads.follow(always=True)
        self._ledger.close()
        self._datasets.close()

    @property
    def ledger(self) -> Ledger:
        """The durable record."""
        return self._ledger

    def audit(self, head: Head | None = None) -> Audit:
        """Check the ledger and the snapshots from disk: the chain of hashes, every account's
        spending and every session's answers, folded again from nothing.

        ``head`` is that of an earlier audit, kept outside the folder: only with it does the
        audit show that nothing was cut off since. Raises LedgerCorrupt naming the first event
        that does not follow.
        """
        found = audit(self._ledger, lambda id: self.session(id).replay(), head)
        self._datasets.check()
        return found

    def register(
        self,
        source: Source,
        *,
        name: str | None = None,
        unit: str | None = None,
        columns: Mapping[str, Column] | None = None,
        rows_per_unit: int | None = None,
        tables: Mapping[str, Source] | None = None,
    ) -> Dataset:
        """Register private data as a fixed, normalised snapshot, and return its declaration.

        ``source`` is a table (a DataFrame, or the path of a Parquet or CSV file) with its
        ``name``, the column ``unit`` that names the privacy unit, public bounds and domains
        of the ``columns``, and what one unit may contribute (``rows_per_unit``: with 1, the
        default, more rows are an error; above it what more rows add is clamped). Or it is the
        path of a TOML declaration of many tables, whose sources may be handed over in
        ``tables``.

        A value that is missing or does not fit its column drops its row, unless the column
        declares otherwise. Bounds must not come from the data, nor the data from answers: the
        guarantee is for a snapshot that was fixed before.

        Raises ParameterError or DataError naming what is wrong, never a value of the data;
        NameTaken if there is a dataset of that name.
        """
        given = {"name": name, "unit": unit, "columns": columns, "rows_per_unit": rows_per_unit}
        if isinstance(source, str | Path) and str(source).endswith(".toml"):
            for argument, value in given.items():
                if value is not None:
                    raise ParameterError(argument, "stands in the TOML declaration: leave it out")
            dataset, sources = declared(Path(source), tables or {})
        else:
            if tables is not None:
                raise ParameterError("tables", "belongs to a TOML declaration: leave it out")
            dataset = _single(name, unit, columns, rows_per_unit)
            sources = {dataset.name: source}
        self._datasets.register(dataset, sources)
        return dataset

    def datasets(self) -> list[Dataset]:
        """The declarations of all registered datasets: public metadata."""
        return [record.dataset for record in self._datasets.all()]

    @disk_errors()
    def account(
        self, name: str, *, quota: Budget | None = None, rule: str | None = None
    ) -> Account:
        """Create an account with a ``quota``, or get the one of that name without.

        All accounts are created before the first answer leaves the centre: their quotas are
        then fixed in advance, which is what composing them across analysts needs (R2).
        Creating one again with the same quota gets it, so that a script may run twice.

        Raises NameTaken for a name with another quota, NotFound, Unproven for a new account
        after the first answer, ParameterError for a rule that the quota's notion does not have.
        """
        known = self._ledger.last(ACCOUNT, account=checked_name(name, "name"))
        if quota is None:
            if rule is not None:
                raise ParameterError("rule", "is fixed at creation: give it together with quota=")
            if known is None:
                raise NotFound(f"no account {name!r}: create it with quota=, a guarantee")
            return self._account(AccountRecord.read(known))
        record = AccountRecord(name, quota, _checked_rule(quota, rule))
        if known is not None:
            return self._account(_same(AccountRecord.read(known), record))
        with self._ledger.transaction() as transaction:
            # A ledger that was put back may have lost answers.
            if transaction.last(ANSWER) is not None or transaction.last(RESTORED) is not None:
                raise Unproven(
                    "an account created after the first answer could depend on it, and "
                    "composing quotas needs them fixed in advance: create all accounts first"
                )
            reach("account.before-append")
            transaction.append(ACCOUNT, account=name, body=record.body())
            reach("account.before-commit")
        reach("account.after-commit")
        return self._account(record)

    def accounts(self) -> list[Account]:
        """All accounts, in the order of their creation."""
        events = self._ledger.events(ACCOUNT)
        return [self._account(AccountRecord.read(event)) for event in events]

    def session(self, id: str) -> Session:
        """The session of that id, whoever opened it. Raises NotFound."""
        event = self._ledger.last(SESSION, session=checked_name(id, "id"))
        if event is None:
            raise NotFound(f"no session {id!r}: see account.sessions()")
        return self._session(event)

    def guarantee(self, coalition: Iterable[str] | None = None) -> CoalitionGuarantee:
        """What the named accounts, or all, can learn together at most, by the concurrent
        composition of their quotas. For a coalition that is fixed in advance: who may join as
        answers arrive belongs into it from the start.

        Raises NotFound for an unknown name, ParameterError for none or a repeated one.
        """
        if coalition is None:
            members = self.accounts()
        else:
            if isinstance(coalition, str) or not isinstance(coalition, Iterable):
                raise ParameterError("coalition", "must be a list of account names")
            names = [checked_name(name, "coalition") for name in coalition]
            if not names or len(set(names)) < len(names):
                raise ParameterError("coalition", "must name at least one account, each once")
            members = [self.account(name) for name in names]
        return CoalitionGuarantee(
            tuple(member.name for member in members),
            tuple(member.quota for member in members),
            tuple(member.spent for member in members),
        )

    def _account(self, record: AccountRecord) -> Account:
        return Account(self._ledger, record, self._datasets.find, self._session, self._outside)

    def _session(self, event: Event) -> Session:
        record = SessionRecord.read(event)
        name, datasets = record.dataset, self._datasets
        live = self._live.setdefault(record.id, Live.of(record))
        restored = self._ledger.last(RESTORED)
        live.void = restored is not None and event.seq < restored.seq
        return Session(
            self._ledger,
            record,
            self._outside.sealer.unseal(event),
            live,
            parse=lambda sql: datasets.plan(name, sql),
            read=lambda plan: datasets.read(name, plan),
            stored=self._outside.heads.follow,
        )


def _checked_folder(folder: str | Path) -> Path:
    if not isinstance(folder, str | Path) or "\0" in str(folder):
        raise ParameterError("path", "must be the path of a folder")
    path = Path(folder)
    try:
        strangers = path.is_dir() and any(
            not found.name.startswith(_OURS) for found in path.iterdir()
        )
    except OSError:
        raise LedgerError(f"{folder!r} is not a folder that this user can read") from None
    if strangers and not (path / "snapshots").is_dir():
        raise LedgerError(f"{path} holds other files: give a centre a folder of its own")
    return path


def _checked_rule(quota: Budget, rule: str | None) -> str:
    """The account's rule. Raises for a quota or a rule that a centre cannot promise."""
    if not isinstance(quota, Budget):
        raise ParameterError(
            "quota", f"must be PureDP, ApproxDP or ZCDP, got a {type(quota).__name__}"
        )
    if quota.relation is not Relation.ADD_REMOVE:
        raise RelationMismatch("quota: the centre's neighbours add or remove one unit (R10)")
    if isinstance(quota, ApproxDP) and quota.delta0 == 1:
        raise ParameterError("quota", "delta = 1 promises nothing: delta is the second argument")
    return Filter(quota, rule).rule


def _same(known: AccountRecord, wanted: AccountRecord) -> AccountRecord:
    if known != wanted:
        raise NameTaken(
            f"account {known.name!r} exists with quota {known.quota} and rule {known.rule!r}: get "
            "it without quota=, or choose another name"
        )
    return known


def _single(
    name: str | None,
    unit: str | None,
    columns: Mapping[str, Column] | None,
    rows_per_unit: int | None,
) -> Dataset:
    if name is None or unit is None or columns is None:
        missing = [
            n for n, v in (("name", name), ("unit", unit), ("columns", columns)) if v is None
        ]
        raise ParameterError(missing[0], "is needed to register a single table")
    if not isinstance(columns, Mapping):
        raise ParameterError(
            "columns", 'must map names to types, as in {"age": il.Integer(0, 120)}'
        )
    rows = 1 if rows_per_unit is None else rows_per_unit
    return Dataset(name, unit, (Table(name, columns, rows),))
