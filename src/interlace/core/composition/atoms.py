"""Discrete privacy losses: where the atoms are, and enclosures of their masses.

A position is an integer m >= 0: the loss there is T - 2 * m * step, T being the sum of all
epsilon_i. Masses are computed in decimals of 60 digits, once rounded down and once up, so
that a mass of 1e-100000 keeps its digits and no big integer is ever converted.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from itertools import accumulate

from interlace.core.interval import DOWN, ONE, UP, Interval


@dataclass(frozen=True)
class Atoms:
    """Atoms in ascending position: masses under the one dataset (p) and the other (q)."""

    position: list[int]
    p: tuple[list[Decimal], list[Decimal]]
    """Lower and upper ends."""
    q: tuple[list[Decimal], list[Decimal]]


@dataclass(frozen=True)
class Table:
    """Atoms with their running sums."""

    atoms: Atoms
    p: tuple[list[Decimal], list[Decimal]]
    q: tuple[list[Decimal], list[Decimal]]

    @classmethod
    def of(cls, atoms: Atoms) -> Table:
        p = _running(DOWN, atoms.p[0]), _running(UP, atoms.p[1])
        q = _running(DOWN, atoms.q[0]), _running(UP, atoms.q[1])
        return cls(atoms, p, q)

    def below(self, limit: int) -> tuple[Interval, Interval]:
        """The p-mass and the q-mass of the atoms at positions < ``limit``."""
        k = bisect_left(self.atoms.position, limit)
        return Interval(self.p[0][k], self.p[1][k]), Interval(self.q[0][k], self.q[1][k])


def _running(context: Context, values: list[Decimal]) -> list[Decimal]:
    return list(accumulate(values, context.add, initial=Decimal(0)))


def mixed_below(left: Atoms, right: Table, limit: int) -> tuple[Interval, Interval]:
    """The masses of the sums of one atom of each side at total positions < ``limit``."""
    sums = [Decimal(0)] * 4
    masses = (left.p[0], left.p[1], left.q[0], left.q[1])
    totals = (right.p[0], right.p[1], right.q[0], right.q[1])
    contexts = (DOWN, UP, DOWN, UP)
    k = len(right.atoms.position)
    for i, position in enumerate(left.position):
        k = bisect_left(right.atoms.position, limit - position, 0, k)
        if k == 0:
            break
        sums = [
            c.fma(m[i], t[k], s) for c, m, t, s in zip(contexts, masses, totals, sums, strict=True)
        ]
    return Interval(sums[0], sums[1]), Interval(sums[2], sums[3])


def repeated(epsilon: Fraction, count: int, stride: int, atoms: int | None = None) -> Atoms:
    """The loss of ``count`` randomised responses at ``epsilon``, one unit of m per
    ``stride``: a binomial. Only the first ``atoms`` atoms, if given."""
    ratio = Interval.of(-epsilon).exp()
    heads = ONE / (ONE + ratio)
    last = count if atoms is None else min(count, atoms - 1)
    p = _binomial(heads.power(count), ratio, count, last)
    q = _binomial((heads * ratio).power(count), ONE / ratio, count, last)
    return Atoms([j * stride for j in range(last + 1)], p, q)


def _binomial(
    first: Interval, ratio: Interval, count: int, last: int
) -> tuple[list[Decimal], list[Decimal]]:
    # term_j = term_(j-1) * ratio * (count - j + 1) / j, rounded one way throughout.
    ends = []
    for context, term, r in ((DOWN, first.lower, ratio.lower), (UP, first.upper, ratio.upper)):
        terms = [term]
        for j in range(1, last + 1):
            grown = context.multiply(context.multiply(terms[-1], r), Decimal(count - j + 1))
            terms.append(context.divide(grown, Decimal(j)))
        ends.append(terms)
    return ends[0], ends[1]


def convolved(first: Atoms, second: Atoms) -> Atoms:
    """The loss of two independent parts together: every pair of atoms, equal sums merged."""
    merged: dict[int, list[Decimal]] = {}
    contexts = (DOWN, UP, DOWN, UP)
    rows = list(zip(second.position, *second.p, *second.q, strict=True))
    for position, *masses in zip(first.position, *first.p, *first.q, strict=True):
        for other, *factors in rows:
            products = [c.multiply(a, b) for c, a, b in zip(contexts, masses, factors, strict=True)]
            old = merged.get(position + other)
            if old is not None:
                products = [c.add(a, b) for c, a, b in zip(contexts, old, products, strict=True)]
            merged[position + other] = products
    order = sorted(merged)
    columns = [[merged[m][i] for m in order] for i in range(4)]
    return Atoms(order, (columns[0], columns[1]), (columns[2], columns[3]))
