"""Constants of a query: from sqlglot's literals to exact values. Sees no data."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction

from sqlglot import expressions as exp

from interlace.query.parsing.tree import Source
from interlace.query.values import Constant, read_day

_NUMBER = re.compile(r"(\d{1,60}(\.\d{0,60})?|\.\d{1,60})([eE][+-]?\d{1,2})?", re.ASCII)


def constant(node: exp.Expr, source: Source) -> Constant | None:
    """The constant that a node is: a number, a text, a date, TRUE or FALSE; None for anything
    else. Raises QueryRefused for one that is badly written."""
    if type(node) is exp.Neg:
        source.expect(node, exp.Neg, "this")
        inner = constant(node.this, source) if _is_number(node.this) else None
        return -inner if isinstance(inner, Fraction) else None
    if type(node) is exp.Literal:
        source.expect(node, exp.Literal, "this", "is_string")
        return str(node.this) if node.is_string else _number(node, source)
    if type(node) is exp.Boolean:
        source.expect(node, exp.Boolean, "this")
        return bool(node.this)
    return _date(node, source) if type(node) is exp.Cast else None


def _is_number(node: exp.Expr) -> bool:
    while type(node) is exp.Neg:
        node = node.this
    return type(node) is exp.Literal and not node.is_string


def _number(node: exp.Expr, source: Source) -> Fraction:
    if _NUMBER.fullmatch(str(node.this)) is None:
        raise source.refuse(
            node,
            "number",
            "write it out in decimal digits, at most 60 before and after the point, with an "
            "exponent of at most 2 digits",
        )
    return Fraction(str(node.this))


def _date(node: exp.Expr, source: Source) -> datetime.date:
    source.expect(node, exp.Cast, "this", "to", "_type")
    source.expect(node.args["to"], exp.DataType, "this")
    literal = node.this
    text = type(literal) is exp.Literal and literal.is_string
    if node.args["to"].this != exp.DataType.Type.DATE or not text:
        raise source.refuse(node, "CAST", "for a date write DATE '2024-01-31'")
    source.expect(literal, exp.Literal, "this", "is_string")
    day = read_day(str(literal.this))
    if day is None:
        raise source.refuse(node, "DATE", "is no day of the calendar: write DATE '2024-01-31'")
    return day
