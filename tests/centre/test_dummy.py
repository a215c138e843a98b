"""Dummy data of a registered dataset: public, and fit to rehearse on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

import interlace as il
from interlace.centre.dummy import Dummy
from tests.centre.support import ALL_SQL, clinic, people
from tests.effort import examples
from tests.query.declarations import datasets

m = il.mechanisms
EXACT = m.Laplace(scale=2**-20, answers=3, sensitivity=9)
RICH = il.PureDP(2**60)


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def _parquet(folder: Path) -> list[list[dict[str, object]]]:
    """The rows of the files, as another reader finds them."""
    return [pq.read_table(path).to_pylist() for path in sorted(folder.glob("*.parquet"))]


def test_no_data_is_in_it(tmp_path: Path) -> None:
    columns: dict[str, Any] = {"age": il.Integer(0, 120), "sex": il.Category(["f", "m"])}
    one, other = people(), people().sample(50, random_state=1).assign(age=7, sex="m")
    for i, frame in enumerate((one, other)):
        with il.open(tmp_path / f"centre{i}") as centre:
            centre.register(frame, name="people", unit="id", columns=columns)
            for snapshot in (tmp_path / f"centre{i}" / "snapshots").iterdir():
                snapshot.unlink()  # nothing is read there
            centre.dummy("people", units=80, seed=5).write(tmp_path / f"dummy{i}")
    first, second = (tmp_path / f"dummy{i}" for i in range(2))
    assert _files(first)["dummy.toml"] == _files(second)["dummy.toml"]
    assert _parquet(first) == _parquet(second)
    [rows] = _parquet(first)
    assert [row["id"] for row in rows] == list(range(1, 81))


def test_a_seed_is_drawn_and_told(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        dummy = centre.dummy("people")
        assert (dummy.units, len(dummy.tables["people"]["age"])) == (1000, 1000)
        again = centre.dummy("people", seed=dummy.seed)
        assert again.tables == dummy.tables
        assert centre.dummy("people").seed != dummy.seed  # one chance in 2^32
        assert pd.DataFrame(dummy.tables["people"]).shape == (1000, 4)


def test_queries_are_rehearsed_in_a_centre_that_vanishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with clinic(tmp_path / "centre") as centre:
        before, state = centre.ledger.head(), _files(tmp_path / "state" / "interlace")
        with centre.dummy("people", units=300, seed=1).rehearsal() as practice:
            session = practice.account("ada", quota=RICH).open(EXACT, "people")
            assert session.ask(ALL_SQL).value == 300
            with pytest.raises(il.QueryRefused):
                session.ask("SELECT COUNT(*) FROM salaries")
            practice.audit()
            place = Path(str(practice).split()[-1].strip(">"))
            assert place.is_dir()
        assert not place.parent.exists()
        assert (centre.ledger.head(), centre.accounts()) == (before, [])
        assert _files(tmp_path / "state" / "interlace") == state


@settings(max_examples=examples(12), report_multiple_bugs=False)
@given(datasets())
def test_whatever_was_declared_registers_as_it_is(dataset: il.Dataset) -> None:
    dummy = Dummy.of(dataset, "units", units=6, seed=2)
    with dummy.rehearsal() as practice:
        assert practice.datasets() == [dataset]
        account = practice.account("ada", quota=RICH)
        session = account.open(m.Laplace(scale=2**-20, answers=9, sensitivity=10**6), dataset.name)
        for table in dataset.tables:
            rows = len(dummy.tables[table.name][dataset.unit])
            assert session.ask(f'SELECT COUNT(*) FROM "{table.name}"').value == rows


def test_all_tables_and_public_ones_are_written(tmp_path: Path) -> None:
    labs = il.Table("labs", {"ward": il.Integer(1, 9)}, 5, [il.KeySet(("ward",), 2)])
    wards = il.PublicTable("wards", "ward", {"ward": il.Integer(1, 9), "beds": il.Integer(0, 99)})
    declared = il.Dataset("clinic", "id", (labs,), (wards,))
    file = Dummy.of(declared, "patients", units=20, seed=1).write(tmp_path / "new" / "dummy")
    _, public = _parquet(file.parent)
    assert [row["ward"] for row in public] == list(range(1, 10))
    with il.open(tmp_path / "centre") as centre:
        made = centre.register(file)
        assert (made.dataset, made.domain) == (declared, "patients")
        [kept] = [part for part in made.report.tables if part.table == "labs"]
        assert kept.read == kept.kept
        assert [part.rows for part in kept.touched] == [0] * len(kept.touched)
        assert [part.rows for part in kept.beyond] == [0] * len(kept.beyond)


def test_what_is_there_is_not_written_over(tmp_path: Path) -> None:
    with clinic(tmp_path / "centre") as centre:
        dummy = centre.dummy("people", units=2, seed=0)
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "mine").write_text("")
        for folder in (tmp_path / "full", tmp_path / "full" / "mine", tmp_path / "centre"):
            with pytest.raises(il.ParameterError, match="folder"):
                dummy.write(folder)
        assert list(_files(tmp_path / "full")) == ["mine"]
        with pytest.raises(il.NotFound, match="people"):
            centre.dummy("labs")
        for wrong in (0, 10**6 + 1, 2.5, True):
            with pytest.raises(il.ParameterError, match="units"):
                centre.dummy("people", units=wrong)  # type: ignore[arg-type]  # what is refused
        for seed in (-1, "x", 0.5):
            with pytest.raises(il.ParameterError, match="seed"):
                centre.dummy("people", seed=seed)  # type: ignore[arg-type]  # what is refused


def test_the_latest_version_is_rehearsed(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        columns = {"height": il.Integer(0, 220)}
        frame = people().assign(height=170)
        centre.register(frame, name="people", unit="id", columns=columns, version=2)
        assert list(centre.dummy("people", units=3).tables["people"]) == ["id", "height"]
