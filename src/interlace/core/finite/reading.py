"""The JSON form of finite pairs, certificates and counterexamples: reading (docs/certificates.md).

Strict: what ``documents`` cannot have written is refused, but for decimals in place of fractions
and spaces, for those who write by hand. Whether a claim is true is for ``check`` to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TypeVar

from interlace.core.errors import ParameterError
from interlace.core.finite.certificate import Certificate, Joint
from interlace.core.finite.counterexample import Counterexample, Question, Seen
from interlace.core.finite.documents import (
    DEEPEST_LABEL,
    FORMAT,
    LONGEST_NUMBER,
    LONGEST_TEXT,
    VERSION,
)
from interlace.core.finite.laws import History, Query, Response
from interlace.core.finite.levels import MOST_ROUNDS, Both
from interlace.core.finite.pair import FinitePair

_DIGITS = f"[0-9]{{1,{LONGEST_NUMBER}}}"
_NUMBER = re.compile(rf"-?{_DIGITS}(?:/{_DIGITS}|\.{_DIGITS})?")
_ZERO = Fraction(0)

T = TypeVar("T")
Fields = Mapping[str, object]
_Law = dict[Response, tuple[Both, "_Laws"]]
_Laws = dict[Query, _Law]


def read(text: str) -> FinitePair | Certificate | Counterexample:
    """Read whichever of the three the text is.

    Raises ParameterError, naming the field or the place, for anything else.
    """
    fields = _document(text)
    match fields.get("kind"):
        case "pair":
            return _pair(fields)
        case "certificate":
            return _certificate(fields)
        case "counterexample":
            return _counterexample(fields)
        case _:
            raise ParameterError("kind", "must be pair, certificate or counterexample")


def read_pair(text: str) -> FinitePair:
    """Read a pair of finite systems.

    Raises ParameterError as ``read``, and for laws that do not sum to one.
    """
    return read_as(FinitePair, text, "pair: this is a claim about one")


def read_claim(text: str) -> Certificate | Counterexample:
    """Read a certificate or a counterexample; raises as ``read``."""
    found = read(text)
    if isinstance(found, FinitePair):
        raise ParameterError("kind", "must be certificate or counterexample, not a pair")
    return found


def read_as(kind: type[T], text: str, name: str) -> T:
    """Read one of the classes; raises ParameterError, also for another kind."""
    found = read(text)
    if not isinstance(found, kind):
        raise ParameterError("kind", f"must be {name}")
    return found


def _pair(fields: Fields) -> FinitePair:
    _only(fields, "rounds queries tree", "document")
    rounds, queries = _rounds(fields), _queries(fields)
    laws = _laws(fields["tree"], "tree")

    def step(bit: int, history: History, query: Query) -> Mapping[object, object]:
        below, possible = laws, True
        for asked, response in history:
            p, below = below.get(asked, {}).get(response, ((_ZERO, _ZERO), {}))
            possible = possible and p[bit] > 0
        law = below.get(query, {})
        if not possible:
            # What is impossible may be answered in any way (FORMULAS 1.2).
            return dict.fromkeys(list(law)[:1] or [None], 1)
        return {response: p[bit] for response, (p, _) in law.items()}

    pair = FinitePair(step, queries=queries, rounds=rounds, exact=True)
    _walk(pair, laws, (), (True, True))
    return pair


def _walk(pair: FinitePair, laws: _Laws, history: History, possible: tuple[bool, bool]) -> None:
    """Have every law checked that can be needed."""
    if set(laws) != set(pair.queries):
        place = "after " + ("nothing" if not history else repr(history)[:200])
        raise ParameterError(place, "must tell one law for each query")
    for query, law in laws.items():
        for bit in (0, 1):
            if possible[bit]:
                pair.law(bit, history, query)
        for response, (p, below) in law.items():
            after = possible[0] and p[0] > 0, possible[1] and p[1] > 0
            longer = (*history, (query, response))
            if len(longer) == pair.rounds and below:
                raise ParameterError("rounds", "the tree goes deeper than there are rounds")
            if len(longer) < pair.rounds and any(after):
                _walk(pair, below, longer, after)


def _laws(tree: object, place: str) -> _Laws:
    def law(answer: Fields, at: str) -> tuple[Both, _Laws]:
        _only(answer, "answer p then" if "then" in answer else "answer p", at)
        return _both(answer["p"], at), _laws(answer.get("then", []), at)

    return _asked(tree, place, law)


def _certificate(fields: Fields) -> Certificate:
    _only(fields, "exp_epsilon delta rounds queries tree", "document")

    def joint(answer: Fields, at: str) -> Joint:
        _only(answer, "answer m e n then" if "then" in answer else "answer m e n", at)
        m, e, n = (_both(answer[name], at) for name in "men")
        return Joint(m, e, n, _asked(answer.get("then", []), at, joint))

    ratio, delta = _number(fields["exp_epsilon"], "exp_epsilon"), _number(fields["delta"], "delta")
    one = Fraction(1), Fraction(1)
    root = Joint(one, one, one, _asked(fields["tree"], "tree", joint))
    return Certificate(ratio, delta, _queries(fields), _rounds(fields), root)


def _counterexample(fields: Fields) -> Counterexample:
    _only(fields, "exp_epsilon delta rounds bit p q strategy", "document")

    def question(found: object, place: str) -> Question:
        [(query, answers)] = _asked([found], place, seen).items()
        return Question(query, answers)

    def seen(answer: Fields, at: str) -> Seen:
        if "then" in answer:
            _only(answer, "answer m then", at)
            return Seen(_both(answer["m"], at), question(answer["then"], at))
        _only(answer, "answer m event", at)
        event = answer["event"]
        if not isinstance(event, bool):
            raise ParameterError(at, "event must be true or false")
        return Seen(_both(answer["m"], at), event=event)

    numbers = [_number(fields[name], name) for name in ("exp_epsilon", "delta", "p", "q")]
    ratio, delta, p, q = numbers
    bit = fields["bit"]
    if type(bit) is not int or bit not in (0, 1):
        raise ParameterError("bit", "must be 0 or 1")
    strategy = question(fields["strategy"], "strategy")
    return Counterexample(ratio, delta, _rounds(fields), bit, p, q, strategy)


def _document(text: str) -> Fields:
    if not isinstance(text, str) or len(text) > LONGEST_TEXT:
        raise ParameterError("document", f"must be a text of at most {LONGEST_TEXT} characters")

    def whole(number: str) -> int:
        if len(number) > LONGEST_NUMBER or not number.removeprefix("-").isdecimal():
            raise ParameterError(
                "document", f"holds the number {number[:20]}: write it as text, '1/3'"
            )
        return int(number)

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ParameterError("document", "names a field twice in one object")
        return found

    try:
        fields = json.loads(
            text, object_pairs_hook=unique, parse_float=whole, parse_constant=whole, parse_int=whole
        )
    except ParameterError:
        raise
    except (ValueError, RecursionError):
        raise ParameterError("document", "is not JSON, or is nested too deep") from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise ParameterError("document", f'must be an object with "format": "{FORMAT}"')
    if type(fields.get("version")) is not int or fields["version"] != VERSION:
        raise ParameterError("version", f"must be {VERSION}")
    return {name: value for name, value in fields.items() if name not in {"format", "version"}}


def _only(fields: object, names: str, place: str) -> None:
    """Refuse an object that has other fields."""
    wanted = set(names.split()) | ({"kind"} if place == "document" else set())
    if not isinstance(fields, dict) or set(fields) != wanted:
        raise ParameterError(place, f"must be an object of exactly {', '.join(sorted(wanted))}")


def _asked(
    tree: object, place: str, make: Callable[[Fields, str], T]
) -> dict[Query, dict[Response, T]]:
    """{query: {answer: what is made of it}}; equal labels are refused, and 1 equals true."""
    found: dict[Query, dict[Response, T]] = {}
    for question in _items(tree, place):
        _only(question, "query answers", place)
        assert isinstance(question, dict)
        query = _label(question["query"], place)
        here = f"{place}/{query!r}"[:200]
        answers: dict[Response, T] = {}
        for answer in _items(question["answers"], here):
            if not isinstance(answer, dict) or "answer" not in answer:
                raise ParameterError(here, "each answer must be an object with a field answer")
            response = _label(answer["answer"], here)
            if response in answers:
                raise ParameterError(here, f"has the answer {response!r} twice")
            answers[response] = make(answer, f"{here}:{response!r}"[:200])
        if query in found:
            raise ParameterError(place, f"has the query {query!r} twice")
        found[query] = answers
    return found


def _items(found: object, place: str) -> list[object]:
    if not isinstance(found, list):
        raise ParameterError(place, "must be a list")
    return found


def _label(found: object, place: str, depth: int = 0) -> Query:
    if isinstance(found, list) and depth < DEEPEST_LABEL:
        return tuple(_label(part, place, depth + 1) for part in found)
    if found is None or isinstance(found, str | int):
        return found
    raise ParameterError(place, "a query or an answer must be text, an integer, true, false, null "
                         "or a list of these")  # fmt: skip


def _queries(fields: Fields) -> tuple[Query, ...]:
    queries = tuple(_label(item, "queries") for item in _items(fields["queries"], "queries"))
    if not queries or len(set(queries)) < len(queries):
        raise ParameterError("queries", "must name at least one query, and none twice")
    return queries


def _rounds(fields: Fields) -> int:
    rounds = fields["rounds"]
    if type(rounds) is not int or not 1 <= rounds <= MOST_ROUNDS:
        raise ParameterError("rounds", f"must be an integer between 1 and {MOST_ROUNDS}")
    return rounds


def _both(found: object, place: str) -> Both:
    values = [_number(item, place) for item in _items(found, place)]
    if len(values) != 2:
        raise ParameterError(place, "must be a list of two numbers, for bit 0 and for bit 1")
    return values[0], values[1]


def _number(found: object, place: str) -> Fraction:
    if not isinstance(found, str) or not _NUMBER.fullmatch(found):
        raise ParameterError(place, "must be the text of a number: '1/3', '0.25' or '2'")
    try:
        return Fraction(found)
    except ZeroDivisionError:
        raise ParameterError(place, "divides by zero") from None
