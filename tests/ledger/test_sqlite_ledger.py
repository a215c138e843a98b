"""The SQLite ledger's folder: made once, refused with advice, served by indexes."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from interlace.core.errors import AlreadyRecorded, LedgerCorrupt, LedgerError, ParameterError
from interlace.ledger import SQLiteLedger, canonical, statements
from interlace.ledger.statements import Selection
from interlace.ledger.transaction import SQLTransaction

#: What a session and its answers must carry.
OF_S: dict[str, Any] = {"dataset": "liver", "account": "ada", "session": "s"}


def test_the_folder_holds_one_database_that_only_its_owner_reads(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    before = os.umask(0o022)
    with SQLiteLedger(folder) as ledger, ledger.transaction() as transaction:
        transaction.append("note")
        found = {path.name: path for path in folder.iterdir()}
        assert set(found) == {
            "ledger.sqlite3", "ledger.sqlite3-wal", "ledger.sqlite3-shm", "ledger.lock", "locks",
        }  # fmt: skip
        os.umask(before)
        for path in (folder, *found.values()):
            assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_every_ledger_has_an_id_of_its_own(tmp_path: Path) -> None:
    with SQLiteLedger(tmp_path / "a") as first, SQLiteLedger(tmp_path / "b") as second:
        assert first.head() != second.head()


def test_equal_secrets_in_equal_ledgers_leave_different_hashes(tmp_path: Path) -> None:
    """A hash must not confirm a guess of a secret, so it is salted."""
    first, second = (SQLiteLedger(tmp_path / name) for name in "ab")
    hashes = set()
    for ledger in (first, second):
        with ledger.transaction() as transaction:
            hashes |= {transaction.append("note", secret=b"1").hash}
        ledger.close()
    assert len(hashes) == 2


@pytest.mark.parametrize("name", ["what?", "a#b%20c", "ü ñ", "x=1&mode=memory"])
def test_any_name_of_a_folder_will_do(tmp_path: Path, name: str) -> None:
    with SQLiteLedger(tmp_path / name) as ledger, ledger.transaction() as transaction:
        transaction.append("note")
    assert (tmp_path / name / "ledger.sqlite3").stat().st_size > 0


def test_looking_for_a_ledger_makes_none(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        SQLiteLedger(tmp_path, create=False)
    assert list(tmp_path.iterdir()) == []
    SQLiteLedger(tmp_path).close()
    SQLiteLedger(tmp_path, create=False).close()


def test_a_name_that_no_folder_can_have_is_refused() -> None:
    with pytest.raises(ParameterError, match="folder"):
        SQLiteLedger("a\0b")


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(LedgerError, match="cannot keep a ledger"):
            SQLiteLedger(folder)


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """In a process without the rights of a superuser, whoever runs this test."""
    program = (
        "import os, sys\n"
        "from interlace.core.errors import LedgerError\n"
        "from interlace.ledger import SQLiteLedger\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"
        "try: SQLiteLedger(sys.argv[1])\n"
        "except LedgerError as error: print(error)\n"
    )
    tmp_path.chmod(0o500)
    try:
        said = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    finally:
        tmp_path.chmod(0o700)
    assert "cannot keep a ledger in" in said.stdout
    assert list(tmp_path.iterdir()) == []


def database(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "ledger.sqlite3")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@pytest.mark.parametrize(
    "definition",
    [
        "CREATE TABLE users (name TEXT)",
        "CREATE TABLE meta (version INTEGER)",
        "CREATE TABLE meta (version INTEGER, ledger TEXT)",
    ],
)
def test_another_programs_database_is_refused_and_left_alone(
    tmp_path: Path, definition: str
) -> None:
    database(tmp_path, definition)
    before = (tmp_path / "ledger.sqlite3").read_bytes()
    with pytest.raises(LedgerError, match="is not a ledger"):
        SQLiteLedger(tmp_path)
    assert (tmp_path / "ledger.sqlite3").read_bytes() == before


def test_an_emptied_database_is_not_taken_for_a_new_ledger(tmp_path: Path) -> None:
    """Or all that was spent would be forgotten."""
    (tmp_path / "ledger.sqlite3").touch()
    with pytest.raises(LedgerError, match="is not a ledger"):
        SQLiteLedger(tmp_path)
    assert (tmp_path / "ledger.sqlite3").stat().st_size == 0


def test_a_log_without_its_database_is_not_taken_for_a_new_ledger(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite3-wal").write_bytes(b"\0" * 32)
    with pytest.raises(LedgerError, match="answer again"):
        SQLiteLedger(tmp_path)
    assert not (tmp_path / "ledger.sqlite3").exists()


def test_a_database_that_vanishes_is_not_made_again(tmp_path: Path) -> None:
    with SQLiteLedger(tmp_path) as ledger:
        ledger._connections.before_fork()  # the next use connects anew
        ledger._connections.after_fork_in_parent()
        (tmp_path / "ledger.sqlite3").unlink()
        with pytest.raises(LedgerError, match="unable to open"), ledger.transaction():
            pass
    assert not (tmp_path / "ledger.sqlite3").exists()


def test_what_a_crash_in_the_making_left_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite3.new").write_bytes(b"half a database")
    with SQLiteLedger(tmp_path) as ledger:
        assert ledger.verify().seq == 0
    assert not (tmp_path / "ledger.sqlite3.new").exists()


@pytest.mark.parametrize("version", [0, 2])
def test_an_unknown_version_is_refused_with_advice(tmp_path: Path, version: int) -> None:
    SQLiteLedger(tmp_path).close()
    database(tmp_path, "DROP TRIGGER meta_no_update", f"UPDATE meta SET version = {version}")
    with pytest.raises(LedgerError, match=f"schema version {version}.*use the release"):
        SQLiteLedger(tmp_path)


def test_an_error_of_the_caller_is_the_callers(tmp_path: Path) -> None:
    """Even one that another database of the caller raises inside a transaction."""
    mine = sqlite3.OperationalError("another database")
    with (
        SQLiteLedger(tmp_path) as ledger,
        pytest.raises(sqlite3.OperationalError) as caught,
        ledger.transaction(),
    ):
        raise mine
    assert caught.value is mine


def driver(transaction: SQLTransaction) -> sqlite3.Connection:
    """What a transaction runs its statements on."""
    runs = transaction._runs
    assert isinstance(runs, partial)
    assert isinstance(runs.args[0], sqlite3.Connection)
    return runs.args[0]


def test_a_full_disk_is_told_without_contents(tmp_path: Path) -> None:
    with SQLiteLedger(tmp_path) as ledger:
        with ledger.transaction() as transaction:
            driver(transaction).execute("PRAGMA max_page_count = 1")
            with pytest.raises(LedgerError) as caught:
                transaction.append("note", body={"x": "private" * 10_000}, secret=b"private")
        assert "full" in str(caught.value)
        assert bare(caught.value)
        assert ledger.verify().seq == 0


def bare(error: BaseException | None) -> bool:
    """Whether nothing private can be reached from an error."""
    assert error is not None
    assert "private" not in f"{error.args} {vars(error)}"
    return error.__cause__ is None and error.__context__ is None


def test_no_error_of_an_answer_brings_the_answer_along(tmp_path: Path) -> None:
    answer: dict[str, Any] = {**OF_S, "body": {"value": "private"}, "secret": b"private"}
    with SQLiteLedger(tmp_path) as ledger, ledger.acquire("s"):
        with ledger.transaction() as transaction:
            transaction.append("answer", **answer, round=1, key="k")
            for again in ({"round": 1}, {"round": 2, "key": "k"}):
                with pytest.raises(AlreadyRecorded) as refused:
                    transaction.append("answer", **answer, **again)
                assert bare(refused.value)
            driver(transaction).execute("PRAGMA query_only = ON")
            with pytest.raises(LedgerError, match="readonly") as failed:
                transaction.append("answer", **answer, round=3)
            driver(transaction).execute("PRAGMA query_only = OFF")
            assert bare(failed.value)
            with pytest.raises(ParameterError) as half:
                transaction.append("answer", **{**answer, "body": {"x": "private\ud800"}}, round=3)
            assert bare(half.value)
        assert ledger.verify().seq == 1


@pytest.mark.parametrize("blob", ["x'7072697661746500ff'", "x'7b2270726976617465'"])
def test_no_error_of_damage_brings_contents_along(tmp_path: Path, blob: str) -> None:
    with SQLiteLedger(tmp_path) as ledger:
        with ledger.transaction() as transaction:
            transaction.append("note", body={"x": "private"})
        database(
            tmp_path,
            "DROP TRIGGER events_no_update",
            f"UPDATE events SET body = CAST({blob} AS TEXT)",
        )
        for read in (lambda: ledger.last("note"), lambda: list(ledger.events("note"))):
            with pytest.raises(LedgerCorrupt) as damaged:
                read()
            assert bare(damaged.value)
        with pytest.raises(LedgerCorrupt, match="events_no_update") as lost:
            ledger.verify()
        assert bare(lost.value)


@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")  # it is the point
def test_a_fork_does_not_wait_for_a_verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link, linked = canonical.link, []

    def slow(previous: str, columns: Sequence[canonical.Column]) -> str:
        time.sleep(0.005)
        linked.append(columns[0])
        return link(previous, columns)

    with SQLiteLedger(tmp_path) as ledger:
        with ledger.transaction() as transaction:
            for _ in range(100):
                transaction.append("note")
        monkeypatch.setattr(canonical, "link", slow)
        monkeypatch.setattr(statements, "PAGE", 2)
        with ThreadPoolExecutor(1) as pool:
            verified = pool.submit(ledger.verify)
            time.sleep(0.05)
            child = os.fork()
            if child == 0:
                os._exit(0 if ledger.head().seq == 100 else 1)
            assert len(linked) < 100
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert verified.result().seq == 100


def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    """What no test can bring about is a loss of power; so the settings are read."""
    with SQLiteLedger(tmp_path) as ledger, ledger.transaction() as transaction:
        settings = {
            name: driver(transaction).execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "fullfsync", "checkpoint_fullfsync")
        }
    assert settings == {
        "journal_mode": "wal", "synchronous": 2, "fullfsync": 1, "checkpoint_fullfsync": 1,
    }  # fmt: skip


def open_files() -> set[Path]:
    return {path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink()}


def test_nothing_stays_open(tmp_path: Path) -> None:
    before = open_files()
    with SQLiteLedger(tmp_path) as ledger:
        for _ in range(3):
            with ledger.acquire("s"), ledger.transaction() as transaction:
                transaction.append("note")
        assert ledger.verify().seq == 3
    assert open_files() == before
    assert not (tmp_path / "ledger.sqlite3-wal").exists()


@pytest.mark.parametrize(
    ("given", "index"),
    [
        ((), "by_kind"),
        (("account",), "by_account_kind"),
        (("session",), "by_session_kind"),
        (("session", "account"), "by_session_kind"),
        (("session", "account", "dataset"), "by_session_kind"),
        (("account", "dataset"), "by_account_kind"),
        (("dataset",), "by_kind"),
    ],
)
def test_every_selection_is_served_by_its_index(
    tmp_path: Path, given: tuple[str, ...], index: str
) -> None:
    wanted = Selection("x", **dict.fromkeys(given, "x"))
    page = {"after": 0, "until": 10, "page": 1}
    for statement, values in ((wanted.page(), page), (wanted.last(), {"param_1": 1})):
        plan = explain(tmp_path, statement, {**wanted.parameters(), **values})
        assert len(plan) == 1, plan  # no sorting
        assert plan[0].startswith("SEARCH events USING ")
        assert f" {index} (" in plan[0]


def explain(folder: Path, statement: object, values: dict[str, object]) -> list[str]:
    with SQLiteLedger(folder) as ledger, ledger.transaction() as transaction:
        text = str(statement)
        rows = driver(transaction).execute(f"EXPLAIN QUERY PLAN {text}", values)
        return [str(row[-1]) for row in rows]


def test_keys_and_the_head_are_found_by_index(tmp_path: Path) -> None:
    by_key = explain(tmp_path, statements.BY_KEY, {"session": "s", "key": "k"})
    assert by_key == ["SEARCH events USING INDEX one_key (session=? AND key=?)"]
    # A scan that stops at its first row.
    assert explain(tmp_path, statements.HEAD, {"param_1": 1}) == ["SCAN events"]


def steps(folder: Path, history: int) -> int:
    """How many steps of SQLite's machine an append and the lookups take, in hundreds."""
    with SQLiteLedger(folder) as ledger, ledger.acquire("s"):
        with ledger.transaction() as transaction:
            for number in range(history):
                transaction.append("answer", **OF_S, round=number, key=str(number))
        taken = [0]
        with ledger.transaction() as transaction:

            def step() -> int:
                taken[0] += 1
                return 0

            connection = driver(transaction)
            connection.set_progress_handler(step, 10)
            transaction.append("answer", **OF_S, round=history, key="last")
            assert transaction.last("answer", session="s", account="ada") is not None
            assert transaction.last("answer", account="ada") is not None
            assert transaction.last("session", session="s") is None
            assert list(transaction.events("answer", session="s", after=history)) != []
            assert transaction.answer_by_key("s", "5") is not None
            connection.set_progress_handler(None, 0)
    return taken[0]


def test_no_step_grows_with_the_history(tmp_path: Path) -> None:
    few, many = steps(tmp_path / "few", 20), steps(tmp_path / "many", 2000)
    assert few > 5
    assert many <= few + 3
