"""Texts for the gate: of its own language, far beyond it, and mutilated. Nothing is tested here.

Texts are grown from templates: § stands for an expression, ¤ for a query. What SQL's grammar
allows and DuckDB adds is here to be written down, not to mean anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

Texts = st.SearchStrategy[str]

# --- the language itself, over tests.query.support.CLINIC ---------------------------------

_WHOLE_NUMBERS = st.one_of(
    st.integers(-20, 20).map(str),
    st.integers(-600, 600).map(str),
    st.sampled_from(["-0", "007", "1_0", "2e1", "-3E+1", "50e-1", "7.", "- 5", str(2**40)]),
)
_NUMBERS = st.one_of(
    _WHOLE_NUMBERS,
    st.builds("{}.{:02}".format, st.integers(-12, 12), st.integers(0, 99)),
    st.sampled_from([".5", "-.25", "1.005", "1.50000", "0.0", "9" * 40, "1e-9", "-2e99"]),
)
_DATES = st.dates().map(str) | st.builds(
    "2020-{:02}-{:02}".format, st.integers(1, 12), st.integers(1, 29)
)
_TEXTS = st.sampled_from(["'hdl'", "'chol'", "'it''s'", "'größe'"])
_TRUTHS = st.sampled_from(["TRUE", "false", "True", "0", "1", "1.0"])
_DAYS = _DATES.map("'{}'".format) | _DATES.map("DATE '{}'".format)

#: How a column may be written, the constants that fit it, and whether its values have an order.
_LABS: list[tuple[list[str], Texts, bool]] = [
    (["value", "VALUE", '"value"', "labs.value", 'LABS . "value"'], _NUMBERS, True),
    (["test", "Test", '"labs".test'], _TEXTS, False),
    (["male", '"male"', "labs.MALE"], _TRUTHS, False),
    (["price", '"labs"."price"'], _NUMBERS, True),
    (["seen", "SEEN"], _DAYS, True),
    (["date", '"date"', "labs.date"], _NUMBERS, True),
    (['"case.id"', 'labs."case.id"'], _WHOLE_NUMBERS, True),
    (["huge"], _NUMBERS, True),
]
_PEOPLE: list[tuple[list[str], Texts, bool]] = [
    (["age", "people.age"], _NUMBERS, True),
    (["debt"], _NUMBERS, True),
]
_BLANKS = st.sampled_from([" ", " ", " ", "\n", "\t", "  ", "\r\n", " \n\t "])
_SIGNS = ["=", "==", "<>", "!="]


@st.composite
def _atoms(draw: st.DrawFn, columns: list[tuple[list[str], Texts, bool]]) -> str:
    spellings, constants, ordered = draw(st.sampled_from(columns))
    name, constant = draw(st.sampled_from(spellings)), draw(constants)
    sign = draw(st.sampled_from([*_SIGNS, "<", "<=", ">", ">="] if ordered else _SIGNS))
    negation = draw(st.sampled_from(["", "NOT ", "not "]))
    listed = ", ".join(draw(st.lists(constants, min_size=1, max_size=4)))
    forms = [
        f"{name} {sign} {constant}",
        f"{constant} {sign} {name}",
        f"{name} {negation}IN ({listed})",
    ]
    if ordered:
        forms.append(f"{name} {negation}BETWEEN {constant} AND {draw(constants)}")
    if columns is _LABS:
        forms += ["male", "TRUE", "FALSE"]
    return draw(st.sampled_from(forms))


def _conditions(columns: list[tuple[list[str], Texts, bool]]) -> Texts:
    templates = ["§ AND §", "§ or §", "NOT §", "(§)", "NOT (§ OR §)", "(§ AND §) OR §", "not not §"]
    return st.recursive(_atoms(columns), lambda inner: grown(templates, inner), max_leaves=12)


@st.composite
def subset(draw: st.DrawFn) -> str:
    """A query that the gate accepts, unless an alias of it or its condition goes too far."""
    columns = draw(st.sampled_from([_LABS, _LABS, _PEOPLE]))
    table, sums = (
        ("labs", ["value", "male", "price", "date", '"case.id"', "labs.value"])
        if columns is _LABS
        else ("people", ["age", "debt", "people.age"])
    )
    counts = ["COUNT(*)", "count ( * )", "COUNT(DISTINCT id)", f'COUNT(DISTINCT {table}."id")']
    number = draw(st.sampled_from([*counts, *map("SUM({})".format, sums), f"sum({sums[0]})"]))
    alias = draw(st.sampled_from(["", "", "AS n", "n", '"theCount"', "AS " + table]))
    named = draw(st.sampled_from([table, table.upper(), f'"{table}"']))
    where = draw(st.sampled_from(["", "WHERE "])) and f"WHERE {draw(_conditions(columns))}"
    end = draw(st.sampled_from(["", ";"]))
    words = f"SELECT {number} {alias} FROM {named} {where} {end}".split()
    return words[0] + "".join(draw(_BLANKS) + word for word in words[1:])


# --- beyond it ----------------------------------------------------------------------------

_WORDS = """
    value test male price seen date id labs people labs.value people.age "case.id" nope * labs.* 1
    0 -1 2.5 1e9 0x1F 'hdl' '2020-01-01' '' NULL TRUE FALSE DATE'2020-01-01' CURRENT_DATE $1 ? :x
    @x #1 E'\\n' $$x$$ x'00' b'01' N'x' U&'x' [] {} () rowid COUNT(*) SUM(value) now() nan
"""
_LEAVES = st.sampled_from(
    [
        *_WORDS.split(),
        "DATE '2020-01-01'", "TIMESTAMP '2020-01-01 00:00:00'", "INTERVAL 1 DAY", "INTERVAL '1 day'",
        "COUNT(DISTINCT id)", "value /* c */", "value -- c\n", "'it''s'", '"labs"', '"NOPE"',
        "COLUMNS(*)", "* EXCLUDE (value)", "* REPLACE (1 AS value)", "1_000", "9" * 70, "TIME '00:00'",
    ]
)  # fmt: skip
_EXPRESSIONS = [
    "§ + §", "§ - §", "§ * §", "§ / §", "§ // §", "§ % §", "§ ** §", "§ || §", "§ & §", "§ << §",
    "-§", "+§", "~§", "§!", "@§", "(§)", "(§, §)", "§ = §", "§ <> §", "§ < §", "§ AND §", "§ OR §",
    "NOT §", "§ IS NULL", "§ IS NOT DISTINCT FROM §", "§ IS TRUE", "§ ISNULL", "§ LIKE §",
    "§ ILIKE § ESCAPE '!'", "§ SIMILAR TO §", "§ GLOB §", "§ ~ §", "§ BETWEEN § AND §",
    "§ NOT BETWEEN § AND §", "§ BETWEEN SYMMETRIC § AND §", "§ IN (§)", "§ NOT IN (§, §)", "§ IN §",
    "§ IN (¤)", "§ = ANY (¤)", "§ > ALL (¤)", "EXISTS (¤)", "NOT EXISTS (¤)", "(¤)", "ARRAY(¤)",
    "CASE WHEN § THEN § ELSE § END", "CASE § WHEN § THEN § END", "CAST(§ AS INTEGER)", "§::VARCHAR",
    "TRY_CAST(§ AS DATE)", "§::INTEGER[]", "CAST(§ AS STRUCT(a INTEGER, b VARCHAR))", "DATE (§)",
    "DECIMAL(§)", "DATE §", "abs(§)", "coalesce(§, §)", "nullif(§, §)", "if(§, §, §)", "nope(§)",
    "main.abs(§)", "SUM(§)", "SUM(DISTINCT §)", "COUNT(§)", "COUNT(DISTINCT §)", "AVG(§)",
    "COUNT(DISTINCT §, §)", "MEDIAN(§)", "STRING_AGG(§, ',' ORDER BY §)", "SUM(§) FILTER (WHERE §)",
    "QUANTILE_CONT(§, 0.5)", "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY §)", "LIST(§)",
    "ROW_NUMBER() OVER ()", "SUM(§) OVER (PARTITION BY § ORDER BY § ROWS 1 PRECEDING)",
    "LAG(§) OVER w", "SUM(§) OVER (ORDER BY § RANGE BETWEEN § PRECEDING AND CURRENT ROW)",
    "EXTRACT(YEAR FROM §)", "date_trunc('day', §)", "POSITION(§ IN §)", "SUBSTRING(§ FROM § FOR §)",
    "TRIM(BOTH § FROM §)", "OVERLAY(§ PLACING § FROM §)", "§ AT TIME ZONE §", "§ COLLATE NOCASE",
    "[§, §]", "{'a': §, 'b': §}", "MAP {§: §}", "ROW(§, §)", "§[§]", "§[§:§]", "§.a", "§->>'$.a'",
    "list_transform([§], x -> §)", "list_filter([§], lambda x: §)", "[§ FOR x IN § IF §]",
    "struct_pack(a := §)", "§ AS n", "n: §", "GROUPING(§)", "UNNEST(§)", "§.upper()", "x -> §",
    "DISTINCT §", "ALL §", "§, §", "§ COMMENT §", "GLOB(§)", "§ OVERLAPS §", "#§", "/* § */", "-- §\n",
]  # fmt: skip
_QUERIES = [
    "SELECT COUNT(*) FROM labs WHERE §", "SELECT COUNT(*) FROM labs WHERE § AND NOT §",
    "SELECT § FROM labs", "SELECT COUNT(*) FROM §", "SELECT SUM(§) FROM labs WHERE §",
    "SELECT §, § FROM labs GROUP BY § HAVING § ORDER BY § LIMIT § OFFSET §", "SELECT §", "FROM labs",
    "SELECT DISTINCT § FROM labs", "SELECT DISTINCT ON (§) § FROM labs", "SELECT ALL § FROM labs",
    "SELECT COUNT(*) FROM (¤)", "SELECT COUNT(*) FROM (¤) AS t (a, b) WHERE §",
    "SELECT COUNT(*) FROM labs AS l WHERE §", "SELECT COUNT(*) FROM labs, people WHERE §",
    "SELECT COUNT(*) FROM labs JOIN people USING (id)", "SELECT § FROM labs LEFT JOIN people ON §",
    "SELECT § FROM labs NATURAL JOIN people", "SELECT § FROM labs CROSS JOIN LATERAL (¤)",
    "SELECT § FROM labs ASOF JOIN people ON §", "SELECT § FROM labs POSITIONAL JOIN people",
    "SELECT § FROM labs SEMI JOIN people USING (id)", "SELECT § FROM labs WINDOW w AS (ORDER BY §)",
    "SELECT § FROM labs QUALIFY §", "SELECT § FROM labs TABLESAMPLE 10%", "SELECT § FROM range(§)",
    "SELECT § FROM labs USING SAMPLE 5 ROWS", "SELECT § FROM read_csv(§)", "SELECT § FROM 'x.csv'",
    "SELECT § FROM labs GROUP BY ALL ORDER BY ALL", "SELECT § FROM labs GROUP BY CUBE (§, §)",
    "SELECT § FROM labs GROUP BY GROUPING SETS ((§), ())", "SELECT § INTO t FROM labs", "TABLE labs",
    "SELECT § FROM labs FOR UPDATE", "SELECT § FROM VALUES (§, §) t(a, b)", "VALUES (§, §), (§, §)",
    "SELECT § FROM labs AT (VERSION => §)", "SELECT § FROM main.labs", "SELECT § FROM a.b.c.d",
    "FROM labs SELECT §", "FROM labs WHERE § SELECT COUNT(*)", "FROM (¤) LIMIT §",
    "WITH t AS (¤) SELECT COUNT(*) FROM t", "WITH RECURSIVE t AS (¤ UNION ALL ¤) SELECT § FROM t",
    "WITH t(a) AS MATERIALIZED (¤) ¤", "¤ UNION ¤", "¤ UNION ALL BY NAME ¤", "¤ EXCEPT ALL ¤",
    "¤ INTERSECT ¤", "(¤) ORDER BY §", "((¤))", "PIVOT labs ON § USING SUM(§) GROUP BY §",
    "UNPIVOT labs ON § INTO NAME a VALUE b", "SELECT § FROM labs PIVOT (SUM(§) FOR § IN (§, §))",
    "SELECT § FROM labs UNPIVOT (a FOR b IN (§))", "SUMMARIZE labs", "SUMMARIZE ¤", "DESCRIBE ¤",
    "SHOW ALL TABLES", "SELECT COUNT(*) FROM labs WHERE § GROUP BY §", "SELECT § §", "SELECT FROM §",
]  # fmt: skip
_STATEMENTS = [
    "¤", "¤;", "¤; ¤", ";¤", "EXPLAIN ANALYZE ¤", "CREATE TABLE t AS ¤", "CREATE VIEW v AS ¤",
    "CREATE OR REPLACE MACRO f(a) AS §", "CREATE TEMP TABLE t (a INTEGER DEFAULT §)", "DROP TABLE labs",
    "CREATE FUNCTION f() AS TABLE ¤", "CREATE INDEX i ON labs (§)", "CREATE SEQUENCE s START §",
    "CREATE TYPE t AS ENUM (§)", "CREATE SECRET s (TYPE s3, KEY_ID §)", "ALTER TABLE labs ADD COLUMN a §",
    "INSERT INTO labs ¤", "INSERT INTO labs VALUES (§, §) ON CONFLICT DO NOTHING RETURNING §",
    "UPDATE labs SET value = § WHERE §", "DELETE FROM labs USING people WHERE §", "TRUNCATE labs",
    "MERGE INTO labs USING people ON § WHEN MATCHED THEN DELETE", "COPY (¤) TO 'x' (FORMAT csv)",
    "COPY labs FROM 'x'", "ATTACH 'x' AS y (READ_ONLY)", "DETACH y", "INSTALL httpfs", "LOAD 'x'",
    "SET threads = §", "SET VARIABLE a = §", "RESET ALL", "PRAGMA f(§)", "CALL f(§, a = §)", "USE x",
    "PREPARE p AS ¤", "EXECUTE p(§)", "BEGIN; ¤; COMMIT", "VACUUM ANALYZE labs", "CHECKPOINT",
    "EXPORT DATABASE 'x'", "COMMENT ON TABLE labs IS §", "/* ¤ */ ¤", "¤ -- §", "§", "GRANT ALL ON labs",
]  # fmt: skip


def grown(templates: Sequence[str], expressions: Texts, queries: Texts | None = None) -> Texts:
    """The templates with all that their marks stand for put in."""
    holes = {"§": expressions, "¤": expressions if queries is None else queries}

    def fill(template: str) -> Texts:
        parts = [holes.get(character, st.just(character)) for character in template]
        return st.tuples(*parts).map("".join)

    return st.sampled_from(templates).flatmap(fill)


def _deeper(inner: Texts) -> Texts:
    return grown(_EXPRESSIONS, inner, grown(_QUERIES, inner, subset() | st.just("SELECT 1")))


EXPRESSIONS = st.recursive(_LEAVES, _deeper, max_leaves=10)
QUERIES = st.recursive(
    grown(_QUERIES, EXPRESSIONS, subset()),
    lambda inner: grown(_QUERIES, EXPRESSIONS, inner),
    max_leaves=3,
)
STATEMENTS = st.one_of(QUERIES, QUERIES, grown(_STATEMENTS, EXPRESSIONS, QUERIES))

# --- mutilated ----------------------------------------------------------------------------

#: What stands badly in a text: bytes that are no UTF-8, what cannot be seen, what looks like
#: something else, and what opens or closes.
FRAGMENTS = [
    *(bytes([value]) for value in (0, 1, 7, 8, 11, 12, 13, 26, 27, 127, 128, 192, 237, 245, 255)),
    b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", b"\xef\xbb\xbf", b"\xe2\x80",
    *(
        text.encode()
        for text in (
            "\u00a0", "\u200b", "\u200d", "\u202e", "\u2028", "\u3000", "\ufeff", "\ufffe", "\u0301",
            "а", "ѕ", "ſ", "K", "ı", "İ", "ß", "ｌ", "１", "٣", "（", "；", "＝", "−", "‘", "’", "“", "＂",
            "ʼ", "\u037e", "𝐒", "𝟏", "😀", "🏳️‍🌈", "\U000e0041", "ﷺ", "'", "''", '"', '""', "`", "´", "\\",
            "--", "/*", "*/", "//", "#", "$$", "$a$", ";", "(", ")", "[", "]", "{", "}", "((", "))", "'--",
            " OR 1=1", " UNION SELECT 1", "; DROP TABLE labs", "\n", "\r", "\r\n", "\t", " ", ",", ".",
            ":", "::", "?", "%", "e", "E+", "_", "0x", "NOT ", "- ", "DATE ", "DATE (", "SELECT ", "IN (",
            "value ", "COUNT(", "CASE ", "%s", "{0}", "\\x00", "\\u0000", "&#0;", "9" * 60,
        )
    ),
]  # fmt: skip
_COUNTS = st.sampled_from([2, 3, 17, 33, 300, 1300, 5001, 20_001])
_READINGS = [("utf-8", "surrogateescape"), ("utf-8", "replace"), ("latin-1", "strict")]

Wound = Callable[[st.DrawFn, bytes, Sequence[str]], bytes]


def _place(draw: st.DrawFn, raw: bytes) -> int:
    return draw(st.integers(0, len(raw)))


def _flipped(draw: st.DrawFn, raw: bytes, _: Sequence[str]) -> bytes:
    place, bit = _place(draw, raw), draw(st.integers(0, 7))
    return (
        raw[:place] + bytes(value ^ 1 << bit for value in raw[place : place + 1]) + raw[place + 1 :]
    )


def _replaced(draw: st.DrawFn, raw: bytes, _: Sequence[str]) -> bytes:
    start, end = sorted((_place(draw, raw), _place(draw, raw)))
    return raw[:start] + draw(st.sampled_from(FRAGMENTS) | st.binary(max_size=4)) + raw[end:]


def _inserted(draw: st.DrawFn, raw: bytes, _: Sequence[str]) -> bytes:
    place = _place(draw, raw)
    return raw[:place] + draw(st.sampled_from(FRAGMENTS) | st.binary(max_size=4)) + raw[place:]


def _repeated(draw: st.DrawFn, raw: bytes, _: Sequence[str]) -> bytes:
    """A run of a fragment or of a piece of the text itself."""
    start, end = sorted((_place(draw, raw), _place(draw, raw)))
    piece = draw(st.sampled_from([raw[start:end], *FRAGMENTS]))
    run = (piece * draw(_COUNTS))[:25_000]  # beyond the longest text, whatever is repeated
    return raw[:start] + run + raw[end:]


def _cut(draw: st.DrawFn, raw: bytes, _: Sequence[str]) -> bytes:
    return raw[: _place(draw, raw)]


def _spliced(draw: st.DrawFn, raw: bytes, others: Sequence[str]) -> bytes:
    other = draw(st.sampled_from(others)).encode("utf-8", "surrogatepass")
    return raw[: _place(draw, raw)] + other[_place(draw, other) :]


_WOUNDS: list[Wound] = [_flipped, _replaced, _inserted, _inserted, _repeated, _cut, _spliced]


@st.composite
def mutilated(draw: st.DrawFn, texts: Sequence[str]) -> str:
    """One of the texts, its bytes changed in up to four ways, read as some text again."""
    raw = draw(st.sampled_from(texts)).encode("utf-8", "surrogatepass")
    for wound in draw(st.lists(st.sampled_from(_WOUNDS), min_size=1, max_size=4)):
        raw = wound(draw, raw, texts)
    return raw.decode(*draw(st.sampled_from(_READINGS)))


_WORD = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|[\w.]+|<=|>=|<>|!=|==|\S""")
_LANGUAGE = """
    SELECT COUNT SUM ( ) ( ) * , . ; FROM WHERE labs people value test male price seen date age id
    huge AND OR NOT NOT IN BETWEEN = <> < >= == - DISTINCT AS DATE TRUE FALSE 0 1 2.5 1e1 'hdl'
    '2020-01-02' "labs" "value" "id" "case.id" labs. n + CASE WHEN THEN ELSE END JOIN USING ON GROUP
    BY SUM( ABS( CLAMP( YEAR( BUCKET( k0 k1 n0 p.
"""


@st.composite
def reworded(draw: st.DrawFn, texts: Texts) -> str:
    """A query with up to three of its words missing, doubled, exchanged or put in: all of them
    words of the language, so that often no more than their order is wrong."""
    words = _WORD.findall(draw(texts))
    for kind in draw(st.lists(st.sampled_from("-+*~="), min_size=1, max_size=3)):
        here = draw(st.integers(0, max(len(words) - 1, 0)))
        there = draw(st.integers(0, max(len(words) - 1, 0)))
        match kind:
            case "-":
                del words[here : here + 1]
            case "+":
                words.insert(here, draw(st.sampled_from(_LANGUAGE.split())))
            case "=":
                words[here : here + 1] = [draw(st.sampled_from(_LANGUAGE.split()))]
            case "*":
                words[here:here] = words[here:there]
            case _:
                words[here : here + 1], words[there : there + 1] = (
                    words[there : there + 1],
                    words[here : here + 1],
                )
    return " ".join(words)
