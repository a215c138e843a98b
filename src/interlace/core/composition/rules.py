"""Which theorem answers for which composition; the better of the valid ones.

For parameters fixed in advance every rule here holds, so the least upper end and the
greatest lower end may be taken. A filter may not do that (R3).
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

from interlace.core.composition import bounds
from interlace.core.composition import mixture as mixing
from interlace.core.composition import renyi as renyi_rule
from interlace.core.composition.pool import INFINITE, Pool
from interlace.core.guarantees import conversions
from interlace.core.guarantees.concentrated import zcdp_delta, zcdp_epsilon
from interlace.core.interval import ONE, ZERO, Interval

OPTIMAL = "optimal composition, exact (Murtagh-Vadhan; concurrent: Lyu 2022, Thm 1)"
ROUNDED = "optimal composition of losses rounded up (Murtagh-Vadhan; concurrent: Lyu 2022, Thm 1)"
CLOSED = "closed form of optimal composition (FORMULAS 2.4; concurrent: Lyu 2022, Thm 1)"
SUMS = "zCDP sums (concurrent: Lyu 2022, Cor. 1), converted by FORMULAS 7.2"


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
    if not pool.losses and not pool.rho:
        return Ruled(Interval(Decimal(0), INFINITE if share.lower < 0 else Decimal(0)), LEAKS)
    if share.lower <= 0:
        return _without_room(pool, share)
    lower = _lower_epsilon(pool, share)
    upper, rule = min(_upper_epsilons(bounds.coarse(pool), share))
    return Ruled(Interval(min(lower, upper), upper), rule)


LEAKS = "nothing but leaks: 1 - Π(1 - delta_i)"


def _without_room(pool: Pool, share: Interval) -> Ruled:
    """delta is taken up by the leaks: the sum of the losses, infinite beside a zCDP part."""
    total = Interval.of(pool.total)
    if share.lower == share.upper == 0:
        end = Interval(INFINITE, INFINITE) if pool.rho else total
        return Ruled(end, "the sum of the epsilon_i: delta leaves room for the leaks alone")
    return Ruled(Interval(Decimal(0), INFINITE), "delta cannot be told from 1 - Π(1 - delta_i)")


def _upper_epsilons(pool: Pool, share: Interval) -> list[tuple[Decimal, str]]:
    if not pool.losses:
        found = zcdp_epsilon(pool.rho, Fraction(share.lower))
        return [(found.upper, SUMS)]
    if pool.rho:
        return _mixed_epsilons(pool, share)
    exact, above = bounds.models(pool.losses)
    if above is not None and above is exact:
        return [(above.epsilon(share).upper, OPTIMAL)]
    known = [
        (bounds.closed_epsilon(pool, share).upper, CLOSED),
        (renyi_rule.epsilon_bound(pool, share).upper, renyi_rule.RULE),
    ]
    if above is not None:
        known.append((above.epsilon(share).upper, ROUNDED))
    return known


def _mixed_epsilons(pool: Pool, share: Interval) -> list[tuple[Decimal, str]]:
    known = renyi_rule.epsilon_bound(pool, share).upper
    found = [(known, renyi_rule.RULE)]
    mixed = _mixture(pool)
    if mixed is not None:
        better = mixed.epsilon(share.lower, Fraction(known))
        if better is not None:
            found.append((Interval.of(better).upper, mixing.RULE))
    return found


def _lower_epsilon(pool: Pool, share: Interval) -> Decimal:
    below, _ = bounds.models(bounds.attained(pool))
    return below.epsilon(share).lower if below is not None else Decimal(0)


def delta(pool: Pool, epsilon: Fraction) -> Ruled:
    """The least certified delta at ``epsilon``."""
    if pool.leak.exact == 1:
        return Ruled(ONE, "one part has delta = 1")
    if not pool.losses and not pool.rho:
        return Ruled(pool.leak.after(ZERO), LEAKS)
    below, _ = bounds.models(bounds.attained(pool))
    lower = below.delta(epsilon).lower if below is not None else Decimal(0)
    upper, rule = min(_upper_deltas(bounds.coarse(pool), epsilon))
    return Ruled(pool.leak.after(Interval(min(lower, upper), upper)), rule)


def _upper_deltas(pool: Pool, epsilon: Fraction) -> list[tuple[Decimal, str]]:
    if not pool.losses:
        return [(zcdp_delta(pool.rho, epsilon).upper, SUMS)]
    known = [(renyi_rule.delta_bound(pool, epsilon).upper, renyi_rule.RULE)]
    if pool.rho:
        mixed = _mixture(pool)
        return [*known, (mixed.delta(epsilon), mixing.RULE)] if mixed else known
    exact, above = bounds.models(pool.losses)
    if above is not None and above is exact:
        return [(above.delta(epsilon).upper, OPTIMAL)]
    known.append((bounds.closed_delta(pool, epsilon).upper, CLOSED))
    if above is not None:
        known.append((above.delta(epsilon).upper, ROUNDED))
    return known


_mixture = lru_cache(maxsize=8)(mixing.mixture)


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
