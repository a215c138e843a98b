"""Pure losses beside zCDP: mix the zCDP profile over the atoms of the composed loss.

Given the bits of the randomised responses, what is left is an adversary against the zCDP
group, so delta(epsilon) <= Σ P(L = l) d(epsilon - l), d being the group's profile
(FORMULAS 2.8, 6.11). With the Gaussian profile for d it is a lower end. Fixed parameters only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from interlace.core.composition.grid import Above, Below
from interlace.core.guarantees import conversions
from interlace.core.guarantees.concentrated import below_chord, chord
from interlace.core.guarantees.enclosures import expm1, length, roughly, shorten_down, shorten_up
from interlace.core.guarantees.normal import Gaussian
from interlace.core.interval import DOWN, ONE, UP, Interval

RULE = (
    "the zCDP profile (Lyu 2022, Cor. 1; converted as by Canonne, Kamath and Steinke 2020 and "
    "Asoodeh et al. 2021) mixed over the composed pure loss (Lyu 2022, Thm 1)"
)
#: Most points that a loss is kept at from above, and from below.
POINTS, CELLS = 256, 48

#: By how much, relatively, rho may have been rounded up.
_ROUNDED_RHO = Fraction(1, 2**80)
_STEPS = 40
_LONG = 512
#: Grid orders per unit of log(alpha - 1), and how far from 0 the grid reaches.
_GRID = 64
_WIDEST = 64 * 46
_LARGEST_LIFT = Decimal(10) ** 15
_NO_BOUND = Decimal("Infinity")


class Profile:
    """Upper ends of the profile of rho-zCDP, many of them: orders come from a fixed grid, so
    that what depends on the order alone is computed once (FORMULAS 7.2)."""

    def __init__(self, rho: Fraction) -> None:
        self._rho, self._rough = rho, roughly(rho)
        self._chord = chord(rho)
        self._known: dict[int, tuple[Decimal, Decimal, Decimal]] = {}

    def upper(self, epsilon: Fraction) -> Decimal:
        """An upper bound of delta at any real ``epsilon``."""
        if epsilon >= 0:
            return self._at(epsilon)
        # H_(1/g)(P, Q) = 1 - 1/g + H_g(Q, P)/g, and the guarantee holds both ways.
        good = ONE - Interval(Decimal(0), self._at(-epsilon))
        return (ONE - Interval.of(epsilon).exp() * good).upper

    def _at(self, epsilon: Fraction) -> Decimal:
        e = roughly(epsilon) if epsilon else 0.0
        order, first = self._order(e)
        excess, cks, second = self._constants(order)
        fall = (-(Interval.of(epsilon) * Interval.of(excess))).exp().upper
        if not cks.is_finite():
            found = Decimal(1)
        elif first or fall >= 1:
            found = UP.multiply(cks, fall)
        else:
            found = UP.divide(UP.multiply(second, fall), DOWN.subtract(1, fall))
        at, value = self._chord
        if epsilon < at:
            found = min(found, below_chord(at, value, epsilon).upper)
        return min(Decimal(1), found)

    def _order(self, e: float) -> tuple[int, bool]:
        """A good grid order at e, and whether for the first of the two bounds."""

        def slope(excess: float) -> float:
            return (1 + 2 * excess) * self._rough - e - math.log1p(1 / excess)

        best = round(_GRID * math.log(float(_where_positive(slope) - 1)))
        choices = []
        for shift in (0, -_GRID // 2, _GRID // 2, _GRID, 2 * _GRID):
            order = max(-_WIDEST, min(_WIDEST, best + shift))
            x = math.exp(order / _GRID)
            values = conversions.float_log_delta(x, (1 + x) * self._rough, e)
            choices += [(values[0], order, True), (values[1], order, False)]
        return min(choices)[1:]

    def _constants(self, order: int) -> tuple[Decimal, Decimal, Decimal]:
        """alpha - 1, and what e^(-(alpha-1) epsilon) is multiplied with in either bound."""
        if order not in self._known:
            excess = Decimal(f"{math.exp(order / _GRID):.6g}")
            x, alpha = Interval.of(excess), Interval.of(UP.add(excess, 1))
            lifted = x * alpha * Interval.of(self._rho)
            if lifted.upper > _LARGEST_LIFT:
                self._known[order] = excess, _NO_BOUND, _NO_BOUND
            else:
                first = (lifted + alpha * (x / alpha).log() - x.log()).exp()
                self._known[order] = excess, first.upper, (expm1(lifted) / alpha).upper
        return self._known[order]


class Mixture:
    """The profile of rho-zCDP mixed over a loss on a grid. Upper ends only."""

    def __init__(self, loss: Above, rho: Fraction) -> None:
        self._step, self._row = loss.points(POINTS)
        self._lost, self._profile = loss.lost, Profile(rho)

    def delta(self, epsilon: Fraction) -> Decimal:
        """An upper bound of delta at ``epsilon``."""
        total = self._lost
        for k, weight in enumerate(self._row.masses, self._row.first):
            if weight:
                value = self._profile.upper(_down(epsilon - k * self._step))
                total = UP.fma(weight, value, total)
        return min(Decimal(1), total)

    def epsilon(self, share: Decimal, known: Fraction) -> Decimal:
        """A certified epsilon at ``share`` > 0, at most ``known``."""
        found = bracket(self.delta, share, known)
        return Interval.of(known if found is None else found[1]).upper


class Seen:
    """The Gaussian profile mixed over a coarser view of a loss. Lower ends only.

    The zCDP parts may be Gaussian mechanisms, which together are one, however rho is spread
    over them; an adversary may look at no more than the view. Every number is attained.
    """

    def __init__(self, loss: Below | None, rho: Fraction) -> None:
        # A little less: rho was rounded up where its exact form is long.
        self._gauss = Gaussian.of_rho(rho * (1 - _ROUNDED_RHO))
        pairs = [(Decimal(1), Decimal(1))] if loss is None else loss.seen(CELLS)
        self._cells = [(p, (Interval(p, p) / Interval(q, q)).log()) for p, q in pairs if p and q]

    def delta(self, epsilon: Fraction) -> Decimal:
        """A lower bound of the least delta at ``epsilon``."""
        at, total = Interval.of(epsilon), Decimal(0)
        for weight, loss in self._cells:
            total = DOWN.fma(weight, self._gauss.delta(at - loss).lower, total)
        return total

    def epsilon(self, share: Decimal, known: Fraction) -> Decimal:
        """A lower bound of the least epsilon at ``share`` > 0, ``known`` being an upper one."""
        found = bracket(self.delta, share, known)
        if found is None:
            raise AssertionError("a lower end lies above an upper end: please report this")
        return Interval.of(found[0]).lower


def _down(value: Fraction) -> Fraction:
    """The number itself, or a little less where its exact form is long."""
    if length(value) <= _LONG:
        return value
    return shorten_down(value) if value > 0 else -shorten_up(-value)


def bracket(
    delta: Callable[[Fraction], Decimal], share: Decimal, known: Fraction
) -> tuple[Fraction, Fraction] | None:
    """Two near epsilons in [0, known], delta above ``share`` at the first (where that is not
    0) and not above at the second; None where it is above at ``known``."""
    low, high = Fraction(0), known
    start, end = delta(low), delta(high)
    if end > share:
        return None
    if start <= share:
        return low, low
    at_low, at_high = _gap(start, share), _gap(end, share)
    for k in range(_STEPS):
        width = high - low
        if width * 10**9 <= high:
            break
        # Every third step halves.
        part = at_low / (at_low - at_high) if k % 3 < 2 else 0.5
        # Shortened: a step's length must not grow with the number of steps.
        at = low + shorten_down(
            width * Fraction(round(min(0.99, max(0.01, part)) * 4096), 4096), 60
        )
        at = shorten_down(at, 80)
        if not low < at < high:
            break
        value = delta(at)
        if value <= share:
            high, at_high = at, _gap(value, share)
        else:
            low, at_low = at, _gap(value, share)
    return low, high


def _where_positive(slope: Callable[[float], float]) -> Fraction:
    """The order alpha > 1 where an increasing ``slope(alpha - 1)`` turns positive."""
    low, high = -100.0, 100.0
    for _ in range(64):
        middle = (low + high) / 2
        if slope(math.exp(middle)) > 0:
            high = middle
        else:
            low = middle
    return 1 + Fraction(math.exp(high))


def _gap(value: Decimal, share: Decimal) -> float:
    """log(value / share), for the search."""
    if value <= 0:
        return -1e4
    return float((Interval(value, value).log() - Interval(share, share).log()).upper)
