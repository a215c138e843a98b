"""SQL text of a structured query, in one of its many spellings. Nothing is tested here."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction
from random import Random

from interlace.query.schema import Dataset
from tests.differential.domains import tables_of
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
    In,
    Item,
    Lit,
    Neg,
    Node,
    Not,
    Or,
    Part,
    Query,
    Ref,
    Source,
    Trunc,
    Value,
)

_OR, _AND, _NOT, _COMPARED, _SUM, _PRODUCT, _ATOM = range(7)
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_FUNCTIONS = {"var_samp": ["VAR_SAMP", "VARIANCE", "VAR"], "stddev_samp": ["STDDEV_SAMP", "STDDEV"]}


def printed(query: Query, dataset: Dataset, random: Random | None = None) -> str:
    """The query as text: the plainest spelling, or a random one."""
    return _Printer(query, dataset, random).query()


def constant(value: Value, fine: int = 0) -> str:
    """A literal; a number with ``fine`` zeros more than it needs."""
    match value:
        case bool():
            return str(value).upper()
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime.date():
            return f"DATE '{value}'"
    digits = next(d for d in range(40) if (value * 10**d).denominator == 1) + fine
    whole, part = divmod(abs(int(value * 10**digits)), 10**digits)
    return f"{'-' if value < 0 else ''}{whole}" + (f".{part:0{digits}d}" if digits else "")


class _Printer:
    def __init__(self, query: Query, dataset: Dataset, random: Random | None) -> None:
        self.asked, self.dataset, self.random = query, dataset, random
        self.columns = {
            source: [name.casefold() for name, _ in table.columns]
            for source, table in tables_of(query, dataset).items()
        }

    def pick(self, *options: str) -> str:
        return options[0] if self.random is None else self.random.choice(options)

    def flip(self) -> bool:
        return self.random is not None and self.random.random() < 0.3

    def word(self, text: str) -> str:
        return self.pick(text, text, text.lower(), text.title())

    def name(self, name: str) -> str:
        quoted = f'"{name}"'
        if not re.fullmatch(r"[A-Za-z_][A-Za-z_0-9]*", name):
            return quoted
        return self.pick(name, name, quoted, name.upper(), name.title())

    def ref(self, ref: Ref) -> str:
        alone = sum(ref.column.casefold() in names for names in self.columns.values()) == 1
        if alone and self.pick("alone", "alone", "qualified") == "alone":
            return self.name(ref.column)
        return f"{self.name(ref.source)}.{self.name(ref.column)}"

    # --- expressions and conditions -------------------------------------------------------

    def at(self, node: Node, strength: int) -> str:
        """The text of a part that has to bind as strongly as that."""
        text, own = self.node(node)
        return f"({text})" if own < strength or self.flip() else text

    def node(self, node: Node) -> tuple[str, int]:  # noqa: C901 - one line for each node
        match node:
            case Ref():
                return self.ref(node), _ATOM
            case Lit(value):
                fine = 1 if isinstance(value, Fraction) and self.flip() and value % 1 else 0
                return constant(value, fine), _ATOM
            case Arith(sign, left, right):
                own = _PRODUCT if sign == "*" else _SUM
                return f"{self.at(left, own)} {sign} {self.at(right, own + 1)}", own
            case Neg(inner):
                text = self.at(inner, _ATOM)
                return f"-({text})" if text.startswith("-") else f"-{text}", _ATOM
            case Abs(inner):
                return f"{self.word('ABS')}({self.at(inner, _SUM)})", _ATOM
            case Clamp(inner, lower, upper):
                ends = f"{constant(lower)}, {constant(upper)}"
                return f"{self.word('CLAMP')}({self.at(inner, _SUM)}, {ends})", _ATOM
            case Case():
                return self.case(node), _ATOM
            case Part(part, inner):
                return self.part(part, self.at(inner, _SUM)), _ATOM
            case Trunc(period, inner):
                named = self.pick(period, period, period.upper())
                return f"{self.word('DATE_TRUNC')}('{named}', {self.at(inner, _SUM)})", _ATOM
            case Bucket(inner, width, origin):
                end = "" if origin is None else f", {constant(origin)}"
                named = self.word("BUCKET")
                return f"{named}({self.at(inner, _SUM)}, {constant(width)}{end})", _ATOM
            case _:
                return self.condition(node)

    def case(self, node: Case) -> str:
        branches = " ".join(
            f"{self.word('WHEN')} {self.at(condition, _OR)} {self.word('THEN')} {self.at(e, _SUM)}"
            for condition, e in node.branches
        )
        rest = self.at(node.otherwise, _SUM)
        return f"{self.word('CASE')} {branches} {self.word('ELSE')} {rest} {self.word('END')}"

    def part(self, part: str, inner: str) -> str:
        return self.pick(
            f"{self.word(part.upper())}({inner})",
            f"{self.word('EXTRACT')}({self.word(part.upper())} {self.word('FROM')} {inner})",
            f"{self.word('DATE_PART')}('{part}', {inner})",
        )

    def condition(self, node: Node) -> tuple[str, int]:
        match node:
            case Compare(sign, left, right):
                if self.flip():
                    sign, left, right = _MIRRORED[sign], right, left  # type: ignore[assignment]  # a sign, too
                sign_text = self.pick(sign, "!=") if sign == "<>" else sign
                texts = [self.beside(left, right), self.beside(right, left)]
                return f"{texts[0]} {sign_text} {texts[1]}", _COMPARED
            case Between(inner, lower, upper, negated):
                low, high = self.beside(lower, inner), self.beside(upper, inner)
                word = f"{self.negation(negated)}{self.word('BETWEEN')}"
                return f"{self.at(inner, _SUM)} {word} {low} {self.word('AND')} {high}", _COMPARED
            case In(inner, values, negated):
                listed = ", ".join(self.beside(Lit(value), inner) for value in values)
                word = f"{self.negation(negated)}{self.word('IN')}"
                return f"{self.at(inner, _SUM)} {word} ({listed})", _COMPARED
            case And(parts):
                return f" {self.word('AND')} ".join(self.at(p, _AND + 1) for p in parts), _AND
            case Or(parts):
                return f" {self.word('OR')} ".join(self.at(p, _OR + 1) for p in parts), _OR
            case Not(inner):
                return f"{self.word('NOT')} {self.at(inner, _NOT)}", _NOT
        raise AssertionError(node)

    def negation(self, negated: bool) -> str:
        return f"{self.word('NOT')} " if negated else ""

    def beside(self, node: Node, other: Node) -> str:
        """One side of a comparison: beside a day the text of a date will do."""
        match node:
            case Lit(datetime.date() as day) if not isinstance(other, Lit):
                return self.pick(f"DATE '{day}'", f"'{day}'")
        return self.at(node, _SUM)

    # --- the query ------------------------------------------------------------------------

    def aggregate(self, item: Aggregate) -> str:
        of = "" if item.of is None else self.at(item.of, _SUM)
        match item.kind:
            case "rows":
                text = f"{self.word('COUNT')}(*)"
            case "units":
                unit = self.name(self.dataset.unit)
                if len(self.asked.sources) > 1 or self.flip():
                    unit = f"{self.name(self.asked.sources[0].name)}.{unit}"
                text = f"{self.word('COUNT')}({self.word('DISTINCT')} {unit})"
            case "quantile":
                assert item.q is not None
                text = f"{self.word('QUANTILE')}({of}, {constant(item.q)})"
                if item.q == Fraction(1, 2):
                    text = self.pick(text, f"{self.word('MEDIAN')}({of})")
            case kind:
                named = self.pick(*_FUNCTIONS.get(kind, [kind.upper()]))
                text = f"{self.word(named)}({of})"
        if item.clamp is None:
            return text
        return f"{self.word('CLAMP')}({text}, {constant(item.clamp[0])}, {constant(item.clamp[1])})"

    def item(self, item: Item) -> str:
        what = item.what
        text = (
            self.at(self.asked.keys[what], _SUM) if isinstance(what, int) else self.aggregate(what)
        )
        return f"{text} {self.word('AS')} {self.quoted(item.name)}"

    def quoted(self, name: str) -> str:
        """A name that the query gives, and gives it so."""
        return self.pick(f'"{name}"', name)

    def source(self, source: Source) -> str:
        alias = (
            ""
            if source.name == source.table
            else f" {self.pick('AS ', '')}{self.quoted(source.name)}"
        )
        table = f"{self.name(source.table)}{alias}"
        if not source.join:
            return f"{self.word('FROM')} {table}"
        join = f"{self.pick('JOIN', 'INNER JOIN', 'join')} {table}"
        if source.join == "unit":
            column, first = self.dataset.unit, self.asked.sources[0].name
            mine = f"{self.name(source.name)}.{self.name(column)}"
            theirs = f"{self.name(first)}.{self.name(column)}"
        else:
            assert source.by is not None
            public = next(table for table in self.dataset.public if table.name == source.table)
            column = public.key
            mine = f"{self.name(source.name)}.{self.name(column)}"
            theirs = self.ref(source.by)
        if source.using:
            return f"{join} {self.word('USING')} ({self.name(column)})"
        sides = self.pick(f"{mine} = {theirs}", f"{theirs} = {mine}")
        return f"{join} {self.word('ON')} {self.pick(sides, f'({sides})')}"

    def query(self) -> str:
        query = self.asked
        items = ", ".join(self.item(item) for item in query.items)
        parts = [f"{self.word('SELECT')} {items}", *map(self.source, query.sources)]
        if query.where is not None:
            parts.append(f"{self.word('WHERE')} {self.at(query.where, _OR)}")
        if query.keys:
            named = {item.what: item.name for item in query.items if isinstance(item.what, int)}
            keys = [
                self.quoted(named[place]) if place in named and self.flip() else self.at(key, _SUM)
                for place, key in enumerate(query.keys)
            ]
            parts.append(f"{self.word('GROUP BY')} {', '.join(keys)}")
        return self.pick(" ", "\n").join(parts) + self.pick("", ";")
