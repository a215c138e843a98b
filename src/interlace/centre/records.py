"""What the centre writes into the ledger, and how it is read back.

Values on one side, JSON bodies on the other; exact rationals travel as text (R8). No other
file of the centre knows the names of the fields.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from interlace.centre.charges import decode_charge, encode_charge
from interlace.centre.questions import Question, RecordedPlan
from interlace.core.composition.filters import Budget, Charge, Filter
from interlace.core.guarantees import decode_notion, encode_notion
from interlace.core.mechanisms.codec import (
    Served,
    decode_answer,
    decode_mechanism,
    encode_answer,
    encode_mechanism,
)
from interlace.core.mechanisms.play import Secrets
from interlace.core.mechanisms.protocol import Answer
from interlace.ledger import Event
from interlace.query.schema import Dataset

#: The domain of a dataset for which none is named.
UNITS = "units"


def titled(dataset: str, version: int) -> str:
    """A version of a dataset by its name; the first by the dataset's alone.

    >>> titled("labs", 1), titled("labs", 2)
    ('labs', 'labs, version 2')
    """
    return dataset if version == 1 else f"{dataset}, version {version}"


@dataclass(frozen=True)
class DatasetRecord:
    """One version of a registered dataset: its public declaration, its snapshot's file and that
    file's hash. Datasets of one ``domain`` are about the same units, and so are the versions of
    a dataset, which count from 1."""

    dataset: Dataset
    file: str
    digest: str
    domain: str = UNITS
    version: int = 1

    @property
    def title(self) -> str:
        """The dataset's name, and which version of it this is where it is not the first."""
        return titled(self.dataset.name, self.version)

    def body(self) -> dict[str, Any]:
        declaration = self.dataset.to_json()
        names = {"declaration": declaration, "domain": self.domain}
        return names | {"file": self.file, "digest": self.digest}

    @classmethod
    def read(cls, event: Event) -> DatasetRecord:
        body = event.body
        dataset = Dataset.from_json(body["declaration"])
        return cls(dataset, body["file"], body["digest"], body["domain"], event.round or 1)


@dataclass(frozen=True)
class AccountRecord:
    """A quota and the filter that guards it, both fixed when the account was created, as part
    of a generation: that of event ``generation``, or 0 where no cap was fixed. The filter with
    the part of delta that it sets aside and the state that it started in, as exact text."""

    name: str
    quota: Budget
    rule: str
    structural: Fraction
    state: Mapping[str, str | None]
    expires: datetime | None = None
    generation: int = 0

    @classmethod
    def of(cls, name: str, guard: Filter, expires: datetime | None) -> AccountRecord:
        """An account that is guarded by this filter, new."""
        return cls(name, guard.budget, guard.rule, guard.structural, guard.state, expires)

    def body(self, generation: int) -> dict[str, Any]:
        return {
            "quota": encode_notion(self.quota),
            "rule": self.rule,
            "structural": str(self.structural),
            "state": self.state,
            "expires": None if self.expires is None else self.expires.isoformat(),
            "generation": generation,
        }

    @classmethod
    def read(cls, event: Event) -> AccountRecord:
        assert event.account is not None
        body = event.body
        expires = body["expires"]
        return cls(
            event.account,
            decode_notion(body["quota"]),
            body["rule"],
            Fraction(body["structural"]),
            body["state"],
            None if expires is None else datetime.fromisoformat(expires),
            body["generation"],
        )

    def filter(self, last_charge: Event | None, restored: Event | None = None) -> Filter:
        """The account's filter as its latest charge left it. Where an older copy was put back
        (event ``restored``), what was spent since that copy is not known: it may be all
        (FORMULAS 11)."""
        part = self.structural
        if restored is not None and (last_charge is None or last_charge.seq < restored.seq):
            return Filter.exhausted(self.quota, self.rule, structural=part)
        # Read, never computed again: a later version may find other roots of the same steps.
        state = self.state if last_charge is None else last_charge.body["state"]
        return Filter(self.quota, self.rule, structural=part, state=state)


@dataclass(frozen=True)
class ChargeRecord:
    """One admission of an account's filter: for one mechanism, or for a plan of several. With
    the state after it, as exact text, and the steps that prove it, where the rule has steps."""

    members: tuple[Served, ...]
    delta: Fraction | None
    charge: Charge
    state: Mapping[str, str | None]
    steps: Sequence[Mapping[str, str]]

    def body(self) -> dict[str, Any]:
        return {
            "members": [encode_mechanism(member) for member in self.members],
            "delta": None if self.delta is None else str(self.delta),
            "charge": encode_charge(self.charge),
            "state": self.state,
            "steps": list(self.steps),
        }

    @classmethod
    def read(cls, event: Event) -> ChargeRecord:
        body = event.body
        return cls(
            tuple(decode_mechanism(member) for member in body["members"]),
            None if body["delta"] is None else Fraction(body["delta"]),
            decode_charge(body["charge"]),
            body["state"],
            body["steps"],
        )


@dataclass(frozen=True)
class SessionRecord:
    """A session as it was opened, on one ``version`` of its dataset for ever, with the charge that
    it was opened under: event ``charged``, shared with the other members of its plan, ``members``
    in all."""

    id: str
    account: str
    dataset: str
    mechanism: Served
    charged: int
    members: int
    version: int = 1

    @staticmethod
    def new_body(
        mechanism: Served, charge: ChargeRecord, charged: int, version: int
    ) -> dict[str, Any]:
        """The body of the event of a new session on that version of its dataset, under the
        charge of event ``charged``."""
        return {
            "mechanism": encode_mechanism(mechanism),
            "charged": charged,
            "members": len(charge.members),
            "version": version,
        }

    @classmethod
    def read(cls, event: Event) -> SessionRecord:
        assert event.session is not None
        assert event.account is not None
        assert event.dataset is not None
        body = event.body
        return cls(
            event.session,
            event.account,
            event.dataset,
            decode_mechanism(body["mechanism"]),
            body["charged"],
            body["members"],
            # Sessions of ledgers from before there were versions are on the first.
            body.get("version", 1),
        )


@dataclass(frozen=True)
class Round:
    """One answered question, with the answers of the composite's parts that led to it.

    ``plan`` tells the unit of its numbers, too, ``bounding`` what was cut.
    """

    question: Question
    answer: Answer
    steps: tuple[Answer, ...]
    plan: RecordedPlan
    bounding: str

    def body(self, parts: int) -> dict[str, Any]:
        """Padded to a length that only the question decides, for mechanisms of ``parts``
        leaves: if a full disk refused long answers only, its refusal would be an answer
        (FORMULAS 11)."""
        drawn = {
            "answer": encode_answer(self.answer),
            "steps": [encode_answer(step) for step in self.steps],
        }
        room = (1 + parts) * (_FIELDS + self.plan.size * _CELL)
        padding = room - len(_COMPACT.encode(drawn))
        assert padding >= 0
        public = {
            "question": self.question.body(),
            "plan": self.plan.body(),
            "bounding": self.bounding,
        }
        return public | drawn | {"padding": "." * padding}

    @classmethod
    def read(cls, event: Event) -> Round:
        body = event.body
        return cls(
            Question.read(body["question"]),
            decode_answer(body["answer"]),
            tuple(decode_answer(step) for step in body["steps"]),
            RecordedPlan.read(body["plan"]),
            body["bounding"],
        )


_COMPACT = json.JSONEncoder(separators=(",", ":"))

#: What one answer takes at most as JSON: its names, and three numbers of up to 24 characters
#: with their brackets for each cell.
_FIELDS, _CELL = 100, 82
#: Integers in secrets have one length, so that none is refused for its size.
_WIDTH = 24


def encode_secrets(secrets: Secrets) -> bytes:
    """The secrets of a session as they lie in its ledger event, all of one length."""
    return json.dumps(_texts(secrets), sort_keys=True).encode()


def decode_secrets(data: bytes) -> Secrets:
    """The secrets that ``encode_secrets`` wrote."""
    return _numbers(json.loads(data))


def _texts(secrets: Secrets) -> Any:
    if isinstance(secrets, tuple):
        return [f"{value:+0{_WIDTH}d}" for value in secrets]
    return {name: _texts(child) for name, child in secrets.items()}


def _numbers(value: Any) -> Secrets:
    if isinstance(value, dict):
        return {name: _numbers(child) for name, child in value.items()}
    return tuple(int(text) for text in value)
