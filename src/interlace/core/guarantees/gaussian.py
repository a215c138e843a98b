"""Gaussian differential privacy. A value and its curves; no composition here."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from interlace.core.exact import Real, rational
from interlace.core.guarantees.base import Parametric, Relation, hash_of, read_relation
from interlace.core.guarantees.enclosures import INFINITE, fitting
from interlace.core.guarantees.normal import Gaussian
from interlace.core.interval import ZERO, Interval


@dataclass(frozen=True, init=False, repr=False)
class GaussianDP(Parametric):
    """mu-GDP: to tell a unit's data from none is no easier than a normal variable's mean of mu
    from 0, at variance 1.

    ``mu`` is the exact parameter. Raises ParameterError for a negative, infinite or NaN ``mu``.
    The Gaussian mechanism of noise sigma has it with mu = sensitivity / sigma, and its profile
    is exactly the one here (FORMULAS 7.5); the discrete Gaussian does not (8.4).

    >>> GaussianDP(1).epsilon(1e-6), GaussianDP(1).renyi(2), GaussianDP(0.5).group(3)
    (4.886554117462213, 1.0, GaussianDP(1.5))
    """

    mu: Fraction
    relation: Relation

    def __init__(self, mu: Real, *, relation: Relation = Relation.ADD_REMOVE) -> None:
        object.__setattr__(self, "mu", rational(mu, "mu"))
        object.__setattr__(self, "relation", read_relation(relation))

    def __hash__(self) -> int:
        return hash_of(self.mu)

    def epsilon_enclosure(self, delta: Fraction) -> Interval:
        if self.mu == 0 or delta >= 1:
            return ZERO
        return INFINITE if delta == 0 else Gaussian.of_mu(self.mu).epsilon(Interval.of(delta))

    def delta_enclosure(self, epsilon: Fraction) -> Interval:
        return ZERO if self.mu == 0 else Gaussian.of_mu(self.mu).delta(Interval.of(epsilon))

    def renyi_enclosure(self, alpha: Fraction | None) -> Interval:
        if alpha is None:
            return ZERO if self.mu == 0 else INFINITE
        return Interval.of(alpha * self.mu * self.mu / 2)

    def scaled(self, size: int) -> Self:
        return type(self)(fitting(self.mu * size), relation=self.relation)
