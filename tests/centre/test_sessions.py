"""Sessions: one answer a round, durable before it leaves, the same from everywhere."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import interlace as il
from interlace.centre.records import Round
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.ledger import ANSWER, Event
from interlace.query.parse import parse
from interlace.query.plan import Plan
from interlace.query.schema import Dataset
from tests.centre.support import ALL_SQL, PEOPLE, WOMEN, WOMEN_SQL, clinic

m = il.mechanisms
NEARLY_EXACT = 2**-20
"""A scale so small that noise is 0 but for a chance below exp(-1e6)."""


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise, so that tests of the plumbing see the exact value."""
    monkeypatch.setattr("interlace.centre.noise.POOL.draw", lambda law: (0,) * law.size)


@pytest.mark.usefixtures("exact")
def test_an_answer_carries_value_interval_and_round(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        session = centre.account("ada", quota=il.PureDP(9)).open(
            m.Laplace(scale=10, answers=3), "people"
        )
        first, second = session.ask(WOMEN_SQL), session.ask(ALL_SQL)
        assert (first.value, first.round, first.interval) == (WOMEN, 1, (WOMEN - 30, WOMEN + 30))
        assert (second.value, second.round, second.confidence) == (PEOPLE, 2, 0.95)
        assert "noise only" in str(first)
        assert session.history() == [first, second]
        assert session.left == 1


@pytest.mark.usefixtures("exact")
def test_decimals_are_answered_and_compared_in_their_own_units(tmp_path: Path) -> None:
    total = Decimal("100.00")  # 400 fees of 0.25
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(99))
        fees = "SELECT SUM(fee) FROM people"
        answer = account.open(m.Laplace(scale=1), "people").ask(fees)
        assert answer.value == total
        sieve = account.open(m.SparseVector(epsilon=1, cutoff=9, sensitivity=1000), "people")
        assert sieve.ask(fees, at_least=100).value is True
        assert sieve.ask(fees, at_least=Decimal("99.991")).value is True
        assert sieve.ask(fees, at_least=Decimal("100.001")).value is False
        assert sieve.ask(fees, at_most=Decimal("99.999")).value is False
        assert sieve.ask(fees, at_most=Decimal("100.009")).value is True
        checker = account.open(
            m.GuessAndCheck(epsilon=1, tolerance=500, sensitivity=1000), "people"
        )
        right = checker.ask(fees, guess=97.5)
        assert (right.value, right.verdict) == (Decimal("97.50"), False)
        wrong = checker.ask(fees, guess=94.99)
        assert (wrong.value, wrong.verdict) == (total, True)


def test_the_session_halts_at_its_declared_count_and_says_so(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(9))
        session = account.open(m.Laplace(epsilon=0.1, answers=2), "people")
        session.ask(ALL_SQL)
        session.ask(ALL_SQL)
        with pytest.raises(il.SessionHalted):
            session.ask(ALL_SQL)
        sieve = account.open(m.SparseVector(epsilon=5, cutoff=2), "people")
        passes = 0
        while passes < 2:
            passes += sieve.ask(ALL_SQL, at_least=350).value is True
        with pytest.raises(il.SessionHalted):
            sieve.ask(ALL_SQL, at_least=350)
        assert sieve.left == 0


def test_a_refused_question_touches_no_data_and_costs_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(9))
        laplace = account.open(m.Laplace(epsilon=0.1), "people")
        sieve = account.open(m.SparseVector(epsilon=0.1), "people")
        head = centre.ledger.head()

        def touched(*_: object) -> None:
            raise AssertionError("a refused question reached the engine or the sampler")

        monkeypatch.setattr(DuckDBEngine, "read", touched)
        monkeypatch.setattr("interlace.centre.noise.POOL.draw", touched)
        for sql in ("SELECT age FROM people", "SELECT COUNT(*) FROM nobody", "", "SELECT 1; --"):
            with pytest.raises(il.QueryRefused):
                laplace.ask(sql)
        bad: list[tuple[Any, dict[str, Any], str]] = [
            (laplace, {"at_least": 3}, "at_least"),
            (laplace, {"guess": 3}, "guess"),
            (laplace, {"key": ""}, "key"),
            (laplace, {"key": 7}, "key"),
            (sieve, {}, "at_least"),
            (sieve, {"guess": 3}, "at_least"),
            (sieve, {"at_least": float("nan")}, "at_least"),
            (sieve, {"at_least": 2**70 + 1}, "at_least"),
            (sieve, {"at_least": 1, "at_most": 2}, "at_most"),
        ]
        for session, arguments, named in bad:
            with pytest.raises(il.ParameterError, match=named):
                session.ask(ALL_SQL, **arguments)
        with pytest.raises(il.ParameterError, match="sensitivity=1000"):
            sieve.ask("SELECT SUM(fee) FROM people", at_least=1)
        assert centre.ledger.head() == head


def test_a_failing_engine_gives_one_public_error_and_the_session_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(9))
        session = account.open(m.Laplace(epsilon=0.1), "people")
        spent = account.spent
        with monkeypatch.context() as broken:

            def fail(*_: object) -> None:
                raise il.EngineError("the engine could not answer")

            broken.setattr(DuckDBEngine, "read", fail)
            with pytest.raises(il.EngineError):
                session.ask(ALL_SQL)
        assert account.spent == spent
        assert session.ask(ALL_SQL).round == 1


def test_a_key_names_one_question_and_repeats_its_answer(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(9))
        session = account.open(m.Laplace(epsilon=0.01, answers=5), "people")
        first = session.ask(ALL_SQL, key="a")
        with ThreadPoolExecutor(8) as pool:
            again = list(pool.map(lambda _: session.ask(ALL_SQL, key="a"), range(16)))
        assert all(answer == first for answer in again)
        with pytest.raises(il.KeyConflict):
            session.ask(WOMEN_SQL, key="a")
        assert session.left == 4
    with il.open(tmp_path) as centre:
        session = centre.account("ada").session(session.id)
        assert session.ask(ALL_SQL, key="a") == first
        with pytest.raises(il.KeyConflict):
            session.ask(WOMEN_SQL, key="a")


def test_one_session_asked_from_many_threads_answers_each_round_once(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(99))
        session = account.open(m.Laplace(epsilon=0.1, answers=30), "people")
        barrier = threading.Barrier(40)

        def ask(_: int) -> int | None:
            barrier.wait()
            try:
                return session.ask(ALL_SQL).round
            except il.SessionHalted:
                return None

        with ThreadPoolExecutor(40) as pool:
            rounds = list(pool.map(ask, range(40)))
        assert sorted(r for r in rounds if r is not None) == list(range(1, 31))
        assert rounds.count(None) == 10


def test_different_sessions_work_in_parallel(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        account = centre.account("ada", quota=il.PureDP(99))
        first, second = (account.open(m.Laplace(epsilon=0.1), "people") for _ in range(2))
        # While one session is held, the other answers.
        with centre.ledger.acquire(first.id), ThreadPoolExecutor(1) as pool:
            assert pool.submit(second.ask, ALL_SQL).result(timeout=60).round == 1


def test_two_handles_on_one_folder_share_a_sparse_vectors_passes(tmp_path: Path) -> None:
    with clinic(tmp_path) as one, il.open(tmp_path) as two:
        here = one.account("ada", quota=il.PureDP(99)).open(
            m.SparseVector(epsilon=20, cutoff=4), "people"
        )
        there = two.session(here.id)
        for _ in range(2):
            assert here.ask(ALL_SQL, at_least=100).value is True
            assert there.ask(ALL_SQL, at_least=100).value is True
        for handle in (here, there):
            with pytest.raises(il.SessionHalted):
                handle.ask(ALL_SQL, at_least=100)
        assert here.history() == there.history()
        assert [answer.round for answer in here.history()] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("mechanism", "arguments"),
    [
        (m.Laplace(epsilon=1, answers=9), {}),
        (m.Gaussian(rho=1, answers=9), {}),
        (m.SparseVector(epsilon=9, cutoff=9), {"at_least": 240}),
        (m.GuessAndCheck(epsilon=1, tolerance=20, cutoff=9), {"guess": 200}),
    ],
)
def test_a_restart_finds_the_same_public_state(
    tmp_path: Path, mechanism: Any, arguments: dict[str, Any]
) -> None:
    with clinic(tmp_path) as centre:
        session = centre.account("ada", quota=il.ZCDP(999)).open(mechanism, "people")
        answers = [session.ask(sql, **arguments) for sql in (WOMEN_SQL, ALL_SQL, WOMEN_SQL)]
        left, secrets = session.left, session._secrets
    with il.open(tmp_path) as centre:
        [again] = centre.account("ada").sessions()
        assert again.mechanism == mechanism
        assert again._secrets == secrets
        assert again.history() == answers
        assert again.left == left
        assert again.ask(ALL_SQL, **arguments).round == 4


def test_the_answer_is_in_the_ledger_before_it_is_returned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with clinic(tmp_path) as centre:
        session = centre.account("ada", quota=il.PureDP(9)).open(m.Laplace(epsilon=0.1), "people")
        seen: list[int] = []

        def present(*_: Any) -> None:
            seen.append(len(list(centre.ledger.events(ANSWER))))
            raise RuntimeError("the connection to the analyst broke")

        with monkeypatch.context() as broken:
            broken.setattr("interlace.centre.session.present", present)
            with pytest.raises(RuntimeError):
                session.ask(ALL_SQL)
        assert seen == [1]
        assert [answer.round for answer in session.history()] == [1]
        with pytest.raises(il.SessionHalted):
            session.ask(ALL_SQL)


def test_a_live_session_is_not_copied(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        session = centre.account("ada", quota=il.PureDP(9)).open(m.Laplace(epsilon=0.1), "people")
        for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="not copied"):
                attempt(session)


def test_a_session_belongs_to_its_account(tmp_path: Path) -> None:
    with clinic(tmp_path) as centre:
        ada = centre.account("ada", quota=il.PureDP(9))
        ben = centre.account("ben", quota=il.PureDP(9))
        session = ada.open(m.Laplace(epsilon=0.1), "people")
        with pytest.raises(il.NotFound):
            ben.session(session.id)
        assert ben.sessions() == []


def test_an_audit_that_is_broken_off_leaves_the_session_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a round would be drawn that was answered long ago."""
    with clinic(tmp_path) as centre:
        session = centre.account("ada", quota=il.PureDP(1)).open(
            m.Laplace(epsilon=0.125, answers=5), "people"
        )
        for _ in range(3):
            session.ask(ALL_SQL)
        read, left = Round.read, [1]

        def broken(event: Event) -> Round:
            if not left:
                raise KeyboardInterrupt
            left.pop()
            return read(event)

        with monkeypatch.context() as patch:
            patch.setattr(Round, "read", broken)
            with pytest.raises(KeyboardInterrupt):
                centre.audit()
        assert session.ask(ALL_SQL).round == 4
        assert session.left == 1


def test_values_are_remembered_for_one_account_and_not_beyond_the_centre(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Shared, they would tell by the time of an answer what others have asked."""
    parsed, reads = list[str](), list[Plan]()
    read = DuckDBEngine.read

    def parsing(sql: str, dataset: Dataset) -> Plan:
        parsed.append(sql)
        return parse(sql, dataset)

    def reading(engine: DuckDBEngine, plan: Plan) -> tuple[int, ...]:
        reads.append(plan)
        return read(engine, plan)

    monkeypatch.setattr("interlace.centre.datasets.parse", parsing)
    monkeypatch.setattr(DuckDBEngine, "read", reading)
    with clinic(tmp_path) as centre:
        accounts = [centre.account(name, quota=il.PureDP(1)) for name in ("ada", "ben")]
        for account in accounts:
            for _ in range(2):
                session = account.open(m.Laplace(epsilon=0.125, answers=2), "people")
                for _ in range(2):
                    session.ask(ALL_SQL)
        assert len(parsed) == len(reads) == 2
    assert centre._datasets._cache._size == 0
