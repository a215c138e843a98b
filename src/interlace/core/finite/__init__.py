"""Finite interactive systems (FORMULAS 1.1): the exact worst case over every adaptive adversary.

Standard library only, and nothing of ``composition``: what is verified is not trusted here.
"""

from interlace.core.finite.pair import FinitePair

__all__ = ["FinitePair"]
