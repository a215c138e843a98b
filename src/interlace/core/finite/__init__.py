"""Finite interactive systems (FORMULAS 1.1): the exact worst case over every adaptive adversary.

Standard library only, and nothing of ``composition``: what is verified is not trusted here.
"""

from interlace.core.finite.evaluate import evaluate, transcripts
from interlace.core.finite.interleave import Interleaving, interleave
from interlace.core.finite.pair import FinitePair
from interlace.core.finite.profile import Profile
from interlace.core.finite.strategy import Adversary
from interlace.core.finite.tails import fold
from interlace.core.finite.worst import WorstCase

__all__ = [
    "Adversary",
    "FinitePair",
    "Interleaving",
    "Profile",
    "WorstCase",
    "evaluate",
    "fold",
    "interleave",
    "transcripts",
]
