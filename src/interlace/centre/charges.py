"""Charges as the ledger keeps them: a guarantee, or several with their counts, exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from interlace.core.composition import Composition
from interlace.core.composition.filters import Charge
from interlace.core.errors import InterlaceError, ParameterError
from interlace.core.guarantees import decode_notion, encode_notion, is_notion
from interlace.core.guarantees.base import Relation


def encode_charge(charge: Charge) -> dict[str, Any]:
    """The charge as JSON without floats.

    >>> from interlace.core.composition import compose
    >>> from interlace.core.guarantees import PureDP
    >>> plan = compose([(PureDP(1), 2)])
    >>> decode_charge(encode_charge(plan)) == plan
    True
    """
    if not isinstance(charge, Composition):
        return {**encode_notion(charge)}
    parts = []
    for guarantee, count in charge.parts:
        assert is_notion(guarantee)  # filters charge nothing else
        parts.append({**encode_notion(guarantee), "count": str(count)})
    return {"notion": "several", "relation": charge.relation.value, "parts": parts}


def decode_charge(fields: Mapping[str, Any]) -> Charge:
    """The inverse of ``encode_charge``, of exactly what it writes.

    Raises ParameterError or RelationMismatch for anything else.
    """
    if not isinstance(fields, Mapping) or fields.get("notion") != "several":
        return decode_notion(fields)
    try:
        parts = []
        for part in fields["parts"]:
            guarantee = decode_notion({k: v for k, v in part.items() if k != "count"})
            parts.append((guarantee, int(part["count"])))
        found = Composition(tuple(parts), Relation(fields["relation"]))
    except InterlaceError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ParameterError("charge", "must be guarantees with their counts") from error
    if encode_charge(found) != fields:
        raise ParameterError("charge", "must be in the form that encode_charge writes")
    return found
