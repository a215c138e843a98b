"""Exact privacy losses composed by a contour integral, with proven bounds (FORMULAS 2.11).

``built`` makes the ``Model`` of a sum of independent losses; ``delta`` and ``epsilon`` enclose its
optimal values, whatever the number of losses and however small delta. Imported where it is used:
it needs numpy.
"""

from interlace.core.composition.contour.building import built
from interlace.core.composition.contour.gaussian import GaussianLoss
from interlace.core.composition.contour.model import Lattice, Model
from interlace.core.composition.contour.responses import Responses
from interlace.core.composition.contour.search import delta, deltas, epsilon

__all__ = ["GaussianLoss", "Lattice", "Model", "Responses", "built", "delta", "deltas", "epsilon"]
