"""Random structured queries over a random dataset. Nothing is tested here."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from interlace.query.columns import Boolean, Category, Column
from interlace.query.schema import Dataset, PublicTable, Table
from tests.differential.domains import domain, of_column, tables_of
from tests.differential.evaluator import resolved
from tests.differential.stated import cells, largest, noisy_columns
from tests.differential.strategies import FIRST, TEXTS
from tests.differential.support import decoded
from tests.differential.syntax import (
    Abs,
    Aggregate,
    And,
    Arith,
    Between,
    Bucket,
    Case,
    Clamp,
    Compare,
    Condition,
    Expr,
    In,
    Item,
    Lit,
    Neg,
    Not,
    Or,
    Part,
    Query,
    Ref,
    Source,
    Trunc,
    Value,
)

MOST_CELLS = 1500
_PERIODS = ["year", "quarter", "month", "week"]
_PARTS = ["year", "quarter", "month", "day", "isodow"]


@dataclass
class _Writer:
    """Draws the parts of one query."""

    draw: st.DrawFn
    dataset: Dataset
    sources: list[Source] = field(default_factory=list)

    def one(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, out_of: int) -> bool:
        return self.draw(st.integers(1, out_of)) == out_of

    # --- FROM and JOIN --------------------------------------------------------------------

    def join(self) -> None:
        """One table or more, each at most once; public ones on a column of one before."""
        tables = self.draw(st.permutations(self.dataset.tables))
        for place, table in enumerate(tables[: self.one(1, 1, 2, 2, 3)]):
            join: Any = "unit" if place else ""
            using = self.chance(2)
            self.sources.append(Source(table.name, self.named(table.name), join, using=using))
        for public in self.dataset.public:
            by = [ref for ref, kind in self.columns() if self.meets(kind, public)]
            if by and not self.chance(3):
                ref = self.one(*by)
                same = [other for other, _ in self.columns() if other.column == public.key]
                using = same == [ref] and self.chance(2)
                name = self.named(public.name)
                self.sources.append(Source(public.name, name, "public", ref, using=using))

    def meets(self, kind: Column, public: PublicTable) -> bool:
        key = public.kind(public.key)
        if isinstance(key, Category):
            return key == kind
        one, other = of_column(key), of_column(kind)
        return (one.kind, one.digits) == (other.kind, other.digits)

    def named(self, table: str) -> str:
        return str(self.one(table, table, f"{table[:1].lower()}{len(self.sources)}"))

    def columns(self) -> list[tuple[Ref, Column]]:
        declared: list[Table | PublicTable] = [*self.dataset.tables, *self.dataset.public]
        tables = {table.name: table for table in declared}
        return [
            (Ref(source.name, name), kind)
            for source in self.sources
            for name, kind in tables[source.table].columns
        ]

    # --- expressions ----------------------------------------------------------------------

    def of_kind(self, kind: str) -> list[Expr]:
        return [ref for ref, column in self.columns() if of_column(column).kind == kind]

    def fraction(self, size: int = 8) -> Fraction:
        digits = self.one(0, 0, 1, 2)
        return Fraction(self.draw(st.integers(-size * 10**digits, size * 10**digits)), 10**digits)

    def bound(self, digits: int) -> Fraction:
        return Fraction(self.draw(st.integers(0, 20 * 10**digits)), 10**digits)

    def number(self, depth: int) -> Expr:
        leaves: list[Expr] = self.of_kind("number")
        if depth == 0 or self.chance(3):
            return self.one(*leaves) if leaves and not self.chance(5) else Lit(self.fraction())
        inner = [
            lambda: Arith(self.one("+", "-", "*"), self.number(depth - 1), self.number(depth - 1)),
            lambda: Neg(self.number(depth - 1)),
            lambda: Abs(self.number(depth - 1)),
            lambda: Clamp(self.number(depth - 1), *sorted((self.fraction(), self.fraction()))),
            lambda: self.case(self.number, depth - 1),
            lambda: self.bucket(self.number(depth - 1)),
        ]
        if self.of_kind("day"):
            inner += [
                lambda: Part(self.one(*_PARTS), self.day(depth - 1)),
                lambda: Arith("-", self.day(depth - 1), self.day(depth - 1)),
            ]
        chosen: Callable[[], Expr] = self.one(*inner)
        return chosen()

    def bucket(self, inner: Expr) -> Bucket:
        width = self.one(Fraction(1), Fraction(2), Fraction(5), Fraction(1, 2), Fraction(7, 4))
        return Bucket(inner, width, self.one(None, None, self.fraction(3)))

    def case(self, part: Callable[[int], Expr], depth: int) -> Case:
        branches = tuple((self.solid(), part(depth)) for _ in range(self.one(1, 1, 2)))
        return Case(branches, part(depth))

    def date(self) -> datetime.date:
        return self.draw(st.dates(FIRST, FIRST + datetime.timedelta(150)))

    def day(self, depth: int) -> Expr:
        leaves = self.of_kind("day")
        if not leaves or depth == 0 or self.chance(2):
            return self.one(*leaves) if leaves and not self.chance(6) else Lit(self.date())
        inner: list[Callable[[], Expr]] = [
            lambda: Trunc(self.one(*_PERIODS), self.day(depth - 1)),
            lambda: Bucket(
                self.day(depth - 1),
                Fraction(self.one(1, 7, 30)),
                self.one(None, None, self.date()),
            ),
            lambda: self.case(self.day, depth - 1),
        ]
        chosen: Callable[[], Expr] = self.one(*inner)
        return chosen()

    def truth(self, depth: int) -> Expr:
        leaves = self.of_kind("truth")
        if not leaves or (depth > 0 and self.chance(4)):
            return self.case(lambda _: Lit(self.one(True, False)), 0)
        return self.one(*leaves)  # type: ignore[no-any-return]  # one of the leaves

    # --- conditions -----------------------------------------------------------------------

    def condition(self, depth: int) -> Condition:
        if depth == 0 or self.chance(2):
            return self.atom()
        parts = tuple(self.condition(depth - 1) for _ in range(self.one(2, 2, 3)))
        return self.one(And(parts), Or(parts), Not(parts[0]))  # type: ignore[no-any-return]  # one of these

    def solid(self) -> Condition:
        """A condition about one column that bounds do not decide."""
        found: list[Condition] = []
        for ref, kind in self.columns():
            low, high = kind.codes
            if isinstance(kind, Boolean):
                found += [ref, Not(ref)]
            elif isinstance(kind, Category):
                found += [In(ref, kind.values[:2]), Compare("=", ref, Lit(kind.values[-1]))]
            elif low < high:
                middle = Lit(decoded(kind, (low + high + 1) // 2))
                found += [Compare("<", ref, middle), Compare(">=", ref, middle)]
        return self.one(*(found or [Lit(True)]))  # type: ignore[no-any-return]  # one of these

    def atom(self) -> Condition:
        texts = [(ref, kind) for ref, kind in self.columns() if isinstance(kind, Category)]
        atoms: list[Callable[[], Condition]] = [
            lambda: self.about(self.number(1), self.fraction),
            lambda: self.about(self.number(1), self.fraction),
        ]
        if self.of_kind("day"):
            atoms += [lambda: self.about(self.day(1), self.date)] * 2
        if self.of_kind("truth"):
            atoms += [lambda: self.one(*self.of_kind("truth")), self.of_truth]
        if texts:
            atoms += [lambda: self.of_text(*self.one(*texts))] * 2
        chosen: Callable[[], Condition] = self.one(*atoms)
        return chosen()

    def about(self, e: Expr, constant: Callable[[], Value]) -> Condition:
        """A comparison of numbers or days."""
        sign = self.one("=", "<>", "<", "<=", ">", ">=")
        low, high = Lit(constant()), Lit(constant())
        listed = tuple(constant() for _ in range(self.one(1, 2, 3)))
        number = not isinstance(low.value, datetime.date)
        return self.one(  # type: ignore[no-any-return]  # one of these
            Compare(sign, e, low),
            Compare(sign, e, self.number(1) if number else self.day(1)),
            Between(e, low, high, self.chance(3)),
            In(e, listed, self.chance(3)),
        )

    def of_truth(self) -> Condition:
        e = self.one(*self.of_kind("truth"))
        return Compare(self.one("=", "<>"), e, self.one(Lit(True), *self.of_kind("truth")))

    def of_text(self, ref: Ref, kind: Category) -> Condition:
        listed = tuple(self.one(*kind.values) for _ in range(self.one(1, 2, 3)))
        same = [other for other, column in self.columns() if column == kind]
        sign = self.one("=", "<>")
        return self.one(  # type: ignore[no-any-return]  # one of these
            Compare(sign, ref, Lit(listed[0])),
            Compare(sign, ref, self.one(*same)),
            In(ref, listed, self.chance(3)),
        )

    # --- keys and items -------------------------------------------------------------------

    def declared(self) -> list[Ref]:
        """The columns of declared key sets."""
        sets = {table.name: table.key_sets for table in self.dataset.tables}
        return [
            Ref(source.name, column)
            for source in self.sources
            for keys in sets.get(source.table, ())
            for column in keys.columns
        ]

    def key(self) -> Expr:
        """An expression that may be grouped by; its values are counted later."""
        keys: list[Callable[[], Expr]] = [
            lambda: self.one(*[ref for ref, _ in self.columns()]),
            lambda: self.one(*[ref for ref, _ in self.columns()]),
            lambda: self.case(lambda _: Lit(self.one(*TEXTS)), 0),
        ]
        declared = self.declared()
        if declared:
            keys += [lambda: self.one(*declared)] * 3
        if self.of_kind("number"):
            keys.append(lambda: self.bucket(self.one(*self.of_kind("number"))))
            keys.append(lambda: self.case(self.number, 0))
        if self.of_kind("day"):
            keys += [
                lambda: Part(self.one("year", "quarter", "isodow"), self.one(*self.of_kind("day"))),
                lambda: Trunc(self.one(*_PERIODS), self.one(*self.of_kind("day"))),
            ]
        chosen: Callable[[], Expr] = self.one(*keys)
        return chosen()

    def about_key(self, key: Expr) -> Condition | None:
        """A condition on a key alone."""
        values = [*domain(key, tables_of(Query(tuple(self.sources), ()), self.dataset)).values()]
        some = tuple(self.draw(st.lists(st.sampled_from(values), min_size=1, max_size=3)))
        if isinstance(key, Case):
            return None
        if isinstance(values[0], str | bool):
            return In(key, some, self.chance(3))
        return self.one(  # type: ignore[no-any-return]  # one of these
            In(key, some, self.chance(4)),
            Compare(self.one(">=", "<"), key, Lit(some[0])),
            Or((Compare("=", key, Lit(some[0])), Compare(">", key, Lit(some[-1])))),
        )

    def aggregate(self) -> Aggregate:
        kind = self.one(
            "rows", "rows", "units", "sum", "sum", "sum", "avg", "var_pop", "var_samp",
            "stddev_pop", "stddev_samp", "quantile",
        )  # fmt: skip
        if kind == "rows":
            top = Fraction(self.draw(st.integers(0, 4)))
            return Aggregate(kind, clamp=self.one(None, None, (Fraction(0), top)))
        if kind == "units":
            return Aggregate(kind)
        if kind == "quantile":
            e = self.one(
                *(self.of_kind("number") or [Lit(Fraction(1))]), self.bucket(self.number(1))
            )
            return Aggregate(
                kind, e, self.one(*(Fraction(n, 8) for n in range(1, 8)), Fraction(1, 2))
            )
        if kind != "sum":
            return Aggregate(kind, self.number(1))
        e = self.truth(1) if self.chance(5) else self.number(2)
        digits = domain(e, tables_of(Query(tuple(self.sources), ()), self.dataset)).digits
        ends = (-self.bound(digits), self.bound(digits))
        return Aggregate(kind, e, clamp=self.one(None, None, ends))


@st.composite
def queries(draw: st.DrawFn, dataset: Dataset) -> Query:
    """A query that the language has and that is not too large for a test."""
    writer = _Writer(draw, dataset)
    writer.join()
    keys = tuple(dict.fromkeys(writer.key() for _ in range(writer.one(0, 1, 1, 2))))
    conditions = [writer.condition(2)] if writer.chance(2) else []
    if keys and writer.chance(3):
        about = writer.about_key(writer.one(*keys))
        conditions += [about] if about is not None else []
    where: Condition | None = And(tuple(conditions)) if len(conditions) > 1 else None
    if len(conditions) == 1:
        where = conditions[0]
    aggregates = [writer.aggregate() for _ in range(writer.one(1, 1, 2, 3))]
    items = [Item(what, f"n{place}") for place, what in enumerate(aggregates)]
    shown = [Item(place, f"key{place}") for place in range(len(keys)) if not writer.chance(5)]
    query = Query(tuple(writer.sources), (*shown, *items), where, keys)
    return query if fits(resolved(query, dataset), dataset) else draw(queries(dataset))


def fits(query: Query, dataset: Dataset) -> bool:
    """Whether each key is another and no constant, the answer has rows, but few of them, and no
    number is near the largest allowed."""
    tables = tables_of(query, dataset)
    for key in query.keys:
        some = list(zip(domain(key, tables).values(), range(2), strict=False))
        if not isinstance(key, Ref) and len(some) < 2:
            return False
    if len(set(query.keys)) < len(query.keys) or not _few_keys(query, dataset):
        return False
    size = sum(cells(column, query, dataset) for column in noisy_columns(query, dataset))
    return 0 < size <= MOST_CELLS and largest(query, dataset) <= 2**31


def _few_keys(query: Query, dataset: Dataset) -> bool:
    most = 1
    for key in query.keys:
        most *= _few(key, query, dataset)
    histograms = [
        column.of for column in noisy_columns(query, dataset) if column.kind == "histogram"
    ]
    return most <= 300 and all(_few(e, query, dataset) <= 300 for e in histograms if e is not None)


def _few(e: Expr, query: Query, dataset: Dataset) -> int:
    """How many values; 301 stands for more."""
    values: Sequence[object] = [
        *zip(domain(e, tables_of(query, dataset)).values(), range(301), strict=False)
    ]
    return len(values)
