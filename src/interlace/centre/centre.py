"""The centre: private tables, accounts and sessions over them, in one folder.

    folder/ledger…      the durable record (``ledger``); everything below is named in it
    folder/snapshots/   one read-only file for each registered dataset

Any number of threads and processes may open the same folder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Self

from interlace.centre.account import Account
from interlace.centre.audit import Audit, audit
from interlace.centre.checks import (
    check_left_out,
    check_promise,
    checked_coalition,
    checked_filter,
    checked_folder,
    same,
)
from interlace.centre.closing import check_open, checked_expiry
from interlace.centre.coalition import CoalitionGuarantee
from interlace.centre.datasets import Datasets
from interlace.centre.dummy import Dummy
from interlace.centre.faults import disk_errors
from interlace.centre.generations import Generations
from interlace.centre.heads import read_head
from interlace.centre.live import Host, Live
from interlace.centre.names import checked_name
from interlace.centre.outside import Outside
from interlace.centre.records import AccountRecord, SessionRecord
from interlace.centre.registering import Registration, Single, handed
from interlace.centre.session import Session
from interlace.centre.statement import Statement, statement
from interlace.core.composition.filters import Budget, Charge
from interlace.core.errors import NotFound, ParameterError
from interlace.core.exact import Real
from interlace.engines.base import Progress
from interlace.engines.duckdb.sources import Source
from interlace.ledger import ACCOUNT, SESSION, Event, Head, Ledger, SQLiteLedger
from interlace.query.columns import Column
from interlace.query.schema import Dataset, KeySet


class Centre:
    """A data centre in a folder. Get one from ``interlace.open``; close it or use ``with``."""

    @disk_errors()
    def __init__(
        self,
        folder: str | Path,
        *,
        create: bool = True,
        head: str | None = None,
        state: Path | None = None,
    ) -> None:
        self._folder = checked_folder(folder)
        given = None if head is None else read_head(head, "head")
        self._ledger = SQLiteLedger(self._folder, create=create)
        try:
            self._outside = Outside.of(self._ledger, self._folder, given, state)
        except BaseException:
            self._ledger.close()
            raise
        snapshots = self._folder / "snapshots"
        snapshots.mkdir(exist_ok=True, mode=0o700)
        self._datasets = Datasets(self._ledger, snapshots, self._outside.sealer)
        self._generations = Generations(self._ledger)
        self._live: dict[str, Live] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Centre {self._folder}>"

    def close(self) -> None:
        """Give up files and connections. Sessions go on when the folder is opened again."""
        self._outside.heads.follow(always=True, flush=True)
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

    def register(  # noqa: PLR0913  each is a part of one declaration
        self,
        source: Source | Dataset,
        *,
        name: str | None = None,
        unit: str | None = None,
        columns: Mapping[str, Column] | None = None,
        rows_per_unit: int | None = None,
        key_sets: Iterable[KeySet] | None = None,
        tables: Mapping[str, Source] | None = None,
        domain: str | None = None,
        version: int | None = None,
        progress: Progress | None = None,
    ) -> Registration:
        """Register private data as a fixed, normalised snapshot, and tell what became of it.

        ``source`` is a table (a DataFrame, or the path of a Parquet or CSV file) with its
        ``name``, the column ``unit`` that names the privacy unit, public bounds and domains
        of the ``columns``, and what one unit may contribute (``rows_per_unit``: with 1, the
        default, more rows are an error; above it what more rows add is clamped; ``key_sets``).
        Or it is a ``Dataset`` or the path of a TOML declaration, of many tables, whose sources
        may be handed over in ``tables``. Datasets of one ``domain`` ("units" by default) are
        about the same units. ``progress(what, done, of)`` is called as the work goes on.

        To register a name again, say which ``version`` that makes: 2, then 3. The declaration
        may be another, of the same unit and domain; units keep their ids. Sessions stay with
        the version on which they opened, later ones open on the latest, and all spend the same
        quotas: the budget belongs to the units.

        A value that is missing or does not fit its column drops its row, unless the column
        declares otherwise. The guarantee is for bounds that do not come from the data, and for
        snapshots, of all versions, that depend on no answer. A version whose content depends on
        released answers needs the continual model (FORMULAS 11): nothing is claimed for it.

        Raises ParameterError or DataError naming what is wrong, never a value of the data;
        NameTaken if there is a dataset of that name, or that version of it.
        """
        single = Single(name, unit, columns, rows_per_unit, key_sets)
        given = handed(source, single, tables, domain)
        return self._datasets.register(given, version, progress)

    def datasets(self) -> list[Dataset]:
        """The declarations of all registered datasets, in their latest versions: public."""
        latest = {record.dataset.name: record.dataset for record in self._datasets.all()}
        return list(latest.values())

    def dummy(self, dataset: str, *, units: int = 1000, seed: int | None = None) -> Dummy:
        """A public random dataset of the same declaration, of so many ``units``, to rehearse on:
        from the declaration alone, never from data. Raises NotFound, ParameterError."""
        record = self._datasets.find(dataset)
        return Dummy.of(record.dataset, record.domain, units=units, seed=seed)

    @property
    def cap(self) -> Budget | None:
        """The custodian's cap on all accounts that will ever be, or None. After a restore it
        stays what it was in the older copy: no account, generation or cap is added then."""
        return self._generations.cap

    def fix_cap(self, cap: Budget) -> None:
        """Fix a cap on everything that all accounts will ever learn together (R4).

        Under a cap, accounts may be created at any time: those created together form a
        generation, which commits one point of its optimal composition, and the points stay
        within the cap. It is fixed once, before the first account.

        Raises NameTaken, Unproven, ParameterError for a guarantee that no filter guards.
        """
        check_promise(cap, "cap")
        self._generations.fix(cap)

    def generation_cost(self, quotas: Mapping[str, Budget], *, delta: Real | None = None) -> Charge:
        """What a generation with these quotas would commit of the cap; commits nothing.

        Raises as ``generation`` does, but for what is left of the cap.
        """
        return self._generations.cost(list(quotas.values()), delta)

    @disk_errors()
    def generation(
        self,
        quotas: Mapping[str, Budget],
        *,
        delta: Real | None = None,
        expires: datetime | None = None,
    ) -> list[Account]:
        """Create accounts together, as one generation under the cap, until ``expires``.

        ``delta`` is that of the one point (epsilon, delta) that the generation commits, where
        the cap is in (epsilon, delta). More quota for an analyst is a further account in a
        new generation; unused quota of an older one is never given back.

        Raises BudgetExceeded with what is left of the cap, NameTaken, ParameterError; nothing
        has changed then.
        """
        if not isinstance(quotas, Mapping) or not quotas:
            raise ParameterError("quotas", "must map account names to guarantees")
        expiry = checked_expiry(expires)
        records = [
            AccountRecord.of(checked_name(name, "quotas"), checked_filter(quota, None), expiry)
            for name, quota in quotas.items()
        ]
        return self._created(records, delta)

    @disk_errors()
    def account(
        self,
        name: str,
        *,
        quota: Budget | None = None,
        rule: str | None = None,
        structural: Real | None = None,
        delta: Real | None = None,
        expires: datetime | None = None,
    ) -> Account:
        """Create an account with a ``quota``, or get the one of that name without.

        ``rule`` and ``structural`` are those of the ``Filter`` that admits its sessions. It
        answers nothing more after ``expires`` (with a time zone).

        Without a cap all accounts are created before the first answer leaves the centre: their
        quotas are then fixed in advance, which is what composing them across analysts needs
        (R2). Under a cap an account is a generation of its own, at ``delta`` (R4).
        Creating one again with the same quota gets it, so that a script may run twice.

        Raises NameTaken for a name with another quota, NotFound, Unproven for a new account
        after the first answer without a cap, BudgetExceeded under one, ParameterError for a
        rule that the quota's notion does not have.
        """
        known = self._ledger.last(ACCOUNT, account=checked_name(name, "name"))
        if quota is None:
            fixed = {"rule": rule, "structural": structural}
            check_left_out(fixed, "is fixed at creation and given together with quota=")
            if known is None:
                raise NotFound(f"no account {name!r}: create it with quota=, a guarantee")
            return self._found(known)
        guard = checked_filter(quota, rule, structural)
        record = AccountRecord.of(name, guard, checked_expiry(expires))
        if known is not None:
            return self._account(same(AccountRecord.read(known), record))
        [account] = self._created([record], delta)
        return account

    def _created(self, records: list[AccountRecord], delta: Real | None) -> list[Account]:
        return [self._found(event) for event in self._generations.create(records, delta)]

    def accounts(self) -> list[Account]:
        """All accounts, in the order of their creation."""
        return [self._found(event) for event in self._ledger.events(ACCOUNT)]

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
        names = None if coalition is None else checked_coalition(coalition)
        members = self.accounts() if names is None else [self.account(name) for name in names]
        return CoalitionGuarantee.of(members, self.cap, everybody=names is None)

    def statement(self, deltas: Iterable[Real] | None = None) -> Statement:
        """What this centre promises and what it does not, for a regulator: public facts only,
        the same for the same ledger. Raises LedgerCorrupt for a chain that does not hold."""
        return statement(self._ledger, deltas)

    def _found(self, event: Event) -> Account:
        return self._account(AccountRecord.read(event))

    def _account(self, record: AccountRecord) -> Account:
        return Account(self._ledger, record, self._datasets.find, self._session, self._outside)

    def _session(self, event: Event) -> Session:
        record = SessionRecord.read(event)
        place, datasets = (record.account, record.dataset, record.version), self._datasets
        live = self._live.setdefault(record.id, Live.of(record))
        account = self._ledger.last(ACCOUNT, account=record.account)
        assert account is not None
        expires = AccountRecord.read(account).expires
        host = Host(
            parse=lambda sql: datasets.plan(*place, sql),
            read=lambda plan: datasets.read(*place, plan),
            stored=self._outside.heads.follow,
            expires=expires,
            check=lambda reads: check_open(reads, record.account, record.id, event.seq),
        )
        return Session(self._ledger, record, self._outside.sealer.unseal(event), live, host)
