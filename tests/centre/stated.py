"""A centre with something to state, and what its custodian adds, for the tests that share it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

import interlace as il
from interlace.centre import Centre
from tests.centre.support import clinic

m = il.mechanisms

DETAILS: dict[str, Any] = {
    "url_slug": "clinic",
    "status": "Draft",
    "tier": 3,
    "basic": {
        "name": "Clinic",
        "data_curators": [{"data_curator_name": "The clinic"}],
        "intended_use": "research",
        "region": "Utopia",
        "description": "counts",
        "publication_date": "2026-01-01",
        "sector": "Health",
    },
    "dp_variant": {"unprotected_quantities": "none"},
    "implementation": {"justification": "by the ethics board"},
    "administrative": {"registry_authors": ["the custodian"]},
}


def register(centre: Centre, name: str, **arguments: Any) -> None:
    frame = pd.DataFrame({"id": range(3), "income": [1, 2, 3]})
    centre.register(frame, name=name, unit="id", columns={"income": il.Integer(0, 9)}, **arguments)


def build(folder: Path) -> Centre:
    """Two domains, two analysts, five sessions, two of them one plan."""
    centre = clinic(folder)
    register(centre, "homes", domain="households", rows_per_unit=4)
    ada = centre.account("ada", quota=il.PureDP(1))
    ben = centre.account("ben", quota=il.PureDP(0.5))
    ada.open(m.SparseVector(epsilon=0.25, cutoff=2, threshold_share=0.5), "people")
    ada.open(m.Laplace(epsilon=0.125, answers=2), "homes")
    ada.open(m.Laplace(epsilon=0.125, answers=2), "homes")
    ben.plan([m.Laplace(scale=16), m.GuessAndCheck(epsilon=0.0625, tolerance=5)], "people")
    return centre
