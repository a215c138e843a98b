"""EXPLAIN PRIVACY: what a query comes to and what it costs, from text and metadata alone."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

from interlace.core.errors import InterlaceError, ParameterError
from interlace.core.laws import DiscreteGaussian, DiscreteLaplace, Law, Vector, parts_of
from interlace.core.mechanisms import Gaussian, Laplace
from interlace.core.mechanisms.additive import Additive
from interlace.core.mechanisms.codec import Served
from interlace.core.mechanisms.protocol import CONFIDENCE
from interlace.core.queries import Query
from interlace.query.estimates import Mean, Quantile, Spread
from interlace.query.fixed_point import Number, in_units
from interlace.query.parse import parse
from interlace.query.parts import Part
from interlace.query.plan import Item, Plan
from interlace.query.predicates import condition_refs, refs
from interlace.query.schema import Dataset
from interlace.query.selection import score_sensitivity
from interlace.query.terms import Ref
from interlace.query.text import Writer

#: What a price is told for, if nothing else is asked for.
EXAMPLES: tuple[Served, ...] = (Laplace(epsilon=1), Gaussian(rho=Fraction(1, 2)))
_PREFIX = re.compile(r"\s*EXPLAIN\s+PRIVACY\b", re.IGNORECASE)


@dataclass(frozen=True)
class PartExplained:
    """A noisy part: how many numbers it has and how far one unit moves them, in its own units
    (the squares of l2 in their squares)."""

    text: str
    cells: int
    lower: Number
    upper: Number
    l0: int
    l1: Number
    l2_squared: Number
    linf: Number


@dataclass(frozen=True)
class Price:
    """One answer by a mechanism: what it costs, and for each part the expected absolute error of
    one number and the radius within which all numbers of all parts lie with 95 %; both of the
    noise alone. Or why the mechanism does not take the query."""

    mechanism: str
    guarantee: str
    expected_error: tuple[float, ...]
    radius: tuple[Number, ...]
    refused: str | None = None


@dataclass(frozen=True)
class Explanation:
    """What ``explain`` finds."""

    sql: str
    bounded: tuple[str, ...]
    parts: tuple[PartExplained, ...]
    prices: tuple[Price, ...]
    bias: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values; decimals as text."""
        plain: dict[str, Any] = _plain(asdict(self))
        return plain

    def __str__(self) -> str:
        lines = [self.sql, "", "bounded by", *(f"  {line}" for line in self.bounded), ""]
        lines += map(_part_line, self.parts)
        lines += ["", "noise of one answer (expected error; 95 % of all within)"]
        lines += [f"  {_line(price)}" for price in self.prices]
        return "\n".join([*lines, "", "bias", *(f"  {line}" for line in self.bias)])


def explain(sql: str, dataset: Dataset, mechanisms: Sequence[Served] = EXAMPLES) -> Explanation:
    """What a query comes to: the bounded plan, how far one unit moves each noisy part, what an answer
    costs and how exact it is by each of the ``mechanisms``, and what bounding may change.

    ``sql`` may begin with EXPLAIN PRIVACY. Reads the declaration only, and costs nothing. Raises
    QueryRefused as asking does.

    >>> from interlace.query.columns import Integer
    >>> from interlace.query.schema import Table
    >>> labs = Table("labs", {"value": Integer(0, 500)}, rows_per_unit=60)
    >>> found = explain("EXPLAIN PRIVACY SELECT SUM(value) FROM labs", Dataset("c", "id", (labs,)))
    >>> found.parts[0].l1, found.prices[0].radius
    (30000, (89872,))
    """
    return explained(parse(without_prefix(sql), dataset), mechanisms)


def without_prefix(sql: str) -> str:
    """The query that EXPLAIN PRIVACY stands before, at its place: positions in a refusal stay what
    they are.

    >>> without_prefix("explain privacy SELECT 1")
    '                SELECT 1'
    """
    prefix = _PREFIX.match(sql) if isinstance(sql, str) else None
    return sql if prefix is None else re.sub(r"\S", " ", prefix[0]) + sql[prefix.end() :]


def explained(plan: Plan, mechanisms: Sequence[Served]) -> Explanation:
    """The explanation of a plan."""
    return Explanation(
        plan.text,
        tuple(_bounded(plan)),
        tuple(_explained(plan, part) for part in plan.parts),
        tuple(_price(plan, mechanism) for mechanism in mechanisms),
        tuple(dict.fromkeys(_bias(plan))) or ("none: nothing is cut or left out",),
    )


def _explained(plan: Plan, part: Part) -> PartExplained:
    low, high = (in_units(end, part.digits) for end in part.bounds)
    moved = part.sensitivity
    return PartExplained(
        _named(plan, part),
        part.size,
        low,
        high,
        moved.l0,
        in_units(moved.l1, part.digits),
        in_units(moved.l2_squared, 2 * part.digits),
        in_units(moved.linf, part.digits),
    )


def _named(plan: Plan, part: Part) -> str:
    write = Writer(plan.joined.single)
    text = write.aggregate(part, plan.dataset.unit)
    keys = ", ".join(write.term(key.term) for key in part.keys)
    return f"{text} for each {keys}" if keys else text


def _bounded(plan: Plan) -> Iterator[str]:
    """The steps that bound a unit, in order."""
    for table in plan.joined.tables:
        rows = table.rows_per_unit
        yield f"{table.name}: one unit has at most {rows:,} row{'s' * (rows != 1)}"
    keyed = [part for part in plan.parts if part.keys]
    if keyed or plan.joined.multiplied:
        for table in plan.joined.tables:
            if table.rows_per_unit > 1:
                yield f"{table.name}: rows of rank 1 to {table.rows_per_unit:,} count"
        for limit in dict.fromkeys(limit for part in keyed for limit in part.limits):
            listed = ", ".join(_key_set(plan, limit.table, limit.index))
            yield f"{limit.table}: keys ({listed}) of rank 1 to {limit.most:,} count"
    for part in plan.parts:
        if (part.per_unit and plan.joined.rows > 1) or part.clamp is not None:
            low, high = (in_units(end, part.digits) for end in part.bounds)
            yield f"{_named(plan, part)}: what a unit adds is clamped to [{low:,}, {high:,}]"


def _key_set(plan: Plan, table: str, index: int) -> tuple[str, ...]:
    found = plan.dataset.table(table, quoted=True)
    assert found is not None
    return found.key_sets[index].columns


def _price(plan: Plan, mechanism: Served) -> Price:
    guarantee = str(mechanism.guarantee)
    try:
        within = mechanism.within(plan, CONFIDENCE)
    except InterlaceError as error:
        problem = error.problem if isinstance(error, ParameterError) else str(error)
        return Price(str(mechanism), guarantee, (), (), problem)
    radii = zip(within.radii, plan.parts, strict=True)
    errors: tuple[float, ...] = ()
    if isinstance(mechanism, Additive):
        laws = parts_of(mechanism.law(Query(plan)))
        errors = tuple(
            _expected_error(one) / 10**part.digits
            for one, part in zip(laws, plan.parts, strict=True)
        )
    radius = tuple(in_units(found, part.digits) for found, part in radii)
    return Price(str(mechanism), guarantee, errors, radius)


def _expected_error(law: Law) -> float:
    """E|Z|: of the discrete Laplace law 1/sinh(1/scale), of the Gaussian about
    sigma sqrt(2/pi)."""
    if isinstance(law, Vector):
        law = law.law
    if isinstance(law, DiscreteLaplace):
        inverse = float(1 / law.scale)
        return 1 / math.sinh(inverse) if inverse < 700 else 0.0
    assert isinstance(law, DiscreteGaussian)
    return float(law.sigma) * math.sqrt(2 / math.pi)


def _bias(plan: Plan) -> Iterator[str]:
    for part in plan.parts:
        many = plan.joined.rows > 1 and not plan.joined.multiplied
        clamped = part.clamp is not None or (not part.keys and many)
        if clamped and part.kind != "units":
            yield f"{_named(plan, part)}: what a unit adds beyond the clamp is lost"
    yield from _left_out(plan)
    yield from _registered(plan)
    for item in plan.items:
        yield from _of_item(plan, item)


def _left_out(plan: Plan) -> Iterator[str]:
    keyed = [part for part in plan.parts if part.keys]
    for table in plan.joined.tables if keyed or plan.joined.multiplied else ():
        if table.rows_per_unit > 1:
            yield f"{table.name}: a unit's rows beyond {table.rows_per_unit:,} are left out"
    for part in keyed:
        for limit in part.limits:
            yield f"{limit.table}: a unit counts for {limit.most:,} of its keys, others are left out"


def _of_item(plan: Plan, item: Item) -> Iterator[str]:
    column = item.column
    if isinstance(column, Mean | Spread):
        yield (
            f"{item.text}: a quotient of noisy numbers, biased where a group is as small as the "
            "noise"
        )
    if isinstance(column, Spread) and column.factor > 1:
        unit = in_units(column.factor, column.mean.digits)
        yield f"{item.text}: squares of numbers that are rounded to {unit}"
    if isinstance(column, Quantile):
        moved = score_sensitivity(plan.joined.rows, Fraction(column.share))
        yield (
            f"{item.text}: read off a noisy histogram of {len(column.codes):,} values "
            f"(as a selection, its scores move by at most {moved:,})"
        )


def _registered(plan: Plan) -> Iterator[str]:
    """What registration did to the columns that the query uses."""
    used = list(condition_refs(plan.where))
    for part in plan.parts:
        terms = [key.term for key in part.keys] + ([] if part.term is None else [part.term])
        used += [ref for term in terms for ref in refs(term)]
    for ref in sorted(set(used), key=lambda ref: (ref.table, ref.name)):
        yield from _rules(ref)


def _rules(ref: Ref) -> Iterator[str]:
    name, kind = f"{ref.table}.{ref.name}", ref.kind
    if kind.missing == "drop":
        yield f"{name}: rows where it is missing were dropped"
    else:
        yield f"{name}: where it is missing stands {kind.missing}"
    if hasattr(kind, "out_of_range"):
        low, high = (kind.show(code) for code in kind.codes)
        did = "were dropped" if kind.out_of_range == "drop" else "were moved to the bounds"
        yield f"{name}: values outside {low} to {high} {did}"
    if hasattr(kind, "unknown"):
        did = "rows were dropped" if kind.unknown == "drop" else f"they count as {kind.unknown!r}"
        yield f"{name}: texts that are not listed: {did}"


def _part_line(part: PartExplained) -> str:
    return (
        f"{part.text}: {part.cells:,} number{'s' * (part.cells != 1)}, one unit adds "
        f"{part.lower:,} to {part.upper:,}; L0 {part.l0:,}, L1 {part.l1:,}, "
        f"L2^2 {part.l2_squared:,}, Linf {part.linf:,}"
    )


def _line(price: Price) -> str:
    if price.refused is not None:
        return f"{price.mechanism}: does not take it: {price.refused}"
    errors = " and ".join(f"{error:,.4g}" for error in price.expected_error)
    radii = " and ".join(f"{radius:,}" for radius in price.radius)
    return f"{price.mechanism}: {errors + '; ' if errors else ''}{radii}"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, int | float | str | None) else str(value)
