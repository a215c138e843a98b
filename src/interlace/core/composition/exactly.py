"""Exact losses together: two-point, Gaussian, and those of known mechanisms.

Few two-point losses are summed in decimals of 60 digits, Gaussian ones alone have a formula, and
all else is integrated. Every enclosure holds the optimal value for parameters fixed in advance:
losses convolve, concurrently (FORMULAS 2.1, 2.8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeGuard

from interlace.core.composition.optimal import MOST_DISTINCT, TwoPointLoss, model
from interlace.core.composition.terms import Losses, Terms, counted
from interlace.core.guarantees import conversions
from interlace.core.guarantees.enclosures import INFINITE
from interlace.core.guarantees.losses import (
    Atoms,
    Direction,
    DiscreteGaussian,
    PrivacyLoss,
    RoundedGaussian,
)
from interlace.core.guarantees.losses.atoms import enclosed
from interlace.core.guarantees.normal import Gaussian
from interlace.core.interval import ONE, ZERO, Interval

if TYPE_CHECKING:
    from interlace.core.composition.contour import Model

_LYU = "concurrent: Lyu 2022, Thm 1"
SUMMED = f"optimal composition, exact (Murtagh and Vadhan 2016; {_LYU})"
GAUSSIAN = "Gaussian DP: the squares of mu add up (concurrent: Vadhan and Zhang 2023)"
INTEGRAL = (
    "optimal composition of exact privacy losses, by a contour integral with proven bounds "
    f"({_LYU}; Vadhan and Zhang 2023)"
)

CERTAIN = f"the sum of the epsilon_i, beside a loss that is all but certain ({_LYU})"

#: A larger epsilon_i tells all but e^-1000000 of the time: nothing is gained by convolving it.
LARGEST_LOSS = 10**6

#: Discrete Gaussian noise from this sigma on is not listed value by value.
WIDEST_LISTED = 4
#: Rounded Gaussian noise between these, values at most so many sigma apart, is summed cell by cell
#: where it is tilted to.
ROUNDED, FARTHEST_ROUNDED = (1, 1024), 100

Found = tuple[Interval, str]
"""An enclosure, and the rule that gave it."""

# Two: a model holds up to 40,000 atoms, some 30 MB.
_summed = lru_cache(maxsize=2)(model)


def epsilon(terms: Terms, share: Interval) -> Found:
    """Encloses the least epsilon where the part without leaks may fail with ``share`` > 0."""
    if terms.mu_squared and not (terms.losses or terms.known or terms.arrays):
        return Gaussian.of_rho(terms.mu_squared / 2).epsilon(share), GAUSSIAN
    if terms.losses and terms.losses[-1][0] > LARGEST_LOSS:
        return _epsilon_beside_certain(terms, share), CERTAIN
    summed = _summed_or_none(terms)
    if summed is not None:
        return summed.epsilon(share), SUMMED
    return _worst(terms, lambda side: side.epsilon(share)), INTEGRAL


def delta(terms: Terms, epsilon: Fraction) -> Found:
    """Encloses the least delta at ``epsilon`` of the part without leaks."""
    if terms.mu_squared and not (terms.losses or terms.known or terms.arrays):
        return Gaussian.of_rho(terms.mu_squared / 2).delta(Interval.of(epsilon)), GAUSSIAN
    if terms.losses and terms.losses[-1][0] > LARGEST_LOSS:
        return _delta_beside_certain(terms, epsilon), CERTAIN
    summed = _summed_or_none(terms)
    if summed is not None:
        return summed.delta(epsilon), SUMMED
    return _worst(terms, lambda side: side.delta(epsilon)), INTEGRAL


def deltas(terms: Terms, epsilons: Sequence[Fraction]) -> list[Interval]:
    """Encloses delta at each epsilon; one line of integration serves near ones."""
    if not _integrated(terms):
        return [delta(terms, e)[0] for e in epsilons]
    found = [(low.deltas(epsilons), high.deltas(epsilons)) for low, high in _sides(terms)]
    return [
        Interval(max(low[i].lower for low, _ in found), max(high[i].upper for _, high in found))
        for i in range(len(epsilons))
    ]


def _integrated(terms: Terms) -> bool:
    """Whether neither a formula nor a sum answers."""
    if terms.losses and terms.losses[-1][0] > LARGEST_LOSS:
        return False
    if terms.mu_squared and not (terms.losses or terms.known or terms.arrays):
        return False
    return _summed_or_none(terms) is None


@dataclass(frozen=True, eq=False)
class _Sum:
    """The sums of two-point losses, from below and from above."""

    low: TwoPointLoss
    high: TwoPointLoss

    def epsilon(self, share: Interval) -> Interval:
        found = self.low.epsilon(share)
        if self.high is self.low:
            return found
        return Interval(found.lower, self.high.epsilon(share).upper)

    def delta(self, epsilon: Fraction) -> Interval:
        found = self.low.delta(epsilon)
        if self.high is self.low:
            return found
        return Interval(found.lower, self.high.delta(epsilon).upper)


def _summed_or_none(terms: Terms) -> _Sum | None:
    """The exact sum, where every loss is that of a randomised response and they are few.

    One of larger epsilon tells more (FORMULAS 3.7), so that an epsilon that is only enclosed may
    be replaced by its ends.
    """
    if terms.mu_squared or terms.arrays or len(terms.losses) + len(terms.known) > MOST_DISTINCT:
        return None
    low, high = (_with_ends(terms, upper=upper) for upper in (False, True))
    if low is None or high is None:
        return None
    below, above = _summed(low), _summed(high)
    return None if below is None or above is None else _Sum(below, above)


def _with_ends(terms: Terms, *, upper: bool) -> Losses | None:
    """The losses, and the ends of those that are only enclosed; None where one is another loss."""
    losses = list(terms.losses)
    for loss, count in terms.known:
        epsilon = loss.response
        if epsilon is None:
            return None
        at = enclosed(epsilon)
        losses.append((Fraction(at.upper if upper else at.lower), count))
    return counted(losses)


def _epsilon_beside_certain(terms: Terms, share: Interval) -> Interval:
    """From the largest loss alone up to the sum of all, and what else there is."""
    rest = replace(terms, losses=())
    total = Interval.of(terms.total)
    more = ZERO if rest.harmless else epsilon(rest, share)[0]
    alone = conversions.response_epsilon(terms.losses[-1][0], share)
    return Interval(alone.lower, (total + more).upper)


def _delta_beside_certain(terms: Terms, epsilon: Fraction) -> Interval:
    rest = replace(terms, losses=())
    alone = conversions.response_delta(terms.losses[-1][0], epsilon)
    if epsilon < terms.total:
        return Interval(alone.lower, ONE.upper)
    more = ZERO if rest.harmless else delta(rest, epsilon - terms.total)[0]
    return Interval(alone.lower, more.upper)


def upper_epsilon(terms: Terms, more: Atoms, share: Decimal) -> Decimal:
    """An epsilon that is enough at ``share`` with one more loss, the same in both directions."""
    if terms.losses and terms.losses[-1][0] > LARGEST_LOSS:
        return INFINITE.upper
    return max(side.epsilon(Interval(share, share)).upper for side in _with(terms, more))


def upper_delta(terms: Terms, more: Atoms, epsilon: Fraction) -> Decimal:
    """A delta that is enough at ``epsilon`` with one more loss, the same in both directions."""
    if terms.losses and terms.losses[-1][0] > LARGEST_LOSS:
        return ONE.upper
    return max(side.delta(epsilon).upper for side in _with(terms, more))


def _with(terms: Terms, more: Atoms) -> list[Side]:
    return [
        _side(terms, [*_atoms(terms, direction, upper=True), (more, 1)], upper=True)
        for direction in _directions(terms)
    ]


@dataclass(frozen=True, eq=False)
class Side:
    """One direction, from above or from below: the model of what is finite, and the chance that
    no known mechanism leaks all."""

    model: Model
    kept: Interval

    def epsilon(self, share: Interval) -> Interval:
        from interlace.core.composition import contour

        room = share - (ONE - self.kept)
        if room.lower <= 0:
            return INFINITE if room.upper < 0 else Interval(ZERO.lower, INFINITE.upper)
        return contour.epsilon(self.model, room)

    def deltas(self, epsilons: Sequence[Fraction]) -> list[Interval]:
        from interlace.core.composition import contour

        lost = ONE - self.kept
        if lost.lower >= 1:
            return [ONE for _ in epsilons]
        return [(lost + found).clip(0, 1) for found in contour.deltas(self.model, epsilons)]

    def delta(self, epsilon: Fraction) -> Interval:
        from interlace.core.composition import contour

        lost = ONE - self.kept
        if lost.lower >= 1:
            # All is told: there need not be a finite loss.
            return ONE
        return (lost + contour.delta(self.model, epsilon)).clip(0, 1)


def _worst(terms: Terms, value: Callable[[Side], Interval]) -> Interval:
    """The larger of both directions, from the lower side of one to the upper side of the other."""
    lowest, highest = [], []
    for low, high in _sides(terms):
        below = value(low)
        lowest.append(below.lower)
        highest.append((below if high is low else value(high)).upper)
    return Interval(max(lowest), max(highest))


@lru_cache(maxsize=4)
def _sides(terms: Terms) -> list[tuple[Side, Side]]:
    found = []
    for direction in _directions(terms):
        below, above = (_atoms(terms, direction, upper=upper) for upper in (False, True))
        low = _side(terms, below, upper=False)
        # Finite losses are the same from both sides: their ends are enclosed by the model.
        found.append((low, low if above == below else _side(terms, above, upper=True)))
    return found


def _directions(terms: Terms) -> list[Direction]:
    symmetric = all(loss.symmetric for loss, _ in terms.known)
    return [Direction.REMOVE] if symmetric else list(Direction)


def _atoms(terms: Terms, direction: Direction, *, upper: bool) -> list[tuple[Atoms, int]]:
    return [
        (loss.atoms(direction, upper=upper), count)
        for loss, count in terms.known
        if not _wide(loss)
    ]


def _wide(loss: PrivacyLoss) -> TypeGuard[DiscreteGaussian | RoundedGaussian]:
    """Whether a formula, or sums that follow the tilt, serve better than atoms."""
    if isinstance(loss, RoundedGaussian):
        return ROUNDED[0] <= loss.sigma <= ROUNDED[1] and loss.mu <= FARTHEST_ROUNDED
    return isinstance(loss, DiscreteGaussian) and loss.sigma >= WIDEST_LISTED


def _side(terms: Terms, known: list[tuple[Atoms, int]], *, upper: bool) -> Side:
    from interlace.core.composition import contour

    wide = [(loss, count) for loss, count in terms.known if _wide(loss)]
    kept = ONE
    for atoms, count in known:
        kept = kept * (ONE - atoms.leak).power(count)
    finite = [(atoms, count) for atoms, count in known if atoms.losses]
    return Side(
        contour.built(terms.losses, terms.mu_squared, finite, terms.arrays, wide, upper=upper), kept
    )
