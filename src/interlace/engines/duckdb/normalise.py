"""From a source's value to a code: SQL expressions of DuckDB, one value at a time.

First the *place* of a value on the axis of codes, then the code that the declared rules put
there. Each depends on its own value and the declaration only, never on other rows. The rules
are stated in the docstrings, because every engine must keep the same ones. Runs nothing.
"""

from __future__ import annotations

import re
from typing import Literal

from interlace.core.errors import DataError
from interlace.query.columns import Boolean, Category, Column, Day

#: Stands for every number beyond all bounds; still far within 128 bits.
_FAR = 2**100
#: The place of a category's value that is not listed.
_UNKNOWN = -1
#: The largest code.
_LARGEST = 2**62
#: How numbers are written, and infinite ones.
_NUMBER = r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]{1,3})?"
_INFINITE = r"(?i)[+-]?inf(inity)?"
#: The largest integers up to which these floats still tell neighbours apart.
_FLOAT_LIMIT = {"FLOAT": 2**24, "DOUBLE": 2**53}

#: From the patterns of DuckDB's types to what the rules tell apart.
_FAMILIES = (
    (r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER", "integer"),
    (r"FLOAT|DOUBLE", "float"),
    (r"DECIMAL\(.*\)", "decimal"),
    (r'VARCHAR|ENUM\(.*\)|UUID|"NULL"', "text"),
    (r"BOOLEAN", "boolean"),
    (r"DATE|TIMESTAMP(_S|_MS|_NS)?", "date"),
    (r"TIMESTAMP WITH TIME ZONE", "instant"),
)
#: Types all of whose values a BIGINT holds.
_SHORT = r"(TINY|SMALL|BIG)INT|INTEGER|U(TINY|SMALL)INT|UINTEGER"
#: The families that hold numbers, or texts of them.
_NUMERIC = ("integer", "float", "decimal", "text", "boolean")


def family(sql_type: str) -> str:
    """The family of a DuckDB type; "other" for what no rule covers.

    >>> family("UBIGINT"), family("DECIMAL(9,2)"), family("BLOB")
    ('integer', 'decimal', 'other')
    """
    return next((name for pattern, name in _FAMILIES if re.fullmatch(pattern, sql_type)), "other")


def place(kind: Column, raw: str, sql_type: str, where: str) -> str:
    """The expression of the place of ``raw``, an integer; NULL where it is missing.

    ``raw`` is an SQL expression of type ``sql_type``. A place beyond the bounds is one of an
    unlawful value, not necessarily its own. Raises DataError, naming ``where``, if no rule
    turns such a type into the declared one.
    """
    assert not isinstance(kind, Category)
    if isinstance(kind, Day):
        _check_family(sql_type, ("date", "instant", "text"), kind, where)
        return _day(raw, sql_type)
    _check_family(sql_type, _NUMERIC, kind, where)
    if isinstance(kind, Boolean):
        return _truth(raw, sql_type)
    return _number(raw, sql_type, kind.digits)


def label(kind: Category, raw: str, sql_type: str, where: str) -> str:
    """The text of a category's source value, in Unicode normal form C and otherwise verbatim; a
    number as it prints, integral ones without a point. NULL, NaN and the empty text are
    missing."""
    _check_family(sql_type, _NUMERIC, kind, where)
    return f"nfc_normalize({_printed(raw, family(sql_type))})"


def label_place(label: str, found: str) -> str:
    """The place of a category's text ``label``; ``found`` is the code listed for it or NULL."""
    return f"CASE WHEN {label} IS NULL THEN NULL ELSE COALESCE({found}, {_UNKNOWN}) END"


def code(kind: Column, place: str) -> str:
    """The expression of the code that the rules put for a place, NULL where the row is to be
    dropped."""
    parts = [f"WHEN {place} IS NULL THEN {_literal(kind.missing_code)}"]
    if isinstance(kind, Category):
        parts.append(f"WHEN {place} = {_UNKNOWN} THEN {_literal(kind.unknown_code)}")
    elif not isinstance(kind, Boolean):
        lower, upper = kind.codes
        clamp = kind.out_of_range == "clamp"
        parts.append(f"WHEN {place} < {lower} THEN {lower if clamp else 'NULL'}")
        parts.append(f"WHEN {place} > {upper} THEN {upper if clamp else 'NULL'}")
    return f"CAST(CASE {' '.join(parts)} ELSE {place} END AS BIGINT)"


Rule = Literal["missing", "out_of_range", "unknown"]


def rules(kind: Column, place: str) -> list[tuple[Rule, str, str]]:
    """The rules of a column: the name of each, what it does ("drop", "clamp" or the literal
    that it puts there), and the condition under which it applies to a place."""
    found: list[tuple[Rule, str, str]] = [
        ("missing", _done(kind, kind.missing_code), f"{place} IS NULL")
    ]
    if isinstance(kind, Category):
        found.append(("unknown", _done(kind, kind.unknown_code), f"{place} = {_UNKNOWN}"))
    elif not isinstance(kind, Boolean):
        lower, upper = kind.codes
        found.append(
            ("out_of_range", kind.out_of_range, f"{place} NOT BETWEEN {lower} AND {upper}")
        )
    return found


def _done(kind: Column, code: int | None) -> str:
    return "drop" if code is None else kind.show(code)


def unit_text(raw: str, sql_type: str, where: str) -> str:
    """The canonical text of a unit's external id: one id in all tables, whatever its type.

    Integral numbers print without a point, so that 7, 7.0, '7' and '7.0' are one unit; every
    other text is taken as it is ('007' is another unit). NULL, NaN, infinities and the empty
    text are no unit: their rows are dropped.
    """
    kind = family(sql_type)
    if kind not in ("integer", "float", "decimal", "text"):
        raise DataError(f"{where}: a unit is a number or a text, the source holds {sql_type}")
    text = _printed(raw, kind)
    if kind == "float":
        text = f"CASE WHEN isinf({raw}) THEN NULL ELSE {text} END"
    integral = f"regexp_replace({text}, '^(-?(0|[1-9][0-9]*))[.]0+$', '\\1')"
    return f"CASE WHEN {integral} = '-0' THEN '0' ELSE {integral} END"


def blurred(raw: str, sql_type: str) -> str | None:
    """A condition that holds for float ids so large that two units may have become one."""
    limit = _FLOAT_LIMIT.get(sql_type)
    return None if limit is None else f"isfinite({raw}) AND abs({raw}) >= {limit}"


def _check_family(sql_type: str, allowed: tuple[str, ...], kind: Column, where: str) -> None:
    if family(sql_type) not in allowed:
        raise DataError(
            f"{where}: declared {type(kind).__name__}, but the source holds {sql_type}: "
            f"convert it to {' or '.join(allowed)}"
        )


def _printed(raw: str, kind: str) -> str:
    text = f"NULLIF(CAST({raw} AS VARCHAR), '')"
    if kind == "float":
        whole = f"TRY_CAST({raw} AS HUGEINT)"
        integral = f"{raw} = trunc({raw}) AND {whole} IS NOT NULL"
        text = f"CASE WHEN {integral} THEN CAST({whole} AS VARCHAR) ELSE {text} END"
        return f"CASE WHEN isnan({raw}) THEN NULL ELSE {text} END"
    return text


def _number(raw: str, sql_type: str, digits: int) -> str:
    """The place of a number; NULL where it is missing.

    Rounded to the nearest, ties away from zero. With digits a float is read as the decimal
    that it prints. Text that is not a number is missing.
    """
    kind = family(sql_type)
    if kind == "boolean":
        return f"(CAST({raw} AS HUGEINT) * {10**digits})"
    if not digits and re.fullmatch(_SHORT, sql_type):
        return f"CAST({raw} AS BIGINT)"
    if kind == "integer":
        whole = f"COALESCE(TRY_CAST({raw} AS HUGEINT), {_FAR})"
        return (
            f"CASE WHEN {raw} IS NULL THEN NULL WHEN {whole} > {_LARGEST} THEN {_FAR} "
            f"WHEN {whole} < {-_LARGEST} THEN {-_FAR} ELSE {whole} * {10**digits} END"
        )
    if kind == "float" and not digits:
        return (
            f"CASE WHEN {raw} IS NULL OR isnan({raw}) THEN NULL "
            f"WHEN {raw} > 1e19 THEN {_FAR} WHEN {raw} < -1e19 THEN {-_FAR} "
            f"ELSE CAST(round(CAST({raw} AS DOUBLE)) AS HUGEINT) END"
        )
    written = _written(f"trim(CAST({raw} AS VARCHAR))", digits)
    return _quick(raw, digits, written) if sql_type == "DOUBLE" else written


def _quick(raw: str, digits: int, written: str) -> str:
    """Where it must come to the same, without writing the number down, which takes longer.

    The product is rounded once, and the decimal that a double prints is within half a unit of
    its last place: below 2^40 both together are off by less than 1/1000, and so decide
    nothing unless the product is that near to a half.
    """
    scaled = f"({raw} * {10**digits}::DOUBLE)"
    clear = f"abs(abs({scaled}) - floor(abs({scaled})) - 0.5) > 0.001"
    return (
        f"CASE WHEN abs({scaled}) < {2**40} AND {clear} "
        f"THEN CAST(round({scaled}) AS HUGEINT) ELSE {written} END"
    )


def _written(text: str, digits: int) -> str:
    """The place of a number written as decimal text."""
    fixed, approximate = f"TRY_CAST({text} AS DECIMAL(38,{digits}))", f"TRY_CAST({text} AS DOUBLE)"
    far = f"CASE WHEN {approximate} > 0 THEN {_FAR} ELSE {-_FAR} END"
    # Exact, and without the overflow that a product of decimals of width 38 has.
    exact = f"CAST(replace(CAST({fixed} AS VARCHAR), '.', '') AS HUGEINT)"
    return (
        f"CASE WHEN regexp_full_match({text}, '{_INFINITE}') THEN {far} "
        f"WHEN NOT regexp_full_match({text}, '{_NUMBER}') THEN NULL "
        f"WHEN abs({approximate}) >= 1e19 THEN {far} ELSE {exact} END"
    )


def _truth(raw: str, sql_type: str) -> str:
    """1, 0 or NULL: TRUE and FALSE, the numbers 1 and 0, and the texts that print them."""
    kind = family(sql_type)
    if kind == "boolean":
        return f"CAST({raw} AS BIGINT)"
    if kind == "text":
        text = f"lower(trim(CAST({raw} AS VARCHAR)))"
        return (
            f"CASE WHEN {text} IN ('true', 't', '1', '1.0') THEN 1 "
            f"WHEN {text} IN ('false', 'f', '0', '0.0') THEN 0 END"
        )
    return f"CASE WHEN {raw} = 1 THEN 1 WHEN {raw} = 0 THEN 0 END"


def _day(raw: str, sql_type: str) -> str:
    """The day number; a time of day is cut off, with what zone a text writes after it. An
    instant lies in the day that it is in UTC. Text that is not a date is missing."""
    kind = family(sql_type)
    date = f"timezone('UTC', {raw})" if kind == "instant" else raw
    if sql_type != "DATE":
        date = f"TRY_CAST({date} AS DATE)"
    return (
        f"CASE WHEN isinf({date}) THEN CASE WHEN {date} > DATE '1970-01-01' THEN {_FAR} "
        f"ELSE {-_FAR} END ELSE CAST({date} - DATE '1970-01-01' AS HUGEINT) END"
    )


def _literal(value: int | None) -> str:
    return "NULL" if value is None else str(value)
