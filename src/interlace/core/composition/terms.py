"""What a composition holds, sorted by the theorem that covers it.

By Theorem 3 an (epsilon, delta)-DP mechanism is a post-processing of approximate randomised
response: with probability delta it leaks all, else it has a two-point loss. So the leaks
multiply. Two-point losses, Gaussian ones and those of known mechanisms are exact: they convolve.
Bounds on Rényi divergences add up order by order, as far as the lowest of their limits. No
accounting here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import assert_never

from interlace.core.composition.batch import Batch
from interlace.core.exact import near
from interlace.core.guarantees import (
    TCDP,
    ZCDP,
    ApproxDP,
    GaussianDP,
    Notion,
    PureDP,
    RenyiDP,
)
from interlace.core.guarantees.enclosures import (
    fitting,
    minus_log_one_minus,
    one_minus_exp,
)
from interlace.core.guarantees.lines import RenyiLine
from interlace.core.guarantees.losses import PrivacyLoss
from interlace.core.interval import ZERO, Interval

#: Up to this length the product of the 1 - delta_i is kept exactly.
EXACT_LEAK_BITS = 200_000
#: Of longer integers these many bits are looked at: more than an interval's digits hold.
_LEADING = 256

Losses = tuple[tuple[Fraction, int], ...]
"""Distinct epsilon_i > 0, ascending, each with its count."""


@dataclass(frozen=True)
class Leak:
    """D = 1 - Π(1 - delta_i): the chance that some mechanism of the plan leaks all."""

    enclosure: Interval
    kept: Interval
    """1 - D."""
    ratio: tuple[int, int] | None = None
    """The same as a quotient of integers, where they are not too long. Not in lowest terms, which
    would take most of the time."""

    @classmethod
    def of(cls, kept: int, whole: int) -> Leak:
        """Where the chance of none is ``kept`` / ``whole``."""
        return cls(_quotient(whole - kept, whole), _quotient(kept, whole), (kept, whole))

    @property
    def certain(self) -> bool:
        """Whether D is 1."""
        return self.kept == ZERO

    @property
    def none(self) -> bool:
        """Whether D is 0."""
        return self.enclosure == ZERO

    def after(self, good: Interval) -> Interval:
        """delta where the part without leaks has ``good``: 1 - (1 - D)(1 - good)."""
        return (self.enclosure + self.kept * good).clip(0, 1)

    def share(self, delta: Fraction) -> Interval:
        """What ``delta`` leaves for the part without leaks: (delta - D) / (1 - D).

        Below 0 where the leaks alone exceed ``delta``. Needs D < 1.
        """
        if self.ratio is not None:
            kept, whole = self.ratio
            lost, parts = delta.as_integer_ratio()
            return _quotient(kept * parts - (parts - lost) * whole, kept * parts)
        return (Interval.of(delta) - self.enclosure) / self.kept


Part = Notion | PrivacyLoss | Batch
"""What a composition is made of."""

NO_LINE = RenyiLine(Fraction(0), Fraction(0))


@dataclass(frozen=True, eq=False)
class Terms:
    """The leaks; the exact losses: two-point ones, mu^2 of the Gaussian ones, known mechanisms;
    and the sum of the bounds on Rényi divergences.

    ``mu_squared`` and the line's numbers are rounded up, by less than 2^-80, where their exact
    form is long. Compared by identity: there may be 100,000 losses.
    """

    leak: Leak
    losses: Losses = ()
    mu_squared: Fraction = Fraction(0)
    known: tuple[tuple[PrivacyLoss, int], ...] = ()
    line: RenyiLine = NO_LINE
    attained: Fraction = Fraction(0)
    """The rho of Gaussian mechanisms that have the guarantees of which ``line`` is the sum."""
    single: RenyiLine = NO_LINE
    """Of the parts that bound one order, the one with the largest divergence."""
    arrays: tuple[tuple[Batch, int], ...] = ()
    """Batches of so many distinct two-point losses that they are left as arrays."""

    @property
    def exact(self) -> bool:
        """Whether every part but the leaks is an exact loss."""
        return self.line.empty

    @property
    def line_only(self) -> bool:
        """Whether there is nothing but leaks and bounds on Rényi divergences."""
        return not (self.losses or self.mu_squared or self.known or self.arrays)

    @property
    def harmless(self) -> bool:
        """Whether there is nothing but leaks."""
        return self.exact and self.line_only

    @cached_property
    def total(self) -> Fraction:
        """The sum of the two-point losses: the largest they can be together."""
        return total_of(self.losses)


def terms(parts: Iterable[tuple[Part, int]]) -> Terms:
    """Sort the parts of a composition by what covers them."""
    found = _Sorting()
    for part, count in parts:
        found.add(part, count)
    return found.terms()


@dataclass
class _Sorting:
    """What was seen so far."""

    losses: list[tuple[Fraction, int]] = field(default_factory=list)
    leaks: dict[tuple[int, int], int] = field(default_factory=dict)
    """By numerator and denominator, which are hashed far faster than a fraction."""
    many_leaks: Interval = ZERO
    mu_squared: Fraction = Fraction(0)
    known: list[tuple[PrivacyLoss, int]] = field(default_factory=list)
    line: RenyiLine = NO_LINE
    attained: Fraction = Fraction(0)
    single: RenyiLine = NO_LINE
    arrays: list[tuple[Batch, int]] = field(default_factory=list)

    def add(self, part: Part, count: int) -> None:
        match part:
            case PureDP():
                self.losses.append((part.epsilon0, count))
            case ApproxDP():
                self.losses.append((part.epsilon0, count))
                self._leak(part.delta0, count)
            case GaussianDP():
                self.mu_squared = fitting(self.mu_squared + part.mu**2 * count)
            case ZCDP():
                self._bound(RenyiLine(Fraction(0), part.rho), part.rho, count)
            case TCDP():
                self._bound(part.line, part.rho, count)
            case RenyiDP():
                self._bound(part.line, part.epsilon0 / part.alpha, count)
                self.single = max(self.single, part.line, key=lambda line: line.constant)
            case PrivacyLoss():
                self._known(part, count)
            case Batch():
                self._batch(part, count)
            case _:
                assert_never(part)

    def _bound(self, line: RenyiLine, rho: Fraction, count: int) -> None:
        """Bounds on divergences, and the rho of a Gaussian mechanism that has them."""
        self.line = _added(self.line, line, count)
        self.attained = fitting(self.attained + rho * count)

    def _leak(self, delta: Fraction, count: int) -> None:
        if delta:
            ratio = delta.as_integer_ratio()
            self.leaks[ratio] = self.leaks.get(ratio, 0) + count

    def _known(self, loss: PrivacyLoss, count: int) -> None:
        epsilon = loss.response
        if isinstance(epsilon, Fraction):
            self.losses.append((epsilon, count))
        else:
            self.known.append((loss, count))

    def _batch(self, batch: Batch, count: int) -> None:
        if batch.few is None:
            self.arrays.append((batch, count))
        self.losses += [(epsilon, number * count) for epsilon, number in batch.few or ()]
        for delta, number in batch.leaks or ():
            self._leak(delta, number * count)
        if batch.leaks is None:
            self.many_leaks = self.many_leaks + Interval.of(count) * batch.leak_exponent

    def terms(self) -> Terms:
        return Terms(
            _leak(self.leaks, self.many_leaks),
            counted(self.losses),
            self.mu_squared,
            tuple(self.known),
            self.line,
            self.attained,
            self.single,
            tuple(self.arrays),
        )


def _added(line: RenyiLine, more: RenyiLine, count: int) -> RenyiLine:
    """The bounds of both, ``more`` ``count`` times, at the orders where both hold."""
    if more.empty:
        return line
    limits = [limit for limit in (line.limit, more.limit) if limit is not None]
    return RenyiLine(
        fitting(line.constant + more.constant * count),
        fitting(line.rho + more.rho * count),
        min(limits, default=None),
    )


def _leak(leaks: Mapping[tuple[int, int], int], many: Interval) -> Leak:
    """The leak of these deltas, and of others whose -log(1 - delta) add up to ``many``."""
    if (1, 1) in leaks:
        return Leak.of(0, 1)
    length = sum(parts.bit_length() * n for (_, parts), n in leaks.items())
    if length <= EXACT_LEAK_BITS and many == ZERO:
        kept = math.prod((parts - lost) ** n for (lost, parts), n in leaks.items())
        return Leak.of(kept, math.prod(parts**n for (_, parts), n in leaks.items()))
    exponent = many
    for ratio, n in leaks.items():
        exponent = exponent + Interval.of(n) * minus_log_one_minus(_quotient(*ratio))
    return Leak(one_minus_exp(exponent), (-exponent).exp())


def _quotient(numerator: int, denominator: int) -> Interval:
    """Encloses a quotient of integers of any length, the second above 0."""
    cuts = [max(0, abs(x).bit_length() - _LEADING) for x in (numerator, denominator)]
    common = min(cuts)
    above, below = (
        # What is cut off is less than one of the last bit that is left.
        Interval(Decimal(x >> cut << cut - common), Decimal((x >> cut) + bool(cut) << cut - common))
        for x, cut in zip((numerator, denominator), cuts, strict=True)
    )
    return above / below


def counted(losses: Iterable[tuple[Fraction, int]]) -> Losses:
    """The losses above 0, ascending; those that are equal are one."""
    placed = sorted((near(epsilon), epsilon, n) for epsilon, n in losses if epsilon)
    found: list[tuple[Fraction, int]] = []
    last = 0.0
    for at, epsilon, n in placed:
        if found and at == last and epsilon == found[-1][0]:
            found[-1] = epsilon, found[-1][1] + n
        else:
            found.append((epsilon, n))
        last = at
    return tuple(found)


def moved(losses: Iterable[tuple[Fraction, int]], move: Callable[[Fraction], Fraction]) -> Losses:
    """The losses after each was moved; those that fall together are one."""
    return counted((move(epsilon), n) for epsilon, n in losses)


def total_of(losses: Losses) -> Fraction:
    """The sum of all epsilons. Those of one denominator are added as integers."""
    numerators: dict[int, int] = {}
    for epsilon, count in losses:
        numerator, denominator = epsilon.as_integer_ratio()
        numerators[denominator] = numerators.get(denominator, 0) + numerator * count
    return sum((Fraction(n, d) for d, n in numerators.items()), Fraction(0))
