"""What a composition holds, sorted by the theorem that covers it.

By Theorem 3 an (epsilon, delta)-DP mechanism is a post-processing of approximate randomised
response: with probability delta it leaks all, else it has a two-point loss. So the leaks
multiply. Two-point losses, Gaussian ones and those of known mechanisms are exact: they convolve.
Bounds on Rényi divergences add up order by order, as far as the lowest of their limits. No
accounting here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import assert_never

from interlace.core.composition.batch import Batch
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
    length,
    minus_log_one_minus,
    one_minus_exp,
)
from interlace.core.guarantees.lines import RenyiLine
from interlace.core.guarantees.losses import PrivacyLoss
from interlace.core.interval import ONE, ZERO, Interval

#: Up to this length the product of the 1 - delta_i is kept exactly.
EXACT_LEAK_BITS = 200_000

Losses = tuple[tuple[Fraction, int], ...]
"""Distinct epsilon_i > 0, ascending, each with its count."""


@dataclass(frozen=True)
class Leak:
    """D = 1 - Π(1 - delta_i): the chance that some mechanism of the plan leaks all."""

    exact: Fraction | None
    enclosure: Interval
    kept: Interval

    def after(self, good: Interval) -> Interval:
        """delta where the part without leaks has ``good``: 1 - (1 - D)(1 - good)."""
        return (self.enclosure + self.kept * good).clip(0, 1)

    def share(self, delta: Fraction) -> Interval:
        """What ``delta`` leaves for the part without leaks: (delta - D) / (1 - D).

        Below 0 where the leaks alone exceed ``delta``. Needs D < 1.
        """
        if self.exact is not None:
            return Interval.of((delta - self.exact) / (1 - self.exact))
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

    losses: Counter[Fraction] = field(default_factory=Counter)
    leaks: Counter[Fraction] = field(default_factory=Counter)
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
                self.losses[part.epsilon0] += count
            case ApproxDP():
                self.losses[part.epsilon0] += count
                self.leaks[part.delta0] += count
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
                self.known.append((part, count))
            case Batch():
                self._batch(part, count)
            case _:
                assert_never(part)

    def _bound(self, line: RenyiLine, rho: Fraction, count: int) -> None:
        """Bounds on divergences, and the rho of a Gaussian mechanism that has them."""
        self.line = _added(self.line, line, count)
        self.attained = fitting(self.attained + rho * count)

    def _batch(self, batch: Batch, count: int) -> None:
        if batch.few is None:
            self.arrays.append((batch, count))
        for epsilon, number in batch.few or ():
            self.losses[epsilon] += number * count
        for delta, number in batch.leaks or ():
            self.leaks[delta] += number * count
        if batch.leaks is None:
            self.many_leaks = self.many_leaks + Interval.of(count) * batch.leak_exponent

    def terms(self) -> Terms:
        del self.losses[Fraction(0)], self.leaks[Fraction(0)]
        return Terms(
            _leak(self.leaks, self.many_leaks),
            tuple(sorted(self.losses.items())),
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


def _leak(leaks: Counter[Fraction], many: Interval) -> Leak:
    """The leak of these deltas, and of others whose -log(1 - delta) add up to ``many``."""
    if leaks[Fraction(1)]:
        return Leak(Fraction(1), ONE, ZERO)
    short = sum(length(1 - d) * n for d, n in leaks.items()) <= EXACT_LEAK_BITS
    if short and many == ZERO:
        kept = Fraction(1)
        for d, n in leaks.items():
            kept *= (1 - d) ** n
        return Leak(1 - kept, Interval.of(1 - kept), Interval.of(kept))
    exponent = many
    for d, n in leaks.items():
        exponent = exponent + Interval.of(n) * minus_log_one_minus(Interval.of(d))
    return Leak(None, one_minus_exp(exponent), (-exponent).exp())


def moved(losses: Iterable[tuple[Fraction, int]], move: Callable[[Fraction], Fraction]) -> Losses:
    """The losses after each was moved; those that fall together are one."""
    found: Counter[Fraction] = Counter()
    for epsilon, count in losses:
        found[move(epsilon)] += count
    return tuple(sorted(found.items()))


def total_of(losses: Losses) -> Fraction:
    """The sum of all epsilons. Those of one denominator are added as integers."""
    numerators: Counter[int] = Counter()
    for epsilon, count in losses:
        numerators[epsilon.denominator] += epsilon.numerator * count
    return sum((Fraction(n, d) for d, n in numerators.items()), Fraction(0))
