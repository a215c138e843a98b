"""Every error that Interlace raises on purpose.

Each names the argument or construct, what is allowed and what to do instead. None may
hold private data: a message is built from public parameters and metadata only.
"""

from __future__ import annotations


class InterlaceError(Exception):
    """Base of all errors raised on purpose. They can be pickled, for pools of processes."""

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (type(self), self.args, self.__dict__)


def _rebuilt(
    kind: type[InterlaceError], args: tuple[object, ...], state: dict[str, object]
) -> InterlaceError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error


class ParameterError(InterlaceError, ValueError):
    """A parameter lies outside its domain (NaN, infinite, negative, reversed bounds, ...).

    ``name`` is the parameter, ``problem`` what is wrong with it.
    """

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        self.problem = problem
        super().__init__(f"{name}: {problem}")


class RelationMismatch(InterlaceError, ValueError):
    """Guarantees for different neighbouring relations were mixed (R10)."""


class Unproven(InterlaceError, TypeError):
    """A claim was asked for that no theorem covers under concurrent, adaptive use."""


class CheckFailed(InterlaceError, ValueError):
    """A certificate or counterexample does not prove what it claims.

    ``place`` is what was looked at: a part of the claim, or a transcript of query/answer pairs.
    """

    def __init__(self, place: str, problem: str) -> None:
        self.place = place
        super().__init__(f"{place}: {problem}")


class BudgetExceeded(InterlaceError):
    """A filter or an account refuses a mechanism; nothing has changed.

    ``spent`` and ``remaining`` are guarantees in the filter's own notion, ``requested`` is what
    was to be charged, and ``fits`` about the largest of its kind that would fit, if known.
    """

    def __init__(
        self, spent: object, requested: object, remaining: object, fits: object = None
    ) -> None:
        self.spent = spent
        self.requested = requested
        self.remaining = remaining
        self.fits = fits
        most = "" if fits is None or fits == remaining else f" At most {fits} would fit now."
        super().__init__(
            f"the budget does not hold this: requested {requested}, remaining {remaining}, "
            f"spent {spent}.{most} Ask for less, or ask the custodian for a larger quota."
        )


class QueryRefused(InterlaceError):
    """A query is not allowed. Decided from its text and public metadata alone (R7).

    ``construct`` is what was refused, ``position`` its (line, column) in the text, if known.
    """

    def __init__(
        self, construct: str, reason: str, position: tuple[int, int] | None = None
    ) -> None:
        self.construct = construct
        self.position = position
        where = f" at line {position[0]}, column {position[1]}" if position else ""
        super().__init__(f"{construct}{where}: {reason}")


class SessionHalted(InterlaceError):
    """The session has given all the answers it may give."""


class SessionVoid(InterlaceError):
    """The session was opened before the centre was restored from an older copy: what it has
    answered since that copy is not known, so it answers nothing any more (FORMULAS 11)."""


class Closed(InterlaceError):
    """The session was closed, or its account switched off or expired. Nothing leaves: if it
    happened while a question was read, what was drawn for it is never stored."""


class KeyConflict(InterlaceError):
    """An idempotency key was used before, for another question; nothing was drawn."""

    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(f"key {key!r} named another question before: use a new key for this one")


class NameTaken(InterlaceError, ValueError):
    """An account or a dataset of that name exists already."""


class NotFound(InterlaceError, LookupError):
    """No account, dataset or session of that name."""


class DataError(InterlaceError):
    """A source cannot be registered as declared."""


class EngineError(InterlaceError):
    """The engine failed after a scan began. One public form; the charge is kept (R7)."""


class LedgerError(InterlaceError):
    """The ledger cannot be read or written."""


class AlreadyRecorded(LedgerError):
    """The ledger holds an event of that identity already; nothing was written (R5, R6)."""


class LedgerCorrupt(LedgerError):
    """The ledger's chain or its contents do not hold together.

    ``event`` is the number of the first bad event, where one can be named.
    """

    def __init__(self, problem: str, event: int | None = None) -> None:
        self.event = event
        super().__init__(problem if event is None else f"event {event}: {problem}")
