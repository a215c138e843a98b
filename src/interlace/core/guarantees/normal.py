"""The Gaussian mechanism's profile, enclosed, both ways. Numbers only, no guarantee.

A Gaussian mechanism with mu = sqrt(2 rho) is rho-zCDP, so its delta is also a lower end for
whatever is claimed of rho-zCDP.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Self

from interlace.core.guarantees.enclosures import log_roughly
from interlace.core.interval import DOWN, ONE, PI, UP, ZERO, Interval

_HALF, _TWO = Interval.of(Fraction(1, 2)), Interval.of(2)
_DENSITY = ONE / (_TWO * PI).sqrt()
#: Where the power series hands over to the continued fraction.
_SERIES_BELOW = 5
_NEGLIGIBLE = Decimal("1e-64")
#: Arguments beyond this have a tail that no delta can tell from 0.
_FARTHEST = Decimal(10) ** 8
_LARGEST_EXPONENT = Decimal(10) ** 16

#: A guess below this times mu may be 0.
_NEAR = Decimal("0.01")
#: How narrow the interval around an epsilon gets, and where Newton's next step is aimed.
_CLOSE, _CLOSER = Decimal("1e-20"), Decimal("1e-24")
_STEPS = 120

#: For the first guess, in floats.
_LEAST_GUESSED, _MOST_GUESSED = 1e-290, 1e8
_GUESSES, _LEFTMOST = 40, -37.0
_ROOT_HALF_PI, _LOG_ROOT_TWO_PI = math.sqrt(math.pi / 2), math.log(2 * math.pi) / 2
#: Gauss-Legendre, five points on [0, 1], with weights.
_GAUSS = (
    (0.04691007703066802, 0.11846344252809454),
    (0.23076534494715845, 0.23931433524968326),
    (0.5, 0.28444444444444444),
    (0.7692346550528415, 0.23931433524968326),
    (0.953089922969332, 0.11846344252809454),
)


def tail(x: Interval) -> Interval:
    """The chance that a standard normal variable exceeds x.

    >>> tail(ZERO).contains(Fraction(1, 2)), tail(Interval.of(30)).upper < Decimal("5e-198")
    (True, True)
    """
    return Interval(_tail_at(x.upper).lower, _tail_at(x.lower).upper)


def _tail_at(point: Decimal) -> Interval:
    if point < 0:
        return ONE - _tail_at(point.copy_negate())
    if point > _FARTHEST:
        return Interval(Decimal(0), _tail_at(_FARTHEST).upper)
    x = Interval(point, point)
    density = _DENSITY * (-(x * x) / _TWO).exp()
    if point < _SERIES_BELOW:
        return (_HALF - density * _series(x)).clip(0)
    return density / _continued(x)


def _series(x: Interval) -> Interval:
    # x + x^3/3 + x^5/(3 5) + ...; each later term is below half of the last.
    low, _ = _summed(DOWN, x.lower)
    high, last = _summed(UP, x.upper)
    return Interval(low, UP.add(high, last))


def _summed(context: Context, x: Decimal) -> tuple[Decimal, Decimal]:
    """The sum up to a term that no longer counts, and that term."""
    square = context.multiply(x, x)
    twice = context.multiply(2, square)
    term = total = x
    k = 3
    while twice >= k or term > context.multiply(total, _NEGLIGIBLE):
        term = context.divide(context.multiply(term, square), k)
        total = context.add(total, term)
        k += 2
    return total, term


def _continued(x: Interval) -> Interval:
    # x + 1/(x + 2/(x + 3/(x + ...))): every remainder from n on lies in [x, x + n/x].
    depth = 60 + int(1600 / float(x.lower) ** 2)
    low, high = x.lower, UP.add(x.upper, UP.divide(depth, x.lower))
    for k in range(depth - 1, 0, -1):
        low, high = DOWN.add(x.lower, DOWN.divide(k, high)), UP.add(x.upper, UP.divide(k, low))
    return Interval(low, high)


class Gaussian:
    """The profile of a Gaussian mechanism, its answers mu > 0 standard deviations apart
    (FORMULAS 7.5)."""

    def __init__(self, mu: Interval) -> None:
        self._mu = mu

    @classmethod
    def of_mu(cls, mu: Fraction) -> Self:
        return cls(Interval.of(mu))

    @classmethod
    def of_rho(cls, rho: Fraction) -> Self:
        """The one that is exactly rho-zCDP, rho > 0: mu is sqrt(2 rho)."""
        return cls(Interval.of(2 * rho).sqrt())

    def delta(self, epsilon: Interval) -> Interval:
        """The least delta at any real ``epsilon``.

        >>> Gaussian.of_mu(Fraction(1)).delta(ZERO).upper < Decimal("0.3829249226")
        True
        """
        if epsilon.lower < 0:
            # d(-e) = 1 - e^-e + e^-e d(e): both directions of a Gaussian are alike.
            turned = -epsilon
            fall = epsilon.exp()
            return (ONE - fall * (ONE - self.delta(turned.clip(0)))).clip(0, 1)
        found = _stick(epsilon, *self._tails(epsilon))
        # Where mu is so small that it cancels: delta(0) is below mu times the highest density.
        return Interval(found.lower, min(found.upper, (self._mu * _DENSITY).upper))

    def _tails(self, epsilon: Interval) -> tuple[Interval, Interval]:
        """The chances that the loss exceeds epsilon, with the unit's data and without."""
        middle, half = epsilon / self._mu, self._mu / _TWO
        return tail(middle - half), tail(middle + half)

    def epsilon(self, share: Interval) -> Interval:
        """The least epsilon >= 0 whose delta is at most ``share``, 0 < share < 1.

        delta is convex in e^epsilon, so each tangent gives a lower end, and Newton's steps
        find it from any start; the upper end is certified by evaluating delta there.

        >>> found = Gaussian.of_mu(Fraction(1)).epsilon(Interval.of(Fraction(1, 10**6)))
        >>> Decimal("4.886554") < found.lower <= found.upper < Decimal("4.886555")
        True
        """
        at = _guess(self._mu.up(), log_roughly(Fraction(share.lower)))
        if at <= UP.multiply(self._mu.upper, _NEAR) and self.delta(ZERO).upper <= share.lower:
            return ZERO
        low, high = Decimal(0), self._far(share)
        at = min(high, at)
        aimed = False
        for _ in range(_STEPS):
            width = UP.subtract(high, low)
            point = Interval(at, at)
            near, far = self._tails(point)
            if _stick(point, near, far).upper <= share.lower:
                high = min(high, at)
            room = near - share
            if room.lower > 0 and far.lower > 0:
                low = max(low, (room / far).log().lower)
            left = UP.subtract(high, low)
            if left <= UP.multiply(high, _CLOSE):
                break
            # Just above the tangent's end; where that did not help, halfway.
            aimed = not (aimed and UP.multiply(2, left) > width)
            at = UP.fma(*((high, _CLOSER) if aimed else (left, _HALF.lower)), low)
        return Interval(low, high)

    def _far(self, share: Interval) -> Decimal:
        """An epsilon that is never too small: that of rho-zCDP (FORMULAS 7.1)."""
        rho = self._mu * self._mu / _TWO
        return (rho + _TWO * (rho * -share.log()).sqrt()).upper


def _stick(epsilon: Interval, near: Interval, far: Interval) -> Interval:
    if near.upper == 0:
        return ZERO
    fits = epsilon.upper < _LARGEST_EXPONENT
    lost = epsilon.exp() * far if fits else Interval(Decimal(0), near.upper)
    return (near - lost).clip(0, 1)


def _guess(mu: float, log_share: float) -> Decimal:
    """About where the profile meets a share, in floats: Newton's steps in log delta, which is
    concave in epsilon, from above."""
    if not _LEAST_GUESSED < mu < _MOST_GUESSED:
        return Decimal(0)
    at = mu * (mu / 2 + math.sqrt(2 * max(0.0, -log_share)))
    for _ in range(_GUESSES):
        x = at / mu - mu / 2
        if x < _LEFTMOST:
            break
        far, difference = _mills(x + mu), _mills_fall(x, mu)
        log_delta = -x * x / 2 - _LOG_ROOT_TWO_PI + math.log(difference)
        step = (log_delta - log_share) * difference / far
        at = max(0.0, at + step)
        if abs(step) <= 1e-15 * at:
            break
    return Decimal(repr(at))


def _mills(x: float) -> float:
    """tail(x) / density(x) for x >= -38, in floats."""
    if x < _SERIES_BELOW:
        return _ROOT_HALF_PI * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))
    return 1 / (x + _remainder(x))


def _remainder(x: float) -> float:
    # 1/(x + 2/(x + 3/(x + ...))) for x >= 5.
    value = x
    for k in range(40, 1, -1):
        value = x + k / value
    return 1 / value


def _mills_fall(x: float, width: float) -> float:
    """_mills(x) - _mills(x + width), by its slope where that would cancel."""
    if width > 1:
        return _mills(x) - _mills(x + width)
    return width * sum(w * _slope(x + u * width) for u, w in _GAUSS)


def _slope(x: float) -> float:
    if x < _SERIES_BELOW:
        return 1 - x * _mills(x)
    rest = _remainder(x)
    return rest / (x + rest)
