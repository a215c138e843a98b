"""A disk that is really full, and a folder that is really read-only: every call has a typed
error, nothing is drawn twice, and work goes on when the disk is well again.

The processes have a limit on the size of files, and no right to write, of their own.
"""

from __future__ import annotations

import ctypes
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

import interlace as il
from interlace.centre import Centre
from interlace.centre.noise import POOL
from interlace.cli.ledger import export
from interlace.core.laws import Joint, Law
from interlace.ledger import SQLiteLedger
from tests.centre import worker
from tests.centre.support import ALL_SQL, clinic
from tests.centre.worker import DEEDS, MECHANISMS, ask, ended, opened, start
from tests.checker import check

Limit = Callable[[Path], object]


def fill(folder: Path) -> None:
    """From now on no file of this process grows beyond a kilobyte: SQLite sees a full disk."""
    del folder
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, most))


def make_room(folder: Path) -> None:
    """Files may grow again."""
    del folder
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def _modes(folder: Path, *, file: int, directory: int) -> None:
    for place, _, names in os.walk(folder):
        for name in names:
            if not name.endswith(".duckdb"):
                Path(place, name).chmod(file)
        Path(place).chmod(directory)


def write_protect(folder: Path) -> None:
    """Take the right to write away, from root too."""
    _modes(folder, file=0o400, directory=0o500)
    if os.geteuid() == 0:
        _give_up_override()


def allow_writes(folder: Path) -> None:
    """The owner may write again; root without its privilege is an owner like any other."""
    _modes(folder, file=0o600, directory=0o700)


def _close_files(centre: Centre) -> None:
    """What is open already could be written to whatever the modes say, unlike on a disk."""
    ledger = centre.ledger
    assert isinstance(ledger, SQLiteLedger)
    ledger._connections.before_fork()
    ledger._connections.after_fork_in_parent()
    ledger._names.close()
    ledger._writer.close()


def _give_up_override() -> None:
    """Root passes by the modes of files through two capabilities, numbers 1 and 2."""
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    assert libc.capget(header, data) == 0
    data[0] &= ~0b110
    assert libc.capset(header, data) == 0


def _refusal(deed: str, centre: Centre) -> il.InterlaceError:
    with pytest.raises(il.InterlaceError) as refusal:
        DEEDS[deed](centre)
    assert not isinstance(refusal.value, il.LedgerCorrupt)
    return refusal.value


def survive(folder: Path, side: Path, limit: Limit, lift: Limit) -> None:
    """Work, try everything thrice while the disk fails, and go on when it does not."""
    drawn: list[Law | Joint] = []
    draw = POOL.draw

    def noted(law: Law | Joint) -> tuple[int, ...]:
        drawn.append(law)
        return draw(law)

    with il.open(folder) as centre:
        worker.work(centre, side)
        POOL.draw = noted  # type: ignore[method-assign]  # this process is ours
        counts = {}
        if limit is write_protect:
            _close_files(centre)
        limit(folder)
        for deed in DEEDS:
            if deed == "account":  # refused after answers anyway
                continue
            drawn.clear()
            for _ in range(3):
                kind = il.DataError if deed in ("register", "again") else il.LedgerError
                assert isinstance(_refusal(deed, centre), (kind, il.LedgerError))
            counts[deed] = len(drawn)
        with pytest.raises(il.InterlaceError):
            il.open(folder).account("ada").open(il.mechanisms.Laplace(epsilon=0.05), "people")
        lift(folder)
        for name in MECHANISMS:
            drawn.clear()
            ask(opened(centre)[name], name, ALL_SQL, "killed")
            # A full disk is noticed after the draw, a read-only one before it.
            assert (counts[name], len(drawn))[limit is not fill] > 0
            assert (counts[name], len(drawn))[limit is fill] == 0
            assert counts[name] + len(drawn) <= (2 if name == "guess" else 1)
        for deed in ("register", "again", "open", "plan", "close", "off"):
            DEEDS[deed](centre)
        worker.work(centre, side)
        centre.audit()


@pytest.mark.parametrize(
    ("limit", "lift"), [(fill, make_room), (write_protect, allow_writes)], ids=["full", "read-only"]
)
def test_a_centre_survives_its_disk(tmp_path: Path, limit: Limit, lift: Limit) -> None:
    folder, side = tmp_path / "clinic", tmp_path / "acknowledged"
    with clinic(folder) as centre:
        centre.account("ada", quota=il.ZCDP(20))
        centre.account("ben", quota=il.ApproxDP(1, 1e-6))
    assert ended(start(survive, folder, side, limit, lift)) == 0
    assert check(folder, side) == []
    with il.open(folder) as centre:
        assert [dataset.name for dataset in centre.datasets()] == ["people", "more"]
        assert len(list((folder / "snapshots").glob("*.duckdb"))) == 3  # two of the people


def survive_as_a_whole(folder: Path, side: Path, limit: Limit, lift: Limit) -> None:
    """Restore and export while the disk fails: nothing happens; and when it does not."""
    exported = side.with_name("exported")
    with il.open(folder) as centre:
        worker.work(centre, side)
    export("earlier", exported)
    limit(folder)
    with pytest.raises(il.LedgerError):
        il.restore(folder)
    if limit is fill:
        with pytest.raises(OSError, match="large"):
            export("later" * 1000, exported)
    lift(folder)
    assert exported.read_text(encoding="utf-8") == "earlier"
    with il.open(folder) as centre:
        worker.work(centre, side)
        centre.audit()
    il.restore(folder)
    with il.open(folder) as centre:
        assert {session.left for session in centre.account("ada").sessions()} == {0}
        centre.audit()


@pytest.mark.parametrize(
    ("limit", "lift"), [(fill, make_room), (write_protect, allow_writes)], ids=["full", "read-only"]
)
def test_what_is_done_to_a_whole_centre_survives_its_disk(
    tmp_path: Path, limit: Limit, lift: Limit
) -> None:
    folder, side = tmp_path / "clinic", tmp_path / "acknowledged"
    with clinic(folder) as centre:
        centre.account("ada", quota=il.ZCDP(20))
    assert ended(start(survive_as_a_whole, folder, side, limit, lift)) == 0
    assert check(folder, side) == []
    assert {path.name for path in tmp_path.iterdir()} == {"acknowledged", "clinic", "exported"}
