"""One text for each body, one byte string for each event, one hash for each history.

Pure functions. An event's hash covers the hash before it and every column, each behind its
type and length, so that no two different rows are hashed over the same bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from interlace.core.errors import LedgerCorrupt, ParameterError
from interlace.ledger.interface import Head

#: What a column of an event can hold.
Column = str | int | bytes | None

#: How deep a body may be nested.
_DEEPEST = 32
#: As for exact parameters; other readers of JSON cap integers too.
_LARGEST_BITS = 4096


def canonical(body: Mapping[str, object]) -> str:
    """The one JSON text of a body: keys sorted, no spaces, no floats (R8).

    Exact rationals travel as text. Raises ParameterError, naming the place, for floats and
    everything else that JSON does not hold exactly.

    >>> canonical({"rho": "1/11", "answers": [3, None]})
    '{"answers":[3,null],"rho":"1/11"}'
    """
    return _ENCODER.encode(body if _is_plain(body, 0) else _plain(body, "body", 0))


_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def parse(text: str, event: int | None = None) -> dict[str, object]:
    """Read the body of an event back. Raises LedgerCorrupt for what ``canonical`` cannot have
    written.

    >>> parse('{"rho":"1/11"}')
    {'rho': '1/11'}
    """
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise LedgerCorrupt("the body is not a JSON object", event)
    return body


def _is_plain(value: object, depth: int) -> bool:
    """Whether it is surely stored as it is; most bodies are, and this costs a third."""
    kind = type(value)
    if kind is str:
        return cast("str", value).isascii()
    if kind is int:
        return -(2**63) <= cast("int", value) < 2**63
    if depth >= _DEEPEST:
        return False
    if kind is dict:
        items = cast("dict[object, object]", value).items()
        return all(
            type(key) is str and key.isascii() and _is_plain(item, depth + 1) for key, item in items
        )
    if kind is list or kind is tuple:
        return all(_is_plain(item, depth + 1) for item in cast("list[object]", value))
    return value is None or kind is bool


def _plain(value: object, place: str, depth: int) -> object:
    if depth > _DEEPEST:
        raise ParameterError("body", f"is nested deeper than {_DEEPEST} levels")
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(value, place)
    if isinstance(value, int):
        if value.bit_length() > _LARGEST_BITS:
            raise ParameterError(place, f"has more than {_LARGEST_BITS} bits: store it as text")
        return int(value)
    if isinstance(value, Mapping):
        return {
            _name(key, place): _plain(item, f"{place}.{key}", depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_plain(item, f"{place}[{i}]", depth + 1) for i, item in enumerate(value)]
    raise ParameterError(
        place,
        f"a {type(value).__name__} is not stored exactly, only text, integers, booleans, None, "
        'lists and mappings of them: write a number as the text of a fraction, "1/11"',
    )


def _name(key: object, place: str) -> str:
    if not isinstance(key, str):
        raise ParameterError(place, f"its keys must be text, got {type(key).__name__}")
    return text(key, place)


def text(value: str, name: str) -> str:
    """Text that has a UTF-8 form. Raises ParameterError, naming ``name``, for other text.

    >>> text("Gödel", "account")
    'Gödel'
    """
    if value.isascii() or _has_utf8(value):
        return str(value)
    raise ParameterError(name, "holds half of a surrogate pair, which is not text")


def _has_utf8(value: str) -> bool:
    with contextlib.suppress(UnicodeEncodeError):  # which would quote the text
        value.encode()
        return True
    return False


def genesis(ledger: str) -> Head:
    """The head of the ledger of that id before its first event.

    The id enters the chain, so that one ledger's events do not continue another's.
    """
    return Head(0, hashlib.sha256(b"interlace ledger 1\n" + ledger.encode()).hexdigest())


def link(previous: str, columns: Iterable[Column]) -> str:
    """The hash of an event with these columns (all but ``hash``, in order) after another."""
    encoded = b"".join(map(_encode, columns))
    return hashlib.sha256(bytes.fromhex(previous) + encoded).hexdigest()


def _encode(column: Column) -> bytes:
    if column is None:
        return b"n0:"
    if isinstance(column, int):
        tag, data = b"i", b"%d" % column
    elif isinstance(column, str):
        tag, data = b"t", column.encode()
    else:
        tag, data = b"b", bytes(column)
    return b"%b%d:%b" % (tag, len(data), data)


def follow(start: Head, rows: Iterable[Sequence[Column]], expected: Head | None) -> Head:
    """Walk a chain of rows (columns, then hash) from ``start`` and return where it ends.

    Raises LedgerCorrupt naming the first event that is missing, out of place or changed, or
    that ``expected`` (a head seen earlier) contradicts.
    """
    head = start
    _agree(head, expected)
    for *columns, stored in rows:
        seq = head.seq + 1
        if columns[0] != seq:
            raise LedgerCorrupt("is missing or out of order", seq)
        if link(head.hash, columns) != stored:
            raise LedgerCorrupt("its contents do not match its hash, it was changed", seq)
        head = Head(seq, stored)
        _agree(head, expected)
    if expected is not None and head.seq < expected.seq:
        raise LedgerCorrupt(
            f"is missing: the ledger once went up to event {expected.seq}", head.seq + 1
        )
    return head


def _agree(head: Head, expected: Head | None) -> None:
    if expected is not None and head.seq == expected.seq and head.hash != expected.hash:
        raise LedgerCorrupt(
            "is not the event that the expected head names: the history up to it was replaced",
            head.seq,
        )
