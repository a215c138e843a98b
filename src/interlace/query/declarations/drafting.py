"""A draft of a declaration, from a schema and never from data.

What only the custodian can know stands there as a comment, so that the draft registers nothing
until it was filled in: bounds that came from the data would tell of the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from interlace.core.errors import ParameterError
from interlace.query.declarations.source_schema import Field, Found
from interlace.query.declarations.writing import quoted
from interlace.query.names import check_distinct, checked_name, folded
from interlace.query.values import check_member

_HEAD = """\
# A draft, made from a schema: names and types of columns. No data was read for it.
#
# Fill in each line that says MISSING and take away its first "#". Everything in this file is
# public. Bounds and lists of values must come from what is known of the field, and never from
# looking at the data: they would tell of it. `interlace check-config` says what is missing,
# why it matters, and what one unit can do in the end.
"""
#: What stands beside a missing key: short, as a reminder. The long form is in ``checking``.
_NOTES = {
    "lower": "the least value that counts; less is moved up to it",
    "upper": "the greatest value that counts; more is moved down to it",
    "digits": "decimals to keep",
    "values": 'the texts that may occur, all of them, as ["a", "b"]; other rows are dropped',
    "type": "one of integer, decimal, category, day, boolean",
}
_NEEDED = {
    "integer": ("lower", "upper"),
    "decimal": ("lower", "upper", "digits"),
    "day": ("lower", "upper"),
    "category": ("values",),
    "boolean": (),
}
_RULES = {
    "integer": '# missing = "drop"; out_of_range = "clamp" unless said otherwise',
    "decimal": '# missing = "drop"; out_of_range = "clamp" unless said otherwise',
    "day": '# missing = "drop"; out_of_range = "clamp" unless said otherwise',
    "category": '# missing = "drop"; unknown = "drop" unless said otherwise',
    "boolean": '# missing = "drop" unless said otherwise',
}


def draft(
    tables: Sequence[Found],
    name: str | None = None,
    unit: str | None = None,
    public: Sequence[Found] = (),
) -> str:
    """A TOML text with everything that the schemas tell, and a line for all that is missing.

    ``unit`` is the column that names the privacy unit, if it is known; ``public`` are tables
    about no unit. Raises ParameterError for names that no declaration could have, for a table
    without the unit, and for a public one with it.

    >>> labs = Found("labs", {"id": Field("integer"), "sex": Field("boolean")})
    >>> print(draft([labs], name="clinic", unit="id"))
    # A draft, made from a schema: names and types of columns. No data was read for it.
    ...
    name = "clinic"
    unit = "id"
    ...
    [tables."labs"]
    # rows_per_unit =   # MISSING: how many rows of one unit count at most, as 1
    ...
    [tables."labs".columns."sex"]
    type = "boolean"
    # missing = "drop" unless said otherwise
    <BLANKLINE>
    """
    check_distinct((table.name for table in (*tables, *public)), "tables")
    for table in (*tables, *public):
        for column in (checked_name(table.name, "tables"), *table.fields):
            checked_name(column, "columns")
        check_distinct(table.fields, "columns")
    if unit is not None:
        for table in tables:
            if _column(table, unit) is None:
                raise ParameterError(
                    "unit",
                    f"table {table.name!r} has no column {unit!r}; if it is about no unit and all "
                    "its rows are public, name it by --public",
                )
        for table in public:
            if _column(table, unit) is not None:
                raise ParameterError(
                    "public", f"table {table.name!r} has the column {unit!r}: it is about units"
                )
    return "\n".join((_HEAD, *_lines(tables, name, unit), *_public_lines(public))) + "\n"


def _column(table: Found, name: str) -> str | None:
    return next((column for column in table.fields if folded(column) == folded(name)), None)


def _lines(tables: Sequence[Found], name: str | None, unit: str | None) -> Iterator[str]:
    yield _missing("name", "of the dataset") if name is None else f"name = {quoted(name)}"
    if unit is not None:
        yield f"unit = {quoted(unit)}"
    else:
        yield _missing("unit", f"the column that says whose data a row is{_candidates(tables)}")
        yield "# What is protected is one unit with all its rows in all tables. The unit is no"
        yield "# column of a table: take away what is below for it."
    yield '# domain = "units"   # the population of the units, if there are several'
    for table in tables:
        yield ""
        yield f"[tables.{quoted(table.name)}]"
        if table.source is not None:
            yield f"source = {quoted(table.source)}"
        yield _missing("rows_per_unit", "how many rows of one unit count at most, as 1")
        yield '# key_sets = [{ columns = ["..."], keys_per_unit = 3 }]   # for GROUP BY, if any'
        for column, field in table.fields.items():
            if unit is None or folded(column) != folded(unit):
                yield from _column_lines(f"tables.{quoted(table.name)}", column, field)


def _public_lines(tables: Sequence[Found]) -> Iterator[str]:
    for table in tables:
        yield ""
        yield f"[public.{quoted(table.name)}]   # about no unit: nothing in it is protected"
        if table.source is not None:
            yield f"source = {quoted(table.source)}"
        yield _missing("key", f"the column that tells its rows apart{_listed(table)}")
        for column, field in table.fields.items():
            yield from _column_lines(f"public.{quoted(table.name)}", column, field)


def _listed(table: Found) -> str:
    return f", one of {', '.join(map(quoted, table.fields))}" if len(table.fields) < 9 else ""


def _candidates(tables: Sequence[Found]) -> str:
    common = [c for c in tables[0].fields if all(_column(table, c) for table in tables)]
    if len(tables) < 2 or not common:
        return ""
    return f"; in all tables there is {' and '.join(map(quoted, common))}"


def _column_lines(place: str, column: str, field: Field) -> Iterator[str]:
    given = "" if field.given is None else f"   # {' '.join(field.given.split())} in the source"
    yield ""
    yield f"[{place}.columns.{quoted(column)}]{given}"
    if field.type is None:
        yield _missing("type", _NOTES["type"])
        yield "# And, by its type: lower and upper; digits, for a decimal; values, for a category."
        if field.given is not None:
            yield "# None fits as it is: convert it in the source, or take this column away."
        return
    yield f'type = "{field.type}"'
    known = {}
    if field.digits is not None:
        known["digits"] = f"digits = {field.digits}"
    if field.values and _fit(field.values):
        listed = ", ".join(map(quoted, field.values))
        known["values"] = f"values = [{listed}]   # as the schema lists them"
    for key in _NEEDED[field.type]:
        yield known.get(key) or _missing(key, _NOTES[key])
    yield _RULES[field.type]


def _fit(values: tuple[str, ...]) -> bool:
    try:
        for value in values:
            check_member(value)
    except ParameterError:
        return False
    return len(set(values)) == len(values)


def _missing(key: str, note: str) -> str:
    return f"# {key} =   # MISSING: {note}"
