"""A small centre that the tests of the centre share."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

import interlace as il
from interlace.centre import Centre

PEOPLE = 400
WOMEN = 250


def people() -> pd.DataFrame:
    """400 people, 250 of them women, each with one row; ages 20 to 59 and a fee of 0.25."""
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(PEOPLE)],
            "age": [20 + i % 40 for i in range(PEOPLE)],
            "sex": ["f" if i < WOMEN else "m" for i in range(PEOPLE)],
            "fee": [0.25] * PEOPLE,
        }
    )


def clinic(folder: Path) -> Centre:
    """A centre in ``folder`` with the people registered as the dataset "people"."""
    centre = il.open(folder)
    centre.register(
        people(),
        name="people",
        unit="id",
        columns={
            "age": il.Integer(0, 120),
            "sex": il.Category(["f", "m"]),
            "fee": il.Decimal(0, 10, digits=2),
        },
    )
    return centre


WOMEN_SQL = "SELECT COUNT(*) FROM people WHERE sex = 'f'"
ALL_SQL = "SELECT COUNT(*) FROM people"
