"""Pure differential privacy. A value and its curve; no composition here."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from interlace.core.exact import Real, rational
from interlace.core.guarantees import conversions
from interlace.core.guarantees.base import Parametric, Relation, hash_of, read_relation
from interlace.core.guarantees.enclosures import fitting
from interlace.core.interval import Interval


@dataclass(frozen=True, init=False, repr=False)
class PureDP(Parametric):
    """epsilon-DP: no answer is e^epsilon times likelier with a unit's data than without.

    ``epsilon0`` is the exact parameter; a float is read as the decimal that it prints.
    Raises ParameterError for a negative, infinite or NaN ``epsilon``. Its curves are those
    of randomised response, which dominates every such mechanism (FORMULAS 7.3, 7.4).

    >>> PureDP(0.5).delta(0.25) < PureDP(0.5).delta(0) < 0.245
    True
    """

    epsilon0: Fraction
    relation: Relation

    def __init__(self, epsilon: Real, *, relation: Relation = Relation.ADD_REMOVE) -> None:
        object.__setattr__(self, "epsilon0", rational(epsilon, "epsilon"))
        object.__setattr__(self, "relation", read_relation(relation))

    def __hash__(self) -> int:
        return hash_of(self.epsilon0)

    def epsilon_enclosure(self, delta: Fraction) -> Interval:
        return conversions.response_epsilon(self.epsilon0, Interval.of(delta))

    def delta_enclosure(self, epsilon: Fraction) -> Interval:
        return conversions.response_delta(self.epsilon0, epsilon)

    def renyi_enclosure(self, alpha: Fraction | None) -> Interval:
        return conversions.response_renyi(self.epsilon0, alpha)

    def scaled(self, size: int) -> Self:
        return type(self)(fitting(self.epsilon0 * size), relation=self.relation)
