"""Certified bounds where no exact model reaches.

Losses are moved onto a grid (``grid``); what no grid holds gets closed forms (FORMULAS 2.4)
from above, and from below an adversary who looks at less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Protocol

from interlace.core.composition import grid
from interlace.core.composition.atoms import Table, repeated
from interlace.core.composition.optimal import LONGEST_DENOMINATOR, LONGEST_SIDE, model
from interlace.core.composition.terms import Losses, Terms
from interlace.core.guarantees import conversions
from interlace.core.guarantees.enclosures import shorten_down, shorten_up
from interlace.core.interval import Interval

#: Above this total loss nothing is enumerated: e^total leaves the range of the arithmetic.
LARGEST_TOTAL = 10**12
#: More distinct losses than this are first rounded up to _COARSE_BITS significant bits.
MOST_GROUPS, _COARSE_BITS = 4096, 10
#: Into how many blocks a group too long for enumeration is put for a lower end.
BLOCKS = LONGEST_SIDE - 2

# Two of each: a model holds up to 40,000 atoms, some 30 MB.
exact_model = lru_cache(maxsize=2)(model)
above = lru_cache(maxsize=2)(grid.above)
below = lru_cache(maxsize=2)(grid.below)


class Curve(Protocol):
    """A privacy profile that can be read both ways."""

    def delta(self, epsilon: Fraction) -> Interval: ...

    def epsilon(self, share: Interval) -> Interval: ...


def exact(losses: Losses) -> Curve | None:
    """The exact curve, or None out of reach."""
    return exact_model(losses) if _total(losses) <= LARGEST_TOTAL else None


def upper(losses: Losses) -> Curve | None:
    """A curve that no mechanism with these losses lies above; None: use a closed form."""
    found = above(losses) if _total(losses) <= LARGEST_TOTAL else None
    return None if found is None else found.curve


def lower(losses: Losses) -> Curve | None:
    """A curve that a mechanism with these losses reaches."""
    if _total(losses) > LARGEST_TOTAL:
        return None
    found = below(losses)
    return _looking_at_one_group(losses) if found is None else found.curve


def _total(losses: Losses) -> Fraction:
    return sum((e * n for e, n in losses), Fraction(0))


def sides(terms: Terms) -> tuple[Terms, Terms]:
    """The terms twice; where exact sums would be too long, shortened down and up."""
    denominator = 1
    for epsilon, _ in terms.losses:
        denominator = math.lcm(denominator, epsilon.denominator)
        if denominator.bit_length() > LONGEST_DENOMINATOR:
            return (
                replace(terms, losses=_moved(terms.losses, shorten_down)),
                replace(terms, losses=_moved(terms.losses, shorten_up)),
            )
    return terms, terms


def _moved(losses: Losses, move: Callable[[Fraction], Fraction]) -> Losses:
    moved: dict[Fraction, int] = {}
    for epsilon, number in losses:
        at = move(epsilon)
        moved[at] = moved.get(at, 0) + number
    return tuple(sorted(moved.items()))


def _looking_at_one_group(losses: Losses) -> Curve | None:
    """A lower model: the heaviest group of equal losses, in blocks whose majority is seen.

    Lowering losses to the group's, dropping responses and seeing less of them are all
    post-processing.
    """
    epsilon, count, seen = Fraction(0), 0, 0
    for value, number in reversed(losses):
        seen += number
        if value * value * seen > epsilon * epsilon * count:
            epsilon, count = value, seen
    if count < LONGEST_SIDE:
        return exact_model(((epsilon, count),))
    block = min(-(-count // BLOCKS), LONGEST_SIDE - 2) | 1
    table = Table.of(repeated(epsilon, block, 1, block // 2 + 1))
    right, wrong = table.below(block)
    majority = shorten_down(Fraction(max(Decimal(0), (right / wrong).log().lower)), 64)
    return exact_model(((majority, min(BLOCKS, count // block)),)) if majority else None


def coarse(terms: Terms) -> Terms:
    """The terms themselves, or with losses rounded up to few values where there are many."""
    if len(terms.losses) <= MOST_GROUPS:
        return terms
    return replace(terms, losses=_moved(terms.losses, lambda e: shorten_up(e, _COARSE_BITS)))


def closed_epsilon(terms: Terms, share: Interval) -> Decimal:
    """The least of the closed forms of FORMULAS 2.4, for pure losses and ``share`` > 0."""
    total, mean, square = _moments(terms.losses)
    log_share = share.log()
    second = mean + (Interval.of(2) * square * _log_with_e(square, share)).sqrt()
    third = mean + (Interval.of(2) * square * (-log_share).clip(0)).sqrt()
    return min(total.upper, second.upper, third.upper)


def closed_delta(terms: Terms, epsilon: Fraction) -> Decimal:
    """The third closed form solved for delta, or that of one response at the summed loss."""
    _, mean, square = _moments(terms.losses)
    basic = conversions.response_delta(terms.total, epsilon)
    above = Interval.of(epsilon) - mean
    if above.lower <= 0:
        return basic.upper
    third = (-(above * above) / (Interval.of(2) * square)).exp()
    return min(basic.upper, third.upper)


def _moments(losses: Losses) -> tuple[Interval, Interval, Interval]:
    total = sum((e * n for e, n in losses), Fraction(0))
    square = sum((e * e * n for e, n in losses), Fraction(0))
    mean = Interval.of(0)
    for epsilon, count in losses:
        loss = Interval.of(epsilon)
        mean = mean + Interval.of(count) * loss * conversions.tanh_half(loss)
    return Interval.of(total), mean, Interval.of(square)


def _log_with_e(square: Interval, share: Interval) -> Interval:
    return (Interval.of(1).exp() + square.sqrt() / share).log()
