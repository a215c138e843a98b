"""WHERE as data: which integer codes a row may hold. Sees no data and no SQL.

No code is ever missing (registration saw to that), so logic is two-valued: a negation moves
inwards until only ranges of codes are left, and constants fold by the public bounds. Two
conditions that were written differently and mean the same in one column become equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from interlace.query.terms import Chosen, Difference, Literal, Minus, Plus, Ref, Term, Times, Truth

#: Disjoint, ascending, non-adjacent, inclusive.
Ranges = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Always:
    """Every row (``value`` True) or none."""

    value: bool


@dataclass(frozen=True)
class Within:
    """The code of ``term`` lies in one of ``ranges``; neither none nor all of its codes do."""

    term: Term
    ranges: Ranges

    @property
    def codes(self) -> tuple[int, int]:
        """The least and the greatest code that the term may have."""
        return self.term.kind.codes


@dataclass(frozen=True)
class Every:
    """All parts hold; at least two, none of them constant or again an Every."""

    parts: tuple[Predicate, ...]


@dataclass(frozen=True)
class Some:
    """At least one part holds; at least two, none of them constant or again a Some."""

    parts: tuple[Predicate, ...]


Predicate = Always | Within | Every | Some


def comparison(operator: str, place: Fraction, codes: tuple[int, int]) -> Ranges:
    """The codes for which ``code operator place`` holds, exactly.

    >>> comparison(">=", Fraction(201, 2), (0, 500))
    ((101, 500),)
    """
    least, most = codes
    if operator == "<>":
        return complement(comparison("=", place, codes), codes)
    if operator in ("<", "<="):
        most = math.ceil(place) - 1 if operator == "<" else math.floor(place)
    elif operator in (">", ">="):
        least = math.floor(place) + 1 if operator == ">" else math.ceil(place)
    else:
        least, most = math.ceil(place), math.floor(place)
    return _joined([(max(least, codes[0]), min(most, codes[1]))])


def union(parts: Iterable[Ranges]) -> Ranges:
    """The codes that lie in any of the parts.

    >>> union([((1, 2),), ((3, 3), (7, 9))])
    ((1, 3), (7, 9))
    """
    return _joined(sorted(item for part in parts for item in part))


def complement(ranges: Ranges, codes: tuple[int, int]) -> Ranges:
    """The codes that lie in no range.

    >>> complement(((3, 4),), (0, 9))
    ((0, 2), (5, 9))
    """
    ends = [codes[0] - 1, *(end for item in ranges for end in item), codes[1] + 1]
    gaps = zip(ends[::2], ends[1::2], strict=True)
    return _joined([(left + 1, right - 1) for left, right in gaps])


def _joined(ordered: Iterable[tuple[int, int]]) -> Ranges:
    result: list[tuple[int, int]] = []
    for least, most in ordered:
        if least > most:
            continue
        if result and least <= result[-1][1] + 1:
            result[-1] = (result[-1][0], max(most, result[-1][1]))
        else:
            result.append((least, most))
    return tuple(result)


def within(term: Term, ranges: Ranges) -> Predicate:
    """The predicate of one term, folded to a constant where its codes decide it."""
    if not ranges:
        return Always(False)
    if ranges == (term.kind.codes,):
        return Always(True)
    if isinstance(term, Literal):
        return Always(any(least <= term.code <= most for least, most in ranges))
    if isinstance(term, Truth):
        return term.of if ranges == ((1, 1),) else negation(term.of)
    return Within(term, ranges)


def negation(predicate: Predicate) -> Predicate:
    """What holds exactly where ``predicate`` does not.

    >>> from interlace.query.columns import Integer
    >>> from interlace.query.terms import Ref
    >>> age = Ref("people", "age", Integer(0, 9))
    >>> negation(Within(age, ((3, 9),))).ranges
    ((0, 2),)
    """
    match predicate:
        case Always(value):
            return Always(not value)
        case Within(term, ranges):
            return Within(term, complement(ranges, predicate.codes))
        case Every(parts):
            return disjunction(negation(part) for part in parts)
        case Some(parts):
            return conjunction(negation(part) for part in parts)


def conjunction(parts: Iterable[Predicate]) -> Predicate:
    """Where all of the parts hold.

    >>> from interlace.query.columns import Integer
    >>> from interlace.query.terms import Ref
    >>> age = Ref("people", "age", Integer(0, 9))
    >>> conjunction([Always(True), Within(age, ((5, 9),)), Within(age, ((0, 5),))]).ranges
    ((5, 5),)
    """
    return _combined(parts, neutral=True)


def disjunction(parts: Iterable[Predicate]) -> Predicate:
    """Where at least one of the parts holds.

    >>> from interlace.query.columns import Integer
    >>> from interlace.query.terms import Ref
    >>> age = Ref("people", "age", Integer(0, 9))
    >>> disjunction([Within(age, ((5, 9),)), Within(age, ((0, 4),))])
    Always(value=True)
    """
    return _combined(parts, neutral=False)


def _combined(parts: Iterable[Predicate], *, neutral: bool) -> Predicate:
    """The conjunction, whose neutral element is True, or the disjunction, whose is False."""
    kind = Every if neutral else Some
    flat: list[Predicate] = []
    for part in parts:
        flat += part.parts if isinstance(part, kind) else (part,)
    merged = _merged(flat, neutral=neutral)
    if Always(not neutral) in merged:
        return Always(not neutral)
    left = sorted(merged - {Always(neutral)}, key=repr)  # an order of its own: a canonical form
    if not left:
        return Always(neutral)
    return left[0] if len(left) == 1 else kind(tuple(left))


def _merged(parts: Iterable[Predicate], *, neutral: bool) -> set[Predicate]:
    """The parts with every term's ranges intersected (neutral True) or united (False)."""
    rest: set[Predicate] = set()
    terms: dict[Term, list[Ranges]] = {}
    for part in parts:
        if isinstance(part, Within):
            terms.setdefault(part.term, []).append(part.ranges)
        else:
            rest.add(part)
    for term, ranges in terms.items():
        codes = term.kind.codes
        if neutral:
            outside = union(complement(item, codes) for item in ranges)
            rest.add(within(term, complement(outside, codes)))
        else:
            rest.add(within(term, union(ranges)))
    return rest


def refs(term: Term) -> Iterator[Ref]:
    """The columns of which a term is a function."""
    match term:
        case Ref():
            yield term
        case Literal():
            return
        case Plus() | Minus() | Times() | Difference():
            yield from refs(term.left)
            yield from refs(term.right)
        case Chosen(branches, otherwise):
            for when, result in branches:
                yield from condition_refs(when)
                yield from refs(result)
            yield from refs(otherwise)
        case Truth(of):
            yield from condition_refs(of)
        case _:
            yield from refs(term.of)


def condition_refs(where: Predicate) -> Iterator[Ref]:
    """The columns on which a condition depends."""
    match where:
        case Within(term):
            yield from refs(term)
        case Every(parts) | Some(parts):
            for part in parts:
                yield from condition_refs(part)
