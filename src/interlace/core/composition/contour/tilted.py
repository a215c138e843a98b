"""A law of finitely many values under a tilt: its log-moment and its characteristic function.

What floats may have lost is weighed by the tilted masses: values that hardly occur hardly count.
Let each mass be known but for a factor 1 + eta_j, |eta_j| <= e_j. Both the log-moment, log of
sum w_j e^(cv_j) with weights of sum 1, and phi, sum w_j e^(itx_j), are quotients by the sum of the
masses, so that the errors act on differences from 1 alone:
    |change| <= sum w_j e_j |f_j - 1| + |f - 1| sum w_j e_j,  f = sum w_j f_j,
which is small for small c and small t, where n times it has to be. Values are counted from about
their mean, whose turn of phi is kept apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from interlace.core.composition.contour.pairs import PAIRS, Pairs
from interlace.core.composition.contour.rounding import CHAIN, UNIT, summed
from interlace.core.composition.contour.sums import Complexes, turned
from interlace.core.composition.contour.values import Booleans, Floats, Nodes

#: How many numbers are held at once.
_TABLE = 1 << 19
#: So many terms are summed by themselves.
_CHUNK, _ROWS = 64, 256
#: Tilted masses that are less are only an error.
_NOTHING = 1e-33
#: An exponent whose exponential is far from overflow.
_MODEST = 300.0
#: Of a row of nodes few points are looked at first, so close that |phi| moves by this between them,
#: where there are many fewer of them than nodes, and powers make it tiny; rows below the last are 0.
_NEAR, _WORTH, _OFTEN, _DEAD = 0.15, 3, 8, 1e-22
#: A sum of errors, raised over what summing them may have lost.
_RAISED = 1 + 1e-9


@dataclass(frozen=True, eq=False)
class Law:
    """``values`` and the logarithms of their masses, up to a common factor, with bounds of the
    errors of both; ``log_total`` is the logarithm of the sum of the masses, within ``missed``."""

    values: Floats
    value_errors: Floats
    log_masses: Floats
    log_errors: Floats
    log_total: float = 0.0
    missed: float = 0.0

    @cached_property
    def _own(self) -> tuple[Floats, Floats]:
        return self._weights(0.0)

    def _weights(self, c: float) -> tuple[Floats, Floats]:
        """Masses tilted by c, adding up to 1, and bounds of their relative errors but for a common
        factor."""
        moved = c * self.values
        exponent = moved + self.log_masses
        below = exponent - exponent.max()
        weights = np.exp(below)
        error = self.log_errors + c * self.value_errors + CHAIN
        error += 2 * UNIT * (np.abs(moved) + np.abs(exponent) + np.abs(below))
        return weights / _sum(weights), error

    def log_moment(self, c: float) -> tuple[float, float]:
        """log E[e^(cL)] and a bound of its error."""
        weights, error = self._own
        moved = c * self.values
        if np.abs(moved).max() > _MODEST:
            return self._large_log_moment(c)
        change = np.expm1(moved)
        parts = weights * change
        total = _sum(parts)
        sizes = np.abs(parts)
        lost = float(sizes @ (error + _added(sizes.size))) + abs(total) * float(weights @ error)
        lost += float((weights * np.exp(moved)) @ (c * self.value_errors + UNIT * np.abs(moved)))
        lost += 2 * (abs(total) * summed(weights.size))
        if not total > -0.5:
            return self._large_log_moment(c)
        value = self.log_total + float(np.log1p(total))
        return value, self.missed + lost * _RAISED / (1 + total) * 2 + CHAIN * abs(value)

    def _large_log_moment(self, c: float) -> tuple[float, float]:
        weights, error = self._weights(c)
        _, before = self._own
        found = []
        for exponent in (c * self.values + self.log_masses, self.log_masses):
            most = float(exponent.max())
            found.append(most + float(np.log(np.exp(exponent - most).sum())))
        value = self.log_total + found[0] - found[1]
        lost = float(weights @ error) + float(self._own[0] @ before)
        size = abs(found[0]) + abs(found[1]) + abs(self.log_total)
        return value, self.missed + 2 * (lost + summed(weights.size)) + CHAIN * size

    def tilted(self, c: float, missed: float = 0.0) -> Tilted:
        """The law tilted by c; ``missed`` of its mass at most is not in these values."""
        weights, error = self._weights(c)
        mean = float(weights @ self.values)
        kept = weights > _NOTHING
        missed += float(weights[~kept].sum()) * _RAISED
        weights, x = weights[kept], self.values[kept] - mean
        # A time is off by up to five roundings, a product by one.
        away = self.value_errors[kept] + 16 * UNIT * np.abs(x)
        return Tilted(x, weights, error[kept], away, mean, missed)


@dataclass(frozen=True, eq=False)
class Tilted:
    """Values from ``mean`` on, their masses, the relative errors of these, and what values times t
    are off by for each unit of t."""

    x: Floats
    weights: Floats
    errors: Floats
    away: Floats
    mean: float
    missed: float

    @property
    def bend(self) -> float:
        """The variance."""
        return float(self.weights @ self.x**2)

    @cached_property
    def _lost(self) -> tuple[float, float]:
        """A bound of the error of phi, and one for each unit of t. What is missed may be anywhere,
        and takes as much from the others."""
        error = float(self.weights @ self.errors) * _RAISED
        size = np.abs(self.x) * self.weights
        growing = float(self.weights @ self.away) + float(size @ self.errors)
        growing += float(size.sum()) * (error + 4 * _added(self.x.size))
        return 2 * error, growing * _RAISED

    def _errors(self, t: Floats, least: float) -> Floats:
        fixed, growing = self._lost
        anywhere = fixed + 4 * _added(self.x.size) + t * float(self.weights @ self.away) * _RAISED
        return np.asarray(np.minimum(anywhere, t * growing) + least + 2 * self.missed)

    def nodes(self, count: float, t: Floats) -> Nodes:
        """log phi(t)^count."""
        size = max(1, _TABLE // self.x.size)
        parts = [self._some_nodes(count, t[i : i + size]) for i in range(0, t.size, size)]
        return Nodes.joined(parts)

    def _some_nodes(self, count: float, t: Floats) -> Nodes:
        half = np.outer(t / 2, self.x)
        sine = np.sin(half)
        # phi - 1, without cancellation: half the angle.
        fall = -2 * _products(sine * sine, self.weights)
        turn = 2 * _products(sine * np.cos(half), self.weights)
        real = 1 + fall
        lost = self._errors(t, 0.0)
        square = 2 * fall + fall * fall + turn * turn
        modulus = np.hypot(real, turn)
        known: Booleans = modulus > 20 * lost
        error = np.where(known, 2 * lost / np.where(known, modulus, 1.0), 0.0)
        near_one = square > -0.5
        near = np.log1p(np.maximum(square, -0.5)) / 2
        # Where the angle is unknown the modulus has to be a bound.
        far = np.log(np.where(known, modulus, modulus + lost))
        log_modulus = np.where(known & near_one, near, far)
        angle, mean = np.arctan2(turn, real), t * self.mean
        phase = angle + mean
        rounded = np.abs(log_modulus) + np.abs(angle) + np.abs(mean) + np.where(near_one, 0.0, 1.0)
        rounded *= CHAIN
        # The parts of ``square`` cancel where the modulus is near 1 at a large angle.
        rounded += CHAIN * (np.abs(fall) + turn * turn)
        return Nodes.settled(count * log_modulus, count * phase, count * (error + rounded), known)

    def numbers(self, count: int, row: Floats, place: Floats) -> tuple[Complexes, Floats]:
        """phi(t)^count at ``row`` + ``place``, all pairs, and bounds of the absolute errors."""
        bound = self._bounds(count, row, place)
        live = np.flatnonzero(bound > _DEAD)
        found = np.zeros((row.size, place.size), dtype=np.complex128)
        errors = np.zeros((row.size, place.size)) + bound[:, None]
        found[live], errors[live] = self._numbers(count, row[live], place)
        return found, errors

    def _bounds(self, count: int, row: Floats, place: Floats) -> Floats:
        """A bound of |phi|^count on each row: |phi| changes at most at the rate of the mean of
        |x|, so that few points of a row tell of all."""
        rate = float(np.abs(self.x) @ self.weights) * (1 + 1e-9) + 1e-300
        span = float(place[-1])
        points = math.ceil(span * rate / (2 * _NEAR))
        if not 0 < _WORTH * points < place.size or count < _OFTEN:
            return np.ones(row.size)
        reach = span / (2 * points)
        middles = reach * (2 * np.arange(float(points)) + 1)
        one, lost = self._once(row, middles)
        most = (np.abs(one) + lost).max(axis=1) * (1 + CHAIN) + reach * rate * (1 + CHAIN)
        return np.asarray(np.exp(count * np.log(np.minimum(most, 1.0)) * (1 - CHAIN)) + 1e-290)

    def _once(self, row: Floats, place: Floats) -> tuple[Complexes, Floats]:
        one = np.zeros((row.size, place.size), dtype=np.complex128)
        for i in range(0, self.x.size, _ROWS):
            x = self.x[i : i + _ROWS]
            rows = turned(np.outer(row, x)) * self.weights[i : i + _ROWS]
            one += rows @ turned(np.outer(x, place))
        rounded = 2 * CHAIN + 4 * (_ROWS + self.x.size // _ROWS + 8) * UNIT
        return one, self._errors(np.add.outer(row, place), rounded)

    def _numbers(self, count: int, row: Floats, place: Floats) -> tuple[Complexes, Floats]:
        one, lost = self._once(row, place)
        t = np.add.outer(row, place)
        # |a^n - b^n| <= n |a - b| max(|a|, |b|)^(n - 1); of a true phi the modulus is at most 1.
        most = np.minimum(np.abs(one) + lost, 1 + lost)
        shrunk = np.exp(np.minimum((count - 1) * np.log(most), _MODEST))
        error = count * (lost + CHAIN) * shrunk * (1 + CHAIN)
        turn = self.mean * count
        found = power(one, count)
        found *= turned(row * turn)[:, None]
        found *= turned(place * turn)
        error += most * shrunk * (4 * CHAIN + t * (abs(turn) * 16 * UNIT))
        # What vanishes is no bound.
        return found, np.asarray(error * (1 + 2 * CHAIN) + 1e-290)

    def log_bounds(self, count: float, low: Floats, high: Floats) -> Floats:
        """From pairs of values, or of groups of them, whichever say more."""
        lost = np.zeros(low.size)
        for pairs in self._pairs:
            lost = np.maximum(lost, pairs.lost(low, high))
        error = 4 * float(self.weights @ self.errors) + 4 * _added(self.x.size) + 2 * self.missed
        return np.asarray(count * np.log(np.minimum(1 - lost + error, 1.0)))

    @cached_property
    def _pairs(self) -> list[Pairs]:
        """Of the values that occur most, where those are not all; and of all, neighbours together,
        by their masses and from both ends."""
        found = []
        x, masses, away = self.x, self.weights, self.away
        if x.size > 2 * PAIRS:
            found.append(Pairs.alike(x, masses, away))
            starts = np.arange(0, x.size, -(-x.size // (2 * PAIRS)))
            least, most = np.minimum.reduceat(x, starts), np.maximum.reduceat(x, starts)
            away = (most - least) / 2 * (1 + CHAIN) + 2 * np.maximum.reduceat(away, starts)
            x, masses = (least + most) / 2, np.add.reduceat(masses, starts)
        return [*found, Pairs.alike(x, masses, away), Pairs.opposite(x, masses, away)]


def _added(size: int) -> float:
    """The relative error of a sum of so many terms by ``_sum`` or ``_products``."""
    return summed(_CHUNK + -(-size // _CHUNK))


def _sum(parts: Floats) -> float:
    starts = np.arange(0, parts.size, _CHUNK)
    return float(np.add.reduceat(parts, starts).sum())


def _products(table: Floats, weights: Floats) -> Floats:
    """``table`` @ ``weights``, in parts."""
    found = np.zeros(table.shape[0])
    for i in range(0, weights.size, _CHUNK):
        found += table[:, i : i + _CHUNK] @ weights[i : i + _CHUNK]
    return found


def power(base: Complexes, exponent: int) -> Complexes:
    """By squarings: each loses some units."""
    found = np.ones_like(base)
    while exponent:
        if exponent & 1:
            found *= base
        exponent >>= 1
        if exponent:
            base = base * base
    return found
