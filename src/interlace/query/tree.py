"""Reading sqlglot's tree with a whitelist, and saying where a refused node stands.

The only place that knows how a node keeps its position. Sees no data.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot.expressions import Expr

from interlace.core.errors import QueryRefused
from interlace.query.screen import CONDITION, FORM, position


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
                construct = f"{construct_of(node)} with {name.strip('_').replace('_', ' ')}"
                # The argument's own position, where it has one.
                inner = value[0] if isinstance(value, list) else value
                where = inner if isinstance(inner, Expr) else node
                raise self.refuse(
                    where, construct, f"the allowed form is {FORM}, where {CONDITION}", node
                )

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
    """What a refused node is called, in SQL's words where there is one.

    >>> from sqlglot import expressions
    >>> construct_of(expressions.Union())
    'UNION'
    """
    if not isinstance(node, Expr):
        return "query"
    return str(node.key).upper()


def _start(node: object) -> int | None:
    if not isinstance(node, Expr):
        return None
    starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
    return min(starts, default=None)
