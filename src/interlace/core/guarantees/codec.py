"""Guarantees of one notion as JSON-able text and back, exactly. For ledgers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from interlace.core.errors import ParameterError
from interlace.core.guarantees.approximate import ApproxDP
from interlace.core.guarantees.base import Relation
from interlace.core.guarantees.concentrated import ZCDP
from interlace.core.guarantees.gaussian import GaussianDP
from interlace.core.guarantees.notion import Notion
from interlace.core.guarantees.pure import PureDP
from interlace.core.guarantees.renyi import RenyiDP
from interlace.core.guarantees.truncated import TCDP

#: A rational as ``str(Fraction)`` writes it, no longer than a parameter may be.
_RATIONAL = re.compile(r"-?[0-9]{1,1300}(/[0-9]{1,1300})?")

#: What a notion is called, and under which names its parameters are written.
_NOTIONS: Mapping[str, tuple[type[Notion], Mapping[str, str]]] = {
    "pure": (PureDP, {"epsilon": "epsilon0"}),
    "approximate": (ApproxDP, {"epsilon": "epsilon0", "delta": "delta0"}),
    "renyi": (RenyiDP, {"alpha": "alpha", "epsilon": "epsilon0"}),
    "zcdp": (ZCDP, {"rho": "rho"}),
    "tcdp": (TCDP, {"rho": "rho", "omega": "omega"}),
    "gaussian": (GaussianDP, {"mu": "mu"}),
}


def encode_notion(guarantee: Notion) -> dict[str, str]:
    """The guarantee as text, its parameters as exact rationals.

    Raises ParameterError for anything but a guarantee of a known notion.

    >>> encode_notion(PureDP(Fraction(1, 11)))
    {'notion': 'pure', 'relation': 'add_remove', 'epsilon': '1/11'}
    """
    for notion, (kind, names) in _NOTIONS.items():
        if type(guarantee) is kind:
            texts = {name: str(getattr(guarantee, own)) for name, own in names.items()}
            return {"notion": notion, "relation": guarantee.relation.value, **texts}
    known = ", ".join(kind.__name__ for kind, _ in _NOTIONS.values())
    raise ParameterError("guarantee", f"must be one of {known}, not {type(guarantee).__name__}")


def decode_notion(fields: Mapping[str, object]) -> Notion:
    """The inverse of ``encode_notion``, of exactly what it writes.

    Raises ParameterError, naming the field, for anything else: other fields, an unknown
    notion or relation, a number that is not the text of a fraction in lowest terms.

    >>> decode_notion({"notion": "zcdp", "relation": "add_remove", "rho": "1/2"})
    ZCDP(0.5)
    """
    if not isinstance(fields, Mapping):
        raise ParameterError("guarantee", f"must be a mapping, not {type(fields).__name__}")
    relation, notion = _relation(fields), fields.get("notion")
    if not isinstance(notion, str) or notion not in _NOTIONS:
        raise ParameterError("notion", f"must be one of {', '.join(_NOTIONS)}")
    kind, names = _NOTIONS[notion]
    found: Notion = kind(*(_number(fields, name) for name in names), relation=relation)
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
