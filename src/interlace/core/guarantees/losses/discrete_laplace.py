"""The privacy loss of discrete Laplace noise on an integer, at any shift."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self, final

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, natural, rational
from interlace.core.guarantees.base import Relation, read_relation
from interlace.core.guarantees.enclosures import one_minus_exp
from interlace.core.guarantees.losses.atoms import (
    USUAL_ATOMS,
    Atoms,
    Direction,
    ended,
    merged,
    read_most,
    spread,
)
from interlace.core.guarantees.losses.base import PrivacyLoss
from interlace.core.guarantees.losses.moments import NEAREST_ORDER, capped_by_pure, moved
from interlace.core.guarantees.losses.staircase import exponential, inverse, profile_at
from interlace.core.interval import ONE, ZERO, Interval
from interlace.core.laws import LARGEST_SCALE, SMALLEST_SCALE

LARGEST_SHIFT = 2**62
LARGEST_LOSS = 10**12
#: e^-737 is below 1e-320: so far below the largest loss, counted in scales, nothing is left.
_DEPTH = 737


@final
@dataclass(frozen=True, init=False, repr=False)
class DiscreteLaplace(PrivacyLoss):
    """Noise P(z) = (1 - r)/(1 + r) r^|z|, r = e^(-1/scale), on an integer that moves by up to
    ``shift`` (FORMULAS 8.2).

    The loss takes the values (2 z - shift)/scale for z = 0..shift, geometric tails at both
    ends; at shift 1 it is that of randomised response. A float is read as the decimal that it
    prints; the law that a mechanism serves has the scale that its description tells.

    Raises ParameterError for a scale outside [2**-30, 2**40], a shift that is no integer from
    1 to 2**62, or shift/scale above 1e12.

    >>> DiscreteLaplace(1).delta(0), DiscreteLaplace(2, shift=3).group(2)
    (0.4621171572600098, DiscreteLaplace(2, 6))
    """

    scale: Fraction
    shift: int
    relation: Relation

    def __init__(
        self, scale: Real, shift: int = 1, *, relation: Relation = Relation.ADD_REMOVE
    ) -> None:
        exact = rational(scale, "scale", minimum=SMALLEST_SCALE, maximum=LARGEST_SCALE)
        moved_by = natural(shift, "shift", maximum=LARGEST_SHIFT)
        if moved_by > LARGEST_LOSS * exact:
            raise ParameterError("shift", f"must be at most {LARGEST_LOSS} scales")
        object.__setattr__(self, "scale", exact)
        object.__setattr__(self, "shift", moved_by)
        object.__setattr__(self, "relation", read_relation(relation))

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def response(self) -> Fraction | None:
        return self._largest if self.shift == 1 else None

    @property
    def _largest(self) -> Fraction:
        return self.shift / self.scale

    def profile(self, direction: Direction, epsilon: Fraction) -> Interval:
        del direction
        if epsilon >= self._largest:
            return ZERO
        m = (epsilon * self.scale + self.shift) / 2
        steps = _Steps(self.scale, self.shift)
        return profile_at(steps, m.numerator // m.denominator + 1, exponential(epsilon))

    def inverse(self, direction: Direction, delta: Fraction) -> Interval:
        del direction
        if delta == 0:
            return Interval.of(self._largest)
        return inverse(_Steps(self.scale, self.shift), delta, self.shift)

    def divergence(self, direction: Direction, alpha: Fraction | None) -> Interval:
        del direction
        loss = Interval.of(self._largest)
        if alpha is None:
            return loss
        if alpha == 1:
            return capped_by_pure(self._kl(), self._largest, alpha)
        order = max(alpha, NEAREST_ORDER)
        pace = 2 * order - 1
        r = _fall(1, self.scale)
        between = (
            _fall(pace, self.scale)
            * _rise(pace * (self.shift - 1), self.scale)
            * _rise(1, self.scale)
            / _rise(pace, self.scale)
        )
        bracket = (ONE + _fall(pace * self.shift, self.scale) + between) / (ONE + r)
        found = (loss + bracket.log() / Interval.of(order - 1)).clip(0)
        return capped_by_pure(moved(found, alpha, order), self._largest, alpha)

    def _kl(self) -> Interval:
        # epsilon (1 - 2 r (1 - r^s)/(s (1 - r^2)))
        lost = _fall(1, self.scale) * _rise(self.shift, self.scale) / _rise(2, self.scale)
        return Interval.of(self._largest) * (ONE - Interval.of(Fraction(2, self.shift)) * lost)

    def scaled(self, size: int) -> Self:
        return type(self)(self.scale, self.shift * size, relation=self.relation)

    def atoms(
        self,
        direction: Direction = Direction.REMOVE,
        *,
        upper: bool = True,
        most: int | None = None,
    ) -> Atoms:
        del direction
        depth = min(self.shift, -(-_DEPTH * self.scale.numerator // self.scale.denominator))
        if depth < read_most(most):
            return _every_point(self.scale, self.shift, depth, upper)
        return _blocks(self.scale, self.shift, depth, read_most(most, USUAL_ATOMS) - 2, upper)


def _fall(times: Fraction | int, scale: Fraction) -> Interval:
    """r^times."""
    return Interval.of(-times / scale).exp()


def _rise(times: Fraction | int, scale: Fraction) -> Interval:
    """1 - r^times."""
    return one_minus_exp(Interval.of(times / scale))


class _Steps:
    """Outcomes 1..shift of larger than the smallest loss; ``shift`` stands for all above it."""

    def __init__(self, scale: Fraction, shift: int) -> None:
        # Smaller thresholds have losses below 0.
        self.first, self.last = shift // 2 + 1, shift
        self._scale, self._shift = scale, shift
        self._share = ONE / (ONE + _fall(1, scale))

    def ratio(self, m: int) -> Interval:
        return exponential((2 * m - self._shift) / self._scale)

    def above(self, m: int) -> tuple[Interval, Interval]:
        if m > self.last:
            return ZERO, ZERO
        p = ONE - self._share * _fall(self._shift - m + 1, self._scale)
        return p, self._share * _fall(m, self._scale)


# Laws of many atoms take a while: whoever asks again is answered from memory.
@lru_cache(maxsize=8)
def _every_point(scale: Fraction, shift: int, depth: int, upper: bool) -> Atoms:
    """The losses from the largest down to the ``depth``-th below it."""
    share, r = ONE / (ONE + _fall(1, scale)), _fall(1, scale)
    masses = [share]
    inner = share * _rise(1, scale)
    for _ in range(depth):
        inner = inner * r
        masses.append(inner)
    rest = share * _fall(depth if depth == shift else depth + 1, scale)
    losses = [(shift - 2 * j) / scale for j in range(depth, -1, -1)]
    masses.reverse()
    step = 2 / scale
    if depth == shift:
        masses[0] = rest
        return Atoms(tuple(losses), tuple(masses), step=step)
    return ended(losses, masses, (rest, ZERO), upper=upper, step=step)


@lru_cache(maxsize=8)
def _blocks(scale: Fraction, shift: int, depth: int, most: int, upper: bool) -> Atoms:
    """The same with blocks of neighbouring outcomes spread or merged, from the top down."""
    size = -(-depth // most)
    number = -(-depth // size)
    share, step = ONE / (ONE + _fall(1, scale)), 2 * size / scale
    grid = [shift / scale - j * step for j in range(number + 1)]
    masses, losses = [share], [Interval.of(grid[0])]
    for j in range(number):
        top = shift - j * size - (j == 0)
        bottom = shift - (j + 1) * size + 1
        rise = _rise(top - bottom + 1, scale)
        p = share * _fall(shift - top, scale) * rise
        q = share * _fall(bottom, scale) * rise
        if bottom <= 1:
            # With all outcomes of the smallest loss.
            p, q = share * _fall(shift - top, scale), ONE - share * _fall(top + 1, scale)
        if upper:
            low, high = spread(p, q, Interval.of(grid[j + 1]), Interval.of(step))
            masses[-1] = (masses[-1] + high).clip(0, 1)
            masses.append(low)
        else:
            masses.append(p)
            losses.append(merged(p, q))
    masses.reverse()
    bottom = shift - number * size + 1
    below = ZERO if bottom <= 1 else share * _fall(shift - bottom + 1, scale)
    if upper:
        return ended(grid[::-1], masses, (below, ZERO), upper=True, step=step)
    return ended(losses[::-1], masses, (below, ZERO), upper=False)
