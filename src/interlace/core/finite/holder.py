"""Lemma 4 and Claim 3 of Lyu as numbers: the extremal function of Hölder's inequality between
the transcripts of the best adversary. It is why Rényi divergences of interactive systems add up
(FORMULAS 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

from interlace.core.errors import CheckFailed, ParameterError
from interlace.core.exact import natural
from interlace.core.finite.laws import History
from interlace.core.finite.levels import Level, Pair, enumerate_levels
from interlace.core.interval import ZERO, Interval

_LARGEST_ORDER = 64
_NONE = Fraction(0)


@dataclass(frozen=True)
class Prefix:
    """A transcript of the best adversary so far, its probabilities P > 0 and Q, and ``rest``:
    the largest Σ P^α Q^(1-α) over what follows, given it. In Claim 3, c = rest^(1/(α-1))."""

    history: History
    p: Fraction
    q: Fraction
    rest: Fraction


@dataclass(frozen=True)
class HolderWitness:
    """Where Σ P c^(1/β) h <= (e^B Σ Q h^β)^(1/β), β = α/(α-1) and B = D_α, is an equality.

    ``levels[t]`` are the transcripts of length t against the adversary that is best at order
    ``alpha``, P being the system of ``bit``. At the last level c is 1 (Lemma 4), before it c
    tells what may follow (Claim 3). ``moment`` is e^((α-1)B), exactly.
    """

    alpha: int
    bit: int
    moment: Fraction
    levels: tuple[tuple[Prefix, ...], ...] = field(repr=False)

    def extremal(self, prefix: Prefix) -> Interval:
        """h = (P c^(1/β) / Q)^(α-1) at a transcript, for which both sides are equal."""
        return _power(self._extremal_to_beta(prefix), Fraction(self.alpha - 1, self.alpha))

    def sides(self, depth: int) -> tuple[Fraction, Interval]:
        """Both sides at the extremal h, for the transcripts of length ``depth``: the left one is
        rational, since the roots cancel, and the right one encloses it.

        Raises ParameterError for a depth outside 0 to the number of rounds.
        """
        left, inner = self._sums(depth)
        return left, _power(self.moment * inner ** (self.alpha - 1), Fraction(1, self.alpha))

    def holds(self, depth: int, h: Callable[[History], Fraction | int]) -> bool:
        """Whether the inequality holds at another ``h`` >= 0; False where it surely fails, and by
        Lemma 4 and Claim 3 it never does.

        Raises ParameterError for a depth out of range or an ``h`` that is negative.
        """
        left, inner = ZERO, ZERO
        for row in self._rows(depth):
            value = Fraction(h(row.history))
            if value < 0:
                raise ParameterError("h", "must not be negative")
            left += Interval.of(row.p * value) * _power(row.rest, Fraction(1, self.alpha))
            inner += Interval.of(row.q) * _power(value, Fraction(self.alpha, self.alpha - 1))
        # Both sides to the power α: e^B to the power α-1 is the moment.
        right = Interval.of(self.moment) * inner.power(self.alpha - 1)
        return left.power(self.alpha).lower <= right.upper

    def check(self) -> None:
        """Verify in exact arithmetic that both sides are equal at every depth, and that each
        ``rest`` is what the level below gives. Raises CheckFailed, naming the depth."""
        for depth in range(len(self.levels)):
            left, inner = self._sums(depth)
            if left**self.alpha != self.moment * inner ** (self.alpha - 1):
                raise CheckFailed(f"levels[{depth}]", "the two sides of the inequality differ")
            below = self.levels[depth + 1] if depth + 1 < len(self.levels) else None
            for row in self.levels[depth]:
                if row.rest != (1 if below is None else self._rest(row, below)):
                    raise CheckFailed(f"levels[{depth}]", "rest is not what follows from below")

    def _rest(self, row: Prefix, below: tuple[Prefix, ...]) -> Fraction:
        children = (child for child in below if child.history[:-1] == row.history)
        terms = (self._term(child.p / row.p, child.q / row.q) * child.rest for child in children)
        return sum(terms, _NONE)

    def _sums(self, depth: int) -> tuple[Fraction, Fraction]:
        """Σ P c^(1/β) h, where c^(1/β) h = (P/Q)^(α-1) rest, and Σ Q h^β."""
        rows = self._rows(depth)
        left = (row.p * (row.p / row.q) ** (self.alpha - 1) * row.rest for row in rows)
        inner = (row.q * self._extremal_to_beta(row) for row in rows)
        return sum(left, _NONE), sum(inner, _NONE)

    def _extremal_to_beta(self, row: Prefix) -> Fraction:
        return (row.p / row.q) ** self.alpha * row.rest

    def _term(self, p: Fraction, q: Fraction) -> Fraction:
        return p**self.alpha / q ** (self.alpha - 1)

    def _rows(self, depth: int) -> tuple[Prefix, ...]:
        return self.levels[natural(depth, "depth", minimum=0, maximum=len(self.levels) - 1)]


def holder_witness(pair: Pair, alpha: int) -> HolderWitness:
    """The extremal function of Lemma 4 and Claim 3 for the best adversary at order ``alpha``, an
    integer from 2 to 64, and the better order of the pair; exact.

    Raises ParameterError for another order, for a pair with too many transcripts to list, and,
    naming a transcript, where the divergence is infinite: there the indicator of that
    transcript breaks the inequality for every B.

    >>> from interlace.core.finite import FinitePair
    >>> response = FinitePair(
    ...     lambda bit, history, query: {bit: Fraction(3, 4), 1 - bit: Fraction(1, 4)},
    ...     queries=["ask"], rounds=2)
    >>> witness = holder_witness(response, 2)
    >>> witness.moment == Fraction(7, 3) ** 2, witness.sides(1)[0]
    (True, Fraction(49, 9))
    >>> witness.check()
    """
    order = natural(alpha, "alpha", minimum=2, maximum=_LARGEST_ORDER)
    levels = enumerate_levels(pair)
    found = [_moments(pair, levels, bit, order) for bit in (0, 1)]
    bit = int(found[1][0][0] > found[0][0][0])
    moments = found[bit]
    rows: list[tuple[Prefix, ...]] = []
    kept: list[tuple[int, History]] = [(0, ())]
    for depth, level in enumerate(levels):
        prefixes = []
        for i, history in kept:
            p, q = level.joint[i][bit], level.joint[i][1 - bit]
            rest = moments[depth][i] * q ** (order - 1) / p**order
            prefixes.append(Prefix(history, p, q, rest))
        rows.append(tuple(prefixes))
        if depth + 1 < len(levels):
            kept = _followed(pair, levels[depth + 1], moments[depth + 1], kept, bit)
    return HolderWitness(order, bit, moments[0][0], tuple(rows))


def _moments(pair: Pair, levels: list[Level], bit: int, alpha: int) -> list[list[Fraction]]:
    """The largest Σ P^α Q^(1-α) over the leaves below each transcript (FORMULAS 1.5)."""
    leaves = []
    for m in levels[-1].joint:
        p, q = m[bit], m[1 - bit]
        if p and not q:
            raise ParameterError(
                "alpha",
                f"the divergence is infinite: after {pair.rounds} rounds a transcript is possible "
                f"under bit {bit} only, and its indicator breaks the inequality",
            )
        leaves.append(p**alpha / q ** (alpha - 1) if p else _NONE)
    found = [leaves]
    for above, level in zip(levels[-2::-1], levels[:0:-1], strict=True):
        best = [_NONE] * len(above.joint)
        for group in level.groups:
            total = sum(found[-1][group.first : group.stop], _NONE)
            best[group.parent] = max(best[group.parent], total)
        found.append(best)
    return found[::-1]


def _followed(
    pair: Pair,
    level: Level,
    moments: list[Fraction],
    kept: list[tuple[int, History]],
    bit: int,
) -> list[tuple[int, History]]:
    """The children, possible under ``bit``, of each kept transcript at its best query."""
    by_parent: dict[int, list[tuple[Fraction, int]]] = {}
    for number, group in enumerate(level.groups):
        total = sum(moments[group.first : group.stop], _NONE)
        by_parent.setdefault(group.parent, []).append((total, -number))
    after = []
    for i, history in kept:
        _, number = max(by_parent[i])
        group = level.groups[-number]
        for child in range(group.first, group.stop):
            if level.joint[child][bit]:
                asked = (pair.queries[group.query], level.answers[child])
                after.append((child, (*history, asked)))
    return after


def _power(value: Fraction, exponent: Fraction) -> Interval:
    if not value:
        return ZERO
    return (Interval.of(value).log() * Interval.of(exponent)).exp()
