"""An infinite geometric tail of a secret, folded exactly into finitely many weights."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from interlace.core.exact import natural, rational


def fold(mass: Fraction, ratio: Fraction, rounds: int) -> list[Fraction]:
    """Weights w_1, w_2, ... with sum_i w_i f(ratio^i) = sum_k mass^k f(ratio^k), k = 1, 2, ...,
    for every polynomial f of degree at most ``rounds``.

    Where a secret k has a probability proportional to mass^k, and given it every response has
    a probability that is linear in ratio^k, a history of ``rounds`` responses has a polynomial
    of ratio^k. So the tail may be left out behind k = rounds + 1 if the secrets before get
    these weights; some are negative.

    >>> half = Fraction(1, 2)
    >>> weights = fold(half, half, 2)
    >>> sum(weights), sum(w * half ** (2 * i) for i, w in enumerate(weights, 1))
    (Fraction(1, 1), Fraction(1, 7))
    """
    lead = rational(mass, "mass", above=True)
    base = rational(ratio, "ratio", above=True)
    size = natural(rounds, "rounds", minimum=0, maximum=1000) + 1
    moments = [lead * base**j / (1 - lead * base**j) for j in range(size)]
    nodes = [base ** (i + 1) for i in range(size)]
    return [_applied(_basis(nodes, i), moments) for i in range(size)]


def _basis(nodes: Sequence[Fraction], i: int) -> list[Fraction]:
    """The coefficients of the polynomial that is 1 at nodes[i] and 0 at the others."""
    found = [Fraction(1)]
    for j, node in enumerate(nodes):
        if j != i:
            scale = nodes[i] - node
            shifted = [Fraction(0), *found]
            found = [
                (a - node * b) / scale for a, b in zip(shifted, [*found, Fraction(0)], strict=True)
            ]
    return found


def _applied(coefficients: Sequence[Fraction], moments: Sequence[Fraction]) -> Fraction:
    return sum((c * m for c, m in zip(coefficients, moments, strict=True)), Fraction(0))
