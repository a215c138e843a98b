"""Discrete Gaussian noise on a declared number of adaptively chosen integer queries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

from interlace.core.composition import Composition, compose
from interlace.core.exact import Real, natural, rational
from interlace.core.guarantees import ZCDP
from interlace.core.interval import Interval
from interlace.core.laws import DiscreteGaussian
from interlace.core.mechanisms.additive import Additive, one_of, proportional, servable
from interlace.core.mechanisms.shown import shown
from interlace.core.queries import LARGEST_INTEGER, Sensitivity


@final
@dataclass(frozen=True, repr=False)
class Gaussian(Additive):
    """``answers`` noisy values, each with discrete Gaussian noise (FORMULAS 8.4).

    ``sigma`` is the noise for a query of l2 sensitivity ``sensitivity`` and grows in
    proportion to that of the query asked; or give ``rho``, the zCDP loss of each answer. The
    guarantee is ``answers`` times sensitivity^2/(2 sigma^2), from the sigma that is served.

    Raises ParameterError for parameters out of range or both of sigma and rho.

    >>> Gaussian(rho=0.005, answers=20).sigma
    Fraction(10, 1)
    """

    sigma: Fraction
    answers: int
    sensitivity: int

    def __init__(
        self,
        *,
        sigma: Real | None = None,
        rho: Real | None = None,
        answers: int = 1,
        sensitivity: int = 1,
    ) -> None:
        name, value = one_of(sigma=sigma, rho=rho)
        exact = rational(value, name, above=True)
        bound = natural(sensitivity, "sensitivity", maximum=LARGEST_INTEGER)
        sigma = exact if name == "sigma" else _root(bound**2 / (2 * exact))
        law = DiscreteGaussian(servable(sigma, name))
        object.__setattr__(self, "sigma", law.sigma)
        object.__setattr__(self, "answers", natural(answers, "answers"))
        object.__setattr__(self, "sensitivity", bound)

    def __repr__(self) -> str:
        return shown(self)

    @cached_property
    def guarantee(self) -> Composition:
        rho = Fraction(self.sensitivity**2) / (2 * self.sigma**2)
        return compose([(ZCDP(rho), self.answers)])

    def law_of(self, moved: Sensitivity, parts: int) -> DiscreteGaussian:
        """sigma^2 grows in proportion to the square of the l2 sensitivity and the number of
        parts: together they have rho = sum_i l2_i^2/(2 sigma^2 k l2_i^2/sensitivity^2)."""
        squared = max(1, moved.l2_squared) * parts
        return DiscreteGaussian(proportional(_root(self.sigma**2 * squared / self.sensitivity**2)))


def _root(square: Fraction) -> Fraction:
    """A rational that is not below the square root, exact for squares of rationals."""
    n, d = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if n * n == square.numerator and d * d == square.denominator:
        return Fraction(n, d)
    return Fraction(Interval.of(square).sqrt().upper)
