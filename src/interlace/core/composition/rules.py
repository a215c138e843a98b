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

_LYU = "concurrent: Lyu 2022, Thm 1"
OPTIMAL = f"optimal composition, exact (Murtagh and Vadhan 2016; {_LYU})"
ROUNDED = f"composition of losses rounded up on a grid (Murtagh and Vadhan 2016; {_LYU})"
CLOSED = f"closed form of Kairouz, Oh and Viswanath 2015 ({_LYU})"
SUMS = (
    "zCDP sums (concurrent: Lyu 2022, Cor. 1), converted by the better of Canonne, Kamath and "
    "Steinke 2020 and Asoodeh et al. 2021"
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
    if terms.leak.exact == 1:
        return Ruled(INFINITE, "one part has delta = 1")
    share = terms.leak.share(delta)
    if share.upper < 0:
        return Ruled(INFINITE, "delta is below 1 - Π(1 - delta_i)")
    if not terms.losses and not terms.rho:
        return Ruled(UNKNOWN if share.lower < 0 else ZERO, LEAKS)
    below, above = bounds.sides(terms)
    if share.lower <= 0:
        return _without_room(below, above, share)
    upper, rule = min(_upper_epsilons(above, share))
    return _between(_lower_epsilon(below, share, upper), upper, rule)


LEAKS = "nothing but leaks: 1 - Π(1 - delta_i)"


def _between(lower: Decimal, upper: Decimal, rule: str) -> Ruled:
    if lower > upper:
        raise AssertionError("a lower end lies above an upper end: please report this")
    return Ruled(Interval(lower, upper), rule)


def _without_room(below: Terms, above: Terms, share: Interval) -> Ruled:
    """delta is taken up by the leaks: the sum of the losses, infinite beside a zCDP part."""
    if share.lower == share.upper == 0:
        total = Interval(Interval.of(below.total).lower, Interval.of(above.total).upper)
        end = INFINITE if above.rho else total
        return Ruled(end, "the sum of the epsilon_i: delta leaves room for the leaks alone")
    return Ruled(UNKNOWN, "delta cannot be told from 1 - Π(1 - delta_i)")


def _upper_epsilons(terms: Terms, share: Interval) -> list[tuple[Decimal, str]]:
    if not terms.losses:
        return [(zcdp_epsilon(terms.rho, Fraction(share.lower)).upper, SUMS)]
    if not terms.rho:
        exact = bounds.exact(terms.losses)
        if exact is not None:
            return [(exact.epsilon(share).upper, OPTIMAL)]
    few = bounds.coarse(terms)
    found = [(renyi_rule.epsilon_bound(few, share), renyi_rule.RULE)]
    if terms.rho:
        mixed = _mixture(terms)
        if mixed is not None:
            found.append((mixed.epsilon(share.lower, Fraction(found[0][0])), mixing.RULE))
        return found
    found.append((bounds.closed_epsilon(few, share), CLOSED))
    upper = bounds.upper(terms.losses)
    if upper is not None:
        found.append((upper.epsilon(share).upper, ROUNDED))
    return found


def _lower_epsilon(terms: Terms, share: Interval, upper: Decimal) -> Decimal:
    if terms.rho:
        return _seen(terms).epsilon(share.upper, Fraction(upper))
    curve = bounds.exact(terms.losses) or bounds.lower(terms.losses)
    return Decimal(0) if curve is None else curve.epsilon(share).lower


def delta(terms: Terms, epsilon: Fraction) -> Ruled:
    """The least certified delta at ``epsilon``."""
    if terms.leak.exact == 1:
        return Ruled(ONE, "one part has delta = 1")
    if not terms.losses and not terms.rho:
        return Ruled(terms.leak.after(ZERO), LEAKS)
    below, above = bounds.sides(terms)
    if not above.rho and epsilon >= above.total:
        return Ruled(terms.leak.after(ZERO), LEAKS)
    upper, rule = min(_upper_deltas(above, epsilon))
    found = _between(_lower_delta(below, epsilon), upper, rule)
    return Ruled(terms.leak.after(found.enclosure), rule)


def _upper_deltas(terms: Terms, epsilon: Fraction) -> list[tuple[Decimal, str]]:
    if not terms.losses:
        return [(zcdp_delta(terms.rho, epsilon).upper, SUMS)]
    if not terms.rho:
        exact = bounds.exact(terms.losses)
        if exact is not None:
            return [(exact.delta(epsilon).upper, OPTIMAL)]
    few = bounds.coarse(terms)
    found = [(renyi_rule.delta_bound(few, epsilon), renyi_rule.RULE)]
    if terms.rho:
        mixed = _mixture(terms)
        return [*found, (mixed.delta(epsilon), mixing.RULE)] if mixed else found
    found.append((bounds.closed_delta(few, epsilon), CLOSED))
    upper = bounds.upper(terms.losses)
    if upper is not None:
        found.append((upper.delta(epsilon).upper, ROUNDED))
    return found


def _lower_delta(terms: Terms, epsilon: Fraction) -> Decimal:
    if terms.rho:
        return _seen(terms).delta(epsilon)
    curve = bounds.exact(terms.losses) or bounds.lower(terms.losses)
    return Decimal(0) if curve is None else curve.delta(epsilon).lower


@lru_cache(maxsize=2)
def _mixture(terms: Terms) -> mixing.Mixture | None:
    if terms.total > bounds.LARGEST_TOTAL:
        return None
    loss = bounds.above(terms.losses)
    return None if loss is None else mixing.Mixture(loss, terms.rho)


@lru_cache(maxsize=2)
def _seen(terms: Terms) -> mixing.Seen:
    small = terms.losses and terms.total <= bounds.LARGEST_TOTAL
    return mixing.Seen(bounds.below(terms.losses) if small else None, terms.rho)


def renyi(terms: Terms, alpha: Fraction | None) -> Interval:
    """The divergence of order alpha, or infinity for None; none beside a leak."""
    if terms.leak.exact is None or terms.leak.exact > 0:
        return INFINITE
    if alpha is not None:
        return renyi_rule.total_renyi(terms, alpha)
    return INFINITE if terms.rho else Interval.of(terms.total)
