"""Keys and heads outside the folder: older copies are refused, or restored at their price."""

from __future__ import annotations

import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import interlace as il
from interlace.centre import Centre
from interlace.cli import main
from interlace.ledger import ANSWER, CHARGE, RESTORED, Head
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


def head_of(folder: Path) -> str:
    with il.open(folder) as centre:
        return str(centre.ledger.head())


def kept(file: Path) -> Head:
    """The head in a file of the state directory."""
    seq, hash_ = file.read_text().strip().split(":")
    return Head(int(seq), hash_)


# Older copies


def ask(centre: Centre) -> None:
    centre.account("ada").sessions()[0].ask(ALL_SQL, at_least=5)


def open_another(centre: Centre) -> None:
    centre.account("ben").open(m.Gaussian(rho=0.1), "people")


@pytest.mark.parametrize("deed", [ask, open_another])
def test_an_older_copy_put_back_is_refused(
    folder: Path, tmp_path: Path, deed: Callable[[Centre], None]
) -> None:
    shutil.copytree(folder, tmp_path / "backup")
    before = int(head_of(folder).split(":")[0])
    with il.open(folder) as centre:
        deed(centre)
        reached = centre.ledger.head().seq
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "backup", folder)
    with pytest.raises(il.LedgerCorrupt, match="interlace ledger restore") as refused:
        il.open(folder)
    assert refused.value.event == before + 1
    assert f"up to event {reached}" in str(refused.value)
    for command in ("show", "verify"):
        assert run("ledger", command, folder).exit_code == 2


def test_two_copies_that_both_went_on_do_not_pass_for_each_other(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlace.centre.heads._PAUSE", 1e9)
    shutil.copytree(folder, tmp_path / "copy")
    with il.open(tmp_path / "copy") as copy, il.open(folder) as centre:  # closed first
        ask(centre)
        copy.account("ada").sessions()[0].ask(ALL_SQL, at_least=6)
        same = centre.ledger.head().seq
        assert copy.ledger.head().seq == same
    with pytest.raises(il.LedgerCorrupt, match="not the one") as refused:
        il.open(tmp_path / "copy")
    assert refused.value.event == same
    il.open(folder).close()


def open_and_die(folder: Path) -> None:
    """Open a session in a process that is killed before it can close anything."""
    victim = """
import os, signal, sys
import interlace as il
il.open(sys.argv[1]).account("ada").open(il.mechanisms.SparseVector(epsilon=1), "people")
os.kill(os.getpid(), signal.SIGKILL)
"""
    command = [sys.executable, "-c", victim, str(folder)]
    assert subprocess.run(command, check=False, timeout=120).returncode == -signal.SIGKILL


def test_a_last_event_cut_in_half_on_the_disk_is_missed(folder: Path) -> None:
    before = int(head_of(folder).split(":")[0])
    open_and_die(folder)
    log = folder / "ledger.sqlite3-wal"
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size - 100)
    with pytest.raises(il.LedgerCorrupt, match="is missing") as refused:
        il.open(folder)
    assert refused.value.event == before + 1


def test_a_session_opened_by_a_process_that_then_died_is_remembered(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "backup")
    open_and_die(folder)
    shutil.rmtree(folder)
    (tmp_path / "backup").rename(folder)
    with pytest.raises(il.LedgerCorrupt, match="is missing"):
        il.open(folder)


def test_answers_are_remembered_within_a_second_or_at_the_next(
    folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [file] = state.glob("*.head")
    monkeypatch.setattr("interlace.centre.heads._PAUSE", 1e9)
    with il.open(folder) as centre:
        [session] = centre.account("ada").sessions()
        start = file.read_text()
        session.ask(ALL_SQL, at_least=5)
        assert file.read_text() == start
        monkeypatch.setattr("interlace.centre.heads._PAUSE", 0.0)
        session.ask(ALL_SQL, at_least=5)
        assert kept(file) == centre.ledger.head()
    assert file.stat().st_mode & 0o077 == 0


def test_a_later_head_is_not_moved_back(folder: Path, state: Path) -> None:
    [file] = state.glob("*.head")
    with il.open(folder) as centre:
        later = file.read_text().replace("0", "9", 1)
        file.write_text(later)  # another process has gone further
        ask(centre)
        open_another(centre)
    assert file.read_text() == later


def test_a_head_that_cannot_be_kept_takes_nothing_back(
    folder: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [file] = state.glob("*.head")
    monkeypatch.setattr("interlace.centre.heads._PAUSE", 0.0)
    with il.open(folder) as centre:
        before = kept(file)
        shown = file.read_text()
        file.chmod(0o644)  # refused, as readable to others
        ask(centre)
        open_another(centre)
        assert (centre.audit().sessions, centre.audit().answers) == (2, 2)
        assert file.read_text() == shown
        file.chmod(0o600)
        ask(centre)
        assert kept(file) == centre.ledger.head() != before


def test_an_explicit_head_is_checked_too(folder: Path, state: Path) -> None:
    head = head_of(folder)
    for file in state.glob("*.head"):
        file.unlink()
    il.open(folder, head=head).close()
    seq, hash_ = head.split(":")
    with pytest.raises(il.LedgerCorrupt, match="is missing") as refused:
        il.open(folder, head=f"{int(seq) + 1}:{hash_}")
    assert refused.value.event == int(seq) + 1
    with pytest.raises(il.LedgerCorrupt, match="not the one"):
        il.open(folder, head=f"{seq}:{'0' * 64}")
    for text in ("", "x", f"{seq}", f"{seq}:{hash_} ", f"-1:{hash_}"):
        with pytest.raises(il.ParameterError, match="head"):
            il.open(folder, head=text)


def test_without_the_head_that_was_kept_a_centre_cannot_know(folder: Path, state: Path) -> None:
    [file] = state.glob("*.head")
    file.unlink()
    with il.open(folder) as centre:
        assert kept(file) == centre.ledger.head()


@pytest.mark.parametrize("text", ["", "12", "x:y", f"1:{'0' * 64}\nrestoring to 12"])
def test_a_head_that_is_none_is_refused(folder: Path, state: Path, text: str) -> None:
    [file] = state.glob("*.head")
    file.write_text(text)
    with pytest.raises(il.LedgerError, match="holds no head"):
        il.open(folder)


def test_events_cut_off_by_hand_are_missed(folder: Path) -> None:
    last = int(head_of(folder).split(":")[0])
    changed(folder, f"DELETE FROM events WHERE seq >= {last - 1}")
    with pytest.raises(il.LedgerCorrupt, match="is missing") as refused:
        il.open(folder)
    assert refused.value.event == last - 1


@pytest.mark.parametrize(
    "harm",
    [
        "body = substr(body, 1, length(body) / 2)",
        "hash = (SELECT hash FROM events WHERE seq = 1)",
        "body = '{}'",
        "secret = NULL, body = replace(body, 'true', 'false')",
    ],
)
def test_a_last_event_half_written_or_edited_is_named(folder: Path, harm: str) -> None:
    last = int(head_of(folder).split(":")[0])
    changed(folder, f"UPDATE events SET {harm} WHERE seq = {last}")

    def everything() -> None:
        with il.open(folder) as centre:
            centre.audit()

    with pytest.raises(il.LedgerCorrupt) as refused:
        everything()
    assert refused.value.event == last


# Restoring


@pytest.fixture
def restored(folder: Path, tmp_path: Path) -> Path:
    """The folder, one session and one answer older than it was, and restored."""
    shutil.copytree(folder, tmp_path / "backup")
    with il.open(folder) as centre:
        ask(centre)
        open_another(centre)
    shutil.rmtree(folder)
    shutil.copytree(tmp_path / "backup", folder)
    shown = run("ledger", "restore", folder, "--yes")
    assert shown.exit_code == 0
    assert shown.output.split("head ")[1].strip() == head_of(folder)
    return folder


def test_after_a_restore_nothing_can_be_asked_or_opened(restored: Path) -> None:
    with il.open(restored) as centre:
        for account, quota, nothing in (
            (centre.account("ada"), il.PureDP(2), il.PureDP(0)),
            (centre.account("ben"), il.ZCDP(1), il.ZCDP(0)),
        ):
            assert (account.spent, account.remaining) == (quota, nothing)
        with pytest.raises(il.BudgetExceeded):
            centre.account("ada").open(m.Laplace(epsilon=1e-9), "people")
        with pytest.raises(il.BudgetExceeded):
            centre.account("ben").open(m.Gaussian(rho=1e-9), "people")
        with pytest.raises(il.Unproven):
            centre.account("eve", quota=il.PureDP(1))
        [session] = centre.account("ada").sessions()
        for key in (None, "k"):
            with pytest.raises(il.SessionVoid, match=session.id):
                session.ask(ALL_SQL, at_least=5, key=key)
        assert session.left == 0
        assert len(session.history()) == 1
        assert len(list(centre.ledger.events(ANSWER))) == 1
        assert centre.audit().answers == 1
        assert centre.guarantee().spent == (il.PureDP(2), il.ZCDP(1))
    assert run("ledger", "verify", restored).exit_code == 0
    assert run("ledger", "show", restored).exit_code == 0


def test_after_a_restore_no_generation_is_added(tmp_path: Path) -> None:
    with clinic(tmp_path / "centre") as centre:
        centre.fix_cap(il.PureDP(3))
        centre.generation({"ada": il.PureDP(1)})
    head = il.restore(tmp_path / "centre")
    with il.open(tmp_path / "centre", head=str(head)) as centre:
        with pytest.raises(il.Unproven, match="older copy"):
            centre.generation({"eve": il.PureDP(1)})
        assert centre.account("ada").remaining == il.PureDP(0)
        centre.audit()


def test_after_a_restore_a_cap_stays_and_none_is_fixed(tmp_path: Path) -> None:
    with clinic(tmp_path / "capped") as centre:
        centre.fix_cap(il.PureDP(3))
        centre.account("ada", quota=il.PureDP(1))
    il.restore(tmp_path / "capped")
    with il.open(tmp_path / "capped") as centre:
        # Whatever was created since the copy was made had to fit it, too.
        assert centre.cap == centre.guarantee().cap == il.PureDP(3)
        with pytest.raises(il.NameTaken):
            centre.fix_cap(il.PureDP(4))
    clinic(tmp_path / "uncapped").close()
    il.restore(tmp_path / "uncapped")
    with il.open(tmp_path / "uncapped") as centre:
        assert centre.cap is None
        with pytest.raises(il.Unproven, match="older copy"):  # accounts may have been lost
            centre.fix_cap(il.PureDP(3))


def test_a_restore_tells_how_far_the_centre_had_come(restored: Path, tmp_path: Path) -> None:
    with il.open(restored) as centre:
        [event] = centre.ledger.events(RESTORED)
        assert event.body["reached"].startswith(f"{event.seq + 2}:")
    shutil.copytree(tmp_path / "backup", tmp_path / "again")
    with pytest.raises(il.LedgerCorrupt, match="is missing"):
        il.open(tmp_path / "again")  # the copy without the restoration does not pass either


def test_whatever_goes_on_after_a_restore_is_named_by_the_audit(restored: Path) -> None:
    with il.open(restored) as centre:
        last = {kind: centre.ledger.last(kind) for kind in (ANSWER, CHARGE)}
        answer, charge = last[ANSWER], last[CHARGE]
        assert answer is not None
        assert answer.session is not None
        assert charge is not None
        with centre.ledger.acquire(answer.session), centre.ledger.transaction() as transaction:
            event = transaction.append(
                ANSWER,
                dataset=answer.dataset,
                account=answer.account,
                session=answer.session,
                round=2,
                body=answer.body,
            )
            transaction.append(CHARGE, account=charge.account, body=charge.body)
        with pytest.raises(il.LedgerCorrupt, match="goes on after an older copy") as refused:
            centre.audit()
        assert refused.value.event == event.seq


def test_a_restore_asks_first_and_refuses_what_does_not_hold(folder: Path, tmp_path: Path) -> None:
    head = head_of(folder)
    assert CliRunner().invoke(main, ["ledger", "restore", str(folder)], input="n\n").exit_code == 1
    assert head_of(folder) == head
    changed(folder, "UPDATE events SET account = 'eve' WHERE seq = 2")
    with pytest.raises(il.LedgerCorrupt, match="event 2"):
        il.restore(folder)
    with pytest.raises(il.LedgerError, match="no ledger"):
        il.restore(tmp_path)


def test_a_handle_that_lived_through_a_restore_answers_nothing_more(tmp_path: Path) -> None:
    with clinic(tmp_path / "centre") as centre:
        session = centre.account("ada", quota=il.PureDP(1)).open(
            il.mechanisms.Laplace(epsilon=0.1, answers=3), "people"
        )
        answer = session.ask(ALL_SQL)
        il.restore(tmp_path / "centre")
        with pytest.raises(il.SessionVoid):
            session.ask(ALL_SQL)
        assert session.left == 0
        assert session.history() == [answer]
