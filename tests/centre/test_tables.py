"""Answers of several numbers: groups and several items at once, from a centre on disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import interlace as il
from interlace.centre.questions import RecordedPlan
from interlace.core.laws import Joint
from interlace.core.queries import Query
from interlace.query.columns import Column
from interlace.query.parse import parse

COLUMNS: dict[str, Column] = {
    "age": il.Integer(0, 120),
    "ward": il.Category(["north", "south", "west"]),
}
FRAME = pd.DataFrame(
    {
        "id": range(600),
        "age": [i % 100 for i in range(600)],
        "ward": ["north" if i % 3 else "south" for i in range(600)],
    }
)
BY_WARD = "SELECT ward, COUNT(*) AS n, AVG(age) AS mean, STDDEV(age) AS s FROM people GROUP BY ward"


def number(value: object) -> float:
    """Of a cell that is neither a text nor a date."""
    assert isinstance(value, int | Decimal)
    return float(value)


@pytest.fixture
def centre(tmp_path: Path) -> Iterator[il.Centre]:
    with il.open(tmp_path / "centre") as opened:
        opened.register(FRAME, name="people", unit="id", columns=COLUMNS)
        opened.account("ada", quota=il.PureDP(10**9))
        yield opened


def test_every_public_group_has_a_row(centre: il.Centre) -> None:
    exact = il.mechanisms.Laplace(epsilon=10**6, answers=3)
    answer = centre.account("ada").open(exact, "people").ask(BY_WARD)
    assert [row["ward"] for row in answer.rows] == ["north", "south", "west"]
    assert [row["n"] for row in answer.rows] == [400, 200, 0]
    means = FRAME.groupby("ward").age.mean()
    assert number(answer.rows[0]["mean"]) == pytest.approx(means["north"])
    deviations = FRAME.groupby("ward").age.std()
    assert number(answer.rows[1]["s"]) == pytest.approx(deviations["south"], abs=1e-4)
    assert answer.value == tuple(row[name] for row in answer.rows for name in ("n", "mean", "s"))
    assert "north" in str(answer)
    assert 0 <= number(answer.rows[2]["mean"]) <= 120


def test_keys_are_printed_as_sql_writes_them(centre: il.Centre) -> None:
    exact = il.mechanisms.Laplace(epsilon=10**6)
    sql = "SELECT age + 2000 AS k, SUM(age * 1000) AS s FROM people GROUP BY k"
    answer = centre.account("ada").open(exact, "people").ask(sql)
    assert [line.split() for line in str(answer).splitlines()[:3]] == [
        ["k", "s"],
        ["2000", "0"],
        ["2001", "6,000"],
    ]


def test_history_shows_what_was_answered_after_a_restart(centre: il.Centre, tmp_path: Path) -> None:
    session = centre.account("ada").open(il.mechanisms.Laplace(epsilon=1, answers=3), "people")
    answers = [session.ask(BY_WARD, key="a"), session.ask("SELECT AVG(age) FROM people")]
    assert session.ask(BY_WARD, key="a") == answers[0]
    centre.close()
    with il.open(tmp_path / "centre") as again:
        recalled = again.account("ada").session(session.id)
        assert recalled.history() == answers
        assert [a.rows for a in recalled.history()] == [a.rows for a in answers]
        assert recalled.history()[0].consistent(600) == answers[0].consistent(600)
        assert again.audit().answers == 2
        assert recalled.left == 1


def test_counts_are_made_consistent_where_it_is_asked_for(centre: il.Centre) -> None:
    noisy = il.mechanisms.Laplace(epsilon=Fraction(1, 50), answers=50)
    session = centre.account("ada").open(noisy, "people")
    answers = [session.ask(BY_WARD) for _ in range(50)]
    assert any(number(row["n"]) < 0 for answer in answers for row in answer.rows)
    for answer in answers:
        fixed = answer.consistent(600)
        assert sum(number(row["n"]) for row in fixed.rows) == 600
        assert all(number(row["n"]) >= 0 for row in fixed.rows)
        assert all(number(row["n"]) >= 0 for row in answer.consistent().rows)
        assert fixed.intervals == answer.intervals
    total = session.history()[0]
    with pytest.raises(il.ParameterError, match=r"^total: "):
        total.consistent(-1)


def test_sums_have_no_counts_to_make_consistent(centre: il.Centre) -> None:
    session = centre.account("ada").open(il.mechanisms.Laplace(epsilon=1, answers=2), "people")
    with pytest.raises(il.ParameterError, match="no counts"):
        session.ask("SELECT SUM(age) FROM people").consistent()


def test_each_part_gets_its_share_of_one_answers_loss(centre: il.Centre) -> None:
    [dataset] = centre.datasets()
    plan = parse(BY_WARD, dataset)
    laplace = il.mechanisms.Laplace(epsilon=1).law(Query(plan))
    assert isinstance(laplace, Joint)
    lost = sum(
        Fraction(moved.l1) / law.law.scale  # type: ignore[attr-defined]  # vectors
        for law, (_, moved) in zip(laplace.laws, plan.shares, strict=True)
    )
    assert 0 < lost <= 1
    gaussian = il.mechanisms.Gaussian(rho=1).law(Query(plan))
    assert isinstance(gaussian, Joint)
    rho = sum(
        Fraction(moved.l2_squared) / (2 * law.law.sigma**2)  # type: ignore[attr-defined]
        for law, (_, moved) in zip(gaussian.laws, plan.shares, strict=True)
    )
    assert Fraction(99, 100) < rho <= 1


def test_a_threshold_takes_one_number(centre: il.Centre) -> None:
    session = centre.account("ada").open(il.mechanisms.SparseVector(epsilon=1), "people")
    with pytest.raises(il.ParameterError, match="one number"):
        session.ask("SELECT AVG(age) FROM people", at_least=3)
    with pytest.raises(il.QueryRefused, match="explain"):
        session.ask("EXPLAIN PRIVACY SELECT COUNT(*) FROM people")


def test_a_quantile_is_compared_with_nothing(centre: il.Centre) -> None:
    """Of one value its histogram is one count, which was compared in its place."""
    of_one = "SELECT MEDIAN(age) FROM people WHERE age = 5"
    account = centre.account("ada")
    vector = account.open(il.mechanisms.SparseVector(epsilon=1), "people")
    guessing = account.open(il.mechanisms.GuessAndCheck(epsilon=1, tolerance=3), "people")
    laplace = account.open(il.mechanisms.Laplace(epsilon=1), "people")
    for sql in (of_one, "SELECT QUANTILE(6, 0.5) FROM people", "SELECT MEDIAN(age) FROM people"):
        for session, number in ((vector, "at_least"), (vector, "at_most"), (guessing, "guess")):
            with pytest.raises(il.ParameterError, match=f"{number}.*quantile"):
                session.ask(sql, **{number: 3})  # type: ignore[arg-type]  # not key=
    assert laplace.ask(of_one).value == 5


def test_accuracy_and_explanation_agree(centre: il.Centre) -> None:
    session = centre.account("ada").open(il.mechanisms.Laplace(epsilon=1), "people")
    accuracy, explained = session.accuracy(BY_WARD), session.explain("EXPLAIN PRIVACY " + BY_WARD)
    assert accuracy.radius == explained.prices[0].radius
    assert len(explained.parts) == 3
    single = session.accuracy("SELECT COUNT(*) FROM people")
    assert (single.radius,) == session.explain("SELECT COUNT(*) FROM people").prices[0].radius


def test_what_older_ledgers_hold_of_a_plan_is_still_read() -> None:
    body = {"size": 1, "sensitivity": [1, 60, 3600, 60], "monotone": True, "digits": 2}
    plan = RecordedPlan.read(body)
    assert plan.shares == ((1, plan.sensitivity),)
    assert plan.shape.scalar
    assert RecordedPlan.read(json.loads(json.dumps(plan.body()))) == plan
