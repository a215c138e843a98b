"""Reads what is typed for guarantees: "100x(0.1,1e-8) + 3x0.5 + zcdp(0.05)"."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from interlace.core.errors import ParameterError
from interlace.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP

_ITEM = re.compile(
    r"(?:(?P<count>[0-9_]+)\s*[x×*]\s*)?"
    r"(?:(?P<notion>pure|approx|zcdp)(?:dp)?)?"
    r"\s*(?P<open>\()?\s*(?P<first>[-0-9.e/]+)\s*(?:,\s*(?P<second>[-0-9.e/]+)\s*)?(?P<close>\))?",
    re.IGNORECASE,
)


def read_expression(text: str) -> list[tuple[Guarantee, int]]:
    """The guarantees and counts of an expression.

    An item is epsilon, (epsilon,delta) or zcdp(rho), with a count in front; items are joined
    by "+". What a guarantee prints, like ZCDP(0.1), is read too.

    Raises ParameterError with the item that cannot be read.

    >>> read_expression("2x0.5 + ApproxDP(1, 1e-9) + zcdp(1/10)")
    [(PureDP(0.5), 2), (ApproxDP(1, 1e-09), 1), (ZCDP(0.1), 1)]
    """
    return [_item(part.strip()) for part in re.split(r"(?<![eE])\+", text)]


def _item(text: str) -> tuple[Guarantee, int]:
    match = _ITEM.fullmatch(text)
    if match is None or bool(match["open"]) != bool(match["close"]):
        raise _unreadable(text)
    count = int(match["count"] or 1)
    notion, second = (match["notion"] or "").lower(), match["second"]
    if bool(match["open"]) != bool(notion or second):
        raise _unreadable(text)
    if notion == "zcdp" and not second:
        return ZCDP(read_number(match["first"], "rho")), count
    epsilon = read_number(match["first"], "epsilon")
    if second and notion in ("", "approx"):
        return ApproxDP(epsilon, read_number(second, "delta")), count
    if not second and notion in ("", "pure"):
        return PureDP(epsilon), count
    raise _unreadable(text)


def _unreadable(text: str) -> ParameterError:
    return ParameterError(
        "expression",
        f"cannot read {text!r}: an item is epsilon, (epsilon,delta) or zcdp(rho), with a count "
        'in front like "100x"; items are joined by "+"',
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
