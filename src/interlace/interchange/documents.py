"""Guarantees and compositions as versioned JSON, exactly, and back, strictly.

Every number is the text of a rational; counts and shifts are integers. What is read is exactly
what is written: anything else is refused with the field's name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from interlace.core.composition import Batch, Composition
from interlace.core.composition.composed import LARGEST_COUNT
from interlace.core.errors import InterlaceError, ParameterError
from interlace.core.exact import LARGEST_BITS, natural
from interlace.core.guarantees import Guarantee, Relation, decode_notion, encode_notion, is_notion
from interlace.core.guarantees.enclosures import length
from interlace.core.guarantees.losses import (
    BoundedRange,
    DiscreteGaussian,
    DiscreteLaplace,
    Pair,
    PrivacyLoss,
    RandomisedResponse,
    RoundedGaussian,
    TradeOff,
)

FORMAT = "interlace-guarantee"
VERSION = 1

_RATIONAL = re.compile(r"[0-9]{1,1300}(/[0-9]{1,1300})?")
Body = dict[str, Any]

#: A loss by name: its class, its rational parameters and its integer ones, as the class takes them.
_LOSSES: Mapping[str, tuple[type[PrivacyLoss], Mapping[str, str], tuple[str, ...]]] = {
    "discrete_laplace": (DiscreteLaplace, {"scale": "scale"}, ("shift",)),
    "discrete_gaussian": (DiscreteGaussian, {"sigma": "sigma"}, ("shift",)),
    "rounded_gaussian": (RoundedGaussian, {"sigma": "sigma"}, ("shift",)),
    "randomised_response": (RandomisedResponse, {"epsilon": "epsilon0"}, ("categories",)),
    "bounded_range": (BoundedRange, {"eta": "eta"}, ()),
}


def to_json(guarantee: Guarantee) -> str:
    """A guarantee of any notion, a privacy loss, a batch or a composition as one line of JSON.

    Raises ParameterError for other guarantees and for rationals longer than 4096 bits.

    >>> json.loads(to_json(BoundedRange(0.5))) == {"format": FORMAT, "version": 1,
    ...     "loss": "bounded_range", "eta": "1/2", "relation": "add_remove"}
    True
    """
    return json.dumps({"format": FORMAT, "version": VERSION} | _encode(guarantee))


def from_json(text: str) -> Guarantee:
    """The guarantee that ``to_json`` wrote: equal to it, and of its type.

    Raises ParameterError, naming the field, for other text: another format or version, missing,
    unknown or repeated fields, numbers in another form or out of range; and RelationMismatch for a
    composition over different neighbours.

    >>> from_json(to_json(DiscreteLaplace(2.5, 3)))
    DiscreteLaplace(2.5, 3)
    """
    if not isinstance(text, str):
        raise ParameterError("text", f"must be text, not {type(text).__name__}")
    try:
        body = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except InterlaceError:
        raise
    except (ValueError, RecursionError):
        raise ParameterError("text", "must be JSON as to_json writes it") from None
    if not isinstance(body, dict) or body.pop("format", None) != FORMAT:
        raise ParameterError("format", f"must be {FORMAT}")
    version = body.pop("version", None)
    if type(version) is not int or version != VERSION:
        raise ParameterError("version", f"must be {VERSION}: others are not read here")
    return _decode(body)


def _once(pairs: list[tuple[str, Any]]) -> Body:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ParameterError("text", "must not name a field twice")
    return found


def _refuse(constant: str) -> Any:
    raise ParameterError("text", f"must not hold {constant}")


def _encode(guarantee: Guarantee) -> Body:
    relation = {"relation": guarantee.relation.value} if isinstance(guarantee, Guarantee) else {}
    if is_notion(guarantee):
        return {**encode_notion(guarantee)}
    if type(guarantee) is Composition:
        parts = [{"count": n, "guarantee": _encode(part)} for part, n in guarantee.parts]
        return {"composition": parts} | relation
    if type(guarantee) is Batch:
        # As the decimals that they print, which is how a batch reads them.
        deltas = guarantee.deltas.tolist()
        epsilons = guarantee.epsilons.tolist()
        return {"batch": list(map(repr, epsilons)), "deltas": list(map(repr, deltas))} | relation
    if type(guarantee) is Pair:
        return {"loss": "pair", "p": _texts(guarantee.p), "q": _texts(guarantee.q)} | relation
    if type(guarantee) is TradeOff:
        points = [_texts(point) for point in guarantee.points]
        return {"loss": "trade_off", "points": points} | relation
    for name, (kind, rationals, integers) in _LOSSES.items():
        if type(guarantee) is kind:
            exact = {key: _text(getattr(guarantee, own)) for key, own in rationals.items()}
            whole = {key: getattr(guarantee, key) for key in integers}
            return {"loss": name} | exact | whole | relation
    raise ParameterError(
        "guarantee", f"must be a notion, loss, batch or composition, not {type(guarantee).__name__}"
    )


def _text(value: Fraction) -> str:
    if length(value) > LARGEST_BITS:
        raise ParameterError("guarantee", f"has a rational longer than {LARGEST_BITS} bits")
    return str(value)


def _texts(values: Iterable[Fraction]) -> list[str]:
    return [_text(value) for value in values]


def _decode(body: Body) -> Guarantee:
    if "notion" in body:
        return decode_notion(body)
    found = next((read for key, read in _READERS.items() if key in body), None)
    if found is None:
        raise ParameterError("text", "must hold a notion, a loss, a batch or a composition")
    guarantee = found(body, _relation(body))
    # In one form alone: sorted, merged, in lowest terms, with no field that is not its own.
    if _encode(guarantee) != body:
        raise ParameterError("text", "must be in the form that to_json writes")
    return guarantee


def _relation(body: Body) -> Relation:
    for relation in Relation:
        if body.get("relation") == relation.value:
            return relation
    raise ParameterError("relation", f"must be one of {', '.join(r.value for r in Relation)}")


def _composition(body: Body, relation: Relation) -> Guarantee:
    found: list[tuple[Any, int]] = []
    for part in _list(body["composition"], "composition"):
        if not isinstance(part, dict) or part.keys() != {"count", "guarantee"}:
            raise ParameterError("composition", "must hold objects of a count and a guarantee")
        count = natural(part["count"], "count", maximum=LARGEST_COUNT)
        if not isinstance(part["guarantee"], dict) or "composition" in part["guarantee"]:
            raise ParameterError("guarantee", "must be a notion, a loss or a batch")
        found.append((_decode(part["guarantee"]), count))
    return Composition(tuple(found), relation)


def _batch(body: Body, relation: Relation) -> Guarantee:
    epsilons = [_float(x, "batch") for x in _list(body["batch"], "batch")]
    deltas = [_float(x, "deltas") for x in _list(body.get("deltas"), "deltas")]
    if len(deltas) > len(epsilons):
        raise ParameterError("deltas", "must not be more than the epsilons")
    return Batch(epsilons, [0.0] * (len(epsilons) - len(deltas)) + deltas, relation=relation)


def _float(text: object, name: str) -> float:
    try:
        found = float(text) if isinstance(text, str) else None
    except ValueError:
        found = None
    if found is None or repr(found) != text:
        raise ParameterError(name, "must hold the texts of floats, as Python prints them")
    return found


def _loss(body: Body, relation: Relation) -> Guarantee:
    name = body["loss"]
    if name == "pair":
        p, q = (_rationals(body.get(key), key) for key in ("p", "q"))
        return Pair(p, q, relation=relation)
    if name == "trade_off":
        points = [_rationals(x, "points") for x in _list(body.get("points"), "points")]
        return TradeOff([(x[0], x[1]) for x in points if _is_point(x)], relation=relation)
    if not isinstance(name, str) or name not in _LOSSES:
        raise ParameterError("loss", f"must be one of {', '.join((*_LOSSES, 'pair', 'trade_off'))}")
    kind, rationals, integers = _LOSSES[name]
    make: Callable[..., Guarantee] = kind
    values: list[Any] = [_rational(body.get(key), key) for key in rationals]
    values += [_integer(body.get(key), key) for key in integers]
    return make(*values, relation=relation)


def _is_point(point: list[Fraction]) -> bool:
    if len(point) != 2:
        raise ParameterError("points", "must hold pairs of numbers")
    return True


def _integer(value: object, name: str) -> int:
    if type(value) is not int:
        raise ParameterError(name, "must be an integer")
    return value


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise ParameterError(name, "must be a list")
    return value


def _rationals(value: object, name: str) -> list[Fraction]:
    return [_rational(x, name) for x in _list(value, name)]


def _rational(text: object, name: str) -> Fraction:
    # The form first: 1e999999999 is short text and a huge number.
    if not isinstance(text, str) or not _RATIONAL.fullmatch(text):
        raise ParameterError(name, "must be the text of a rational, such as 1/11")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ParameterError(name, "must be the text of a rational, such as 1/11") from None


_READERS: Mapping[str, Callable[[Body, Relation], Guarantee]] = {
    "composition": _composition,
    "batch": _batch,
    "loss": _loss,
}
