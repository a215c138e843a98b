"""A small clinic that is always the same, in which no bound bites. Nothing is tested here."""

from __future__ import annotations

import datetime
from fractions import Fraction

from interlace.query.columns import Boolean, Category, Day, Decimal, Integer
from interlace.query.schema import Dataset, KeySet, PublicTable, Table
from tests.differential.meaning import Values
from tests.differential.support import Rows

LABS = ["hdl", "chol", "it's", "größe"]
SEXES = ["male", "female"]
KINDS = ["blood", "urine"]
REGIONS = ["north", "south", "east"]
NEW_YEAR = datetime.date(2024, 1, 1)

CLINIC = Dataset(
    "clinic",
    "id",
    (
        Table(
            "people",
            {
                "age": Integer(0, 99),
                "sex": Category(SEXES),
                "smoker": Boolean(),
                "born": Day("1925-01-01", "2023-12-31"),
                "income": Decimal(-50, 500, 2),
            },
        ),
        Table(
            "labs",
            {
                "lab": Category(LABS),
                "value": Integer(-5, 500),
                "price": Decimal(0, 10, 2),
                "taken": Day("2023-11-05", "2024-03-31"),
                "urgent": Boolean(),
                "site": Integer(1, 6),
            },
            rows_per_unit=12,
            key_sets=[KeySet(("lab",), 4), KeySet(("site", "urgent"), 12)],
        ),
        Table(
            "visits",
            {
                "site": Integer(1, 6),
                "days": Integer(0, 30),
                "Day in": Day("2024-01-01", "2024-12-31"),
            },
            rows_per_unit=5,
        ),
    ),
    (
        PublicTable(
            "sites",
            "site",
            {"site": Integer(1, 6), "region": Category(REGIONS), "beds": Integer(0, 200)},
        ),
        PublicTable(
            "names", "lab", {"lab": Category(LABS), "kind": Category(KINDS), "fasting": Boolean()}
        ),
    ),
)


def _day(first: datetime.date, days: int) -> datetime.date:
    return first + datetime.timedelta(days)


PEOPLE: list[tuple[int, Values]] = [
    (
        unit,
        {
            "age": Fraction(unit * 37 % 100),
            "sex": SEXES[unit % 3 % 2],
            "smoker": unit % 4 == 1,
            "born": _day(datetime.date(1925, 1, 1), unit * 7919 % 36000),
            "income": Fraction(unit * 12347 % 55000, 100) - 50,
        },
    )
    for unit in range(1, 15)
]
LAB_ROWS: list[tuple[int, Values]] = [
    (
        1 + row * 5 % 16,
        {
            "lab": LABS[row * row % 7 % 4],
            "value": Fraction((row * 97) % 506 - 5),
            "price": Fraction(row * 331 % 1001, 100),
            "taken": _day(datetime.date(2023, 11, 5), row * 29 % 148),
            "urgent": row % 5 == 0,
            "site": Fraction(1 + row * row % 6),
        },
    )
    for row in range(70)
]
VISITS: list[tuple[int, Values]] = [
    (
        1 + row * 3 % 13,
        {
            "site": Fraction(1 + row % 6),
            "days": Fraction(row * 17 % 31),
            "Day in": _day(NEW_YEAR, row * 101 % 366),
        },
    )
    for row in range(33)
]
ROWS: dict[str, Rows] = {"people": PEOPLE, "labs": LAB_ROWS, "visits": VISITS}
PUBLIC: dict[str, list[Values]] = {
    "sites": [
        {
            "site": Fraction(site),
            "region": REGIONS[site * site % 3],
            "beds": Fraction(site * 35 % 200),
        }
        for site in range(1, 6)  # nothing is known of site 6
    ],
    "names": [
        {"lab": lab, "kind": KINDS[place % 2], "fasting": place == 1}
        for place, lab in enumerate(LABS)
    ],
}
