"""WHERE: from sqlglot's tree to a predicate over codes, by whitelist. Sees no data."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from fractions import Fraction

from sqlglot import expressions as exp

from interlace.query import arithmetic, predicates
from interlace.query.columns import Boolean, Category, Column, Day, Integer
from interlace.query.parsing.advice import CONDITION
from interlace.query.parsing.expressions import CONDITIONS, Expressions, named, titled
from interlace.query.parsing.scope import Scope, listing
from interlace.query.parsing.tree import construct_of
from interlace.query.predicates import Always, Predicate, Ranges
from interlace.query.terms import Difference, Ref, Term, TermError, is_number, same_codes
from interlace.query.values import Constant, MismatchError

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=",
}  # fmt: skip
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Conditions:
    """Reads the conditions of one query, and through ``expressions`` what they compare."""

    def __init__(self, scope: Scope) -> None:
        self._source = scope.source
        self.expressions = Expressions(scope, self.read)

    def read(self, node: exp.Expr) -> Predicate:
        """The predicate of a condition. Raises QueryRefused."""
        kind = type(node)
        if kind is exp.Paren:
            self._source.expect(node, exp.Paren, "this")
            return self.read(node.this)
        if kind is exp.Not:
            self._source.expect(node, exp.Not, "this")
            return predicates.negation(self.read(node.this))
        if kind is exp.And:
            return predicates.conjunction(self.read(part) for part in self._parts(node))
        if kind is exp.Or:
            return predicates.disjunction(self.read(part) for part in self._parts(node))
        if kind in _OPERATORS:
            return self._comparison(node)
        if kind is exp.Between:
            return self._between(node)
        if kind is exp.In:
            return self._membership(node)
        return self._bare(node)

    def _parts(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """The parts of a chain, which the parser nests to the left as deep as it is long."""
        kind, parts = type(node), []
        while type(node) is kind:
            self._source.expect(node, kind, "this", "expression")
            parts.append(node.args["expression"])
            node = node.this
        return iter([node, *reversed(parts)])

    def _comparison(self, node: exp.Expr) -> Predicate:
        self._source.expect(node, type(node), "this", "expression")
        operator = _OPERATORS[type(node)]
        nodes = node.this, node.args["expression"]
        left, right = map(self._operand, nodes)
        if _rank(right) > _rank(left):
            nodes, left, right = nodes[::-1], right, left
            operator = _MIRRORED.get(operator, operator)
        constants = not isinstance(left, Term)
        term = left if isinstance(left, Term) else self.expressions.literal(left, nodes[0])
        if operator not in ("=", "<>"):
            self._check_order(node, term)
        if isinstance(right, Term):
            return self._between_terms(node, term, operator, right)
        place = self._place(term, right, nodes[1], node, listed=not constants)
        return predicates.within(term, predicates.comparison(operator, place, term.kind.codes))

    def _operand(self, node: exp.Expr) -> Term | Constant:
        """A side of a comparison. SQL does not chain them, and its dialects differ in what a
        chain would mean."""
        if isinstance(node, CONDITIONS):
            raise self._source.refuse(
                node, "comparison", "has a condition on one side: put that in parentheses"
            )
        return self.expressions.read(node)

    def _between_terms(self, node: exp.Expr, left: Term, operator: str, right: Term) -> Predicate:
        try:
            apart = _apart(left, right)
        except TermError as error:
            raise self._source.refuse(node, "comparison", str(error)) from None
        if apart is None:
            raise self._source.refuse(
                node,
                "comparison",
                f"of {named(left.kind)} with {named(right.kind)}, or of texts that are listed "
                "differently: compare what is declared alike",
            )
        zero = Fraction(0)
        return predicates.within(apart, predicates.comparison(operator, zero, apart.kind.codes))

    def _between(self, node: exp.Expr) -> Predicate:
        self._source.expect(node, exp.Between, "this", "low", "high")
        term = self._term(node.this)
        self._check_order(node, term)
        low, high = (self._place_of(term, node.args[end], node) for end in ("low", "high"))
        codes = term.kind.codes
        above = predicates.comparison(">=", low, codes)
        below = predicates.comparison("<=", high, codes)
        return predicates.conjunction(predicates.within(term, side) for side in (above, below))

    def _membership(self, node: exp.Expr) -> Predicate:
        self._source.expect(node, exp.In, "this", "expressions")
        term = self._term(node.this)
        codes = term.kind.codes
        listed: list[Ranges] = [
            predicates.comparison("=", self._place_of(term, item, node), codes)
            for item in node.expressions
        ]
        if not listed:
            raise self._source.refuse(node, "IN", "lists constants: column IN (1, 2)")
        return predicates.within(term, predicates.union(listed))

    def _bare(self, node: exp.Expr) -> Predicate:
        """TRUE, FALSE, or a boolean expression by itself."""
        found = self.expressions.read(node)
        if isinstance(found, bool):
            return Always(found)
        if not isinstance(found, Term):
            raise self._source.refuse(node, construct_of(node), f"is no condition: {CONDITION}")
        if not isinstance(found.kind, Boolean):
            construct = f"{construct_of(node)} as a condition"
            if isinstance(found, Ref):
                construct = f"column {found.name!r}"
            raise self._source.refuse(node, construct, "is not a boolean: compare it")
        return predicates.within(found, ((1, 1),))

    def _term(self, node: exp.Expr) -> Term:
        found = self._operand(node)
        return found if isinstance(found, Term) else self.expressions.literal(found, node)

    def _place_of(self, term: Term, node: exp.Expr, around: exp.Expr) -> Fraction:
        value = self.expressions.read(node)
        if isinstance(value, Term):
            raise self._source.refuse(node, construct_of(node), f"is not a constant: {CONDITION}")
        return self._place(term, value, node, around)

    def _place(
        self,
        term: Term,
        value: Constant,
        node: exp.Expr,
        around: exp.Expr | None = None,
        *,
        listed: bool = True,
    ) -> Fraction:
        kind = term.kind
        try:
            return kind.place(value)
        except MismatchError as error:
            raise self._source.refuse(
                node, f"comparison with {titled(term)}", f"needs {error.expected}", around
            ) from None
        except KeyError:
            assert isinstance(kind, Category)
            if not listed:
                return Fraction(-1)
            raise self._source.refuse(
                node, f"text that {titled(term)} does not list", f"it lists {listing(kind.values)}"
            ) from None

    def _check_order(self, node: exp.Expr, term: Term) -> None:
        if not term.kind.ordered:
            raise self._source.refuse(
                node, f"order of {titled(term)}", "its values have no order: use =, <> or IN"
            )


def _rank(side: Term | Constant) -> int:
    """Of two sides of a comparison the greater one tells how the other is read: a column, then
    what may be compared with texts or numbers too."""
    if isinstance(side, Term):
        return 2
    return int(isinstance(side, bool | datetime.date))


def _apart(left: Term, right: Term) -> Term | None:
    """What is 0 where the two are equal, and positive where the left one is larger if they have
    an order; None for two that do not compare."""
    kinds: tuple[Column, Column] = left.kind, right.kind
    if is_number(left) and is_number(right):
        return arithmetic.minus(left, right)
    if all(isinstance(kind, Day) for kind in kinds):
        return arithmetic.minus(left, right)
    if not all(isinstance(kind, Category | Boolean) for kind in kinds) or not same_codes(*kinds):
        return None
    first, second = sorted((left, right), key=repr)
    (a, b), (c, d) = first.kind.codes, second.kind.codes
    return Difference(first, second, Integer(a - d, b - c))
