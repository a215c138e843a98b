"""A statement for the regulator: what a centre promises, to whom, by which theorem, and what not.

Pure functions over public facts of the ledger: declarations, quotas, charges. No secret, no
answer, nothing that was computed from the data, no clock: one ledger, one statement.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from interlace.centre import disclosures as words
from interlace.centre.charges import encode_charge
from interlace.centre.closing import OFF
from interlace.centre.coalition import CoalitionGuarantee
from interlace.centre.described import noises
from interlace.centre.figures import certified
from interlace.centre.generations import CAP, GENERATION, cap_of, guard
from interlace.centre.records import AccountRecord, ChargeRecord, DatasetRecord, SessionRecord
from interlace.centre.registry import registry
from interlace.centre.statement_markdown import markdown
from interlace.core.composition.filters import Budget
from interlace.core.composition.filters import Charge as Charged
from interlace.core.exact import Real, rational
from interlace.core.guarantees import ApproxDP, encode_notion
from interlace.core.mechanisms.codec import Served, encode_mechanism
from interlace.ledger import ACCOUNT, CHARGE, DATASET, RESTORED, SESSION, Event, Head, Ledger

#: At which deltas the guarantee is reported, unless others are asked for.
DELTAS = (Fraction(1, 10**6), Fraction(1, 10**9), Fraction(1, 10**12))


@dataclass(frozen=True)
class Charge:
    """What one admission of an account paid for: mechanisms on one version of a dataset, with
    their counts."""

    account: str
    dataset: str
    version: int
    members: tuple[tuple[Served, int], ...]
    charge: Charged
    delta: Fraction | None


@dataclass(frozen=True)
class Holder:
    """An account, what it has spent, and whether it was switched off."""

    account: AccountRecord
    spent: Budget
    off: bool

    def json(self) -> dict[str, Any]:
        """Its public facts."""
        account = self.account
        return {
            "account": account.name,
            "quota": encode_notion(account.quota),
            "rule": account.rule,
            "rule_is": words.RULES[account.rule],
            "generation": account.generation,
            "expires": None if account.expires is None else account.expires.isoformat(),
            "switched_off": self.off,
            "structural": str(account.structural),
            "spent": encode_notion(self.spent),
        }


@dataclass(frozen=True)
class Statement:
    """What a centre promises and what it does not, as of ``head``. Get one from
    ``Centre.statement``.

    ``cap`` is with what the generations committed of it, ``charges`` are with how often each
    was admitted.
    """

    ledger: str
    head: Head
    restored: bool
    datasets: tuple[DatasetRecord, ...]
    holders: tuple[Holder, ...]
    cap: tuple[Budget, Budget] | None
    charges: tuple[tuple[Charge, int], ...]
    deltas: tuple[Fraction, ...]

    def __str__(self) -> str:
        return self.markdown()

    def markdown(self) -> str:
        """The statement for a reader. Losses are rounded up, noise scales down."""
        return markdown(self)

    def json(self) -> dict[str, Any]:
        """The statement for a program, without floats: exact rationals as text, and the upper
        ends of what is computed as decimals rounded up (``epsilon_at_most``)."""
        return {
            "format": "interlace-statement/1",
            "ledger": {"id": self.ledger, "events": self.head.seq, "head": str(self.head)},
            "privacy_unit": words.UNIT,
            "neighbouring_relation": "add_remove",
            "domains": [self._domain_json(domain) for domain in self.domains],
            "across_domains": words.ONE_NUMBER,
            "accounts": [holder.json() for holder in self.holders],
            "spent_is": words.ODOMETER,
            "cap": None
            if self.cap is None
            else {"cap": encode_notion(self.cap[0]), "committed": encode_notion(self.cap[1])},
            "collusion": {"assumption": words.COALITION, "guarantee": list(self.collusion)},
            "sampler": words.SAMPLER,
            "preprocessing": words.PREPROCESSING,
            "not_covered": dict(words.NOT_COVERED),
            "restored": words.RESTORED if self.restored else None,
        }

    def registry(self, details: Mapping[str, Any]) -> dict[str, Any]:
        """A record with the fields of the public OpenDP deployments registry.

        What the centre knows is filled in; what only its custodian knows comes from
        ``details``, in the same shape. Raises ParameterError, by its dotted name, for a field
        that is missing, unknown, or the centre's own; Unproven without any account or cap.
        """
        return registry(self, details)

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains of units, in the order of their first dataset."""
        return tuple(dict.fromkeys(record.domain for record in self.datasets))

    def of(self, domain: str) -> tuple[tuple[DatasetRecord, ...], tuple[tuple[Charge, int], ...]]:
        """The datasets of a domain, in all versions, and the charges for sessions on them."""
        datasets = tuple(record for record in self.datasets if record.domain == domain)
        names = {record.dataset.name for record in datasets}
        return datasets, tuple(pair for pair in self.charges if pair[0].dataset in names)

    @cached_property
    def coalition(self) -> CoalitionGuarantee | None:
        """All accounts together, or all that the cap will ever allow; None without either."""
        if not self.holders and self.cap is None:
            return None
        records = [holder.account for holder in self.holders]
        return CoalitionGuarantee(
            tuple(record.name for record in records),
            tuple(record.quota for record in records),
            tuple(holder.spent for holder in self.holders),
            None if self.cap is None else self.cap[0],
        )

    @cached_property
    def collusion(self) -> tuple[Mapping[str, str], ...]:
        """The guarantee of all accounts together at each delta, and by which theorem."""
        if self.coalition is None:
            return ()
        why = "" if self.cap is None else "the custodian's cap on all generations (R4); "
        return tuple(
            {
                "delta": str(delta),
                "epsilon_at_most": certified(self.coalition.epsilon(delta)),
                "rule": why + self.coalition.explain(delta).partition(": ")[2],
            }
            for delta in self.deltas
        )

    def _domain_json(self, domain: str) -> dict[str, Any]:
        datasets, charges = self.of(domain)
        return {
            "domain": domain,
            "datasets": [
                {"version": record.version} | json.loads(record.dataset.to_json())
                for record in datasets
            ],
            "sessions": sum(n * sum(k for _, k in c.members) for c, n in charges),
            "charges": [_charge_json(charge, times) for charge, times in charges],
        }


def statement(ledger: Ledger, deltas: Iterable[Real] | None = None) -> Statement:
    """The statement of a ledger whose chain holds. Raises LedgerCorrupt, ParameterError.

    Without ``deltas`` it reports at DELTAS, and where the quotas or the cap have so great a delta
    of their own that no epsilon at these is finite, also at a round delta (1, 2 or 5) above it.
    """
    exact = None if deltas is None else tuple(rational(d, "deltas", maximum=1) for d in deltas)
    head = ledger.verify()

    def events(kind: str) -> Iterator[Event]:
        # What comes after the head is not part of this statement.
        return itertools.takewhile(lambda event: event.seq <= head.seq, ledger.events(kind))

    charges = list(events(CHARGE))
    last = {event.account: event for event in charges}
    restored = max(events(RESTORED), key=lambda event: event.seq, default=None)
    off = {event.account for event in events(OFF)}
    accounts = [AccountRecord.read(event) for event in events(ACCOUNT)]
    cap = _cap(next(events(CAP), None), list(events(GENERATION)))
    return Statement(
        ledger.id,
        head,
        restored is not None,
        tuple(DatasetRecord.read(event) for event in events(DATASET)),
        tuple(
            Holder(a, a.filter(last.get(a.name), restored).spent, a.name in off) for a in accounts
        ),
        cap,
        _charges(charges, events(SESSION)),
        _deltas([a.quota for a in accounts] if cap is None else [cap[0]])
        if exact is None
        else exact,
    )


def _deltas(budgets: list[Budget]) -> tuple[Fraction, ...]:
    """DELTAS, and before them a round delta that leaves room for what ``budgets`` leak."""
    leaks = sum((b.delta0 for b in budgets if isinstance(b, ApproxDP)), Fraction(0))
    rounds = (Fraction(n, 10**k) for k in range(6, 0, -1) for n in (1, 2, 5))
    # Several compose better with some delta beside the leaks, which Rényi bounds need.
    enough = (d for d in rounds if d > leaks or (d == leaks and len(budgets) == 1))
    first = next(enough, Fraction(1))
    return DELTAS if first == DELTAS[0] else (first, *DELTAS)


def _cap(event: Event | None, generations: list[Event]) -> tuple[Budget, Budget] | None:
    """The cap, and what the generations so far committed of it."""
    if event is None:
        return None
    cap = cap_of(event)
    return cap, guard(cap, generations[-1] if generations else None).spent


def _charges(charges: list[Event], sessions: Iterator[Event]) -> tuple[tuple[Charge, int], ...]:
    """Equal charges once, in the order of the first, with how often each was admitted."""
    datasets = {}
    for event in sessions:
        session = SessionRecord.read(event)
        datasets[session.charged] = session.dataset, session.version
    found: Counter[Charge] = Counter()
    for event in charges:
        assert event.account is not None
        record = ChargeRecord.read(event)
        members = tuple(Counter(record.members).items())
        place = datasets[event.seq]
        found[Charge(event.account, *place, members, record.charge, record.delta)] += 1
    return tuple(found.items())


def _charge_json(charge: Charge, times: int) -> dict[str, Any]:
    return {
        "account": charge.account,
        "dataset": charge.dataset,
        "version": charge.version,
        "times": times,
        "mechanisms": [
            {
                "sessions": count,
                **encode_mechanism(member),
                "noise": [n.json() for n in noises(member)],
            }
            for member, count in charge.members
        ],
        "charge": encode_charge(charge.charge),
        "delta": None if charge.delta is None else str(charge.delta),
    }
