"""How far one unit moves each noisy column of a query, from its declaration alone, in units of
the column's last digit: docs/queries.md, "How one unit is bounded". Nothing is tested here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from interlace.query.schema import Dataset
from tests.differential.domains import Domain, domain, tables_of
from tests.differential.evaluator import centred, listed, most_groups, most_rows
from tests.differential.syntax import Aggregate, Arith, Expr, Query

Bounds = tuple[int, int, int, int]


@dataclass(frozen=True)
class Noisy:
    """A column of noisy numbers: of rows, units, a sum or a histogram; perhaps clamped."""

    kind: str
    of: Expr | None = None
    clamp: tuple[Fraction, Fraction] | None = None


def noisy_columns(query: Query, dataset: Dataset) -> tuple[Noisy, ...]:
    """What is read, each once, in the order in which it is needed."""
    found: dict[Noisy, None] = {}
    for item in query.items:
        if isinstance(item.what, Aggregate):
            found |= dict.fromkeys(_needed(item.what, tables_of(query, dataset)))
    return tuple(found)


def _needed(item: Aggregate, tables: Mapping[str, Any]) -> list[Noisy]:
    if item.kind in ("rows", "units"):
        return [Noisy(item.kind, None, item.clamp)]
    assert item.of is not None
    match item.kind:
        case "sum":
            return [Noisy("sum", item.of, item.clamp)]
        case "quantile":
            return [Noisy("histogram", item.of)]
    of, _ = centred(item.of, domain(item.of, tables))
    total = Noisy("sum", of)
    if item.kind == "avg":
        return [total, Noisy("rows")]
    return [Noisy("sum", Arith("*", of, of)), total, Noisy("rows")]


def cells(column: Noisy, query: Query, dataset: Dataset, groups: int | None = None) -> int:
    """How many numbers the column has, of so many groups."""
    groups = len(listed(query, dataset)) if groups is None else groups
    if column.kind != "histogram":
        return groups
    assert column.of is not None
    return groups * len([*domain(column.of, tables_of(query, dataset)).values()])


def stated(column: Noisy, query: Query, dataset: Dataset, shown: int) -> Bounds:
    """L0, L1, L2^2 and Linf of a column that is not clamped, of so many groups; noise has a
    scale even where nothing can move."""
    most = most_rows(query, dataset)
    groups = min(
        most_groups(query, dataset, column.of if column.kind == "histogram" else None),
        cells(column, query, dataset, shown),
    )
    if not query.keys and column.kind != "histogram":
        groups = 1
    one, total = most, most
    if column.kind == "units":
        one, total = 1, groups
    if column.kind == "sum":
        assert column.of is not None
        of = domain(column.of, tables_of(query, dataset))
        one = total = most * in_units(of)
    if one == 0:
        return 1, 1, 1, 1
    moved = min(groups * one, total)
    full, rest = divmod(moved, one)
    return groups, moved, full * one**2 + rest**2, one


def in_units(of: Domain) -> int:
    """max(|l|, |u|) in units of the last digit."""
    return int(of.largest * 10**of.digits)


def largest(query: Query, dataset: Dataset) -> int:
    """No number that a query deals with is larger, in units of its last digit."""
    numbers = [
        in_units(domain(column.of, tables_of(query, dataset)))
        for column in noisy_columns(query, dataset)
        if column.kind == "sum" and column.of is not None
    ]
    return most_rows(query, dataset) * max(numbers, default=1)


def moved(before: Sequence[int], after: Sequence[int]) -> Bounds:
    """L0, L1, L2^2 and Linf of what really moved."""
    gaps = [abs(left - right) for left, right in zip(before, after, strict=True)]
    return (
        sum(gap > 0 for gap in gaps),
        sum(gaps),
        sum(gap**2 for gap in gaps),
        max(gaps, default=0),
    )
