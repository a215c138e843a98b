"""Accounts over time (R4): under a cap that is fixed first, each generation commits one point.

Quotas that are created together are fixed in advance with respect to each other, and compose
optimally. Accounts that are created after answers have left may depend on them: they form a
new generation, and generations are admitted by a filter whose budget is the custodian's cap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from interlace.centre.charges import decode_charge, encode_charge
from interlace.centre.faults import disk_errors, reach
from interlace.centre.interrupts import uninterrupted
from interlace.centre.records import AccountRecord
from interlace.core.composition import compose
from interlace.core.composition.filters import Budget, Charge, Filter
from interlace.core.errors import NameTaken, NotFound, Unproven
from interlace.core.exact import Real, rational
from interlace.core.guarantees import ApproxDP, GaussianDP, decode_notion, encode_notion
from interlace.ledger import ACCOUNT, ANSWER, RESTORED, Event, Ledger
from interlace.ledger.interface import Reads

#: The custodian's cap on all generations together; before any account, at most once.
CAP = "cap"
#: A generation: its accounts' quotas and the point of the cap that they commit.
GENERATION = "generation"


@dataclass(frozen=True)
class GenerationRecord:
    """Accounts created together under a cap, and the one point that they were charged."""

    quotas: tuple[tuple[str, Budget], ...]
    delta: Fraction | None
    charge: Charge
    state: Mapping[str, str | None]

    def body(self) -> dict[str, Any]:
        return {
            "quotas": [[name, encode_notion(quota)] for name, quota in self.quotas],
            "delta": None if self.delta is None else str(self.delta),
            "charge": encode_charge(self.charge),
            "state": self.state,
        }

    @classmethod
    def read(cls, event: Event) -> GenerationRecord:
        body = event.body
        return cls(
            tuple((name, decode_notion(quota)) for name, quota in body["quotas"]),
            None if body["delta"] is None else Fraction(body["delta"]),
            decode_charge(body["charge"]),
            body["state"],
        )


class Generations:
    """Creates the accounts of one centre."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    @property
    def cap(self) -> Budget | None:
        """The cap, if one was fixed."""
        return _cap(self._ledger)

    @uninterrupted()
    @disk_errors()
    def fix(self, cap: Budget) -> None:
        """Fix the cap. Raises NameTaken if there is one, Unproven if there are accounts or, in
        an older copy that was put back, may have been."""
        guard(cap)  # refuses what no filter guards
        with self._ledger.transaction() as transaction:
            if transaction.last(CAP) is not None:
                raise NameTaken("a cap is fixed once: it was fixed before")
            _check_restored(transaction)
            if transaction.last(ACCOUNT) is not None:
                raise Unproven("a cap is fixed before the first account: there are accounts")
            reach("cap.before-append")
            transaction.append(CAP, body={"cap": encode_notion(cap)})
            reach("cap.before-commit")
        reach("cap.after-commit")

    def cost(self, quotas: Sequence[Budget], delta: Real | None) -> Charge:
        """What a generation of these quotas would commit. Raises NotFound without a cap."""
        cap = self.cap
        if cap is None:
            raise NotFound("no cap was fixed: accounts then need no generation")
        return guard(cap).charge(compose(quotas), delta)

    @uninterrupted()
    def create(self, records: Sequence[AccountRecord], delta: Real | None) -> list[Event]:
        """Create accounts together, as one generation where a cap was fixed.

        Raises BudgetExceeded for more than the cap holds, Unproven for accounts after the
        first answer without a cap, NameTaken; nothing has changed then.
        """
        exact = None if delta is None else rational(delta, "delta", maximum=1)
        with self._ledger.transaction() as transaction:
            _check_restored(transaction)
            generation = 0
            cap = _cap(transaction)
            if cap is not None:
                spending = guard(cap, transaction.last(GENERATION))
                charge = spending.charge(compose([record.quota for record in records]), exact)
                spending.admit(charge)
                quotas = tuple((record.name, record.quota) for record in records)
                committed = GenerationRecord(quotas, exact, charge, spending.state)
                generation = transaction.append(GENERATION, body=committed.body()).seq
                reach("account.after-generation")
            elif transaction.last(ANSWER) is not None:
                raise Unproven(
                    "an account created after the first answer could depend on it, and composing "
                    "quotas needs them fixed in advance: this centre goes on with the accounts that "
                    "it has; in a new one create all accounts first, or fix a cap before the first "
                    "account (centre.fix_cap), under which others may follow at any time"
                )
            reach("account.before-append")
            events = [
                transaction.append(ACCOUNT, account=record.name, body=record.body(generation))
                for record in records
            ]
            reach("account.before-commit")
        reach("account.after-commit")
        return events


def _check_restored(reads: Reads) -> None:
    if reads.last(RESTORED) is not None:
        raise Unproven(
            "an older copy of this centre was put back: which accounts there were, what they have "
            "learned and what the cap still holds is not known any more, so none is added"
        )


def cap_of(event: Event) -> Budget:
    """The cap that an event fixes."""
    return decode_notion(event.body["cap"])


def _cap(reads: Reads) -> Budget | None:
    event = reads.last(CAP)
    return None if event is None else cap_of(event)


def guard(cap: Budget, last: Event | None = None) -> Filter:
    """The filter of the cap as the latest generation left it. It adds up what generations
    commit, in the cap's own notion (R4)."""
    rule = {ApproxDP: "basic", GaussianDP: "gaussian"}.get(type(cap))
    return Filter(cap, rule, state=None if last is None else last.body["state"])
