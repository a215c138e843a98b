"""Approximate differential privacy. A value and its profile; no composition here."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from interlace.core.exact import Real, rational
from interlace.core.guarantees import conversions
from interlace.core.guarantees.base import Parametric, Relation, hash_of, read_relation
from interlace.core.guarantees.enclosures import INFINITE, expm1, fitting, shorten_up
from interlace.core.interval import ZERO, Interval

#: Above this group loss, e^(loss / 2) exceeds 1/delta for every delta that can be stated.
_CERTAIN_FAILURE = 10_000


@dataclass(frozen=True, init=False, repr=False)
class ApproxDP(Parametric):
    """(epsilon, delta)-DP, delta in [0, 1].

    ``epsilon0`` and ``delta0`` are the exact parameters. Raises ParameterError for a
    negative, infinite or NaN parameter and for ``delta`` above 1. Its profile is that of
    approximate randomised response (FORMULAS 7.4).

    >>> ApproxDP(1, 1e-6).epsilon(1e-7), ApproxDP(1, 1e-6).epsilon(1e-6)
    (inf, 1.0)
    """

    epsilon0: Fraction
    delta0: Fraction
    relation: Relation

    def __init__(
        self, epsilon: Real, delta: Real, *, relation: Relation = Relation.ADD_REMOVE
    ) -> None:
        object.__setattr__(self, "epsilon0", rational(epsilon, "epsilon"))
        object.__setattr__(self, "delta0", rational(delta, "delta", maximum=1))
        object.__setattr__(self, "relation", read_relation(relation))

    def __hash__(self) -> int:
        return hash_of(self.epsilon0, self.delta0)

    def epsilon_enclosure(self, delta: Fraction) -> Interval:
        if delta >= 1:
            return ZERO
        if delta < self.delta0:
            return INFINITE
        share = (delta - self.delta0) / (1 - self.delta0)
        return conversions.response_epsilon(self.epsilon0, Interval.of(share))

    def delta_enclosure(self, epsilon: Fraction) -> Interval:
        good = Interval.of(1 - self.delta0) * conversions.response_delta(self.epsilon0, epsilon)
        return (Interval.of(self.delta0) + good).clip(0, 1)

    def renyi_enclosure(self, alpha: Fraction | None) -> Interval:
        if self.delta0 > 0:
            return INFINITE
        return conversions.response_renyi(self.epsilon0, alpha)

    def scaled(self, size: int) -> Self:
        delta = _group_delta(self.epsilon0, self.delta0, size)
        return type(self)(fitting(self.epsilon0 * size), delta, relation=self.relation)


def _group_delta(epsilon: Fraction, delta: Fraction, size: int) -> Fraction:
    # delta * (1 + e^eps + ... + e^((size-1) eps)), FORMULAS 7.7; at most 1.
    if size == 1 or delta == 0:
        return delta
    if epsilon == 0:
        return min(Fraction(1), fitting(delta * size))
    if epsilon * size > _CERTAIN_FAILURE:
        return Fraction(1)
    growth = expm1(Interval.of(epsilon * size)) / expm1(Interval.of(epsilon))
    return min(Fraction(1), shorten_up(Fraction((Interval.of(delta) * growth).upper)))
