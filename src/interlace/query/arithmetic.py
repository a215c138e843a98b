"""Terms from terms, with their bounds: what could overflow or be rounded is refused here.

Pure; sees no data and no SQL.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from interlace.core.errors import ParameterError
from interlace.query.columns import MOST_DIGITS, Boolean, Category, Column, Day, Decimal, Integer
from interlace.query.predicates import Predicate
from interlace.query.terms import (
    Absolute,
    Bucketed,
    Chosen,
    Clamped,
    Literal,
    Minus,
    Number,
    Plus,
    Rounded,
    Scaled,
    Term,
    TermError,
    Times,
    bucket,
    is_number,
)
from interlace.query.values import LARGEST_CODE, day_of


def number_kind(lower: int, upper: int, digits: int) -> Number:
    """The kind of numbers with these codes. Raises TermError beyond 2^62 or 15 digits."""
    if digits > MOST_DIGITS:
        raise TermError(f"has {digits} decimals, more than {MOST_DIGITS}: use columns of fewer")
    if max(abs(lower), abs(upper)) > LARGEST_CODE:
        raise TermError(
            f"could be as large as {shown(max(abs(lower), abs(upper)))} units of its last digit, "
            "beyond 2^62: CLAMP its parts"
        )
    if digits == 0:
        return Integer(lower, upper)
    unit = 10**digits
    return Decimal(Fraction(lower, unit), Fraction(upper, unit), digits)


def shown(value: int) -> str:
    """A number for a message; of a long one its size only.

    >>> shown(12_345), shown(10**40)
    ('12,345', 'about 2^133')
    """
    return f"{value:,}" if abs(value) < 10**30 else f"about 2^{value.bit_length()}"


def literal(value: Fraction) -> Literal:
    """A number, with as few digits as it needs. Raises TermError for too many."""
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
        if digits > MOST_DIGITS:
            raise TermError(f"has more than {MOST_DIGITS} decimals")
    code = int(value * 10**digits)
    return Literal(code, number_kind(code, code, digits))


def scaled(term: Term, digits: int) -> Term:
    """The same number with at least so many digits."""
    factor = 10 ** max(0, digits - term.kind.digits)
    if factor == 1:
        return term
    lower, upper = term.kind.codes
    kind = number_kind(lower * factor, upper * factor, digits)
    return (
        Literal(term.code * factor, kind)
        if isinstance(term, Literal)
        else Scaled(term, factor, kind)
    )


def aligned(terms: Sequence[Term]) -> list[Term]:
    """The same numbers, all with as many digits as the one that has most."""
    digits = max(term.kind.digits for term in terms)
    return [scaled(term, digits) for term in terms]


def plus(left: Term, right: Term) -> Term:
    """Raises TermError if the sum could be too large."""
    left, right = aligned([left, right])
    (a, b), (c, d) = left.kind.codes, right.kind.codes
    return Plus(left, right, number_kind(a + c, b + d, left.kind.digits))


def minus(left: Term, right: Term) -> Term:
    """The difference of two numbers, or the days between two days."""
    left, right = aligned([left, right])
    (a, b), (c, d) = left.kind.codes, right.kind.codes
    return Minus(left, right, number_kind(a - d, b - c, left.kind.digits))


def times(left: Term, right: Term) -> Term:
    """Raises TermError if the product could be too large or have too many digits."""
    ends = [x * y for x in left.kind.codes for y in right.kind.codes]
    lower, upper = min(ends), max(ends)
    if left == right:  # a square
        lower = 0 if left.kind.codes[0] <= 0 <= left.kind.codes[1] else max(lower, 0)
        lower = lower if lower == 0 else min(x * x for x in left.kind.codes)
    return Times(left, right, number_kind(lower, upper, left.kind.digits + right.kind.digits))


def absolute(term: Term) -> Term:
    """A number without its sign."""
    least, most = term.kind.codes
    lower = max(least, -most, 0)
    return Absolute(term, number_kind(lower, max(abs(least), abs(most)), term.kind.digits))


def clamped(term: Term, lower: Fraction, upper: Fraction) -> Term:
    """Raises TermError for reversed bounds or for too many digits."""
    if lower > upper:
        raise TermError("has its lower bound above its upper bound: write the smaller one first")
    term, low, high = aligned([term, literal(lower), literal(upper)])
    least, most = low.kind.codes[0], high.kind.codes[0]
    lowest, highest = (min(max(code, least), most) for code in term.kind.codes)
    return Clamped(term, least, most, number_kind(lowest, highest, term.kind.digits))


def chosen(branches: Sequence[tuple[Predicate, Term]], otherwise: Term) -> Term:
    """Raises TermError for branches of several types."""
    results = [term for _, term in branches] + [otherwise]
    if all(is_number(term) for term in results):
        results = aligned(results)
        codes = [code for term in results for code in term.kind.codes]
        kind: Column = number_kind(min(codes), max(codes), results[0].kind.digits)
    elif all(isinstance(term.kind, Day) for term in results):
        codes = [code for term in results for code in term.kind.codes]
        kind = day_kind(min(codes), max(codes))
    elif all(isinstance(term.kind, Category) for term in results):
        kind = _united(results)
        results = [_recoded(term, kind) for term in results]
    elif all(isinstance(term.kind, Boolean) for term in results):
        kind = Boolean()
    else:
        raise TermError("has branches of several types: give all of them one")
    pairs = tuple((when, term) for (when, _), term in zip(branches, results, strict=False))
    return Chosen(pairs, results[-1], kind)


def _united(terms: Sequence[Term]) -> Category:
    """All texts that the terms may give, those of columns first."""
    ordered = sorted(terms, key=lambda term: isinstance(term, Literal))
    values: dict[str, None] = {}
    for term in ordered:
        assert isinstance(term.kind, Category)
        listed = term.kind.values
        values.update(dict.fromkeys([listed[term.code]] if isinstance(term, Literal) else listed))
    return Category(list(values))


def _recoded(term: Term, kind: Category) -> Term:
    assert isinstance(term.kind, Category)
    if isinstance(term, Literal):
        return Literal(int(kind.place(term.kind.values[term.code])), kind)
    if kind.values[: len(term.kind.values)] != term.kind.values:
        raise TermError("mixes columns that list different texts: compare one column at a time")
    return term


def rounded(term: Term, most: int) -> Term:
    """A number to the nearest power of ten of its last digit, the least for which its codes are
    at most ``most`` from 0; the term itself if they are so already."""
    lower, upper = term.kind.codes
    factor = 1
    while max(-lower, upper) > max(most, 1) * factor:
        factor *= 10
    if factor == 1:
        return term
    least, greatest = ((code + factor // 2) // factor for code in (lower, upper))
    return Rounded(term, factor, Integer(least, greatest))


def day_kind(lower: int, upper: int) -> Day:
    """Days with these codes. Raises TermError outside the years 1 to 9999."""
    try:
        return Day(day_of(lower), day_of(upper))
    except (ValueError, OverflowError, ParameterError):
        raise TermError("could be a day outside the years 1 to 9999") from None


def bucketed(term: Term, width: int, origin: int) -> Term:
    """Of a number or a day; width and origin in units of its last digit."""
    lower, upper = (bucket(code, width, origin) for code in term.kind.codes)
    if term.kind.codes[1] - lower >= 2 * LARGEST_CODE:  # what is counted from the lowest bucket
        raise TermError("has values too far from its lowest bucket: CLAMP them")
    if isinstance(term.kind, Day):
        return Bucketed(term, width, origin, day_kind(lower, upper))
    return Bucketed(term, width, origin, number_kind(lower, upper, term.kind.digits))
