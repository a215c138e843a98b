"""Sums over all outcomes in 60 digits: what the losses of noise are tested against."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import mpmath

from interlace.core.interval import Interval


def mp(x: Fraction | int) -> mpmath.mpf:
    return mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator


def around(reach: int) -> range:
    return range(-reach, reach + 1)


@dataclass(frozen=True)
class Noise:
    """Weights of the integers, not normalised, and the integers that count."""

    weight: Callable[[int], mpmath.mpf]
    support: range

    def delta(self, shift: int, epsilon: Fraction) -> mpmath.mpf:
        """The hockey stick, each outcome by itself."""
        x = mpmath.exp(mp(epsilon))
        weights = {z: self.weight(z) for z in self.support}
        total = mpmath.fsum(weights.values())
        terms = (w - x * weights.get(z + shift, 0) for z, w in weights.items())
        return mpmath.fsum(t for t in terms if t > 0) / total

    def renyi(self, shift: int, alpha: Fraction) -> mpmath.mpf:
        """The divergence; ``support`` must reach beyond alpha * shift."""
        total = mpmath.fsum(self.weight(z) for z in self.support)
        rows = [(self.weight(z - shift), self.weight(z)) for z in self.support]
        if alpha == 1:
            return mpmath.fsum(p * mpmath.log(p / q) for p, q in rows) / total
        a = mp(alpha)
        return mpmath.log(mpmath.fsum(p**a * q ** (1 - a) for p, q in rows) / total) / (a - 1)


def gaussian(sigma: Fraction, more: int = 0) -> Noise:
    s = mp(sigma)
    return Noise(lambda z: mpmath.exp(-((z / s) ** 2) / 2), around(int(42 * sigma) + 3 + more))


def laplace(scale: Fraction, more: int = 0) -> Noise:
    s = mp(scale)
    return Noise(lambda z: mpmath.exp(-abs(z) / s), around(int(145 * scale) + 3 + more))


def rounded(sigma: Fraction, more: int = 0) -> Noise:
    root = mp(sigma) * mpmath.sqrt(2)

    @cache
    def half(z: int) -> mpmath.mpf:
        # By complementary error functions of positive numbers: nothing cancels.
        near, far = (z - mpmath.mpf(1) / 2) / root, (z + mpmath.mpf(1) / 2) / root
        if z == 0:
            return 2 * mpmath.erf(far)
        return mpmath.erfc(near) - mpmath.erfc(far)

    return Noise(lambda z: half(abs(z)), around(int(42 * sigma) + 3 + more))


def holds(found: Interval, exact: mpmath.mpf, width: float) -> None:
    """``found`` contains ``exact``, known to 55 digits, and is relatively ``width`` wide."""
    low, high = mpmath.mpf(str(found.lower)), mpmath.mpf(str(found.upper))
    slack = abs(exact) * mpmath.mpf("1e-50")
    assert low - slack <= exact <= high + slack
    assert high - low <= abs(exact) * mpmath.mpf(width)
