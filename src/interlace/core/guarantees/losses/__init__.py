"""Privacy losses of known mechanisms: guarantees that are tighter than their (epsilon, delta)."""

from interlace.core.guarantees.losses.atoms import Atoms, Direction
from interlace.core.guarantees.losses.base import PrivacyLoss
from interlace.core.guarantees.losses.bounded_range import BoundedRange
from interlace.core.guarantees.losses.discrete_gaussian import DiscreteGaussian
from interlace.core.guarantees.losses.discrete_laplace import DiscreteLaplace
from interlace.core.guarantees.losses.pair import Pair
from interlace.core.guarantees.losses.randomised_response import RandomisedResponse
from interlace.core.guarantees.losses.rounded_gaussian import RoundedGaussian
from interlace.core.guarantees.losses.trade_off import TradeOff

__all__ = [
    "Atoms",
    "BoundedRange",
    "Direction",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Pair",
    "PrivacyLoss",
    "RandomisedResponse",
    "RoundedGaussian",
    "TradeOff",
]
