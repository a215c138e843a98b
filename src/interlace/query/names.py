"""Names of tables and columns, and how a query's identifier finds one. No SQL is parsed here.

SQL's rule as DuckDB has it: an unquoted identifier is compared without regard to case, a
quoted one exactly. Names that differ only in case would be ambiguous and are refused when
they are declared, so that no query depends on the order of a lookup.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from interlace.core.errors import ParameterError

LONGEST_NAME = 100


def checked_name(name: str, argument: str) -> str:
    """Return ``name`` if it may name a table, a column or a dataset.

    Raises ParameterError, naming ``argument``, unless it is 1 to 100 printable characters in
    Unicode normal form C, without double quotes and without space at either end.

    >>> checked_name("case.id", "columns")
    'case.id'
    """
    if not isinstance(name, str):
        raise ParameterError(argument, f"a name must be text, got {type(name).__name__}")
    if not 1 <= len(name) <= LONGEST_NAME:
        raise ParameterError(argument, f"a name must have 1 to {LONGEST_NAME} characters")
    if not name.isprintable() or '"' in name or name != name.strip():
        raise ParameterError(
            argument,
            f"the name {name!r} must be printable, without double quotes and outer spaces",
        )
    if unicodedata.normalize("NFC", name) != name:
        raise ParameterError(argument, f"the name {name!r} must be in Unicode normal form C")
    return name


def check_distinct(names: Iterable[str], argument: str) -> None:
    """Raises ParameterError, naming ``argument``, if two names differ at most in case.

    >>> check_distinct(["age", "weight"], "columns")
    """
    seen: dict[str, str] = {}
    for name in names:
        earlier = seen.get(folded(name))
        if earlier is not None:
            raise ParameterError(
                argument, f"{earlier!r} and {name!r} are one name to SQL: rename one of them"
            )
        seen[folded(name)] = name


def find(identifier: str, quoted: bool, names: Iterable[str]) -> str | None:
    """The declared name that an identifier means, or None.

    >>> find("AGE", False, ["age"]), find("AGE", True, ["age"])
    ('age', None)
    """
    if quoted:
        exact = unicodedata.normalize("NFC", identifier)
        return next((name for name in names if name == exact), None)
    wanted = folded(identifier)
    return next((name for name in names if folded(name) == wanted), None)


@lru_cache(maxsize=10_000)
def folded(name: str) -> str:
    """The form in which two names are compared without regard to case."""
    return unicodedata.normalize("NFC", name.casefold())
