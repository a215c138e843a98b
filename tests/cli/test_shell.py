"""The shell, run as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import interlace as il
from interlace.cli import main
from tests.centre.support import ALL_SQL, clinic, people

_PLANTED = "271828182845"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, catch_exceptions=False)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("interlace.centre.account.POOL.draw", lambda _: (int(_PLANTED),))
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(1))
        account.open(il.mechanisms.SparseVector(epsilon=0.25), "people").ask(ALL_SQL, at_most=5)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("compose", "100y0.1", "--delta", "1e-5"), "expression"),
        (("compose", "0.1", "--delta", "2"), "delta"),
        (("compose", "0.1", "--delta", "nan"), "delta"),
        (("compose", "0.1", "--epsilon", "-1"), "epsilon"),
        (("compose", "(0.1,2)", "--delta", "1e-5"), "delta"),
        (("compose", "", "--delta", "1e-5"), "expression"),
        (("compose", "[/bold]", "--delta", "1e-5"), "[/bold]"),
        (("compose", "zcdp(0.1,1)", "--delta", "1e-5"), "expression"),
        (("compose", "(0.1", "--delta", "1e-5"), "expression"),
        (("compose", "1/0", "--delta", "1e-5"), "epsilon"),
        (("compose", "1e999999999", "--delta", "1e-5"), "epsilon"),
    ],
)
def test_bad_input_ends_in_one_line(arguments: tuple[str, ...], named: str) -> None:
    shown = run(*arguments)
    assert shown.exit_code == 2
    assert named in shown.output
    assert "Traceback" not in shown.output


def test_ledger_show_prints_budgets_and_no_secret(folder: Path) -> None:
    with il.open(folder) as centre:
        [session] = centre.account("ada").sessions()
        session_id = session.id
    shown = run("ledger", "show", str(folder))
    assert shown.exit_code == 0
    assert "0.25" in shown.output
    assert session_id in shown.output
    # The threshold's noise: planted where a reader of the ledger would find it.
    assert _PLANTED not in shown.output.replace(",", "")


def test_ledger_show_prints_the_domain_of_each_dataset(folder: Path) -> None:
    with il.open(folder) as centre:
        columns = {"age": il.Integer(0, 120)}
        centre.register(people(), name="flats", unit="id", columns=columns, domain="households")
    shown = run("ledger", "show", str(folder)).output
    assert "dataset people: unit id of domain units; people\n" in shown
    assert "dataset flats: unit id of domain households; flats\n" in shown


def test_ledger_verify_prints_a_head_that_it_takes_back(folder: Path) -> None:
    shown = run("ledger", "verify", str(folder))
    assert shown.exit_code == 0
    head = shown.output.split("head ")[1].split()[0]
    assert run("ledger", "verify", str(folder), "--head", head).exit_code == 0
    beyond = f"{int(head.split(':')[0]) + 1}:{'0' * 64}"
    refused = run("ledger", "verify", str(folder), "--head", beyond)
    assert refused.exit_code == 2
    assert "missing" in refused.output
    assert run("ledger", "verify", str(folder), "--head", "x").exit_code == 2


def test_a_folder_without_a_ledger_is_refused_and_left_alone(tmp_path: Path) -> None:
    for command in ("show", "verify"):
        shown = run("ledger", command, str(tmp_path))
        assert shown.exit_code == 2
        assert "ledger" in shown.output
    assert list(tmp_path.iterdir()) == []


def test_names_that_look_like_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        centre.account("[/bold][red]x", quota=il.PureDP(1))
    shown = run("ledger", "show", str(tmp_path))
    assert shown.exit_code == 0
    assert "[/bold][red]x" in shown.output


def test_what_a_guarantee_prints_can_be_typed() -> None:
    for guarantee in (il.PureDP(0.1), il.ApproxDP(0.1, 1e-9), il.ZCDP(0.05)):
        shown = run("compose", f"10 x {guarantee!r}", "--delta", "1e-6", "--json")
        [answer] = json.loads(shown.output)["answers"]
        assert answer["epsilon"] == il.compose([(guarantee, 10)]).epsilon(1e-6)


def test_ledger_statement_prints_or_writes_what_the_centre_states(folder: Path) -> None:
    with il.open(folder) as centre:
        stated = centre.statement()
    shown = run("ledger", "statement", str(folder))
    assert (shown.exit_code, shown.output) == (0, stated.markdown())
    file = folder.parent / f"{folder.name}.json"
    written = run("ledger", "statement", str(folder), "--json", "-o", str(file))
    assert (written.exit_code, written.output) == (0, "")
    assert json.loads(file.read_text(encoding="utf-8")) == stated.json()
    assert _PLANTED not in file.read_text(encoding="utf-8").replace(str(stated.head), "")
    chosen = run("ledger", "statement", str(folder), "--delta", "1e-5", "--delta", "1/3", "--json")
    rows = json.loads(chosen.output)["collusion"]["guarantee"]
    assert [row["delta"] for row in rows] == ["1/100000", "1/3"]
    refused = run("ledger", "statement", str(folder), "--delta", "x")
    assert (refused.exit_code, "--delta: must be a number" in refused.output) == (2, True)
    nowhere = run("ledger", "statement", str(folder), "-o", str(folder / "no" / "where"))
    assert nowhere.exit_code == 1
    assert "Traceback" not in nowhere.output
