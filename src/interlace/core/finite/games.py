"""Adaptive games: what an analyst can reach who chooses each mechanism from the answers so far.

The rule that says what may be opened is handed in as a value; nothing here knows one. Since
only the likelihood ratio of what was seen matters, histories that agree in it, in what is left
of the menu and in the rule's state are one state of the recursion (game_values.py).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, natural
from interlace.core.finite.game_values import (
    Field,
    N,
    Reached,
    Rule,
    Solver,
    enclosed,
    exact_field,
    interval_field,
    positive,
)
from interlace.core.finite.menu import Child
from interlace.core.finite.ratios import read_ratio

_MOST_ROUNDS = 200


@dataclass(frozen=True)
class AdaptiveGame:
    """An analyst opens mechanisms of a menu, one after another, as far as a rule admits them.

    ``rounds`` caps how many (all copies of the menu, if left out). The value does not depend on
    how outcomes are delayed or interleaved: each mechanism answers once (FORMULAS 6.4).

    Raises ParameterError for an empty menu, names that are not unique, a rule that is none, or
    too many rounds.

    Two copies of randomised response at e^epsilon = 3 behind a rule that admits everything:

    >>> class Everything:
    ...     def admitting(self, guarantee):
    ...         return self
    >>> menu = [Child.randomised_response("RR", exp_epsilon=3, guarantee="pure", copies=2)]
    >>> game = AdaptiveGame(menu, Everything())
    >>> game.delta(exp_epsilon=2)
    Fraction(7, 16)
    >>> print(game.worst(exp_epsilon=2).strategy)
    RR
      on 0: RR
    """

    menu: tuple[Child, ...]
    rule: Rule
    rounds: int
    _exact: bool = field(repr=False)

    def __init__(self, menu: Sequence[Child], rule: Rule, rounds: int | None = None) -> None:
        if not menu or len({child.name for child in menu}) < len(menu):
            raise ParameterError("menu", "must hold mechanisms, each under a name of its own")
        if not isinstance(rule, Hashable) or not hasattr(rule, "admitting"):
            raise ParameterError(
                "rule",
                "must be a frozen, hashable value whose admitting(guarantee) is the rule after it, "
                "or None where it refuses: wrap a filter that changes itself",
            )
        copies = sum(child.copies for child in menu)
        asked = copies if rounds is None else natural(rounds, "rounds")
        if min(asked, copies) > _MOST_ROUNDS:
            raise ParameterError("rounds", f"must be at most {_MOST_ROUNDS}, and so the copies")
        object.__setattr__(self, "menu", tuple(menu))
        object.__setattr__(self, "rule", rule)
        object.__setattr__(self, "rounds", min(asked, copies))
        object.__setattr__(self, "_exact", all(child.exact for child in menu))

    def delta(self, *, epsilon: Real | None = None, exp_epsilon: Real | None = None) -> Fraction:
        """The largest P(event) - e^epsilon Q(event), over both orders of the pair: exact, or the
        upper end. A rule that promises (epsilon, delta) must keep it below delta.

        Raises ParameterError unless exactly one argument is given, in its range, and for a game
        of more than a million states.
        """
        return self.worst(epsilon=epsilon, exp_epsilon=exp_epsilon).upper

    def worst(self, *, epsilon: Real | None = None, exp_epsilon: Real | None = None) -> Reached:
        """As ``delta``, with both ends of the value and the strategy that reaches it."""
        limit = read_ratio(epsilon, exp_epsilon)
        if self._exact and isinstance(limit, Fraction):
            threshold = limit
            return self._best(exact_field(lambda t: max(t - threshold, Fraction(0))))
        beyond = enclosed(limit)
        return self._best(interval_field(lambda t: (t - beyond).clip(0)))

    def renyi_moment(self, alpha: int) -> Fraction:
        """The largest E_Q[(P/Q)^alpha], that is e^((alpha - 1) D_alpha), over both orders: exact,
        or the upper end. ``alpha`` is an integer of at least 2 (FORMULAS 1.5).

        Raises ParameterError for another order, and where an outcome of the menu is possible
        under one bit only, since it is then infinite.
        """
        order = natural(alpha, "alpha", minimum=2, maximum=1000)
        if any(not positive(p) for child in self.menu for o in child.outcomes for p in o.p):
            raise ParameterError("alpha", "the moment is infinite: an outcome tells the bit")
        if self._exact:
            return self._best(exact_field(lambda t: t**order)).upper
        return self._best(interval_field(lambda t: t.power(order))).upper

    def _best(self, numbers: Field[N]) -> Reached:
        found = []
        for bit in (0, 1):
            solver: Solver[N] = Solver(self.menu, self.rule, bit, numbers)
            value, strategy = solver.start(self.rounds)
            found.append(Reached(*numbers.ends(value), bit, strategy))
        best = max(found, key=lambda reached: reached.lower)
        return Reached(best.lower, max(r.upper for r in found), best.bit, best.strategy)
