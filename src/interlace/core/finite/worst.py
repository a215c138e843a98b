"""What the best adversary reaches, told outwards: the methods of every pair.

Nothing is computed here: the recursion is in ``fold``, its values in ``values`` and
``moments``, directions of rounding in ``ends``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, float_down, float_up, rational
from interlace.core.finite import ends, moments, polygon, values
from interlace.core.finite.blocks import Blocks
from interlace.core.finite.fold import Game
from interlace.core.finite.graph import Graph
from interlace.core.finite.laws import History, Law, Query
from interlace.core.finite.profile import Corners, Profile
from interlace.core.finite.ratios import read_ratio
from interlace.core.finite.strategy import Adversary
from interlace.core.interval import Interval

if TYPE_CHECKING:
    from interlace.core.finite.certificate import Certificate
    from interlace.core.finite.counterexample import Counterexample

T = TypeVar("T")

#: Beyond this the divergence is that of order infinity but for a millionth of log 1/Q.
_LARGEST_ORDER = 10**6
#: Nodes, and orders, up to which moments are exact: beyond, their fractions become long.
_SHORT = 1000


class WorstCase(ABC):
    """A pair of systems against its best adversary, in the worse order of the two.

    The adversary is deterministic, adaptive and unbounded; by FORMULAS 1.2 no randomised one
    does better.
    """

    @property
    @abstractmethod
    def queries(self) -> tuple[Query, ...]:
        """What may be asked in every round."""

    @property
    @abstractmethod
    def rounds(self) -> int:
        """How many questions are answered."""

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether all probabilities are Fractions; otherwise all are floats."""

    @abstractmethod
    def law(self, bit: int, history: History, query: Query) -> Law:
        """The law of the response to ``query`` after ``history``."""

    @abstractmethod
    def _game(self) -> Game:
        """What sums and greatest values are taken over. A pair of floats may have masses there
        that are off by a part in 2**62, which ``growth`` holds."""

    @abstractmethod
    def graph(self) -> Graph:
        """The distinct nodes, in a pair of floats with masses that are off by a part in 2**62.
        For ``interleave``. Raises ParameterError where they are too many to be kept."""

    @abstractmethod
    def growth(self) -> Fraction:
        """By which factor a history's probability may be off, of what was seen so far."""

    def delta(
        self, *, epsilon: Real | None = None, exp_epsilon: Real | None = None
    ) -> Fraction | float:
        """The least delta at ``epsilon``, or at the factor e^epsilon = ``exp_epsilon``.

        A Fraction, exact, for an exact pair and a rational factor; else a float rounded up.
        Source: FORMULAS 3.1. Raises ParameterError for arguments out of range and for a pair
        that is too large.
        """
        factor = read_ratio(epsilon, exp_epsilon)
        upper = self._judged(lambda grown: ends.upper_delta(self._stick, factor, grown))
        return ends.told(upper, factor, exact=self.exact)

    def delta_interval(
        self, *, epsilon: Real | None = None, exp_epsilon: Real | None = None
    ) -> tuple[float, float]:
        """Two floats with the least delta between them."""
        factor = read_ratio(epsilon, exp_epsilon)
        upper = self._judged(lambda grown: ends.upper_delta(self._stick, factor, grown))
        if self.exact and isinstance(factor, Fraction):
            return float_down(upper), float_up(upper)
        lower = self._judged(lambda grown: ends.lower_delta(self._stick, factor, grown))
        return float_down(lower), float_up(upper)

    def epsilon(self, delta: Real) -> float:
        """The least epsilon >= 0 at which ``delta`` suffices, rounded up; infinite where none
        does."""
        return ends.log_up(self._least_factor(delta))

    def epsilon_interval(self, delta: Real) -> tuple[float, float]:
        """Two floats with the least epsilon between them."""
        share = rational(delta, "delta", maximum=1)
        low = self._judged(lambda grown: ends.most_factor(self._event, share, grown))
        return ends.log_down(low), ends.log_up(self._least_factor(delta))

    def exp_epsilon(self, delta: Real) -> Fraction | float:
        """e to the least epsilon >= 0 at which ``delta`` suffices: exact for an exact pair, else
        never too small; infinite where none does. At ``delta`` 0 it is the greatest likelihood
        ratio that an adversary can see."""
        found = self._least_factor(delta)
        return math.inf if found is None else found

    def profile(self) -> Profile:
        """Delta at every epsilon at once. It is kept, and later questions are read from it."""
        if self._profile is None:
            game = self._game()
            first = _corners(game, 0)
            second = polygon.mirrored(first) if self.exact else _corners(game, 1)
            self._profile = Profile(first, second, self.growth(), self.exact)
        return self._profile

    _profile: Profile | None = None

    def renyi_moment(self, alpha: Real) -> Fraction | float:
        """The greatest sum of P^alpha Q^(1-alpha), ``alpha`` > 1: exact for a whole order and
        an exact pair of at most a thousand nodes, else rounded up. Infinite where the divergence
        is. Source: FORMULAS 2.6.
        """
        order = rational(alpha, "alpha", minimum=1, above=True, maximum=_LARGEST_ORDER)
        game = self._game()
        if self.exact and order.denominator == 1 and game.size <= _SHORT and order <= _SHORT:
            found = moments.exact_moment(game, int(order))
            return math.inf if found is None else found
        upper = self._moment(order)
        return math.inf if upper is None else float_up(upper)

    def renyi(self, alpha: Real) -> float:
        """The greatest Rényi divergence of an order ``alpha`` >= 1, rounded up: at 1 that of
        Kullback and Leibler, at infinity the greatest log-likelihood ratio, epsilon(0)."""
        if alpha == math.inf:
            return self.epsilon(0)
        order = rational(alpha, "alpha", minimum=1, maximum=_LARGEST_ORDER)
        if order == 1:
            found = self._judged(lambda grown: _divergence(self._game(), grown))
            return math.inf if found is None else float_up(found)
        upper = self._moment(order)
        if upper is None:
            return math.inf
        return (Interval.of(max(upper, Fraction(1))).log() / Interval.of(order - 1)).up()

    def worst_adversary(
        self,
        *,
        epsilon: Real | None = None,
        exp_epsilon: Real | None = None,
        alpha: Real | None = None,
    ) -> Adversary:
        """A deterministic adversary that reaches delta at ``epsilon`` or ``exp_epsilon``, or the
        moment of order ``alpha`` (both up to what was rounded), with the order it is good at.

        Raises ParameterError unless exactly one argument is given, in its range.
        """
        game = self._game()
        if alpha is not None and epsilon is None and exp_epsilon is None:
            order = rational(alpha, "alpha", minimum=1, above=True, maximum=_LARGEST_ORDER)
            endless = moments.infinite(game)
            tried = [
                values.certain(first) if endless else moments.rounded(game, order, first, up=True)
                for first in (0, 1)
            ]
        elif alpha is not None:
            raise ParameterError("alpha", "give one of epsilon, exp_epsilon and alpha")
        else:
            factor = ends.below(read_ratio(epsilon, exp_epsilon))
            tried = [values.stick(factor, first, game.scales)[0] for first in (0, 1)]
        # Both orders count in one unit but for the certain events, of which any will do.
        reached = [game.solve(value) for value in tried]
        first = reached.index(max(reached))
        return Adversary(game.plan(tried[first]), first)

    def certify(
        self, *, epsilon: Real | None = None, exp_epsilon: Real | None = None, delta: Real
    ) -> Certificate | Counterexample:
        """A certificate that the pair is (epsilon, delta)-indistinguishable, or the adversary and
        the event that show it is not (Theorem 3; ``certificate.certify`` says more)."""
        from interlace.core.finite.certificate import certify

        return certify(self, epsilon=epsilon, exp_epsilon=exp_epsilon, delta=delta)

    def _stick(self, factor: Fraction) -> Fraction:
        if self._profile is not None:
            return self._profile.stick(factor)
        game = self._game()
        if isinstance(game, Blocks):
            return game.stick(factor)
        sticks = [values.stick(factor, first, game.scales) for first in (0, 1)]
        return max(Fraction(game.solve(value), unit) for value, unit in sticks)

    def _event(self, factor: Fraction | None) -> tuple[Fraction, Fraction]:
        if self._profile is not None:
            return self._profile.event(factor)
        game = self._game()
        if isinstance(game, Blocks):
            return game.event(factor)
        if factor is None:
            return max(
                (Fraction(game.solve(values.certain(first))) / game.scales[first], Fraction(0))
                for first in (0, 1)
            )
        found = []
        for first in (0, 1):
            p, q = values.event(game, factor, first)
            found.append((p - factor * q, p, q))
        return max(found)[1:]

    def _least_factor(self, delta: Real) -> Fraction | None:
        share = rational(delta, "delta", maximum=1)
        return self._judged(lambda grown: ends.least_factor(self._event, share, grown))

    def _moment(self, order: Fraction) -> Fraction | None:
        return self._judged(lambda grown: _moment(self._game(), order, grown))

    def _judged(self, judge: Callable[[Fraction], T]) -> T:
        self._game()
        # A walk sees laws while it is solved: then their growth may have to be larger.
        while True:
            grown = self.growth()
            found = judge(grown)
            if self.growth() == grown:
                return found


def _corners(game: Game, first: int) -> Corners:
    own, other = game.scales[first], game.scales[1 - first]
    chain = game.solve(values.chains(first))
    return tuple((Fraction(p, own), Fraction(q, other)) for p, q in chain)


def _moment(game: Game, order: Fraction, grown: Fraction) -> Fraction | None:
    found = moments.moment(game, order, up=True)
    return None if found is None else found * grown ** math.ceil(2 * order - 1)


def _divergence(game: Game, grown: Fraction) -> Fraction | None:
    found = moments.divergence(game, up=True)
    if found is None or grown == 1:
        return found
    # Weights and ratios move by (growth - 1) and its double; the terms' absolute sum is the
    # divergence and twice what is negative in it, which is at most 1/e.
    return found + (grown - 1) * (found + 3)
