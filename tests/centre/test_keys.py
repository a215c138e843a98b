"""A centre whose secrets are sealed, and the directory outside its folder that keeps the keys."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import interlace as il
from interlace.cli import main
from interlace.engines.duckdb.register import register
from interlace.ledger import SESSION
from tests.centre.support import ALL_SQL, clinic

m = il.mechanisms
#: Planted as the only secret; as text and as bytes it would be found in the folder.
PLANTED = 271828182845


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "interlace"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A centre with two accounts and a sparse vector that was asked once."""
    with clinic(tmp_path / "centre") as centre:
        ada = centre.account("ada", quota=il.PureDP(2))
        centre.account("ben", quota=il.ZCDP(1))
        ada.open(m.SparseVector(epsilon=0.5, cutoff=9), "people").ask(ALL_SQL, at_least=5)
    return tmp_path / "centre"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)


def changed(folder: Path, *statements: str) -> None:
    """Change the database by hand, past its triggers."""
    with closing(sqlite3.connect(folder / "ledger.sqlite3")) as connection, connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        saved = triggers.fetchall()
        for name, _ in saved:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in (*statements, *(sql for _, sql in saved)):
            connection.execute(statement)


def test_nothing_in_the_folder_shows_an_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlace.centre.account.POOL.draw", lambda _: (PLANTED,))
    unit_keys: list[bytes] = []

    def noting(*arguments: Any, **named: Any) -> Any:
        unit_keys.append(arguments[-1])
        return register(*arguments, **named)

    monkeypatch.setattr("interlace.centre.datasets.register", noting)
    with clinic(tmp_path / "centre") as centre:
        account = centre.account("ada", quota=il.PureDP(1))
        session = account.open(m.SparseVector(epsilon=0.5), "people")
        # They are there, behind the seal: the search below looks for the right things.
        assert str(PLANTED) in str(session._secrets)
        [dataset] = centre.ledger.events("dataset")
        assert centre._outside.sealer.unseal(dataset) == unit_keys[0]
        session.ask(ALL_SQL, at_most=5)
        found = {path: path.read_bytes() for path in (tmp_path / "centre").rglob("*.*")}
    found |= {path: path.read_bytes() for path in (tmp_path / "centre").rglob("*.*")}
    assert any(path.name == "ledger.sqlite3" for path in found)
    needles = [str(PLANTED).encode(), unit_keys[0], unit_keys[0].hex().encode()]
    needles += [PLANTED.to_bytes(8, order) for order in ("big", "little")]
    assert [(p.name, n) for p, data in found.items() for n in needles if n in data] == []


def test_an_opening_moved_to_another_session_is_named(folder: Path) -> None:
    with il.open(folder) as centre:
        ada = centre.account("ada")
        [first] = ada.sessions()
        second = ada.open(m.SparseVector(epsilon=0.5, cutoff=9), "people")
        number = next(e.seq for e in centre.ledger.events(SESSION, session=second.id))
    moved = "UPDATE events SET secret = (SELECT secret FROM events WHERE session = '{}' AND kind "
    moved += "= 'session') WHERE session = '{}' AND kind = 'session'"
    changed(folder, moved.format(first.id, second.id))
    with il.open(folder) as centre:
        centre.session(first.id).ask(ALL_SQL, at_least=5)
        with pytest.raises(il.LedgerCorrupt, match="does not open") as refused:
            centre.session(second.id)
        assert refused.value.event == number


def test_the_key_is_made_once_and_a_missing_one_is_refused(folder: Path, state: Path) -> None:
    [key] = state.glob("*.key")
    assert key.stat().st_mode & 0o077 == 0
    kept = key.rename(state / "elsewhere")
    with pytest.raises(il.LedgerError, match=f"INTERLACE_KEY and then in {key}"):
        il.open(folder)
    assert not key.exists()
    kept.rename(key)
    il.open(folder).close()


def test_a_key_of_another_centre_is_refused_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLACE_KEY", "ab" * 32)
    with pytest.raises(il.LedgerError, match="INTERLACE_KEY"):
        il.open(folder)


def test_a_key_in_the_environment_leaves_no_file(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLACE_KEY", "ab" * 32)
    with clinic(tmp_path / "centre") as centre:
        session = centre.account("ada", quota=il.PureDP(1)).open(
            m.SparseVector(epsilon=1), "people"
        )
    assert list(state.glob("*.key")) == []
    monkeypatch.setenv("INTERLACE_KEY", "cd" * 32 + "," + "ab" * 32)
    with il.open(tmp_path / "centre") as centre:
        again = centre.session(session.id)
        assert again._secrets == session._secrets


def test_two_processes_that_open_a_new_centre_at_once_use_one_key(
    tmp_path: Path, state: Path
) -> None:
    opener = "import sys, interlace as il\nsys.stdin.read(1)\nil.open(sys.argv[1]).close()"
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", opener, str(tmp_path / "centre")]
    processes = [subprocess.Popen(command, stdin=pipe, text=True) for _ in range(4)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("x")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=120)
        assert process.returncode == 0
    assert len(list(state.glob("*.key"))) == 1
    assert len(list(state.glob("*.key.*"))) == 0
    clinic(tmp_path / "centre").close()


def test_rotating_from_the_shell_keeps_sessions_alive(folder: Path, state: Path) -> None:
    [file] = state.glob("*.key")
    [old] = file.read_text().split()
    shown = run("ledger", "rotate", folder)
    assert shown.exit_code == 0
    assert "append-only" in shown.output
    new, kept = file.read_text().split()
    assert kept == old != new
    assert new not in shown.output
    with il.open(folder) as centre:
        [session] = centre.account("ada").sessions()
        session.ask(ALL_SQL, at_least=5)
        later = centre.account("ada").open(m.SparseVector(epsilon=0.1), "people")
    file.write_text(f"{new}\n")  # whoever throws the old key away loses what it sealed
    with pytest.raises(il.LedgerError, match="does not open"):
        il.open(folder)
    file.write_text(f"{new}\n{old}\n")
    with il.open(folder) as centre:
        later = centre.session(later.id)
        later.ask(ALL_SQL, at_least=5)
        centre.audit()


def test_a_state_directory_inside_the_folder_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "centre"))
    with pytest.raises(il.LedgerError, match="inside"):
        il.open(tmp_path / "centre")


def test_a_state_directory_that_cannot_be_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(il.LedgerError, match="XDG_STATE_HOME"):
        il.open(tmp_path / "centre")


def test_without_the_variable_it_lies_in_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for value in (None, "", "relative"):
        if value is None:
            monkeypatch.delenv("XDG_STATE_HOME")
        else:
            monkeypatch.setenv("XDG_STATE_HOME", value)
        with il.open(tmp_path / "centre") as centre:
            expected = tmp_path / "home" / ".local" / "state" / "interlace"
            names = {path.name for path in expected.iterdir()}
            assert {f"{centre.ledger.id}.{end}" for end in ("key", "head")} <= names
            assert expected.stat().st_mode & 0o077 == 0
