"""The independent judge finds nothing in an honest folder, and each kind of forgery by name."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import interlace as il
from tests.centre import worker
from tests.centre.support import ALL_SQL, clinic
from tests.checker import check

Row = dict[str, Any]
_COLUMNS = [
    "seq",
    "kind",
    "dataset",
    "account",
    "session",
    "round",
    "key",
    "body",
    "secret",
    "hash",
]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder with work of all kinds, and the side file of what was received."""
    place = tmp_path_factory.mktemp("honest")
    with clinic(place / "clinic") as centre:
        centre.account("ada", quota=il.ZCDP(20))
        ben = centre.account("ben", quota=il.ApproxDP(1, 1e-6))
        cy = centre.account("cy", quota=il.PureDP(2))
        worker.work(centre, place / "acknowledged")
        session = ben.open(il.mechanisms.Gaussian(rho=0.001), "people", delta=1e-7)
        fees = session.ask("SELECT SUM(fee) FROM people")
        worker.acknowledge(place / "acknowledged", session, fees, None)
        cy.open(il.mechanisms.Laplace(epsilon=0.5, answers=2), "people")
        worker.plan(cy)
    return place / "clinic", place / "acknowledged"


@pytest.fixture(scope="module")
def capped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a cap and two generations of accounts, one after an answer."""
    folder = tmp_path_factory.mktemp("capped") / "clinic"
    with clinic(folder) as centre:
        centre.fix_cap(il.PureDP(3))
        ada = centre.account("ada", quota=il.PureDP(1))
        ada.open(il.mechanisms.Laplace(epsilon=0.5), "people").ask(ALL_SQL)
        centre.account("ben", quota=il.PureDP(2))
    return folder


def _rows(folder: Path) -> tuple[str, list[Row]]:
    with closing(sqlite3.connect(folder / "ledger.sqlite3")) as database:
        [(ledger,)] = database.execute("SELECT ledger FROM meta")
        rows = database.execute(f"SELECT {', '.join(_COLUMNS)} FROM events ORDER BY seq")
        events = [dict(zip(_COLUMNS, row, strict=True)) for row in rows]
    for event in events:
        event["body"] = json.loads(event["body"])
    return ledger, events


def _forge(folder: Path, ledger: str, events: list[Row]) -> Path:
    """A database without guards, with these events well numbered and chained."""
    folder.mkdir()
    head = hashlib.sha256(f"interlace ledger 1\n{ledger}".encode()).hexdigest()
    with closing(sqlite3.connect(folder / "ledger.sqlite3")) as database, database:
        database.execute("CREATE TABLE meta (ledger TEXT)")
        database.execute("INSERT INTO meta VALUES (?)", (ledger,))
        database.execute(f"CREATE TABLE events ({', '.join(_COLUMNS)})")
        for seq, event in enumerate(events, 1):
            body = json.dumps(event["body"])
            row = [seq, *(event[c] for c in _COLUMNS[1:7]), body, event["secret"]]
            parts = [_part(column) for column in row]
            head = hashlib.sha256(bytes.fromhex(head) + b"".join(parts)).hexdigest()
            database.execute(f"INSERT INTO events VALUES ({'?, ' * 9}?)", (*row, head))
    return folder


def _part(column: Any) -> bytes:
    if column is None:
        return b"n0:"
    raw = column if isinstance(column, bytes) else f"{column}".encode()
    return f"{type(column).__name__.replace('str', 'text')[0]}{len(raw)}:".encode() + raw


def _of(events: list[Row], kind: str, account: str = "ada") -> list[Row]:
    return [e for e in events if e["kind"] == kind and e["account"] == account]


def _again(events: list[Row], event: Row, **changes: Any) -> None:
    events.append({**event, **changes})


def _greedy(events: list[Row]) -> None:
    last = _of(events, "charge", "cy")[-1]
    more = {**last["body"]["charge"], "epsilon": "9"}
    _again(events, last, body={**last["body"], "charge": more})


def _next(events: list[Row], kind: str) -> Row:
    """An honest next answer of the session of that kind of mechanism."""
    [session] = [
        e["session"] for e in _of(events, "session") if e["body"]["mechanism"]["kind"] == kind
    ]
    last = [e for e in events if e["kind"] == "answer" and e["session"] == session][-1]
    return {**last, "round": last["round"] + 1, "key": None}


def _passes(events: list[Row]) -> None:
    answer = _next(events, "SparseVector")
    body = {**answer["body"], "answer": {"value": True, "verdict": True}}
    for more in range(9):
        _again(events, answer, round=answer["round"] + more, body=body)


def _chatter(events: list[Row]) -> None:
    answer = _next(events, "Laplace")
    for more in range(39):
        _again(events, answer, round=answer["round"] + more)


def _key(events: list[Row]) -> str:
    """A key of the Laplace session."""
    session = _next(events, "Laplace")["session"]
    return next(str(e["key"]) for e in events if e["session"] == session and e["key"])


FORGERIES: list[tuple[str, Callable[[list[Row]], object]]] = [
    ("overspends epsilon", _greedy),
    ("records a wrong epsilon", _greedy),
    ("records a wrong rho", lambda es: _again(es, _of(es, "charge")[-1])),
    (
        "charges less than it costs",
        lambda es: _of(es, "charge")[1]["body"]["charge"].update(rho="1/1000"),
    ),
    ("charges a negative", lambda es: _of(es, "charge")[2]["body"]["charge"].update(rho="-1")),
    ("charges in another notion", lambda es: es.append({**_greedy_zcdp(es)})),
    (
        "charges an account or a cap that is not",
        lambda es: _again(es, _of(es, "charge")[0], account="x"),
    ),
    ("opens a session again", lambda es: _again(es, _of(es, "session")[0])),
    (
        "was not charged for",
        lambda es: _again(es, _of(es, "session")[0], session="free"),
    ),
    ("opens a session of no", lambda es: _again(es, _of(es, "session")[0], account="x")),
    (
        "opens a session on another version",
        lambda es: _again(es, _of(es, "session")[0], dataset="x"),
    ),
    ("answers a session that is not", lambda es: _again(es, _of(es, "answer")[0], session="x")),
    ("answers under another", lambda es: _again(es, _next(es, "Laplace"), account="ben")),
    ("answers a round twice", lambda es: _again(es, _of(es, "answer")[0], key=None)),
    ("answers a round out of turn", lambda es: _again(es, _next(es, "Laplace") | {"round": 9})),
    ("answers a key twice", lambda es: _again(es, _next(es, "Laplace"), key=_key(es))),
    ("answers more than declared", _chatter),
    ("answers after the last pass", _passes),
    ("creates an account again", lambda es: es.insert(4, es[1])),
    ("creates an account after an", lambda es: _again(es, es[1], account="late")),
    ("registers another version", lambda es: es.insert(1, es[0])),
    ("registers another version", lambda es: es.insert(1, {**es[0], "round": 3})),
    ("on another version than", lambda es: es.insert(1, {**es[0], "round": 2})),
    ("is lost", lambda es: es.remove(_of(es, "answer")[-1])),
    ("is another answer", lambda es: _of(es, "answer")[0]["body"]["answer"].update(value=-9)),
    ("is another answer", lambda es: _of(es, "answer")[1].update(key=None)),
]


def _greedy_zcdp(events: list[Row]) -> Row:
    theirs = _of(events, "charge", "ada")[0]["body"]
    return {**_of(events, "charge", "cy")[0], "body": theirs}


def test_an_honest_folder_holds(honest: tuple[Path, Path], tmp_path: Path) -> None:
    assert check(*honest) == []
    copied = _forge(tmp_path / "copy", *_rows(honest[0]))
    assert check(copied, honest[1]) == []  # the forger's chain is right as well


@pytest.mark.parametrize(("problem", "forge"), FORGERIES, ids=[name for name, _ in FORGERIES])
def test_a_forgery_is_found(
    honest: tuple[Path, Path], tmp_path: Path, problem: str, forge: Callable[[list[Row]], object]
) -> None:
    ledger, events = _rows(honest[0])
    forge(events)
    found = check(_forge(tmp_path / "forged", ledger, events), honest[1])
    assert any(problem in line for line in found), found
    assert not any("hash" in line or "gap" in line for line in found)


def test_a_cap_and_its_generations_hold(capped: Path) -> None:
    assert check(capped) == []


def _late_account(events: list[Row]) -> None:
    [account] = _of(events, "account", "ben")
    richer = {**account["body"], "quota": {**account["body"]["quota"], "epsilon": "9"}}
    _again(events, account, account="eve", body=richer)


def _restored(events: list[Row]) -> None:
    [session] = _of(events, "session")
    _again(events, events[0], kind="restored", dataset=None, round=None, body={"reached": None})
    _again(events, _of(events, "charge")[0])
    _again(events, _of(events, "answer")[0], round=2, session=session["session"])


def _ended(events: list[Row], kind: str) -> None:
    [session] = _of(events, "session")
    _again(events, session, kind=kind, body={})
    _again(events, _of(events, "answer")[0], round=2)
    _again(events, _of(events, "charge")[0])


def _cheap(events: list[Row]) -> None:
    [generation] = [e for e in events if e["kind"] == "generation"][1:]
    generation["body"]["charge"]["epsilon"] = "1"


@pytest.mark.parametrize(
    ("problem", "forge"),
    [
        ("that the cap does not pay for", _late_account),
        ("fixes a cap too late", lambda es: _again(es, es[1])),
        ("records a wrong epsilon", _cheap),
        ("records a wrong epsilon", _restored),
        ("overspends epsilon", _restored),
        ("that a restored copy held", _restored),
        ("answers what was closed", lambda es: _ended(es, "closed")),
        ("answers what was closed", lambda es: _ended(es, "off")),
        ("charges what was switched off", lambda es: _ended(es, "off")),
    ],
)
def test_a_forgery_over_time_is_found(
    capped: Path, tmp_path: Path, problem: str, forge: Callable[[list[Row]], object]
) -> None:
    ledger, events = _rows(capped)
    forge(events)
    found = check(_forge(tmp_path / "forged", ledger, events))
    assert any(problem in line for line in found), found


@pytest.mark.parametrize(
    ("problem", "statement"),
    [
        ("event 3: wrong hash", "UPDATE events SET body = body || ' ' WHERE seq = 3"),
        ("event 3: wrong hash", "UPDATE events SET account = 'eve' WHERE seq = 3"),
        ("event 1: wrong hash", "UPDATE meta SET ledger = 'another'"),
        ("event 7: wrong hash", "UPDATE events SET secret = x'00' WHERE seq = 7"),
        ("event 5: the numbers have a gap", "DELETE FROM events WHERE seq = 5"),
    ],
)
def test_a_change_under_the_chain_is_found(
    honest: tuple[Path, Path], tmp_path: Path, problem: str, statement: str
) -> None:
    forged = _forge(tmp_path / "forged", *_rows(honest[0]))
    with closing(sqlite3.connect(forged / "ledger.sqlite3")) as database, database:
        database.execute(statement)
    assert problem in check(forged)
