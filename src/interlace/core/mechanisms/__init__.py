"""The library of mechanisms: one file each, all in the shape of ``protocol``."""

from interlace.core.mechanisms.gaussian import Gaussian
from interlace.core.mechanisms.guess_and_check import GuessAndCheck
from interlace.core.mechanisms.laplace import Laplace
from interlace.core.mechanisms.sparse_vector import SparseVector

__all__ = ["Gaussian", "GuessAndCheck", "Laplace", "SparseVector"]
