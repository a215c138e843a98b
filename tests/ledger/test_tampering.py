"""Whatever is done to the database behind the ledger's back, ``verify`` names it.

The tampering is done by plain sqlite3, as somebody with the file would.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from interlace.core.errors import LedgerCorrupt, LedgerError
from interlace.ledger import SQLiteLedger
from interlace.ledger.sqlite.schema import DEFINITION

EVENTS = 12


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A ledger of twelve events; the second holds a secret."""
    of: dict[str, Any] = {"dataset": "liver", "account": "ada", "session": "s"}
    with (
        SQLiteLedger(tmp_path) as ledger,
        ledger.acquire("s"),
        ledger.transaction() as transaction,
    ):
        transaction.append("account", account="ada", body={"rho": "1/2"})
        transaction.append("session", **of, secret=b"threshold")
        for number in range(EVENTS - 2):
            key = f"k{number}"
            transaction.append("answer", **of, round=number, key=key, body={"value": number})
    return tmp_path


def raw(folder: Path) -> sqlite3.Connection:
    return sqlite3.connect(folder / "ledger.sqlite3", isolation_level=None)


def without_triggers(folder: Path, *statements: str) -> None:
    """Run statements with the triggers away, and put the triggers back."""
    with closing(raw(folder)) as connection:
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            connection.execute(statement)
        for _, sql in triggers:
            connection.execute(sql)


def recomputed(folder: Path) -> tuple[int, str]:
    """The head, by a second program: nothing here is the ledger's own code."""
    with closing(raw(folder)) as connection:
        (name,) = connection.execute("SELECT ledger FROM meta").fetchone()
        value = hashlib.sha256(f"interlace ledger 1\n{name}".encode()).digest()
        last = 0
        for row in connection.execute("SELECT * FROM events ORDER BY seq"):
            stream = value
            for column in row[:-1]:
                kind = {type(None): b"n", int: b"i", str: b"t", bytes: b"b"}[type(column)]
                filled = b"" if column is None else column
                data = filled if isinstance(filled, bytes) else str(filled).encode()
                stream += kind + str(len(data)).encode() + b":" + data
            value = hashlib.sha256(stream).digest()
            assert value.hex() == row[-1]
            last = row[0]
    return last, value.hex()


def test_a_second_program_computes_the_same_chain(folder: Path) -> None:
    with SQLiteLedger(folder) as ledger:
        head = ledger.verify()
    assert (head.seq, head.hash) == recomputed(folder)
    assert head.seq == EVENTS


FIRST_AS = "INSERT INTO events SELECT {}, NULL, hash FROM events WHERE seq = 1"

TAMPERING = {
    "body": ("UPDATE events SET body = '{\"value\":8}' WHERE seq = 5", 5),
    "space in a body": ("UPDATE events SET body = body || ' ' WHERE seq = 5", 5),
    "secret": ("UPDATE events SET secret = zeroblob(length(secret)) WHERE seq = 2", 2),
    "secret removed": ("UPDATE events SET secret = NULL WHERE seq = 2", 2),
    "secret added": ("UPDATE events SET secret = x'00' WHERE seq = 3", 3),
    "kind": ("UPDATE events SET kind = 'note' WHERE seq = 4", 4),
    "account": ("UPDATE events SET account = 'bob' WHERE seq = 6", 6),
    "account emptied": ("UPDATE events SET account = NULL WHERE seq = 6", 6),
    "dataset": ("UPDATE events SET dataset = '' WHERE seq = 6", 6),
    "session": ("UPDATE events SET session = 't' WHERE seq = 7", 7),
    "round": ("UPDATE events SET round = 99 WHERE seq = 8", 8),
    "key": ("UPDATE events SET key = 'k' WHERE seq = 9", 9),
    "hash": ("UPDATE events SET hash = printf('%064d', 0) WHERE seq = 10", 10),
    "hash of the last": ("UPDATE events SET hash = printf('%064d', 0) WHERE seq = 12", 12),
    "row removed": ("DELETE FROM events WHERE seq = 6", 6),
    "first row removed": ("DELETE FROM events WHERE seq = 1", 1),
    "rows moved up": ("UPDATE events SET seq = seq + 100 WHERE seq >= 11", 11),
    "row before the first": (FIRST_AS.format("0, 'note', NULL, NULL, NULL, NULL, NULL, body"), 1),
    "row appended": (FIRST_AS.format("13, 'note', NULL, NULL, NULL, NULL, NULL, body"), 13),
    "half a row": (FIRST_AS.format("13, 'answer', NULL, NULL, 's', 99, NULL, '{\"va'"), 13),
    "text that is not UTF-8": ("UPDATE events SET body = CAST(x'7bff7d' AS TEXT) WHERE seq = 5", 5),
}


@pytest.mark.parametrize("tampering", TAMPERING)
def test_the_first_bad_event_is_named(folder: Path, tampering: str) -> None:
    statement, seq = TAMPERING[tampering]
    with SQLiteLedger(folder) as ledger:
        assert ledger.verify().seq == EVENTS
        without_triggers(folder, statement)
        with pytest.raises(LedgerCorrupt, match=f"event {seq}:") as caught:
            ledger.verify()
        assert caught.value.event == seq
        assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    with (
        SQLiteLedger(folder) as again,
        pytest.raises(LedgerCorrupt, match=f"event {seq}:"),
    ):
        again.verify()


def test_two_rows_that_changed_places_are_named(folder: Path) -> None:
    without_triggers(
        folder,
        "UPDATE events SET seq = 100 WHERE seq = 5",
        "UPDATE events SET seq = 5 WHERE seq = 6",
        "UPDATE events SET seq = 6 WHERE seq = 100",
    )
    with SQLiteLedger(folder) as ledger, pytest.raises(LedgerCorrupt, match="event 5:"):
        ledger.verify()


def test_a_cut_off_end_shows_against_a_head_seen_earlier(folder: Path) -> None:
    with SQLiteLedger(folder) as ledger:
        head = ledger.head()
        without_triggers(folder, "DELETE FROM events WHERE seq > 9")
        assert ledger.verify().seq == 9  # all that is left holds together
        with pytest.raises(LedgerCorrupt, match="event 10: is missing"):
            ledger.verify(head)


def test_a_rewritten_history_shows_against_a_head_seen_earlier(folder: Path) -> None:
    with SQLiteLedger(folder) as ledger:
        head = ledger.head()
        without_triggers(folder, "DELETE FROM events WHERE seq > 9")
        with ledger.transaction() as transaction:
            for _ in range(5):
                transaction.append("note")
        assert ledger.verify().seq == 14
        with pytest.raises(LedgerCorrupt, match="event 12: is not the event"):
            ledger.verify(head)


def test_another_ledgers_events_do_not_fit(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    SQLiteLedger(other).close()
    without_triggers(
        other,
        f"ATTACH '{folder / 'ledger.sqlite3'}' AS source",
        "INSERT INTO events SELECT * FROM source.events",
    )
    with SQLiteLedger(other) as ledger, pytest.raises(LedgerCorrupt, match="event 1:"):
        ledger.verify()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = '{}'",
        "UPDATE events SET secret = NULL WHERE seq = 2",
        "DELETE FROM events",
        "DELETE FROM events WHERE seq = 12",
        FIRST_AS.format("20, 'note', NULL, NULL, NULL, NULL, NULL, body"),
        "INSERT OR REPLACE INTO events SELECT * FROM events WHERE seq = 12",
        "UPDATE meta SET ledger = 'x'",
        "UPDATE meta SET version = 2",
        "DELETE FROM meta",
    ],
)
def test_the_database_itself_only_lets_events_be_appended(folder: Path, statement: str) -> None:
    with closing(raw(folder)) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)
    with SQLiteLedger(folder) as ledger:
        assert ledger.verify().seq == EVENTS


def objects(kind: str) -> list[str]:
    return [name for name, sql in DEFINITION.items() if f" {kind} {name} " in sql]


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in ("TRIGGER", "INDEX") for name in objects(kind)],
)
def test_a_lost_trigger_or_index_is_named(folder: Path, kind: str, name: str) -> None:
    with SQLiteLedger(folder) as ledger:
        with closing(raw(folder)) as connection:
            connection.execute(f"DROP {kind} {name}")
        with pytest.raises(LedgerCorrupt, match=name):
            ledger.verify()
    with pytest.raises(LedgerCorrupt, match=name):
        SQLiteLedger(folder)


@pytest.mark.parametrize(
    "statements",
    [
        ["DROP TRIGGER meta_no_delete", "CREATE INDEX meta_no_delete ON meta (one)"],
        ["DROP INDEX one_answer", "CREATE INDEX one_answer ON events (session, round)"],
        ["CREATE TRIGGER more AFTER INSERT ON events BEGIN SELECT 1; END"],
        ["CREATE TABLE more (x)"],
    ],
)
def test_a_changed_or_added_object_is_named(folder: Path, statements: list[str]) -> None:
    with closing(raw(folder)) as connection:
        for statement in statements:
            connection.execute(statement)
    with pytest.raises(LedgerCorrupt, match=r"meta_no_delete|one_answer|more"):
        SQLiteLedger(folder)


def blank_a_page(content: bytes, marker: bytes) -> bytes:
    """Overwrite the database page that holds a marker."""
    page = int.from_bytes(content[16:18], "big")
    start = content.index(marker) // page * page
    return content[:start] + b"\xa5" * page + content[start + page :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "the header is garbage": lambda content: b"garbage" * 16 + content[112:],
    "a page of events is garbage": lambda content: blank_a_page(content, b'{"value":3}'),
    "the second half is missing": lambda content: content[: len(content) // 2],
    "everything is missing": lambda content: content[:0],
    "all is text": lambda _: b"not a database\n" * 1000,
    "one character of a body": lambda content: content.replace(b'{"value":3}', b'{"value":4}'),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_garbage_is_reported_as_such(folder: Path, damage: str) -> None:
    path = folder / "ledger.sqlite3"
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    with pytest.raises(LedgerError, match=r"damaged|event \d|not a ledger"):
        _open_and_verify(folder)


def _open_and_verify(folder: Path) -> None:
    with SQLiteLedger(folder) as ledger:
        ledger.verify()


def test_an_index_that_lies_is_found(folder: Path) -> None:
    """The rows are whole, but a lookup would miss one: an answer could be given twice."""
    with closing(raw(folder)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, '''answer''', '''anser''') "
                           "WHERE name = 'one_key'")  # fmt: skip
    with closing(raw(folder)) as connection:
        connection.execute("REINDEX one_key")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, '''anser''', '''answer''') "
                           "WHERE name = 'one_key'")  # fmt: skip
    with SQLiteLedger(folder) as ledger:
        assert ledger.answer_by_key("s", "k3") is None
        with pytest.raises(LedgerCorrupt, match="one_key"):
            ledger.verify()


def test_an_unreadable_body_is_damage_to_a_reader_too(folder: Path) -> None:
    without_triggers(folder, "UPDATE events SET body = '{\"va' WHERE seq = 5")
    with SQLiteLedger(folder) as ledger, pytest.raises(LedgerCorrupt, match="event 5:"):
        list(ledger.events("answer"))
