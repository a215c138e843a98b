"""FROM: which tables a query joins, and what a name in it means. Pure; sees no data.

Names are found by the catalogue's rule, the declaration's; one that could mean two things is
refused, also where both are equal in every row, unless they are joined by being equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sqlglot import expressions as exp

from interlace.core.errors import QueryRefused
from interlace.query.joins import Joined, Lookup
from interlace.query.names import find
from interlace.query.parsing.advice import FORM, JOINS
from interlace.query.parsing.tree import Source, construct_of
from interlace.query.schema import AnyTable, Dataset, PublicTable, Table
from interlace.query.terms import Ref, same_codes

Side = tuple[int, str | None]
"""The place of a table in FROM and one of its columns; None is its unit."""
Edge = tuple[Side, Side, exp.Expr]
"""Two sides that a join says are equal, and where."""


@dataclass
class Scope:
    """The tables of one query by their names in it, and how they are joined."""

    dataset: Dataset
    source: Source
    tables: list[tuple[str, AnyTable]] = field(default_factory=list)
    equal: list[Edge] = field(default_factory=list)
    joined: Joined = field(init=False)

    @classmethod
    def of(cls, select: exp.Expr, dataset: Dataset, source: Source) -> Scope:
        """Reads FROM and the joins of a SELECT. Raises QueryRefused."""
        scope = cls(dataset, source)
        node = select.args.get("from_")
        if not isinstance(node, exp.From):
            raise QueryRefused("SELECT without FROM", f"the allowed form is {FORM}")
        source.expect(node, exp.From, "this")
        scope._add(node.this)
        for join in select.args.get("joins") or ():
            scope._join(join)
        scope.joined = scope._resolved(node)
        return scope

    def _add(self, node: exp.Expr) -> None:
        source = self.source
        source.expect(node, exp.Table, "this", "alias")
        source.expect(node.this, exp.Identifier, "this", "quoted")
        if source.starts_with(node.this, "'"):
            raise source.refuse(node, "text in place of a table", "name a declared table")
        known = self.dataset.every_table
        name = _named([table.name for table in known], node.this)
        table = next((table for table in known if table.name == name), None)
        if table is None:
            listed = listing([item.name for item in known])
            reason = f"dataset {self.dataset.name!r} has {listed}"
            raise source.refuse(node, "unknown table", reason)
        if table in (item for _, item in self.tables):
            raise source.refuse(node, "table joined to itself", "name each table once")
        alias = self._alias(node, table)
        if _named([other for other, _ in self.tables], alias) is not None:
            raise source.refuse(node, "ambiguous name", "give each table a name of its own")
        self.tables.append((str(alias.this), table))

    def _alias(self, node: exp.Expr, table: AnyTable) -> exp.Expr:
        alias = node.args.get("alias")
        if alias is None:
            return exp.to_identifier(table.name, quoted=True)
        self.source.expect(alias, exp.TableAlias, "this")
        self.source.expect(alias.this, exp.Identifier, "this", "quoted")
        checked: exp.Expr = alias.this
        return checked

    def _join(self, node: exp.Expr) -> None:
        source = self.source
        kind = str(node.args.get("kind") or "INNER").upper()
        if kind != "INNER":
            raise source.refuse(node.this, f"{kind} JOIN", JOINS)
        source.expect(node, exp.Join, "this", "on", "using", "kind")
        self._add(node.this)
        on, using = node.args.get("on"), node.args.get("using")
        if on is None and not using:
            raise source.refuse(node.this, "JOIN without ON", JOINS)
        for identifier in using or ():
            source.expect(identifier, exp.Identifier, "this", "quoted")
            self._using(identifier)
        for part in _conjuncts(on):
            if type(part) is not exp.EQ:
                raise source.refuse(part, "condition of a join", JOINS, node.this)
            source.expect(part, exp.EQ, "this", "expression")
            left, right = self._side(part.this), self._side(part.args["expression"])
            self.equal.append((left, right, part))

    def _using(self, identifier: exp.Expr) -> None:
        last = len(self.tables) - 1
        here = list(self._found(identifier, [last]))
        before = list(self._found(identifier, range(last)))
        if not here or not before:
            raise self.source.refuse(
                identifier, "unknown column", f"both tables must have it: {JOINS}"
            )
        # All units that are there already are joined to one another.
        if len(before) > 1 and here[0][1] is not None:
            raise self._ambiguous(identifier, before)
        self.equal.append((here[0], before[0], identifier))

    def _side(self, node: exp.Expr) -> Side:
        if type(node) is not exp.Column:
            raise self.source.refuse(node, construct_of(node), JOINS)
        return self._place(node)

    def _place(self, node: exp.Expr) -> Side:
        """Where a column node stands. Raises QueryRefused if nowhere, or in several tables."""
        source = self.source
        source.expect(node, exp.Column, "this", "table")
        source.expect(node.this, exp.Identifier, "this", "quoted")
        within = range(len(self.tables))
        qualifier = node.args.get("table")
        if qualifier is not None:
            source.expect(qualifier, exp.Identifier, "this", "quoted")
            names = [name for name, _ in self.tables]
            named = _named(names, qualifier)
            if named is None:
                raise source.refuse(node, "unknown table", f"FROM names {listing(names)}")
            place = names.index(named)
            within = range(place, place + 1)
        found = list(self._found(node.this, within))
        if not found:
            raise self._unknown(node, within)
        if len(found) > 1 and not all(name is None for _, name in found):
            found = self._merged(found)
            if len(found) > 1:
                raise self._ambiguous(node, found)
        return found[0]

    def _found(self, identifier: exp.Expr, places: Sequence[int]) -> Iterator[Side]:
        name, quoted = str(identifier.this), bool(identifier.args.get("quoted"))
        for place in places:
            table = self.tables[place][1]
            column = table.column(name, quoted)
            if column is not None:
                yield place, column
            elif isinstance(table, Table) and find(name, quoted, [self.dataset.unit]):
                yield place, None

    def _merged(self, found: list[Side]) -> list[Side]:
        """Without keys of public tables that are joined by being equal to another of these."""
        return [
            side
            for side in found
            if not any(
                {side, other} == {left, right} and side[0] > other[0]
                for left, right, _ in self.equal
                for other in found
            )
        ]

    def column(self, node: exp.Expr) -> Ref:
        """The data column that a column node means. Raises QueryRefused."""
        place, name = self._place(node)
        if name is None:
            raise self.source.refuse(
                node,
                f"unit {self.dataset.unit!r}",
                "is no data: it may stand in COUNT(DISTINCT ...) and in joins only",
            )
        table = self.tables[place][1]
        return self.joined.same(Ref(table.name, name, table.kind(name)))

    def is_unit(self, node: exp.Expr) -> bool:
        """Whether a column node means the unit. Raises QueryRefused for an unknown name."""
        return type(node) is exp.Column and self._place(node)[1] is None

    def knows(self, node: exp.Expr) -> bool:
        """Whether a bare identifier is a column of some table."""
        return any(self._found(node, range(len(self.tables))))

    def _unknown(self, node: exp.Expr, within: Sequence[int]) -> QueryRefused:
        if self.source.starts_with(node.this, "'"):
            return self.source.refuse(
                node, "text in place of a column", "names stand alone or in double quotes"
            )
        columns = [name for place in within for name in self.tables[place][1].column_names]
        where = self.tables[within[0]][1].name if len(within) == 1 else None
        told = f"table {where!r} has" if where else "the tables have"
        reason = f"{told} {listing(columns)}; text stands in single quotes"
        return self.source.refuse(node, "unknown column", reason)

    def _ambiguous(self, node: exp.Expr, found: Sequence[Side]) -> QueryRefused:
        tables = " and ".join(repr(self.tables[place][0]) for place, _ in found)
        return self.source.refuse(
            node, "ambiguous name", f"tables {tables} have it: write table.column"
        )

    def _resolved(self, around: exp.Expr) -> Joined:
        """The joined tables. Raises QueryRefused unless all tables of units are joined on the unit
        and each public table by its key."""
        private = [i for i, (_, table) in enumerate(self.tables) if isinstance(table, Table)]
        if not private:
            raise self.source.refuse(
                around.this,
                "public tables alone",
                "they hold nothing private: read them as they are",
            )
        reached = {private[0]}
        lookups: list[Lookup] = []
        open_ = list(self.equal)
        while (joining := self._next_joining(open_, reached)) is not None:
            edge, ((new, name), old) = joining
            open_.remove(edge)
            table = self.tables[new][1]
            if isinstance(table, PublicTable):
                lookups.append(self._lookup(table, name, old, edge[2]))
            reached.add(new)
        for place, (alias, _) in enumerate(self.tables):
            if place not in reached:
                raise self.source.refuse(around.this, f"table {alias!r} not joined", JOINS)
        if any(left[1] is not None or right[1] is not None for left, right, _ in open_):
            raise self.source.refuse(open_[0][2], "condition of a join", JOINS)
        tables = {table.name for _, table in self.tables}
        return Joined(
            tuple(table for table in self.dataset.tables if table.name in tables), tuple(lookups)
        )

    def _next_joining(
        self, edges: Sequence[Edge], reached: set[int]
    ) -> tuple[Edge, tuple[Side, Side]] | None:
        """The first equality that joins a table, and its sides."""
        for edge in edges:
            sides = self._joins(edge, reached)
            if sides is not None:
                return edge, sides
        return None

    def _joins(self, edge: Edge, reached: set[int]) -> tuple[Side, Side] | None:
        """The new side and the old one, if this equality joins a table that is not reached yet to
        one that is: on the unit, or by a public table's key."""
        for new, old in ((edge[0], edge[1]), (edge[1], edge[0])):
            if new[0] in reached or old[0] not in reached:
                continue
            table = self.tables[new[0]][1]
            if isinstance(table, PublicTable):
                if new[1] == table.key and old[1] is not None:
                    return new, old
            elif new[1] is None and old[1] is None:
                return new, old
        return None

    def _lookup(self, table: PublicTable, key: str | None, old: Side, node: exp.Expr) -> Lookup:
        other = self.tables[old[0]][1]
        assert key is not None
        assert old[1] is not None
        by = Ref(other.name, old[1], other.kind(old[1]))
        if not same_codes(by.kind, table.kind(key)):
            raise self.source.refuse(
                node,
                "join of different columns",
                f"{by.name!r} and {key!r} must be declared alike: of one type, with the same "
                "texts or decimals",
            )
        return Lookup(table, by)


def _conjuncts(node: exp.Expr | None) -> list[exp.Expr]:
    """The parts of a chain of ANDs, which the parser nests to the left as deep as it is long."""
    parts: list[exp.Expr] = []
    while isinstance(node, exp.And | exp.Paren):
        if isinstance(node, exp.And):
            parts.append(node.args["expression"])
        node = node.this
    return [] if node is None else [node, *reversed(parts)]


def _named(among: Sequence[str], identifier: exp.Expr) -> str | None:
    """The one of these names that an identifier means, or None."""
    return find(str(identifier.this), bool(identifier.args.get("quoted")), among)


def listing(items: Sequence[str], most: int = 20) -> str:
    """Names for a message, the first of many.

    >>> listing(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(repr(item) for item in items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"
