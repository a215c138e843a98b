"""How many examples a search of hypothesis takes, under every profile. Nothing is tested here."""

from __future__ import annotations

from hypothesis import settings

USUAL = 100
"""What the profile of an ordinary run looks at where a test says nothing."""


def examples(usual: int) -> int:
    """``usual`` examples in an ordinary run, as many times more as the profile looks at.

    For tests that cannot afford, or want more than, what the profile takes by itself: a bare
    ``settings(max_examples=...)`` would hold under every profile."""
    return usual * settings().max_examples // USUAL
