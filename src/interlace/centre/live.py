"""What a live session is made of, besides its mechanism: its state here, and its centre."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from interlace.centre.records import Round, SessionRecord
from interlace.core.mechanisms.play import State, start
from interlace.ledger import Reads
from interlace.query.plan import Plan

Read = Callable[[Plan], tuple[int, ...]]
Parse = Callable[[str], Plan]


@dataclass(frozen=True)
class Fold:
    """The public state up to event ``seq``: a cache, rebuilt from the ledger at will."""

    state: State
    round: int = 0
    seq: int = 0


@dataclass(frozen=True)
class Drawn:
    """A round whose noise is drawn. It is this round that is stored, or none at that place."""

    round: int
    key: str | None
    done: Round
    after: State


@dataclass
class Live:
    """What all handles of a session in this process share."""

    fold: Fold
    drawn: Drawn | None = None
    #: The ledger's mark under which the fold is complete and the session may answer.
    mark: int | None = None

    @classmethod
    def of(cls, record: SessionRecord) -> Live:
        return cls(Fold(start(record.mechanism)))


@dataclass(frozen=True)
class Host:
    """What a session needs of its centre: SQL parsed, plans read, heads noted, and leave."""

    parse: Parse
    read: Read
    stored: Callable[[], None]
    #: When the account ends by itself.
    expires: datetime | None
    #: Raises Closed or SessionVoid when it is recorded that the session answers nothing more.
    check: Callable[[Reads], None]
