"""Queries as values: what the evaluator evaluates and the printer prints. Nothing is tested here.

Written from docs/queries.md alone; no code is shared with ``interlace.query``.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Literal

Value = Fraction | str | datetime.date | bool


@dataclass(frozen=True)
class Ref:
    """A column of one of the query's sources, by the name that the query gives to it."""

    source: str
    column: str


@dataclass(frozen=True)
class Lit:
    value: Value


@dataclass(frozen=True)
class Arith:
    """Of numbers; "-" also of two days."""

    sign: Literal["+", "-", "*"]
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Neg:
    inner: Expr


@dataclass(frozen=True)
class Abs:
    inner: Expr


@dataclass(frozen=True)
class Clamp:
    inner: Expr
    lower: Fraction
    upper: Fraction


@dataclass(frozen=True)
class Case:
    branches: tuple[tuple[Condition, Expr], ...]
    otherwise: Expr


@dataclass(frozen=True)
class Part:
    """``part`` is year, quarter, month, day or isodow."""

    part: str
    inner: Expr


@dataclass(frozen=True)
class Trunc:
    """``period`` is year, quarter, month or week."""

    period: str
    inner: Expr


@dataclass(frozen=True)
class Bucket:
    inner: Expr
    width: Fraction
    origin: Fraction | datetime.date | None = None


@dataclass(frozen=True)
class Compare:
    sign: Literal["=", "<>", "<", "<=", ">", ">="]
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Between:
    inner: Expr
    lower: Expr
    upper: Expr
    negated: bool = False


@dataclass(frozen=True)
class In:
    inner: Expr
    values: tuple[Value, ...]
    negated: bool = False


@dataclass(frozen=True)
class And:
    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Or:
    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Not:
    inner: Condition


Expr = Ref | Lit | Arith | Neg | Abs | Clamp | Case | Part | Trunc | Bucket
Condition = Compare | Between | In | And | Or | Not | Ref | Lit
Node = Expr | Condition


@dataclass(frozen=True)
class Source:
    """A table of FROM or JOIN. ``name`` is what the query calls it: its alias or its own name.

    The first has no ``join``; "unit" joins a table of units, "public" a public table whose key
    is to equal ``by``. ``using`` says how it is written.
    """

    table: str
    name: str
    join: Literal["", "unit", "public"] = ""
    by: Ref | None = None
    using: bool = False


@dataclass(frozen=True)
class Aggregate:
    """``kind`` is rows, units, sum, avg, quantile or one of var_pop, var_samp, stddev_pop and
    stddev_samp; ``clamp`` is what stands around a rows or sum."""

    kind: str
    of: Expr | None = None
    q: Fraction | None = None
    clamp: tuple[Fraction, Fraction] | None = None


@dataclass(frozen=True)
class Item:
    """An aggregate, or the key of that place; with the name that the answer has for it."""

    what: Aggregate | int
    name: str


@dataclass(frozen=True)
class Query:
    sources: tuple[Source, ...]
    items: tuple[Item, ...]
    where: Condition | None = None
    keys: tuple[Expr, ...] = ()


def refs(node: object) -> Iterator[Ref]:
    """All columns that stand in a part of a query."""
    if isinstance(node, Ref):
        yield node
    elif isinstance(node, tuple):
        for part in node:
            yield from refs(part)
    elif is_dataclass(node):
        for item in fields(node):
            yield from refs(getattr(node, item.name))


def within(part: object, node: object) -> bool:
    """Whether a part of a query holds another, perhaps deep inside."""
    if isinstance(node, tuple):
        return any(within(part, item) for item in node)
    if not is_dataclass(node):
        return False
    return part == node or any(within(part, getattr(node, f.name)) for f in fields(node))


def conjuncts(where: Condition | None) -> Iterator[Condition]:
    """What AND joins at the top."""
    if isinstance(where, And):
        for part in where.parts:
            yield from conjuncts(part)
    elif where is not None:
        yield where
