"""Checks certificates and counterexamples from their JSON form alone, in exact arithmetic.

The referee: it shares no code with what builds them and imports nothing of the package but the
errors, so that to trust a certificate one reads this file only (docs/certificates.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from interlace.core.errors import CheckFailed, ParameterError

LONGEST_TEXT = 1 << 27
_NUMBER = re.compile(r"-?[0-9]{1,4000}(/[0-9]{1,4000}|\.[0-9]{1,4000})?")
_HEAD = {"format", "version", "kind", "rounds"}
_CLAIM = _HEAD | {"exp_epsilon", "delta"}
_BITS = (0, 1)

Both = tuple[Fraction, Fraction]
Children = list[tuple[str, dict[str, Both]]]
"""Answers, and the joint functions there by their names."""
_About = tuple[set[str], list[Any]] | None  # a system's queries and laws
_ZEROS: Both = (Fraction(0), Fraction(0))
_ONE: Both = (Fraction(1), Fraction(1))


@dataclass(frozen=True)
class Checked:
    """What was verified: a "certificate" of, or a "counterexample" to (log exp_epsilon, delta);
    ``transcripts`` were looked at; ``system`` tells whether they were compared with one."""

    kind: str
    exp_epsilon: Fraction
    delta: Fraction
    rounds: int
    transcripts: int
    system: bool


def check(text: str, system: str | None = None) -> Checked:
    """Verify a certificate or counterexample; with ``system``, the JSON form of a pair, also that
    it is about that pair.

    A certificate holds when m, e and n are joint functions of systems for both bits (not
    negative, 1 at the start, children summing to their parent for every query), and
    m^b = δe^b + (1-δ)(e^ε n^b + n^(1-b))/(1+e^ε) everywhere. A counterexample holds when m is
    such a function along a deterministic strategy, and the event's probabilities satisfy
    P > e^ε Q + δ.

    Raises ParameterError for a text that is no such document, CheckFailed for one that does not
    prove its claim; both name the place.
    """
    document = _read(text, "certificate")
    kind = document.get("kind")
    if kind not in ("certificate", "counterexample"):
        raise ParameterError("kind", "must be certificate or counterexample: a pair claims nothing")
    ratio = _number(document.get("exp_epsilon"), "exp_epsilon")
    delta = _number(document.get("delta"), "delta")
    rounds = _rounds(document)
    if ratio < 1 or not 0 <= delta <= 1:
        raise CheckFailed("the claim", "exp_epsilon must be at least 1, delta between 0 and 1")
    about = None if system is None else _system(system, rounds)
    verify = _certificate if kind == "certificate" else _counterexample
    seen = verify(document, ratio, delta, about)
    return Checked(kind, ratio, delta, rounds, seen, system is not None)


def _certificate(document: dict[str, Any], ratio: Fraction, delta: Fraction, about: _About) -> int:
    _fields(document, _CLAIM | {"queries", "tree"}, "certificate")
    queries = [_label(query, "queries") for query in _list(document["queries"], "queries")]
    if about is not None and set(queries) != about[0]:
        raise CheckFailed("the queries", "are not those of the system")
    if not queries:
        raise ParameterError("queries", "must not be empty")
    rounds, seen = document["rounds"], 1
    stack: list[tuple[str, Any, dict[str, Both], int, Any]] = [
        ("", document["tree"], dict.fromkeys("men", _ONE), 0, about and about[1])
    ]
    while stack:
        place, tree, above, depth, law = stack.pop()
        asked = list(_questions(tree, f"{place}/"))
        if sorted(query for query, _ in asked) != sorted(queries):
            raise CheckFailed(f"after {place or 'nothing'}", "must answer each query once")
        for query, answers in asked:
            here = f"{place}/{query}"
            allowed = {"answer", "m", "e", "n"} | ({"then"} if depth + 1 < rounds else set())
            children = [(y, _joint(answer, allowed, at)) for y, answer, at in _each(answers, here)]
            for system in "men":
                _sums([joint[system] for _, joint in children], above[system], here, system)
            after = _compared(children, above["m"], law, query, here)
            for (label, joint), answer in zip(children, answers, strict=True):
                at = f"{here}:{label}"
                _identity(joint, ratio, delta, at)
                seen += 1
                if depth + 1 < rounds:
                    stack.append((at, answer["then"], joint, depth + 1, after.get(label)))
    return seen


def _joint(answer: dict[str, Any], allowed: set[str], place: str) -> dict[str, Both]:
    _fields(answer, allowed, place)
    return {system: _both(answer[system], place) for system in "men"}


def _identity(joint: dict[str, Both], ratio: Fraction, delta: Fraction, place: str) -> None:
    m, e, n = joint["m"], joint["e"], joint["n"]
    for b in _BITS:
        pure = (ratio * n[b] + n[1 - b]) / (1 + ratio)
        if m[b] != delta * e[b] + (1 - delta) * pure:
            raise CheckFailed(f"after {place}", f"the identity does not hold for bit {b}")


def _sums(children: list[Both], above: Both, place: str, system: str) -> None:
    for b in _BITS:
        if any(child[b] < 0 for child in children):
            raise CheckFailed(f"after {place}", f"{system} is negative for bit {b}")
        if sum((child[b] for child in children), Fraction(0)) != above[b]:
            raise CheckFailed(f"after {place}", f"{system} does not sum to what is above it")


def _counterexample(
    document: dict[str, Any], ratio: Fraction, delta: Fraction, about: _About
) -> int:
    _fields(document, _CLAIM | {"bit", "p", "q", "strategy"}, "counterexample")
    bit = document["bit"]
    if type(bit) is not int or bit not in _BITS:
        raise ParameterError("bit", "must be 0 or 1")
    event, seen = list(_ZEROS), 1
    stack: list[tuple[str, Any, Both, int, Any]] = [
        ("", document["strategy"], _ONE, 0, about and about[1])
    ]
    while stack:
        place, question, above, depth, law = stack.pop()
        if depth >= document["rounds"]:
            raise CheckFailed(f"after {place}", "asks after the last round")
        # One query after each transcript, and each transcript once: it is deterministic.
        [(query, answers)] = _questions([question], f"{place}/")
        here = f"{place}/{query}"
        children = [(y, _seen(answer, at)) for y, answer, at in _each(answers, here)]
        _sums([joint["m"] for _, joint in children], above, here, "m")
        after = _compared(children, above, law, query, here)
        for (label, joint), answer in zip(children, answers, strict=True):
            seen += 1
            if "then" in answer:
                at = f"{here}:{label}"
                stack.append((at, answer["then"], joint["m"], depth + 1, after.get(label)))
            elif answer["event"]:
                event = [event[b] + joint["m"][b] for b in _BITS]
    p, q = _number(document["p"], "p"), _number(document["q"], "q")
    if (p, q) != (event[bit], event[1 - bit]):
        raise CheckFailed("p and q", "are not the probabilities of the event")
    if not p > ratio * q + delta:
        raise CheckFailed("p and q", "do not exceed the claim: P > exp_epsilon Q + delta is false")
    return seen


def _seen(answer: dict[str, Any], place: str) -> dict[str, Both]:
    _fields(answer, {"answer", "m", "event" if "event" in answer else "then"}, place)
    if not isinstance(answer.get("event", False), bool):
        raise ParameterError(place, "event must be true or false")
    return {"m": _both(answer["m"], place)}


def _system(text: str, rounds: int) -> tuple[set[str], list[Any]]:
    """The queries and the laws that a claim is about."""
    document = _read(text, "system")
    if document.get("kind") != "pair":
        raise ParameterError("system", "must be of the kind pair")
    _fields(document, _HEAD | {"queries", "tree"}, "system")
    if _rounds(document) != rounds:
        raise CheckFailed("rounds", "are not those of the system")
    queries = [_label(query, "queries") for query in _list(document["queries"], "queries")]
    _distinct(queries, "queries")
    return set(queries), _list(document["tree"], "system")


def _compared(children: Children, above: Both, law: Any, query: str, place: str) -> dict[str, Any]:
    """Refuse unless ``m`` is what the system's law makes of ``above``; the laws further below."""
    if law is None or not any(above):
        return {}  # no system was given, or what is impossible has no law
    found = dict(_questions(law, f"system {place}"))
    if query not in found:
        raise CheckFailed(f"after {place}", "the system has no law for this query")
    expected, below = {}, {}
    for label, answer, at in _each(found[query], f"system {place}"):
        _fields(answer, {"answer", "p"} | ({"then"} & set(answer)), at)
        p = _both(answer["p"], at)
        expected[label] = p[0] * above[0], p[1] * above[1]
        below[label] = answer.get("then", [])
    possible = {label: joint["m"] for label, joint in children if any(joint["m"])}
    if possible != {label: m for label, m in expected.items() if any(m)}:
        raise CheckFailed(f"after {place}", "m is not what the system's laws give")
    return below


# Reading is strict: what is not in the form is refused, nothing is guessed.
def _read(text: str, name: str) -> dict[str, Any]:
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise ParameterError(name, f"must be a text of at most {LONGEST_TEXT} characters")

    def integer(found: str) -> int:
        if len(found) > 4000 or not found.lstrip("-").isdigit():
            raise ParameterError(name, f"holds the number {found[:20]}: write it as text, '1/3'")
        return int(found)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ParameterError(name, "names a field twice in one object")
        return dict(pairs)

    try:
        document = json.loads(
            text,
            parse_float=integer,
            parse_constant=integer,
            parse_int=integer,
            object_pairs_hook=once,
        )
    except ParameterError:
        raise
    except (ValueError, RecursionError):
        raise ParameterError(name, "is not JSON, or nested too deep") from None
    if not isinstance(document, dict) or document.get("format") != "interlace-finite":
        raise ParameterError(name, 'must be an object with "format": "interlace-finite"')
    if type(document.get("version")) is not int or document["version"] != 1:
        raise ParameterError("version", "must be 1")
    return document


def _fields(found: object, wanted: set[str], place: str) -> None:
    if not isinstance(found, dict) or found.keys() != wanted:
        raise ParameterError(place, f"must be an object of exactly {', '.join(sorted(wanted))}")


def _rounds(document: dict[str, Any]) -> int:
    rounds = document.get("rounds")
    if type(rounds) is not int or not 1 <= rounds <= 1000:
        raise ParameterError("rounds", "must be an integer between 1 and 1000")
    return rounds


def _list(found: object, place: str) -> list[Any]:
    if not isinstance(found, list):
        raise ParameterError(place, "must be a list")
    return found


def _questions(tree: object, place: str) -> Iterator[tuple[str, list[Any]]]:
    seen = []
    for question in _list(tree, place):
        _fields(question, {"query", "answers"}, place)
        seen.append(_label(question["query"], place))
        yield seen[-1], _list(question["answers"], place)
    _distinct(seen, place)


def _each(answers: list[Any], place: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    seen = []
    for answer in answers:
        if not isinstance(answer, dict) or "answer" not in answer:
            raise ParameterError(place, "each answer must be an object with a field answer")
        seen.append(_label(answer["answer"], place))
        yield seen[-1], answer, f"{place}:{seen[-1]}"
    _distinct(seen, place)


def _label(found: object, place: str, depth: int = 0) -> str:
    """A query or an answer, as its own JSON text."""
    if isinstance(found, dict) or depth > 8:
        raise ParameterError(place, "a query or an answer must not hold objects or deep lists")
    if isinstance(found, list):
        return "[" + ",".join(_label(part, place, depth + 1) for part in found) + "]"
    return json.dumps(found)


def _distinct(labels: list[str], place: str) -> None:
    if len(set(labels)) < len(labels):
        raise ParameterError(place, "names a query or an answer twice")


def _both(found: object, place: str) -> Both:
    values = _list(found, place)
    if len(values) != len(_BITS):
        raise ParameterError(place, "must be a list of two numbers, for bit 0 and bit 1")
    return _number(values[0], place), _number(values[1], place)


def _number(found: object, place: str) -> Fraction:
    if not isinstance(found, str) or not _NUMBER.fullmatch(found):
        raise ParameterError(place, "must be the text of a number: '1/3', '0.25' or '2'")
    if set(found.partition("/")[2]) == {"0"}:
        raise ParameterError(place, "divides by zero")
    return Fraction(found)
