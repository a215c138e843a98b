"""Certified bounds where no exact model reaches, and lower ends for zCDP parts.

A larger epsilon is always sound for the upper end and a smaller one for the lower end, so
losses are rounded outward onto a lattice that fits. What no lattice holds gets closed forms
(FORMULAS 2.4) from above, and from below an adversary who looks at less.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from interlace.core.composition.atoms import Table, repeated
from interlace.core.composition.optimal import (
    LATTICE_WORK,
    LONGEST_SIDE,
    TwoPointLoss,
    model,
)
from interlace.core.composition.terms import Losses, Terms
from interlace.core.guarantees import conversions
from interlace.core.guarantees.concentrated import response_rho
from interlace.core.guarantees.enclosures import roughly, shorten_down, shorten_up
from interlace.core.interval import Interval

#: Above this total loss nothing is enumerated: e^total leaves the range of the arithmetic.
LARGEST_TOTAL = 10**12
#: Atoms of a lattice that losses are rounded to.
LONGEST_LATTICE = 1 << 15
#: More distinct losses than this are first rounded up to _COARSE_BITS significant bits.
MOST_GROUPS, _COARSE_BITS = 4096, 10
#: Into how many blocks a group too long for enumeration is put for a lower end.
BLOCKS = 1 << 14
#: Into how many equal randomised responses a rho is split for a lower end.
RHO_PIECES = 400
#: A lattice coarser than this many steps per response says nothing.
_LEAST_STEPS = 3

exact_model = lru_cache(maxsize=8)(model)


def models(losses: Losses) -> tuple[TwoPointLoss | None, TwoPointLoss | None]:
    """Models whose deltas lie below and above the exact one; twice the exact one in reach.

    None above: use a closed form.
    """
    if sum(e * n for e, n in losses) > LARGEST_TOTAL:
        return None, None
    exact = exact_model(losses)
    if exact is not None:
        return exact, exact
    below, above = rounded(losses, up=False), rounded(losses, up=True)
    return (
        exact_model(below) if below else _looking_at_one_group(losses),
        exact_model(above) if above else None,
    )


def rounded(losses: Losses, *, up: bool) -> Losses | None:
    """The losses moved outward onto the finest lattice that can be counted."""
    count = sum(n for _, n in losses)
    steps = min(LONGEST_LATTICE, LATTICE_WORK // (count * count)) * 2 - 4
    if steps < _LEAST_STEPS * count:
        return None
    # Rounding up adds less than one step a response.
    step = sum((e * n for e, n in losses), Fraction(0)) / (steps - count)
    moved: dict[Fraction, int] = {}
    for epsilon, number in losses:
        ratio = epsilon / step
        at = (math.ceil(ratio) if up else math.floor(ratio)) * step
        moved[at] = moved.get(at, 0) + number
    moved.pop(Fraction(0), None)
    return tuple(sorted(moved.items()))


def _looking_at_one_group(losses: Losses) -> TwoPointLoss | None:
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
    """The terms itself, or one with losses rounded up to few values where there are many."""
    if len(terms.losses) <= MOST_GROUPS:
        return terms
    moved: dict[Fraction, int] = {}
    for epsilon, number in terms.losses:
        at = shorten_up(epsilon, _COARSE_BITS)
        moved[at] = moved.get(at, 0) + number
    return replace(terms, losses=tuple(sorted(moved.items())))


def attained(terms: Terms) -> Losses:
    """Pure losses that a mechanism with these guarantees can have, for lower ends.

    A rho is split into equal randomised responses with epsilon * tanh(epsilon / 2) <=
    rho / pieces each, which are rho-zCDP together.
    """
    if not terms.rho:
        return terms.losses
    piece = terms.rho / RHO_PIECES
    size = roughly(piece)
    low, high = 0.0, 2 * math.sqrt(size) + 2 * size
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if middle * math.tanh(middle / 2) < size else (low, middle)
    epsilon = shorten_down(Fraction(low), 24)
    if epsilon == 0 or response_rho(epsilon) > piece:
        return terms.losses
    added = dict(terms.losses)
    added[epsilon] = added.get(epsilon, 0) + RHO_PIECES
    return tuple(sorted(added.items()))


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
