"""The engine itself: locked down, shared by threads and forks, silent about what it read."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from interlace.core.errors import EngineError, ParameterError
from interlace.engines.base import Engine, Snapshot
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.duckdb.register import register
from interlace.query.columns import Boolean, Integer
from interlace.query.parse import parse
from interlace.query.plan import Plan
from interlace.query.rewrite import Statement
from interlace.query.schema import Dataset, Table
from interlace.query.terms import Ref

KEY = bytes(16)
VISITS = Table("visits", {"cost": Integer(-10, 100), "paid": Boolean()}, rows_per_unit=3)
PEOPLE = Table("people", {"age": Integer(0, 120)})
CLINIC = Dataset("clinic", "id", (VISITS, PEOPLE))
COUNT = "SELECT COUNT(*) FROM visits"


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    visits = pd.DataFrame(
        {
            "id": [1, 1, 1, 1, 2, 2, 3],
            "cost": [100, 100, 100, 100, -10, -10, 5],
            "paid": [True, True, True, True, True, False, False],
        }
    )
    people = pd.DataFrame({"id": [1, 2, 3, 4], "age": [20, 30, 40, 50]})
    return register(
        {"visits": visits, "people": people}, CLINIC, tmp_path_factory.mktemp("clinic"), KEY
    ).snapshot


@pytest.fixture
def engine(snapshot: Snapshot) -> Iterator[DuckDBEngine]:
    engine = DuckDBEngine(snapshot)
    yield engine
    engine.close()


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        (COUNT, 6),  # 4 clamped to 3, 2, 1
        ("SELECT COUNT(DISTINCT id) FROM visits", 3),
        ("SELECT COUNT(DISTINCT id) FROM visits WHERE NOT paid", 2),
        ("SELECT SUM(cost) FROM visits", 285),  # 400 clamped to 300, -20, 5
        ("SELECT SUM(cost) FROM visits WHERE cost < 0", -20),
        ("SELECT SUM(cost) FROM visits WHERE FALSE", 0),
        ("SELECT COUNT(*) FROM visits WHERE cost > 100", 0),
        ("SELECT SUM(age) FROM people WHERE age >= 30", 120),
        ("SELECT COUNT(DISTINCT id) FROM people", 4),
    ],
)
def test_answers(sql: str, value: int, engine: DuckDBEngine) -> None:
    asked: Engine = engine
    assert asked.read(parse(sql, CLINIC)) == (value,)


def test_a_vector_is_read_at_once(engine: DuckDBEngine) -> None:
    plan = parse("SELECT COUNT(*), COUNT(DISTINCT id), SUM(cost) FROM visits", CLINIC)
    assert engine.read(plan) == (6, 3, 285)
    bound = plan.sensitivity
    assert (plan.size, bound.l0, bound.l1, bound.linf) == (3, 3, 304, 300)
    assert bound.l2_squared == 3**2 + 1 + 300**2
    one = parse("SELECT COUNT(DISTINCT id), SUM(age) FROM people", CLINIC)
    assert engine.read(one) == (4, 140)


def test_sums_beyond_64_bits_of_one_unit_are_exact(tmp_path: Path) -> None:
    # Codes of 2^62 may be stored and compared; a plan that adds them up is refused.
    table = Table("t", {"x": Integer(0, 2**62), "y": Integer(0, 2**31)}, rows_per_unit=2)
    dataset = Dataset("d", "id", (table,))
    source = pd.DataFrame({"id": [1] * 40, "x": [2**62] * 40, "y": [2**31] * 40})
    engine = DuckDBEngine(register({"t": source}, dataset, tmp_path, KEY).snapshot)
    good = parse("SELECT SUM(y) FROM t WHERE x > 4611686018427387903", dataset)
    assert engine.read(good) == (2**32,)
    wide = replace(good.parts[0].sensitivity, linf=2**62, l1=2**62, l2_squared=2**124)
    free = replace(
        good.parts[0],
        term=Ref("t", "x", table.kind("x")),
        bounds=(0, 2**100),
        sensitivity=wide,
    )
    with pytest.raises(ParameterError, match="the limit is 2"):
        replace(good, parts=(free,))
    # What the engine would make of it, were it allowed: no overflow.
    plan = object.__new__(Plan)
    for item in fields(Plan):
        object.__setattr__(plan, item.name, getattr(good, item.name))
    object.__setattr__(plan, "parts", (free,))
    assert engine.read(plan) == (40 * 2**62,)
    engine.close()


def test_an_empty_table_answers_0(tmp_path: Path) -> None:
    dataset = Dataset("d", "id", (PEOPLE,))
    source = pd.DataFrame({"id": [None], "age": [7]})
    engine = DuckDBEngine(register({"people": source}, dataset, tmp_path, KEY).snapshot)
    for sql in ("SELECT COUNT(*) FROM people", "SELECT SUM(age) FROM people"):
        assert engine.read(parse(sql, dataset)) == (0,)
    engine.close()


SETTINGS = {
    "enable_external_access": "false",
    "lock_configuration": "true",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "allow_unsigned_extensions": "false",
    "threads": "2",
    "memory_limit": "953.6 MiB",
}
FORBIDDEN = [
    "SET lock_configuration = false",
    "SET enable_external_access = true",
    "RESET enable_external_access",
    "SET threads = 8",
    "SET memory_limit = '9GB'",
    "SET temp_directory = '.'",
    "SELECT * FROM read_csv('{here}')",
    "SELECT * FROM read_text('{here}')",
    "SELECT * FROM '{here}.csv'",
    "SELECT * FROM glob('*')",
    "COPY snapshot.t0 TO '{here}.out'",
    "EXPORT DATABASE '{here}.d'",
    "ATTACH '{here}.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{here}'",
    "INSERT INTO snapshot.t0 VALUES (1, 2, 1)",
    "UPDATE snapshot.t0 SET c0 = 1",
    "DELETE FROM snapshot.t0",
    "DROP TABLE snapshot.t0",
    "CREATE TABLE snapshot.t9 AS SELECT 1 AS x",
]


def _connection(engine: DuckDBEngine) -> duckdb.DuckDBPyConnection:
    engine.read(parse(COUNT, CLINIC))  # which opens it
    connection = engine._connection
    assert connection is not None
    return connection.cursor()


@pytest.mark.parametrize(("name", "value"), SETTINGS.items())
def test_settings_hold(name: str, value: str, engine: DuckDBEngine) -> None:
    sql = f"SELECT value FROM duckdb_settings() WHERE name = '{name}'"
    assert _connection(engine).execute(sql).fetchall() == [(value,)]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_nothing_else_can_be_done(
    statement: str, engine: DuckDBEngine, snapshot: Snapshot, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    here.write_text("x\n1\n", encoding="utf-8")
    (tmp_path / "here.csv").write_text("x\n1\n", encoding="utf-8")
    before = snapshot.path.read_bytes()
    with pytest.raises(duckdb.Error):
        _connection(engine).execute(statement.replace("{here}", str(here))).fetchall()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here", "here.csv"]
    assert snapshot.path.read_bytes() == before


def test_fifty_threads_share_an_engine(engine: DuckDBEngine) -> None:
    plans = [parse(sql, CLINIC) for sql in (COUNT, "SELECT SUM(cost) FROM visits")]
    barrier, found, failed = threading.Barrier(50), [], []

    def ask() -> None:
        barrier.wait()
        try:
            found.extend([engine.read(plan) for plan in plans * 3])
        except Exception as error:  # noqa: BLE001 - collected for the assertion
            failed.append(error)

    threads = [threading.Thread(target=ask) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert sorted(found) == sorted([(6,), (285,)] * 150)


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_opens_its_own(engine: DuckDBEngine) -> None:
    plan = parse(COUNT, CLINIC)
    assert engine.read(plan) == (6,)
    parents = engine._connection
    with engine._lock:  # as if another thread held it at the fork
        child = os.fork()
        if child == 0:
            signal.alarm(30)  # a deadlock must not hang the tests
            sound = engine.read(plan) == (6,) and engine._connection is not parents
            os._exit(0 if sound else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert engine.read(plan) == (6,)
    assert engine._connection is parents


FORKING = """
import os, sys
from pathlib import Path
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.base import Snapshot
from interlace.query.parse import parse
from interlace.query.schema import Dataset

dataset = Dataset.from_json(sys.argv[1])
engine = DuckDBEngine(Snapshot(dataset, Path(sys.argv[2]), sys.argv[3]))
plan = parse("SELECT COUNT(*) FROM visits", dataset)
assert engine.read(plan) == (6,)
child = os.fork()
if child == 0:
    if sys.argv[4] == "read":
        assert engine.read(plan) == (6,)
    else:
        engine.close()
    sys.exit(0)  # an orderly end, in which everything that is held is given back
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.parametrize("does", ["read", "close"])
def test_a_forked_child_ends_well(does: str, snapshot: Snapshot) -> None:
    given = [snapshot.dataset.to_json(), str(snapshot.path), snapshot.digest, does]
    ended = subprocess.run([sys.executable, "-c", FORKING, *given], timeout=60, check=False)
    assert ended.returncode == 0


def test_two_engines_and_other_processes_read_one_snapshot(
    engine: DuckDBEngine, snapshot: Snapshot
) -> None:
    other = DuckDBEngine(snapshot, memory="100MB", threads=1)
    assert other.read(parse(COUNT, CLINIC)) == engine.read(parse(COUNT, CLINIC)) == (6,)
    other.close()
    assert engine.read(parse(COUNT, CLINIC)) == (6,)


def _refused(snapshot: Snapshot, problem: str) -> None:
    """The first read is refused, and the second, and no other error is in reach."""
    engine = DuckDBEngine(snapshot)
    for _ in range(2):
        with pytest.raises(EngineError, match=problem) as caught:
            engine.read(parse(COUNT, snapshot.dataset))
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    engine.close()


def _copied(snapshot: Snapshot, folder: Path, content: bytes) -> Snapshot:
    path = folder / snapshot.path.name
    path.write_bytes(content)
    return replace(snapshot, path=path)


def test_a_missing_snapshot_is_an_error(snapshot: Snapshot, tmp_path: Path) -> None:
    missing = replace(snapshot, path=tmp_path / snapshot.path.name)
    _refused(missing, "is missing")
    engine = DuckDBEngine(missing)  # nothing is opened before the first read
    missing.path.write_bytes(snapshot.path.read_bytes())
    assert engine.read(parse(COUNT, CLINIC)) == (6,)
    engine.close()


def test_a_snapshot_may_be_moved_but_not_changed(snapshot: Snapshot, tmp_path: Path) -> None:
    content = bytearray(snapshot.path.read_bytes())
    moved = DuckDBEngine(_copied(snapshot, tmp_path, bytes(content)))
    assert moved.read(parse(COUNT, CLINIC)) == (6,)
    moved.close()
    content[len(content) // 2] ^= 1
    for changed in (bytes(content), b"", bytes(content[:-1])):
        _refused(_copied(snapshot, tmp_path, changed), "is not the one that was registered")


def test_another_declaration_is_an_error(snapshot: Snapshot, engine: DuckDBEngine) -> None:
    wider = Dataset("clinic", "id", (Table(VISITS.name, VISITS.columns, 9), PEOPLE))
    _refused(replace(snapshot, dataset=wider), "another declaration")
    with pytest.raises(ParameterError, match="another dataset"):
        engine.read(parse(COUNT, wider))


def test_a_file_of_another_kind_is_an_error(snapshot: Snapshot, tmp_path: Path) -> None:
    content = b"not a database at all"
    other = _copied(snapshot, tmp_path, content)
    _refused(replace(other, digest=hashlib.sha256(content).hexdigest()), "cannot be opened")


def test_a_closed_engine_reads_no_more(snapshot: Snapshot) -> None:
    for used in (False, True):
        engine = DuckDBEngine(snapshot)
        if used:
            engine.read(parse(COUNT, CLINIC))
        engine.close()
        engine.close()
        with pytest.raises(EngineError, match="closed"):
            engine.read(parse(COUNT, CLINIC))


def test_closing_lets_the_reads_that_run_end(snapshot: Snapshot) -> None:
    """Each read gives its answer or says that the engine is closed; none fails otherwise."""
    plan = parse("SELECT SUM(cost) FROM visits", CLINIC)
    for _ in range(5):
        engine = DuckDBEngine(snapshot)
        engine.read(plan)
        barrier, ends = threading.Barrier(9), []

        def ask(engine: DuckDBEngine = engine, barrier: threading.Barrier = barrier) -> str:
            barrier.wait()
            try:
                while engine.read(plan) == (285,):
                    pass
            except EngineError as error:
                return str(error)
            return "a wrong answer"

        with ThreadPoolExecutor(8) as pool:
            asked = [pool.submit(ask) for _ in range(8)]
            barrier.wait()
            time.sleep(0.02)
            engine.close()
            ends = [answer.result() for answer in asked]
        assert ends == ["the engine is closed: open the centre again"] * 8


def _is_open(path: Path) -> bool:
    return path in {
        link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()
    }


def test_the_last_read_gives_the_snapshot_back(snapshot: Snapshot, tmp_path: Path) -> None:
    copied = _copied(snapshot, tmp_path, snapshot.path.read_bytes())
    engine = DuckDBEngine(copied)
    assert not _is_open(copied.path)
    cursor = _connection(engine)
    engine.close()
    assert cursor.execute("SELECT count(*) FROM snapshot.t0").fetchall() == [(7,)]
    assert _is_open(copied.path)
    cursor.close()
    assert not _is_open(copied.path)


@pytest.mark.parametrize(
    "error", [duckdb.Error("31337"), MemoryError("31337"), ValueError("31337")]
)
def test_a_failure_after_the_scan_began_has_one_public_form(
    error: Exception, engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        def cursor(self) -> Any:
            raise error

    monkeypatch.setattr(engine, "_connection", Failing())
    with pytest.raises(EngineError) as caught:
        engine.read(parse(COUNT, CLINIC))
    assert "the charge is kept" in str(caught.value)
    assert "31337" not in f"{caught.value.args} {vars(caught.value)}"
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_a_failing_statement_brings_no_value_along(
    engine: DuckDBEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a real one does: DuckDB quotes the value that it could not convert."""
    failing = "SELECT CAST('31337 private' AS BIGINT)"
    with pytest.raises(duckdb.Error, match="31337 private"):
        _connection(engine).execute(failing).fetchall()
    monkeypatch.setattr(
        "interlace.engines.duckdb.engine.rewrite", lambda *_: [Statement(failing, (0,))]
    )
    with pytest.raises(EngineError) as caught:
        engine.read(parse(COUNT, CLINIC))
    assert "private" not in f"{caught.value.args} {vars(caught.value)}"
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
