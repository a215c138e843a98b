"""What a filter takes a privacy loss for: a guarantee of one notion.

No filter is known that composes losses themselves (FORMULAS 6.4).
"""

from __future__ import annotations

from fractions import Fraction

from interlace.core.composition.terms import Part
from interlace.core.guarantees import ZCDP, GaussianDP, Notion, PureDP, is_notion
from interlace.core.guarantees.enclosures import shorten_up
from interlace.core.guarantees.losses import (
    BoundedRange,
    DiscreteGaussian,
    DiscreteLaplace,
    PrivacyLoss,
    RandomisedResponse,
    RoundedGaussian,
)


def stated(part: Part) -> Notion | None:
    """The notion that says most of a part, itself if it is of one: GDP for rounded Gaussian
    noise, zCDP for discrete Gaussian noise, which is not of that GDP (FORMULAS 8.4), else the
    largest loss; None where there is none.

    >>> stated(DiscreteLaplace(10, shift=2)), stated(RoundedGaussian(2))
    (PureDP(0.2), GaussianDP(0.5))
    """
    if is_notion(part):
        return part
    relation = part.relation
    match part:
        case RoundedGaussian():
            return GaussianDP(part.mu, relation=relation)
        case DiscreteGaussian():
            return ZCDP((part.shift / part.sigma) ** 2 / 2, relation=relation)
        case DiscreteLaplace():
            return PureDP(part.shift / part.scale, relation=relation)
        case RandomisedResponse():
            return PureDP(part.epsilon0, relation=relation)
        case BoundedRange():
            return PureDP(part.eta, relation=relation)
        case PrivacyLoss():
            largest = part.renyi_enclosure(None).upper
            if not largest.is_finite():
                return None
            return PureDP(shorten_up(Fraction(largest)), relation=relation)
    return None
