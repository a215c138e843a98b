"""Referees of the contour integral: sums over every value of a loss, in balls of 400 bits.

Nothing of the code under test is used. A law is a table from values to masses under P; with a
Gaussian loss beside it delta is the sum of mass * G(epsilon - value), G being the profile of the
Gaussian mechanism (FORMULAS 7.5), which holds at negative arguments too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import comb
from typing import Any

import flint
import numpy as np
import numpy.typing as npt

from interlace.core.interval import Interval

#: Balls of python-flint, which has no types.
Ball = Any
Law = dict[Fraction, Ball]
BITS = 400


@contextmanager
def balls(bits: int = BITS) -> Iterator[None]:
    """Arithmetic of this many bits."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


def ball(value: Fraction | int) -> Ball:
    exact = Fraction(value)
    return flint.arb(exact.numerator) / flint.arb(exact.denominator)


def responses(epsilon: Fraction, count: int) -> Law:
    """The sum of ``count`` losses +-``epsilon``: a binomial (FORMULAS 2.2)."""
    q = 1 / (1 + ball(epsilon).exp())
    p = 1 - q
    return {
        (count - 2 * j) * epsilon: comb(count, j) * p ** (count - j) * q**j
        for j in range(count + 1)
    }


def convolved(first: Law, second: Law) -> Law:
    found: Law = {}
    for x, p in first.items():
        for y, q in second.items():
            found[x + y] = found.get(x + y, 0) + p * q
    return found


def law(losses: Iterable[tuple[Fraction, int]]) -> Law:
    """The sum of two-point losses."""
    found: Law = {Fraction(0): flint.arb(1)}
    for epsilon, count in losses:
        found = convolved(found, responses(epsilon, count))
    return found


def powers(one: Law, count: int) -> Law:
    """The sum of ``count`` independent losses of one law."""
    found: Law = {Fraction(0): flint.arb(1)}
    for _ in range(count):
        found = convolved(found, one)
    return found


def gaussian(y: Ball, mu_squared: Fraction) -> Ball:
    """The profile of the Gaussian mechanism at any real argument."""
    mu, root = ball(mu_squared).sqrt(), flint.arb(2).sqrt()
    first = ((y / mu - mu / 2) / root).erfc() / 2
    second = ((y / mu + mu / 2) / root).erfc() / 2
    return first - y.exp() * second


def delta(values: Law, epsilon: Fraction, mu_squared: Fraction = Fraction(0)) -> Ball:
    """The exact delta of a law, with a Gaussian loss beside it."""
    total = flint.arb(0)
    for value, mass in values.items():
        if mu_squared:
            total += mass * gaussian(ball(epsilon - value), mu_squared)
        elif value > epsilon:
            total += mass * -ball(epsilon - value).expm1()
    return total


def holds_delta(found: Interval, exact: Ball) -> bool:
    """Whether an enclosure of delta may contain the exact value."""
    # Read as text: as a fraction 1e-1000000000 is long.
    lower, upper = flint.arb(str(found.lower)), flint.arb(str(found.upper))
    return not (exact > upper or exact < lower)


def holds_epsilon(
    found: Interval, values: Law, share: Fraction, mu_squared: Fraction = Fraction(0)
) -> bool:
    """Whether [lower, upper] may contain the least epsilon at which delta is at most ``share``:
    delta there is at least, and at most, that."""
    goal = ball(share)
    if found.lower > 0 and delta(values, Fraction(found.lower), mu_squared) < goal:
        return False
    return not (
        found.upper < Decimal("Infinity")
        and delta(values, Fraction(found.upper), mu_squared) > goal
    )


def width(found: Interval) -> float:
    """Relative to the upper end."""
    if not found.upper.is_finite():
        return float("inf")
    return float((found.upper - found.lower) / found.upper) if found.upper > 0 else 0.0


def integral(
    losses: Iterable[tuple[Fraction, int]], mu_squared: Fraction, epsilon: Fraction, c: float
) -> Ball:
    """delta of two-point losses beside a Gaussian one, by python-flint's enclosure of the contour
    integral (FORMULAS 2.11) on the line through ``c`` > 0, and a bound of what is cut off."""
    counted = [(flint.acb(ball(e)), n) for e, n in losses]
    mu, at = flint.acb(ball(mu_squared)), flint.acb(ball(epsilon))

    def moment(s: Ball) -> Ball:
        found = (s * (s + 1) * mu / 2 - s * at).exp()
        for e, n in counted:
            found *= ((e * (s + flint.acb(0.5))).cosh() / (e / 2).cosh()) ** n
        return found

    def density(t: Ball, _: bool) -> Ball:
        s = flint.acb(c) + flint.acb(0, 1) * t
        return moment(s) / (s * (s + 1))

    end = (flint.arb(160) / ball(mu_squared)).sqrt()
    found = flint.acb.integral(density, 0, flint.acb(end), rel_tol=2.0**-80).real
    cut = moment(flint.acb(c)).real * (-ball(mu_squared) * end * end / 2).exp() / end
    return (found + flint.arb(0, cut.upper())) / flint.arb.pi()


@dataclass(frozen=True)
class Dense:
    """The sum of losses +-n ``step`` for many integers n, by additions and products of positive
    floats alone: ``masses[m]`` is that of (2m - ``total``) ``step``, up to a relative error."""

    step: Fraction
    total: int
    masses: npt.NDArray[np.float64]
    error: float

    @classmethod
    def of(cls, numbers: Sequence[int], step: Fraction) -> Dense:
        masses, total = np.ones(1), 0
        for n in numbers:
            q = 1 / (1 + math.exp(n * step))
            grown = np.zeros(masses.size + n)
            grown[n:] = masses * (1 - q)
            grown[: masses.size] += masses * q
            masses, total = grown, total + n
        # Each step: an exponential and its argument, a quotient, a difference, a product, a sum.
        each = 16 + 4 * float(max(numbers) * step)
        return cls(step, total, masses, len(numbers) * each * 2.0**-53)

    def delta(self, epsilon: Fraction) -> Ball:
        first = max(0, math.floor((epsilon / self.step + self.total) / 2) + 1)
        nearest = float((2 * first - self.total) * self.step - epsilon)
        above = self.masses[first:]
        far = nearest + np.arange(above.size) * float(2 * self.step)
        found = math.fsum((above * -np.expm1(-far)).tolist())
        # What underflows is far below what is looked at.
        return flint.arb(found, found * (self.error + 32 * 2.0**-53) + 1e-290)


def binomial_delta(epsilon: Fraction, count: int, at: Fraction) -> Ball:
    """delta of ``count`` losses +-``epsilon`` for any count: the terms next to the largest one above
    ``at`` are summed, what is left is less than a geometric sum."""
    x = ball(epsilon)
    q = 1 / (1 + x.exp())
    p = 1 - q
    last = math.ceil((count - at / epsilon) / 2) - 1  # flips at most
    first = min(last, int(count * float(q)))
    if first < 0:
        return flint.arb(0)

    def mass(j: int) -> Ball:
        log = flint.arb(count + 1).lgamma() - flint.arb(j + 1).lgamma()
        log -= flint.arb(count - j + 1).lgamma()
        return (log + (count - j) * p.log() + j * q.log()).exp()

    def ratio(j: int, side: int) -> Ball:
        """The mass of j + side flips by that of j; away from the largest it falls."""
        rest = Fraction(j, count - j + 1) if side < 0 else Fraction(count - j, j + 1)
        return ball(rest) * (p / q) ** -side

    start = mass(first)
    total = start * (1 - ball(at - (count - 2 * first) * epsilon).exp())
    for side in (-1, 1):
        grown, term, j = (2 * side * x).exp(), start * ratio(first, side), first + side
        above = ball(at - (count - 2 * j) * epsilon).exp()
        while 0 <= j <= last and not term < total * flint.arb(2) ** -90:
            total += term * (1 - above)
            term, above, j = term * ratio(j, side), above * grown, j + side
        if 0 <= j <= last:
            total += flint.arb(0, (term / (1 - ratio(j, side))).upper())
    return total
