"""A declared dataset that the tests of the query language share. There is no data."""

from __future__ import annotations

from interlace.query.columns import Boolean, Category, Day, Decimal, Integer
from interlace.query.schema import Dataset, Table

CLINIC = Dataset(
    "clinic",
    "id",
    (
        Table(
            "labs",
            {
                "value": Integer(-5, 500),
                "test": Category(["hdl", "chol", "it's", "größe"]),
                "male": Boolean(),
                "price": Decimal(0, 10, 2),
                "seen": Day("2020-01-01", "2020-12-31"),
                "date": Integer(0, 3),
                "case.id": Integer(0, 9),
                "huge": Integer(0, 2**40),
            },
            rows_per_unit=60,
        ),
        Table("people", {"age": Integer(0, 120), "debt": Integer(-100, -10)}),
    ),
)
