"""The commands about datasets, run as a custodian runs them: from a schema to a rehearsal."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import interlace as il
from interlace.cli import main
from tests.centre.support import clinic

COMPLETE = """\
name = "clinic"
unit = "id"
[tables.people]
source = "people.csv"
rows_per_unit = 1
[tables.people.columns]
age = { type = "integer", lower = 0, upper = 120, missing = 0 }
sex = { type = "category", values = ["f", "m"] }
[tables.labs]
source = "labs.csv"
rows_per_unit = 60
key_sets = [{ columns = ["test"], keys_per_unit = 2 }]
[tables.labs.columns]
test = { type = "category", values = ["a", "b", "other"], unknown = "other" }
value = { type = "decimal", lower = 0, upper = 500, digits = 1 }
"""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clinic.toml").write_text(COMPLETE, encoding="utf-8")
    people = pd.DataFrame({"id": [1, 2, 3, 4], "age": [30, None, 999, 50], "sex": list("fmxf")})
    people.to_csv(tmp_path / "people.csv", index=False)
    labs = pd.DataFrame({"id": [1, 1, 2, None], "test": list("abzz"), "value": [1, 2, 600, 3]})
    labs.to_csv(tmp_path / "labs.csv", index=False)
    return tmp_path


def _parquet(path: Path, values: list[int], texts: list[str]) -> None:
    """A file with statistics, a dictionary and its writer's own notes on the values."""
    table = pa.table({"id": values, "age": values, "sex": pa.array(texts).dictionary_encode()})
    noted = table.replace_schema_metadata({"most": str(max(values)), "texts": " ".join(texts)})
    pq.write_table(noted, path, write_statistics=True)


def test_a_draft_is_the_same_whatever_the_values_are(here: Path) -> None:
    drafts = []
    for values, texts in (([1, 2, 3], ["f", "m", "f"]), ([-(10**15), 0, 31337], ["!!", "", "x"])):
        _parquet(here / "people.parquet", values, texts)
        rows = "\n".join(f"{v},{v},{t}" for v, t in zip(values, texts, strict=True))
        (here / "visits.csv").write_text(f"id,age,sex\n{rows}\n", encoding="utf-8")
        shown = run("init", "people.parquet", "visits.csv", "--unit", "id", "--name", "c")
        assert shown.exit_code == 0
        drafts.append(shown.output)
    assert drafts[0] == drafts[1]
    assert '[tables."people".columns."age"]   # BIGINT in the source' in drafts[0]
    # Nothing behind the first line is even text.
    with (here / "visits.csv").open("wb") as file:
        file.write(b'id,age,sex\n\xff\xfe\x00"' + b"\n" * 9)
    assert (
        run("init", "people.parquet", "visits.csv", "--unit", "id", "--name", "c").output
        == drafts[0]
    )


def test_a_draft_is_filled_in_checked_and_registered(here: Path) -> None:
    _parquet(here / "people.parquet", [1, 2, 3], ["f", "m", "f"])
    (here / "made").mkdir()
    (here / "codes.csv").write_text("code,beds\na,1\n", encoding="utf-8")
    looked_up = run("init", "labs.csv", "--public", "codes.csv", "--unit", "id")
    assert '[public."codes"]' in looked_up.output
    assert 'source = "codes.csv"' in looked_up.output
    shown = run("init", "people.parquet", "-o", "made/clinic.toml", "--unit", "id")
    assert (shown.exit_code, "check-config" in shown.output) == (0, True)
    shown = run("check-config", "made/clinic.toml")
    assert shown.exit_code == 2
    assert "tables.people.columns.age.lower is missing" in shown.output
    assert "never from the data" in " ".join(shown.output.split())
    text = (here / "made" / "clinic.toml").read_text(encoding="utf-8")
    for key, value in (("rows_per_unit", 1), ("lower", 0), ("upper", 9), ("values", '["f", "m"]')):
        text = text.replace(f"# {key} = ", f"{key} = {value}")
    (here / "made" / "clinic.toml").write_text(text, encoding="utf-8")
    assert run("check-config", "made/clinic.toml").exit_code == 0
    shown = run("register", "centre", "made/clinic.toml")
    assert (shown.exit_code, "3 rows read, 3 kept" in shown.output) == (0, True)


def test_a_draft_writes_over_nothing(here: Path) -> None:
    for out in ("clinic.toml", "no/where.toml"):
        shown = run("init", "people.csv", "-o", out)
        assert (shown.exit_code, "-o" in shown.output) == (2, True)
    assert (here / "clinic.toml").read_text(encoding="utf-8") == COMPLETE


def test_a_schema_in_sql_and_schemas_that_are_none(here: Path) -> None:
    (here / "s.sql").write_text(
        "CREATE TABLE t (id INT); CREATE TABLE u (id INT, x DATE);", "utf-8"
    )
    shown = run("init", "s.sql")
    assert shown.exit_code == 0
    assert '[tables."u".columns."x"]   # DATE in the source' in shown.output
    assert 'in all tables there is "id"' in shown.output
    bad = {
        "bad.sql": b"SELECT 1",
        "x.sql": b"\xff",
        "bad.parquet": b"secret17",
        "bad.csv": b"1,2\n",
    }
    for name, content in bad.items():
        (here / name).write_bytes(content)
        shown = run("init", name)
        assert (shown.exit_code, "secret17" in shown.output) == (2, False)
    assert run("init", "clinic.toml").exit_code == 2
    assert run("init", "s.sql", "s.sql").exit_code == 2


def test_a_complete_declaration_tells_what_one_unit_can_do(here: Path) -> None:
    (here / "labs.csv").rename(here / "elsewhere.csv")
    shown = run("check-config", "clinic.toml")
    assert "tables.labs.source: there is no file labs.csv yet" in shown.output
    assert "people.csv" not in shown.output
    assert "without a source" not in shown.output
    assert shown.exit_code == 0
    text = " ".join(shown.output.split())
    assert "table labs: of one unit 60 rows at most; COUNT(*) moves by 60" in text
    assert "30,000.0" in text
    assert "key set (test): 2 keys of a unit" in text
    assert "consider tables.people.columns.sex: rows with a text that is not listed" in text
    told = json.loads(run("check-config", "clinic.toml", "--json").output)
    assert (told["complete"], told["problems"]) == (True, [])
    assert il.Dataset.from_json(json.dumps(told["dataset"])).unit == "id"
    [people, labs] = told["one_unit"]
    assert [c["keys_of_unit"] for c in labs["columns"]] == [2, None]
    assert (people["columns"][0]["sum_moves"], labs["columns"][1]["sum_moves"]) == ("120", "30000")
    assert [advice["where"] for advice in told["advice"]] == ["tables.people.columns.sex"]


def test_an_incomplete_declaration_is_told_to_programs(here: Path) -> None:
    (here / "clinic.toml").write_text(COMPLETE.replace("lower = 0, ", ""), encoding="utf-8")
    shown = run("check-config", "clinic.toml", "--json")
    told = json.loads(shown.output)
    assert (shown.exit_code, told["complete"]) == (2, False)
    assert [(p["where"], p["line"]) for p in told["problems"]] == [
        ("tables.people.columns.age.lower", 7),
        ("tables.labs.columns.value.lower", 15),
    ]
    (here / "bytes.toml").write_bytes(b"\xff")
    assert run("check-config", "bytes.toml").exit_code == 2


@pytest.mark.usefixtures("here")
def test_registering_reports_and_makes_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    shown = run("register", "centre", "clinic.toml")
    assert shown.exit_code == 0
    assert "dataset clinic, version 1, units of domain units" in shown.output
    assert "table people: 4 rows read, 3 kept" in shown.output  # sex x
    assert "column age: 1 rows out of range, clamped" in shown.output
    assert "1 rows without a unit, dropped" in shown.output
    assert "rows read" not in shown.stderr
    again = run("register", "centre", "clinic.toml")
    assert (again.exit_code, "version=2" in again.output) == (2, True)
    made = run("register", "centre", "clinic.toml", "--version", 2)
    assert (made.exit_code, "clinic, version 2" in made.output) == (0, True)
    assert run("register", "centre", "people.csv").exit_code == 2
    listed = run("ledger", "show", "centre").output
    assert "dataset clinic, version 2: unit id of domain units" in listed
    with il.open("centre") as centre:
        centre.account("ada", quota=il.PureDP(1)).open(il.mechanisms.Laplace(epsilon=1), "clinic")
    assert "Laplace on clinic, version 2" in run("ledger", "show", "centre").output


def test_dummy_data_is_written_and_registers(tmp_path: Path) -> None:
    with clinic(tmp_path / "centre"):
        pass
    out = tmp_path / "dummy"
    shown = run("dummy", tmp_path / "centre", "people", "-o", out, "--units", 50, "--seed", 3)
    assert (shown.exit_code, "50 units of dataset people, seed 3" in shown.output) == (0, True)
    registered = run("register", tmp_path / "rehearsal", out / "dummy.toml")
    assert "table people: 50 rows read, 50 kept" in registered.output
    for wrong in (("people", "-o", out), ("labs", "-o", tmp_path / "x")):
        refused = run("dummy", tmp_path / "centre", *wrong)
        assert (refused.exit_code, "Traceback" in refused.output) == (2, False)
    assert run("dummy", tmp_path, "people", "-o", tmp_path / "x").exit_code == 2
