"""The decomposition behind Theorem 3 of Lyu, by one formula at each transcript (FORMULAS 3.8).

Upwards: what the best adversary gains below each transcript, and what is common to both bits.
Downwards: the residual (1-δ)N is split so that each child gets at most its common part.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from interlace.core.finite.levels import Both, Level

_ZERO = Fraction(0)


def gains(levels: Sequence[Level], ratio: Fraction) -> list[list[Both]]:
    """L^b of every transcript at e^epsilon = ``ratio`` (FORMULAS 3.1), level by level; at the
    empty one, the least delta that either bit allows."""
    found = [[_excess(m, ratio) for m in levels[-1].joint]]
    for above, level in zip(levels[-2::-1], levels[:0:-1], strict=True):
        best = [(_ZERO, _ZERO)] * len(above.joint)
        for group in level.groups:
            low = summed(found[-1][group.first : group.stop])
            old = best[group.parent]
            best[group.parent] = max(old[0], low[0]), max(old[1], low[1])
        found.append(best)
    return found[::-1]


def _excess(m: Both, ratio: Fraction) -> Both:
    return max(m[0] - ratio * m[1], _ZERO), max(m[1] - ratio * m[0], _ZERO)


def residuals(
    levels: Sequence[Level], gained: Sequence[Sequence[Both]], ratio: Fraction, delta: Fraction
) -> list[list[Both]]:
    """a^b = (1-δ)N^b of every transcript, level by level; ``delta`` is at least the least."""
    found = [[(1 - delta, 1 - delta)]]
    for level, gain in zip(levels[1:], gained[1:], strict=True):
        common = [(m[0] - low[0], m[1] - low[1]) for m, low in zip(level.joint, gain, strict=True)]
        below: list[Both] = []
        for group in level.groups:
            below += split(found[-1][group.parent], common[group.first : group.stop], 1 / ratio)
        found.append(below)
    return found


def split(residual: Both, common: Sequence[Both], r: Fraction) -> list[Both]:
    """Share ``residual`` among children, child y getting at most ``common[y]`` and staying in the
    cone a^b >= r·a^(1-b); ``r`` is e^-epsilon (FORMULAS 3.8).

    >>> half = Fraction(1, 2)
    >>> split((half, half), [(half, Fraction(1, 4)), (Fraction(1, 4), half)], half)
    [(Fraction(1, 3), Fraction(1, 6)), (Fraction(1, 6), Fraction(1, 3))]
    """
    total = summed(common)
    if residual[0] * total[1] >= total[0] * residual[1]:
        beta, alpha = _weights(residual[0], residual[1], total[0], total[1], r)
        return [((beta + alpha) * a, beta * b + alpha * r * a) for a, b in common]
    beta, alpha = _weights(residual[1], residual[0], total[1], total[0], r)
    return [(beta * a + alpha * r * b, (beta + alpha) * b) for a, b in common]


def _weights(
    first: Fraction, second: Fraction, total: Fraction, other: Fraction, r: Fraction
) -> tuple[Fraction, Fraction]:
    """β and α of the triangle between the whole and the edge of the cone."""
    if not total:
        return _ZERO, _ZERO
    slack = other - r * total
    # 0/0: the whole lies on the edge, so that one weight is enough.
    beta = (second - r * first) / slack if slack else first / total
    return beta, first / total - beta


def summed(values: Sequence[Both]) -> Both:
    """The sum for each bit."""
    return sum((v[0] for v in values), _ZERO), sum((v[1] for v in values), _ZERO)
