"""What an adaptive analyst may choose from: mechanisms as pairs of laws, each with the guarantee
that a filter is told. It does not ask whether that guarantee is true: the game shows it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, natural, rational
from interlace.core.finite.ratios import read_ratio
from interlace.core.interval import ONE, Interval

Number = Fraction | Interval
"""Exact, or an enclosure where e^epsilon is irrational."""

_MOST_COPIES = 200


@dataclass(frozen=True)
class Outcome:
    """One outcome: its probability under each bit; where both are positive, their ratio is
    ``factor`` times e^``loss``, exactly."""

    name: Hashable
    p: tuple[Number, Number]
    factor: Fraction
    loss: Fraction


@dataclass(frozen=True)
class Child:
    """A mechanism of the menu, asked once: ``copies`` of it are there, each with randomness of
    its own. An interactive one with the same guarantee is a post-processing of approximate
    randomised response (Theorem 3), so that the game covers it.

    >>> coin = Child.of_laws("biased", {"head": (Fraction(2, 3), Fraction(1, 2)),
    ...     "tail": (Fraction(1, 3), Fraction(1, 2))}, guarantee=0.41)
    >>> coin.exact, coin.outcomes[0].factor
    (True, Fraction(4, 3))
    """

    name: str
    outcomes: tuple[Outcome, ...]
    guarantee: Hashable
    copies: int = 1

    @property
    def exact(self) -> bool:
        """Whether every probability is rational."""
        return all(isinstance(p, Fraction) for outcome in self.outcomes for p in outcome.p)

    @classmethod
    def of_laws(
        cls,
        name: str,
        laws: Mapping[Hashable, tuple[Real, Real]],
        *,
        guarantee: Hashable,
        copies: int = 1,
    ) -> Child:
        """A mechanism by its outcomes' probabilities (under bit 0, under bit 1).

        Raises ParameterError, naming the outcome, for a probability outside [0, 1], and for laws
        that do not sum to exactly 1.
        """
        outcomes, totals = [], [Fraction(0), Fraction(0)]
        for label, pair in laws.items():
            p, q = (rational(x, f"laws[{label!r}]", maximum=1) for x in pair)
            totals = [totals[0] + p, totals[1] + q]
            if p or q:
                factor = p / q if p and q else Fraction(1)
                outcomes.append(Outcome(label, (p, q), factor, Fraction(0)))
        if totals != [1, 1]:
            raise ParameterError("laws", "under each bit the probabilities must sum to exactly 1")
        return cls(name, tuple(outcomes), guarantee, _copies(copies))

    @classmethod
    def randomised_response(
        cls,
        name: str,
        *,
        guarantee: Hashable,
        epsilon: Real | None = None,
        exp_epsilon: Real | None = None,
        delta: Real = 0,
        copies: int = 1,
    ) -> Child:
        """Approximate randomised response, the worst (epsilon, delta) mechanism (FORMULAS 2.1).

        Its outcomes are "0" and "1", and with a positive ``delta`` "I am 0" and "I am 1". Give
        e^epsilon for exact games; an ``epsilon`` is taken at its irrational power, enclosed.

        Raises ParameterError for parameters out of range.

        >>> [o.name for o in Child.randomised_response("RR", exp_epsilon=3, guarantee=1).outcomes]
        ['0', '1']
        """
        ratio = read_ratio(epsilon, exp_epsilon)
        leak = rational(delta, "delta", maximum=1)
        kept, none = 1 - leak, Fraction(0)
        good: Number
        bad: Number
        if isinstance(ratio, Fraction):
            good, bad, factor, loss = kept * ratio / (1 + ratio), kept / (1 + ratio), ratio, none
        else:
            assert epsilon is not None
            bad = Interval.of(kept) / (ONE + ratio)
            good = bad * ratio
            factor, loss = Fraction(1), rational(epsilon, "epsilon")
        outcomes = []
        if leak:
            outcomes += [Outcome("I am 0", (leak, none), Fraction(1), none)]
            outcomes += [Outcome("I am 1", (none, leak), Fraction(1), none)]
        if kept:
            outcomes += [Outcome("0", (good, bad), factor, loss)]
            outcomes += [Outcome("1", (bad, good), 1 / factor, -loss)]
        return cls(name, tuple(outcomes), guarantee, _copies(copies))


def _copies(value: int) -> int:
    return natural(value, "copies", maximum=_MOST_COPIES)
