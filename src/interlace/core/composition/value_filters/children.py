"""What a value-function filter can admit, and its state, as frozen values.

``w`` is what is left of the squared GDP parameter. The state is all that the past decides: three
exact rationals, which can be written down and read back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from interlace.core.errors import ParameterError, Unproven
from interlace.core.exact import Real, natural, rational

#: What ``str`` makes of a fraction >= 0, no longer than a state may hold.
_FRACTION = re.compile(r"[0-9]{1,1300}(/[0-9]{1,1300})?")
_EXACT_GAUSSIANS = frozenset({"continuous", "rounded"})


def checked(value: object, name: str, maximum: int | None = None) -> None:
    """Raises ParameterError for all but an exact fraction >= 0, at most ``maximum``."""
    # Each value checks itself: a negative charge would be budget out of nothing.
    # On numerators: a Fraction takes ten times as long to compare.
    if not isinstance(value, Fraction) or not (
        value.numerator >= 0 and (maximum is None or value.numerator <= maximum * value.denominator)
    ):
        limit = "" if maximum is None else f" and at most {maximum}"
        raise ParameterError(name, f"must be a Fraction of at least 0{limit}")


@dataclass(frozen=True, slots=True)
class PureChild:
    """An interactive mechanism that is (epsilon, delta)-DP; pure where ``delta`` is 0.

    Raises ParameterError for parameters out of range.

    >>> PureChild.of(0.1).epsilon
    Fraction(1, 10)
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        checked(self.epsilon, "epsilon")
        checked(self.delta, "delta", 1)

    @classmethod
    def of(cls, epsilon: Real, delta: Real = 0) -> PureChild:
        return cls(rational(epsilon, "epsilon"), rational(delta, "delta", maximum=1))


@dataclass(frozen=True, slots=True)
class GaussianChild:
    """A session of Gaussian answers, reserved whole: ``mu_squared`` is the sum over its answers
    of (sensitivity / sigma)**2 (FORMULAS 7.5).

    Raises Unproven for any law but "continuous" and "rounded" normal noise: discrete Gaussian
    noise of the same sigma is not mu-GDP (FORMULAS 8.4), so that its step is not covered.

    >>> GaussianChild.of(Fraction(1, 10), answers=4).mu_squared
    Fraction(1, 25)
    """

    mu_squared: Fraction

    def __post_init__(self) -> None:
        checked(self.mu_squared, "mu_squared")

    @classmethod
    def of(cls, mu: Real, answers: int = 1, law: str = "continuous") -> GaussianChild:
        if law not in _EXACT_GAUSSIANS:
            raise Unproven(
                f"law {law!r}: only continuous normal noise, and normal noise that is rounded to "
                "integers, is exactly (sensitivity/sigma)-GDP; discrete Gaussian noise of the same "
                "sigma needs a larger mu that is not proved. Use rounded Gaussian noise, or "
                "charge a committed (epsilon, delta) of the discrete one."
            )
        exact = rational(mu, "mu")
        return cls(natural(answers, "answers") * exact * exact)


Child = PureChild | GaussianChild


@dataclass(frozen=True, slots=True)
class State:
    """What a filter has left.

    ``w``: of the squared GDP parameter. ``sum_epsilon``: the sum of all pure epsilons so far,
    None where it bounds no loss (after a Gaussian child, and under "residue"). ``good``: at most
    the product of 1 - delta over all children.

    >>> state = State(Fraction(3, 4), None, Fraction(1))
    >>> State.read(state.document()) == state
    True
    """

    w: Fraction
    sum_epsilon: Fraction | None
    good: Fraction

    def __post_init__(self) -> None:
        checked(self.w, "w")
        checked(self.good, "good", 1)
        if self.sum_epsilon is not None:
            checked(self.sum_epsilon, "sum_epsilon")

    def document(self) -> dict[str, str | None]:
        """The state as exact text, for a ledger."""
        total = self.sum_epsilon
        return {
            "w": str(self.w),
            "sum_epsilon": None if total is None else str(total),
            "good": str(self.good),
        }

    @classmethod
    def read(cls, document: Mapping[str, object]) -> Self:
        """The state that was written. Raises ParameterError for anything else."""
        if set(document) != {"w", "sum_epsilon", "good"}:
            raise ParameterError("state", "must hold w, sum_epsilon and good, and nothing else")
        total = document["sum_epsilon"]
        return cls(
            _read(document["w"], "w"),
            None if total is None else _read(total, "sum_epsilon"),
            _read(document["good"], "good", 1),
        )


def _read(text: object, name: str, maximum: int | None = None) -> Fraction:
    # The form first, and bounded: Python refuses, or is slow at, texts of many thousand digits.
    if not isinstance(text, str) or not _FRACTION.fullmatch(text):
        raise ParameterError(name, "must be an exact fraction, written as n or n/d")
    numerator, _, denominator = text.partition("/")
    if denominator and not int(denominator):
        raise ParameterError(name, "must be an exact fraction: its denominator is 0")
    return rational(Fraction(int(numerator), int(denominator or 1)), name, maximum=maximum)
