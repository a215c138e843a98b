"""Which theorem answers for which composition; the better of the valid ones.

For parameters fixed in advance every rule here holds, so the least upper end and the
greatest lower end may be taken. A filter may not do that (R3).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from interlace.core.composition import renyi as renyi_rule
from interlace.core.composition.pool import INFINITE, Pool
from interlace.core.guarantees import conversions
from interlace.core.interval import ONE, ZERO, Interval


@dataclass(frozen=True)
class Ruled:
    """A number's enclosure, and the rule that gave its upper end."""

    enclosure: Interval
    rule: str


def epsilon(pool: Pool, delta: Fraction) -> Ruled:
    """The least certified epsilon at ``delta``."""
    if delta >= 1:
        return Ruled(ZERO, "every mechanism is (0, 1)-DP")
    if pool.leak.exact == 1:
        return Ruled(Interval(INFINITE, INFINITE), "one part has delta = 1")
    share = pool.leak.share(delta)
    if share.upper < 0:
        return Ruled(Interval(INFINITE, INFINITE), "delta is below 1 - Π(1 - delta_i)")
    if share.lower <= 0:
        top = INFINITE if pool.rho or share.lower < 0 else Interval.of(pool.total).upper
        return Ruled(Interval(Decimal(0), top), "the sum of the epsilon_i")
    if not pool.losses and not pool.rho:
        return Ruled(ZERO, "nothing but leaks, within delta")
    found = renyi_rule.epsilon_bound(pool, share)
    return Ruled(Interval(Decimal(0), found.upper), renyi_rule.RULE)


def delta(pool: Pool, epsilon: Fraction) -> Ruled:
    """The least certified delta at ``epsilon``."""
    if pool.leak.exact == 1:
        return Ruled(ONE, "one part has delta = 1")
    good = renyi_rule.delta_bound(pool, epsilon)
    return Ruled(pool.leak.after(Interval(Decimal(0), good.upper)), renyi_rule.RULE)


def renyi(pool: Pool, alpha: Fraction | None) -> Interval | None:
    """The divergence of order alpha; None for infinity (any leak; zCDP at infinity)."""
    if pool.leak.exact is None or pool.leak.exact > 0:
        return None
    if alpha is not None:
        return renyi_rule.total_renyi(pool, alpha)
    if pool.rho:
        return None
    total = ZERO
    for e, n in pool.losses:
        total = total + Interval.of(n) * conversions.response_renyi(e, None)
    return total
