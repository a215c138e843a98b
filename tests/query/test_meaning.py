"""A condition means what SQL says: the plan's codes against the values, on random rows."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from fractions import Fraction

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer
from interlace.query.parse import parse
from interlace.query.predicates import Always, Every, Predicate, Some, Within
from interlace.query.schema import Dataset, Table
from interlace.query.terms import Ref
from tests.effort import examples
from tests.engines import strategies
from tests.engines.reference import Condition, Row, Value


def _holds(predicate: Predicate, codes: Mapping[str, int]) -> bool:
    if isinstance(predicate, Always):
        return predicate.value
    if isinstance(predicate, Within):
        assert isinstance(predicate.term, Ref)
        code = codes[predicate.term.name]
        return any(least <= code <= most for least, most in predicate.ranges)
    if isinstance(predicate, Every):
        return all(_holds(part, codes) for part in predicate.parts)
    return any(_holds(part, codes) for part in predicate.parts)


def _well_formed(predicate: Predicate, *, inside: type[Every | Some] | None = None) -> bool:
    """The promises of the predicates' docstrings."""
    if isinstance(predicate, Always):
        return inside is None
    if isinstance(predicate, Within):
        ends = [predicate.codes[0] - 2, *(end for item in predicate.ranges for end in item)]
        gaps = [right - left for left, right in zip(ends[::2], ends[1::2], strict=False)]
        apart = all(gap >= 2 for gap in gaps)
        return apart and predicate.ranges not in ((), (predicate.codes,))
    kind, parts = type(predicate), predicate.parts
    whole = len(parts) >= 2 and kind is not inside
    return whole and all(_well_formed(part, inside=kind) for part in parts)


@st.composite
def _rows(draw: st.DrawFn) -> tuple[dict[str, Column], Condition, Row, dict[str, int]]:
    columns = draw(strategies.columns())
    codes = {name: draw(st.integers(*kind.codes)) for name, kind in columns.items()}
    row = {name: _value(kind, codes[name]) for name, kind in columns.items()}
    return columns, draw(strategies.conditions(columns)), row, codes


def _value(kind: Column, code: int) -> Value:
    match kind:
        case Boolean():
            return code == 1
        case Category(values):
            return values[code]
        case Day():
            return datetime.date(1970, 1, 1) + datetime.timedelta(code)
        case Integer():
            return Fraction(code)
        case Decimal():
            return Fraction(code, 10**kind.digits)


@settings(max_examples=examples(80), suppress_health_check=list(HealthCheck))
@given(drawn=_rows())
def test_codes_and_values_agree(
    drawn: tuple[dict[str, Column], Condition, Row, dict[str, int]],
) -> None:
    columns, condition, row, codes = drawn
    dataset = Dataset("d", "id", (Table("t", columns),))
    plan = parse(f"SELECT COUNT(*) FROM t WHERE {condition.sql}", dataset)
    assert _holds(plan.where, codes) == condition.holds(row)
    assert _well_formed(plan.where)
    assert parse(plan.text, dataset) == plan
