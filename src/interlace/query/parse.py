"""From SQL text to a plan: the gate. Pure: decided from text and public metadata (R7).

A whitelist over the syntax tree: every node must be of a type that is expected where it
stands, and no argument of it may be set beyond those expected of that type. What sqlglot may
come to understand in later versions is so refused until it is added here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import Token
from sqlglot import expressions as exp
from sqlglot import parse as sqlglot_parse
from sqlglot.errors import ParseError

from interlace.core.errors import ParameterError, QueryRefused
from interlace.query.keys import MOST_KEYS, Key, public_codes
from interlace.query.names import checked_name, folded
from interlace.query.parsing.advice import CONDITION, FORM
from interlace.query.parsing.aggregates import Aggregates
from interlace.query.parsing.conditions import Conditions
from interlace.query.parsing.scope import Scope
from interlace.query.parsing.screen import DIALECT, position, screened
from interlace.query.parsing.tree import Source, construct_of
from interlace.query.plan import LARGEST_SENSITIVITY, Item, Plan
from interlace.query.predicates import Always, Predicate
from interlace.query.schema import Dataset
from interlace.query.terms import Literal, Ref, Term
from interlace.query.text import Writer
from interlace.query.values import normalised


def parse(sql: str, dataset: Dataset) -> Plan:
    """The plan of a query over a declared dataset.

    Raises QueryRefused for everything that docs/queries.md does not allow, naming the construct,
    its position and what is allowed instead. Never looks at data, and raises nothing else.

    >>> from interlace.query.columns import Integer
    >>> from interlace.query.schema import Table
    >>> clinic = Dataset("clinic", "id", (Table("people", {"age": Integer(0, 120)}),))
    >>> parse("select count(*) as n from people where not age < 65", clinic).text
    'SELECT COUNT(*) FROM "people" WHERE "age" >= 65'
    """
    names = _declared_names(dataset)
    words = screened(sql, names)
    source = Source(sql)
    select = _statement(sql, source, words)
    source.expect(select, exp.Select, "expressions", "from_", "joins", "where", "group")
    plan = _Reading(select, dataset, source).plan()
    _check_canonical(plan, names)
    return plan


def _declared_names(dataset: Dataset) -> set[str]:
    """All names of a declaration, which may look like keywords."""
    tables = dataset.every_table
    names = {dataset.unit, *(table.name for table in tables)}
    return names | {column for table in tables for column in table.column_names}


@dataclass(frozen=True)
class _Selected:
    """An item of the SELECT list: its expression, and its name if it was given one."""

    node: exp.Expr
    alias: exp.Expr | None

    @property
    def name(self) -> str | None:
        return None if self.alias is None else normalised(str(self.alias.this))


class _Reading:
    """One query on its way to a plan."""

    def __init__(self, select: exp.Expr, dataset: Dataset, source: Source) -> None:
        self._select = select
        self._dataset = dataset
        self._source = source
        self._scope = Scope.of(select, dataset, source)
        self._conditions = Conditions(self._scope)
        self._selected = [self._selected_item(node) for node in select.expressions]
        self._write = Writer(self._scope.joined.single)

    def plan(self) -> Plan:
        where = self._where()
        keys = self._keys(where)
        aggregates = Aggregates(self._scope, self._conditions.expressions, where, keys)
        terms = [key.term for key in keys]
        items, names = self._items(aggregates, terms)
        named = tuple((names.get(key.term) or self._told(key.term, terms), key) for key in keys)
        self._check_names([*(name for name, _ in named), *(item.column.name for item in items)])
        parts = tuple(aggregates.parts)
        try:
            return Plan(self._dataset, self._scope.joined, where, named, parts, tuple(items))
        except ParameterError as error:
            raise self._source.refuse(self._select.expressions[0], "query", error.problem) from None

    def _items(
        self, aggregates: Aggregates, terms: Sequence[Term]
    ) -> tuple[list[Item], dict[Term, str]]:
        """The aggregates of the SELECT list, and what the keys among it are called."""
        items: list[Item] = []
        names: dict[Term, str] = {}
        for selected in self._selected:
            term = self._as_key(selected.node, terms)
            if term is None:
                items.append(aggregates.read(selected.node, selected.name))
                self._check_moved(selected.node, aggregates)
            elif term in names:
                raise self._source.refuse(selected.node, "key shown twice", "name each key once")
            else:
                names[term] = selected.name or self._called(term)
        if not items:
            raise self._source.refuse(
                self._select, "SELECT without an aggregate", f"ask for a count or a sum: {FORM}"
            )
        return items, names

    def _selected_item(self, node: exp.Expr) -> _Selected:
        if not isinstance(node, exp.Alias):
            return _Selected(node, None)
        self._source.expect(node, exp.Alias, "this", "alias")
        self._source.expect(node.args["alias"], exp.Identifier, "this", "quoted")
        try:
            checked_name(normalised(str(node.args["alias"].this)), "name")
        except ParameterError as error:
            raise self._source.refuse(node.args["alias"], "name", error.problem) from None
        return _Selected(node.this, node.args["alias"])

    def _where(self) -> Predicate:
        where = self._select.args.get("where")
        if where is None:
            return Always(True)
        self._source.expect(where, exp.Where, "this")
        return self._conditions.read(where.this)

    def _keys(self, where: Predicate) -> list[Key]:
        group = self._select.args.get("group")
        if group is None:
            return []
        self._source.expect(group, exp.Group, "expressions")
        keys: list[Key] = []
        for node in group.expressions:
            key = self._key(node, where)
            if key.term in [other.term for other in keys]:
                raise self._source.refuse(node, "key given twice", "name each key once")
            keys.append(key)
        return keys

    def _key(self, node: exp.Expr, where: Predicate) -> Key:
        if any(True for _ in node.find_all(exp.AggFunc)):
            raise self._source.refuse(node, "aggregate as a key", "keys are expressions of a row")
        term = self._key_term(node)
        if isinstance(term, Literal):
            raise self._source.refuse(
                node, "GROUP BY a constant", "name the key or write it out; leave out a constant"
            )
        codes = public_codes(term, where)
        if codes is None:
            raise self._source.refuse(
                node,
                "key of too many values",
                f"the limit is {MOST_KEYS:,}: put it into a BUCKET, or list its values in WHERE",
            )
        return Key(term, codes)

    def _key_term(self, node: exp.Expr) -> Term:
        """A key is an expression, or the name of one in the SELECT list."""
        expressions = self._conditions.expressions
        named = self._by_name(node)
        if named is None:
            return expressions.term(node)
        term = expressions.term(named)
        if self._scope.knows(node.this) and expressions.term(node) != term:
            problem = "it is a column and a name in SELECT: choose another name after AS"
            raise self._source.refuse(node, "ambiguous name", problem)
        return term

    def _by_name(self, node: exp.Expr) -> exp.Expr | None:
        if type(node) is not exp.Column or node.args.get("table") is not None:
            return None
        for selected in self._selected:
            if selected.alias is not None and _same(selected.alias, node.this):
                return selected.node
        return None

    def _as_key(self, node: exp.Expr, terms: Sequence[Term]) -> Term | None:
        """The key that an item of the SELECT list is; None for an aggregate."""
        if any(True for _ in node.find_all(exp.AggFunc)) or not terms:
            return None
        try:
            term = self._conditions.expressions.term(node)
        except QueryRefused:
            if type(node) is exp.Anonymous:  # VAR, which the parser does not know
                return None
            raise
        if term in terms:
            return term
        raise self._source.refuse(
            node, "item that is no key", "it must be an aggregate, or stand in GROUP BY"
        )

    def _check_moved(self, node: exp.Expr, aggregates: Aggregates) -> None:
        """As the plan does, where it is known which item is too large."""
        if max(part.sensitivity.linf for part in aggregates.parts) > LARGEST_SENSITIVITY:
            raise self._source.refuse(
                node,
                construct_of(node),
                "one unit could move it by more than 2^40 units of its last digit: CLAMP the "
                "expression or the aggregate",
            )

    def _called(self, term: Term) -> str:
        return term.name if isinstance(term, Ref) else self._write.term(term).replace('"', "")

    def _told(self, term: Term, terms: Sequence[Term]) -> str:
        """What a key that SELECT does not show is called: with its table where another one has
        the same name."""
        called = [folded(self._called(other)) for other in terms]
        if called.count(folded(self._called(term))) > 1:
            return self._write.term(term).replace('"', "")
        return self._called(term)

    def _check_names(self, names: Sequence[str]) -> None:
        seen: set[str] = set()
        for name in names:
            if folded(name) in seen:
                raise self._source.refuse(
                    self._select.expressions[0],
                    "two columns of one name",
                    "names are compared in any case: give others with AS",
                )
            seen.add(folded(name))


def _same(alias: exp.Expr, identifier: exp.Expr) -> bool:
    if alias.args.get("quoted") or identifier.args.get("quoted"):
        return str(alias.this) == str(identifier.this)
    return str(alias.this).casefold() == str(identifier.this).casefold()


def _check_canonical(plan: Plan, names: set[str]) -> None:
    """A plan's text must be a query again, within the same limits: a long NOT IN is short, and
    the ranges that it leaves may not be."""
    try:
        screened(plan.text, names)
    except QueryRefused as refusal:
        raise QueryRefused(
            refusal.construct,
            "the condition comes to too many ranges, or nests too deep, once its negations are "
            "worked out: ask for less at once",
        ) from None


def _statement(sql: str, source: Source, words: Sequence[Token]) -> exp.Expr:
    try:
        statements = [item for item in sqlglot_parse(sql, read=DIALECT) if item is not None]
    except ParseError as error:
        start = _start(error, words)
        raise QueryRefused(
            "syntax",
            f"the allowed form is {FORM}, where {CONDITION}",
            None if start is None else position(sql, start),
        ) from None
    except RecursionError:
        raise QueryRefused("nesting", "is too deep; write it flatter") from None
    except Exception:  # noqa: BLE001 - the parser's own faults: its messages quote the text
        raise QueryRefused("query", f"cannot be read as SQL; the allowed form is {FORM}") from None
    if len(statements) != 1:
        raise source.refuse(
            statements[1] if statements else None,
            "several statements" if statements else "empty query",
            "ask one statement at a time",
        )
    return statements[0]


def _start(error: ParseError, words: Sequence[Token]) -> int | None:
    """Where the word begins at which the parser gave up. Its error tells the line and the column
    of that word's end, and counts lines in a way of its own."""
    place = [(item.get("line"), item.get("col")) for item in error.errors[:1]]
    return next((word.start for word in words if [(word.line, word.col)] == place), None)
