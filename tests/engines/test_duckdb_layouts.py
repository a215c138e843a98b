"""Snapshots as earlier versions wrote them are read on; what they lack is refused by name."""

from __future__ import annotations

import hashlib
from pathlib import Path

import duckdb
import pytest

from interlace.core.errors import EngineError
from interlace.engines.base import Snapshot
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.duckdb.register import LAYOUT, register
from interlace.query.columns import Category, Integer
from interlace.query.parse import parse
from interlace.query.schema import Dataset, KeySet, PublicTable, Table

TEXT = (
    '{"name":"d","unit":"id","tables":[{"name":"labs","rows_per_unit":2,"columns":'
    '[["x",{"type":"integer","lower":0,"upper":2,"missing":"drop","out_of_range":"clamp"}],'
    '["t",{"type":"category","values":["e\\u0301","b"],"missing":"drop","unknown":"drop"}]]}]}'
)
ROWS = [(7, 1, 0), (7, 1, 1), (7, 2, 0), (9, 0, 1)]
GROUPED = "SELECT x, COUNT(*) FROM labs GROUP BY x"


def written(folder: Path, layout: int | None, text: str = TEXT) -> Snapshot:
    """A snapshot made by hand; without ``layout`` as the first versions made them."""
    path = folder / "old.duckdb"
    with duckdb.connect(str(path)) as connection:
        said = "" if layout is None else f", {layout}::INTEGER AS layout"
        connection.execute(
            f"CREATE TABLE declaration AS SELECT ?::VARCHAR AS dataset{said}", [text]
        )
        connection.execute("CREATE TABLE t0 (unit UBIGINT, c0 BIGINT, c1 BIGINT)")
        connection.executemany("INSERT INTO t0 VALUES (?, ?, ?)", ROWS)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return Snapshot(Dataset.from_json(text), path, digest)


def test_an_old_snapshot_answers_what_needs_no_ranks(tmp_path: Path) -> None:
    old = written(tmp_path, None)
    # Its declaration was not in normal form C; now it is, and its codes are what they were.
    assert old.dataset.to_json() != TEXT
    engine = DuckDBEngine(old)
    for sql, value in [
        ("SELECT COUNT(*) FROM labs", 3),  # 3 clamped to 2, and 1
        ("SELECT SUM(x) FROM labs", 4),
        ("SELECT COUNT(DISTINCT id) FROM labs WHERE t = 'b'", 2),
        ("SELECT COUNT(DISTINCT id) FROM labs WHERE t = 'e\u0301'", 1),
    ]:
        assert engine.read(parse(sql, old.dataset)) == (value,)
    engine.close()


def test_an_old_snapshot_refuses_by_name_what_needs_ranks(tmp_path: Path) -> None:
    old = written(tmp_path, None)
    engine = DuckDBEngine(old)
    with pytest.raises(EngineError, match="'d' is of an older version, without row ranks"):
        engine.read(parse(GROUPED, old.dataset))
    assert engine.read(parse("SELECT COUNT(*) FROM labs", old.dataset)) == (3,)
    engine.close()


def test_a_snapshot_of_today_answers_the_same_question(tmp_path: Path) -> None:
    dataset = Dataset.from_json(TEXT)
    (tmp_path / "labs.csv").write_text(
        "id,x,t\n7,1,e\u0301\n7,1,b\n7,2,\u00e9\n9,0,b\n", encoding="utf-8"
    )
    done = register({"labs": tmp_path / "labs.csv"}, dataset, tmp_path / "new", bytes(16))
    engine = DuckDBEngine(done.snapshot)
    zero, one, two = engine.read(parse(GROUPED, dataset))
    assert zero == 1
    assert (one, two) in ((2, 0), (1, 1))  # two of the three rows of one unit
    assert engine.read(parse("SELECT COUNT(*) FROM labs", dataset)) == (3,)
    engine.close()


def test_a_snapshot_of_a_later_version_is_refused(tmp_path: Path) -> None:
    later = written(tmp_path, LAYOUT + 1)
    with pytest.raises(EngineError, match="'d' was written by a later version of Interlace"):
        DuckDBEngine(later).read(parse("SELECT COUNT(*) FROM labs", later.dataset))


@pytest.mark.parametrize("text", ["", "{}", TEXT.replace('"x"', '"y"')])
def test_a_declaration_that_is_another_or_none_is_refused(text: str, tmp_path: Path) -> None:
    wanted = Dataset.from_json(TEXT)
    path = tmp_path / "other.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE declaration AS SELECT ?::VARCHAR AS dataset", [text])
    snapshot = Snapshot(wanted, path, hashlib.sha256(path.read_bytes()).hexdigest())
    with pytest.raises(EngineError, match="another declaration"):
        DuckDBEngine(snapshot).read(parse("SELECT COUNT(*) FROM labs", wanted))


def test_reads_are_in_utc_wherever_they_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    old = written(tmp_path, None)
    engine = DuckDBEngine(old)
    assert engine.read(parse("SELECT COUNT(*) FROM labs", old.dataset)) == (3,)
    assert engine._connection is not None
    cursor = engine._connection.cursor()
    assert cursor.execute("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]
    cursor.close()
    engine.close()


LABS = Table(
    "labs",
    {"ward": Integer(1, 3), "test": Category(["a", "b"])},
    rows_per_unit=9,
    key_sets=[KeySet(("ward",), 2)],
)
WARDS = PublicTable("wards", "number", {"number": Integer(1, 3), "beds": Integer(0, 99)})
CLINIC = Dataset("clinic", "id", (LABS,), (WARDS,))


def test_key_ranks_and_public_tables_are_what_queries_take_them_for(tmp_path: Path) -> None:
    lines = ["id,ward,test", *(f"7,{ward},a" for ward in (1, 2, 3, 1)), "8,3,b"]
    (tmp_path / "labs.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / "wards.csv").write_text("number,beds\n3,30\n1,10\n2,20\n", encoding="utf-8")
    sources = {name: tmp_path / f"{name}.csv" for name in ("labs", "wards")}
    engine = DuckDBEngine(register(sources, CLINIC, tmp_path / "new", bytes(16)).snapshot)
    counts = engine.read(parse("SELECT ward, COUNT(*) FROM labs GROUP BY ward", CLINIC))
    # Unit 7 counts in two of its three wards, with all its rows there.
    assert counts in ((2, 1, 1), (2, 0, 2), (0, 1, 2))
    joined = "SELECT SUM(beds) FROM labs JOIN wards ON labs.ward = wards.number"
    assert engine.read(parse(joined, CLINIC)) == (10 + 20 + 30 + 10 + 30,)
    engine.close()
