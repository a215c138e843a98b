"""Whatever is asked, the gate gives a plan or a refusal, soon; and what it accepts means what
DuckDB, handed the analyst's own words, takes it to mean.
"""

from __future__ import annotations

import contextlib
import datetime
import re
import time
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import pandas as pd
import pytest
from hypothesis import given, settings
from sqlglot.dialects.duckdb import DuckDB

from interlace.core.errors import QueryRefused
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.duckdb.register import register
from interlace.query.columns import Integer
from interlace.query.estimates import Cell
from interlace.query.parse import parse
from interlace.query.parsing.screen import DEEPEST, LONGEST_TEXT, MOST_TOKENS
from interlace.query.plan import Plan
from interlace.query.rewrite import rewrite
from interlace.query.schema import Dataset, Table
from tests.effort import examples
from tests.query import grammar
from tests.query.corpus import CONDITIONS, WHOLE
from tests.query.grammar_tables import tables
from tests.query.support import CLINIC, same

COUNT = "SELECT COUNT(*) FROM labs"
#: Of this thread's own time, so that a busy machine does not fail. The slowest text that is
#: known takes a quarter of a second.
MOST_SECONDS = 5.0

#: What a message must not tell of how the gate is made.
INSIDE = re.compile(
    r"sqlglot|interlace|duckdb|python|traceback|object at 0x|<class|<function|"
    r"\bNone\w*|\w+Error\b|\w+Exception\b|\.py\b|\bself\b|__\w+__|TokenType|\bexp\.",
    re.IGNORECASE,
)


def _judged(sql: str, dataset: Dataset = CLINIC) -> Plan | None:
    """The plan, or None if the text is refused as it should be; fails for anything else."""
    began = time.thread_time()
    try:
        plan = parse(sql, dataset)
    except QueryRefused as refusal:
        _check(refusal, sql)
        return None
    finally:
        assert time.thread_time() - began < MOST_SECONDS
    assert same(parse(plan.text, dataset), plan)
    began = time.thread_time()
    assert rewrite(plan, "duckdb")
    assert time.thread_time() - began < MOST_SECONDS
    return plan


def _check(refusal: QueryRefused, sql: str) -> None:
    message = str(refusal)
    assert 1 <= len(refusal.construct) <= 60
    assert message.startswith(refusal.construct)
    assert message.isprintable()
    assert len(message) <= 600
    assert (refusal.__cause__, refusal.__suppress_context__ or refusal.__context__ is None) == (
        None,
        True,
    )
    told = [match.group().casefold() for match in INSIDE.finditer(message)]
    assert [word for word in told if word not in sql.casefold()] == []
    if refusal.position is not None:
        line, column = refusal.position
        lines = sql.split("\n")
        assert 1 <= line <= len(lines)
        assert 1 <= column <= len(lines[line - 1]) + 1


#: Rows of labs and of people that are kept as they are: within bounds, and few for each unit.
LABS: list[dict[str, Any]] = [
    {
        "id": f"p{row % 4}",
        "value": value,
        "test": ("hdl", "chol", "it's", "größe")[row % 4],
        "male": row % 3 == 0,
        "price": Decimal(price) / 100,
        "seen": datetime.date(2020, 1, 1) + datetime.timedelta(days),
        "date": row % 4,
        "case.id": row % 10,
        "huge": huge,
    }
    for row, (value, price, days, huge) in enumerate(
        [
            (-5, 0, 0, 0), (-1, 25, 1, 1), (0, 50, 31, 2), (1, 100, 59, 3), (2, 101, 100, 7),
            (3, 150, 150, 20), (7, 333, 183, 300), (20, 500, 250, 10**6), (75, 725, 300, 10**9),
            (200, 999, 340, 2**33), (499, 1000, 364, 2**40 - 1), (500, 1000, 365, 2**40),
        ]
    )
]  # fmt: skip
PEOPLE = [{"id": f"p{row}", "age": 30 * row, "debt": -10 - 30 * row} for row in range(4)]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckDBEngine]:
    sources = {"labs": pd.DataFrame(LABS), "people": pd.DataFrame(PEOPLE)}
    snapshot = register(sources, CLINIC, tmp_path_factory.mktemp("clinic"), bytes(16)).snapshot
    engine = DuckDBEngine(snapshot, threads=1)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def peer() -> Iterator[duckdb.DuckDBPyConnection]:
    """A DuckDB of its own that holds the values themselves, and runs whatever the analyst wrote."""
    connection = duckdb.connect(config={"threads": 1, "enable_external_access": False})
    connection.execute(
        "CREATE TABLE labs (id VARCHAR, value BIGINT, test VARCHAR, male BOOLEAN, "
        'price DECIMAL(4, 2), seen DATE, date BIGINT, "case.id" BIGINT, huge BIGINT)'
    )
    connection.execute("CREATE TABLE people (id VARCHAR, age BIGINT, debt BIGINT)")
    for table, rows in (("labs", LABS), ("people", PEOPLE)):
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(
            f"INSERT INTO {table} VALUES ({marks})", [[*r.values()] for r in rows]
        )
    connection.execute("CREATE MACRO clamp(e, l, u) AS least(greatest(e, l), u)")
    connection.execute(
        "CREATE MACRO bucket(e, w) AS e - ((e % w) + w) % w, "
        "(e, w, o) AS e - (((e - o) % w) + w) % w"
    )
    yield connection
    connection.close()


#: A number that DuckDB would read as a double, and compare only nearly.
LONG_NUMBER = re.compile(r"[\d.]{16}")


def _answered(sql: str, engine: DuckDBEngine, peer: duckdb.DuckDBPyConnection) -> bool:
    """Whether the text is accepted; it then has to be answered as DuckDB answers it.

    Raises duckdb.ParserException for one that is no SQL to DuckDB."""
    plan = _judged(sql)
    if plan is None:
        return False
    cells = engine.read(plan)
    exact = all(isinstance(item.column, Cell) for item in plan.items)
    if LONG_NUMBER.search(sql) is None and exact:
        found = peer.execute(sql)
        names = [column[0] for column in found.description or ()]
        _check_rows(plan, cells, names, found.fetchall())
    return True


def _check_rows(
    plan: Plan, cells: tuple[int, ...], names: list[str], rows: list[tuple[Any, ...]]
) -> None:
    """That the rows with something in them are those of DuckDB, which shows no others."""
    table = plan.shape.table(cells, [(cell, cell) for cell in cells])
    items = [item.column.name for item in plan.items]
    if len(names) == len(items):  # no key is selected
        names = items
    if not {*names} <= {*items, *(name for name, _ in plan.keys)}:
        return  # a key of which only DuckDB knows the name
    places = [place for place, name in enumerate(names) if name in items]
    ours = [tuple(map(row.__getitem__, names)) for row in table.rows]
    kept = [
        Counter(
            tuple(map(_plain, row)) for row in side if any(_plain(row[place]) for place in places)
        )
        for side in (ours, rows)
    ]
    assert kept[0] == kept[1]


def _plain(value: Any) -> Any:
    """Of one type for what is equal; a sum over no row is 0."""
    if isinstance(value, datetime.datetime):
        return value.date()
    return Fraction(value or 0) if isinstance(value, int | float | Decimal | None) else value


def _unmarked() -> list[str]:
    texts = [
        *(marked for marked, _ in WHOLE),
        *(f"{COUNT} WHERE {marked}" for marked, _ in CONDITIONS),
    ]
    return [text.replace("¶", "") for text in texts]


ACCEPTED = [
    COUNT,
    "select count(*) as n\nfrom LABS ;",
    'SELECT COUNT(DISTINCT labs."id") FROM labs',
    "SELECT SUM(price) FROM labs WHERE male",
    f"{COUNT} WHERE value NOT IN (1, -5, 2.5) AND NOT (male OR price >= 1.005)",
    f"{COUNT} WHERE test IN ('hdl', 'größe', 'it''s') OR seen > DATE '2020-06-01'",
    f"{COUNT} WHERE '2020-06-01' <> seen AND \"case.id\" = 1 AND date BETWEEN 1 AND 2",
    "SELECT SUM(age) FROM people WHERE NOT NOT (age < 3e1 AND people.debt <> -20)",
]
TEXTS = [*_unmarked(), *ACCEPTED * 12]


@settings(max_examples=examples(300))
@given(sql=grammar.mutilated(TEXTS))
def test_a_mutilated_text_is_answered_or_refused(sql: str) -> None:
    _judged(sql)


@settings(max_examples=examples(150))
@given(sql=grammar.STATEMENTS)
def test_any_sql_is_answered_or_refused(sql: str) -> None:
    _judged(sql)


@settings(max_examples=examples(60))
@given(condition=grammar.EXPRESSIONS)
def test_any_expression_is_a_condition_or_refused(condition: str) -> None:
    _judged(f"{COUNT} WHERE {condition}")
    _judged(f"{COUNT} WHERE NOT ({condition}) AND male")


@settings(max_examples=examples(100))
@given(sql=grammar.subset())
def test_the_language_is_answered_as_duckdb_answers_it(
    engine: DuckDBEngine, peer: duckdb.DuckDBPyConnection, sql: str
) -> None:
    assert _answered(sql, engine, peer)


@settings(max_examples=examples(200))
@given(sql=grammar.reworded(grammar.subset()))
def test_no_order_of_its_words_is_misunderstood(
    engine: DuckDBEngine, peer: duckdb.DuckDBPyConnection, sql: str
) -> None:
    # The parser passes over a few misplaced words: harmless, where SQL knows no other meaning.
    with contextlib.suppress(duckdb.ParserException):
        _answered(sql, engine, peer)


#: What a query of many numbers may be too much of.
TOO_MUCH = {"arithmetic", "CASE", "function SUM", "query", "key of too many values", "length", "nesting",
            "function CLAMP", "function BUCKET", "comparison", "function ABS", "GROUP BY a constant"}  # fmt: skip


@settings(max_examples=examples(150))
@given(sql=tables())
def test_tables_are_answered_as_duckdb_answers_them(
    engine: DuckDBEngine, peer: duckdb.DuckDBPyConnection, sql: str
) -> None:
    if not _answered(sql, engine, peer):
        with pytest.raises(QueryRefused) as refused:
            parse(sql, CLINIC)
        assert refused.value.construct in TOO_MUCH


@settings(max_examples=examples(150))
@given(sql=grammar.reworded(tables()))
def test_no_order_of_words_in_a_table_is_misunderstood(
    engine: DuckDBEngine, peer: duckdb.DuckDBPyConnection, sql: str
) -> None:
    with contextlib.suppress(duckdb.ParserException):
        _answered(sql, engine, peer)


@settings(max_examples=examples(60))
@given(sql=grammar.STATEMENTS | grammar.reworded(grammar.subset()))
def test_the_tree_by_itself_answers_or_refuses(sql: str) -> None:
    with pytest.MonkeyPatch.context() as patch:  # the words are not looked at before
        patch.setattr("interlace.query.parse.screened", lambda *_: [])
        _judged(sql)


def _full(piece: str, between: str = " AND ") -> str:
    """A condition as long as may be, of one piece again and again."""
    words = re.findall(r"\w+|\S", piece + between) or [""]
    most = min(LONGEST_TEXT // len(piece + between), MOST_TOKENS // len(words))
    return between.join([piece] * (most - 20))


def _nested(opened: str, inner: str = "1") -> str:
    """As deep as may be."""
    return opened * DEEPEST + inner + ")" * (DEEPEST * opened.count("("))


NOT_IN = ", ".join(str(2 * number) for number in range(2400))
BOMBS = [
    *(_full(_nested(opened)) for opened in ("(", "DATE (", "(DATE ", "abs(", "NOT (", "IN (")),
    *(
        _full(_nested(opened))
        for opened in ("(SELECT ", "COUNT(", "value IN (", "DATE DATE (", "(1, ")
    ),
    *(_full(_nested(opened, "male")) for opened in ("(", "NOT (", "NOT ", "male OR (", "NOT NOT ")),
    *(
        _full(piece, " ")
        for piece in ("DATE", "NOT", "-", "value =", "value *", "value.", "(", ")")
    ),
    *(_full(piece, " ") for piece in ("BETWEEN 1 AND", "'' ''", "AND", "SELECT", "a.", "1,", ",")),
    *(_full(piece, "") for piece in ("9", "'", '"', "((", "--", "/*", "$$", "\\", "\n", "e9", "=")),
    *(
        _full("(value = 1 AND male) OR (value = 2 AND NOT male)", word)
        for word in (" AND ", " OR ")
    ),
    " AND ".join(f"(value <= {n % 300} OR huge >= {n})" for n in range(400)),
    " OR ".join(f"(value <= {n % 300} AND huge >= {n})" for n in range(400)),
    f"huge NOT IN ({NOT_IN})",
    f"NOT (huge NOT IN ({NOT_IN}) OR male)",
    f"value = {'9' * 19_000}",
    f"test = '{'x' * 19_000}'",
    f'"{"x" * 19_000}" = 1',
    f"value = {'1_' * 9_000}1",
]


@pytest.mark.parametrize("place", range(len(BOMBS)))
def test_no_condition_takes_long(place: int, engine: DuckDBEngine) -> None:
    plan = _judged(f"{COUNT} WHERE {BOMBS[place]}")
    assert plan is None or len(engine.read(plan)) == 1


@pytest.mark.soak
@pytest.mark.parametrize("place", range(len(BOMBS)))
def test_nothing_that_is_selected_takes_long(place: int) -> None:
    assert _judged(f"SELECT {BOMBS[place]} FROM labs") is None


def test_no_name_that_is_a_keyword_takes_long() -> None:
    # A type's name before a parenthesis took the parser twice as long at every depth.
    folded = {word.casefold() for word in DuckDB.Tokenizer.KEYWORDS if word.isidentifier()}
    names = sorted(folded - {"id"})
    assert {"timestamp", "int", "text", "map", "case", "interval"} < {*names}
    dataset = Dataset("d", "id", (Table("labs", dict.fromkeys(names, Integer(0, 9))),))
    for name in names:
        for opened in (f"{name} (", f"({name} ", f"{name} IN ({name} ("):
            depth = DEEPEST // opened.count("(")
            nested = opened * depth + "1" + ")" * DEEPEST
            assert _judged(f"{COUNT} WHERE {nested}", dataset) is None
