"""Reads files of guarantees for ``interlace compose``: JSON and CSV, every number exactly as written.

An error names the file, and the item or the line and column.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from interlace.cli.expression import Form, form_of, read_expression, read_whole
from interlace.core.composition.batch import LARGEST, Batch
from interlace.core.errors import ParameterError
from interlace.core.guarantees import ApproxDP, Guarantee, PureDP, Relation
from interlace.interchange import from_json

Items = list[tuple[Guarantee, int]]
Row = tuple[str, Mapping[str, str] | str | Guarantee]
"""Where something stands, and its fields, an expression, or what needs no reading any more."""
Pair = tuple[float, float | None]
"""epsilon and delta as floats whose decimals are exactly these; None for a pure one."""

_NUMBERS = (
    "epsilon",
    "delta",
    "rho",
    "omega",
    "mu",
    "alpha",
    "scale",
    "sigma",
    "shift",
    "categories",
    "eta",
)
_OTHER = ("notion", "count", "relation")
#: From this many on, (epsilon, delta) items become one batch, if floats hold them exactly.
_BATCHED = 1000
#: A decimal that a float may print.
_DECIMAL = re.compile(r"[0-9]{1,40}(\.[0-9]{1,40})?(e-?[0-9]{1,3})?", re.IGNORECASE)


def is_file(text: str) -> bool:
    """Whether the argument names a file rather than an expression.

    >>> is_file("plan.json"), is_file("Plan.CSV"), is_file("0.1")
    (True, True, False)
    """
    return Path(text).suffix.lower() in {".json", ".csv"}


def read_file(path: Path) -> Items:
    """The guarantees and counts of a JSON or CSV file.

    JSON: a list of expressions, and of objects with "notion", its numbers (as numbers or as text
    like "1/11"), and where wanted "count" and "relation". CSV: a header with some of these names;
    without a notion a row is pure, or (epsilon, delta) where it has a delta. What ``to_json`` wrote
    is read too.

    Raises click.UsageError for a file that cannot be read, ParameterError for what is not so.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise click.UsageError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ParameterError(str(path), "must be UTF-8 text") from None
    return _items(_json(text, path) if path.suffix.lower() == ".json" else _csv(text, path))


def _items(rows: Iterable[Row]) -> Items:
    plain: list[Pair] = []
    items: Items = []
    for place, row in rows:
        if isinstance(row, Guarantee):
            items.append((row, 1))
        elif isinstance(row, str):
            items += _placed(place, lambda row=row: read_expression(row))
        elif (pair := _pair(row)) is not None:
            plain.append(pair)
        else:
            items.append(_placed(place, lambda row=row: _built(row)))
    return _batched(plain, items)


def _pair(fields: Mapping[str, str]) -> Pair | None:
    """What the fields say where they are plain: by floats alone, since there may be 100,000 rows."""
    if not fields.keys() <= {"epsilon", "delta", "count"} or fields.get("count", "1") != "1":
        return None
    epsilon = _float(fields.get("epsilon", ""), LARGEST)
    if "delta" not in fields or epsilon is None:
        return None if epsilon is None else (epsilon, None)
    delta = _float(fields["delta"], 1)
    return None if delta is None else (epsilon, delta)


def _float(text: str, most: float) -> float | None:
    """A float up to ``most`` that prints exactly this decimal, if there is one."""
    if not _DECIMAL.fullmatch(text):
        return None
    found = float(text)
    return found if found <= most and Decimal(repr(found)) == Decimal(text) else None


def _json(text: str, path: Path) -> Iterator[Row]:
    try:
        found = json.loads(
            text, parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=_once
        )
    except json.JSONDecodeError as error:
        place = f"{path}, line {error.lineno}, column {error.colno}"
        raise ParameterError(place, f"is no JSON: {error.msg}") from None
    except (RecursionError, _Twice) as error:
        told = str(error) if isinstance(error, _Twice) else "is nested too deeply"
        raise ParameterError(str(path), told) from None
    if isinstance(found, dict) and "format" in found:
        yield str(path), _placed(f"{path},", lambda: from_json(text))
        return
    if not isinstance(found, list):
        raise ParameterError(
            str(path), "must be a list of objects and expressions, or what to_json wrote"
        )
    for index, item in enumerate(found):
        place = f"{path}, item {index}"
        fields = item.values() if isinstance(item, dict) else (item,)
        if not all(isinstance(v, str) for v in fields):
            raise ParameterError(
                place, "must be an expression, or an object of numbers and text with a notion"
            )
        yield place, item


class _Twice(ValueError):
    """A name occurs twice in one object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _Twice("has an object in which a name occurs twice")
    return found


def _csv(text: str, path: Path) -> Iterator[Row]:
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip().lower() for name in next(rows, [])]
        _check_header(header, path)
        for row in rows:
            place = f"{path}, line {rows.line_num}"
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(header):
                raise ParameterError(place, f"has {len(row)} columns, the header {len(header)}")
            cells = zip(header, row, strict=True)
            fields = {name: cell.strip() for name, cell in cells if cell.strip()}
            yield f"{place}, column", fields
    except csv.Error as error:
        raise ParameterError(f"{path}, line {rows.line_num}", f"is no CSV: {error}") from None


def _check_header(header: list[str], path: Path) -> None:
    place, known = f"{path}, line 1", [*_OTHER, *_NUMBERS]
    for name in header:
        if name not in known:
            allowed = ", ".join(known)
            raise ParameterError(place, f"{name!r} is no column: a header names some of {allowed}")
    if len(set(header)) < len(header):
        raise ParameterError(place, "a column occurs twice")
    if not set(header) - {"count", "relation"}:
        raise ParameterError(place, "a header like epsilon,delta,count is needed")


def _placed(place: str, read: Any) -> Any:
    try:
        return read()
    except ParameterError as error:
        raise ParameterError(f"{place} {error.name}", error.problem) from None


def _built(fields: Mapping[str, str]) -> tuple[Guarantee, int]:
    form = _form(fields)
    given = {name: text for name, text in fields.items() if name not in _OTHER}
    for name in given:
        if name not in form.names:
            raise ParameterError(name, f"is not for this notion, which has {_listed(form)}")
    for name in form.needed:
        if name not in given:
            raise ParameterError(name, f"is missing: this notion has {_listed(form)}")
    count = read_whole(fields["count"], "count") if "count" in fields else 1
    more = {"relation": _relation(fields["relation"])} if "relation" in fields else {}
    return form.read(given, **more), count


def _form(fields: Mapping[str, str]) -> Form:
    word = fields.get("notion", "approximate" if "delta" in fields else "pure")
    form = form_of(word)
    if form is None:
        raise ParameterError("notion", f"{word!r} is none: pure, approximate, renyi, zcdp, ...")
    return form


def _listed(form: Form) -> str:
    return ", ".join(form.names)


def _relation(text: str) -> Relation:
    for relation in Relation:
        if text == relation.value:
            return relation
    raise ParameterError("relation", f"must be one of {', '.join(r.value for r in Relation)}")


def _batched(plain: list[Pair], items: Items) -> Items:
    """All of them, with many different (epsilon, delta) items as one array: far faster."""
    read = [_floats(guarantee) if count == 1 else None for guarantee, count in items]
    every = plain + [pair for pair in read if pair is not None]
    if len(every) < _BATCHED:
        return [(PureDP(e) if d is None else ApproxDP(e, d), 1) for e, d in plain] + items
    rest = [item for item, pair in zip(items, read, strict=True) if pair is None]
    return [(Batch([e for e, _ in every], [d or 0.0 for _, d in every]), 1), *rest]


def _floats(guarantee: Guarantee) -> Pair | None:
    """(epsilon, delta), where floats that are read as the decimals they print are exactly this."""
    if guarantee.relation is not Relation.ADD_REMOVE:
        return None
    match guarantee:
        case PureDP():
            exact = guarantee.epsilon0, Fraction(0)
        case ApproxDP():
            exact = guarantee.epsilon0, guarantee.delta0
        case _:
            return None
    if exact[0] > LARGEST:
        return None
    found = float(exact[0]), float(exact[1])
    return found if all(Fraction(repr(f)) == x for f, x in zip(found, exact, strict=True)) else None
