"""What callers hand in: refused at once, by name, with nothing written."""

from __future__ import annotations

import decimal
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import interlace as il
from interlace.centre import Centre
from tests.centre.support import ALL_SQL, clinic, people

m = il.mechanisms
_BAD_NAMES: list[Any] = [None, 7, "", "x" * 201, "a\0b", "a\nb", "\ud800", "e\u0301", ["x"], 2**70]


@pytest.fixture
def centre(tmp_path: Path) -> Any:
    with clinic(tmp_path) as opened:
        opened.account("ada", quota=il.PureDP(9)).open(m.Laplace(epsilon=0.1), "people")
        yield opened


@pytest.mark.parametrize("bad", _BAD_NAMES)
@pytest.mark.parametrize(
    "call",
    [
        lambda c, bad: c.account(bad),
        lambda c, bad: c.account(bad, quota=il.PureDP(1)),
        lambda c, bad: c.session(bad),
        lambda c, bad: c.account("ada").session(bad),
        lambda c, bad: c.account("ada").open(m.Laplace(epsilon=0.1), bad),
        lambda c, bad: c.guarantee([bad]),
        lambda c, bad: c.account("ada").sessions()[0].ask(ALL_SQL, key=bad or ""),
    ],
)
def test_a_name_that_is_none_is_refused_and_nothing_is_written(
    centre: Centre, call: Callable[[Centre, Any], object], bad: Any
) -> None:
    before = centre.ledger.head()
    with pytest.raises((il.ParameterError, il.NotFound)):
        call(centre, bad)
    assert centre.ledger.head() == before
    assert centre.account("ada").spent == il.PureDP(0.1)


def test_a_coalition_is_a_list_of_names(centre: Centre) -> None:
    for bad in ("ada", 5, centre.account("ada"), [centre.account("ada")]):
        with pytest.raises(il.ParameterError, match="coalition"):
            centre.guarantee(bad)  # type: ignore[arg-type]  # on purpose


def test_a_quota_must_promise_something(centre: Centre) -> None:
    for bad in (1.0, "basic", il.compose([il.PureDP(1)]), il.ApproxDP(1e-6, 1)):
        with pytest.raises(il.ParameterError, match="quota"):
            centre.account("ben", quota=bad)  # type: ignore[arg-type]  # on purpose


def test_a_question_is_text(centre: Centre) -> None:
    [session] = centre.account("ada").sessions()
    for bad in (None, 5, [ALL_SQL], b"SELECT"):
        with pytest.raises(il.ParameterError, match="sql"):
            session.ask(bad)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(il.QueryRefused):
        session.ask(f"{ALL_SQL}\0")
    with pytest.raises(il.ParameterError, match="sql"):
        session.ask('SELECT COUNT(*) AS "\ud800" FROM people')
    assert session.left == 1


def test_what_is_charged_is_what_is_served(centre: Centre) -> None:
    mechanism = m.Laplace(epsilon=1)
    # A claim slipped into the object's cache does not reach the account.
    mechanism.__dict__["guarantee"] = il.compose([])
    session = centre.account("ada").open(mechanism, "people")
    assert session.charge == il.PureDP(1)


def test_registering_refuses_arguments_that_it_would_not_use(
    centre: Centre, tmp_path: Path
) -> None:
    declaration = tmp_path / "clinic.toml"
    declaration.write_text("")
    for name, value in {"name": "x", "unit": "id", "columns": {}, "rows_per_unit": 2}.items():
        arguments: dict[str, Any] = {name: value}
        with pytest.raises(il.ParameterError, match=name):
            centre.register(declaration, **arguments)
    with pytest.raises(il.ParameterError, match="tables"):
        centre.register(people(), name="x", unit="id", columns={}, tables={})
    bad: Any = ["age"]
    with pytest.raises(il.ParameterError, match="columns"):
        centre.register(people(), name="x", unit="id", columns=bad)


def test_answers_do_not_depend_on_the_callers_decimal_context(
    centre: Centre, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("interlace.centre.noise.POOL.draw", lambda law: (-123456789,) * law.size)
    session = centre.account("ada").open(m.Laplace(epsilon=0.1), "people")
    hostile = decimal.Context(prec=2, traps=[decimal.Inexact, decimal.FloatOperation])
    with decimal.localcontext(hostile):
        answer = session.ask("SELECT SUM(fee) FROM people")
    assert str(answer.value) == "-1234467.89"  # 100.00 - 1234567.89
    assert session.history() == [answer]
    assert float(answer) == -1234467.89


def test_a_folder_of_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(il.LedgerError, match="other files"):
        il.open(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
    bad: Any
    for bad in (None, 7, "a\0b"):
        with pytest.raises((il.ParameterError, il.LedgerError)):
            il.open(bad)


def test_after_close_everything_says_so(tmp_path: Path) -> None:
    centre = clinic(tmp_path)
    session = centre.account("ada", quota=il.PureDP(9)).open(m.Laplace(epsilon=0.1), "people")
    centre.close()
    for call in (lambda: session.ask(ALL_SQL), centre.accounts, centre.guarantee):
        with pytest.raises(il.LedgerError, match="closed"):
            call()


def test_errors_travel_between_processes() -> None:
    refusal = il.BudgetExceeded(il.PureDP(1), il.PureDP(2), il.PureDP(0))
    for error in (refusal, il.ParameterError("name", "is wrong"), il.NotFound("x")):
        again = pickle.loads(pickle.dumps(error))  # noqa: S301  our own bytes
        assert type(again) is type(error)
        assert str(again) == str(error)
        assert again.__dict__ == error.__dict__
