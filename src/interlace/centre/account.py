"""An analyst's account: a quota, the filter that guards it, and the sessions it opened."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from datetime import datetime
from fractions import Fraction
from typing import TypeVar

from interlace.centre.closing import check_account, check_expiry, switch_off
from interlace.centre.faults import disk_errors, reach
from interlace.centre.interrupts import uninterrupted
from interlace.centre.names import checked_name
from interlace.centre.noise import POOL
from interlace.centre.outside import Outside
from interlace.centre.records import (
    AccountRecord,
    ChargeRecord,
    DatasetRecord,
    SessionRecord,
    encode_secrets,
)
from interlace.centre.sealing import Place
from interlace.centre.session import Session
from interlace.core.composition import compose
from interlace.core.composition.filters import Budget, Filter, Item
from interlace.core.errors import NotFound, ParameterError
from interlace.core.exact import Real, rational
from interlace.core.mechanisms.codec import Served, decode_mechanism, encode_mechanism
from interlace.core.mechanisms.play import openings
from interlace.ledger import CHARGE, DATASET, RESTORED, SESSION, Event, Ledger
from interlace.ledger.interface import Reads

T = TypeVar("T", bound=Item)

Restore = Callable[[Event], Session]
"""Makes the handle of a session from its event."""


class Account:
    """One analyst's account. Get one from ``Centre.account``.

    Its sessions may be opened one after another with parameters chosen from earlier answers:
    the account's filter (R3) admits them while they fit the quota.
    """

    def __init__(
        self,
        ledger: Ledger,
        record: AccountRecord,
        dataset: Callable[[str], object],
        restore: Restore,
        outside: Outside,
    ) -> None:
        self._ledger = ledger
        self._record = record
        self._dataset = dataset
        self._restore = restore
        self._outside = outside

    def __repr__(self) -> str:
        return f"<Account {self.name}: {self.quota}, rule {self.rule}>"

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def quota(self) -> Budget:
        return self._record.quota

    @property
    def rule(self) -> str:
        """The filter that admits sessions; fixed when the account was created."""
        return self._record.rule

    @property
    def generation(self) -> int:
        """Which accounts were created together with this one: those of the same number."""
        return self._record.generation

    @property
    def expires(self) -> datetime | None:
        """When the account ends by itself."""
        return self._record.expires

    @property
    def structural(self) -> Fraction:
        """The part of delta that is set aside for sessions with a delta of their own."""
        return self._record.structural

    @property
    def spent(self) -> Budget:
        """What is gone of the quota, as ``Filter.spent`` tells it: a reading, no promise.

        The promise is the quota.
        """
        return self._filter(self._ledger).spent

    @property
    def remaining(self) -> Budget:
        """What is left of the quota, as ``Filter.remaining`` tells it."""
        return self._filter(self._ledger).remaining

    def largest(self, shape: Callable[[float], T], *, delta: Real | None = None) -> T:
        """The largest next mechanism that fits, as ``Filter.largest`` finds it:
        ``account.largest(lambda e: il.mechanisms.Laplace(epsilon=e))``. Opens nothing.

        Raises BudgetExceeded where none of this shape fits, and as ``open`` does.
        """
        return self._filter(self._ledger).largest(shape, delta)

    def open(self, mechanism: Served, dataset: str, *, delta: Real | None = None) -> Session:
        """Open a session, with its whole guarantee charged (R1), on the latest version of the
        dataset, to which it stays bound.

        ``delta`` commits the session to one point (epsilon(delta), delta) of its guarantee,
        for an account in (epsilon, delta); without it only what needs no delta is admitted.

        Raises BudgetExceeded (nothing has changed), Unproven for a guarantee that the
        account's filter does not cover, NotFound for an unknown dataset, ParameterError.
        """
        [session] = self._open([mechanism], dataset, delta)
        return session

    def plan(
        self, mechanisms: Sequence[Served], dataset: str, *, delta: Real | None = None
    ) -> list[Session]:
        """Open a batch of sessions whose parameters are fixed together, before any answer of
        theirs: charged once, by optimal concurrent composition inside (R2), as one admission
        of the account's filter (R3).

        ``delta`` is that of the one point (epsilon, delta) to which the whole batch commits,
        for an account in (epsilon, delta); without it epsilons and deltas are added up. A
        member that is never asked stays charged.

        Raises as ``open`` does; nothing has changed then. ParameterError for no mechanism.
        """
        if not isinstance(mechanisms, Sequence) or not mechanisms:
            raise ParameterError("mechanisms", "must be a list of at least one mechanism")
        return self._open(mechanisms, dataset, delta)

    @uninterrupted()
    @disk_errors()
    def _open(
        self, mechanisms: Sequence[Served], dataset: str, delta: Real | None
    ) -> list[Session]:
        # What is charged is what will be served: the mechanisms as they are stored.
        members = tuple(decode_mechanism(encode_mechanism(member)) for member in mechanisms)
        exact = None if delta is None else rational(delta, "delta", maximum=1)
        self._dataset(dataset)  # refuses an unknown one, before anything is computed
        # Computed before the ledger is held: neither depends on what was spent. The secrets
        # of sessions that are then refused were never used.
        charge = self._record.filter(None).charge(compose(members), exact)
        drawn = [encode_secrets(openings(member, POOL.draw)) for member in members]
        with self._ledger.transaction() as transaction:
            reach("open.before-admission")
            check_expiry(self.name, self._record.expires)
            check_account(transaction, self.name)
            spending = self._filter(transaction)
            spending.admit(charge)
            record = ChargeRecord(members, exact, charge, spending.state, spending.steps())
            charged = transaction.append(CHARGE, account=self.name, body=record.body())
            reach("open.after-charge")
            events, version = [], self._latest(transaction, dataset)
            for member, secret in zip(members, drawn, strict=True):
                place = Place(SESSION, dataset, self.name, secrets.token_hex(8))
                event = transaction.append(
                    SESSION,
                    dataset=dataset,
                    account=self.name,
                    session=place.session,
                    body=SessionRecord.new_body(member, record, charged.seq, version),
                    secret=self._outside.sealer.seal(secret, place),
                )
                events.append(event)
            reach("open.before-commit")
        reach("open.after-commit")
        self._outside.heads.follow(always=True)
        return [self._restore(event) for event in events]

    def switch_off(self) -> None:
        """Open and answer nothing more, for good: the custodian's switch. What was charged
        stays charged, and histories can be read."""
        switch_off(self._ledger, self.name)

    def session(self, id: str) -> Session:
        """A session that this account opened before, also in another process.

        Raises NotFound for an id that is not this account's.
        """
        event = self._ledger.last(SESSION, account=self.name, session=checked_name(id, "id"))
        if event is None:
            raise NotFound(f"account {self.name!r} has no session {id!r}: see account.sessions()")
        return self._restore(event)

    def sessions(self) -> list[Session]:
        """All sessions of this account, in the order of their opening."""
        return [self._restore(e) for e in self._ledger.events(SESSION, account=self.name)]

    @staticmethod
    def _latest(reads: Reads, dataset: str) -> int:
        """The version of the dataset on which a session opens now."""
        event = reads.last(DATASET, dataset=dataset)
        assert event is not None
        return DatasetRecord.read(event).version

    def _filter(self, reads: Reads) -> Filter:
        return self._record.filter(reads.last(CHARGE, account=self.name), reads.last(RESTORED))
