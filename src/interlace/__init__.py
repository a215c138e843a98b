"""Interlace: a data centre for interactive differential privacy.

The public API. Importing it loads nothing but the standard library; engines, ledger and SQL
parser are loaded when a centre is opened.

>>> import interlace as il
>>> il.compose([(il.PureDP(0.1), 100)]).epsilon(1e-6) < 4.775
True
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from interlace.core import mechanisms
from interlace.core.composition import (
    Assembly,
    Batch,
    Composition,
    Filter,
    Odometer,
    Reading,
    compose,
    plan,
    scales,
)
from interlace.core.errors import (
    BudgetExceeded,
    Closed,
    DataError,
    EngineError,
    InterlaceError,
    KeyConflict,
    LedgerCorrupt,
    LedgerError,
    NameTaken,
    NotFound,
    ParameterError,
    QueryRefused,
    RelationMismatch,
    SessionHalted,
    SessionVoid,
    Unproven,
)
from interlace.core.guarantees import (
    TCDP,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    Relation,
    RenyiDP,
    losses,
)
from interlace.query.columns import Boolean, Category, Day, Decimal, Integer
from interlace.query.schema import Dataset, KeySet, PublicTable, Table

if TYPE_CHECKING:
    from interlace import interchange
    from interlace.centre import (
        Account,
        Accuracy,
        Answer,
        Audit,
        Centre,
        CoalitionGuarantee,
        Dummy,
        Registration,
        Session,
        Statement,
    )
    from interlace.core.finite import FinitePair, interleave
    from interlace.ledger import Head
    from interlace.query import builder as sql
    from interlace.query.explain import Explanation, explain
    from interlace.verify import verify

__version__ = "0.1.0"

__all__ = [
    "TCDP",
    "ZCDP",
    "Account",
    "Accuracy",
    "Answer",
    "ApproxDP",
    "Assembly",
    "Audit",
    "Batch",
    "Boolean",
    "BudgetExceeded",
    "Category",
    "Centre",
    "Closed",
    "CoalitionGuarantee",
    "Composition",
    "DataError",
    "Dataset",
    "Day",
    "Decimal",
    "Dummy",
    "EngineError",
    "Explanation",
    "Filter",
    "FinitePair",
    "GaussianDP",
    "Guarantee",
    "Integer",
    "InterlaceError",
    "KeyConflict",
    "KeySet",
    "LedgerCorrupt",
    "LedgerError",
    "NameTaken",
    "NotFound",
    "Odometer",
    "ParameterError",
    "PublicTable",
    "PureDP",
    "QueryRefused",
    "Reading",
    "Registration",
    "Relation",
    "RelationMismatch",
    "RenyiDP",
    "Session",
    "SessionHalted",
    "SessionVoid",
    "Statement",
    "Table",
    "Unproven",
    "compose",
    "explain",
    "interchange",
    "interleave",
    "losses",
    "mechanisms",
    "open",
    "plan",
    "restore",
    "scales",
    "sql",
    "verify",
]


def open(path: str | Path, *, head: str | None = None) -> Centre:  # noqa: A001  il.open(path)
    """Open the data centre in the folder ``path``, or create one there.

    Any number of threads and processes may have it open. ``head`` is SEQ:HASH as ``interlace
    ledger verify`` printed it: the ledger must go through it, as through the head that this
    user's state directory keeps.

    Raises LedgerError for a folder that holds something else or cannot be written, and where
    the keys of its secrets are missing; LedgerCorrupt for an older copy that was put back.
    """
    from interlace.centre import Centre

    return Centre(path, head=head)


def restore(path: str | Path) -> Head:
    """Go on with an older copy of a centre's folder: all its sessions are void and all its
    accounts have spent their quotas from now on (FORMULAS 11). Returns the new head.

    Raises LedgerError for a folder without a ledger, LedgerCorrupt for a chain that is broken.
    """
    from interlace.centre import restore

    return restore(path)


def __getattr__(name: str) -> object:
    # What needs engines and ledger, or is large, is imported at its first use.
    if name in {
        "Account",
        "Accuracy",
        "Answer",
        "Audit",
        "Centre",
        "CoalitionGuarantee",
        "Dummy",
        "Registration",
        "Session",
        "Statement",
    }:
        from interlace import centre

        return getattr(centre, name)
    if name in {"FinitePair", "interleave"}:
        from interlace.core import finite

        return getattr(finite, name)
    if name in {"Explanation", "explain"}:
        from interlace.query import explain

        return getattr(explain, name)
    if name == "sql":
        return importlib.import_module("interlace.query.builder")
    if name in {"interchange", "verify"}:
        # Packages, of which verify is called as its function: importing one puts it here anyway.
        return importlib.import_module(f"interlace.{name}")
    raise AttributeError(f"module 'interlace' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
