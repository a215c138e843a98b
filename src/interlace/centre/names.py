"""Names, ids and keys that come from callers: checked once, where they enter the centre."""

from __future__ import annotations

import unicodedata

from interlace.core.errors import ParameterError

_LONGEST = 200


def checked_name(value: str, argument: str) -> str:
    """A name, id or key. Raises ParameterError, naming ``argument``, unless it is printable
    text of 1 to 200 characters in Unicode's composed form (NFC), so that two names that look
    alike are one.

    >>> checked_name("ada", "name")
    'ada'
    """
    if not isinstance(value, str):
        raise ParameterError(argument, f"must be text, got {type(value).__name__}")
    if not 0 < len(value) <= _LONGEST or not value.isprintable():
        raise ParameterError(argument, f"must be 1 to {_LONGEST} printable characters")
    if unicodedata.normalize("NFC", value) != value:
        raise ParameterError(argument, "must be in Unicode's composed form (NFC)")
    return value
