"""The privacy loss of a Gaussian that was rounded to integers: exactly its own law."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self, final

from interlace.core.exact import Real
from interlace.core.guarantees.base import Relation, read_relation
from interlace.core.guarantees.enclosures import INFINITE
from interlace.core.guarantees.losses.atoms import (
    USUAL_ATOMS,
    Atoms,
    Direction,
    ended,
    read_most,
)
from interlace.core.guarantees.losses.base import PrivacyLoss
from interlace.core.guarantees.losses.discrete_gaussian import (
    FARTHEST_TAIL,
    WIDTH,
    read_gaussian,
)
from interlace.core.guarantees.losses.lattice import (
    ROOT_TWO_PI,
    normal_tail,
    point_weights,
)
from interlace.core.guarantees.losses.moments import NEAREST_ORDER, below, moved
from interlace.core.guarantees.losses.normal_blocks import block_sums, blocks
from interlace.core.guarantees.losses.rough import gaussian_epsilon
from interlace.core.guarantees.losses.staircase import exponential, inverse, profile
from interlace.core.interval import ONE, ZERO, Interval

#: One logarithm for each atom: more are put into blocks unless asked for.
_USUAL_POINTS = 1 << 13
#: Divergences: each cell by itself up to here, else blocks of a sixteenth of sigma.
_CELL_SIGMA = 16
_SUM_WIDTH = 18
#: Larger orders times shift, in sigmas, are taken there for the lower end.
_FARTHEST_ORDER = 1000


@final
@dataclass(frozen=True, init=False, repr=False)
class RoundedGaussian(PrivacyLoss):
    """Noise of a normal variable of deviation ``sigma``, rounded to the nearest integer, on an
    integer that moves by up to ``shift``: P(z) = Phi((z + 1/2)/sigma) - Phi((z - 1/2)/sigma).

    Rounding is a post-processing, so the loss is at most that of a Gaussian of parameter ``mu``
    = shift/sigma (FORMULAS 8.4), and a little less. A float is read as the decimal it prints.

    Raises ParameterError for parameters outside the limits of ``DiscreteGaussian``.

    >>> RoundedGaussian(1).mu, round(RoundedGaussian(1).delta(0), 4)
    (Fraction(1, 1), 0.3829)
    """

    sigma: Fraction
    shift: int
    relation: Relation

    def __init__(
        self, sigma: Real, shift: int = 1, *, relation: Relation = Relation.ADD_REMOVE
    ) -> None:
        exact, moved_by = read_gaussian(sigma, shift)
        object.__setattr__(self, "sigma", exact)
        object.__setattr__(self, "shift", moved_by)
        object.__setattr__(self, "relation", read_relation(relation))

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def mu(self) -> Fraction:
        """The Gaussian guarantee that it satisfies: shift/sigma."""
        return self.shift / self.sigma

    def profile(self, direction: Direction, epsilon: Fraction) -> Interval:
        del direction
        steps = _Steps(self.sigma, self.shift)
        m = steps.threshold(epsilon)
        if m - self.shift > FARTHEST_TAIL * self.sigma:
            # The loss of a cell is at most that of its upper end.
            return Interval(ZERO.lower, steps.above(m - 1)[0].upper)
        return profile(steps, exponential(epsilon), m)

    def inverse(self, direction: Direction, delta: Fraction) -> Interval:
        del direction
        if delta == 0:
            return INFINITE
        steps = _Steps(self.sigma, self.shift)
        return inverse(steps, delta, steps.threshold(gaussian_epsilon(self.mu, delta)))

    def divergence(self, direction: Direction, alpha: Fraction | None) -> Interval:
        del direction
        if alpha is None:
            return INFINITE
        bound = Interval.of(alpha * self.mu**2 / 2)
        order = min(max(alpha, NEAREST_ORDER), max(Fraction(2), _FARTHEST_ORDER / self.mu))
        if alpha == 1:
            return below(_kl(self.sigma, self.shift), bound)
        found = _divergence(self.sigma, self.shift, order)
        if order < alpha:
            return Interval(found.lower, bound.upper)
        return moved(below(found, bound), alpha, order)

    def scaled(self, size: int) -> Self:
        return type(self)(self.sigma, self.shift * size, relation=self.relation)

    def atoms(
        self,
        direction: Direction = Direction.REMOVE,
        *,
        upper: bool = True,
        most: int | None = None,
    ) -> Atoms:
        """As of every loss; a default of 8,192 atoms. In blocks the upper version is that of
        the Gaussian before it is rounded."""
        del direction
        reach = math.ceil(WIDTH * self.sigma)
        if 2 * reach < read_most(most, _USUAL_POINTS):
            return _every_point(self.sigma, self.shift, reach, upper)
        number = read_most(most, USUAL_ATOMS)
        return blocks(self.sigma, self.shift, reach, number, upper=upper, integers=False)


class _Steps:
    """Outcomes m, from the first of positive loss on. P is centred at ``shift``.

    Both densities are log-concave, hence the law of a cell is, hence the ratio P/Q ascends.
    """

    last = None

    def __init__(self, sigma: Fraction, shift: int) -> None:
        self.first = shift // 2 + 1
        self._sigma, self._shift = sigma, shift

    def ratio(self, m: int) -> Interval:
        p, q = _spread_of(self._sigma, abs(m - self._shift)), _spread_of(self._sigma, m)
        loss = self._shift * (2 * m - self._shift) / (2 * self._sigma**2)
        return exponential(loss) * p / q

    def above(self, m: int) -> tuple[Interval, Interval]:
        edge = m - Fraction(1, 2)
        return normal_tail((edge - self._shift) / self._sigma), normal_tail(edge / self._sigma)

    def threshold(self, epsilon: Fraction) -> int:
        """About the first outcome whose loss exceeds ``epsilon``, at most one too high."""
        m = epsilon * self._sigma**2 / self._shift + Fraction(self._shift, 2)
        return math.floor(m + Fraction(1, 2))


def _spread_of(sigma: Fraction, c: int) -> Interval:
    """S(c) for c >= 0: the weight of the cell around c over exp(-c^2/(2 sigma^2))."""
    # A farthest point on a coarse scale, so that few series are made.
    farthest = 1 << max(c, math.ceil(8 * sigma)).bit_length()
    return block_sums(sigma, 1, farthest, integers=False)(c)


@lru_cache(maxsize=8)
def _every_point(sigma: Fraction, shift: int, reach: int, upper: bool) -> Atoms:
    cells = block_sums(sigma, 1, reach + shift, integers=False)
    unit = ONE / (Interval.of(sigma) * ROOT_TWO_PI)
    sizes = {c: cells(c) for c in range(reach + shift + 1)}
    logs = {c: size.log() for c, size in sizes.items()}
    weights = point_weights(sigma, reach)
    masses, losses = [], []
    for x in range(-reach, reach + 1):
        masses.append(weights[abs(x)] * sizes[abs(x)] * unit)
        line = shift * (2 * x + shift) / (2 * sigma**2)
        losses.append(Interval.of(line) + logs[abs(x)] - logs[abs(x + shift)])
    rest = normal_tail((reach + Fraction(1, 2)) / sigma)
    return ended(losses, masses, (rest, rest), upper=upper)


class _Sum:
    """What is summed over cells, or over blocks of them, around a middle."""

    def __init__(self, sigma: Fraction, shift: int, middle: Fraction) -> None:
        self.size = 1 if sigma <= _CELL_SIGMA else math.ceil(sigma / _CELL_SIGMA) | 1
        first = math.floor((middle - _SUM_WIDTH * sigma) / self.size)
        last = math.ceil((middle + _SUM_WIDTH * sigma) / self.size)
        self.centres = range(first * self.size, (last + 1) * self.size, self.size)
        farthest = max(abs(self.centres[0]), abs(self.centres[-1])) + shift
        self.unit = ONE / (Interval.of(sigma) * ROOT_TWO_PI)
        self._sums = block_sums(sigma, self.size, farthest, integers=False)
        self._known: dict[int, Interval] = {}

    def log(self, c: int) -> Interval:
        """log S(c)."""
        at = abs(c)
        if at not in self._known:
            self._known[at] = self._sums(at).log()
        return self._known[at]


def _divergence(sigma: Fraction, shift: int, order: Fraction) -> Interval:
    """D of an order above 1, over exp(alpha (alpha - 1) shift^2/(2 sigma^2)).

    The term of a cell is then exp(-(c - alpha shift)^2/(2 sigma^2)) S(c - shift)^alpha
    S(c)^(1 - alpha). Far cells together have at most what the continuous law has there, by
    joint convexity; so has everything, which is the only upper bound for blocks.
    """
    middle = order * shift
    cells = _Sum(sigma, shift, middle)
    first, second = Interval.of(order), Interval.of(order - 1)
    total = ZERO
    for c in cells.centres:
        inner = first * cells.log(c - shift) - second * cells.log(c)
        total = total + (Interval.of(-((c - middle) ** 2) / (2 * sigma**2)) + inner).exp()
    total = total * cells.unit
    far = normal_tail(Fraction(_SUM_WIDTH)).upper
    most = (total + Interval(ZERO.lower, far) + Interval(ZERO.lower, far)).upper
    total = Interval(total.lower, min(most, ONE.upper) if cells.size == 1 else ONE.upper)
    line = Interval.of(order * (shift / sigma) ** 2 / 2)
    return (line + total.log() / second).clip(0)


def _kl(sigma: Fraction, shift: int) -> Interval:
    """The sum of P log(P/Q); for blocks only the lower end means anything.

    Cells beyond t = 18 sigma above have losses of at least 0, and in all at most what the
    continuous law has there: (shift/sigma) (phi(t) + shift/(2 sigma) Q(t)). Those below have
    at most the second part of it, and at least their mass times its own logarithm.
    """
    cells = _Sum(sigma, shift, Fraction(shift))
    total = ZERO
    for c in cells.centres:
        mass = (Interval.of(-((c - shift) ** 2) / (2 * sigma**2)) + cells.log(c - shift)).exp()
        line = Interval.of(shift * (2 * c - shift) / (2 * sigma**2))
        total = total + mass * (line + cells.log(c - shift) - cells.log(c))
    mu, far = Interval.of(shift / sigma), normal_tail(Fraction(_SUM_WIDTH))
    density = Interval.of(Fraction(-(_SUM_WIDTH**2), 2)).exp()
    more = (mu * (density + mu * far)).upper
    found = total * cells.unit + Interval((far * far.log()).lower, more)
    found = found.clip(0)
    return found if cells.size == 1 else Interval(found.lower, INFINITE.upper)
