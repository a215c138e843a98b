"""A fork while another thread sets DuckDB up leaves a child that can use it, too.

As a script, in a process that has not used DuckDB yet: ``test_duckdb_forks.py FOLDER``.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pandas as pd

from interlace.engines.duckdb.register import register
from interlace.query.columns import Integer
from interlace.query.schema import Dataset, Table

CHILDREN = 20
DATASET = Dataset("clinic", "id", (Table("people", {"age": Integer(0, 120)}),))
PATIENCE = 60  # seconds


def _frame(rows: int) -> pd.DataFrame:
    return pd.DataFrame({"id": range(rows), "age": [i % 100 for i in range(rows)]})


def _register(frame: pd.DataFrame, folder: Path) -> None:
    register({"people": frame}, DATASET, folder, bytes(16))


def _forked(frame: pd.DataFrame, folder: Path) -> int:
    child = os.fork()
    if child == 0:  # pragma: no cover  runs in the child
        status = 1
        try:
            _register(frame, folder)
            status = 0
        finally:
            os._exit(status)
    return child


def _storm(folder: Path) -> None:
    """Fork again and again from the moment that the first registration begins."""
    begun = threading.Event()
    large, small = _frame(100_000), _frame(50)  # what pandas sets up once is no matter of ours

    def first() -> None:
        begun.set()
        _register(large, folder / "parent")

    thread = threading.Thread(target=first)
    thread.start()
    begun.wait()
    children = []
    for number in range(CHILDREN):
        children.append(_forked(small, folder / str(number)))
        time.sleep(0.004)
    thread.join()
    assert [os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) for c in children] == [0] * CHILDREN


def test_forks_during_the_first_registration_of_another_thread(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "tests.engines.test_duckdb_forks", str(tmp_path)]
    # Its children would outlive it, if one hung: they are one group.
    storm = subprocess.Popen(command, cwd=root, start_new_session=True)
    try:
        assert storm.wait(PATIENCE) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(storm.pid, signal.SIGKILL)
        storm.wait()
    assert len(list(tmp_path.glob("*/*.duckdb"))) == CHILDREN + 1


if __name__ == "__main__":
    _storm(Path(sys.argv[1]))
