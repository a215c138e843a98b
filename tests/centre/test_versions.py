"""Versions of a dataset: new snapshots of the same units. Sessions stay with theirs for ever,
the budget belongs to the units, and the audit and an independent judge know which is which."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import interlace as il
from interlace.centre import Centre
from interlace.centre.records import SessionRecord
from interlace.ledger import DATASET, SESSION
from tests.centre.support import ALL_SQL, PEOPLE, WOMEN_SQL, clinic, people
from tests.checker import check

m = il.mechanisms
#: Noise of so small a scale that answers are exact, but for one in e^(2^20).
EXACT = m.Laplace(scale=2**-20, answers=9, sensitivity=1)
RICH = il.PureDP(2**60)
#: A year later: 100 people fewer, all a year older, without their fee and with a ward.
LATER = people()[100:].drop(columns="fee").assign(ward=["n", "s"] * 150)
COLUMNS = {
    "age": il.Integer(0, 130),
    "sex": il.Category(["f", "m"]),
    "ward": il.Category(["n", "s"]),
}


def again(centre: Centre, version: int | None = 2, **changes: Any) -> il.Registration:
    given: dict[str, Any] = {"name": "people", "unit": "id", "columns": COLUMNS, "version": version}
    return centre.register(LATER, **(given | changes))


def units(folder: Path) -> list[set[int]]:
    """The stored ids of the units of each version, read past the centre."""
    with il.open(folder) as centre:
        files = [event.body["file"] for event in centre.ledger.events(DATASET)]
    found = []
    for file in files:
        with duckdb.connect(str(folder / "snapshots" / file), read_only=True) as connection:
            rows = connection.execute("SELECT DISTINCT unit FROM t0").fetchall()
        found.append({int(unit) for (unit,) in rows})
    return found


def test_sessions_stay_with_their_version_and_later_ones_open_on_the_latest(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        ada = centre.account("ada", quota=RICH)
        old = ada.open(EXACT, "people")
        assert old.ask(ALL_SQL).value == PEOPLE
        made = again(centre)
        assert (made.version, made.dataset.name, made.domain) == (2, "people", "units")
        new = ada.open(EXACT, "people")
        plan = ada.plan([EXACT, EXACT], "people")
        assert [s.version for s in (old, new, *plan)] == [1, 2, 2, 2]
        assert (old.ask(ALL_SQL).value, new.ask(ALL_SQL).value) == (PEOPLE, PEOPLE - 100)
        assert new.ask("SELECT COUNT(*) FROM people WHERE ward = 'n'").value == 150
        with pytest.raises(il.QueryRefused):
            old.ask("SELECT COUNT(*) FROM people WHERE ward = 'n'")
        with pytest.raises(il.QueryRefused):
            new.ask("SELECT SUM(fee) FROM people")
        assert [dataset.table("people") for dataset in centre.datasets()] == [
            made.dataset.table("people")
        ]
        ids = old.id, new.id
    with il.open(tmp_path) as centre:
        found = [centre.session(id) for id in ids]
        assert [session.version for session in found] == [1, 2]
        assert [s.ask(WOMEN_SQL).value for s in found] == [250, 150]
        assert "one unit" in found[0].accuracy("SELECT SUM(fee) FROM people").bounding
        centre.audit()
    assert check(tmp_path) == []


def test_units_keep_their_ids_and_nothing_else_of_the_first_version(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        again(centre)
        centre.register(people(), name="others", unit="id", columns={})
    first, second, others = units(tmp_path)
    assert second < first
    assert (len(first), len(second)) == (PEOPLE, PEOPLE - 100)
    assert first.isdisjoint(others)  # another dataset has another key


def test_the_budget_belongs_to_the_units(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        ada = centre.account("ada", quota=il.PureDP(1))
        ada.open(m.Laplace(epsilon=0.5), "people").ask(ALL_SQL)
        again(centre)
        assert ada.remaining == il.PureDP(0.5)
        with pytest.raises(il.BudgetExceeded):
            ada.open(m.Laplace(epsilon=0.75), "people")
        ada.open(m.Laplace(epsilon=0.5), "people")
        assert centre.guarantee().epsilon(0) == 1


def test_a_registered_name_is_not_registered_again_by_accident(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        head = centre.ledger.head()
        with pytest.raises(il.NameTaken, match="version=2"):
            again(centre, version=None)
        with pytest.raises(il.NameTaken):
            again(centre, version=1)
        for wrong in (0, -1, 3, True, 2.0, "2"):
            with pytest.raises(il.ParameterError, match="version"):
                again(centre, version=wrong)  # type: ignore[arg-type]  # what is refused
        with pytest.raises(il.ParameterError, match="version: the next one of 'new' is 1"):
            again(centre, name="new")
        assert centre.ledger.head() == head
        again(centre)
        with pytest.raises(il.NameTaken, match="version=3"):
            again(centre)
        assert again(centre, version=3).version == 3
        assert again(centre, version=1, name="new").version == 1


@pytest.mark.parametrize(
    ("argument", "change"), [("unit", {"unit": "age"}), ("domain", {"domain": "homes"})]
)
def test_a_version_is_of_the_same_units(
    tmp_path: Path, argument: str, change: dict[str, Any]
) -> None:
    columns = {"sex": il.Category(["f", "m"])}
    with clinic(tmp_path) as centre:
        with pytest.raises(il.ParameterError, match=f"^{argument}: must stay"):
            again(centre, columns=columns, **change)
        assert len(list((tmp_path / "snapshots").iterdir())) == 1
        again(centre, columns=columns, domain="units")


def test_a_domain_that_was_named_once_stays(tmp_path: Path) -> None:
    with il.open(tmp_path) as centre:
        again(centre, version=None, domain="patients")
        assert again(centre).domain == "patients"
        assert centre.statement().domains == ("patients",)


def test_a_second_handle_opens_on_what_the_first_registered(tmp_path: Path) -> None:
    with clinic(tmp_path) as one, il.open(tmp_path) as other:
        other.account("ada", quota=RICH).open(EXACT, "people").ask(ALL_SQL)
        again(one)
        session = other.account("ada").open(EXACT, "people")
        assert (session.version, session.ask(ALL_SQL).value) == (2, PEOPLE - 100)


def test_one_of_many_registrations_of_a_version_wins(tmp_path: Path) -> None:
    def attempt(_: int) -> int | None:
        try:
            return again(centre).version
        except il.NameTaken:
            return None

    with clinic(tmp_path) as centre, ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(attempt, range(4)), key=str) == [2, None, None, None]
        assert len(list((tmp_path / "snapshots").iterdir())) == 2
        centre.audit()


def test_sessions_that_are_opened_meanwhile_are_on_one_of_the_two(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account, done = centre.account("ada", quota=RICH), threading.Event()
        opened: list[il.Session] = []

        def open_on() -> None:
            while not done.is_set():
                opened.append(account.open(EXACT, "people"))

        with ThreadPoolExecutor(1) as pool:
            opening = pool.submit(open_on)
            again(centre)
            opened.append(account.open(EXACT, "people"))
            done.set()
            opening.result()
        versions = [session.version for session in opened]
        assert set(versions) == {1, 2}
        expected = {1: PEOPLE, 2: PEOPLE - 100}
        assert all(s.ask(ALL_SQL).value == expected[s.version] for s in (opened[0], opened[-1]))
        centre.audit()
    assert check(tmp_path) == []


def test_sessions_of_older_ledgers_are_on_the_first_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = SessionRecord.new_body

    def older(*arguments: Any) -> dict[str, Any]:
        body = newer(*arguments)
        del body["version"]
        return body

    with clinic(tmp_path) as centre:
        monkeypatch.setattr(SessionRecord, "new_body", older)
        id = centre.account("ada", quota=RICH).open(EXACT, "people").id
        monkeypatch.undo()
        again(centre)
    with il.open(tmp_path) as centre:
        session = centre.session(id)
        assert (session.version, session.ask(ALL_SQL).value) == (1, PEOPLE)
        centre.audit()
        [charge] = [charge for charge, _ in centre.statement().charges]
        assert (charge.dataset, charge.version) == ("people", 1)
    assert check(tmp_path) == []


@pytest.mark.parametrize("harm", ["older", "later", "gap", "again", "unit", "domain", "name"])
def test_the_audit_names_what_is_on_a_wrong_version(tmp_path: Path, harm: str) -> None:
    with clinic(tmp_path) as centre:
        ada = centre.account("ada", quota=RICH)
        ada.open(EXACT, "people")
        again(centre)
        ada.open(EXACT, "people")
        centre.audit()
        *_, dataset = centre.ledger.events(DATASET)
        *_, session = centre.ledger.events(SESSION)
        body, place = dict(dataset.body), {"dataset": "people", "secret": dataset.secret}
        wrong: dict[str, Any] = {
            "gap": place | {"round": 4, "body": body},
            "again": place | {"round": 0, "body": body},
            "unit": place | {"round": 3, "body": body | _declared(body, '"unit":"id"')},
            "domain": place | {"round": 3, "body": body | {"domain": "homes"}},
            "name": place | {"round": 3, "body": body | _declared(body, '"name":"people","unit"')},
        }
        version = {"older": 1, "later": 3}.get(harm)
        with centre.ledger.transaction() as transaction:
            if version is None:
                transaction.append(DATASET, **wrong[harm])
            else:
                place = {"dataset": "people", "account": "ada", "session": "x"}
                body = {**session.body, "version": version}
                transaction.append(SESSION, **place, body=body, secret=session.secret)  # type: ignore[arg-type]  # names only
        with pytest.raises(il.LedgerCorrupt, match="version") as found:
            centre.audit()
        assert found.value.event == centre.ledger.head().seq
        if harm not in ("unit", "domain", "name"):
            assert any("version" in problem for problem in check(tmp_path))


def _declared(body: dict[str, Any], part: str) -> dict[str, str]:
    """The declaration with another name in this part of it."""
    other = part.replace("id", "key").replace("people", "other")
    assert part in body["declaration"]
    return {"declaration": body["declaration"].replace(part, other)}


def test_the_audit_names_a_version_whose_units_have_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clinic(tmp_path) as centre:
        monkeypatch.setattr(centre._datasets, "_key", lambda _: bytes(32))
        again(centre)
        with pytest.raises(il.LedgerCorrupt, match="another key"):
            centre.audit()


def test_a_snapshot_of_an_older_version_is_still_checked(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        [first] = (tmp_path / "snapshots").iterdir()
        again(centre)
        first.unlink()
        with pytest.raises(il.LedgerCorrupt, match="snapshot") as found:
            centre.audit()
        assert found.value.event == 1


def test_a_version_that_a_restored_copy_does_not_hold_is_made_again(tmp_path: Path) -> None:
    folder, copy = tmp_path / "centre", tmp_path / "copy"
    with clinic(folder) as centre:
        centre.account("ada", quota=RICH).open(EXACT, "people")
    shutil.copytree(folder, copy)
    with il.open(folder) as centre:
        again(centre)
    before = units(folder)
    shutil.rmtree(folder)
    shutil.copytree(copy, folder)
    with pytest.raises(il.LedgerCorrupt):
        il.open(folder)
    il.restore(folder)
    with il.open(folder) as centre:
        [session] = centre.account("ada").sessions()
        with pytest.raises(il.SessionVoid):
            session.ask(ALL_SQL)
        assert again(centre).version == 2
        centre.audit()
    assert units(folder) == before
    assert check(folder) == []


def test_the_statement_tells_versions_apart(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        ada = centre.account("ada", quota=il.PureDP(1))
        ada.open(m.Laplace(epsilon=0.25), "people")
        again(centre)
        ada.open(m.Laplace(epsilon=0.25), "people")
        statement = centre.statement()
    [domain] = statement.json()["domains"]
    assert [(d["name"], d["version"]) for d in domain["datasets"]] == [("people", 1), ("people", 2)]
    assert [(c["dataset"], c["version"], c["times"]) for c in domain["charges"]] == [
        ("people", 1, 1),
        ("people", 2, 1),
    ]
    text = statement.markdown()
    assert "### Dataset people, version 2, by unit column id" in text
    assert "| ada | people, version 2 | 1 × Laplace |" in text
    assert "needs the continual model" in text


def test_the_statement_tells_key_sets_and_what_is_public(tmp_path: Path) -> None:
    labs = il.Table("labs", {"ward": il.Integer(1, 9)}, 5, [il.KeySet(("ward",), 2)])
    wards = il.PublicTable("wards", "ward", {"ward": il.Integer(1, 9)})
    frame = pd.DataFrame({"id": [1, 1, 2], "ward": [1, 2, 3]})
    public = pd.DataFrame({"ward": [1, 2, 3]})
    with il.open(tmp_path) as centre:
        declared = il.Dataset("clinic", "id", (labs,), (wards,))
        centre.register(declared, tables={"labs": frame, "wards": public})
        text = centre.statement().markdown()
    assert "one unit counts for at most 2 keys of (ward)" in text
    assert "Table wards is public, about no unit" in text


def test_a_declaration_in_python_is_taken_whole(tmp_path: Path) -> None:
    tables = (il.Table("visits", {"age": il.Integer(0, 120)}, rows_per_unit=4),)
    declared = il.Dataset("clinic", "id", tables)
    with il.open(tmp_path) as centre:
        made = centre.register(declared, tables={"visits": people()}, domain="patients")
        assert (made.dataset, made.domain, made.version) == (declared, "patients", 1)
        with pytest.raises(il.ParameterError, match="unit: stands in the declaration"):
            centre.register(declared, unit="id", tables={"visits": people()})
        with pytest.raises(il.ParameterError, match="'labs' is not declared"):
            centre.register(declared, tables={"labs": pd.DataFrame()})
