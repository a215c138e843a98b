"""The JSON form: round trips, and typed errors for everything else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.core.errors import CheckFailed, InterlaceError, ParameterError
from interlace.core.finite import documents
from interlace.core.finite.certificate import Certificate, certify
from interlace.core.finite.check import check
from interlace.core.finite.counterexample import Counterexample
from interlace.core.finite.documents import write_pair
from interlace.core.finite.laws import History
from interlace.core.finite.pair import FinitePair
from interlace.core.finite.reading import read, read_claim, read_pair
from tests.core.finite.random_pairs import least_delta, random_pair, randomised_response
from tests.effort import examples


def same_laws(one: FinitePair, other: FinitePair) -> bool:
    assert (one.queries, one.rounds) == (other.queries, other.rounds)
    stack: list[tuple[History, bool, bool]] = [((), True, True)]
    while stack:
        history, *possible = stack.pop()
        for query in one.queries:
            laws = []
            for bit in (0, 1):
                if possible[bit]:
                    laws.append(one.law(bit, history, query))
                    if laws[-1] != other.law(bit, history, query):
                        return False
                else:
                    laws.append({})
            if len(history) + 1 < one.rounds:
                stack += [
                    ((*history, (query, y)), y in laws[0], y in laws[1]) for y in laws[0] | laws[1]
                ]
    return True


@given(st.integers(0, 2**32))
@settings(max_examples=examples(30))
def test_pairs_and_claims_come_back_as_they_were(seed: int) -> None:
    pair = random_pair(seed)
    again = read_pair(write_pair(pair))
    assert same_laws(pair, again)
    assert write_pair(again) == write_pair(pair)
    least = least_delta(pair, Fraction(2))
    for delta in {least, least / 2}:
        claim = certify(pair, exp_epsilon=2, delta=delta)
        text = claim.to_json()
        found = read_claim(text)
        assert found == claim == type(claim).from_json(text)
        assert found.to_json() == text
        assert found.check(again) == claim.check(pair)
        assert "." not in text  # no number but integers and fractions


def test_labels_of_every_kind_come_back() -> None:
    labels = ["ä\u2028", "", 0, -(10**30), None, True, ("a", 2, (None, "b"))]
    chance = Fraction(1, len(labels))
    pair = FinitePair(lambda *_: dict.fromkeys(labels, chance), queries=labels, rounds=1)
    again = read_pair(write_pair(pair))
    assert again.queries == tuple(labels)
    assert list(again.law(0, (), "")) == labels
    assert check(certify(pair, exp_epsilon=1, delta=0).to_json(), write_pair(pair)).system


@pytest.mark.parametrize(
    "label",
    [0.5, b"x", frozenset(), Fraction(1, 2), 10**20000],
    ids=["float", "bytes", "set", "fraction", "a long integer"],
)
def test_labels_without_a_form_are_refused_with_advice(label: Any) -> None:
    pair = FinitePair(lambda *_: {label: 1}, queries=["q"], rounds=1)
    with pytest.raises(ParameterError, match=r"^pair: .*use text"):
        write_pair(pair)


def test_numbers_that_are_too_long_to_print_are_refused() -> None:
    tiny = Fraction(1, 3**9000)
    pair = FinitePair(lambda *_: {0: tiny, 1: 1 - tiny}, queries=["q"], rounds=1)
    with pytest.raises(ParameterError, match=r"^pair: .*digits"):
        write_pair(pair)


def test_a_text_that_would_be_too_long_to_read_is_not_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(documents, "LONGEST_TEXT", 100)
    with pytest.raises(ParameterError, match=r"^pair: its certificate has more than 100 "):
        certify(randomised_response(Fraction(3), 1), exp_epsilon=3, delta=0).to_json()


def test_by_hand_with_decimals_and_what_is_impossible_left_out() -> None:
    text = """{
      "format": "interlace-finite", "version": 1, "kind": "pair", "rounds": 2,
      "queries": ["q"],
      "tree": [{"query": "q", "answers": [
        {"answer": "a", "p": ["0.25", "0"], "then": [{"query": "q", "answers": [
          {"answer": "a", "p": ["1", "0"]}]}]},
        {"answer": "b", "p": ["0.75", "1"], "then": [{"query": "q", "answers": [
          {"answer": "a", "p": ["1/2", "0.50"]}, {"answer": "b", "p": ["1/2", "0.5"]}]}]}
      ]}]
    }"""
    pair = read_pair(text)
    assert pair.law(0, (), "q") == {"a": Fraction(1, 4), "b": Fraction(3, 4)}
    found = certify(pair, exp_epsilon=Fraction(4, 3), delta=Fraction(1, 4))
    assert isinstance(found, Certificate)
    assert check(found.to_json(), text).system


PAIR = json.loads(write_pair(randomised_response(Fraction(3), 2)))
CERTIFICATE = json.loads(
    certify(randomised_response(Fraction(3), 2), exp_epsilon=9, delta=0).to_json()
)
ATTACK = json.loads(certify(randomised_response(Fraction(3), 2), exp_epsilon=2, delta=0).to_json())
_MISSING = object()

Spot = tuple[str | int, ...]
_ANSWER: Spot = ("tree", 0, "answers", 0)
_SEEN: Spot = ("strategy", "answers", 0)


def changed(document: Any, spot: Spot, value: Any) -> str:
    copy = json.loads(json.dumps(document))
    inner = copy
    for step in spot[:-1]:
        inner = inner[step]
    if value is _MISSING:
        del inner[spot[-1]]
    else:
        inner[spot[-1]] = value
    return json.dumps(copy)


_NO_NUMBERS: list[Any] = [
    _MISSING, 1, 0.5, "x", "1/0", "1/00", "1e5", "\u0661", "", " 1", "nan", None, [], "1/-2",
]  # fmt: skip
_ANYWHERE: list[tuple[Spot, list[Any]]] = [
    (("format",), [_MISSING, 1, "other"]),
    (("version",), [_MISSING, 2, "1", True, None]),
    (("kind",), [_MISSING, "theorem", 1, []]),
    (("rounds",), [_MISSING, 0, -1, True, "2", 10**9, None]),
    (("extra",), [1]),
]
_IN_ANSWERS: list[tuple[Spot, list[Any]]] = [
    (("extra",), [1]),
    (("answer",), [_MISSING, {}, 0.5, {"a": 1}]),
    (("then",), [1, "x", {}, [1], [{}]]),
]
_OF_ONE_KIND: list[tuple[Any, Spot, list[Any]]] = [
    (PAIR, ("queries",), [_MISSING, [], ["ask", "ask"], "ask", [{}], [1.5]]),
    (PAIR, (*_ANSWER, "p"), [_MISSING, [], ["1"], ["1", "1", "1"], "1", [1, 1]]),
    (PAIR, (*_ANSWER, "p"), [["-1/4", "3/4"], ["5/4", "1"], ["1/4", "1/2"]]),
    (CERTIFICATE, ("queries",), [_MISSING, [], ["ask", "ask"], "ask", [{}], [1.5]]),
    (CERTIFICATE, (*_ANSWER, "m"), [_MISSING, [], ["1"], "1", [1, 1], [None, "1"]]),
    (ATTACK, ("bit",), [_MISSING, 2, True, "0", None]),
    (ATTACK, (*_SEEN, "event"), [1, 0, "true", None, []]),
    *((CERTIFICATE, (name,), _NO_NUMBERS) for name in ("exp_epsilon", "delta")),
    *((ATTACK, (name,), _NO_NUMBERS) for name in ("exp_epsilon", "delta", "p", "q")),
]


def malformed() -> Iterator[tuple[Any, Spot, Any]]:
    for document, answer in ((PAIR, _ANSWER), (CERTIFICATE, _ANSWER), (ATTACK, _SEEN)):
        for spot, values in _ANYWHERE:
            yield from ((document, spot, value) for value in values)
        for spot, values in _IN_ANSWERS:
            yield from ((document, (*answer, *spot), value) for value in values)
    for document, spot, values in _OF_ONE_KIND:
        yield from ((document, spot, value) for value in values)


@pytest.mark.parametrize(("document", "spot", "value"), list(malformed()))
def test_malformed_documents_end_in_a_typed_error(document: Any, spot: Spot, value: Any) -> None:
    text = changed(document, spot, value)
    with pytest.raises(ParameterError):
        read(text)
    # The referee reads by itself.
    with pytest.raises((ParameterError, CheckFailed)):
        check(json.dumps(CERTIFICATE), text) if document is PAIR else check(text)


@pytest.mark.parametrize("reader", [read, check])
@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "null", "{", "1", '"x"', "NaN", '{"a": Infinity}', "[" * 5000, "\ud800",
        '{"format": "interlace-finite", "format": "interlace-finite"}',
        '{"format": "interlace-finite", "version": 1.0, "kind": "pair"}',
        '{"format": "interlace-finite", "version": ' + "1" * 5000 + "}",
    ],
)  # fmt: skip
def test_other_texts_end_in_a_typed_error(reader: Callable[[str], object], text: str) -> None:
    with pytest.raises(ParameterError):
        reader(text)
    with pytest.raises(ParameterError):
        check(json.dumps(CERTIFICATE), text)


@pytest.mark.parametrize("reader", [read, check])
def test_texts_beyond_the_cap_are_not_parsed(reader: Callable[[Any], object]) -> None:
    with pytest.raises(ParameterError, match="characters"):
        reader(" " * (2**27 + 1))
    with pytest.raises(ParameterError, match="text"):
        reader(b"{}")


def test_an_answer_that_python_takes_for_another_is_refused() -> None:
    document = json.loads(json.dumps(PAIR))
    answers = document["tree"][0]["answers"]
    answers[0]["answer"], answers[1]["answer"] = 1, True
    with pytest.raises(ParameterError, match="twice"):
        read(json.dumps(document))


def test_a_claim_about_no_question_is_refused() -> None:
    document = CERTIFICATE | {"queries": [], "tree": []}
    for reader in (read, check):
        with pytest.raises(ParameterError, match=r"^queries"):
            reader(json.dumps(document))


@pytest.mark.parametrize("value", [1, "true", None, []])
def test_an_event_is_true_or_false(value: Any) -> None:
    spot: Spot = ("strategy", "answers", 0, "event")
    brief = json.loads(
        certify(randomised_response(Fraction(3), 1), exp_epsilon=2, delta=0).to_json()
    )
    for reader in (read, check):
        with pytest.raises(ParameterError, match="true or false"):
            reader(changed(brief, spot, value))


def test_a_query_that_is_asked_twice_is_refused() -> None:
    for document in (PAIR, CERTIFICATE):
        tree = document["tree"]
        text = json.dumps(document | {"tree": tree + tree})
        with pytest.raises(ParameterError, match="twice"):
            read(text)
        with pytest.raises((ParameterError, CheckFailed), match=r"twice|once"):
            check(text) if document is CERTIFICATE else check(json.dumps(CERTIFICATE), text)


@pytest.mark.parametrize("reader", [read, check])
def test_fields_named_twice_and_numbers_outside_a_text_are_refused(
    reader: Callable[[str], object],
) -> None:
    text = json.dumps(CERTIFICATE)
    reader(text)
    with pytest.raises(ParameterError, match="twice"):
        reader('{"delta": "0", ' + text[1:])
    for number in ("9" * 4100, "0.5", "1e3", "-Infinity"):
        with pytest.raises(ParameterError, match="holds the number"):
            reader(text.replace('"rounds": 2', f'"rounds": {number}'))


def test_a_pair_claims_nothing_and_a_claim_is_no_pair() -> None:
    with pytest.raises(ParameterError, match=r"^kind"):
        check(json.dumps(PAIR))
    with pytest.raises(ParameterError, match=r"^kind"):
        read_claim(json.dumps(PAIR))
    with pytest.raises(ParameterError, match=r"^kind"):
        read_pair(json.dumps(ATTACK))
    with pytest.raises(ParameterError, match=r"^system"):
        check(json.dumps(CERTIFICATE), json.dumps(CERTIFICATE))
    with pytest.raises(ParameterError, match=r"^kind"):
        Certificate.from_json(json.dumps(ATTACK))
    with pytest.raises(ParameterError, match=r"^kind"):
        Counterexample.from_json(json.dumps(CERTIFICATE))


def test_a_tree_that_is_too_deep_or_too_shallow_is_refused() -> None:
    shallow = changed(PAIR, (*_ANSWER, "then"), _MISSING)
    with pytest.raises(ParameterError, match="one law for each query"):
        read(shallow)
    with pytest.raises(ParameterError, match="deeper"):
        read(changed(PAIR, ("rounds",), 1))


def test_the_examples_of_the_page_hold() -> None:
    page = (Path(__file__).parents[3] / "docs" / "certificates.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    assert [check(block).kind for block in blocks] == ["certificate", "counterexample"]
    assert all(read_claim(block).check().transcripts == 3 for block in blocks)


_scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
_json = st.recursive(
    _scalars | st.floats(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip
_spots = st.sampled_from(
    [("tree",), ("queries",), ("strategy",), _ANSWER, (*_ANSWER, "p"), (*_ANSWER, "then"), _SEEN,
     (*_SEEN, "m"), (*_SEEN, "then"), ("tree", 0), ("tree", 0, "answers"), ("strategy", "answers")]
)  # fmt: skip


@given(st.sampled_from([PAIR, CERTIFICATE, ATTACK]), _spots, _json)
@settings(max_examples=examples(150))
def test_anything_put_anywhere_is_read_or_refused(document: Any, spot: Spot, value: Any) -> None:
    try:
        text = changed(document, spot, value)
    except (KeyError, TypeError):
        return  # a place of another kind of document
    for reader in (read, check, lambda text: check(json.dumps(CERTIFICATE), text)):
        try:
            reader(text)
        except InterlaceError:
            continue
