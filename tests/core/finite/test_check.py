"""The referee: it refuses every claim that its numbers do not prove, and shares no code with what
makes them."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from interlace.core.errors import CheckFailed, ParameterError
from interlace.core.finite import check as checking
from interlace.core.finite.check import check
from interlace.core.finite.pair import FinitePair
from tests.core.finite.random_pairs import (
    certificate,
    counterexample,
    least_delta,
    random_pair,
    randomised_response,
    sparse_vector,
)

RATIOS = [Fraction(1), Fraction(4, 3), Fraction(2), Fraction(7)]


def _slots(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to every number of a document."""
    if isinstance(document, dict):
        for name, value in document.items():
            if name not in {"format", "kind", "query", "answer", "queries"}:
                yield from _slots(value, (*path, name))
    elif isinstance(document, list):
        for i, value in enumerate(document):
            yield from _slots(value, (*path, i))
    elif not isinstance(document, bool):
        yield path


def _changed(text: str, path: tuple[Any, ...], change: Fraction) -> str:
    document = json.loads(text)
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    old = inner[path[-1]]
    inner[path[-1]] = old + 1 if isinstance(old, int) else str(Fraction(old) + change)
    return json.dumps(document)


CHANGES = [Fraction(1, 10**30), Fraction(-1, 1000), Fraction(1, 2)]


@pytest.mark.parametrize("seed", range(9))
def test_a_certificate_with_any_number_changed_is_refused(seed: int) -> None:
    change = CHANGES[seed % 3]
    pair = random_pair(seed, rounds=1 + (seed == 0))
    ratio = RATIOS[seed % 4]
    least = least_delta(pair, ratio)
    for delta in {least, (1 + least) / 2}:
        text = certificate(pair, ratio, delta).to_json()
        check(text)
        for path in _slots(json.loads(text)):
            try:
                claim = check(_changed(text, path, change))
            except (CheckFailed, ParameterError):
                continue
            # Only the claim itself can be changed so that the same systems prove it too.
            assert path in {("exp_epsilon",), ("delta",)}
            assert least_delta(pair, claim.exp_epsilon) <= claim.delta


@pytest.mark.parametrize("seed", range(12))
def test_a_counterexample_with_any_number_changed_is_refused(seed: int) -> None:
    change = CHANGES[seed % 3]
    pair = random_pair(seed, rounds=1 + seed % 3)
    least = least_delta(pair, RATIOS[seed % 4])
    if not least:
        pair, least = randomised_response(Fraction(8), 2), Fraction(1)
        least = least_delta(pair, RATIOS[seed % 4])
    text = counterexample(pair, RATIOS[seed % 4], least - Fraction(1, 10**40)).to_json()
    check(text)
    for path in _slots(json.loads(text)):
        try:
            claim = check(_changed(text, path, change))
        except (CheckFailed, ParameterError):
            continue
        # Only the claim itself can be changed so that the same adversary breaks it too.
        assert path in {("exp_epsilon",), ("delta",), ("rounds",)}
        assert least_delta(pair, claim.exp_epsilon) > claim.delta


def _siblings(tree: Any) -> Iterator[list[Any]]:
    """The answers to each question of the last round."""
    for question in tree:
        below = [answer["then"] for answer in question["answers"] if "then" in answer]
        yield from (row for then in below for row in _siblings(then))
        if not below:
            yield question["answers"]


def test_sums_alone_prove_nothing() -> None:
    # Mass moved between two answers: still systems, but no longer these parts of that mechanism.
    document = json.loads(certificate(sparse_vector(2), 2, Fraction(4, 63)).to_json())
    moved = 0
    for answers in _siblings(document["tree"]):
        if len(answers) < 2:
            continue
        for system in "men":
            for bit in (0, 1):
                old = [answers[i][system][bit] for i in (0, 1)]
                part = min(Fraction(x) for x in old) / 2
                answers[0][system][bit] = str(Fraction(old[0]) - part)
                answers[1][system][bit] = str(Fraction(old[1]) + part)
                if part:
                    moved += 1
                    with pytest.raises(CheckFailed, match="identity"):
                        check(json.dumps(document))
                answers[0][system][bit], answers[1][system][bit] = old
    assert moved > 50
    assert check(json.dumps(document)).kind == "certificate"
    for claim in ({"delta": "0.0634"}, {"exp_epsilon": "1.999999"}, {"exp_epsilon": "1"}):
        with pytest.raises(CheckFailed, match="identity"):
            check(json.dumps(document | claim))


def test_a_part_that_is_no_system_is_refused_where_it_has_no_weight() -> None:
    # With delta 0, e is any system; with delta 1, n is. The identity says nothing about them.
    pair = randomised_response(Fraction(3), 1)
    for delta, system in ((0, "e"), (1, "n")):
        document = json.loads(certificate(pair, 3, delta).to_json())
        answers = document["tree"][0]["answers"]
        answers[0][system], answers[1][system] = ["1/2", "1/3"], ["1/2", "2/3"]
        assert check(json.dumps(document)).kind == "certificate"
        answers[0][system], answers[1][system] = ["-1/2", "1/3"], ["3/2", "2/3"]
        with pytest.raises(CheckFailed, match=f"{system} is negative"):
            check(json.dumps(document))
        answers[0][system] = ["1/2", "1/2"]
        with pytest.raises(CheckFailed, match=f"{system} does not sum"):
            check(json.dumps(document))


def test_a_question_that_is_left_out_is_refused() -> None:
    text = certificate(sparse_vector(2), 2, Fraction(4, 63)).to_json()
    top, below = json.loads(text), json.loads(text)
    del top["tree"][1]
    del below["tree"][0]["answers"][0]["then"][3]
    for document in (top, below):
        with pytest.raises(CheckFailed, match="each query once"):
            check(json.dumps(document))


def test_a_certificate_about_another_system_is_refused() -> None:
    pair, other = randomised_response(Fraction(3), 2), randomised_response(Fraction(2), 2)
    for claim in (certificate(pair, 9, 0), counterexample(pair, 3, Fraction(0))):
        assert claim.check().system is False
        assert claim.check(pair).system is True
        with pytest.raises(CheckFailed, match="laws give"):
            claim.check(other)
        with pytest.raises(CheckFailed, match="rounds"):
            claim.check(randomised_response(Fraction(3), 3))
    renamed = FinitePair(lambda *_: {0: 1}, queries=["other"], rounds=2)
    with pytest.raises(CheckFailed, match="queries"):
        certificate(pair, 9, 0).check(renamed)
    with pytest.raises(CheckFailed, match="no law for this query"):
        counterexample(pair, 3, Fraction(0)).check(renamed)


def test_an_event_that_does_not_break_the_claim_is_refused() -> None:
    document = json.loads(
        counterexample(randomised_response(Fraction(3), 1), 2, Fraction(0)).to_json()
    )
    document["delta"] = "1/4"  # what it reaches: P = e^eps Q + delta is no violation
    with pytest.raises(CheckFailed, match="do not exceed"):
        check(json.dumps(document))
    document["delta"] = "0"
    document["strategy"]["answers"][1]["event"] = True
    with pytest.raises(CheckFailed, match="not the probabilities of the event"):
        check(json.dumps(document))


def test_an_adversary_that_asks_after_the_last_round_is_refused() -> None:
    pair = randomised_response(Fraction(3), 2)
    document = json.loads(counterexample(pair, 3, Fraction(37, 100)).to_json())
    assert check(json.dumps(document)).rounds == 2
    with pytest.raises(CheckFailed, match="after the last round"):
        check(json.dumps(document | {"rounds": 1}))


def test_a_randomised_or_repeated_choice_has_no_form() -> None:
    document = json.loads(
        counterexample(randomised_response(Fraction(3), 1), 2, Fraction(0)).to_json()
    )
    question = document["strategy"]
    document["strategy"] = [question, question]
    with pytest.raises(ParameterError, match="exactly"):
        check(json.dumps(document))
    document["strategy"] = question | {"answers": [question["answers"][0]] * 2}
    with pytest.raises(ParameterError, match="twice"):
        check(json.dumps(document))


def test_the_referee_shares_no_code_with_the_builder() -> None:
    source = ast.parse(Path(checking.__file__).read_text(encoding="utf-8"))
    found = {node.module or "" for node in ast.walk(source) if isinstance(node, ast.ImportFrom)} | {
        a.name for node in ast.walk(source) if isinstance(node, ast.Import) for a in node.names
    }
    own = {name for name in found if name.partition(".")[0] not in sys.stdlib_module_names}
    assert own == {"interlace.core.errors"}
