"""Rényi divergences of finite losses, enclosed, and the caps that keep them sharp near 0."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from interlace.core.guarantees import conversions
from interlace.core.guarantees.enclosures import INFINITE
from interlace.core.guarantees.losses.atoms import Atoms, enclosed
from interlace.core.interval import ZERO, Interval

#: Orders nearer to 1 than this are moved there: D_alpha does not decrease in alpha.
NEAREST_ORDER = 1 + Fraction(1, 10**20)


def divergence_of(atoms: Atoms, alpha: Fraction | None) -> Interval:
    """D_alpha of a law that is given exactly by its atoms; order 1 is KL, None is infinity."""
    if atoms.leak.upper > 0:
        return INFINITE
    losses = [enclosed(loss) for loss in atoms.losses]
    top = losses[-1].clip(0)
    if alpha is None:
        return top
    if alpha == 1:
        total = ZERO
        for loss, mass in zip(losses, atoms.masses, strict=True):
            total = total + mass * loss
        return total.clip(0)
    order = max(alpha, NEAREST_ORDER)
    excess = Interval.of(order - 1)
    total = ZERO
    for loss, mass in zip(losses, atoms.masses, strict=True):
        total = total + mass * (excess * (loss - losses[-1])).exp()
    found = (losses[-1] + total.log() / excess).clip(0)
    return moved(below(found, top), alpha, order)


def below(found: Interval, bound: Interval) -> Interval:
    """``found`` with its upper end at most that of ``bound``, which is known to hold."""
    return Interval(min(found.lower, bound.upper), min(found.upper, bound.upper))


def moved(found: Interval, alpha: Fraction, order: Fraction) -> Interval:
    """Of the divergence at ``order`` >= ``alpha``, what is true at ``alpha``."""
    return found if order == alpha else Interval(Decimal(0), found.upper)


def capped_by_pure(found: Interval, loss: Fraction, alpha: Fraction) -> Interval:
    """``found`` of a loss that is at most ``loss``: no more than randomised response has."""
    return below(found, conversions.response_renyi(loss, alpha))
