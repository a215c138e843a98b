"""The canonical SQL text of a plan: what it means in the analyst's own words and values.

It is an identity, so it is written here to the last blank and does not follow a library's
formatting. No engine runs it: engines get ``rewrite``.
"""

from __future__ import annotations

from collections.abc import Iterable

from interlace.core.errors import QueryRefused
from interlace.query.columns import Column
from interlace.query.fixed_point import decimal_text
from interlace.query.joins import Joined
from interlace.query.parts import Part
from interlace.query.predicates import Always, Every, Predicate, Ranges, Some, Within, complement
from interlace.query.schema import Dataset
from interlace.query.terms import (
    Absolute,
    Bucketed,
    Chosen,
    Clamped,
    Difference,
    Literal,
    Minus,
    PartOf,
    Plus,
    Ref,
    Rounded,
    Scaled,
    Term,
    Times,
    Truncated,
    Truth,
)

#: As many as a query may have characters: no text of so many terms is shorter.
_MOST_TERMS = 20_000


def sql_of(
    dataset: Dataset,
    joined: Joined,
    items: Iterable[str],
    where: Predicate,
    keys: Iterable[Term] = (),
) -> str:
    """The canonical text; parsing it gives the same plan again.

    >>> from interlace.query.columns import Integer
    >>> from interlace.query.schema import Table
    >>> labs = Table("labs", {"value": Integer(0, 500)})
    >>> value = Ref("labs", "value", Integer(0, 500))
    >>> clinic = Dataset("clinic", "id", (labs,))
    >>> sql_of(clinic, Joined((labs,)), ["COUNT(*)"], Within(value, ((9, 500),)))
    'SELECT COUNT(*) FROM "labs" WHERE "value" >= 9'
    """
    write = Writer(joined.single)
    text = f"SELECT {', '.join(items)} FROM {quoted(joined.tables[0].name)}"
    for table in joined.tables[1:]:
        text += f" JOIN {quoted(table.name)} USING ({quoted(dataset.unit)})"
    for lookup in joined.lookups:
        public = quoted(lookup.public.name)
        text += f" JOIN {public} ON {write.term(lookup.by)} = {public}.{quoted(lookup.public.key)}"
    condition = write.condition(where)
    text += "" if condition is None else f" WHERE {condition}"
    grouped = ", ".join(write.term(key) for key in keys)
    return f"{text} GROUP BY {grouped}" if grouped else text


def quoted(name: str) -> str:
    """A declared name as SQL takes it exactly."""
    return f'"{name}"'  # declared names hold no double quote


class Writer:
    """Writes terms and conditions; names are qualified where there are several tables."""

    def __init__(self, single: bool) -> None:
        self._single = single
        self._left = _MOST_TERMS

    def term(self, term: Term, strength: int = 0) -> str:
        """The text, in parentheses if it binds less tightly than ``strength``: 1 for a sum, 2
        for a product, 3 for what stands alone."""
        self._left -= 1
        if self._left < 0:  # the ranges of nested conditions repeat what they are of
            raise QueryRefused("length", "its conditions nest and have many ranges: ask for less")
        return self._text(term, strength)

    def aggregate(self, part: Part, unit: str) -> str:
        """The aggregate that a part is, without its keys; ``unit`` is the unit's column."""
        text = "COUNT(*)" if part.kind == "rows" else f"COUNT(DISTINCT {quoted(unit)})"
        if part.term is not None:
            text = f"SUM({self.term(part.term)})"
        if part.clamp is None:
            return text
        low, high = (decimal_text(end, part.digits) for end in part.clamp)
        return f"CLAMP({text}, {low}, {high})"

    def _text(self, term: Term, strength: int) -> str:
        match term:
            case Ref(table, name):
                return quoted(name) if self._single else f"{quoted(table)}.{quoted(name)}"
            case Literal(code, kind):
                text = kind.show(code)
                return f"({text})" if text.startswith("-") and strength > 0 else text
            case Scaled(of):
                return self.term(of, strength)
            case Plus(left, right):
                return _bound(f"{self.term(left, 1)} + {self.term(right, 2)}", 1, strength)
            case Minus(left, right):
                return _bound(f"{self.term(left, 1)} - {self.term(right, 2)}", 1, strength)
            case Times(left, right):
                return _bound(f"{self.term(left, 2)} * {self.term(right, 3)}", 2, strength)
            case Truth(of):
                return f"({self.condition(of)})"
            case Chosen(branches, otherwise):
                cases = " ".join(
                    f"WHEN {self.condition(when) or 'TRUE'} THEN {self.term(result)}"
                    for when, result in branches
                )
                return f"CASE {cases} ELSE {self.term(otherwise)} END"
            case Difference(left, right):
                return f"{self.term(left)} = {self.term(right)}"
        return self._call(term)

    def _call(self, term: Absolute | Clamped | PartOf | Truncated | Bucketed | Rounded) -> str:
        inner = self.term(term.of)
        match term:
            case Absolute():
                return f"ABS({inner})"
            case Clamped(_, lower, upper, kind):
                low, high = (decimal_text(code, kind.digits) for code in (lower, upper))
                return f"CLAMP({inner}, {low}, {high})"
            case PartOf(part):
                return f"{part.upper()}({inner})"
            case Rounded(of, factor):
                return f"ROUND({inner} / {decimal_text(factor, of.kind.digits)})"
            case Truncated(period):
                return f"DATE_TRUNC('{period}', {inner})"
            case Bucketed(_, width, origin, kind):
                wide = decimal_text(width, kind.digits)
                return f"BUCKET({inner}, {wide}, {kind.show(origin)})"

    def condition(self, where: Predicate) -> str | None:
        """The text of a condition; None where it always holds."""
        match where:
            case Always(value):
                return None if value else "FALSE"
            case Within():
                return " OR ".join(self._terms(where))
            case Every(parts) | Some(parts):
                word = " AND " if isinstance(where, Every) else " OR "
                return word.join(self._grouped(part, word) for part in parts)

    def _grouped(self, part: Predicate, word: str) -> str:
        text = self.condition(part) or ""
        # AND binds tighter than OR; the ranges of one term are joined by OR too.
        loose = isinstance(part, Some) or (isinstance(part, Within) and _several(part))
        return f"({text})" if loose and word == " AND " else text

    def _terms(self, part: Within) -> list[str]:
        """Conditions of which one must hold."""
        if isinstance(part.term, Difference):
            left, right = self.term(part.term.left, 1), self.term(part.term.right, 1)
            return [f"{left} {'=' if part.ranges == ((0, 0),) else '<>'} {right}"]
        kind, text = part.term.kind, self.term(part.term, 1)
        if not kind.ordered:
            return [_membership(text, kind, part)]
        terms = [_range(text, kind, item, part.codes) for item in part.ranges]
        single = [least for least, most in part.ranges if least == most]
        if len(single) > 1:
            wide = [t for t, item in zip(terms, part.ranges, strict=True) if item[0] < item[1]]
            return [*wide, f"{text} IN ({', '.join(map(kind.show, single))})"]
        return terms


def _several(part: Within) -> bool:
    """Whether a condition on one term is written as several."""
    if isinstance(part.term, Difference) or not part.term.kind.ordered:
        return False
    single = sum(least == most for least, most in part.ranges)
    return len(part.ranges) - max(single - 1, 0) > 1


def _bound(text: str, own: int, strength: int) -> str:
    return f"({text})" if own < strength else text


def _membership(text: str, kind: Column, part: Within) -> str:
    """Of a category or a boolean: the listed codes or, if these are fewer, all but the others."""
    gaps = complement(part.ranges, part.codes)
    few, one, many = (
        (part.ranges, "=", "IN") if _size(part.ranges) <= _size(gaps) else (gaps, "<>", "NOT IN")
    )
    listed = [code for least, most in few for code in range(least, most + 1)]
    if len(listed) == 1:
        return f"{text} {one} {kind.show(listed[0])}"
    return f"{text} {many} ({', '.join(map(kind.show, listed))})"


def _size(ranges: Ranges) -> int:
    return sum(most - least + 1 for least, most in ranges)


def _range(text: str, kind: Column, item: tuple[int, int], codes: tuple[int, int]) -> str:
    if item[0] == item[1]:
        return f"{text} = {kind.show(item[0])}"
    if item[0] == codes[0]:
        return f"{text} <= {kind.show(item[1])}"
    if item[1] == codes[1]:
        return f"{text} >= {kind.show(item[0])}"
    return f"{text} BETWEEN {kind.show(item[0])} AND {kind.show(item[1])}"
