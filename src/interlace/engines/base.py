"""What every engine offers: exact integers of a plan over one snapshot.

An engine adds no noise and checks no budget; it may not show what it read in an error (R7).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from interlace.core.errors import EngineError
from interlace.query.plan import Plan
from interlace.query.schema import Dataset


@dataclass(frozen=True)
class Snapshot:
    """What a registration gives and the centre must remember: where the normalised tables
    lie, what they were declared to be, and the SHA-256 of the file (in hex)."""

    dataset: Dataset
    path: Path
    digest: str


class Engine(Protocol):
    """Reads one snapshot, which is looked for at the first read. Safe to share between threads, and after a fork."""

    def read(self, plan: Plan) -> tuple[int, ...]:
        """The exact answer, one integer for each cell of the plan. Raises EngineError."""

    def close(self) -> None:
        """Gives back what is held once the reads that run have ended; a later ``read`` raises
        EngineError. Raises nothing."""


def failure() -> EngineError:
    """The one public form of a failure after a scan began: no word of the cause, which may
    depend on data. Raise it outside the handler, or the cause stays within reach as its
    context."""
    return EngineError(
        "the engine could not answer, and the charge is kept; the cause is not shown because "
        "it may depend on data: tell the custodian"
    )
