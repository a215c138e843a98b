"""Which theorem answers for which composition; the better of the valid ones.

For parameters fixed in advance every rule here holds, so the least upper end and the
greatest lower end may be taken. A filter may not do that (R3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from interlace.core.composition import bounds
from interlace.core.composition import mixture as mixing
from interlace.core.composition import renyi as renyi_rule
from interlace.core.composition.terms import Terms
from interlace.core.guarantees.concentrated import zcdp_delta, zcdp_epsilon
from interlace.core.guarantees.enclosures import INFINITE
from interlace.core.interval import ONE, ZERO, Interval

OPTIMAL = "optimal composition, exact (Murtagh-Vadhan; concurrent: Lyu 2022, Thm 1)"
ROUNDED = "optimal composition of losses rounded up (Murtagh-Vadhan; concurrent: Lyu 2022, Thm 1)"
CLOSED = "closed form of optimal composition (FORMULAS 2.4; concurrent: Lyu 2022, Thm 1)"
SUMS = "zCDP sums (concurrent: Lyu 2022, Cor. 1), converted by FORMULAS 7.2"


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
        return f"{self.rule}; certified upper bound, the least possible lies above {lower:.6g}"


def epsilon(terms: Terms, delta: Fraction) -> Ruled:
    """The least certified epsilon at ``delta``."""
    if delta >= 1:
        return Ruled(ZERO, "every mechanism is (0, 1)-DP")
    if terms.leak.exact == 1:
        return Ruled(INFINITE, "one part has delta = 1")
    share = terms.leak.share(delta)
    if share.upper < 0:
        return Ruled(INFINITE, "delta is below 1 - Π(1 - delta_i)")
    if not terms.losses and not terms.rho:
        return Ruled(UNKNOWN if share.lower < 0 else ZERO, LEAKS)
    if share.lower <= 0:
        return _without_room(terms, share)
    lower = _lower_epsilon(terms, share)
    upper, rule = min(_upper_epsilons(bounds.coarse(terms), share))
    return Ruled(Interval(min(lower, upper), upper), rule)


LEAKS = "nothing but leaks: 1 - Π(1 - delta_i)"


def _without_room(terms: Terms, share: Interval) -> Ruled:
    """delta is taken up by the leaks: the sum of the losses, infinite beside a zCDP part."""
    total = Interval.of(terms.total)
    if share.lower == share.upper == 0:
        end = INFINITE if terms.rho else total
        return Ruled(end, "the sum of the epsilon_i: delta leaves room for the leaks alone")
    return Ruled(UNKNOWN, "delta cannot be told from 1 - Π(1 - delta_i)")


def _upper_epsilons(terms: Terms, share: Interval) -> list[tuple[Decimal, str]]:
    if not terms.losses:
        found = zcdp_epsilon(terms.rho, Fraction(share.lower))
        return [(found.upper, SUMS)]
    if terms.rho:
        return _mixed_epsilons(terms, share)
    exact, above = bounds.models(terms.losses)
    if above is not None and above is exact:
        return [(above.epsilon(share).upper, OPTIMAL)]
    known = [
        (bounds.closed_epsilon(terms, share), CLOSED),
        (renyi_rule.epsilon_bound(terms, share), renyi_rule.RULE),
    ]
    if above is not None:
        known.append((above.epsilon(share).upper, ROUNDED))
    return known


def _mixed_epsilons(terms: Terms, share: Interval) -> list[tuple[Decimal, str]]:
    known = renyi_rule.epsilon_bound(terms, share)
    found = [(known, renyi_rule.RULE)]
    mixed = _mixture(terms)
    if mixed is not None:
        better = mixed.epsilon(share.lower, Fraction(known))
        if better is not None:
            found.append((Interval.of(better).upper, mixing.RULE))
    return found


def _lower_epsilon(terms: Terms, share: Interval) -> Decimal:
    below, _ = bounds.models(bounds.attained(terms))
    return below.epsilon(share).lower if below is not None else Decimal(0)


def delta(terms: Terms, epsilon: Fraction) -> Ruled:
    """The least certified delta at ``epsilon``."""
    if terms.leak.exact == 1:
        return Ruled(ONE, "one part has delta = 1")
    if not terms.losses and not terms.rho:
        return Ruled(terms.leak.after(ZERO), LEAKS)
    below, _ = bounds.models(bounds.attained(terms))
    lower = below.delta(epsilon).lower if below is not None else Decimal(0)
    upper, rule = min(_upper_deltas(bounds.coarse(terms), epsilon))
    return Ruled(terms.leak.after(Interval(min(lower, upper), upper)), rule)


def _upper_deltas(terms: Terms, epsilon: Fraction) -> list[tuple[Decimal, str]]:
    if not terms.losses:
        return [(zcdp_delta(terms.rho, epsilon).upper, SUMS)]
    known = [(renyi_rule.delta_bound(terms, epsilon), renyi_rule.RULE)]
    if terms.rho:
        mixed = _mixture(terms)
        return [*known, (mixed.delta(epsilon), mixing.RULE)] if mixed else known
    exact, above = bounds.models(terms.losses)
    if above is not None and above is exact:
        return [(above.delta(epsilon).upper, OPTIMAL)]
    known.append((bounds.closed_delta(terms, epsilon), CLOSED))
    if above is not None:
        known.append((above.delta(epsilon).upper, ROUNDED))
    return known


_mixture = lru_cache(maxsize=8)(mixing.mixture)


def renyi(terms: Terms, alpha: Fraction | None) -> Interval:
    """The divergence of order alpha, or infinity for None; none beside a leak."""
    if terms.leak.exact is None or terms.leak.exact > 0:
        return INFINITE
    if alpha is not None:
        return renyi_rule.total_renyi(terms, alpha)
    return INFINITE if terms.rho else Interval.of(terms.total)
