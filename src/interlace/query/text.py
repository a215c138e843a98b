"""The canonical SQL text of a plan: what it means in the analyst's own words and values.

It is an identity that ledgers keep, so it is written here to the last blank and does not
follow a library's formatting. No engine runs it: engines get ``rewrite``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from interlace.query.predicates import Always, Every, Predicate, Ranges, Some, Within, complement
from interlace.query.schema import Dataset, Table

if TYPE_CHECKING:
    from interlace.query.plan import Aggregate


def sql_of(
    dataset: Dataset, table: Table, aggregates: Iterable[Aggregate], where: Predicate
) -> str:
    """The canonical text; parsing it gives the same plan again.

    >>> from interlace.query.columns import Integer
    >>> labs = Table("labs", {"value": Integer(0, 500)})
    >>> sql_of(Dataset("clinic", "id", (labs,)), labs, (), Within("value", (0, 500), ((9, 500),)))
    'SELECT  FROM "labs" WHERE "value" >= 9'
    """
    items = ", ".join(_aggregate(dataset, item) for item in aggregates)
    text = f"SELECT {items} FROM {_name(table.name)}"
    condition = _condition(table, where)
    return text if condition is None else f"{text} WHERE {condition}"


def _name(name: str) -> str:
    return f'"{name}"'  # declared names hold no double quote


def _aggregate(dataset: Dataset, item: Aggregate) -> str:
    if item.kind == "sum":
        return f"SUM({_name(item.column or '')})"
    return "COUNT(*)" if item.kind == "rows" else f"COUNT(DISTINCT {_name(dataset.unit)})"


def _condition(table: Table, where: Predicate) -> str | None:
    match where:
        case Always(value):
            return None if value else "FALSE"
        case Within():
            return " OR ".join(_terms(table, where))
        case Every(parts) | Some(parts):
            word = " AND " if isinstance(where, Every) else " OR "
            return word.join(_grouped(table, part, word) for part in parts)


def _grouped(table: Table, part: Predicate, word: str) -> str:
    text = _condition(table, part) or ""
    # AND binds tighter than OR; the ranges of one column are joined by OR too.
    loose = isinstance(part, Some) or (isinstance(part, Within) and len(_terms(table, part)) > 1)
    return f"({text})" if loose and word == " AND " else text


def _terms(table: Table, part: Within) -> list[str]:
    """Conditions of which one must hold."""
    kind, column = table.kind(part.column), _name(part.column)
    if not kind.ordered:
        return [_membership(column, kind.show, part)]
    terms = [_range(column, kind.show, item, part.codes) for item in part.ranges]
    single = [least for least, most in part.ranges if least == most]
    if len(single) > 1:
        wide = [text for text, item in zip(terms, part.ranges, strict=True) if item[0] < item[1]]
        return [*wide, f"{column} IN ({', '.join(map(kind.show, single))})"]
    return terms


def _membership(column: str, show: Callable[[int], str], part: Within) -> str:
    """Of a category or a boolean: the listed codes or, if these are fewer, all but the others."""
    gaps = complement(part.ranges, part.codes)
    few, one, many = (
        (part.ranges, "=", "IN") if _size(part.ranges) <= _size(gaps) else (gaps, "<>", "NOT IN")
    )
    listed = [code for least, most in few for code in range(least, most + 1)]
    if len(listed) == 1:
        return f"{column} {one} {show(listed[0])}"
    return f"{column} {many} ({', '.join(map(show, listed))})"


def _size(ranges: Ranges) -> int:
    return sum(most - least + 1 for least, most in ranges)


def _range(
    column: str, show: Callable[[int], str], item: tuple[int, int], codes: tuple[int, int]
) -> str:
    if item[0] == item[1]:
        return f"{column} = {show(item[0])}"
    if item[0] == codes[0]:
        return f"{column} <= {show(item[1])}"
    if item[1] == codes[1]:
        return f"{column} >= {show(item[0])}"
    return f"{column} BETWEEN {show(item[0])} AND {show(item[1])}"
