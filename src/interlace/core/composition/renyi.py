"""The Rényi rule: add the divergences at one order, then convert (Theorem 2, FORMULAS 2.6).

Valid for pure and zCDP parts together, at any size and at the cost of one pass over the
distinct parameters. It gives upper ends only.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import partial

from interlace.core.composition.terms import Terms
from interlace.core.guarantees import conversions
from interlace.core.guarantees.enclosures import roughly
from interlace.core.interval import Interval

_BINS = 16

RULE = (
    "Rényi divergences added at one order (concurrent: Lyu 2022, Thm 2), converted by the better "
    "of Canonne, Kamath and Steinke 2020 and Asoodeh et al. 2021"
)


def total_renyi(terms: Terms, alpha: Fraction) -> Interval:
    """The divergence of order alpha >= 1 of the part without leaks."""
    total = Interval.of(alpha * terms.rho)
    for epsilon, count in terms.losses:
        total = total + Interval.of(count) * conversions.response_renyi(epsilon, alpha)
    return total


def epsilon_bound(terms: Terms, share: Interval) -> Decimal:
    """The rule's epsilon where the part without leaks may fail with ``share`` > 0."""
    found = conversions.best_epsilon(_rough_curve(terms), partial(total_renyi, terms), share)
    return found.upper


def delta_bound(terms: Terms, epsilon: Fraction) -> Decimal:
    """The rule's delta, of the part without leaks, at ``epsilon`` >= 0."""
    found = conversions.best_delta(_rough_curve(terms), partial(total_renyi, terms), epsilon)
    return found.upper


def _rough_curve(terms: Terms) -> conversions.RoughCurve:
    """``total_renyi`` at order 1 + x in plain floats, near losses taken together: it only
    serves to find a good order."""
    rho = roughly(terms.rho) if terms.rho else 0.0
    near: dict[int, list[float]] = {}
    for epsilon, count in terms.losses:
        e = roughly(epsilon)
        entry = near.setdefault(round(_BINS * math.log(e)), [0.0, 0.0])
        entry[0] += e * count
        entry[1] += count
    groups = [(total / count, count) for total, count in near.values()]
    return lambda x: (1 + x) * rho + sum(n * _rough_response(e, x) for e, n in groups)


def _rough_response(e: float, excess: float) -> float:
    if excess < 1e-6 or e * (1 + excess) < 1e-4:
        return min(e, (1 + excess) * e * e / 2)
    low = math.log1p(math.exp(-(2 * excess + 1) * e))
    return max(0.0, e - (math.log1p(math.exp(-e)) - low) / excess)
