"""Concurrent composition: one adversary, several pairs, queries interleaved in any order.

Each pair sees its own history only and has randomness of its own; the data, the bit, is one
(FORMULAS 1.3).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Literal, get_args

from interlace.core.errors import ParameterError
from interlace.core.exact import natural
from interlace.core.finite.fold import Game, Numbered
from interlace.core.finite.graph import Graph, refuse_size
from interlace.core.finite.joint import Joint
from interlace.core.finite.laws import History, Law, Query
from interlace.core.finite.pair import LIMIT
from interlace.core.finite.powers import Fixed, Within, strategies
from interlace.core.finite.worst import WorstCase

Power = Literal["concurrent", "sequential", "within", "fixed"]
"""concurrent: any query to any pair at any time, by all answers so far.
sequential: so too, but a pair that was begun is ended before another one is begun.
within: queries to a pair depend on that pair's answers alone.
fixed: all queries are fixed in advance."""


def interleave(*pairs: WorstCase, power: Power = "concurrent", limit: int = LIMIT) -> Interleaving:
    """The concurrent composition of pairs, itself a pair.

    A query is (number of the pair, its query); a pair that has answered all its rounds answers
    None from then on. ``power`` says what the adversary may do: "concurrent"; "sequential", one
    pair after the other in an order of its choice; "within", adaptively in each pair but without
    carrying answers from one to another; "fixed", all queries in advance. Laws and certificates
    are those of the concurrent composition whatever the power.

    Raises ParameterError for less than one pair, an unknown power, a pair that is not concurrent
    itself, or more than ``limit`` tuples of histories (or of strategies).

    >>> from interlace.core.finite import FinitePair
    >>> def response(bit, history, query):
    ...     return {bit: Fraction(3, 4), 1 - bit: Fraction(1, 4)}
    >>> pair = FinitePair(response, queries=["ask"], rounds=1)
    >>> interleave(pair, pair).delta(exp_epsilon=2)
    Fraction(7, 16)
    """
    return Interleaving(pairs, power, limit)


class Interleaving(WorstCase):
    """Made by ``interleave``."""

    def __init__(self, pairs: tuple[WorstCase, ...], power: Power, limit: int) -> None:
        if not pairs or not all(isinstance(pair, WorstCase) for pair in pairs):
            raise ParameterError("pairs", "must be one or more FinitePair or interleavings")
        if any(isinstance(pair, Interleaving) and pair.power != "concurrent" for pair in pairs):
            raise ParameterError("pairs", "an interleaving within another must be concurrent")
        if power not in get_args(Power):
            raise ParameterError("power", f"must be one of {get_args(Power)}, got {power!r}")
        self.pairs: tuple[WorstCase, ...] = pairs
        self.power: Power = power
        self._limit = natural(limit, "limit")

    @property
    def queries(self) -> tuple[Query, ...]:
        """(number of a pair, one of its queries)."""
        return tuple((i, query) for i, pair in enumerate(self.pairs) for query in pair.queries)

    @property
    def rounds(self) -> int:
        """How many questions all pairs answer together."""
        return sum(pair.rounds for pair in self.pairs)

    @property
    def exact(self) -> bool:
        """Whether all probabilities are Fractions; otherwise all are floats."""
        return all(pair.exact for pair in self.pairs)

    def law(self, bit: int, history: History, query: Query) -> Law:
        """The law of the response to (number of a pair, its query): that of the pair after its
        own part of the history. None is certain where the pair has ended.

        Raises ParameterError for an unknown query or a history too long.
        """
        if len(history) >= self.rounds:
            raise ParameterError("history", f"has {len(history)} of {self.rounds} rounds already")
        (part, asked), seen = self._read(query), []
        for before, response in history:
            other, question = self._read(before)
            if other == part:
                seen.append((question, response))
        pair = self.pairs[part]
        law: Law = {None: Fraction(1)}
        if len(seen) < pair.rounds:
            law = pair.law(bit, tuple(seen), asked)
        return law if self.exact else {r: float(p) for r, p in law.items()}

    def _read(self, query: Query) -> tuple[int, Query]:
        if not isinstance(query, tuple) or query not in self.queries:
            raise ParameterError("query", "must be (number of a pair, one of its queries)")
        return query[0], query[1]

    def graph(self) -> Graph:
        """The tuples of the pairs' nodes. Raises ParameterError where they are too many."""
        return Joint(self._parts(), sequential=self.power == "sequential")

    def _parts(self) -> list[Graph]:
        parts = [pair.graph() for pair in self.pairs]
        count = math.prod(map(len, parts))
        if self.power == "within":
            others = sorted(map(strategies, parts))[:-1]
            count = max(map(len, parts)) * math.prod(others)
        elif self.power == "fixed":
            count = math.prod(len(p.queries) ** min(p.rounds, 999) for p in self.pairs)
        if count > self._limit:
            refuse_size(count, self._limit)
        return parts

    def _game(self) -> Game:
        return self._solver

    @cached_property
    def _solver(self) -> Game:
        if self.power == "fixed":
            asked = [(pair.queries, pair.rounds) for pair in self.pairs]
            return Fixed(self._parts(), asked, exact=self.exact)
        if self.power == "within":
            return Within(self._parts(), exact=self.exact)
        return Numbered(self.graph())

    def growth(self) -> Fraction:
        return math.prod((pair.growth() for pair in self.pairs), start=Fraction(1))
