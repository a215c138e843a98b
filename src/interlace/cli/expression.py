"""Reads what is typed for guarantees: "100x(0.1,1e-8) + 3x0.5 + zcdp(0.05)"."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from interlace.core.errors import ParameterError
from interlace.core.guarantees import ZCDP, ApproxDP, Guarantee, PureDP

_NUMBER = r"[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?"
_ITEM = re.compile(
    rf"(?:(?P<count>[0-9]+)\s*[x×*]\s*)?"
    rf"(?:(?P<epsilon>{_NUMBER})"
    rf"|\(\s*(?P<pair_epsilon>{_NUMBER})\s*,\s*(?P<pair_delta>{_NUMBER})\s*\)"
    rf"|zcdp\(\s*(?P<rho>{_NUMBER})\s*\))",
)


def read_expression(text: str) -> list[tuple[Guarantee, int]]:
    """The guarantees and counts of an expression.

    Raises ParameterError with the item that cannot be read.

    >>> read_expression("2x0.5 + zcdp(0.1)")
    [(PureDP(0.5), 2), (ZCDP(0.1), 1)]
    """
    return [_item(part.strip()) for part in re.split(r"(?<![eE])\+", text)]


def _item(text: str) -> tuple[Guarantee, int]:
    match = _ITEM.fullmatch(text)
    if match is None:
        raise ParameterError(
            "expression",
            f"cannot read {text!r}: an item is epsilon, (epsilon,delta) or zcdp(rho), with "
            'a count in front like "100x"; items are joined by "+"',
        )
    count = int(match["count"] or 1)
    if match["rho"]:
        return ZCDP(read_number(match["rho"], "rho")), count
    if match["epsilon"]:
        return PureDP(read_number(match["epsilon"], "epsilon")), count
    epsilon = read_number(match["pair_epsilon"], "epsilon")
    return ApproxDP(epsilon, read_number(match["pair_delta"], "delta")), count


def read_number(text: str, name: str) -> Decimal:
    """A number as typed, exactly. Raises ParameterError, naming ``name``, for other text."""
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ParameterError(name, f"must be a number, got {text!r}") from None
