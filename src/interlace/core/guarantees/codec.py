"""Guarantees of one notion as JSON-able text and back, exactly. For ledgers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from interlace.core.errors import ParameterError
from interlace.core.guarantees.approximate import ApproxDP
from interlace.core.guarantees.base import Relation
from interlace.core.guarantees.concentrated import ZCDP
from interlace.core.guarantees.notion import Notion
from interlace.core.guarantees.pure import PureDP

#: A rational as ``str(Fraction)`` writes it, no longer than a parameter may be.
_RATIONAL = re.compile(r"-?[0-9]{1,1300}(/[0-9]{1,1300})?")


def encode_notion(guarantee: Notion) -> dict[str, str]:
    """The guarantee as text, its parameters as exact rationals.

    Raises ParameterError for anything but PureDP, ApproxDP and ZCDP.

    >>> encode_notion(PureDP(Fraction(1, 11)))
    {'notion': 'pure', 'relation': 'add_remove', 'epsilon': '1/11'}
    """
    match guarantee:
        case PureDP():
            notion, numbers = "pure", {"epsilon": guarantee.epsilon0}
        case ApproxDP():
            notion = "approximate"
            numbers = {"epsilon": guarantee.epsilon0, "delta": guarantee.delta0}
        case ZCDP():
            notion, numbers = "zcdp", {"rho": guarantee.rho}
        case _:
            raise ParameterError(
                "guarantee", f"must be PureDP, ApproxDP or ZCDP, not {type(guarantee).__name__}"
            )
    texts = {name: str(number) for name, number in numbers.items()}
    return {"notion": notion, "relation": guarantee.relation.value, **texts}


def decode_notion(fields: Mapping[str, object]) -> Notion:
    """The inverse of ``encode_notion``, of exactly what it writes.

    Raises ParameterError, naming the field, for anything else: other fields, an unknown
    notion or relation, a number that is not the text of a fraction in lowest terms.

    >>> decode_notion({"notion": "zcdp", "relation": "add_remove", "rho": "1/2"})
    ZCDP(0.5)
    """
    if not isinstance(fields, Mapping):
        raise ParameterError("guarantee", f"must be a mapping, not {type(fields).__name__}")
    relation = _relation(fields)
    found: Notion
    match fields.get("notion"):
        case "pure":
            found = PureDP(_number(fields, "epsilon"), relation=relation)
        case "approximate":
            epsilon, delta = _number(fields, "epsilon"), _number(fields, "delta")
            found = ApproxDP(epsilon, delta, relation=relation)
        case "zcdp":
            found = ZCDP(_number(fields, "rho"), relation=relation)
        case _:
            raise ParameterError("notion", "must be pure, approximate or zcdp")
    written = encode_notion(found)
    for name in fields:
        if name not in written:
            raise ParameterError("guarantee", f"has more fields than {', '.join(written)}")
        if fields[name] != written[name]:
            raise ParameterError(name, "must be a fraction in lowest terms")
    return found


def _relation(fields: Mapping[str, object]) -> Relation:
    text = fields.get("relation")
    for relation in Relation:
        if text == relation.value:
            return relation
    raise ParameterError("relation", f"must be one of {', '.join(r.value for r in Relation)}")


def _number(fields: Mapping[str, object], name: str) -> Fraction:
    text = fields.get(name)
    # The form first: 1e999999999 is short text and a huge number.
    if not isinstance(text, str) or not _RATIONAL.fullmatch(text):
        raise ParameterError(name, "must be the text of a rational, such as 1/11")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ParameterError(name, "must be the text of a rational, such as 1/11") from None
