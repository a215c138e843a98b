"""Columns, tables and mechanisms in words and numbers, for a statement. Public metadata only."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from fractions import Fraction
from typing import assert_never

from interlace.core.mechanisms.codec import Served
from interlace.core.mechanisms.gaussian import Gaussian
from interlace.core.mechanisms.guess_and_check import GuessAndCheck
from interlace.core.mechanisms.laplace import Laplace
from interlace.core.mechanisms.sparse_vector import SparseVector
from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer
from interlace.query.schema import Table

#: So many texts of a category are spelt out for a reader.
_MOST_LISTED = 20


def domain_of(kind: Column) -> str:
    """What a column may hold.

    >>> domain_of(Decimal(0, "9.5", 1)), domain_of(Category(["f", "m"]))
    ('a number from 0 to 9.5 with 1 decimals', 'one of 2 texts: f, m')
    """
    match kind:
        case Integer():
            return f"a whole number from {kind.lower} to {kind.upper}"
        case Decimal():
            low, high = _plain(kind.lower), _plain(kind.upper)
            return f"a number from {low} to {high} with {kind.digits} decimals"
        case Day():
            return f"a day from {kind.lower.isoformat()} to {kind.upper.isoformat()}"
        case Category():
            listed = ", ".join(kind.values[:_MOST_LISTED])
            more = len(kind.values) - _MOST_LISTED
            rest = f", and {more} more (all in the JSON form)" if more > 0 else ""
            return f"one of {len(kind.values)} texts: {listed}{rest}"
        case Boolean():
            return "TRUE or FALSE"
        case _:
            assert_never(kind)


def missing_of(kind: Column) -> str:
    """What is done with a value that is missing.

    >>> missing_of(Integer(0, 9)), missing_of(Integer(0, 9, missing=3))
    ('the row is dropped', 'counts as 3')
    """
    return _done(kind.missing)


def misfit_of(kind: Column) -> str:
    """What is done with a value that is there and does not fit.

    >>> misfit_of(Integer(0, 9)), misfit_of(Category(["f", "m"], unknown="f"))
    ('moved to the nearest bound', 'counts as f')
    """
    match kind:
        case Category():
            return _done(kind.unknown)
        case Boolean():
            return "is missing"
        case _:
            clamped = kind.out_of_range == "clamp"
            return "moved to the nearest bound" if clamped else "the row is dropped"


def rows_of(table: Table) -> str:
    """How many rows a unit may have, and what is done with more.

    >>> rows_of(Table("labs", {"x": Integer(0, 9)}, 60))
    '60; a count or sum over more is clamped to what 60 can give, by groups so many rows count'
    """
    rows = table.rows_per_unit
    if rows == 1:
        return "1; a table with more is not registered"
    return (
        f"{rows}; a count or sum over more is clamped to what {rows} can give, by groups so many "
        "rows count"
    )


def keys_of(table: Table) -> str:
    """For how many keys of each key set a unit counts.

    >>> from interlace.query.schema import KeySet
    >>> keys_of(Table("labs", {"x": Integer(0, 9)}, 60, [KeySet(("x",), 3)]))
    '3 keys of (x)'
    """
    return "; ".join(f"{s.keys_per_unit} keys of ({', '.join(s.columns)})" for s in table.key_sets)


def _done(put: object) -> str:
    return "the row is dropped" if put == "drop" else f"counts as {_plain(put)}"


def _plain(value: object) -> str:
    if isinstance(value, Fraction) and value.denominator != 1:
        return str(float(value)) if Fraction(repr(float(value))) == value else str(value)
    if isinstance(value, bool):
        return str(value).upper()
    return value.isoformat() if isinstance(value, datetime.date) else str(value)


@dataclass(frozen=True)
class Noise:
    """One noise law of a mechanism, with its exact scale; with ``norm``, that of a query which
    moves by ``sensitivity`` in it, and in proportion for others."""

    added_to: str
    law: str
    scale: Fraction
    norm: str | None = None
    sensitivity: int | None = None

    def json(self) -> dict[str, str | int]:
        """Its fields, the scale as text."""
        found = {"added_to": self.added_to, "law": self.law, "scale": str(self.scale)}
        if self.norm is None or self.sensitivity is None:
            return {**found}
        return {**found, "norm": self.norm, "sensitivity": self.sensitivity}


def noises(mechanism: Served) -> list[Noise]:
    """The noise laws of a mechanism.

    >>> [str(n.scale) for n in noises(SparseVector(epsilon=1, threshold_share=0.5))]
    ['2', '4']
    """
    match mechanism:
        case Laplace():
            per = f"each value, {mechanism.answers} at most"
            scale, reach = mechanism.scale, mechanism.sensitivity
            return [Noise(per, "discrete Laplace", scale, "l1", reach)]
        case Gaussian():
            per = f"each value, {mechanism.answers} at most"
            scale, reach = mechanism.sigma, mechanism.sensitivity
            return [Noise(per, "discrete Gaussian", scale, "l2", reach)]
        case SparseVector():
            opening, query = mechanism.opening().scale, mechanism.query_noise().scale
            passes = f"each comparison until {mechanism.cutoff} passed"
            return [
                Noise("the threshold, once", "discrete Laplace", opening),
                Noise(passes, "discrete Laplace", query),
            ]
        case GuessAndCheck():
            return [*noises(mechanism.check), *noises(mechanism.measure)]
        case _:
            assert_never(mechanism)
