"""The JSON form of finite pairs, certificates and counterexamples: writing (docs/certificates.md).

Every number is the text of a fraction; there is no float in it. Queries and responses are text,
integers, booleans, None, or tuples of these, which become lists.
"""

from __future__ import annotations

import json
from fractions import Fraction
from typing import TYPE_CHECKING

from interlace.core.errors import ParameterError
from interlace.core.finite.check import Checked, check
from interlace.core.finite.levels import Below, Both, Pair, enumerate_levels, folded

if TYPE_CHECKING:
    from interlace.core.finite.certificate import Certificate, Joint
    from interlace.core.finite.counterexample import Counterexample, Question

FORMAT, VERSION = "interlace-finite", 1
#: Readers cap numbers and texts; what would be longer is not written.
LONGEST_NUMBER = 4000
LONGEST_TEXT = 2**27
DEEPEST_LABEL = 8

Json = dict[str, object]


def write_pair(pair: Pair) -> str:
    """A pair as JSON: after each history, the probabilities of each response under both bits.

    Raises ParameterError for queries or responses that have no JSON form, and for pairs with too
    many transcripts.

    >>> from interlace.core.finite import FinitePair
    >>> from interlace.core.finite.reading import read_pair
    >>> coin = FinitePair(lambda bit, history, query: {"head": 1}, queries=["toss"], rounds=1)
    >>> read_pair(write_pair(coin)).law(1, (), "toss")
    {'head': Fraction(1, 1)}
    """
    levels = enumerate_levels(pair)

    def make(depth: int, i: int, below: Below[tuple[Both, list[Json]]]) -> tuple[Both, list[Json]]:
        m = levels[depth].joint[i]
        then = [
            _asked(pair.queries[number], [_law(y, m, child) for y, child in answers])
            for number, answers in below
        ]
        return m, then

    _, tree = folded(levels, make)
    return _text("pair", rounds=pair.rounds, queries=_labels(pair.queries), tree=tree)


def write_certificate(certificate: Certificate) -> str:
    """A certificate as JSON, as ``Certificate.to_json``."""
    return _text(
        "certificate",
        exp_epsilon=_number(certificate.exp_epsilon),
        delta=_number(certificate.delta),
        rounds=certificate.rounds,
        queries=_labels(certificate.queries),
        tree=_joint(certificate.root),
    )


def write_counterexample(found: Counterexample) -> str:
    """A counterexample as JSON, as ``Counterexample.to_json``."""
    return _text(
        "counterexample",
        exp_epsilon=_number(found.exp_epsilon),
        delta=_number(found.delta),
        rounds=found.rounds,
        bit=found.bit,
        p=_number(found.p),
        q=_number(found.q),
        strategy=_question(found.strategy),
    )


def verify(text: str, pair: Pair | None) -> Checked:
    """Have the referee check a claim that was written, against ``pair`` if one is given."""
    return check(text, None if pair is None else write_pair(pair))


def _text(kind: str, **fields: object) -> str:
    head = {"format": FORMAT, "version": VERSION, "kind": kind}
    text = json.dumps(head | fields, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    if len(text) > LONGEST_TEXT:
        raise ParameterError(
            "pair",
            f"its {kind} has more than {LONGEST_TEXT} characters: take fewer rounds, queries or "
            "responses, or shorter numbers",
        )
    return text


def _law(response: object, above: Both, child: tuple[Both, list[Json]]) -> Json:
    m, then = child
    p = [m[bit] / above[bit] if above[bit] else Fraction(0) for bit in (0, 1)]
    answer: Json = {"answer": _label(response), "p": [_number(x) for x in p]}
    return answer | {"then": then} if then else answer


def _joint(node: Joint) -> list[Json]:
    found = []
    for query, children in node.then.items():
        answers = []
        for response, child in children.items():
            answer: Json = {"answer": _label(response)}
            answer |= {"m": _both(child.m), "e": _both(child.e), "n": _both(child.n)}
            answers.append(answer | {"then": _joint(child)} if child.then else answer)
        found.append(_asked(query, answers))
    return found


def _question(question: Question) -> Json:
    answers = []
    for response, seen in question.answers.items():
        answer: Json = {"answer": _label(response), "m": _both(seen.m)}
        if seen.then is None:
            answers.append(answer | {"event": seen.event})
        else:
            answers.append(answer | {"then": _question(seen.then)})
    return _asked(question.query, answers)


def _asked(query: object, answers: list[Json]) -> Json:
    return {"query": _label(query), "answers": answers}


def _both(values: Both) -> list[str]:
    return [_number(value) for value in values]


def _number(value: Fraction) -> str:
    # Bits first: Python refuses to print integers of some thousand digits.
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 3 * LONGEST_NUMBER:
        raise ParameterError(
            "pair",
            f"its certificate holds numbers of more than {LONGEST_NUMBER} digits: give shorter "
            "probabilities, and exp_epsilon as a short fraction",
        )
    return str(value)


def _labels(labels: tuple[object, ...]) -> list[object]:
    return [_label(label) for label in labels]


def _label(label: object, depth: int = 0) -> object:
    if isinstance(label, tuple) and depth < DEEPEST_LABEL:
        return [_label(part, depth + 1) for part in label]
    if label is None or type(label) in {str, bool}:
        return label
    if type(label) is int and label.bit_length() <= 3 * LONGEST_NUMBER:
        return label
    raise ParameterError(
        "pair",
        f"a query or response that is a {type(label).__name__} has no JSON form: use text, "
        f"integers, booleans, None, or tuples of these (at most {DEEPEST_LABEL} deep)",
    )
