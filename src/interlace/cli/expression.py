"""Reads what is typed for guarantees: "100x(0.1,1e-8) + 3x0.5 + zcdp(0.05) + laplace(20)".

The words and their parameters stand here for files of guarantees too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from interlace.core.errors import ParameterError
from interlace.core.guarantees import (
    TCDP,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Guarantee,
    PureDP,
    RenyiDP,
    losses,
)

_ITEM = re.compile(
    r"(?:(?P<count>[0-9_]+)\s*[x×*]\s*)?"
    r"(?P<notion>[a-z_]+)?"
    r"\s*(?P<open>\()?\s*(?P<first>[-0-9.e/]+)\s*(?:,\s*(?P<second>[-0-9.e/]+)\s*)?(?P<close>\))?",
    re.IGNORECASE,
)
#: An integer of any length is not worth reading.
_MOST_DIGITS = 30


@dataclass(frozen=True)
class Form:
    """How one kind of guarantee is written: what makes it, and the names of its numbers."""

    make: Callable[..., Guarantee]
    needed: tuple[str, ...]
    optional: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return self.needed + self.optional

    def read(self, given: Mapping[str, str], **more: Any) -> Guarantee:
        """The guarantee of numbers as text, by name; the optional ones may be missing.

        Raises ParameterError, naming the number.
        """
        read = {n: (read_whole if n in WHOLE else read_number)(t, n) for n, t in given.items()}
        return self.make(**read, **more)


#: The numbers that are integers.
WHOLE = {"shift", "categories", "count"}

_PURE = Form(PureDP, ("epsilon",))
_APPROXIMATE = Form(ApproxDP, ("epsilon", "delta"))
_RENYI = Form(RenyiDP, ("alpha", "epsilon"))
_GAUSSIAN = Form(GaussianDP, ("mu",))
_LAPLACE = Form(losses.DiscreteLaplace, ("scale",), ("shift",))
_RESPONSE = Form(losses.RandomisedResponse, ("epsilon",), ("categories",))

#: By the word, without underscores and a "dp" at its end. What guarantees print is among them.
FORMS: Mapping[str, Form] = {
    "pure": _PURE,
    "approx": _APPROXIMATE,
    "approximate": _APPROXIMATE,
    "renyi": _RENYI,
    "r": _RENYI,
    "zc": Form(ZCDP, ("rho",)),
    "tc": Form(TCDP, ("rho", "omega")),
    "gaussian": _GAUSSIAN,
    "g": _GAUSSIAN,
    "laplace": _LAPLACE,
    "discretelaplace": _LAPLACE,
    "discretegaussian": Form(losses.DiscreteGaussian, ("sigma",), ("shift",)),
    "roundedgaussian": Form(losses.RoundedGaussian, ("sigma",), ("shift",)),
    "response": _RESPONSE,
    "randomisedresponse": _RESPONSE,
    "boundedrange": Form(losses.BoundedRange, ("eta",)),
}
_ONLY_WITH_DP = {"r", "zc", "tc", "g"}

WORDS = (
    "pure(epsilon), approx(epsilon,delta), renyi(alpha,epsilon), zcdp(rho), tcdp(rho,omega), "
    "gdp(mu), laplace(scale,shift), discrete_gaussian(sigma,shift), rounded_gaussian(sigma,shift), "
    "response(epsilon,categories) or bounded_range(eta)"
)


def form_of(word: str) -> Form | None:
    """How the guarantees of this word are written; None for no such word.

    >>> form_of("zCDP").names, form_of("Discrete_Laplace").optional, form_of("z")
    (('rho',), ('shift',), None)
    """
    plain = word.lower().replace("_", "")
    short = plain.removesuffix("dp")
    return None if short in _ONLY_WITH_DP and short == plain else FORMS.get(short)


def read_expression(text: str) -> list[tuple[Guarantee, int]]:
    """The guarantees and counts of an expression.

    An item is epsilon, (epsilon,delta), or a word of ``WORDS`` with its numbers, of which shift and
    categories may be left out; with a count in front. Items are joined by "+". What a guarantee
    prints, like ZCDP(0.1), is read too.

    Raises ParameterError with the item that cannot be read.

    >>> read_expression("2x0.5 + ApproxDP(1, 1e-9) + zcdp(1/10) + laplace(2)")
    [(PureDP(0.5), 2), (ApproxDP(1, 1e-09), 1), (ZCDP(0.1), 1), (DiscreteLaplace(2, 1), 1)]
    """
    return [_item(part.strip()) for part in re.split(r"(?<![eE])\+", text)]


def _item(text: str) -> tuple[Guarantee, int]:
    match = _ITEM.fullmatch(text)
    if match is None or bool(match["open"]) != bool(match["close"]):
        raise _unreadable(text)
    word, second = match["notion"], match["second"]
    form = form_of(word) if word else (_APPROXIMATE if second else _PURE)
    given = [number for number in (match["first"], second) if number]
    if form is None or bool(match["open"]) != bool(word or second):
        raise _unreadable(text)
    if not len(form.needed) <= len(given) <= len(form.names):
        raise _unreadable(text)
    found = form.read(dict(zip(form.names, given, strict=False)))
    return found, read_whole(match["count"].replace("_", ""), "count") if match["count"] else 1


def _unreadable(text: str) -> ParameterError:
    return ParameterError(
        "expression",
        f"cannot read {text!r}: an item is epsilon, (epsilon,delta), {WORDS}, with a count in "
        'front like "100x"; items are joined by "+"',
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


def read_whole(text: str, name: str) -> int:
    """An integer of at least 0, as typed.

    Raises ParameterError, naming ``name``, for other text.
    """
    if not re.fullmatch(rf"[0-9]{{1,{_MOST_DIGITS}}}", text.strip()):
        raise ParameterError(name, f"must be an integer, got {text!r}")
    return int(text)
