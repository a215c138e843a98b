"""Which theorem answers for which composition; the better of the valid ones.

For parameters fixed in advance every rule here holds, so the least upper end and the
greatest lower end may be taken. A filter may not do that (R3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from interlace.core.composition import exactly
from interlace.core.composition import mixture as mixing
from interlace.core.composition import renyi as renyi_rule
from interlace.core.composition.terms import Terms
from interlace.core.guarantees.enclosures import INFINITE
from interlace.core.interval import ONE, ZERO, Interval

LEAKS = "nothing but leaks: 1 - Π(1 - delta_i)"
SUMS = (
    "bounds on Rényi divergences added up (concurrent: Lyu 2022, Thm 2 and Cor. 1), converted at "
    "one order by the optimum over two-point pairs"
)

#: Relative width up to which an interval counts as exact.
_EXACTLY = 1e-12
#: Somewhere between 0 and infinity.
UNKNOWN = Interval(Decimal(0), INFINITE.upper)


@dataclass(frozen=True)
class Ruled:
    """A number's enclosure, and the rule that gave its upper end."""

    enclosure: Interval
    rule: str

    def told(self) -> str:
        """The rule in one line; where the ends lie apart, that it is a bound."""
        lower, upper = self.enclosure.down(), self.enclosure.up()
        if upper == math.inf or upper - lower <= _EXACTLY * upper:
            return self.rule
        return f"{self.rule}; certified upper bound, the least possible lies above {lower!r}"


def epsilon(terms: Terms, delta: Fraction) -> Ruled:
    """The least certified epsilon at ``delta``."""
    if delta >= 1:
        return Ruled(ZERO, "every mechanism is (0, 1)-DP")
    if terms.leak.certain:
        return Ruled(INFINITE, "one part has delta = 1")
    share = terms.leak.share(delta)
    if share.upper < 0:
        return Ruled(INFINITE, "delta is below 1 - Π(1 - delta_i)")
    if terms.harmless:
        return Ruled(UNKNOWN if share.lower < 0 else ZERO, LEAKS)
    if share.lower <= 0:
        return _without_room(terms, share)
    if terms.exact:
        found, rule = exactly.epsilon(terms, share)
        return Ruled(Interval(found.lower, min(found.upper, largest(terms).upper)), rule)
    upper, rule = min(_upper_epsilons(terms, share))
    lower = mixing.lower_epsilon(terms, share)
    return _between(lower, upper, rule)


def _between(lower: Decimal, upper: Decimal, rule: str) -> Ruled:
    if lower > upper:
        raise AssertionError("a lower end lies above an upper end: please report this")
    return Ruled(Interval(lower, upper), rule)


def _without_room(terms: Terms, share: Interval) -> Ruled:
    """delta is taken up by the leaks: the largest loss there can be."""
    if share.lower == share.upper == 0:
        return Ruled(largest(terms), "the largest loss: delta leaves room for the leaks alone")
    return Ruled(UNKNOWN, "delta cannot be told from 1 - Π(1 - delta_i)")


def largest(terms: Terms) -> Interval:
    """The largest loss there can be, but for the leaks."""
    if terms.mu_squared or not terms.exact:
        return INFINITE
    total = Interval.of(terms.total)
    for batch, count in terms.arrays:
        total = total + Interval.of(count) * batch.total
    for loss, count in terms.known:
        most = loss.renyi_enclosure(None)
        if most == INFINITE:
            return INFINITE
        total = total + Interval.of(count) * most
    return total


def _upper_epsilons(terms: Terms, share: Interval) -> list[tuple[Decimal, str]]:
    if terms.line_only:
        return [(terms.line.epsilon(Fraction(share.lower)).upper, SUMS)]
    return [
        (renyi_rule.epsilon_bound(terms, share), renyi_rule.RULE),
        (mixing.upper_epsilon(terms, share.lower), mixing.RULE),
    ]


def delta(terms: Terms, epsilon: Fraction) -> Ruled:
    """The least certified delta at ``epsilon``."""
    if terms.leak.certain:
        return Ruled(ONE, "one part has delta = 1")
    if terms.harmless or largest(terms).upper <= epsilon:
        return Ruled(terms.leak.after(ZERO), LEAKS)
    if terms.exact:
        enclosure, rule = exactly.delta(terms, epsilon)
        return Ruled(terms.leak.after(enclosure), rule)
    upper, rule = min(_upper_deltas(terms, epsilon))
    found = _between(mixing.lower_delta(terms, epsilon), upper, rule)
    return Ruled(terms.leak.after(found.enclosure), rule)


def deltas(terms: Terms, epsilons: Sequence[Fraction]) -> list[Interval]:
    """Enclosures of the least delta at each epsilon."""
    if not terms.exact or terms.harmless or terms.leak.certain:
        return [delta(terms, e).enclosure for e in epsilons]
    return [terms.leak.after(found) for found in exactly.deltas(terms, epsilons)]


def _upper_deltas(terms: Terms, epsilon: Fraction) -> list[tuple[Decimal, str]]:
    if terms.line_only:
        return [(terms.line.delta(epsilon).upper, SUMS)]
    known = renyi_rule.delta_bound(terms, epsilon)
    mixed = mixing.upper_delta(terms, epsilon, known)
    return [(known, renyi_rule.RULE), (mixed, mixing.RULE)]


def renyi(terms: Terms, alpha: Fraction | None) -> Interval:
    """The divergence of order alpha, or infinity for None; none beside a leak."""
    if not terms.leak.none:
        return INFINITE
    return largest(terms) if alpha is None else renyi_rule.total_renyi(terms, alpha)
