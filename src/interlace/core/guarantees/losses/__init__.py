"""Privacy losses of known mechanisms: guarantees that are tighter than their (epsilon, delta)."""

from interlace.core.guarantees.losses.atoms import Atoms, Direction
from interlace.core.guarantees.losses.base import PrivacyLoss
from interlace.core.guarantees.losses.discrete_gaussian import DiscreteGaussian
from interlace.core.guarantees.losses.discrete_laplace import DiscreteLaplace
from interlace.core.guarantees.losses.pair import Pair

__all__ = ["Atoms", "Direction", "DiscreteGaussian", "DiscreteLaplace", "Pair", "PrivacyLoss"]
