"""Reads what is typed for guarantees: "100x(0.1,1e-8) + 3x0.5 + zcdp(0.05) + gdp(0.2)"."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from interlace.core.errors import ParameterError
from interlace.core.guarantees import (
    TCDP,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
)

_ITEM = re.compile(
    r"(?:(?P<count>[0-9_]+)\s*[x×*]\s*)?"
    r"(?:(?P<notion>pure|approx|renyi|rdp|zcdp|tcdp|gaussian|gdp)(?:dp)?)?"
    r"\s*(?P<open>\()?\s*(?P<first>[-0-9.e/]+)\s*(?:,\s*(?P<second>[-0-9.e/]+)\s*)?(?P<close>\))?",
    re.IGNORECASE,
)

_RENYI = RenyiDP, ("alpha", "epsilon")
_GAUSSIAN = GaussianDP, ("mu",)
#: By the word and whether there is a second number: the notion, and what its numbers are.
_NOTIONS: dict[tuple[str, bool], tuple[Callable[..., Guarantee], tuple[str, ...]]] = {
    ("", False): (PureDP, ("epsilon",)),
    ("pure", False): (PureDP, ("epsilon",)),
    ("", True): (ApproxDP, ("epsilon", "delta")),
    ("approx", True): (ApproxDP, ("epsilon", "delta")),
    ("renyi", True): _RENYI,
    ("rdp", True): _RENYI,
    ("zcdp", False): (ZCDP, ("rho",)),
    ("tcdp", True): (TCDP, ("rho", "omega")),
    ("gaussian", False): _GAUSSIAN,
    ("gdp", False): _GAUSSIAN,
}


def read_expression(text: str) -> list[tuple[Guarantee, int]]:
    """The guarantees and counts of an expression.

    An item is epsilon, (epsilon,delta), zcdp(rho), gdp(mu), renyi(alpha,epsilon) or
    tcdp(rho,omega), with a count in front; items are joined by "+". What a guarantee prints,
    like ZCDP(0.1), is read too.

    Raises ParameterError with the item that cannot be read.

    >>> read_expression("2x0.5 + ApproxDP(1, 1e-9) + zcdp(1/10)")
    [(PureDP(0.5), 2), (ApproxDP(1, 1e-09), 1), (ZCDP(0.1), 1)]
    """
    return [_item(part.strip()) for part in re.split(r"(?<![eE])\+", text)]


def _item(text: str) -> tuple[Guarantee, int]:
    match = _ITEM.fullmatch(text)
    if match is None or bool(match["open"]) != bool(match["close"]):
        raise _unreadable(text)
    word, second = (match["notion"] or "").lower(), match["second"]
    found = _NOTIONS.get((word, bool(second)))
    if found is None or bool(match["open"]) != bool(word or second):
        raise _unreadable(text)
    kind, names = found
    given = [match["first"], second][: len(names)]
    numbers = [read_number(number, name) for number, name in zip(given, names, strict=True)]
    return kind(*numbers), int(match["count"] or 1)


def _unreadable(text: str) -> ParameterError:
    return ParameterError(
        "expression",
        f"cannot read {text!r}: an item is epsilon, (epsilon,delta), zcdp(rho), gdp(mu), "
        'renyi(alpha,epsilon) or tcdp(rho,omega), with a count in front like "100x"; items are '
        'joined by "+"',
    )


def read_number(text: str, name: str) -> Decimal | Fraction:
    """A number as typed, exactly: 0.1, 1e-8 or 1/3.

    Raises ParameterError, naming ``name``, for other text.
    """
    if re.fullmatch(r"[0-9]{1,1000}/[0-9]{1,1000}", text) and int(text.split("/")[1]):
        return Fraction(text)
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ParameterError(name, f"must be a number, got {text!r}") from None
