"""Discrete Laplace noise on a declared number of adaptively chosen integer queries."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import final

from interlace.core.composition import Composition, compose
from interlace.core.exact import Real, natural, rational
from interlace.core.guarantees import PureDP
from interlace.core.laws import DiscreteLaplace
from interlace.core.mechanisms.additive import Additive, one_of, proportional, servable
from interlace.core.mechanisms.shown import shown
from interlace.core.queries import LARGEST_INTEGER, Sensitivity


@final
@dataclass(frozen=True, repr=False)
class Laplace(Additive):
    """``answers`` noisy values, each with discrete Laplace noise (FORMULAS 8.2, Lemma 7).

    ``scale`` is the noise for a query of l1 sensitivity ``sensitivity`` and grows in
    proportion to that of the query asked; or give ``epsilon``, the loss of each answer. The
    guarantee is ``answers`` times sensitivity/scale, computed from the scale that is served.

    Raises ParameterError for parameters out of range or both of scale and epsilon.

    >>> Laplace(epsilon=0.1, answers=20).scale
    Fraction(10, 1)
    """

    scale: Fraction
    answers: int
    sensitivity: int

    def __init__(
        self,
        *,
        scale: Real | None = None,
        epsilon: Real | None = None,
        answers: int = 1,
        sensitivity: int = 1,
    ) -> None:
        name, value = one_of(scale=scale, epsilon=epsilon)
        exact = rational(value, name, above=True)
        bound = natural(sensitivity, "sensitivity", maximum=LARGEST_INTEGER)
        law = DiscreteLaplace(servable(exact if name == "scale" else bound / exact, name))
        object.__setattr__(self, "scale", law.scale)
        object.__setattr__(self, "answers", natural(answers, "answers"))
        object.__setattr__(self, "sensitivity", bound)

    def __repr__(self) -> str:
        return shown(self)

    @cached_property
    def guarantee(self) -> Composition:
        return compose([(PureDP(self.sensitivity / self.scale), self.answers)])

    def law_of(self, moved: Sensitivity, parts: int) -> DiscreteLaplace:
        """The scale grows in proportion to the l1 sensitivity and the number of parts: together
        they lose sum_i l1_i/(scale k l1_i/sensitivity) = sensitivity/scale."""
        bound = max(1, moved.l1) * parts
        return DiscreteLaplace(proportional(self.scale * bound / self.sensitivity))
