"""What a centre checks of a custodian's arguments before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from interlace.centre.names import checked_name
from interlace.centre.records import AccountRecord
from interlace.core.composition.filters import Budget, Filter
from interlace.core.errors import LedgerError, NameTaken, ParameterError, RelationMismatch
from interlace.core.exact import Real
from interlace.core.guarantees import ApproxDP, Relation

#: What a centre's folder may hold; anything else is somebody's.
_OURS = ("ledger", "locks", "snapshots", ".")


def checked_folder(folder: str | Path) -> Path:
    """The path of a folder that is a centre's or empty. Raises ParameterError, LedgerError."""
    if not isinstance(folder, str | Path) or "\0" in str(folder):
        raise ParameterError("path", "must be the path of a folder")
    path = Path(folder)
    try:
        strangers = path.is_dir() and any(
            not found.name.startswith(_OURS) for found in path.iterdir()
        )
    except OSError:
        raise LedgerError(f"{folder!r} is not a folder that this user can read") from None
    if strangers and not (path / "snapshots").is_dir():
        raise LedgerError(f"{path} holds other files: give a centre a folder of its own")
    return path


def checked_filter(quota: Budget, rule: str | None, structural: Real | None = None) -> Filter:
    """The account's filter. Raises for a quota or a rule that a centre cannot promise."""
    check_promise(quota, "quota")
    return Filter(quota, rule, structural=structural)


def check_promise(guarantee: Budget, argument: str) -> None:
    """Raises ParameterError or RelationMismatch for a guarantee that a centre cannot promise."""
    if not isinstance(guarantee, Budget):
        raise ParameterError(
            argument, f"must be a guarantee of one notion, got {type(guarantee).__name__}"
        )
    if guarantee.relation is not Relation.ADD_REMOVE:
        raise RelationMismatch(f"{argument}: the centre's neighbours add or remove one unit (R10)")
    if isinstance(guarantee, ApproxDP) and guarantee.delta0 == 1:
        raise ParameterError(argument, "delta = 1 promises nothing: delta is the second argument")


def same(known: AccountRecord, wanted: AccountRecord) -> AccountRecord:
    """The account that exists, if it is the one that is wanted. Raises NameTaken."""
    terms = [(a.quota, a.rule, a.structural, a.expires) for a in (known, wanted)]
    if terms[0] != terms[1]:
        raise NameTaken(
            f"account {known.name!r} exists with quota {known.quota}, rule {known.rule!r} and "
            f"expiry {known.expires}: get it without quota=, or choose another name"
        )
    return known


def check_left_out(given: Mapping[str, object], why: str) -> None:
    """Raises ParameterError for the first argument that was given."""
    for argument, value in given.items():
        if value is not None:
            raise ParameterError(argument, f"{why}: leave it out")


def checked_domain(domain: str | None) -> str | None:
    """The name of a population of units, if one is named. Raises ParameterError for another
    thing than a name."""
    return None if domain is None else checked_name(domain, "domain")


def checked_coalition(coalition: Iterable[str]) -> list[str]:
    """The names of a coalition. Raises ParameterError for none or a repeated one."""
    if isinstance(coalition, str) or not isinstance(coalition, Iterable):
        raise ParameterError("coalition", "must be a list of account names")
    names = [checked_name(name, "coalition") for name in coalition]
    if not names or len(set(names)) < len(names):
        raise ParameterError("coalition", "must name at least one account, each once")
    return names
