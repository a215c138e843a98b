"""Pure losses beside zCDP: mix the zCDP profile over the atoms of the composed loss.

Given the bits of the randomised responses, what is left is an adversary against the zCDP
group, so delta(epsilon) <= Σ P(L = l) d(epsilon - l), d being the group's profile
(FORMULAS 2.8, 6.11). Fixed parameters only. Upper ends only.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from interlace.core.composition.atoms import repeated
from interlace.core.composition.optimal import common_lattice
from interlace.core.composition.terms import Terms
from interlace.core.guarantees import conversions
from interlace.core.guarantees.enclosures import expm1, roughly
from interlace.core.interval import DOWN, ONE, UP, Interval

RULE = (
    "the zCDP profile (Cor. 1, FORMULAS 7.2) mixed over the composed pure loss "
    "(concurrent: Lyu 2022, Thm 1; FORMULAS 6.11)"
)
#: Most atoms that a loss is kept at.
POINTS = 200
#: Most distinct epsilons, and most responses of one group, that are mixed.
GROUPS, RESPONSES = 24, 20_000

_MARGIN = 1 + 1e-9
_STEPS = 40
#: Grid orders per unit of log(alpha - 1), and how far from 0 the grid reaches.
_GRID = 64
_WIDEST = 64 * 46
_LARGEST_LIFT = Decimal(10) ** 6
_NO_BOUND = Decimal("1e10000000")


class Profile:
    """Upper ends of the profile of rho-zCDP, many of them: orders come from a fixed grid, so
    that what depends on the order alone is computed once (FORMULAS 7.2)."""

    def __init__(self, rho: Fraction) -> None:
        self._rho, self._rough = rho, roughly(rho)
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
        if first or fall >= 1:
            return min(Decimal(1), UP.multiply(cks, fall))
        return min(Decimal(1), UP.divide(UP.multiply(second, fall), DOWN.subtract(1, fall)))

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


@dataclass(frozen=True)
class Mixture:
    """Weights (rounded up) of losses (multiples of ``step``) and the profile beside them."""

    step: Fraction
    points: tuple[tuple[int, Decimal], ...]
    profile: Profile

    def delta(self, epsilon: Fraction) -> Decimal:
        """An upper bound of delta at ``epsilon``."""
        total = Decimal(0)
        for loss, weight in self.points:
            value = self.profile.upper(epsilon - loss * self.step)
            total = UP.fma(weight, value, total)
        return min(Decimal(1), total)

    def epsilon(self, share: Decimal, known: Fraction) -> Fraction | None:
        """A certified epsilon below ``known`` at ``share`` > 0, or None where there is none."""
        high, value = known, self.delta(known)
        if value > share:
            return None
        low, start = Fraction(0), self.delta(Fraction(0))
        if start <= share:
            return low
        at_low, at_high = _gap(start, share), _gap(value, share)
        for k in range(_STEPS):
            part = at_low / (at_low - at_high) if k % 3 < 2 else 0.5
            # Shortened: a step's length must not grow with the number of steps.
            at = Fraction(float(low) + float(high - low) * min(0.99, max(0.01, part)))
            if not low < at < high or float(high - low) < 1e-12 * float(high):
                break
            gap = _gap(self.delta(at), share)
            if gap <= 0:
                high, at_high = at, gap
            else:
                low, at_low = at, gap
        return high


def mixture(terms: Terms) -> Mixture | None:
    """The mixture of the part without leaks, or None where it would cost too much."""
    if len(terms.losses) > GROUPS or any(n > RESPONSES for _, n in terms.losses):
        return None
    lattice = common_lattice(terms.losses)
    if lattice is None or terms.total / terms.rho > 10**9:
        return None
    step = lattice[0]
    points = {0: Decimal(1)}
    for epsilon, count in terms.losses:
        atoms = repeated(epsilon, count, 1)
        unit = int(epsilon / step)
        group = {(count - 2 * j) * unit: p for j, p in zip(atoms.position, atoms.p[1], strict=True)}
        points = _condensed(_together(points, _condensed(group, step)), step)
    return Mixture(step, tuple(sorted(points.items())), Profile(terms.rho))


def _together(first: dict[int, Decimal], second: dict[int, Decimal]) -> dict[int, Decimal]:
    found: dict[int, Decimal] = {}
    for a, weight in first.items():
        for b, other in second.items():
            found[a + b] = UP.fma(weight, other, found.get(a + b, Decimal(0)))
    return found


def _condensed(points: dict[int, Decimal], step: Fraction) -> dict[int, Decimal]:
    """At most POINTS atoms: each is split between its two neighbours on a grid.

    The rest of the sum, as a function of an atom's loss l, is convex in e^-l and grows with
    l. So splitting an atom with its mean e^-l kept is sound, and more weight on the upper
    neighbour is sound too: the shares are floats with a margin.
    """
    if len(points) <= POINTS:
        return points
    nodes = _nodes(points)
    found: dict[int, Decimal] = {}
    k = 0
    for loss in sorted(points):
        while nodes[k + 1] < loss:
            k += 1
        below, above = nodes[k], nodes[k + 1]
        near, far = float((loss - below) * step), float((above - below) * step)
        share = min(1.0, math.expm1(-near) / math.expm1(-far) * _MARGIN)
        upper = Decimal(share)
        for node, part in ((below, UP.subtract(Decimal(1), upper)), (above, upper)):
            found[node] = UP.fma(points[loss], part, found.get(node, Decimal(0)))
    return {loss: weight for loss, weight in found.items() if weight}


def _nodes(points: dict[int, Decimal]) -> list[int]:
    """A grid over where the mass is, and the two outermost losses."""
    low, high = min(points), max(points)
    mean = sum(float(w) * m for m, w in points.items())
    spread = math.sqrt(sum(float(w) * (m - mean) ** 2 for m, w in points.items())) + 1
    start, end = max(low, int(mean - 9 * spread)), min(high, int(mean + 36 * spread))
    count = POINTS - 2
    grid = {start + (end - start) * i // count for i in range(count + 1)}
    return sorted(grid | {low, high})


def _gap(value: Decimal, share: Decimal) -> float:
    """log(value / share), for the search."""
    if value <= 0:
        return -1e4
    return float((Interval(value, value).log() - Interval(share, share).log()).upper)


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
