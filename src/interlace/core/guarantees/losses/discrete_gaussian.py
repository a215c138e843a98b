"""The privacy loss of discrete Gaussian noise on an integer: its own sums, not the curve of
the continuous law, which is too small."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self, final

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, natural, rational
from interlace.core.gaussian_sums import theta
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
from interlace.core.guarantees.losses.discrete_laplace import LARGEST_SHIFT
from interlace.core.guarantees.losses.lattice import integer_tail, point_weights
from interlace.core.guarantees.losses.moments import NEAREST_ORDER, below, moved
from interlace.core.guarantees.losses.normal_blocks import blocks
from interlace.core.guarantees.losses.rough import gaussian_epsilon
from interlace.core.guarantees.losses.staircase import exponential, inverse, profile_at
from interlace.core.interval import ONE, PI, ZERO, Interval
from interlace.core.laws import LARGEST_SCALE, SMALLEST_SCALE

#: The largest shift in units of sigma.
LARGEST_RATIO = 10**4
#: Beyond so many sigma the tails are below 1e-320.
WIDTH = Fraction(77, 2)
#: A threshold beyond so many sigma leaves a delta below 1e-19000: its tail is bound enough.
FARTHEST_TAIL = 300
_THETA_SIGMA, _THETA_WIDTH = 4, 18


@final
@dataclass(frozen=True, init=False, repr=False)
class DiscreteGaussian(PrivacyLoss):
    """Noise of the discrete Gaussian with parameter ``sigma`` on an integer that moves by up
    to ``shift`` (FORMULAS 8.4).

    The loss is shift (2 z + shift)/(2 sigma^2), z the noise; delta = P(Z > e s - shift/2) -
    e^epsilon P(Z > e s + shift/2) with e s = epsilon sigma^2/shift. That is not a Gaussian
    guarantee of shift/sigma: at sigma 1 delta(0.024) is 0.3916 against 0.3755. A float is read
    as the decimal that it prints.

    Raises ParameterError for a sigma outside [2**-30, 2**40], a shift that is no integer from
    1 to 2**62, or shift/sigma above 1e4.

    >>> round(DiscreteGaussian(1).delta(0.024), 4), DiscreteGaussian(2).renyi(3)
    (0.3916, 0.375)
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

    def profile(self, direction: Direction, epsilon: Fraction) -> Interval:
        del direction
        steps = _Steps(self.sigma, self.shift)
        m = steps.threshold(epsilon)
        if m - self.shift > FARTHEST_TAIL * self.sigma:
            return Interval(ZERO.lower, steps.above(m)[0].upper)
        return profile_at(steps, m, exponential(epsilon))

    def inverse(self, direction: Direction, delta: Fraction) -> Interval:
        del direction
        if delta == 0:
            return INFINITE
        steps = _Steps(self.sigma, self.shift)
        guess = gaussian_epsilon(self.shift / self.sigma, delta)
        return inverse(steps, delta, steps.threshold(guess))

    def divergence(self, direction: Direction, alpha: Fraction | None) -> Interval:
        del direction
        if alpha is None:
            return INFINITE
        bound = Interval.of(alpha * (self.shift / self.sigma) ** 2 / 2)
        order = max(alpha, NEAREST_ORDER)
        if alpha == 1 or (order * self.shift).denominator == 1:
            return bound
        # The sum over all integers of exp(-(z - alpha shift)^2/(2 sigma^2)) against that at 0.
        ratio = _shifted_theta(self.sigma, order * self.shift % 1) / theta(self.sigma)
        start = Interval.of(order * (self.shift / self.sigma) ** 2 / 2)
        found = (start + ratio.log() / Interval.of(order - 1)).clip(0)
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
        del direction
        reach = math.ceil(WIDTH * self.sigma)
        if 2 * reach < read_most(most):
            return _every_point(self.sigma, self.shift, reach, upper)
        number = read_most(most, USUAL_ATOMS)
        return blocks(self.sigma, self.shift, reach, number, upper=upper, integers=True)


def read_gaussian(sigma: Real, shift: int) -> tuple[Fraction, int]:
    """The parameters of a Gaussian loss, exactly; ParameterError outside their limits."""
    exact = rational(sigma, "sigma", minimum=SMALLEST_SCALE, maximum=LARGEST_SCALE)
    moved_by = natural(shift, "shift", maximum=LARGEST_SHIFT)
    if moved_by > LARGEST_RATIO * exact:
        raise ParameterError("shift", f"must be at most {LARGEST_RATIO} sigma")
    return exact, moved_by


class _Steps:
    """Outcomes m, from the first whose loss is positive on. P is centred at ``shift``."""

    last = None

    def __init__(self, sigma: Fraction, shift: int) -> None:
        self.first = shift // 2 + 1
        self._sigma, self._shift = sigma, shift

    def ratio(self, m: int) -> Interval:
        return exponential(self._shift * (2 * m - self._shift) / (2 * self._sigma**2))

    def above(self, m: int) -> tuple[Interval, Interval]:
        return integer_tail(self._sigma, m - self._shift), integer_tail(self._sigma, m)

    def threshold(self, epsilon: Fraction) -> int:
        """The first outcome whose loss exceeds ``epsilon``."""
        m = epsilon * self._sigma**2 / self._shift + Fraction(self._shift, 2)
        return m.numerator // m.denominator + 1


@lru_cache(maxsize=8)
def _every_point(sigma: Fraction, shift: int, reach: int, upper: bool) -> Atoms:
    total = theta(sigma)
    half = [weight / total for weight in point_weights(sigma, reach)]
    rest = integer_tail(sigma, reach + 1)
    step = shift / sigma**2
    middle = shift * step / 2
    losses = [middle + z * step for z in range(-reach, reach + 1)]
    return ended(losses, half[:0:-1] + half, (rest, rest), upper=upper, step=step)


def _shifted_theta(sigma: Fraction, x: Fraction) -> Interval:
    """The sum over all integers of exp(-(z - x)^2/(2 sigma^2)), 0 <= x < 1."""
    if sigma >= _THETA_SIGMA:
        # Poisson: sigma sqrt(2 pi) (1 + 2 sum_k q^(k^2) cos(2 pi k x)), q = exp(-2 pi^2 sigma^2).
        q = (-(PI * PI * Interval.of(2 * sigma**2))).exp()
        part = theta(sigma)
        most = Interval.of(4) * q
        return part * (ONE - Interval(ZERO.lower, (most + most).upper))
    reach = math.ceil(_THETA_WIDTH * sigma) + 1
    total = ZERO
    for z in range(-reach, reach + 2):
        total = total + Interval.of(-((z - x) ** 2) / (2 * sigma**2)).exp()
    # Beyond, each side falls by more than half a step: twice its first term covers it.
    first = Interval.of(-(Fraction(reach) ** 2) / (2 * sigma**2)).exp()
    return total + Interval(ZERO.lower, (Interval.of(4) * first).upper)
