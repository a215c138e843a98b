"""Finite interactive systems (FORMULAS 1.1): the exact worst case over every adaptive adversary.

Standard library only, and nothing of ``composition``: what is verified is not trusted here.
"""

from interlace.core.finite.certificate import Certificate, certify
from interlace.core.finite.counterexample import Counterexample
from interlace.core.finite.evaluate import evaluate, transcripts
from interlace.core.finite.games import AdaptiveGame
from interlace.core.finite.holder import holder_witness
from interlace.core.finite.interleave import Interleaving, interleave
from interlace.core.finite.menu import Child
from interlace.core.finite.pair import FinitePair
from interlace.core.finite.profile import Profile
from interlace.core.finite.strategy import Adversary
from interlace.core.finite.tails import fold
from interlace.core.finite.worst import WorstCase

__all__ = [
    "AdaptiveGame",
    "Adversary",
    "Certificate",
    "Child",
    "Counterexample",
    "FinitePair",
    "Interleaving",
    "Profile",
    "WorstCase",
    "certify",
    "evaluate",
    "fold",
    "holder_witness",
    "interleave",
    "transcripts",
]
