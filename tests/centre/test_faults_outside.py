"""Death, a full disk and Ctrl-C where a centre is changed as a whole (cap, generation, restoring),
where its files outside the folder are written (keys, head), and where something is exported."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

import interlace as il
from interlace.centre import faults, heads
from interlace.centre.heads import read_head
from interlace.centre.sealing import Sealer, read_keys
from interlace.cli import main
from interlace.ledger import CHARGE, DATASET, RESTORED, SESSION, Head
from tests.centre import test_faults, worker
from tests.centre.support import ALL_SQL, WOMEN_SQL, clinic
from tests.centre.worker import ended, start
from tests.checker import check

#: The text of an earlier export, where a later one goes.
EARLIER = "an earlier statement\n"
CAP = il.PureDP(3)
GENERATION = {"eve": il.PureDP(1), "fay": il.PureDP(0.5)}


# A place is a directory with the folder "clinic", what is kept outside it, and more.


def _state(place: Path, what: str) -> Path:
    [file] = (place / "state" / "interlace").glob(f"*.{what}")
    return file


def _kept(place: Path) -> Head:
    return read_head(_state(place, "head").read_text().split()[0], "head")


def registered(place: Path) -> None:
    clinic(place / "clinic").close()


def capped(place: Path) -> None:
    """A cap, an account of the first generation, and an answer."""
    with clinic(place / "clinic") as centre:
        centre.fix_cap(CAP)
        ada = centre.account("ada", quota=il.PureDP(1))
        ada.open(il.mechanisms.Laplace(epsilon=0.5), "people").ask(ALL_SQL)


def worked(place: Path) -> None:
    """Accounts, sessions, answers, an export; in "before" the folder as it was before."""
    with clinic(place / "clinic") as centre:
        centre.account("ada", quota=il.ZCDP(20))
        centre.account("ben", quota=il.ApproxDP(1, 1e-6))
        worker.work(centre, place / "acknowledged")
    shutil.copytree(place / "clinic", place / "before")
    (place / "export").write_text(EARLIER)


def older(place: Path) -> None:
    """An older copy was put back; the newest lies in "newest"."""
    worked(place)
    with il.open(place / "clinic") as centre:
        worker.work(centre, place / "acknowledged")
    (place / "clinic").rename(place / "newest")
    shutil.copytree(place / "before", place / "clinic")


def restored_by_half(place: Path) -> None:
    """An older copy was restored by a process that died at the commit."""
    older(place)
    assert ended(start(die, place, "restore", "restore.after-commit")) == -signal.SIGKILL


def behind(place: Path) -> None:
    """The head that was kept is an older one that the ledger goes through."""
    worked(place)
    head = _state(place, "head").read_text()
    with il.open(place / "clinic") as centre:
        worker.work(centre, place / "acknowledged")
    _state(place, "head").write_text(head)


def _shell(*arguments: object) -> None:
    shown = CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)
    if shown.exit_code:
        raise il.LedgerError(shown.output)


def fix_cap(place: Path) -> None:
    with il.open(place / "clinic") as centre:
        centre.fix_cap(CAP)


def generation(place: Path) -> None:
    with il.open(place / "clinic") as centre:
        centre.generation(GENERATION)


def rotate(place: Path) -> None:
    _shell("ledger", "rotate", place / "clinic")


def restore(place: Path) -> None:
    _shell("ledger", "restore", place / "clinic", "--yes")


def export(place: Path) -> None:
    _shell("ledger", "statement", place / "clinic", "-o", place / "export")


def reopen(place: Path) -> None:
    il.open(place / "clinic").close()


def open_session(place: Path) -> None:
    with il.open(place / "clinic") as centre:
        centre.account("ben").open(il.mechanisms.Laplace(epsilon=0.05), "people")


def ask(place: Path) -> None:
    """Ask, and keep the head after every answer, as after the second that is usual."""
    with pytest.MonkeyPatch.context() as patch, il.open(place / "clinic") as centre:
        patch.setattr(heads, "_PAUSE", 0.0)
        worker.opened(centre)["laplace"].ask(WOMEN_SQL)


# What holds after a deed that died or failed.


def cap_is_fixed_or_not(place: Path) -> None:
    with il.open(place / "clinic") as centre:
        if centre.cap is None:
            centre.fix_cap(CAP)
        assert centre.cap == CAP
        centre.account("ada", quota=il.PureDP(1))
        with pytest.raises(il.BudgetExceeded):
            centre.account("ben", quota=il.PureDP(2.5))


def generation_is_there_or_not(place: Path) -> None:
    with il.open(place / "clinic") as centre:
        names = [account.name for account in centre.accounts()]
        assert names in (["ada"], ["ada", "eve", "fay"])
        if names == ["ada"]:
            centre.generation(GENERATION)
        with pytest.raises(il.BudgetExceeded) as refusal:
            centre.account("guy", quota=il.PureDP(1))
        assert refusal.value.remaining == il.PureDP(0.5)
        eve, fay = (centre.account(name) for name in GENERATION)
        assert eve.generation == fay.generation


def all_secrets_open(place: Path) -> None:
    file = _state(place, "key")
    keys = read_keys(file.read_text().split(), "file")
    assert len(keys) in {1, 2}
    with il.open(place / "clinic") as centre:
        sealer = Sealer(centre.ledger.id, file.parent, new=False)
        sealed = [e for kind in (DATASET, SESSION) for e in centre.ledger.events(kind)]
        assert len(sealed) == 5
        assert all(sealer.unseal(event) for event in sealed)
        worker.work(centre, place / "acknowledged")
    # No key lies about that a process left there that died.
    assert sorted(path.suffix for path in file.parent.iterdir()) == [".head", ".key", ".lock"]
    assert file.stat().st_mode & 0o777 == 0o600


def is_old_or_restored(place: Path) -> None:
    newest = place / "newest" / "ledger.sqlite3"
    try:
        il.open(place / "clinic").close()
    except il.LedgerCorrupt as refused:
        assert "is missing" in str(refused)  # noqa: PT017  either is right
        assert newest.exists()
        # Nothing was done: the newest copy is as good as ever.
        shutil.copytree(place / "newest", place / "good")
        with il.open(place / "good") as centre:
            assert list(centre.ledger.events(RESTORED)) == []
            centre.audit()
        restore(place)
    with il.open(place / "clinic") as centre:
        assert len(list(centre.ledger.events(RESTORED))) == 1
        for account in centre.accounts():
            assert account.spent == account.quota
            assert all(session.left == 0 for session in account.sessions())
        with pytest.raises(il.Unproven):
            centre.account("eve", quota=il.PureDP(1))
    # From now on it is the older copies that are refused, and so is the newest.
    for copied in ("before", "newest"):
        with pytest.raises(il.LedgerCorrupt):
            il.open(place / copied)


def export_is_whole(place: Path) -> None:
    text = (place / "export").read_text()
    with il.open(place / "clinic") as centre:
        assert text in {EARLIER, centre.statement().markdown()}
        worker.work(centre, place / "acknowledged")


def head_is_one_of_the_ledgers(place: Path) -> None:
    """What the kept head misses is at most one answer, or a session that nobody was given."""
    kept = _kept(place)
    copied = shutil.copytree(place / "before", place / "put back")
    with il.open(place / "clinic") as centre:
        ledger = centre.ledger
        lost = [event for seq in (1, 2) if (event := ledger.at(kept.seq + seq)) is not None]
        assert ledger.at(kept.seq + 3) is None
        assert [event.kind for event in lost] in ([], ["answer"], [CHARGE, SESSION])
        assert {e.session for e in lost if e.kind == SESSION}.isdisjoint(
            e.session for e in ledger.events("answer")
        )
        worker.work(centre, place / "acknowledged")
    # The usual opening of the newest copy has kept its head: the older one is refused.
    with pytest.raises(il.LedgerCorrupt, match="is missing"):
        il.open(copied)


def opens_and_works(place: Path) -> None:
    with il.open(place / "clinic") as centre:
        if not centre.accounts():
            centre.account("ada", quota=il.ZCDP(20))
        if centre.datasets():
            worker.work(centre, place / "acknowledged")
    all_there = sorted(path.suffix for path in _state(place, "head").parent.iterdir())
    assert all_there == [".head", ".key", ".lock"]


@dataclass(frozen=True)
class Deed:
    """Something that is done to a place, from what on, and what holds if it died in it."""

    prepare: Callable[[Path], None]
    do: Callable[[Path], None]
    holds: Callable[[Path], None]


def _nothing(place: Path) -> None:
    (place / "clinic").mkdir()


DEEDS = {
    "cap": Deed(registered, fix_cap, cap_is_fixed_or_not),
    "generation": Deed(capped, generation, generation_is_there_or_not),
    "rotate": Deed(worked, rotate, all_secrets_open),
    "restore": Deed(older, restore, is_old_or_restored),
    "finish": Deed(restored_by_half, reopen, is_old_or_restored),
    "export": Deed(worked, export, export_is_whole),
    "found": Deed(_nothing, reopen, opens_and_works),
    "reopen": Deed(behind, reopen, opens_and_works),
    "open": Deed(worked, open_session, head_is_one_of_the_ledgers),
    "ask": Deed(worked, ask, head_is_one_of_the_ledgers),
}
_PASSING = {
    "cap": ["cap"],
    "account": ["generation"],
    "rotate": ["rotate"],
    "restore": ["restore"],
    "export": ["export"],
    "file": ["rotate", "restore", "finish", "found", "reopen"],
}
CASES = [
    (deed, point)
    for point in faults.POINTS
    for deed in (
        ["open", "ask"] if point.endswith("-overwrite") else _PASSING.get(point.split(".")[0], [])
    )
]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The place before a deed, made once, to be copied."""
    made: dict[Callable[[Path], None], Path] = {}

    def prepare(deed: str) -> Path:
        how = DEEDS[deed].prepare
        if how not in made:
            place = made[how] = tmp_path_factory.mktemp("prepared")
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("XDG_STATE_HOME", str(place / "state"))
                how(place)
        return made[how]

    return prepare


@pytest.fixture
def place(
    deed: str, prepared: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "place" / "state"))
    return Path(shutil.copytree(prepared(deed), tmp_path / "place"))


def die(place: Path, deed: str, fault: str) -> None:
    os.environ["INTERLACE_FAULT"] = fault
    DEEDS[deed].do(place)


def _holds(place: Path, deed: str) -> None:
    side = place / "acknowledged"
    # An older copy has lost answers: that it is refused is what a restoring is about.
    received = None if DEEDS[deed].prepare in (older, restored_by_half) else side
    assert check(place / "clinic", received) == []
    DEEDS[deed].holds(place)
    with il.open(place / "clinic") as centre:
        centre.audit()
    assert check(place / "clinic", received) == []


@pytest.mark.parametrize(("deed", "point"), CASES)
def test_killed_at_a_point(place: Path, deed: str, point: faults.Point) -> None:
    assert ended(start(die, place, deed, point)) == -signal.SIGKILL
    _holds(place, deed)


@pytest.mark.parametrize(("deed", "point"), CASES)
def test_a_full_disk_at_a_point(
    place: Path, deed: str, point: faults.Point, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLACE_FAULT", f"{point}:error")
    if point.endswith("-overwrite"):
        # What was committed stands: the head that is kept is older then, until the next.
        DEEDS[deed].do(place)
    else:
        with pytest.raises(il.LedgerError, match="No space left"):
            DEEDS[deed].do(place)
    monkeypatch.delenv("INTERLACE_FAULT")
    _holds(place, deed)


@pytest.mark.parametrize(("deed", "point"), CASES)
def test_interrupted_at_a_point(
    place: Path, deed: str, point: faults.Point, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLACE_FAULT", f"{point}:interrupt")
    # The shell says "Interrupted" instead.
    with pytest.raises((KeyboardInterrupt, il.LedgerError), match=r"^$|Interrupted"):
        DEEDS[deed].do(place)
    _holds(place, deed)


def test_every_point_has_a_deed_here_or_there() -> None:
    tested = {point for _, point in (*CASES, *test_faults.CASES)}
    assert tested == set(faults.POINTS)


@pytest.mark.parametrize("deed", ["export"])
def test_an_export_writes_through_a_pipe_and_keeps_a_files_mode(place: Path, deed: str) -> None:
    file = place / "export"
    file.chmod(0o640)
    DEEDS[deed].do(place)
    assert file.stat().st_mode & 0o777 == 0o640
    link = place / "link"
    link.symlink_to("export")
    _shell("ledger", "statement", place / "clinic", "--json", "-o", link)
    assert link.is_symlink()
    assert json.loads(file.read_text())["format"] == "interlace-statement/1"
    assert sorted(path.name for path in place.iterdir() if "export" in path.name) == ["export"]
    _shell("ledger", "statement", place / "clinic", "-o", "/dev/null")
    assert Path("/dev/null").is_char_device()
