"""Declared datasets that the tests of the query language share. There is no data."""

from __future__ import annotations

from interlace.query.columns import Boolean, Category, Day, Decimal, Integer
from interlace.query.plan import Plan
from interlace.query.schema import Dataset, KeySet, PublicTable, Table

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

#: For joins: two tables of several rows of a unit, one of one, and public ones, of which `wards`
#: can be reached from `rooms` only.
HOSPITAL = Dataset(
    "hospital",
    "id",
    (
        Table("people", {"age": Integer(0, 120), "male": Boolean()}),
        Table(
            "labs",
            {
                "lab": Category(["north", "south"]),
                "kind": Category(["a", "b", "c"]),
                "value": Decimal(0, 50, 1),
                "seen": Day("2020-01-01", "2020-12-31"),
                "open": Boolean(),
            },
            rows_per_unit=5,
            key_sets=[KeySet(("lab", "kind"), keys_per_unit=2)],
        ),
        Table(
            "visits",
            {
                "room": Integer(1, 20),
                "kind": Category(["a", "b"]),
                "seen": Day("2020-01-01", "2020-06-30"),
            },
            rows_per_unit=3,
        ),
    ),
    (
        PublicTable("names", "lab", {"lab": Category(["north", "south"]), "rural": Boolean()}),
        PublicTable("rooms", "room", {"room": Integer(1, 20), "ward": Integer(1, 4)}),
        PublicTable("wards", "ward", {"ward": Integer(1, 4), "beds": Integer(0, 99)}),
        PublicTable("kinds", "kind", {"kind": Category(["b", "a"]), "price": Decimal(0, 9, 2)}),
    ),
)


def same(left: Plan, right: Plan) -> bool:
    """Whether two plans ask for the same numbers, however their columns are called."""
    texts = left.text == right.text and hash(left) == hash(right)
    keys = [key for _, key in left.keys] == [key for _, key in right.keys]
    groups = [key.codes for _, key in left.keys] == [key.codes for _, key in right.keys]
    froms = (left.dataset, left.joined, left.where) == (right.dataset, right.joined, right.where)
    shares = left.shares == right.shares and left.monotone == right.monotone
    return texts and keys and groups and froms and left.parts == right.parts and shares
