"""What a centre refuses, it refuses before the data: in the same words on neighbouring data and
without any data, with nothing written and nothing drawn. What fails later tells nothing either.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import interlace as il
from interlace.centre import Centre
from interlace.engines.duckdb.engine import DuckDBEngine
from tests.query.corpus import CONDITIONS, WHOLE
from tests.query.support import CLINIC

m = il.mechanisms

DECLARATION = """
name = "clinic"
unit = "id"

[tables.labs]
rows_per_unit = 60
[tables.labs.columns]
value = { type = "integer", lower = -5, upper = 500 }
test = { type = "category", values = ["hdl", "chol", "it's", "größe"] }
male = { type = "boolean" }
price = { type = "decimal", lower = 0, upper = 10, digits = 2 }
seen = { type = "day", lower = "2020-01-01", upper = "2020-12-31" }
date = { type = "integer", lower = 0, upper = 3 }
"case.id" = { type = "integer", lower = 0, upper = 9 }
huge = { type = "integer", lower = 0, upper = 1_099_511_627_776 }

[tables.people]
rows_per_unit = 1
[tables.people.columns]
age = { type = "integer", lower = 0, upper = 120 }
debt = { type = "integer", lower = -100, upper = -10 }
"""
#: Each with what its questions bring along.
MECHANISMS: list[tuple[Any, dict[str, Any]]] = [
    (m.Laplace(epsilon=1, answers=9), {}),
    (m.Gaussian(rho=1, answers=9), {}),
    (m.SparseVector(epsilon=1, cutoff=9, sensitivity=60), {"at_least": 100}),
    (m.GuessAndCheck(epsilon=1, tolerance=300, cutoff=9, sensitivity=60), {"guess": 10}),
]
ALL_SQL = "SELECT COUNT(*) FROM labs"
_numbers = itertools.count()
TEXTS = [
    text.replace("¶", "")
    for text in (
        *(marked for marked, _ in WHOLE),
        *(f"{ALL_SQL} WHERE {marked}" for marked, _ in CONDITIONS),
    )
]


def _unasked() -> str:
    """A query that was not asked before: its value is not known yet, so it has to be read."""
    return f"{ALL_SQL} WHERE huge <> {next(_numbers)}"


@dataclass(frozen=True)
class Place:
    """A centre with one session of each mechanism."""

    centre: Centre
    sessions: list[il.Session]

    @property
    def trace(self) -> tuple[object, ...]:
        """All that a question could leave behind."""
        account = self.centre.account("ada")
        left = [session.left for session in self.sessions]
        told = [session.history() for session in self.sessions]
        return self.centre.ledger.head(), account.spent, left, told


def _clinic(folder: Path, units: int) -> Place:
    rows = [f"p{unit}" for unit in range(units) for _ in range(3)]
    labs = pd.DataFrame({"id": rows, "value": [len(rows) - n for n in range(len(rows))]})
    more = {"test": "hdl", "male": True, "price": 0.25, "seen": "2020-02-03", "date": 1}
    labs = labs.assign(**more, **{"case.id": 7, "huge": 2**40})
    people = pd.DataFrame({"id": [f"p{n}" for n in range(units)], "age": range(units), "debt": -20})
    folder.mkdir()
    declaration = folder / "clinic.toml"
    declaration.write_text(DECLARATION, encoding="utf-8")
    centre = il.open(folder / "centre")
    registered = centre.register(declaration, tables={"labs": labs, "people": people})
    assert registered.dataset == CLINIC
    account = centre.account("ada", quota=il.ZCDP(999))
    return Place(centre, [account.open(mechanism, "clinic") for mechanism, _ in MECHANISMS])


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Place]]:
    """Two centres, the second without the one unit more, with all its rows in all tables."""
    folder = tmp_path_factory.mktemp("neighbours")
    places = [_clinic(folder / "one", 10), _clinic(folder / "other", 9)]
    yield places
    for place in places:
        place.centre.close()


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A centre whose snapshot is gone: there is nothing to read."""
    folder = tmp_path_factory.mktemp("bare")
    place = _clinic(folder / "one", 10)
    for path in folder.rglob("*.duckdb"):
        path.unlink()
    yield place
    place.centre.close()


def _touched(*_: object, **__: object) -> None:
    raise AssertionError("a refused question reached the engine or the sampler")


def _told(error: il.InterlaceError) -> tuple[Any, ...]:
    """All that an error tells."""
    assert (error.__cause__, error.__suppress_context__ or error.__context__ is None) == (
        None,
        True,
    )
    return type(error), str(error), error.args, vars(error)


def _refused(place: Place, number: int, sql: str) -> tuple[Any, ...]:
    session, (_, arguments) = place.sessions[number], MECHANISMS[number]
    with pytest.raises((il.QueryRefused, il.ParameterError)) as caught:
        session.ask(sql, **arguments)
    with pytest.raises((il.QueryRefused, il.ParameterError)) as before:
        session.accuracy(sql)
    assert _told(caught.value) == _told(before.value)
    with pytest.raises((il.QueryRefused, il.ParameterError)) as keyed:
        session.ask(sql, key=f"k{number}", **arguments)
    assert _told(caught.value) == _told(keyed.value)
    return _told(caught.value)


@pytest.mark.parametrize("start", range(0, len(TEXTS), 25))
def test_a_refusal_comes_before_the_data(
    start: int, neighbours: list[Place], bare: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = [*neighbours, bare]
    before = [place.trace for place in places]
    monkeypatch.setattr(DuckDBEngine, "read", _touched)
    monkeypatch.setattr("duckdb.connect", _touched)
    monkeypatch.setattr("interlace.centre.noise.Pool.draw", _touched)
    for number, sql in enumerate(TEXTS[start : start + 25]):
        told = [_refused(place, number % len(MECHANISMS), sql) for place in places]
        assert told[0] == told[1] == told[2]
        kind, text, _, said = told[0]
        if any("\ud800" <= character <= "\udfff" for character in sql):
            assert (kind, said["name"]) == (il.ParameterError, "sql")
        else:
            assert kind is il.QueryRefused
            assert text.startswith(said["construct"])
    assert [place.trace for place in places] == before


def test_what_must_not_be_reached_would_be_noticed(
    neighbours: list[Place], bare: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(il.EngineError, match="is missing"):
        bare.sessions[0].ask(_unasked())
    for name in ("interlace.centre.noise.Pool.draw", "interlace.engines.duckdb.engine.rewrite"):
        with monkeypatch.context() as poisoned:
            poisoned.setattr(name, _touched)
            with pytest.raises(AssertionError, match="a refused question"):
                neighbours[0].sessions[0].ask(_unasked())


def test_refused_is_also_what_the_mechanism_cannot_answer(
    neighbours: list[Place], bare: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query that is allowed, with numbers that are not or more than the noise was drawn for."""
    monkeypatch.setattr(DuckDBEngine, "read", _touched)
    monkeypatch.setattr("interlace.centre.noise.Pool.draw", _touched)
    asked: list[tuple[int, str, dict[str, Any]]] = [
        (0, ALL_SQL, {"at_least": 1}),
        (1, ALL_SQL, {"guess": 1}),
        (2, ALL_SQL, {}),
        (2, ALL_SQL, {"at_least": 1, "at_most": 2}),
        (2, ALL_SQL, {"at_most": float("nan")}),
        (2, "SELECT SUM(value) FROM labs", {"at_least": 1}),
        (3, ALL_SQL, {}),
        (3, ALL_SQL, {"guess": 2**70 + 1}),
        (3, "SELECT SUM(price) FROM labs", {"guess": 1}),
    ]
    places = [*neighbours, bare]
    before = [place.trace for place in places]
    for number, sql, arguments in asked:
        told = []
        for place in places:
            with pytest.raises(il.ParameterError) as caught:
                place.sessions[number].ask(sql, **arguments)
            told.append(_told(caught.value))
        assert told[0] == told[1] == told[2]
    assert [place.trace for place in places] == before


#: What makes a real scan fail, quoting what it read; the second only at the last row.
FAILING = [
    "SELECT CAST(CAST(c0 AS VARCHAR) || ' private' AS BIGINT) FROM snapshot.t0",
    "SELECT SUM(CASE WHEN c0 = 1 THEN error('private ' || unit) ELSE 0 END) FROM snapshot.t0",
    "SELECT 9223372036854775807::BIGINT + c0 FROM snapshot.t0",
    "SELECT c0 FROM snapshot.t0 WHERE c0 > 99999",
    "SELECT 'private ' || unit FROM snapshot.t0",
    "SELECT private FROM snapshot.t0",
]


@pytest.mark.parametrize("failing", FAILING)
def test_a_failure_after_the_scan_began_tells_nothing_and_keeps_the_charge(
    failing: str, neighbours: list[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = [place.trace for place in neighbours]
    monkeypatch.setattr("interlace.centre.noise.Pool.draw", _touched)
    monkeypatch.setattr("interlace.engines.duckdb.engine.rewrite", lambda *_: failing)
    told = set()
    for place in neighbours:
        for session, (_, arguments) in zip(place.sessions, MECHANISMS, strict=True):
            with pytest.raises(il.EngineError, match="the charge is kept") as caught:
                session.ask(_unasked(), **arguments)
            kind, text, args, said = _told(caught.value)
            assert "private" not in f"{text} {args} {said}"
            assert caught.value.__context__ is None
            told.add((kind, text))
    assert len(told) == 1
    assert [place.trace for place in neighbours] == before


def test_a_session_goes_on_after_a_failure(
    neighbours: list[Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in neighbours:
        session, sql = place.sessions[0], _unasked()
        spent, left = place.centre.account("ada").spent, session.left
        with monkeypatch.context() as broken:
            broken.setattr("interlace.engines.duckdb.engine.rewrite", lambda *_: FAILING[0])
            with pytest.raises(il.EngineError):
                session.ask(sql, key="again")
        answer = session.ask(sql, key="again")
        assert session.history() == [answer]
        assert (place.centre.account("ada").spent, session.left) == (spent, left - 1)


def test_the_failures_are_such(neighbours: list[Place]) -> None:
    """What DuckDB itself says to them does tell what it read, or they give no number."""
    [path] = (neighbours[0].centre._folder / "snapshots").glob("*.duckdb")
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS snapshot (READ_ONLY)")
        for failing in FAILING[:3]:
            with pytest.raises(duckdb.Error):
                connection.execute(failing).fetchall()
        assert connection.execute(FAILING[3]).fetchall() == []
