"""Death at the worst moment: nothing overspent, one answer a round, the same threshold."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import interlace as il
from interlace.ledger import ANSWER, SESSION
from tests.centre.support import ALL_SQL, clinic

m = il.mechanisms

_VICTIM = """
import os, signal, sys
import interlace as il

centre = il.open(sys.argv[1])
session = centre.session(sys.argv[2])
append = type(centre.ledger).append

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def dying(self, *arguments, before_commit, **named):
    # The data has been read and the noise drawn; now the answer would be committed.
    if sys.argv[3] == "before":
        die()
    append(self, *arguments, before_commit=die, **named)

type(centre.ledger).append = dying
session.ask(sys.argv[4], at_least=int(sys.argv[5]))
"""


@pytest.mark.parametrize("moment", ["before", "written"])
def test_killed_between_reading_and_committing(tmp_path: Path, moment: str) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(9))
        sieve = account.open(m.SparseVector(epsilon=5, cutoff=3), "people")
        assert sieve.ask(ALL_SQL, at_least=300).value is True
        secrets, spent, history = sieve._secrets, account.spent, sieve.history()
    command = [sys.executable, "-c", _VICTIM, str(tmp_path), sieve.id, moment, ALL_SQL, "300"]
    died = subprocess.run(command, check=False, timeout=120)
    assert died.returncode == -signal.SIGKILL
    with il.open(tmp_path) as centre:
        account = centre.account("ada")
        assert account.spent == spent
        again = account.session(sieve.id)
        assert again._secrets == secrets
        assert (again.left, again.history()) == (2, history)
        assert again.ask(ALL_SQL, at_least=300).round == 2
        rounds = [event.round for event in centre.ledger.events(ANSWER, session=sieve.id)]
        assert rounds == [1, 2]
        centre.audit()


def test_killed_while_opening_charges_all_or_nothing(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        centre.account("ada", quota=il.PureDP(9))
    victim = """
import os, signal, sys
import interlace as il
import interlace.centre.account as account
account.encode_secrets = lambda secrets: os.kill(os.getpid(), signal.SIGKILL)
il.open(sys.argv[1]).account("ada").open(il.mechanisms.SparseVector(epsilon=1), "people")
"""
    command = [sys.executable, "-c", victim, str(tmp_path)]
    died = subprocess.run(command, check=False, timeout=120)
    assert died.returncode == -signal.SIGKILL
    with il.open(tmp_path) as centre:
        assert centre.account("ada").spent == il.PureDP(0)
        assert list(centre.ledger.events(SESSION)) == []
        centre.account("ada").open(m.Laplace(epsilon=9), "people")


def test_a_forked_child_and_its_parent_share_one_session(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        session = centre.account("ada", quota=il.PureDP(9)).open(
            m.Laplace(epsilon=0.01, answers=20), "people"
        )
        session.ask(ALL_SQL)
        child = os.fork()
        if child == 0:  # pragma: no cover  runs in the child
            status = 1
            try:
                for _ in range(5):
                    session.ask(ALL_SQL)
                status = 0
            finally:
                os._exit(status)
        for _ in range(5):
            session.ask(ALL_SQL)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        history = session.history()
        assert [answer.round for answer in history] == list(range(1, 12))
        # Noise pools are dropped at fork: with scale 100 the draws do not repeat in step.
        assert len({answer.value for answer in history}) > 4
        centre.audit()
