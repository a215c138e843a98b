"""Reading sqlglot's tree with a whitelist, and saying where a refused node stands.

The only place that knows how a node keeps its position. Sees no data.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import expressions as exp
from sqlglot.expressions import Expr

from interlace.core.errors import QueryRefused
from interlace.query.parsing.advice import FORM, advice_for
from interlace.query.parsing.screen import position

_CONSTRUCTS: dict[type[Expr], str] = {
    exp.Select: "subquery",
    exp.Subquery: "subquery",
    exp.Literal: "constant",
    exp.Boolean: "constant",
    exp.Neg: "minus sign",
    exp.Connector: "condition",
    exp.Predicate: "comparison",
    exp.Paren: "parentheses",
    exp.Dot: "path",
    exp.Binary: "arithmetic",
    exp.Cast: "CAST",
    exp.Column: "column",
    exp.Star: "*",
    exp.Tuple: "list",
    exp.Case: "CASE",
    exp.TimestampTrunc: "DATE_TRUNC",
    exp.IgnoreNulls: "IGNORE NULLS",
    exp.RespectNulls: "RESPECT NULLS",
}
_ARGUMENTS: dict[tuple[type[Expr], str], str] = {
    (exp.Select, "distinct"): "SELECT DISTINCT",
    (exp.Select, "joins"): "JOIN",
    (exp.Select, "group"): "GROUP BY",
    (exp.Select, "having"): "HAVING",
    (exp.Select, "order"): "ORDER BY",
    (exp.Select, "limit"): "LIMIT",
    (exp.Select, "offset"): "OFFSET",
    (exp.Select, "with_"): "WITH",
    (exp.Select, "windows"): "WINDOW",
    (exp.Select, "qualify"): "QUALIFY",
    (exp.Select, "sample"): "SAMPLE",
    (exp.Table, "alias"): "alias of a table",
    (exp.Table, "joins"): "JOIN",
    (exp.Table, "db"): "qualified table",
    (exp.Table, "catalog"): "qualified table",
    (exp.Column, "db"): "qualified column",
    (exp.Case, "this"): "CASE with a value",
    (exp.Between, "symmetric"): "BETWEEN SYMMETRIC",
    (exp.In, "query"): "subquery",
    (exp.In, "field"): "IN without parentheses",
}


@dataclass(frozen=True)
class Source:
    """The text a tree was read from; every refusal is made here."""

    text: str

    def expect(self, node: object, kind: type[Expr], *arguments: str) -> None:
        """Raises QueryRefused unless ``node`` is exactly of ``kind`` with no argument set
        beyond ``arguments``."""
        if type(node) is not kind:
            raise self.refuse(node, construct_of(node), f"the allowed form is {FORM}")
        self.expect_arguments(node, *arguments)

    def expect_arguments(self, node: Expr, *arguments: str) -> None:
        """Raises QueryRefused if the node carries an argument that is not listed."""
        for name, value in node.args.items():
            if name not in arguments and value is not None and value is not False and value != []:
                construct = _construct_of_argument(node, name)
                inner = value[0] if isinstance(value, list) else value
                where = inner if isinstance(inner, Expr) else node
                raise self.refuse(where, construct, advice_for(construct), node)

    def starts_with(self, node: Expr, mark: str) -> bool:
        """Whether the node's own text begins so: the tree does not tell 'x' from "x"."""
        start = _start(node)
        return start is not None and self.text.startswith(mark, start)

    def refuse(
        self, node: object, construct: str, reason: str, around: object = None
    ) -> QueryRefused:
        """The refusal of ``node``, at its first character (or at that of ``around``)."""
        start = _start(node)
        if start is None:
            start = _start(around)
        return QueryRefused(
            construct, reason, None if start is None else position(self.text, start)
        )


def construct_of(node: object) -> str:
    """What a refused node is called, in SQL's words.

    >>> construct_of(exp.Select()), construct_of(exp.Abs()), construct_of(exp.Literal.number(1))
    ('subquery', 'function ABS', 'constant')
    """
    if not isinstance(node, Expr):
        return "query"
    for kind, construct in _CONSTRUCTS.items():
        if isinstance(node, kind):
            return construct
    if isinstance(node, exp.Anonymous):
        name = str(node.this).upper()
        return f"function {name}" if name.isidentifier() and len(name) <= 30 else "function"
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
        return f"function {node.sql_name()}"
    return str(node.key).upper()


def _construct_of_argument(node: Expr, name: str) -> str:
    return _ARGUMENTS.get(
        (type(node), name), f"{construct_of(node)} with {name.strip('_').replace('_', ' ')}"
    )


def _start(node: object) -> int | None:
    if not isinstance(node, Expr):
        return None
    starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
    return min(starts, default=None)
