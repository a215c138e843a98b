"""What a registration tells: the custodian's private report, and how far it has come."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings

from interlace.core.errors import DataError
from interlace.engines.base import Report, TableReport
from interlace.engines.duckdb.register import register
from interlace.query.columns import Boolean, Category, Column, Integer
from interlace.query.schema import Dataset, KeySet, PublicTable, Table
from tests.effort import examples
from tests.engines.datasets import KEY, Given, givens
from tests.engines.reference import Raw, Row, normalised, normalised_public, rule


def _touched(rows: list[Raw], columns: Mapping[str, Column]) -> dict[tuple[str, str], int]:
    found = Counter((name, rule(raw[name], kind)) for raw in rows for name, kind in columns.items())
    return {(name, kind): count for (name, kind), count in found.items() if kind is not None}


def _check_rules(part: TableReport, rows: list[Raw], columns: Mapping[str, Column]) -> None:
    told = {(item.column, item.rule): item.rows for item in part.touched}
    assert len(told) == len(part.touched)
    assert {key: count for key, count in told.items() if count} == _touched(rows, columns)
    for item in part.touched:
        kind = columns[item.column]
        wanted = getattr(kind, item.rule)
        if wanted in ("drop", "clamp"):
            assert item.done == wanted
        else:
            code = (
                kind.unknown_code
                if isinstance(kind, Category) and item.rule == "unknown"
                else kind.missing_code
            )
            assert code is not None
            assert item.done == kind.show(code)


def _check_beyond(part: TableReport, table: Table, kept: list[tuple[object, Row]]) -> None:
    told = {item.columns: item for item in part.beyond}
    assert set(told) == {
        *([()] if table.rows_per_unit > 1 else []),
        *(keys.columns for keys in table.key_sets),
    }
    units = Counter(unit for unit, _ in kept)
    if table.rows_per_unit > 1:
        over = [count - table.rows_per_unit for count in units.values()]
        rows = told[()]
        assert rows.bound == table.rows_per_unit
        assert rows.rows == sum(max(count, 0) for count in over)
        assert rows.units == sum(count > 0 for count in over)
    for keys in table.key_sets:
        pairs = {(unit, *(row[name] for name in keys.columns)) for unit, row in kept}
        distinct = Counter(pair[0] for pair in pairs)
        item = told[keys.columns]
        assert item.bound == keys.keys_per_unit
        assert item.units == sum(count > keys.keys_per_unit for count in distinct.values())
        # Which keys are beyond is the hash's choice, but each of them has rows.
        least = sum(max(count - keys.keys_per_unit, 0) for count in distinct.values())
        assert least <= item.rows <= len(kept)


@settings(max_examples=examples(10), suppress_health_check=list(HealthCheck), deadline=None)
@given(case=givens())
def test_the_report_counts_what_the_rules_do(case: Given) -> None:
    with tempfile.TemporaryDirectory() as folder:
        done = case.registered(Path(folder))
    names = [*(table.name for table in case.dataset.tables), "wards"]
    assert [part.table for part in done.report.tables] == names
    for part, table in zip(done.report.tables, case.dataset.tables, strict=False):
        rows, columns = case.rows[table.name], dict(table.columns)
        owned = [raw for raw in rows if raw["id"] is not None]
        kept = [(raw["id"], row) for raw in rows if (row := normalised(raw, columns)) is not None]
        assert (part.read, part.kept) == (len(rows), len(kept))
        assert part.without_unit == len(rows) - len(owned)
        _check_rules(part, owned, columns)
        _check_beyond(part, table, kept)
    part, rows = done.report.tables[-1], case.rows["wards"]
    columns = dict(case.dataset.public[0].columns)
    kept_rows = [row for raw in rows if (row := normalised_public(raw, columns)) is not None]
    assert (part.read, part.without_unit, part.kept) == (len(rows), 0, len(kept_rows))
    assert part.beyond == ()
    _check_rules(part, rows, columns)


COLUMNS: dict[str, Column] = {
    "x": Integer(0, 9, missing=5),
    "test": Category(["a", "b"], unknown="b"),
    "male": Boolean(),
}
CLINIC = Dataset(
    "clinic",
    "id",
    (Table("labs", COLUMNS, 2, [KeySet(("x", "test"), 1)]),),
    (PublicTable("wards", "x", {"x": Integer(0, 9), "test": Category(["a", "b"])}),),
)
LABS = pd.DataFrame(
    {
        "id": [1, 1, 1, 2, 2, 2, None],
        "x": [1, 1, 10, None, 5, -1, 3],
        "test": ["a", "a", "c", "a", "b", None, "c"],
        "male": [True, True, True, True, None, False, True],
    }
).astype({"male": object})
WARDS = pd.DataFrame({"x": [1, 2, 3], "test": ["a", "b", "c"]})


def test_the_report_reads_well(tmp_path: Path) -> None:
    done = register({"labs": LABS, "wards": WARDS}, CLINIC, tmp_path, KEY)
    beyond = next(item for item in done.report.tables[0].beyond if item.columns)
    assert str(done.report).splitlines() == [
        "table labs: 7 rows read, 4 kept",
        "  1 rows without a unit, dropped",
        "  column x: 1 rows missing or unreadable, became 5",
        "  column x: 2 rows out of range, clamped",
        "  column test: 1 rows missing or unreadable, dropped",
        "  column test: 1 rows unknown, became 'b'",
        "  column male: 1 rows missing or unreadable, dropped",
        "  beyond 2 rows a unit: 1 rows of 1 units",
        f"  beyond 1 keys of (x, test) a unit: {beyond.rows} rows of 1 units",
        "table wards: 3 rows read, 2 kept",
        "  column test: 1 rows unknown, dropped",
    ]
    assert beyond.rows in (1, 2)  # two rows of one key, or one of the other
    assert "report" not in repr(done).replace(str(tmp_path), "")
    assert "labs" in repr(done.snapshot)
    assert str(Report(())) == ""


def test_the_report_is_kept_nowhere(tmp_path: Path) -> None:
    frame = pd.concat([LABS] * 31337, ignore_index=True)
    done = register({"labs": frame, "wards": WARDS}, CLINIC, tmp_path, KEY)
    read = done.report.tables[0].read
    assert read == 7 * 31337
    [file] = tmp_path.iterdir()
    assert f"{read}".encode() not in file.read_bytes()
    assert _tables(file) == {"declaration", "t0", "p0"}


def _tables(file: Path) -> set[str]:
    with duckdb.connect(str(file), read_only=True) as connection:
        return {row[0] for row in connection.execute("SHOW TABLES").fetchall()}


def test_progress_names_each_step_in_order(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []

    def progress(step: str, done: int, total: int) -> None:
        told.append((step, done, total))

    register({"labs": LABS, "wards": WARDS}, CLINIC, tmp_path, KEY, progress=progress)
    assert [done for _, done, _ in told] == list(range(7))
    assert {total for _, _, total in told} == {6}
    assert [step for step, _, _ in told] == [
        "table labs: read",
        "public table wards: read",
        "units: numbered",
        "table labs: ranked and written",
        "public table wards: written",
        "snapshot: written out",
        "done",
    ]


def test_nothing_is_printed_even_in_an_interactive_session(tmp_path: Path) -> None:
    """Where the main module has no file, DuckDB would draw a bar of its own after two seconds."""
    asked = """
import sys, duckdb
from interlace.engines.duckdb.files import workshop, writer
from pathlib import Path

asked = "SELECT current_setting('enable_progress_bar')"
with duckdb.connect() as bare, workshop(Path(sys.argv[1])) as work:
    with writer(work, work / "snapshot.duckdb") as connection:
        print(bare.execute(asked).fetchall(), connection.execute(asked).fetchall())
"""
    command = [sys.executable, "-c", asked, str(tmp_path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[(True,)] [(False,)]"


def test_progress_that_fails_harms_nothing_and_an_interrupt_in_it_ends_all(tmp_path: Path) -> None:
    def failing(*_: object) -> None:
        raise RuntimeError("interrupted")

    sources = {"labs": LABS, "wards": WARDS}
    register(sources, CLINIC, tmp_path / "a", KEY, progress=failing)
    assert len(list((tmp_path / "a").iterdir())) == 1

    def interrupting(step: str, *_: object) -> None:
        if step.startswith("snapshot"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        register(sources, CLINIC, tmp_path / "b", KEY, progress=interrupting)
    assert list((tmp_path / "b").iterdir()) == []


def test_a_public_key_names_one_row(tmp_path: Path) -> None:
    twice = pd.DataFrame({"x": [1, 2, 99, 9], "test": "a"})  # 99 is clamped to 9
    with pytest.raises(DataError, match="public table 'wards': more than one row has the key 9"):
        register({"labs": LABS, "wards": twice}, CLINIC, tmp_path, KEY)
    assert list(tmp_path.iterdir()) == []
    # A row that is dropped does not count.
    other = pd.DataFrame({"x": [1, 1], "test": ["a", "c"]})
    report = register({"labs": LABS, "wards": other}, CLINIC, tmp_path, KEY).report
    assert report.tables[1].kept == 1


def test_a_public_table_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    unfit = pd.DataFrame({"x": range(200), "test": "c"})
    with pytest.raises(DataError, match="table 'wards': no row of the source fits"):
        register({"labs": LABS, "wards": unfit}, CLINIC, tmp_path, KEY)
    with pytest.raises(DataError, match="table 'wards': column 'test' is missing"):
        register({"labs": LABS, "wards": WARDS[["x"]]}, CLINIC, tmp_path, KEY)


def test_a_snapshot_that_is_not_what_it_should_be_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no source brings about: the checks of what was written see it."""
    sources = {"labs": LABS, "wards": WARDS}
    monkeypatch.setattr("interlace.engines.duckdb.register.write_public", lambda *_: 3)
    with pytest.raises(DataError, match="not the rows were written"):
        register(sources, CLINIC, tmp_path, KEY)
    monkeypatch.undo()
    monkeypatch.setattr("interlace.engines.duckdb.normalise.code", lambda *_: "CAST(10 AS BIGINT)")
    with pytest.raises(DataError, match="a code outside its bounds was written"):
        register(sources, CLINIC, tmp_path, KEY)
    assert list(tmp_path.iterdir()) == []
