"""One composition by the rules that are in use, side by side: ``interlace compose --compare``.

All of them hold concurrently for parameters fixed in advance, so each number is a true bound;
it is rounded up.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from interlace.core.composition import Batch, Composition
from interlace.core.composition import renyi as renyi_rule
from interlace.core.composition.terms import Part, Terms, terms
from interlace.core.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, losses
from interlace.core.guarantees.conversions import tanh_half
from interlace.core.guarantees.enclosures import INFINITE, expm1, fitting, loss_up
from interlace.core.interval import ZERO, Interval

_E = Interval.of(1).exp()
_TWO = Interval.of(2)


@dataclass(frozen=True)
class Row:
    """What one rule gives; None where no such rule covers the parts."""

    rule: str
    epsilon: float | None


@dataclass(frozen=True)
class _Plan:
    """A composition at one delta: its pure losses with counts, the leaks, and what else it has."""

    whole: Composition
    delta: Fraction
    terms: Terms
    pure: tuple[tuple[Fraction, int], ...] | None
    """Upper bounds of the losses but for leaks; None where some part has no largest loss."""

    @property
    def share(self) -> Interval:
        """What delta leaves beside the product of the leaks."""
        return self.terms.leak.share(self.delta)


def compared(composition: Composition, delta: Fraction) -> list[Row]:
    """epsilon at ``delta`` by basic and advanced composition, zCDP, Rényi DP and optimally.

    >>> found = compared(Composition(((PureDP(Fraction(1, 10)), 100),)), Fraction(1, 10**6))
    >>> [f"{row.epsilon:.3f}" for row in found]
    ['10.000', '6.308', '5.756', '5.219', '5.073', '4.775']
    """
    found = terms(composition.parts)
    plan = _Plan(composition, delta, found, _pure(composition))
    hopeless = found.leak.certain or plan.share.upper < 0
    rules = {
        "basic: epsilon and delta added up (Vadhan and Wang 2021)": _basic,
        "advanced: Dwork, Rothblum and Vadhan 2010": _advanced,
        "advanced: Kairouz, Oh and Viswanath 2015, closed form": _closed_form,
        "zCDP: rho added up, converted at the best orders": _zcdp,
        "Rényi DP: divergences added up, at the best order": _renyi,
    }
    rows = []
    for name, rule in rules.items():
        bound = ZERO.upper if delta >= 1 else INFINITE.upper if hopeless else rule(plan)
        rows.append(Row(name, None if bound is None else loss_up(bound)))
    return [*rows, Row("optimal: the certified upper end", composition.epsilon(delta))]


def _pure(composition: Composition) -> tuple[tuple[Fraction, int], ...] | None:
    found: list[tuple[Fraction, int]] = []
    for part, count in composition.parts:
        if isinstance(part, Batch):
            # Many distinct values are rounded up to 10 bits: 60-digit sums would take seconds.
            found += [
                (e, n * count) for e, n in (part.few if part.few is not None else part.coarse)
            ]
            continue
        largest = _largest(part)
        if largest is None:
            return None
        found.append((largest, count))
    return tuple(found)


def _largest(part: Part) -> Fraction | None:
    """The largest loss of a part but for its leak, or None where there is none."""
    if isinstance(part, PureDP | ApproxDP):
        return part.epsilon0
    largest = part.renyi_enclosure(None)
    return None if largest == INFINITE else Fraction(largest.upper)


def _basic(plan: _Plan) -> Decimal:
    """Parts without an epsilon of their own are converted, each at an equal share of what the
    deltas leave."""
    total, leaks, others = ZERO, ZERO, []
    for part, count in plan.whole.parts:
        times = Interval.of(count)
        if isinstance(part, Batch):
            total, leaks = total + times * part.total, leaks + times * part.leak_exponent
        elif (largest := _largest(part)) is None:
            others.append((part, count))
        else:
            total = total + times * Interval.of(largest)
            leaks = leaks + times * Interval.of(_leak(part))
    room = (Interval.of(plan.delta) - leaks).lower
    if room < 0:
        return INFINITE.upper
    number = sum(count for _, count in others)
    for part, count in others:
        found = part.epsilon_enclosure(Fraction(room) / number)
        if found == INFINITE:
            return INFINITE.upper
        total = total + Interval.of(count) * found
    return total.upper


def _added(plan: _Plan) -> Interval:
    """All delta_i together, at most."""
    found = ZERO
    for part, count in plan.whole.parts:
        leak = part.leak_exponent if isinstance(part, Batch) else Interval.of(_leak(part))
        found = found + Interval.of(count) * leak
    return found


def _leak(part: Part) -> Fraction:
    return part.delta0 if isinstance(part, ApproxDP) else Fraction(0)


def _advanced(plan: _Plan) -> Decimal | None:
    """sqrt(2 log(1/d) sum epsilon^2) + sum epsilon (e^epsilon - 1), d beside the sum of deltas."""
    room = Interval.of(plan.delta) - _added(plan)
    if plan.pure is None or room.lower <= 0:
        return None if plan.pure is None else INFINITE.upper
    squares, drift = ZERO, ZERO
    for epsilon, count in plan.pure:
        one, times = Interval.of(epsilon), Interval.of(count)
        squares, drift = squares + times * one * one, drift + times * one * expm1(one)
    return (drift + (_TWO * squares * -room.clip(0, 1).log()).sqrt()).upper


def _closed_form(plan: _Plan) -> Decimal | None:
    # FORMULAS 2.4: the least of three.
    if plan.pure is None or plan.share.lower <= 0:
        return None if plan.pure is None else INFINITE.upper
    share = plan.share.clip(0, 1)
    total, squares, drift = ZERO, ZERO, ZERO
    for epsilon, count in plan.pure:
        one, times = Interval.of(epsilon), Interval.of(count)
        total, squares = total + times * one, squares + times * one * one
        drift = drift + times * one * tanh_half(one)
    first = (_E + squares.sqrt() / share).log()
    second = -share.log()
    return min(total.upper, *((drift + (_TWO * squares * x).sqrt()).upper for x in (first, second)))


def _zcdp(plan: _Plan) -> Decimal | None:
    if plan.share.lower <= 0:
        return INFINITE.upper
    total = Fraction(0)
    for part, count in plan.whole.parts:
        rho = _rho(part)
        if rho is None:
            return None
        total = fitting(total + rho * count)
    return ZCDP(total).epsilon_enclosure(min(Fraction(plan.share.lower), Fraction(1))).upper


def _rho(part: Part) -> Fraction | None:
    """The least rho that is proven for a part but for its leak (FORMULAS 7.3, 7.5, 8.4, 8.5)."""
    match part:
        case ZCDP():
            return part.rho
        case GaussianDP():
            return part.mu**2 / 2
        case losses.BoundedRange():
            return part.eta**2 / 8
        case losses.DiscreteGaussian() | losses.RoundedGaussian():
            return Fraction(part.shift**2) / (2 * part.sigma**2)
        case Batch():
            few = part.few if part.few is not None else part.coarse
            return sum((n * _of_pure(e) for e, n in few), Fraction(0))
        case _:
            largest = _largest(part)
            return None if largest is None else _of_pure(largest)


def _of_pure(epsilon: Fraction) -> Fraction:
    one = Interval.of(epsilon)
    return Fraction((one * tanh_half(one)).upper)


def _renyi(plan: _Plan) -> Decimal:
    if plan.share.lower <= 0:
        return INFINITE.upper
    return renyi_rule.epsilon_bound(plan.terms, plan.share)
