"""A quantile as the read of a selection: integer scores of its candidates, from its histogram.

A selection mechanism releases a candidate whose score is nearly the best. Sees no data itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction


def quantile_scores(counts: Sequence[int], share: Fraction) -> tuple[int, ...]:
    """For each place of a histogram how far it is from being the quantile, in rows times the
    share's denominator: 0 where at most that share lies below it and at least that share not
    above it, else negative.

    >>> quantile_scores([2, 1, 1], Fraction(1, 2))
    (0, 0, -2)
    """
    part, whole, total = share.numerator, share.denominator, sum(counts)
    scores, below = [], 0
    for count in counts:
        upto = below + count
        scores.append(-max(part * total - whole * upto, whole * below - part * total, 0))
        below = upto
    return tuple(scores)


def score_sensitivity(rows: int, share: Fraction) -> int:
    """How far any score moves when a unit leaves that has at most so many rows in the histogram:
    each row moves part * total by part, and whole * upto by whole or not at all.

    >>> score_sensitivity(60, Fraction(9, 10))
    540
    """
    return rows * max(share.numerator, share.denominator - share.numerator)
