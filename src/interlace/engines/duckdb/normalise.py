"""From a source's value to a code: SQL expressions of DuckDB, one value at a time.

Each result depends on its own value and the declaration only, never on other rows. The rules
are stated in the docstrings, because every engine must keep the same ones. Runs nothing.
"""

from __future__ import annotations

import re

from interlace.core.errors import DataError
from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer

#: Stands for every number beyond all bounds; still far within 128 bits.
_FAR = 2**100
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
)
#: The families that hold numbers, or texts of them.
_NUMERIC = ("integer", "float", "decimal", "text", "boolean")


def family(sql_type: str) -> str:
    """The family of a DuckDB type; "other" for what no rule covers.

    >>> family("UBIGINT"), family("DECIMAL(9,2)"), family("BLOB")
    ('integer', 'decimal', 'other')
    """
    return next((name for pattern, name in _FAMILIES if re.fullmatch(pattern, sql_type)), "other")


def code(kind: Column, raw: str, sql_type: str, where: str) -> str:
    """The expression of the code of ``raw``, NULL where its row is to be dropped.

    ``raw`` is an SQL expression of type ``sql_type``; for a Category it is the code that its
    text was found to have (see ``label``). Raises DataError, naming ``where``, if no rule
    turns such a type into the declared one.
    """
    if isinstance(kind, Day):
        _check_family(sql_type, ("date", "text"), kind, where)
        return _bounded(kind, _day(raw))
    _check_family(sql_type, _NUMERIC, kind, where)
    if isinstance(kind, Boolean):
        return f"COALESCE({_truth(raw, sql_type)}, {_literal(kind.missing_code)})"
    assert isinstance(kind, Integer | Decimal)
    return _bounded(kind, _number(raw, family(sql_type), kind.digits))


def label_code(kind: Category, label: str, found: str) -> str:
    """The expression of a category's code: ``label`` is its text, ``found`` the code listed
    for it or NULL."""
    missing, unknown = _literal(kind.missing_code), _literal(kind.unknown_code)
    return f"CASE WHEN {label} IS NULL THEN {missing} ELSE COALESCE({found}, {unknown}) END"


def label(kind: Category, raw: str, sql_type: str, where: str) -> str:
    """The text of a category's source value: verbatim; a number as it prints, integral ones
    without a point. NULL, NaN and the empty text are missing."""
    _check_family(sql_type, _NUMERIC, kind, where)
    return _printed(raw, family(sql_type))


def unit_text(raw: str, sql_type: str, where: str) -> str:
    """The canonical text of a unit's external id: one id in all tables, whatever its type.

    Integral numbers print without a point, so that 7, 7.0, '7' and '7.0' are one unit; every
    other text is taken verbatim ('007' is another unit). NULL, NaN, infinities and the empty
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


def _bounded(kind: Integer | Decimal | Day, place: str) -> str:
    lower, upper = kind.codes
    clamp = kind.out_of_range == "clamp"
    return (
        f"CASE WHEN {place} IS NULL THEN {_literal(kind.missing_code)} "
        f"WHEN {place} < {lower} THEN {lower if clamp else 'NULL'} "
        f"WHEN {place} > {upper} THEN {upper if clamp else 'NULL'} "
        f"ELSE CAST({place} AS BIGINT) END"
    )


def _number(raw: str, kind: str, digits: int) -> str:
    """The place of a number on the axis of codes, a HUGEINT; NULL where it is missing.

    Rounded to the nearest, ties away from zero. With digits a float is read as the decimal
    that it prints. Text that is not a number is missing.
    """
    if kind == "boolean":
        return f"(CAST({raw} AS HUGEINT) * {10**digits})"
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
    return _written(f"trim(CAST({raw} AS VARCHAR))", digits)


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


def _day(raw: str) -> str:
    """The day number; a time of day is cut off; text that is not a date is missing."""
    date = f"TRY_CAST({raw} AS DATE)"
    return (
        f"CASE WHEN isinf({date}) THEN CASE WHEN {date} > DATE '1970-01-01' THEN {_FAR} "
        f"ELSE {-_FAR} END ELSE CAST({date} - DATE '1970-01-01' AS HUGEINT) END"
    )


def _literal(value: int | None) -> str:
    return "NULL" if value is None else str(value)
