"""Registering: public declarations in, a fixed snapshot out, nothing private left behind."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import interlace as il
from tests.centre.support import ALL_SQL, PEOPLE, clinic, people

_COLUMNS = {"age": il.Integer(0, 120)}


def _register(centre: il.centre.Centre, name: str) -> str | None:
    try:
        return centre.register(people(), name=name, unit="id", columns=_COLUMNS).dataset.name
    except il.NameTaken:
        return None


def test_one_of_many_registrations_of_a_name_wins(tmp_path: Path) -> None:
    with il.open(tmp_path) as centre, ThreadPoolExecutor(8) as pool:
        names = list(pool.map(lambda _: _register(centre, "people"), range(8)))
        assert sorted(names, key=str) == [None] * 7 + ["people"]
        assert len(list((tmp_path / "snapshots").iterdir())) == 1


def test_what_a_killed_registration_left_is_gone_after_the_next(tmp_path: Path) -> None:
    victim = """
import os, signal, sys
import pandas as pd
import interlace as il
from interlace.engines.duckdb import register

register.publish = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
il.open(sys.argv[1]).register(
    pd.DataFrame({"id": [1]}), name="people", unit="id", columns={}
)
"""
    command = [sys.executable, "-c", victim, str(tmp_path)]
    died = subprocess.run(command, check=False, timeout=120)
    assert died.returncode == -signal.SIGKILL
    left = list((tmp_path / "snapshots").iterdir())
    assert [path.name[:13] for path in left] == [".registering-"]
    with clinic(tmp_path) as centre:
        assert [path.suffix for path in (tmp_path / "snapshots").iterdir()] == [".duckdb"]
        assert [dataset.name for dataset in centre.datasets()] == ["people"]


@pytest.mark.parametrize("missing", ["name", "unit", "columns"])
def test_a_single_table_needs_its_declaration(tmp_path: Path, missing: str) -> None:
    given = {"name": "people", "unit": "id", "columns": _COLUMNS}
    del given[missing]
    with il.open(tmp_path) as centre, pytest.raises(il.ParameterError, match=missing):
        centre.register(people(), **given)  # type: ignore[arg-type]  # one is left out on purpose


def test_a_declaration_of_many_tables_takes_files_and_frames(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    declaration = tmp_path / "clinic.toml"
    declaration.write_text(
        """
        name = "clinic"
        unit = "id"
        [tables.people]
        rows_per_unit = 1
        source = "people.csv"
        [tables.people.columns]
        age = { type = "integer", lower = 0, upper = 120 }
        [tables.visits]
        rows_per_unit = 3
        [tables.visits.columns]
        fee = { type = "decimal", lower = 0, upper = 10, digits = 2 }
        """
    )
    with il.open(tmp_path / "centre") as centre:
        centre.register(declaration, tables={"visits": people()})
        session = centre.account("ada", quota=il.PureDP(2**31)).open(
            il.mechanisms.Laplace(scale=2**-20, answers=2, sensitivity=1), "clinic"
        )
        assert session.ask(ALL_SQL).value == PEOPLE
        assert session.ask("SELECT COUNT(*) FROM visits").value == PEOPLE
        with pytest.raises(il.NotFound, match="clinic"):
            centre.account("ada").open(il.mechanisms.Laplace(epsilon=1), "people")


def test_a_declaration_that_fits_no_row_is_refused(tmp_path: Path) -> None:
    with il.open(tmp_path) as centre:
        columns = {"sex": il.Integer(0, 1)}  # it holds text
        with pytest.raises(il.DataError, match="no row of the source fits"):
            centre.register(people(), name="people", unit="id", columns=columns)
        assert centre.datasets() == []
        assert list((tmp_path / "snapshots").iterdir()) == []


def test_an_interrupted_registration_ends_as_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise RuntimeError("Query interrupted")  # what DuckDB makes of Ctrl-C

    monkeypatch.setattr("interlace.engines.duckdb.register._fill", interrupted)
    with il.open(tmp_path) as centre, pytest.raises(KeyboardInterrupt):
        centre.register(people(), name="people", unit="id", columns={})
    assert list((tmp_path / "snapshots").iterdir()) == []


def test_the_report_that_the_page_shows_is_the_one_that_is_made(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "docs" / "declaring.md"
    declared, shown = (
        page.read_text(encoding="utf-8").split("```python\n")[1].split("```text\n")[:2]
    )
    names: dict[str, Any] = {}
    with contextlib.chdir(tmp_path):
        exec(declared.split("```")[0], names)  # noqa: S102  the page's own example
    names["centre"].close()
    assert str(names["made"]) == shown.split("\n```")[0]
    assert "kept" not in repr(names["made"])  # what is exact is not shown by accident


def test_progress_is_told_by_public_names(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    with il.open(tmp_path) as centre:
        centre.register(
            people(),
            name="people",
            unit="id",
            columns=_COLUMNS,
            progress=lambda *step: told.append(step),
        )
    assert [done for _, done, _ in told] == list(range(len(told)))
    assert {of for _, _, of in told} == {len(told) - 1}
    assert any("people" in what for what, _, _ in told)
    assert not any(str(PEOPLE) in what for what, _, _ in told)


def test_the_report_is_kept_nowhere(tmp_path: Path) -> None:
    odd = people().assign(age=[999] * 137 + [30] * (PEOPLE - 137))  # 137 is planted
    with il.open(tmp_path / "centre") as centre:
        made = centre.register(odd, name="people", unit="id", columns=_COLUMNS)
        assert "137" in str(made)
        centre.account("ada", quota=il.PureDP(1))
        bodies = [event.body for event in centre.ledger.events("dataset")]
        kept = [{**body, "file": "", "digest": ""} for body in bodies]  # hexadecimal digits
        stated = {**centre.statement().json(), "ledger": ""}
        assert not any("137" in str(part) for part in (made.dataset, kept, stated))
        assert "137" not in repr(made)
