"""Many processes and threads on one centre: each thing happens once, nobody is left behind,
and the only error that reaches a caller is the one that ends the race."""

from __future__ import annotations

import copy
import itertools
import json
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import interlace as il
from tests.centre.support import ALL_SQL, clinic
from tests.centre.worker import PATIENCE, SERVER, ended, race, start, toil
from tests.checker import check

m = il.mechanisms
#: Processes, and threads in each.
CROWDS = [(8, 1), (2, 50)]


def _raced(
    place: Path, crowd: tuple[int, int], what: str, session: str | None = None
) -> list[list[list[Any]]]:
    """What each thread of each process got."""
    processes, threads = crowd
    barrier = SERVER.Barrier(processes * threads)
    outs = [place / f"out{number}" for number in range(processes)]
    racers = [start(race, place / "clinic", out, barrier, threads, what, session) for out in outs]
    assert [ended(racer) for racer in racers] == [0] * processes
    assert check(place / "clinic") == []
    return [json.loads(out.read_text(encoding="utf-8")) for out in outs]


def _flat(nested: list[list[list[Any]]]) -> list[Any]:
    return list(itertools.chain.from_iterable(itertools.chain.from_iterable(nested)))


@pytest.mark.parametrize("crowd", CROWDS)
def test_the_last_of_a_budget_goes_to_exactly_as_many_as_it_holds(
    tmp_path: Path, crowd: tuple[int, int]
) -> None:
    with clinic(tmp_path / "clinic") as centre:
        ada = centre.account("ada", quota=il.PureDP(1))
        ada.open(m.Laplace(epsilon=0.25), "people")
    won = _flat(_raced(tmp_path, crowd, "budget"))
    assert len(won) == len(set(won)) == 15  # of 0.75, each 0.05
    with il.open(tmp_path / "clinic") as centre:
        assert centre.account("ada").spent == il.PureDP(1)
        assert len(centre.account("ada").sessions()) == 16
        centre.audit()


@pytest.mark.parametrize("crowd", CROWDS)
def test_one_session_answers_each_round_once_and_each_process_has_its_share(
    tmp_path: Path, crowd: tuple[int, int]
) -> None:
    rounds = 240
    with clinic(tmp_path / "clinic") as centre:
        ada = centre.account("ada", quota=il.PureDP(1))
        session = ada.open(m.Laplace(scale=1000, answers=rounds), "people").id
    got = _raced(tmp_path, crowd, "session", session)
    assert sorted(_flat(got)) == list(range(1, rounds + 1))
    # In turn they would have the same. Without turns one of eight often had none.
    fair = rounds // crowd[0]
    assert min(len(_flat([process])) for process in got) >= fair // 2
    by = {round_: number for number, process in enumerate(got) for round_ in _flat([process])}
    runs = [len(list(run)) for _, run in itertools.groupby(by[r + 1] for r in range(rounds // 2))]
    assert max(runs) <= fair


@pytest.mark.parametrize("crowd", CROWDS)
def test_one_key_has_one_answer_and_all_get_the_same_bytes(
    tmp_path: Path, crowd: tuple[int, int]
) -> None:
    with clinic(tmp_path / "clinic") as centre:
        ada = centre.account("ada", quota=il.PureDP(1))
        session = ada.open(m.Laplace(scale=1000, answers=200), "people").id
    got = _flat(_raced(tmp_path, crowd, "key", session))
    assert len(got) == crowd[0] * crowd[1]
    assert len({tuple(answer) for answer in got}) == 1
    with il.open(tmp_path / "clinic") as centre:
        [stored] = centre.session(session).history()
        assert got[0] == [1, repr(stored)]


def _await_growth(side: Path) -> None:
    """Wait until one more answer is acknowledged."""
    size = side.stat().st_size if side.exists() else 0
    end = time.monotonic() + PATIENCE
    while not side.exists() or side.stat().st_size == size:
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("kills", [4, pytest.param(60, marks=pytest.mark.soak)])
def test_whoever_is_killed_at_any_time_takes_nothing_along(tmp_path: Path, kills: int) -> None:
    folder, side = tmp_path / "clinic", tmp_path / "acknowledged"
    with clinic(folder) as centre:
        centre.account("ada", quota=il.ZCDP(2**20))
        ada = centre.account("ada")
        sessions = [
            ada.open(m.Laplace(epsilon=1, answers=2**20), "people").id,
            ada.open(m.GuessAndCheck(epsilon=1, tolerance=300), "people").id,
        ]
    rounds = 0
    for kill in range(kills):
        workers = [start(toil, folder, side, sessions) for _ in range(3)]
        _await_growth(side)
        time.sleep(random.Random(kill).random() / 4)
        for worker in workers:
            worker.kill()
            worker.join(PATIENCE)
        assert {worker.exitcode for worker in workers} == {-signal.SIGKILL}
        assert check(folder, side) == []
        with il.open(folder) as centre:
            answers = centre.audit().answers
        assert answers > rounds
        rounds = answers


def _storm(folder: Path, session: str, forks: int) -> None:
    """Sixteen threads ask; the process forks among them, and each child asks too."""
    with il.open(folder) as centre:
        handle = centre.session(session)
        stop = threading.Event()

        def ask() -> None:
            while not stop.is_set():
                handle.ask(ALL_SQL)

        threads = [threading.Thread(target=ask) for _ in range(16)]
        for thread in threads:
            thread.start()
        statuses = []
        for _ in range(forks):
            child = os.fork()
            if child == 0:  # pragma: no cover  runs in the child
                status = 1
                try:
                    rounds = [handle.ask(ALL_SQL).round for _ in range(3)]
                    status = int(len(set(rounds)) < 3)
                finally:
                    os._exit(status)
            statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        stop.set()
        for thread in threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert statuses == [0] * forks


@pytest.mark.parametrize("forks", [4, pytest.param(60, marks=pytest.mark.soak)])
def test_forks_in_a_storm_of_threads_share_the_session(tmp_path: Path, forks: int) -> None:
    with clinic(tmp_path / "clinic") as centre:
        ada = centre.account("ada", quota=il.PureDP(1))
        session = ada.open(m.Laplace(scale=2**20, answers=2**16), "people").id
    assert ended(start(_storm, tmp_path / "clinic", session, forks)) == 0
    assert check(tmp_path / "clinic") == []
    with il.open(tmp_path / "clinic") as centre:
        history = centre.session(session).history()
        assert len(history) >= 3 * forks
        # A child that went on with its parent's drawn noise would answer the same again. Of
        # 2**21 likely values, a few hundred honest answers repeat at most a few times.
        values = [answer.value for answer in history]
        repeated = sum(left == right for left, right in itertools.pairwise(values))
        assert repeated == 0


def test_forks_while_the_first_question_loads_what_it_needs(tmp_path: Path) -> None:
    with clinic(tmp_path / "clinic") as centre:
        ada = centre.account("ada", quota=il.PureDP(1))
        session = ada.open(m.Laplace(scale=2**20, answers=2**16), "people").id
    cold = (
        "import sys, pathlib; from tests.centre.test_races import _storm; "
        "_storm(pathlib.Path(sys.argv[1]), sys.argv[2], 4)"
    )
    command = [sys.executable, "-c", cold, str(tmp_path / "clinic"), session]
    root = Path(__file__).parents[2]
    subprocess.run(command, check=True, timeout=PATIENCE, cwd=root)
    assert check(tmp_path / "clinic") == []


@pytest.mark.parametrize("attempt", [copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("of", ["centre", "account", "session"])
def test_nothing_live_is_copied(
    tmp_path: Path, attempt: Callable[[object], object], of: str
) -> None:
    with clinic(tmp_path / "clinic") as centre:
        account = centre.account("ada", quota=il.PureDP(1))
        session = account.open(m.Laplace(epsilon=0.1), "people")
        live = {"centre": centre, "account": account, "session": session}
        with pytest.raises((TypeError, AttributeError), match=r"pickle|copied|local object"):
            attempt(live[of])


def test_a_shallow_copy_is_another_handle_of_the_same(tmp_path: Path) -> None:
    with clinic(tmp_path / "clinic") as centre:
        account = centre.account("ada", quota=il.PureDP(1))
        copied = copy.copy(account)
        copied.open(m.Laplace(epsilon=0.75), "people")
        with pytest.raises(il.BudgetExceeded):
            account.open(m.Laplace(epsilon=0.75), "people")
        session = copy.copy(centre).session(account.sessions()[0].id)
        assert session.ask(ALL_SQL).round == 1
        with pytest.raises(il.SessionHalted):
            account.sessions()[0].ask(ALL_SQL)
