"""The Gaussian mechanism's profile, enclosed: what a zCDP guarantee can at least cost.

No guarantee is converted here. A Gaussian mechanism with mu = sqrt(2 rho) is rho-zCDP, so its
delta is a lower end for whatever is claimed of rho-zCDP.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from interlace.core.interval import ONE, PI, ZERO, Interval

_HALF, _TWO = Interval.of(Fraction(1, 2)), Interval.of(2)
_DENSITY = ONE / (_TWO * PI).sqrt()
#: Where the power series hands over to the continued fraction.
_SERIES_BELOW = 5
_SERIES_TERMS = 120
#: Arguments beyond this have a tail that no delta can tell from 0.
_FARTHEST = Decimal(10) ** 8


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
    # x + x^3/3 + x^5/(3 5) + ...; what follows is below a geometric series.
    term = total = x
    square = x * x
    for k in range(1, _SERIES_TERMS):
        term = term * square / Interval.of(2 * k + 1)
        total = total + term
    ratio = square / Interval.of(2 * _SERIES_TERMS + 1)
    return total + Interval(Decimal(0), (term * ratio / (ONE - ratio)).upper)


def _continued(x: Interval) -> Interval:
    # x + 1/(x + 2/(x + 3/(x + ...))): every remainder from n on lies in [x, x + n/x].
    depth = 40 + int(1600 / float(x.lower) ** 2)
    value = Interval(x.lower, (x + Interval.of(depth) / x).upper)
    for k in range(depth - 1, 0, -1):
        value = x + Interval.of(k) / value
    return value


class Gaussian:
    """The profile of the Gaussian mechanism that is exactly rho-zCDP, rho > 0 (FORMULAS 7.5)."""

    def __init__(self, rho: Fraction) -> None:
        self._mu = Interval.of(2 * rho).sqrt()

    def delta(self, epsilon: Interval) -> Interval:
        """The least delta at any real ``epsilon``.

        >>> Gaussian(Fraction(1, 2)).delta(ZERO).upper < Decimal("0.3829249226")
        True
        """
        if epsilon.lower < 0:
            # d(-e) = 1 - e^-e + e^-e d(e): both directions of a Gaussian are alike.
            turned = -epsilon
            fall = epsilon.exp()
            return (ONE - fall * (ONE - self._positive(turned.clip(0)))).clip(0, 1)
        return self._positive(epsilon)

    def _positive(self, epsilon: Interval) -> Interval:
        middle, half = epsilon / self._mu, self._mu / _TWO
        near, far = tail(middle - half), tail(middle + half)
        if near.upper == 0:
            return ZERO
        lost = (
            epsilon.exp() * far if epsilon.upper < _FARTHEST else Interval(Decimal(0), near.upper)
        )
        return (near - lost).clip(0, 1)
