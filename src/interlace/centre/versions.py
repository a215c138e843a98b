"""Which version of a dataset a registration makes, and what no version may change.

A new version is a new snapshot of the same units: it spends the same quotas, for a filter does
not ask which version a mechanism reads (R10). That holds for versions that do not depend on
answers; one that does needs the continual model (FORMULAS 11), which is not claimed.
"""

from __future__ import annotations

from collections.abc import Sequence

from interlace.centre.records import UNITS, DatasetRecord
from interlace.core.errors import NameTaken, ParameterError
from interlace.core.exact import natural
from interlace.query.schema import Dataset


def next_version(
    dataset: Dataset, domain: str | None, wanted: int | None, known: Sequence[DatasetRecord]
) -> tuple[int, str]:
    """The version that a registration makes, and the domain of its units.

    ``known`` are all versions that there are. A name that is registered already is meant only
    where ``wanted`` says so, by the number that comes next; ``domain`` may then be left out.

    Raises NameTaken for a version that exists, ParameterError for another number, and for a
    unit or a domain that is not that of the version before.
    """
    if wanted is not None:
        wanted = natural(wanted, "version")
    earlier = [record for record in known if record.dataset.name == dataset.name]
    version = len(earlier) + 1
    if wanted is not None and wanted > version:
        raise ParameterError("version", f"the next one of {dataset.name!r} is {version}")
    if not earlier:
        return 1, UNITS if domain is None else domain
    if wanted != version:
        raise NameTaken(
            f"dataset {dataset.name!r} is registered already, its version {len(earlier)} is the "
            f"latest: use it as it is, choose another name, or say version={version} (in the shell "
            f"--version {version}) for a new snapshot of the same units"
        )
    before = earlier[-1]
    if dataset.unit != before.dataset.unit:
        raise ParameterError(
            "unit",
            f"must stay {before.dataset.unit!r} in all versions: register other units under "
            "another name",
        )
    if domain not in (None, before.domain):
        raise ParameterError(
            "domain", f"must stay {before.domain!r} in all versions: they are of the same units"
        )
    return version, before.domain


def follows(record: DatasetRecord, known: Sequence[DatasetRecord]) -> bool:
    """Whether ``record`` may have been registered after all that are ``known``."""
    try:
        made = next_version(record.dataset, record.domain, record.version, known)
    except (NameTaken, ParameterError):
        return False
    return made == (record.version, record.domain)
