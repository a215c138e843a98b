"""What the tests of filters share: a filter as the frozen value that the verifier's games want."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import mpmath

import interlace as il
from interlace.core.composition.filters import Budget
from interlace.core.finite.menu import Child

#: Rounded numbers are off by less than 1e-38.
SLACK = 1 + Fraction(1, 10**30)


@dataclass(frozen=True)
class Behind:
    """An ``il.Filter`` by its budget and its state, written down after each admission."""

    budget: Budget
    rule: str
    structural: Fraction = Fraction(0)
    state: tuple[tuple[str, str | None], ...] | None = None

    @classmethod
    def of(cls, f: il.Filter) -> Behind:
        return cls(f.budget, f.rule, f.structural, tuple(sorted(f.state.items())))

    def filter(self) -> il.Filter:
        state = None if self.state is None else dict(self.state)
        return il.Filter(self.budget, self.rule, structural=self.structural, state=state)

    def admitting(self, guarantee: Hashable, /) -> Behind | None:
        assert isinstance(guarantee, il.Guarantee)
        f = self.filter()
        if not f.admits(guarantee):
            return None
        f.admit(guarantee)
        return replace(self, state=tuple(sorted(f.state.items())))


def up(x: Any) -> Fraction:
    """A rational a little above a real number."""
    return Fraction(math.ceil(x * mpmath.mpf(10) ** 40), 10**40)


def real(x: Fraction) -> Any:
    return mpmath.mpf(x.numerator) / x.denominator


def log(ratio: Fraction) -> Fraction:
    """The logarithm, rounded up."""
    with mpmath.workdps(60):
        return up(mpmath.log(real(ratio)))


def rho(ratio: Fraction) -> Fraction:
    """epsilon tanh(epsilon/2) of randomised response at e^epsilon = ratio, rounded up."""
    with mpmath.workdps(60):
        return up(mpmath.log(real(ratio)) * (real(ratio) - 1) / (real(ratio) + 1))


def divergence(ratio: Fraction, alpha: int) -> Fraction:
    """D_alpha of randomised response, rounded up."""
    with mpmath.workdps(60):
        p = real(ratio) / (1 + real(ratio))
        moment = p**alpha * (1 - p) ** (1 - alpha) + (1 - p) ** alpha * p ** (1 - alpha)
        return up(mpmath.log(moment) / (alpha - 1))


def response(
    name: str, ratio: Fraction, leak: Fraction = Fraction(0), copies: int = 1, told: Any = None
) -> Child:
    """Randomised response with a leak; ``told`` is what the filter hears of it."""
    heard = il.ApproxDP(log(ratio), leak) if leak else il.PureDP(log(ratio))
    return Child.randomised_response(
        name, exp_epsilon=ratio, delta=leak, guarantee=told or heard, copies=copies
    )


def gaussian(mu: Fraction, cuts: list[float], copies: int, told: Any = None) -> Child:
    """A Gaussian answer of which the interval between two cuts is told."""
    with mpmath.workdps(60):
        below = [
            [Fraction(0), *(up(mpmath.ncdf(c - s)) for c in cuts), Fraction(1)]
            for s in (mpmath.mpf(0), real(mu))
        ]
    cells: dict[Hashable, tuple[il.core.exact.Real, il.core.exact.Real]] = {
        k: (below[0][k + 1] - below[0][k], below[1][k + 1] - below[1][k])
        for k in range(len(cuts) + 1)
    }
    return Child.of_laws("gaussian", cells, guarantee=told or il.GaussianDP(mu), copies=copies)


def gaussian_delta(mu_squared: Fraction, ratio: Fraction) -> Any:
    """delta of sqrt(mu_squared)-GDP at e^epsilon = ratio."""
    e, root = mpmath.log(real(ratio)), mpmath.sqrt(real(mu_squared))
    return mpmath.ncdf(root / 2 - e / root) - real(ratio) * mpmath.ncdf(-root / 2 - e / root)
