"""The filters "reach" and "residue": state to state, or refused.

Both are for parameters chosen from earlier answers, and for interactive mechanisms that are
asked concurrently (FORMULAS 6.12). A pure epsilon-DP child is an interactive post-processing of
one randomised response that is drawn when it is opened (Theorem 3 with delta = 0; VW21), so the
interaction is one of the game in which those bits are revealed. In that game the loss L moves by
+-epsilon, and with y = L - E the value v(y, w) of inequality.py is a supermartingale under bit 0
while every step keeps its inequality; v(y, w) >= max(1 - e^(-y), 0), so that delta(E) <=
v(-E, V). Bit 1 is the mirror image. Children without end, and stopping, are included.

A Gaussian child is exact: v(y, w) is the mean of v(y + its loss, w - mu**2). Children with a
delta: each is, with probability 1 - delta, a pure one (Theorem 3); on every path the product of
1 - delta stays at least 1 - D, so that the whole is D + (1 - D) times the pure rest
(FORMULAS 6.6).

Published elsewhere: that GDP accounting can subtract less than mu**2 and keep the "residue" of a
mechanism that is not Gaussian (arXiv 2602.15815, of which the abstract was read). New here: the
closed inequality and its proof at one point, the sharper "reach" for one (epsilon, delta), both
for concurrent interactive children, and that every step is verified.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from interlace.core.composition.value_filters.children import Child, State, checked
from interlace.core.composition.value_filters.moves import counted, distance, largest, moved
from interlace.core.composition.value_filters.steps import rounded_down, widest
from interlace.core.errors import ParameterError
from interlace.core.exact import Real, rational

_ONE = Fraction(1)


@dataclass(frozen=True)
class Reach:
    """The filter of one point (``epsilon``, ``delta``), children chosen adaptively.

    It holds w and S, the sum of the pure epsilons: the loss never exceeds S, so that a step's
    inequality is needed from y0 = max(0, epsilon - S) on only. It admits all that basic
    composition admits. ``structural`` is D, the part of delta reserved for children that have a
    delta of their own: the product of their 1 - delta_i stays at least 1 - D.

    Raises ParameterError for parameters out of range, and for D above delta.

    >>> from interlace.core.composition.value_filters import PureChild
    >>> rule = Reach.of(Fraction("4.8866"), Fraction(1, 10**6))
    >>> rule.count(rule.start(), PureChild.of(1), most=10)
    4
    """

    epsilon: Fraction
    delta: Fraction
    structural: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        checked(self.epsilon, "epsilon")
        checked(self.delta, "delta", 1)
        checked(self.structural, "structural", 1)
        if self.delta == 1:
            raise ParameterError("delta", "must be below 1: every mechanism is (0, 1)-DP")
        if self.structural > self.delta:
            raise ParameterError("structural", "must be at most delta: it is a part of it")

    @classmethod
    def of(cls, epsilon: Real, delta: Real, structural: Real = 0) -> Reach:
        return cls(
            rational(epsilon, "epsilon"),
            rational(delta, "delta"),
            rational(structural, "structural"),
        )

    @property
    def pure_delta(self) -> Fraction:
        """What is left of delta for the pure rest: (delta - D) / (1 - D)."""
        return (self.delta - self.structural) / (1 - self.structural)

    def start(self) -> State:
        """The state that has admitted nothing."""
        return State(widest(self.epsilon, self.pure_delta), Fraction(0), _ONE)

    def step(self, state: State, child: Child, count: int = 1) -> State | None:
        """The state after admitting ``child``; None where it is refused, and nothing changed.
        ``count`` of them in one step, with less room than in as many steps: see many.py."""
        return moved(state, child, count, self.structural, self.epsilon)

    def distance(self, state: State) -> Fraction:
        """The y0 from which on the next pure child's inequality is needed."""
        return distance(state, self.epsilon)

    def largest(self, state: State) -> Fraction:
        """The largest epsilon of one more pure child, rounded down; 0 where none fits."""
        return largest(state, self.epsilon)

    def count(self, state: State, child: Child, most: int = 10**6) -> int:
        """How many equal children fit, up to ``most``: as many steps, about 0.1 ms each."""
        return counted(partial(self.step, child=child), state, most)


@dataclass(frozen=True)
class Residue:
    """The filter of sqrt(``mu_squared``)-GDP, children chosen adaptively.

    The interaction is sqrt(mu_squared)-GDP up to D = ``structural``: (epsilon, D + (1 - D) d) for
    every point (epsilon, d) of that curve at once, and it composes further as such.

    Raises ParameterError for parameters out of range.

    >>> from interlace.core.composition.value_filters import GaussianChild, PureChild
    >>> rule = Residue.of(mu=2)
    >>> after = rule.step(rule.start(), GaussianChild.of(1))
    >>> after.w, rule.step(after, PureChild.of(3))
    (Fraction(3, 1), None)
    """

    mu_squared: Fraction
    structural: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        checked(self.mu_squared, "mu_squared")
        checked(self.structural, "structural", 1)
        if self.structural == 1:
            raise ParameterError("structural", "must be below 1")

    @classmethod
    def of(
        cls, *, mu: Real | None = None, mu_squared: Real | None = None, structural: Real = 0
    ) -> Residue:
        if (mu is None) == (mu_squared is None):
            raise ParameterError("mu", "give either mu or mu_squared")
        part = rational(structural, "structural")
        if mu is not None:
            return cls(rational(mu, "mu") ** 2, part)
        assert mu_squared is not None
        return cls(rational(mu_squared, "mu_squared"), part)

    def start(self) -> State:
        """The state that has admitted nothing."""
        return State(rounded_down(self.mu_squared), None, _ONE)

    def step(self, state: State, child: Child, count: int = 1) -> State | None:
        """The state after admitting ``child``; None where it is refused, and nothing changed.
        ``count`` of them in one step, with less room than in as many steps: see many.py."""
        return moved(state, child, count, self.structural, None)

    def distance(self, state: State) -> Fraction:
        """The y0 from which on the next pure child's inequality is needed: always 0."""
        return distance(state, None)

    def largest(self, state: State) -> Fraction:
        """The largest epsilon of one more pure child, rounded down; 0 where none fits."""
        return largest(state, None)

    def count(self, state: State, child: Child, most: int = 10**6) -> int:
        """How many equal children fit, up to ``most``: as many steps, about 0.1 ms each."""
        return counted(partial(self.step, child=child), state, most)


Rule = Reach | Residue
