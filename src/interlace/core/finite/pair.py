"""A pair of neighbouring finite interactive systems (FORMULAS 1.1), by the law of one response.

What is computed of it lives in the files beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from interlace.core.errors import ParameterError
from interlace.core.exact import natural
from interlace.core.finite import ends
from interlace.core.finite.blocks import Blocks
from interlace.core.finite.fold import Game, Numbered, Walk
from interlace.core.finite.graph import (
    Expanded,
    Graph,
    Source,
    expand,
    refuse_size,
    rounded,
    spreads,
)
from interlace.core.finite.hidden import Filter
from interlace.core.finite.laws import (
    History,
    Law,
    Query,
    checked_twice,
    deviation,
    is_exact,
    place,
    refuse,
)
from interlace.core.finite.machine import Initial, Transition, machines
from interlace.core.finite.secret import After, Answering, OneSecret, Opening, Public, summed
from interlace.core.finite.stepping import Stepped
from interlace.core.finite.worst import WorstCase

#: step(bit, history, query) -> {response: probability}.
Step = Callable[[int, Any, Any], Mapping[Any, Any]]
#: {history: {query: {response: probability}}}.
Table = Mapping[Any, Mapping[Any, Mapping[Any, Any]]]

#: Checked laws that a pair remembers. A larger tree is walked once, history by history.
_REMEMBERED = 2**16
#: Nodes that are looked at, unless a pair is told otherwise.
LIMIT = 500_000
#: Histories that are kept, each with its questions; more of them are walked, depth first.
_KEPT = 100_000
#: A history in a block costs less than a node by this factor.
_IN_BLOCKS = 500


class FinitePair(WorstCase):
    """Two finite interactive systems, M^0 on one dataset and M^1 on its neighbour.

    ``step(bit, history, query)`` gives the law of the response to ``query`` after ``history``,
    a tuple of (query, response), in the system of ``bit``: a mapping from hashable responses to
    probabilities. The two laws may have different supports. ``queries`` are what may be asked
    in each of the ``rounds`` rounds, any hashable values. Fractions and integers stay exact;
    the sum of a float law may be 1e-12 off, and the exact law is then the numbers divided by
    their sum. Which of the two a pair is, is decided by the laws of the first round, or by
    ``exact``.

    A pair of more than ``limit`` histories (nodes, where histories merge) is refused with an
    estimate when it is asked for something; a machine in floats whose histories do not merge may
    have some hundred times as many.

    Raises ParameterError, naming the history, for probabilities that are negative, NaN or do
    not sum to one, and for a step that depends on more than its arguments: each law is asked
    for twice.

    >>> from fractions import Fraction
    >>> def response(bit, history, query):
    ...     return {bit: Fraction(3, 4), 1 - bit: Fraction(1, 4)}
    >>> pair = FinitePair(response, queries=["ask"], rounds=2)
    >>> pair.exact, pair.law(0, (("ask", 1),), "ask")
    (True, {0: Fraction(3, 4), 1: Fraction(1, 4)})
    """

    def __init__(
        self,
        step: Step,
        *,
        queries: Iterable[Query],
        rounds: int,
        exact: bool | None = None,
        limit: int = LIMIT,
    ) -> None:
        self._step = step
        self._queries = distinct(queries)
        self._rounds = natural(rounds, "rounds", maximum=10**6)
        self._limit = natural(limit, "limit")
        self._exact, self._deviation = exact, 0.0
        first = [self._checked(bit, (), query) for bit in (0, 1) for query in self._queries]
        if exact is None:
            self._exact = is_exact(first)
        self._remembered = lru_cache(maxsize=_REMEMBERED)(self._checked)

    @classmethod
    def tables(cls, zero: Table, one: Table, *, rounds: int | None = None) -> FinitePair:
        """The pair of two tables {history: {query: {response: probability}}}, of bit 0 and 1.

        ``rounds`` is one more than the longest history, unless said. The queries are those of
        the empty history in the first table; each history must have all of them.

        >>> coin = {"ask": {0: 0.5, 1: 0.5}}
        >>> FinitePair.tables({(): coin}, {(): coin}).rounds
        1
        """
        if () not in zero or () not in one:
            raise ParameterError("tables", "both need the empty history ()")
        longest = max(len(history) for table in (zero, one) for history in table)

        def step(bit: int, history: History, query: Query) -> Mapping[Any, Any]:
            table = (zero, one)[bit]
            if history not in table or query not in table[history]:
                refuse(place(bit, history, query), "the table has no such entry: add it")
            return table[history][query]

        return cls(step, queries=zero[()], rounds=longest + 1 if rounds is None else rounds)

    @classmethod
    def hidden(
        cls,
        initial: Initial,
        transition: Transition,
        *,
        queries: Iterable[Query],
        rounds: int,
        exact: bool | None = None,
        limit: int = LIMIT,
    ) -> FinitePair:
        """The pair of a machine with a hidden state.

        ``initial(bit)`` is the law of the first hidden state, ``transition(bit, hidden, query)``
        the law of (response, next hidden state). Histories after which the hidden states have
        the same probabilities merge. Hidden states are hashable; finitely many are reachable.

        >>> def initial(bit):
        ...     return {bit: 1}
        >>> def transition(bit, hidden, query):
        ...     return {(hidden, hidden): Fraction(3, 4), (1 - hidden, hidden): Fraction(1, 4)}
        >>> pair = FinitePair.hidden(initial, transition, queries=["ask"], rounds=3)
        >>> pair.delta(exp_epsilon=2)
        Fraction(17, 32)
        """
        asked = distinct(queries)
        step = machines(initial, transition, asked, natural(rounds, "rounds"), exact)
        return cls(step, queries=asked, rounds=rounds, exact=step.exact, limit=limit)

    @classmethod
    def one_secret(
        cls,
        opening: Opening,
        answer: Answering,
        *,
        queries: Iterable[Query],
        rounds: int,
        start: Public = None,
        after: After | None = None,
        exact: bool | None = None,
        limit: int = LIMIT,
    ) -> FinitePair:
        """The pair of a mechanism with one secret, drawn at its opening.

        ``opening(bit)`` is the secret's law, ``answer(bit, secret, public, query)`` the law of
        one response, ``after(public, query, response)`` the next public state (hashable), from
        ``start``. Histories with the same public state in which each factor, a response's
        probability as a function of the secret, occurred equally often merge. Questions that
        tell and change nothing, as after a halt, are not asked.

        Weights of the opening may be negative where they stand for an infinite tail
        (``tails.fold``); then they must be exact.

        >>> def opening(bit):
        ...     return {"fair": Fraction(1, 2), "unfair": Fraction(1, 2)}
        >>> def answer(bit, secret, public, query):
        ...     return {0: Fraction(1, 2), 1: Fraction(1, 2)} if secret == "fair" else {bit: 1}
        >>> pair = FinitePair.one_secret(opening, answer, queries=["toss"], rounds=2)
        >>> pair.delta(exp_epsilon=1)
        Fraction(1, 2)
        """
        asked = distinct(queries)
        system = OneSecret(opening, answer, start, after or (lambda public, *_: public), exact)
        step = summed(system, asked, natural(rounds, "rounds"))
        return cls(step, queries=asked, rounds=rounds, exact=step.exact, limit=limit)

    @property
    def queries(self) -> tuple[Query, ...]:
        """What may be asked in every round, without repetition."""
        return self._queries

    @property
    def rounds(self) -> int:
        """How many questions are answered."""
        return self._rounds

    @property
    def exact(self) -> bool:
        """Whether all probabilities are Fractions; otherwise all are floats."""
        return bool(self._exact)

    def law(self, bit: int, history: History, query: Query) -> Law:
        """The checked law of the response to ``query`` after ``history`` in the system of
        ``bit``; responses of probability zero are left out. The mapping is a copy.

        Raises ParameterError for a law that is none, an unknown query or a history too long.
        """
        if bit not in (0, 1):
            raise ParameterError("bit", f"must be 0 or 1, got {bit!r}")
        if len(history) >= self._rounds:
            raise ParameterError("history", f"has {len(history)} of {self._rounds} rounds already")
        known = self._queries
        if query not in known or any(asked not in known for asked, _ in history):
            raise ParameterError("query", f"must be one of {known!r}")
        return dict(self._remembered(int(bit), tuple(history), query))

    def _checked(self, bit: int, history: History, query: Query) -> Law:
        where = place(bit, history, query)
        law = checked_twice(lambda: self._step(bit, history, query), where, exact=self._exact)
        self._deviation = max(self._deviation, deviation(law))
        return law

    @cached_property
    def _source(self) -> Source:
        if isinstance(self._step, Filter):
            return self._step.source(self._rounds)
        return Stepped(self._checked, self._queries, self._rounds)

    def graph(self) -> Graph:
        if self._graph is None:
            refuse_size(self._source.size, min(_KEPT, self._limit))
        return self._graph

    @cached_property
    def _graph(self) -> Expanded | None:
        source = self._source
        kept = self._limit if source.merges else min(_KEPT, self._limit)
        if source.merges and source.size > kept and spreads(source):
            return None
        graph = expand(source, kept)
        return graph if self.exact or graph is None else rounded(graph)

    def _game(self) -> Game:
        return self._solver

    @cached_property
    def _solver(self) -> Game:
        source = self._source
        if self._graph is not None:
            return Numbered(self._graph)
        game = self._in_blocks()
        if game is None and (source.merges or source.size > self._limit):
            refuse_size(source.size, self._limit)
        return game or Walk(source, self._limit)

    def _in_blocks(self) -> Blocks | None:
        kernels = self._step.kernels() if isinstance(self._step, Filter) else None
        if self.exact or kernels is None or self._source.size > _IN_BLOCKS * self._limit:
            return None
        return Blocks(kernels, self._rounds, self._limit)

    def growth(self) -> Fraction:
        seen = self._step.deviation if isinstance(self._step, Filter) else self._deviation
        if self.exact:
            return Fraction(1)
        # The game is there once anything was solved.
        game = self.__dict__.get("_solver")
        in_blocks = game.growth if isinstance(game, Blocks) else 1
        return ends.growth(seen, self._rounds) * in_blocks


def distinct(queries: Iterable[Query]) -> tuple[Query, ...]:
    """The queries without repetition; at least one."""
    found = tuple(dict.fromkeys(queries))
    if not found:
        raise ParameterError("queries", "must name at least one query")
    return found
