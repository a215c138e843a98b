"""What a refusal tells an analyst to write instead. Only words: decides nothing, sees no data."""

from __future__ import annotations

FORM = "SELECT COUNT(*) | COUNT(DISTINCT unit) | SUM(column) [AS name] FROM table [WHERE condition]"
CONDITION = (
    "a condition compares a column with constants by =, <>, <, <=, >, >=, BETWEEN or IN, "
    "combined by AND, OR, NOT and parentheses"
)

#: Operators of arithmetic and of text.
ARITHMETIC = frozenset({"+", "/", "//", "%", "^", "**", "||", "&", "|", "~", "<<", ">>"})
SINGLE_QUOTES = "text stands in single quotes: column = 'text'; double quotes are for names"

_NO_ARITHMETIC = (
    "there is no arithmetic in queries: compare with the finished constant, and calculate with "
    "the answers"
)
_NO_ORDER = "an answer is one number, there is nothing to order or to skip; leave it out"
_NO_NULL = (
    "nothing is missing in a registered table: the column's rule dropped the row or put a value "
    "there; leave the test out"
)
_NO_CAST = "columns have their declared types; for a date write DATE '2024-01-31'"
_NO_PATTERN = "name the texts that you mean: column IN ('a', 'b')"
_ONE_TABLE = (
    f"query the tables one by one: a query reads one declared table; the allowed form is {FORM}"
)
_NO_PARAMETER = "a query has no parameters: write the constant itself"
_NO_CLOCK = "write the date that you mean: DATE '2024-01-31'"
_NO_PARTS = "compare the whole day: column BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'"
_MEAN = "ask SUM(column) and COUNT(*), two queries, and divide the answers"
_QUANTILE = "it rests on single rows; ask COUNT(*) with WHERE column <= bound for some bounds"
_SPREAD = "no squares are added up; ask COUNT(*) with WHERE column BETWEEN low AND high instead"

#: What to do instead of a construct.
ADVICE = {
    "GROUP BY": "answers are one number; ask one query for each group, with WHERE",
    "HAVING": f"there are no groups to filter; {CONDITION}",
    "CASE": f"ask one query for each case; {CONDITION}",
    "OVER": f"windows mix units; the allowed form is {FORM}",
    ";": "ask one statement at a time",
    "SELECT DISTINCT": f"an answer is one number; the allowed form is {FORM}",
    "alias of a table": "leave it out: a column is named alone or after its table's own name",
    "BETWEEN SYMMETRIC": "write the smaller bound first: column BETWEEN low AND high",
    "subquery": f"queries that look at other rows are refused; {CONDITION}",
    "IS TRUE": "a boolean column is a condition by itself: write column, or column = TRUE",
    "IS FALSE": "write NOT column, or column = FALSE",
    "IS DISTINCT FROM": "nothing is missing in a registered table: write column <> constant",
    "IS NOT DISTINCT FROM": "nothing is missing in a registered table: write column = constant",
    "IN without parentheses": "list the constants in parentheses: column IN (1, 2)",
    "form of a text": "write text in plain single quotes, a quote in it twice: 'it''s'",
    "column": f"rows are never shown; the allowed form is {FORM}",
    "*": f"rows are never shown; the allowed form is {FORM}",
    "&&": "write AND",
    "INTERVAL": _NO_CLOCK,
    **dict.fromkeys(("EXCLUDE", "REPLACE", "RENAME"), "COUNT(*) counts rows: it takes no list"),
    **dict.fromkeys(("ORDER BY", "LIMIT", "OFFSET", "FETCH"), _NO_ORDER),
    **dict.fromkeys(("IS", "NULL", "ISNULL", "NOTNULL"), _NO_NULL),
    **dict.fromkeys(("function COALESCE", "function IFNULL", "function NVL"), _NO_NULL),
    **dict.fromkeys(("CAST", "TRY_CAST", "::", "function DATE"), _NO_CAST),
    **dict.fromkeys(("LIKE", "ILIKE", "SIMILAR TO", "GLOB", "~~"), _NO_PATTERN),
    **dict.fromkeys(("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL"), _ONE_TABLE),
    **dict.fromkeys(("ASOF", "SEMI", "ANTI", "UNION", "EXCEPT", "INTERSECT", "WITH"), _ONE_TABLE),
    **dict.fromkeys(("?", "$", ":", "@"), _NO_PARAMETER),
    **dict.fromkeys(("CURRENT_DATE", "function NOW", "function TODAY"), _NO_CLOCK),
    **dict.fromkeys(("function YEAR", "function MONTH", "function DAY"), _NO_PARTS),
    **dict.fromkeys(("function EXTRACT", "function DATE_PART", "function DATE_TRUNC"), _NO_PARTS),
    **dict.fromkeys(("function AVG", "function MEAN"), _MEAN),
    **dict.fromkeys(("function MIN", "function MAX", "function MEDIAN"), _QUANTILE),
    **dict.fromkeys(("function QUANTILE", "function QUANTILE_CONT"), _QUANTILE),
    **dict.fromkeys(("function VARIANCE", "function VAR_SAMP", "function VAR_POP"), _SPREAD),
    **dict.fromkeys(("function STDDEV", "function STDDEV_SAMP"), _SPREAD),
    **dict.fromkeys((*(f"operator {sign}" for sign in ARITHMETIC), "arithmetic"), _NO_ARITHMETIC),
}


def advice_for(construct: str) -> str:
    """What to write instead of a construct.

    >>> advice_for("LIMIT")
    'an answer is one number, there is nothing to order or to skip; leave it out'
    """
    general = f"is not allowed; the allowed form is {FORM}, where {CONDITION}"
    return ADVICE.get(construct, general)
