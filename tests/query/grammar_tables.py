"""Texts of the language's expressions, groups and joins, over tests.query.support.CLINIC. Nothing
is tested here.

Every item and key has a name, so that answers can be held side by side. What DuckDB has not, or
takes to be something else, is left to other tests: days in buckets, shares, variances, clamped
aggregates.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.query.grammar import Texts, grown

_NUMBERS = st.sampled_from(
    [
        "value", '"value"', "labs.value", "price", "date", '"case.id"', "0", "1", "7", "2.5", "-3",
        "0.25", "seen - DATE '2020-03-01'", "DATE '2020-03-01' - seen", "YEAR(seen)",
        "extract(month from seen)", "DATE_PART('day', seen)", "ISODOW(seen)", "QUARTER(seen)",
        "CLAMP(huge, -3, 40)",
    ]
)  # fmt: skip
_SUMS = [
    "§ + §", "§ - §", "§ - (§ - §)", "(§ + §) * §", "- §", "- - §", "+ (§)", "abs(§)", "§ * §",
    "CLAMP(§, -2, 3.5)", "BUCKET(CLAMP(§, -9, 9), 3)", "BUCKET(value, 10, 3)",
    "CASE WHEN ¤ THEN § ELSE § END", "CASE WHEN ¤ THEN § WHEN ¤ THEN § ELSE 0.5 END", "(§)",
]  # fmt: skip
_ATOMS = st.sampled_from(
    [
        "male", "NOT male", "male = FALSE", "TRUE", "test = 'hdl'", "test <> 'größe'", "1 = 1.0",
        "test IN ('hdl', 'it''s')", "seen < '2020-05-01'", "seen >= DATE '2020-02-28'",
        "'2020-03-01' = seen", "YEAR(seen) = 2020", "DATE_TRUNC('month', seen) = '2020-06-01'",
        "male = (value > 3)", "(test = 'hdl') <> male", "value <> price", "huge > value",
        "CASE WHEN male THEN test ELSE 'hdl' END = 'chol'", "CASE WHEN male THEN male ELSE TRUE END",
    ]
)  # fmt: skip
_COMPARED = [
    "§ < §", "§ <= §", "§ > §", "§ >= §", "§ = §", "§ <> §", "§ BETWEEN -1 AND 7.5",
    "§ NOT BETWEEN 1 AND 300", "§ IN (0, 1, 2.5, 7)", "§ NOT IN (0, 3, -3)", "¤ AND ¤", "¤ OR ¤",
    "NOT ¤", "NOT (¤ OR ¤)", "(¤ AND ¤) OR ¤", "(¤) = (¤)", "male <> (¤)",
]  # fmt: skip


def _deeper(parts: tuple[Texts, Texts]) -> tuple[Texts, Texts]:
    numbers, conditions = parts
    compared = grown(_COMPARED, numbers, conditions)
    return numbers | grown(_SUMS, numbers, conditions), conditions | compared


_FLAT = (_NUMBERS, _ATOMS)
NUMBERS, CONDITIONS = _deeper(_deeper(_FLAT))
_KEYS = st.one_of(
    st.sampled_from(
        [
            "male", "test", "date", '"case.id"', "ISODOW(seen)", "QUARTER(seen)",
            "DATE_TRUNC('month', seen)", "DATE_TRUNC('quarter', seen)", "DATE_TRUNC('week', seen)",
            "DATE_TRUNC('year', seen)", "BUCKET(value, 50)", "BUCKET(value, 100, -7)",
            "CLAMP(value, -1, 4)", "CASE WHEN male THEN test ELSE 'it''s' END",
            "CASE WHEN value < 3 THEN 'few' WHEN male THEN 'some' ELSE 'many' END",
            "CASE WHEN male THEN date ELSE -1 END", "EXTRACT(month FROM seen)", "NOT male",
        ]
    ),
    _deeper(_FLAT)[1].map("({})".format),
)  # fmt: skip
_FROMS = st.sampled_from(
    [
        "labs", "labs", "LABS", "labs JOIN people USING (id)", "people JOIN labs USING (id)",
        'people p INNER JOIN labs ON p.id = labs."id"', "labs JOIN people q ON q.id = labs.id",
    ]
)  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> str:
    """A query of up to three keys and three items, which only its numbers may make too large."""
    source = draw(_FROMS)
    unit = "labs.id"  # in a join a bare name of the unit is the same
    sums = NUMBERS.map("SUM({})".format)
    if source.lower() != "labs":
        sums |= st.sampled_from(["SUM(age)", "SUM(debt * value)", "sum(age - value)"])
    counts = st.sampled_from(["COUNT(*)", f"COUNT(DISTINCT {unit})", "SUM(male)"])
    items = draw(st.lists(counts | sums, min_size=1, max_size=3))
    keys = draw(st.lists(_KEYS, max_size=2, unique=True))
    named = [(f"k{i}", key, draw(st.booleans())) for i, key in enumerate(keys)]
    selected = [f"{key} AS {name}" for name, key, _ in named]
    selected += [f"{item} AS n{i}" for i, item in enumerate(items)]
    where = draw(st.none() | CONDITIONS)
    text = f"SELECT {', '.join(draw(st.permutations(selected)))} FROM {source}"
    text += "" if where is None else f" WHERE {where}"
    grouped = ", ".join(name if by_name else key for name, key, by_name in named)
    return f"{text} GROUP BY {grouped}" if grouped else text
