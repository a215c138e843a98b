"""What an expression or a condition is on one row, in plain values, as docs/queries.md says it.
Nothing is tested here.
"""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from tests.differential.domains import bucket, part_of, truncated
from tests.differential.syntax import (
    Abs,
    And,
    Arith,
    Between,
    Bucket,
    Case,
    Clamp,
    Compare,
    Condition,
    In,
    Lit,
    Neg,
    Node,
    Not,
    Or,
    Part,
    Ref,
    Trunc,
    Value,
)

Values = Mapping[str, Value]
#: A joined row's values, by source and column.
Scope = Mapping[str, Values]

_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le,
    ">": operator.gt, ">=": operator.ge, "+": operator.add, "-": operator.sub, "*": operator.mul,
}  # fmt: skip


def value(node: Node, scope: Scope) -> Any:  # noqa: C901 - one line for each node
    """What an expression or condition is on a row."""
    match node:
        case Ref(source, column):
            return scope[source][column]
        case Lit(constant):
            return constant
        case Arith(sign, left, right):
            result = _SIGNS[sign](value(left, scope), value(right, scope))
            return Fraction(result.days) if isinstance(result, datetime.timedelta) else result
        case Neg(inner):
            return -value(inner, scope)
        case Abs(inner):
            return abs(value(inner, scope))
        case Clamp(inner, lower, upper):
            return min(max(value(inner, scope), lower), upper)
        case Case(branches, otherwise):
            chosen = (e for condition, e in branches if value(condition, scope))
            return value(next(chosen, otherwise), scope)
        case Part(part, inner):
            return Fraction(part_of(part, value(inner, scope)))
        case Trunc(period, inner):
            return truncated(period, value(inner, scope))
        case Bucket(inner, width, origin):
            return bucket(value(inner, scope), width, origin)
        case _:
            return _truth(node, scope)


def _truth(node: Condition, scope: Scope) -> bool:
    match node:
        case Compare(sign, left, right):
            return bool(_SIGNS[sign](value(left, scope), value(right, scope)))
        case Between(inner, lower, upper, negated):
            inside = value(lower, scope) <= value(inner, scope) <= value(upper, scope)
            return bool(inside) != negated
        case In(inner, constants, negated):
            return (value(inner, scope) in constants) != negated
        case And(parts):
            return all(value(part, scope) for part in parts)
        case Or(parts):
            return any(value(part, scope) for part in parts)
        case Not(inner):
            return not value(inner, scope)
    raise AssertionError(node)
