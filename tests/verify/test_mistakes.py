"""What a newcomer gets wrong is named, with what to give instead: no traceback from inside."""

from __future__ import annotations

import ast
import inspect
import pydoc
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import pytest

import interlace as il
from interlace.core.finite.strategy import Adversary, Ask
from interlace.core.laws import DiscreteLaplace, Point
from interlace.core.mechanisms import Laplace, SparseVector
from interlace.core.mechanisms.protocol import Add, Answer, Compare, Move, Within
from interlace.core.queries import Plan, Query
from interlace.verify import Question, report, tables
from interlace.verify import verify as function

GOOD = il.compose([il.PureDP(2)])
HALF: Any = 0.5


def _move(query: Query) -> Any:
    if query.comparison is None:
        raise il.ParameterError("at_least", "give a limit")
    return Move(query.plan, Compare(DiscreteLaplace(1)), query.comparison)


def _answer(secret: Any, outcome: tuple[int, ...]) -> Any:
    del secret
    return Answer(outcome[0] == 1)


@dataclass(frozen=True)
class Parts:
    """A mechanism whose methods are replaced one by one."""

    claims: Any = GOOD
    opens: Any = DiscreteLaplace(1)  # noqa: RUF009  a frozen value
    lefts: Any = 1
    moves: Any = _move
    answers: Any = _answer

    @property
    def guarantee(self) -> Any:
        return self.claims

    def opening(self) -> Any:
        return self.opens

    def start(self) -> int:
        return 0

    def left(self, public: int) -> Any:
        del public
        return self.lefts

    def move(self, public: int, query: Query) -> Any:
        del public
        return self.moves(query)

    def answer(self, secret: Any, public: int, query: Query, outcome: tuple[int, ...]) -> Any:
        del public, query
        return self.answers(secret, outcome)

    def after(self, public: int, query: Query, answer: Answer) -> int:
        del query, answer
        return public

    def within(self, plan: Plan, confidence: Fraction) -> Within:
        del plan
        return Within(DiscreteLaplace(1).radius(confidence))


def _fails(*_: object) -> Any:
    raise ZeroDivisionError("its own")


def _index(secret: Any, outcome: tuple[int, ...]) -> Any:
    return Answer(outcome[0] + secret[0])


def _unpack(secret: Any, outcome: tuple[int, ...]) -> Any:
    (limit,) = secret
    return Answer(outcome[0] + limit)


MISTAKEN: list[tuple[dict[str, Any], str]] = [
    ({"answers": lambda *_: None}, "Parts.answer must give Answer.*it gives None"),
    ({"answers": lambda _, outcome: outcome}, "Parts.answer must give Answer.*of type tuple"),
    ({"answers": _index}, "Parts.answer reads its secret, which is not given .* Compare"),
    ({"answers": _unpack}, "Parts.answer reads its secret, which is not given .* Compare"),
    ({"moves": lambda _: None}, r"Parts.move must give Move\(query.plan.*it gives None"),
    ({"moves": lambda q: q.plan}, r"Parts.move must give Move\(query.plan.*of type Plan"),
    ({"moves": lambda q: Move(q.plan, DiscreteLaplace(1))}, "Parts.move must give .* of type Move"),  # type: ignore[arg-type]  # wrong
    ({"moves": lambda q: Move(q.plan, Add(DiscreteLaplace))}, "Parts.move must give"),  # type: ignore[arg-type]  # wrong
    ({"claims": None}, "Parts.guarantee must give a guarantee such as il.PureDP.*None"),
    ({"claims": 1}, r"Parts.guarantee must give a guarantee .* of type int \(1\)"),
    ({"opens": None}, "Parts.opening must give a law such as .*None"),
    ({"opens": 3}, "Parts.opening must give a law such as"),
    ({"opens": Point}, "Parts.opening must give a law such as .* the class Point"),
    ({"lefts": None}, "Parts.left must give how many answers are left.*None"),
]


@pytest.mark.parametrize(("wrong", "problem"), MISTAKEN, ids=lambda x: str(x)[:30])
def test_a_malformed_mechanism_is_named_with_what_it_must_give(
    wrong: dict[str, Any], problem: str
) -> None:
    with pytest.raises(il.ParameterError, match=f"^mechanism: {problem}"):
        il.verify(replace(Parts(), **wrong), rounds=1)


def test_its_sound_form_is_verified() -> None:
    assert il.verify(Parts(), rounds=1).verdict in {"slack", "tight"}


@pytest.mark.parametrize("method", ["answers", "moves"])
def test_an_error_of_its_own_code_stays_what_it_is(method: str) -> None:
    with pytest.raises(ZeroDivisionError, match="its own"):
        il.verify(replace(Parts(), **{method: _fails}), rounds=1)


@dataclass(frozen=True)
class NoStart:
    """Forgot to write its methods."""

    start = 3
    guarantee = GOOD

    def opening(self) -> Point:
        return Point()


@dataclass(frozen=True)
class NoClaim:
    """Forgot its guarantee."""

    inner: Laplace

    def __getattr__(self, name: str) -> Any:
        if name == "guarantee":
            raise AttributeError(name)
        return getattr(self.inner, name)


def test_missing_methods_are_named() -> None:
    wrong: Any = NoStart()
    with pytest.raises(il.ParameterError, match=r"^mechanism: NoStart .* lacks start, left, after"):
        il.verify(wrong)


def test_a_missing_guarantee_may_be_given() -> None:
    wrong: Any = NoClaim(Laplace(epsilon=1))
    with pytest.raises(il.ParameterError, match=r"^mechanism: NoClaim must have a property guar"):
        il.verify(wrong)
    report = il.verify(wrong, claim=il.PureDP(1), delta=1e-9, values=[(0, 1)])
    assert report.verdict != "violated"


@pytest.mark.parametrize(
    ("mechanism", "arguments", "problem"),
    [
        (Laplace, {}, r"mechanism: must be a mechanism, not the class Laplace: call it"),
        (None, {}, "mechanism: NoneType must have the methods .* il.mechanisms.Laplace"),
        (5, {}, "mechanism: int must have the methods"),
        (Laplace(scale=1), {"claim": 3}, r"claim: must be a guarantee such as il.PureDP\(1\)"),
        (Laplace(scale=1), {"claim": "x"}, r"claim: must be a guarantee such as il.PureDP\(1\)"),
        (Laplace(scale=1), {"claim": il.PureDP}, "claim: must be .* the class PureDP"),
        (Laplace(scale=1), {"values": 5}, r"values: must be a list of pairs .*\[\(0, 1\).* int"),
        (Laplace(scale=1), {"values": "0,1"}, "values: must be a list of pairs"),
        (Laplace(scale=1), {"values": Question(0, 1)}, "values: must be a list of pairs"),
        (Laplace(scale=1), {"values": [(0, HALF)]}, r"values: must be pairs .* \(0, 0.5\) is none"),
        (Laplace(scale=1), {"values": [(0, 1), 7]}, "values: must be pairs .* 7 is none"),
    ],
    ids=lambda x: str(x)[:30],
)
def test_arguments_are_named_with_what_is_allowed(
    mechanism: Any, arguments: dict[str, Any], problem: str
) -> None:
    with pytest.raises(il.ParameterError, match=f"^{problem}"):
        il.verify(mechanism, **arguments)


def test_a_question_that_is_not_taken_is_told_with_its_reason() -> None:
    question = Question(0, 1, at_least=3)
    problem = r"values: a Laplace does not take the question \(0, 1\) >= 3 .*answers with a value"
    with pytest.raises(il.ParameterError, match=f"^{problem}"):
        il.verify(Laplace(scale=1), values=[question])


@dataclass(frozen=True)
class Counter(Parts):
    """A running total of noisy numbers: a state that what was answered stays in."""

    opens: Any = Point()  # noqa: RUF009  a frozen value
    moves: Any = lambda query: Move(query.plan, Add(DiscreteLaplace(1)))  # a field
    keeps: bool = False

    def start(self) -> Any:
        return ()

    def answer(self, secret: Any, public: Any, query: Query, outcome: tuple[int, ...]) -> Any:
        del secret, query
        return Answer(sum(public) + outcome[0])

    def after(self, public: Any, query: Query, answer: Answer) -> Any:
        del query
        return (*public, answer.value) if self.keeps else (answer.value,)


@pytest.mark.parametrize("keeps", [True, False])
def test_what_is_too_large_is_refused_before_it_is_done(*, keeps: bool) -> None:
    """Of 97 outcomes a round, 97^5 histories: five paths say so."""
    wrong = Counter(lefts=5, keeps=keeps)
    told: list[tuple[str, int, int]] = []
    with pytest.raises(il.ParameterError) as caught:
        il.verify(wrong, rounds=5, values=[(0, 1)], progress=lambda *done: told.append(done))
    problem = str(caught.value)
    assert re.search(r"^rounds: 5 rounds have about .*e\+\d\d histories, and more", problem)
    for advice in ("fewer rounds", "fewer values", "less noise"):
        assert advice in problem
    for foreign in ("hidden-state", "limit"):
        assert foreign not in problem
    assert 0 < len(told) < 100  # the tables that were built


def test_tables_are_counted_while_they_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_ENTRIES", 1000)
    with pytest.raises(il.ParameterError, match=r"^rounds: 2 rounds have probabilities, and more"):
        il.verify(Counter(lefts=2), rounds=2, values=[(0, 1)])


def test_the_walk_counts_as_the_graph_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a limit of one node less than there are, and one that just suffices."""
    report = il.verify(SparseVector(epsilon=1, cutoff=2), rounds=4)
    monkeypatch.setattr(tables, "MOST_NODES", report.nodes)
    assert il.verify(SparseVector(epsilon=1, cutoff=2), rounds=4).nodes == report.nodes
    monkeypatch.setattr(tables, "MOST_NODES", report.nodes - 1)
    with pytest.raises(il.ParameterError, match=r"^rounds: 4 of 4 rounds have about"):
        il.verify(SparseVector(epsilon=1, cutoff=2), rounds=4)


def test_a_slack_verdict_says_what_it_rests_on() -> None:
    line = "with these rounds and questions; more may come nearer to the claim"
    slack = il.verify(Laplace(epsilon=1, answers=3), rounds=1)
    assert (slack.verdict, line in str(slack)) == ("slack", True)
    tight = il.verify(Laplace(epsilon=1))
    assert (tight.verdict, line in str(tight)) == ("tight", False)


def test_the_package_that_is_called_looks_like_its_function() -> None:
    called: Any = il.verify
    assert list(inspect.signature(called).parameters)[:3] == ["mechanism", "rounds", "values"]
    assert called.__doc__ == function.__doc__
    assert "every adaptive adversary" in pydoc.render_doc(called)


def test_answers_that_lead_on_alike_are_printed_as_ranges() -> None:
    """Of all 96 outcomes or so of the second answer, nothing is asked after any."""
    shown = str(il.verify(Counter(lefts=2), rounds=2, values=[(0, 1)]))
    assert re.search(r"'-?\d+' to '-?\d+': (stop|ask)", shown)
    assert not re.search(r"('-?\d+', ){8}", shown)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("'-2', '-1', '0', '1'", "'-2' to '1'"),
        ("'1', '2', '4', '5', '6', '9'", "'1', '2', '4' to '6', '9'"),
        ("'7 or more', '3'", "'7 or more', '3'"),
        ("'3', '4', '5', '7 or more'", "'3' to '5', '7 or more'"),
    ],
)
def test_ranges_of_answers(labels: str, expected: str) -> None:
    stop = Ask("again", tuple((label, None) for label in ast.literal_eval(f"[{labels}]")))
    lines = "\n".join(report._tree(Adversary(stop, 0)))
    assert f"  {expected}: stop" in lines
