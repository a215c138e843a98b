"""Guarantees of one notion as JSON-able text and back, exactly. Compositions: see
``core.composition``, whose codec covers both."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from interlace.core.errors import ParameterError
from interlace.core.guarantees.approximate import ApproxDP
from interlace.core.guarantees.base import Guarantee, Relation
from interlace.core.guarantees.concentrated import ZCDP
from interlace.core.guarantees.pure import PureDP


def encode_notion(guarantee: Guarantee) -> dict[str, str]:
    """The guarantee as text, its parameters as exact rationals.

    Raises ParameterError for anything but PureDP, ApproxDP and ZCDP.

    >>> encode_notion(PureDP(Fraction(1, 11)))
    {'notion': 'pure', 'relation': 'add_remove', 'epsilon': '1/11'}
    """
    if isinstance(guarantee, PureDP):
        fields = {"notion": "pure", "epsilon": str(guarantee.epsilon0)}
    elif isinstance(guarantee, ApproxDP):
        fields = {
            "notion": "approximate",
            "epsilon": str(guarantee.epsilon0),
            "delta": str(guarantee.delta0),
        }
    elif isinstance(guarantee, ZCDP):
        fields = {"notion": "zcdp", "rho": str(guarantee.rho)}
    else:
        raise ParameterError("guarantee", f"must be PureDP, ApproxDP or ZCDP, got {guarantee!r}")
    notion = fields.pop("notion")
    return {"notion": notion, "relation": guarantee.relation.value, **fields}


def decode_notion(fields: Mapping[str, object]) -> PureDP | ApproxDP | ZCDP:
    """The inverse of ``encode_notion``. Raises ParameterError, naming the field.

    >>> decode_notion({"notion": "zcdp", "relation": "add_remove", "rho": "1/2"})
    ZCDP(0.5)
    """
    relation = decode_relation(fields)
    match fields.get("notion"):
        case "pure":
            return PureDP(_number(fields, "epsilon"), relation=relation)
        case "approximate":
            return ApproxDP(_number(fields, "epsilon"), _number(fields, "delta"), relation=relation)
        case "zcdp":
            return ZCDP(_number(fields, "rho"), relation=relation)
        case other:
            raise ParameterError("notion", f"must be pure, approximate or zcdp, got {other!r}")


def decode_relation(fields: Mapping[str, object]) -> Relation:
    """The field ``relation``. Raises ParameterError where it is missing or unknown."""
    try:
        return Relation(fields.get("relation"))
    except ValueError:
        names = ", ".join(r.value for r in Relation)
        raise ParameterError("relation", f"must be one of {names}") from None


def _number(fields: Mapping[str, object], name: str) -> Fraction:
    text = fields.get(name)
    if not isinstance(text, str):
        raise ParameterError(name, f"must be the text of a rational, got {text!r}")
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ParameterError(name, f"must be the text of a rational, got {text!r}") from None
