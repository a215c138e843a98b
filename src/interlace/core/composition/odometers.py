"""Odometers: what the privacy loss has come to, at every moment at once.

For mechanisms that are opened one after another, chosen from all answers so far, and asked
concurrently. An odometer refuses nothing and promises nothing about what comes.

Proof (FORMULAS 6.8). Let L be the privacy loss of all that was answered, R the sum of the rho of
all that was opened. For one mechanism let W(h) be the largest mean of e^(lambda loss) at the end,
over all ways to go on after h: a supermartingale however it is asked, at most
e^(lambda (1 + lambda) rho) at the start, and at least e^(lambda loss) at h, since under the law
that is true the loss still to come has no negative mean. So the product of all W, times
e^(-lambda (1 + lambda) R), starts at 1, is a supermartingale, opening included, and lies above
e^(lambda L - lambda (1 + lambda) R). With V = 2 R that is e^(lambda (L - V/2) - lambda**2 V/2).

By Ville's inequality it stays below 1/delta at all times with probability 1 - delta. "line" is one
lambda, sqrt(2 log(1/delta)/y): tightest at V = y. "mixture" is the mean over lambda > 0 with the
density of |N(0, 1/gamma)|, 2 sqrt(gamma/(V + gamma)) e^(x**2/2) Phi(x) with
x = (L - V/2)/sqrt(V + gamma): it reaches 1/delta only where Phi(x) e^(x**2/2) >= r/2,
r = sqrt((V + gamma)/gamma)/delta. Phi(x) >= 1/2 gives nothing where x < 0, and x**2 < 2 log r; and
from there, since x**2 >= 2 log(r/2) and Phi(x) >= 1 - e^(-x**2/2)/2, Phi(x) >= 1 - 1/r: for r > 2
the crossing needs e^(x**2/2) at most r**2/(2 (r - 1)). (Both tails together would be no
supermartingale under the centring V/2.)
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from fractions import Fraction

from interlace.core.composition.composed import compose
from interlace.core.composition.filters.costs import rho_of
from interlace.core.composition.filters.filter import Item
from interlace.core.composition.filters.losses import stated
from interlace.core.composition.filters.points import committed
from interlace.core.composition.filters.rule import Parts
from interlace.core.errors import ParameterError, RelationMismatch
from interlace.core.exact import Real, rational
from interlace.core.guarantees import ApproxDP, PureDP, Relation
from interlace.core.guarantees.base import read_relation
from interlace.core.guarantees.enclosures import fitting, loss_up
from interlace.core.interval import ONE, Interval

#: A sum whose exact form is longer than this many bits is rounded up.
_LONGEST = 512
_FORMS = ("mixture", "line")


@dataclass(frozen=True)
class Reading:
    """What an odometer shows: a bound of the privacy loss so far. No guarantee of a mechanism,
    which is why nothing composes or admits it.

    For every D that is fixed in advance: the chance that at any moment while ``delta`` is at most
    D the loss exceeds ``epsilon``, or a mechanism has taken its bad branch, is at most D. The loss
    is log(P/Q) of all that was answered, under the law P of the data as they are and Q of a
    neighbour, for each neighbour by itself ("pDP"); with (epsilon_i, delta_i)-DP mechanisms it is
    that of their good branches (Lyu 2022, Theorem 3), with what they drew at their opening.

    It is not a claim that what was asked is (epsilon, delta)-DP: whoever stops because of what
    was answered has used a mechanism that chose its parameters. For that claim use a ``Filter``.
    """

    epsilon: float
    delta: float


class Odometer:
    """Bounds the privacy loss of what is added, at all times at once with probability 1 - ``delta``.

    ``form`` is "mixture", near its best over a wide range, or "line", a little tighter near
    ``around`` and looser elsewhere. ``around`` is the V = 2 sum of rho where it is tightest; a pure
    epsilon adds 2 epsilon tanh(epsilon/2), about epsilon**2, to V. Both are fixed here, before any
    answer. Safe to share between threads.

    Raises ParameterError for a ``delta`` outside (0, 1), an unknown form, or ``around`` of 0.

    >>> odometer = Odometer(1e-6)
    >>> odometer.add(compose([(PureDP(0.1), 100)]))
    >>> 5.5 < odometer.reading.epsilon < 6.1
    True
    """

    def __init__(
        self,
        delta: Real,
        *,
        form: str = "mixture",
        around: Real = 1,
        relation: Relation = Relation.ADD_REMOVE,
    ) -> None:
        self._delta = rational(delta, "delta", above=True, maximum=1)
        if self._delta == 1:
            raise ParameterError("delta", "must be below 1: nothing holds with probability 0")
        if form not in _FORMS:
            raise ParameterError("form", f"must be {' or '.join(map(repr, _FORMS))}")
        self._form = form
        self._around = rational(around, "around", above=True)
        self._relation = read_relation(relation)
        self._rho, self._leaks = Fraction(0), Fraction(0)
        self._sum: Fraction | None = Fraction(0)
        self._lock = threading.Lock()

    def add(self, item: Item, delta: Real | None = None) -> None:
        """Count a mechanism, when it is opened: its whole guarantee (R1).

        ``delta`` commits it to one point (epsilon(delta), delta), as in a filter. Raises Unproven
        for a guarantee that holds at some orders only, RelationMismatch, ParameterError.
        """
        parts = compose([item]).parts
        for guarantee, _ in parts:
            if guarantee.relation is not self._relation:
                raise RelationMismatch(
                    f"the odometer is for {self._relation}, this for {guarantee.relation}"
                )
        if delta is not None:
            point = ApproxDP(0, 0, relation=self._relation)
            parts = committed(parts, rational(delta, "delta", maximum=1), point)
        rho, leaks, epsilons = _summed(parts)
        with self._lock:
            self._rho = fitting(self._rho + rho, _LONGEST)
            self._leaks = min(fitting(self._leaks + leaks, _LONGEST), Fraction(1))
            if self._sum is not None:
                self._sum = None if epsilons is None else fitting(self._sum + epsilons, _LONGEST)

    @property
    def reading(self) -> Reading:
        """The bound now, rounded up; see ``Reading`` for what it says and what it does not."""
        with self._lock:
            variance, leaks, summed = 2 * self._rho, self._leaks, self._sum
        bound = self._bound(variance)
        # Pure losses never exceed their sum.
        epsilon = loss_up(bound if summed is None else min(bound, summed))
        return Reading(epsilon, min(1.0, loss_up(self._delta + leaks)))

    def _bound(self, variance: Fraction) -> Fraction:
        v, delta = Interval.of(variance), Interval.of(self._delta)
        if self._form == "line":
            y = Interval.of(self._around)
            half = -delta.log() / Interval.of(2)
            found = (y * half).sqrt() + v * (half / y).sqrt()
        else:
            gamma = Interval.of(_gamma(self._around, self._delta))
            r = ((v + gamma) / gamma).sqrt() / delta
            if r.lower > 2:
                r = r * r / (Interval.of(2) * (r - ONE))
            found = (Interval.of(2) * (v + gamma) * r.log().clip(0)).sqrt()
        return Fraction((found + v / Interval.of(2)).upper)


def _summed(parts: Parts) -> tuple[Fraction, Fraction, Fraction | None]:
    """The sums of rho, of delta, and of epsilon where all parts have one."""
    rho, leaks = Fraction(0), Fraction(0)
    epsilons: Fraction | None = Fraction(0)
    for part, count in parts:
        good = stated(part)
        if isinstance(good, ApproxDP):
            leaks += count * good.delta0
            good = PureDP(good.epsilon0)
            rho += count * rho_of(good)
        else:
            rho += count * rho_of(part)
        if epsilons is not None:
            epsilons = epsilons + count * good.epsilon0 if isinstance(good, PureDP) else None
    return rho, leaks, epsilons


def _gamma(around: Fraction, delta: Fraction) -> Fraction:
    """Near the gamma for which the mixture is tightest at ``around``; any would be sound."""
    log = math.log(delta.denominator) - math.log(delta.numerator)
    return around / Fraction(2 * log + math.log1p(2 * log))
