"""Ranks of rows and keys: by a keyed hash of what a unit has itself, and of nothing else."""

from __future__ import annotations

import hashlib
import hmac
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlace.engines.duckdb.register import register
from interlace.query.columns import Column, Integer
from interlace.query.schema import Dataset, KeySet, Table
from tests.effort import examples
from tests.engines import strategies
from tests.engines.datasets import KEY, Given, givens, stored

Codes = tuple[int, ...]


def _order(key: bytes, purpose: Iterable[str], unit: int, codes: Codes) -> tuple[int, Codes]:
    """Where a row or key lies among those of its unit, computed apart."""
    derived = hmac.new(key, "\0".join(purpose).encode(), hashlib.sha256).hexdigest()
    listed = ",".join(map(str, (unit, *codes)))
    digest = hashlib.sha256(f"{derived}:{listed}".encode()).digest()
    return int.from_bytes(digest[:8], "big"), codes


def _by_unit(rows: Iterable[Mapping[str, Any]]) -> dict[int, list[Mapping[str, Any]]]:
    units = defaultdict(list)
    for row in rows:
        units[row["unit"]].append(row)
    return units


def _check_rows(rows: list[dict[str, Any]], table: Table, key: bytes) -> None:
    names = [f"c{j}" for j in range(len(table.columns))]
    for unit, own in _by_unit(rows).items():
        ranked = sorted(own, key=lambda row: row["rank"])
        assert [row["rank"] for row in ranked] == list(range(1, len(own) + 1))
        codes = [tuple(row[name] for name in names) for row in ranked]
        assert codes == sorted(
            codes, key=lambda part: _order(key, ("row rank", table.name), unit, part)
        )


def _check_keys(rows: list[dict[str, Any]], table: Table, j: int, key: bytes) -> None:
    declared = table.key_sets[j].columns
    places = [name for name, _ in table.columns]
    names = [f"c{places.index(column)}" for column in declared]
    purpose = ("key rank", table.name, *declared)
    for unit, own in _by_unit(rows).items():
        found = {tuple(row[name] for name in names) for row in own}
        wanted = sorted(found, key=lambda part: _order(key, purpose, unit, part))
        for row in own:
            assert wanted[row[f"k{j}"] - 1] == tuple(row[name] for name in names)


@settings(max_examples=examples(8), suppress_health_check=list(HealthCheck), deadline=None)
@given(case=givens(), leaver=strategies.UNITS, seed=st.integers(0, 99))
def test_ranks_depend_on_the_units_own_rows_only(case: Given, leaver: int, seed: int) -> None:
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base)
        snapshot = case.registered(folder).snapshot
        shuffled = case.shuffled(seed).registered(folder).snapshot
        fewer = case.without(leaver).registered(folder).snapshot
        left = int.from_bytes(hashlib.sha256(f"{KEY.hex()}:{leaver}".encode()).digest()[:8], "big")
        for i, table in enumerate(case.dataset.tables):
            rows = stored(snapshot, f"t{i}")
            assert rows == stored(shuffled, f"t{i}")
            assert [row for row in rows if row["unit"] != left] == stored(fewer, f"t{i}")
            if table.rows_per_unit > 1:
                _check_rows(rows, table, KEY)
            else:
                assert all("rank" not in row for row in rows)
            for j in range(len(table.key_sets)):
                _check_keys(rows, table, j, KEY)
        assert stored(snapshot, "p0") == stored(shuffled, "p0") == stored(fewer, "p0")


XY: dict[str, Column] = {"x": Integer(0, 9), "y": Integer(0, 9)}
SETS = [KeySet(("x",), 2), KeySet(("y", "x"), 3)]
LARGE = Dataset("d", "id", (Table("t", XY, 5, SETS),))


def _large(seed: int) -> pd.DataFrame:
    """300,000 rows, several of DuckDB's row groups, of 5,000 units, few with most of the rows."""
    chosen = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "id": (5000 * chosen.random(300_000) ** 3).astype(int),
            "x": chosen.integers(0, 10, 300_000),
            "y": chosen.integers(0, 3, 300_000),
        }
    )
    return frame.sample(frac=1, random_state=seed)


def test_ranks_are_the_same_with_any_number_of_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = duckdb.connect
    found = []
    for threads in (1, 3):

        def limited(config: dict[str, Any], threads: int = threads) -> Any:
            return connect(config=config | {"threads": threads})

        monkeypatch.setattr("interlace.engines.duckdb.files.duckdb.connect", limited)
        snapshot = register({"t": _large(threads)}, LARGE, tmp_path, KEY).snapshot
        monkeypatch.undo()
        with duckdb.connect(str(snapshot.path), read_only=True) as connection:
            found.append(connection.sql("SELECT * FROM t0 ORDER BY ALL").df())
    assert len(found[0]) == 300_000
    pd.testing.assert_frame_equal(*found)


def test_another_key_gives_another_order_and_none_that_can_be_told(tmp_path: Path) -> None:
    """4,000 units with the same 5 rows: each row is the first of about 800. With this key the
    ranks are what they are; under a random one a count would leave these bounds, 8 standard
    deviations of 25.3, once in 10^14."""
    frame = pd.DataFrame({"id": np.arange(20_000) // 5, "x": np.arange(20_000) % 5, "y": 0})
    firsts = []
    for key in (KEY, KEY[::-1]):
        snapshot = register({"t": frame}, LARGE, tmp_path, key).snapshot
        rows = stored(snapshot, "t0")
        first = Counter(row["c0"] for row in rows if row["rank"] == 1)
        first_keys = Counter(row["c0"] for row in rows if row["k0"] == 1)
        both = sum(row["rank"] == row["k0"] == 1 for row in rows)
        for counted in (*first.values(), *first_keys.values(), both):
            assert 800 - 8 * 25.3 < counted < 800 + 8 * 25.3
        firsts.append({row["unit"]: row["c0"] for row in rows if row["rank"] == 1})
    assert len(firsts[0]) == len(firsts[1]) == 4000
    assert firsts[0].keys().isdisjoint(firsts[1].keys())


def test_ranks_stay_when_the_declaration_gains_a_table(tmp_path: Path) -> None:
    """A later version of the same units: what one table keeps of a unit stays the same."""
    frame = pd.DataFrame({"id": [1] * 8 + [2] * 8, "x": list(range(8)) * 2, "y": 1})
    more = Dataset("d", "id", (Table("first", XY), *LARGE.tables))
    alone = register({"t": frame}, LARGE, tmp_path, KEY).snapshot
    empty = frame.iloc[:0]
    later = register({"first": empty, "t": frame}, more, tmp_path, KEY).snapshot
    assert stored(alone, "t0") == stored(later, "t1")


def test_equal_rows_are_all_there_and_lie_side_by_side(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": 1, "x": [1, 2, 1, 2, 1, 3], "y": 0})
    rows = stored(register({"t": frame}, LARGE, tmp_path, KEY).snapshot, "t0")
    ranks = {x: sorted(row["rank"] for row in rows if row["c0"] == x) for x in (1, 2, 3)}
    assert sorted(rank for own in ranks.values() for rank in own) == [1, 2, 3, 4, 5, 6]
    assert all(own[-1] - own[0] == len(own) - 1 for own in ranks.values())
    assert sorted({row["c0"]: row["k0"] for row in rows}.values()) == [1, 2, 3]
