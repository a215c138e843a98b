"""The end of sessions and accounts: closed, switched off or expired. What they were charged
stays charged, and what they were told can still be read.
"""

from __future__ import annotations

from datetime import UTC, datetime

from interlace.centre.faults import disk_errors, reach
from interlace.centre.interrupts import uninterrupted
from interlace.core.errors import Closed, ParameterError, SessionVoid
from interlace.ledger import RESTORED, Ledger
from interlace.ledger.interface import Reads

#: An account that its custodian switched off.
OFF = "off"
#: A session that its analyst closed.
CLOSED = "closed"


def now() -> datetime:
    """The time by this machine's clock."""
    return datetime.now(UTC)


def checked_expiry(expires: datetime | None) -> datetime | None:
    """Raises ParameterError for a time without a zone."""
    if expires is not None and (not isinstance(expires, datetime) or expires.tzinfo is None):
        raise ParameterError("expires", "must be a datetime with a time zone, or None")
    return expires


@uninterrupted()
@disk_errors()
def switch_off(ledger: Ledger, account: str) -> None:
    """Record that the account answers nothing any more; once is enough."""
    with ledger.transaction() as transaction:
        if transaction.last(OFF, account=account) is None:
            transaction.append(OFF, account=account)
        reach("close.before-commit")
    reach("close.after-commit")


@uninterrupted()
@disk_errors()
def close(ledger: Ledger, account: str, session: str) -> None:
    """Record that the session answers nothing any more; once is enough. Holds the session."""
    with ledger.acquire(session), ledger.transaction() as transaction:
        if transaction.last(CLOSED, session=session) is None:
            transaction.append(CLOSED, account=account, session=session)
        reach("close.before-commit")
    reach("close.after-commit")


def check_expiry(account: str, expires: datetime | None) -> None:
    """Raises Closed for an account that has expired."""
    if expires is not None and now() >= expires:
        raise Closed(f"account {account!r} expired on {expires:%Y-%m-%d %H:%M %Z}")


def check_account(reads: Reads, account: str) -> None:
    """Raises Closed for an account that was switched off."""
    if reads.last(OFF, account=account) is not None:
        raise Closed(f"account {account!r} was switched off by the custodian")


def check_open(reads: Reads, account: str, session: str, opened: int) -> None:
    """Raises Closed where the account was switched off; SessionVoid for a session, opened by event ``opened``, that the restoring of an
    older copy made void, and Closed for one that was closed."""
    check_account(reads, account)
    restored = reads.last(RESTORED)
    if restored is not None and opened < restored.seq:
        raise SessionVoid(
            f"session {session} was opened before the centre was restored from an older copy: its "
            "history can be read, it answers nothing more"
        )
    if reads.last(CLOSED, session=session) is not None:
        raise Closed(f"session {session} was closed: its history can be read, open a new one")
