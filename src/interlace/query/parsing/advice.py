"""What a refusal tells an analyst to write instead. Only words: decides nothing, sees no data."""

from __future__ import annotations

FORM = (
    "SELECT aggregate [AS name], ... FROM table [JOIN table USING (column)] [WHERE condition] "
    "[GROUP BY key, ...], with COUNT(*), COUNT(DISTINCT unit), SUM, AVG, VAR_POP, STDDEV_POP or "
    "QUANTILE as aggregates"
)
CONDITION = (
    "a condition compares expressions by =, <>, <, <=, >, >=, BETWEEN or IN, combined by AND, OR, "
    "NOT and parentheses"
)
EXPRESSION = (
    "an expression is made of columns and constants by +, -, *, ABS, CASE, CLAMP(e, lower, upper), "
    "BUCKET(e, width), YEAR, QUARTER, MONTH, DAY, ISODOW and DATE_TRUNC"
)
JOINS = (
    "tables of units are joined on the unit, USING (unit), and public tables by their key: "
    "JOIN names ON labs.lab = names.lab"
)

#: Operators of arithmetic and of text that no query has.
ARITHMETIC = frozenset({"/", "//", "%", "^", "**", "||", "&", "|", "~", "<<", ">>"})
SINGLE_QUOTES = "text stands in single quotes: column = 'text'; double quotes are for names"

_AGGREGATES = (
    "the aggregates are COUNT(*), COUNT(DISTINCT unit), SUM, AVG, VAR_POP, STDDEV_POP and QUANTILE"
)
ALONE = (
    "an aggregate stands alone in SELECT: aggregates do not nest, and conditions and expressions "
    "are of one row"
)

_NO_ARITHMETIC = (
    "there are +, - and * of whole and fixed-point numbers; divide the answers, or multiply the "
    "other side of a comparison"
)
_NO_ORDER = "rows come in the public order of their keys; leave it out"
_NO_NULL = (
    "nothing is missing in a registered table: the column's rule dropped the row or put a value "
    "there; leave the test out"
)
_NO_CAST = "columns have their declared types; for a date write DATE '2024-01-31'"
_NO_PATTERN = "name the texts that you mean: column IN ('a', 'b')"
_INNER_ONLY = f"joins are inner; {JOINS}"
_ONE_SELECT = f"a query is one SELECT over declared tables; {JOINS}"
_NO_FORMAT = "group by DATE_TRUNC('month', day), or by YEAR(day) and MONTH(day)"
_NO_TEXT = "a text is compared as a whole: column IN ('a', 'b'); CASE WHEN makes groups of several"
_NO_PARAMETER = "a query has no parameters: write the constant itself"
_NO_CLOCK = "write the date that you mean: DATE '2024-01-31'"
_EXTREME = "it rests on single rows; ask for QUANTILE(e, 0.05) or QUANTILE(e, 0.95)"
_QUANTILE = "write QUANTILE(e, share), with a share between 0 and 1"

#: What to do instead of a construct.
ADVICE = {
    "HAVING": f"every public group has a row: choose among them afterwards; {CONDITION}",
    "FILTER": "put the condition into the expression: SUM(CASE WHEN condition THEN e ELSE 0 END)",
    "EXISTS": f"queries that look at other rows are refused; {CONDITION}",
    "OVER": f"windows mix units; the allowed form is {FORM}",
    ";": "ask one statement at a time",
    "EXPLAIN": "ask for the explanation by explain, of a centre or in the shell",
    "SELECT DISTINCT": "group by the key: every public value gets a row, once",
    "BETWEEN SYMMETRIC": "write the smaller bound first: column BETWEEN low AND high",
    "subquery": f"queries that look at other rows are refused; {CONDITION}",
    "IS TRUE": "a boolean column is a condition by itself: write column, or column = TRUE",
    "IS FALSE": "write NOT column, or column = FALSE",
    "IS DISTINCT FROM": "nothing is missing in a registered table: write column <> constant",
    "IS NOT DISTINCT FROM": "nothing is missing in a registered table: write column = constant",
    "IN without parentheses": "list the constants in parentheses: column IN (1, 2)",
    "form of a text": "write text in plain single quotes, a quote in it twice: 'it''s'",
    "column": f"rows are never shown: it must stand in GROUP BY; the allowed form is {FORM}",
    "*": f"rows are never shown; the allowed form is {FORM}",
    "SAMPLE": "noise is there already, and a sample would only lose rows; leave it out",
    "TABLESAMPLE": "noise is there already, and a sample would only lose rows; leave it out",
    "DISTINCT": "only COUNT(DISTINCT unit) takes it; the other aggregates are over rows",
    "&&": "write AND",
    "function IF": "write CASE WHEN condition THEN a ELSE b END",
    "function IIF": "write CASE WHEN condition THEN a ELSE b END",
    "CASE with a value": "write CASE WHEN column = 1 THEN a ELSE b END",
    "INTERVAL": "subtract two days, or compare with the date that you mean: DATE '2024-01-31'",
    **dict.fromkeys(("EXCLUDE", "REPLACE", "RENAME"), "COUNT(*) counts rows: it takes no list"),
    **dict.fromkeys(("ORDER BY", "LIMIT", "OFFSET", "FETCH"), _NO_ORDER),
    **dict.fromkeys(("IS", "NULL", "ISNULL", "NOTNULL", "IGNORE NULLS", "RESPECT NULLS"), _NO_NULL),
    **dict.fromkeys(("function COALESCE", "function IFNULL", "function NVL"), _NO_NULL),
    **dict.fromkeys(("CAST", "TRY_CAST", "::", "function DATE"), _NO_CAST),
    **dict.fromkeys(("LIKE", "ILIKE", "SIMILAR TO", "GLOB", "~~"), _NO_PATTERN),
    **dict.fromkeys(("LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "OUTER"), _INNER_ONLY),
    **dict.fromkeys(("ASOF", "SEMI", "ANTI"), _INNER_ONLY),
    **dict.fromkeys(("WITH", "UNION", "EXCEPT", "INTERSECT"), _ONE_SELECT),
    **dict.fromkeys(("LATERAL", "UNNEST", "PIVOT", "UNPIVOT", "POSITIONAL"), _INNER_ONLY),
    **dict.fromkeys(("ROLLUP", "CUBE", "GROUPING SETS"), "ask for each grouping by itself"),
    **dict.fromkeys(("?", "$", ":", "@"), _NO_PARAMETER),
    **dict.fromkeys(("CURRENT_DATE", "function NOW", "function TODAY"), _NO_CLOCK),
    **dict.fromkeys(("function MIN", "function MAX"), _EXTREME),
    **dict.fromkeys(("function QUANTILE_CONT", "function QUANTILE_DISC"), _QUANTILE),
    **dict.fromkeys(("function PERCENTILE_CONT", "function PERCENTILE_DISC"), _QUANTILE),
    **dict.fromkeys(("function MEAN",), "write AVG(e)"),
    **dict.fromkeys(("function LEAST", "function GREATEST"), "write CLAMP(e, lower, upper)"),
    **dict.fromkeys(
        ("function ROUND", "function FLOOR", "function CEIL"),
        "to group, write BUCKET(e, width); an answer is rounded afterwards",
    ),
    **dict.fromkeys(("function DATEDIFF", "function DATE_DIFF", "function AGE"), "write day - day"),
    **dict.fromkeys(("function STRFTIME", "function TO_CHAR", "function DATE_FORMAT"), _NO_FORMAT),
    **dict.fromkeys(("function UPPER", "function LOWER", "function TRIM"), _NO_TEXT),
    **dict.fromkeys(("function SUBSTR", "function SUBSTRING", "function CONCAT"), _NO_TEXT),
    "function CORR": "compute it from AVG(a * b), AVG(a), AVG(b), STDDEV_POP(a), STDDEV_POP(b)",
    **dict.fromkeys((f"operator {sign}" for sign in ARITHMETIC), _NO_ARITHMETIC),
}


def advice_for(construct: str) -> str:
    """What to write instead of a construct.

    >>> advice_for("LIMIT")
    'rows come in the public order of their keys; leave it out'
    """
    general = f"is not allowed; the allowed form is {FORM}, where {CONDITION}"
    if construct.startswith("function "):
        general = f"is not known here; {EXPRESSION}; {_AGGREGATES}"
    return ADVICE.get(construct, general)
