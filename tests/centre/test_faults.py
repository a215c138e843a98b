"""At every named point the centre dies, or its disk is full: nothing is overspent, answered
twice or lost, the thresholds stay, and work goes on. tests/checker.py is the judge."""

from __future__ import annotations

import ast
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import interlace as il
from interlace.centre import Centre, faults
from interlace.centre.noise import POOL
from interlace.core.laws import Law
from interlace.ledger import DATASET, Event
from tests.centre import worker
from tests.centre.support import ALL_SQL, WOMEN_SQL, clinic
from tests.centre.worker import DEEDS, MECHANISMS, ask, deed_at, ended, opened, start
from tests.checker import check

#: Each point with each deed that passes it; for the others see test_faults_outside.py.
_PASSING = {
    "register": ["register", "again"],
    "account": ["account"],
    "open": ["open", "plan"],
    "close": ["close", "off"],
    "ask": list(MECHANISMS),
}
CASES = [
    (deed, point)
    for point in faults.POINTS
    for deed in _PASSING.get(point.split(".")[0], [])
    if point != "account.after-generation"
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dataset and two accounts, and what is kept outside it, to be copied."""
    place = tmp_path_factory.mktemp("prepared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(place / "state"))
        with clinic(place / "clinic") as centre:
            centre.account("ada", quota=il.ZCDP(20))
            centre.account("ben", quota=il.ApproxDP(1, 1e-6))
    return place


@pytest.fixture
def folder(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copied = shutil.copytree(prepared, tmp_path / "copied")
    monkeypatch.setenv("XDG_STATE_HOME", str(copied / "state"))
    return Path(copied) / "clinic"


@pytest.fixture
def side(tmp_path: Path) -> Path:
    return tmp_path / "acknowledged"


def _openings(folder: Path) -> dict[str, bytes]:
    place = f"{(folder / 'ledger.sqlite3').as_uri()}?mode=ro"
    with closing(sqlite3.connect(place, uri=True)) as database:
        rows = database.execute("SELECT session, secret FROM events WHERE kind = 'session'")
        return dict(rows.fetchall())


def _done_again(centre: Centre, deed: str) -> None:
    """Do the same once more; what was recorded after all is found and not done again."""
    try:
        DEEDS[deed](centre)
    except il.NameTaken:
        found = [f"{e.dataset} {e.round}" for e in centre.ledger.events(DATASET)]
        assert found == ["people 1", {"register": "more 1", "again": "people 2"}[deed]]


def _asked_on_the_latest(centre: Centre, version: Event) -> None:
    """A new session opens there and answers; those from before stay on the first version."""
    new = centre.account("ada").open(il.mechanisms.Laplace(epsilon=0.01), str(version.dataset))
    assert new.version == version.round
    new.ask(f"SELECT COUNT(*) FROM {version.dataset} WHERE age < 99")
    assert {session.version for session in opened(centre).values()} == {1}


@pytest.mark.parametrize(("deed", "point"), CASES)
def test_killed_at_a_point(folder: Path, side: Path, deed: str, point: faults.Point) -> None:
    assert ended(start(deed_at, folder, side, deed, point)) == -signal.SIGKILL
    assert check(folder, side) == []
    before = _openings(folder)
    with il.open(folder) as centre:
        spent = centre.account("ada").spent
        _done_again(centre, deed)
        if deed in MECHANISMS:
            assert centre.account("ada").spent == spent
            [killed] = [a for a in opened(centre)[deed].history() if a.sql == ALL_SQL][1:]
            worker.acknowledge(side, opened(centre)[deed], killed, "killed")
        worker.work(centre, side)
        centre.audit()
        versions = list(centre.ledger.events(DATASET))
        assert len(list((folder / "snapshots").iterdir())) == len(versions)
        _asked_on_the_latest(centre, versions[-1])
    assert [path.name for path in (folder / "locks").iterdir()] == []
    assert check(folder, side) == []
    after = _openings(folder)
    assert {session: after[session] for session in before} == before


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Law]:
    """The laws of all draws."""
    laws: list[Law] = []
    draw = POOL.draw

    def noted(law: Law) -> tuple[int, ...]:
        laws.append(law)
        return draw(law)

    monkeypatch.setattr(POOL, "draw", noted)
    return laws


@pytest.mark.parametrize(("deed", "point"), CASES)
def test_a_full_disk_at_a_point(
    folder: Path,
    side: Path,
    deed: str,
    point: faults.Point,
    monkeypatch: pytest.MonkeyPatch,
    drawn: list[Law],
) -> None:
    with il.open(folder) as centre:
        if deed != "account":
            worker.work(centre, side)
        drawn.clear()
        monkeypatch.setenv("INTERLACE_FAULT", f"{point}:error")
        with pytest.raises(il.LedgerError, match="No space left"):
            DEEDS[deed](centre)
        monkeypatch.delenv("INTERLACE_FAULT")
        assert check(folder, side) == []
        if deed in MECHANISMS:
            _the_round_that_was_drawn_is_stored(centre, deed, point, drawn)
        else:
            _done_again(centre, deed)
        worker.work(centre, side)
        centre.audit()
    assert check(folder, side) == []


def _the_round_that_was_drawn_is_stored(
    centre: Centre, deed: str, point: str, drawn: list[Law]
) -> None:
    early = point in {"ask.after-acquire", "ask.after-read"}
    assert (drawn == []) == early
    session = opened(centre)[deed]
    rounds = len(session.history())
    # Another question, from another handle: what was drawn comes before it.
    other = ask(centre.session(session.id), deed, WOMEN_SQL, None)
    answered = len(drawn)
    again = ask(session, deed, ALL_SQL, "killed")
    if early:
        assert (other.round, again.round) == (rounds + 1, rounds + 2)
    else:
        assert again.round == other.round - 1
        assert len(drawn) == answered


@pytest.mark.parametrize(("key", "again"), [("mine", 1), (None, 2)])
def test_an_answer_that_is_durable_is_given_again_by_its_key_alone(
    folder: Path, key: str | None, again: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with il.open(folder) as centre:
        session = opened(centre)["laplace"]
        monkeypatch.setenv("INTERLACE_FAULT", "ask.after-commit:error")
        with pytest.raises(il.LedgerError):
            session.ask(ALL_SQL, key=key)
        monkeypatch.delenv("INTERLACE_FAULT")
        [unseen] = session.history()
        asked = session.ask(ALL_SQL, key=key)
        assert (unseen.round, asked.round) == (1, again)
        assert (asked == unseen) == (key is not None)


def test_every_point_is_passed_somewhere() -> None:
    passed = {
        call.args[0].value
        for file in Path(il.__file__).parent.glob("c*/*.py")
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "reach"
        and isinstance(call.args[0], ast.Constant)
    }
    assert passed == set(faults.POINTS)


@pytest.mark.parametrize("wrong", ["", "ask", "ask.after-draw:later", "ask.after-draw:"])
def test_a_fault_that_is_misspelt_is_noticed(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTERLACE_FAULT", wrong)
    with pytest.raises(il.ParameterError, match=r"INTERLACE_FAULT.*ask\.after-draw"):
        faults.reach("ask.before-commit")


def test_the_checker_runs_as_a_script(folder: Path) -> None:
    script = Path(__file__).parents[1] / "checker.py"
    done = subprocess.run(
        [sys.executable, "-I", str(script), str(folder)], check=False, capture_output=True
    )
    assert (done.returncode, done.stdout) == (0, b"")
