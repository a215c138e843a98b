"""Guarantees and compositions as JSON-able values and back, exactly. For ledgers."""

from __future__ import annotations

from collections.abc import Mapping

from interlace.core.composition.composed import Composition, compose
from interlace.core.errors import ParameterError
from interlace.core.guarantees import Guarantee, decode_notion, encode_notion
from interlace.core.guarantees.codec import decode_relation


def encode(guarantee: Guarantee) -> dict[str, object]:
    """The guarantee as a dict of strings and lists; its numbers are exact rationals.

    Raises ParameterError for a guarantee of an unknown notion.

    >>> from interlace.core.guarantees import PureDP
    >>> encode(compose([(PureDP(0.5), 3)]))["parts"]
    [{'notion': 'pure', 'relation': 'add_remove', 'epsilon': '1/2', 'count': '3'}]
    """
    if not isinstance(guarantee, Composition):
        return {**encode_notion(guarantee)}
    parts = [{**encode_notion(g), "count": str(n)} for g, n in guarantee.parts]
    return {"notion": "composition", "relation": guarantee.relation.value, "parts": parts}


def decode(fields: Mapping[str, object]) -> Guarantee:
    """The inverse of ``encode``: ``decode(encode(g)) == g``.

    Raises ParameterError, naming the field, for anything that ``encode`` does not write.
    """
    if not isinstance(fields, Mapping):
        raise ParameterError("guarantee", f"must be a mapping, got {fields!r}")
    if fields.get("notion") != "composition":
        return decode_notion(fields)
    parts = fields.get("parts")
    if not isinstance(parts, list) or not all(isinstance(p, Mapping) for p in parts):
        raise ParameterError("parts", "must be a list of mappings")
    relation = decode_relation(fields)
    found = compose([(decode_notion(p), _count(p)) for p in parts])
    if found.parts and found.relation is not relation:
        raise ParameterError("relation", "differs from that of the parts")
    return Composition(found.parts, relation)


def _count(fields: Mapping[str, object]) -> int:
    text = fields.get("count")
    if not isinstance(text, str) or not text.isascii() or not text.isdigit():
        raise ParameterError("count", f"must be the digits of a count, got {text!r}")
    return int(text)
