"""Sealing: what is secret in the ledger is encrypted before it gets there (AES-256-GCM).

The keys lie outside the folder, in INTERLACE_KEY or in a file of this user's, so that a copy
of the ledger alone does not tell an opening (a sparse vector's noisy threshold) or the key of
a snapshot's units. The first key seals, all of them open: that is how keys are rotated.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from interlace.centre.faults import disk_errors, reach
from interlace.centre.interrupts import uninterrupted
from interlace.centre.state import (
    clear_unfinished,
    create_private,
    is_unfinished,
    read_private,
    replace_private,
    state_file,
)
from interlace.core.errors import LedgerCorrupt, LedgerError
from interlace.ledger import Event
from interlace.ledger.canonical import canonical
from interlace.ledger.locks import exclusive

#: The environment's keys, separated by commas; they take the place of the file's.
VARIABLE = "INTERLACE_KEY"

_KEY, _NONCE = 32, 12
#: In front of everything sealed, so that another form can follow one day.
_FORM = b"\x01"
#: What sealing adds: the form, a random nonce, and the tag. So a length tells nothing.
OVERHEAD = len(_FORM) + _NONCE + 16


@dataclass(frozen=True)
class Place:
    """Where a secret belongs. It opens there and nowhere else: not in another event of the
    same ledger, and not in another ledger."""

    kind: str
    dataset: str | None
    account: str | None = None
    session: str | None = None

    @classmethod
    def of(cls, event: Event) -> Place:
        return cls(event.kind, event.dataset, event.account, event.session)

    def bound(self, ledger: str) -> bytes:
        """The associated data. JSON keeps names apart whatever they hold."""
        return canonical({"ledger": ledger, **self.__dict__}).encode()


def seal(key: bytes, secret: bytes, bound: bytes) -> bytes:
    """Encrypt with a fresh random nonce, ``OVERHEAD`` bytes longer than the secret.

    Random nonces are good for 2**32 secrets of one key; a secret is sealed once a session.
    """
    nonce = os.urandom(_NONCE)
    return _FORM + nonce + AESGCM(key).encrypt(nonce, secret, bound)


def unseal(keys: Sequence[bytes], sealed: bytes, bound: bytes) -> bytes | None:
    """What was sealed by one of the keys, or None: another key, place or content."""
    form, nonce, data = sealed[:1], sealed[1 : 1 + _NONCE], sealed[1 + _NONCE :]
    if form != _FORM or len(sealed) < OVERHEAD:
        return None
    for key in keys:
        try:
            return AESGCM(key).decrypt(nonce, data, bound)
        except InvalidTag:
            continue
    return None


class Sealer:
    """The keys of one ledger, where they come from, and what they seal.

    Raises LedgerError for keys that are missing, malformed or readable to others. A key is
    made only for a ledger without events (``new``); one that is missing later is never replaced.
    """

    @uninterrupted()
    def __init__(self, ledger: str, directory: Path, *, new: bool) -> None:
        self._ledger = ledger
        self._file = state_file(directory, ledger, "key")
        if VARIABLE not in os.environ and (new or is_unfinished(self._file)):
            with exclusive(state_file(directory, ledger, "lock")):
                clear_unfinished(self._file)
                if new and read_private(self._file) is None:
                    create_private(self._file, _line(secrets.token_bytes(_KEY)))
        self._keys, self._source = self._load()

    def seal(self, secret: bytes, place: Place) -> bytes:
        """The secret as it may reach the ledger, for the event of that place."""
        return seal(self._keys[0], secret, place.bound(self._ledger))

    def unseal(self, event: Event) -> bytes:
        """An event's secret. Raises LedgerCorrupt, naming the event, if no key opens it."""
        sealed, bound = event.secret or b"", Place.of(event).bound(self._ledger)
        secret = unseal(self._keys, sealed, bound)
        if secret is None:
            self._keys, self._source = self._load()  # another process may have rotated them
            secret = unseal(self._keys, sealed, bound)
        if secret is None:
            raise LedgerCorrupt(
                f"its secret does not open: the key that sealed it is not in {self._source}, or "
                "the event was changed or moved here from elsewhere",
                event.seq,
            )
        return secret

    def _load(self) -> tuple[tuple[bytes, ...], str]:
        given = os.environ.get(VARIABLE)
        if given is not None:
            return read_keys(given.split(","), VARIABLE), VARIABLE
        return read_keys(_stored(self._file).split(), str(self._file)), str(self._file)


def _stored(file: Path) -> str:
    """The text of the file with the keys. Raises LedgerError if there is none."""
    text = read_private(file)
    if text is None:
        raise LedgerError(
            f"the key of this centre is missing: it is looked for in the variable {VARIABLE} "
            f"and then in {file}. Bring it back from where it is kept safe; without it "
            "the openings of live sessions stay sealed for good"
        )
    return text


def read_keys(texts: Sequence[str], source: str) -> tuple[bytes, ...]:
    """Keys from their texts, 64 hexadecimal digits or base64 of 32 bytes each.

    Raises LedgerError naming the ``source``, and never a key.

    >>> [len(key) for key in read_keys(["0f" * 32, "A" * 43 + "="], "INTERLACE_KEY")]
    [32, 32]
    """
    keys = tuple(_read_key(text.strip()) for text in texts)
    if not keys or not all(keys):
        raise LedgerError(
            f"{source} must hold keys of {_KEY} bytes, each as base64 or as {2 * _KEY} hexadecimal "
            "digits: make one with `openssl rand -base64 32`"
        )
    return keys


def _read_key(text: str) -> bytes:
    """The key, or nothing for a text that is none."""
    if re.fullmatch(r"[0-9a-fA-F]{64}", text):
        return bytes.fromhex(text)
    try:
        key = base64.b64decode(text.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        return b""
    return key if len(key) == _KEY else b""


def _line(key: bytes) -> str:
    return base64.b64encode(key).decode() + "\n"


@uninterrupted()
@disk_errors()
def rotate(ledger: str, directory: Path) -> Path:
    """Put a new key in front of the file's, to seal from now on, and return the file's path.

    What was sealed before stays sealed by the older keys, which stay in the file: the ledger
    is append-only. The file holds the old keys, or the new one and all old ones, whenever this
    process dies. Raises LedgerError where the keys are the environment's, or missing.
    """
    if VARIABLE in os.environ:
        raise LedgerError(
            f"the keys come from {VARIABLE}: put a new one in front of those that it holds, "
            "separated by a comma"
        )
    file = state_file(directory, ledger, "key")
    with exclusive(state_file(directory, ledger, "lock")):  # two rotations would lose a key
        older = _stored(file)
        read_keys(older.split(), str(file))  # refuses a file that is malformed
        reach("rotate.before-write")
        replace_private(file, _line(secrets.token_bytes(_KEY)) + older)
    reach("rotate.after-write")
    return file
