"""The columns of a new event, checked: all that can be wrong with it by itself.

What depends on the other events, its number and hash and whether its identity is free, is the
transaction's business.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from interlace.core.errors import ParameterError
from interlace.ledger import statements
from interlace.ledger.canonical import canonical, text
from interlace.ledger.interface import ACCOUNT, ANSWER, CHARGE, DATASET, SESSION

#: The columns of an event but for its number and its hash, in their order.
Row = dict[str, Any]


#: What a kind of event must carry: its identity, and to whom and what it belongs.
_NEEDED: dict[str, tuple[str, ...]] = {
    DATASET: ("dataset",),
    ACCOUNT: ("account",),
    CHARGE: ("account",),
    SESSION: ("dataset", "account", "session"),
    ANSWER: ("dataset", "account", "session", "round"),
}


def checked_row(
    kind: str,
    *,
    dataset: str | None = None,
    account: str | None = None,
    session: str | None = None,
    round: int | None = None,
    key: str | None = None,
    body: Mapping[str, object] | None = None,
    secret: bytes | None = None,
) -> Row:
    """The columns as they are stored. Raises ParameterError naming one that cannot be."""
    row: Row = {
        "kind": _name(kind, "kind"),
        "dataset": _optional(dataset, "dataset"),
        "account": _optional(account, "account"),
        "session": _optional(session, "session"),
        "round": _round(round),
        "key": _optional(key, "key"),
        "body": canonical(body or {}),
        "secret": _salted(secret),
    }
    for name in _NEEDED.get(kind, ()):
        if row[name] is None:
            raise ParameterError(name, f"is required for an event of kind {kind!r}")
    return row


def _name(value: object, name: str) -> str:
    if not isinstance(value, str) or not 1 <= len(value) <= 1000 or "\0" in value:
        raise ParameterError(name, "must be text of 1 to 1000 characters without NUL")
    return text(value, name)


def _optional(value: object, name: str) -> str | None:
    return None if value is None else _name(value, name)


def _round(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ParameterError("round", f"must be an integer from 0 to 2**63 - 1, got {value!r}")
    return int(value)


def _salted(secret: object) -> bytes | None:
    if secret is None:
        return None
    if not isinstance(secret, bytes):
        raise ParameterError("secret", f"must be bytes, got {type(secret).__name__}")
    return secrets.token_bytes(statements.SALT) + secret
