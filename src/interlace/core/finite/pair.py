"""A pair of neighbouring finite interactive systems (FORMULAS 1.1), by the law of one response.

What is computed of it lives in the files beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from interlace.core.errors import ParameterError
from interlace.core.exact import natural
from interlace.core.finite.laws import History, Law, Query, checked, place, refuse

#: step(bit, history, query) -> {response: probability}.
Step = Callable[[int, History, Query], Mapping[object, object]]
#: {history: {query: {response: probability}}}.
Table = Mapping[History, Mapping[Query, Mapping[object, object]]]

#: Checked laws that a pair remembers. A larger tree is walked once, history by history.
_REMEMBERED = 2**16


class FinitePair:
    """Two finite interactive systems, M^0 on one dataset and M^1 on its neighbour.

    ``step(bit, history, query)`` gives the law of the response to ``query`` after ``history``,
    a tuple of (query, response), in the system of ``bit``: a mapping from hashable responses to
    probabilities. The two laws may have different supports. ``queries`` are what may be asked
    in each of the ``rounds`` rounds, any hashable values. Fractions and integers stay exact;
    the sum of a float law may be 1e-12 off, and the exact law is then the numbers divided by
    their sum. Which of the two a pair is, is decided by the laws of the first round, or by
    ``exact``.

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
        self, step: Step, *, queries: Iterable[Query], rounds: int, exact: bool | None = None
    ) -> None:
        self._step = step
        self._queries = _distinct(queries)
        self._rounds = natural(rounds, "rounds", maximum=10**6)
        self._exact = exact
        if exact is None:
            first = [self._checked(bit, (), query) for bit in (0, 1) for query in self._queries]
            self._exact = not any(isinstance(p, float) for law in first for p in law.values())
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

        def step(bit: int, history: History, query: Query) -> Mapping[object, object]:
            table = (zero, one)[bit]
            if history not in table or query not in table[history]:
                refuse(place(bit, history, query), "the table has no such entry: add it")
            return table[history][query]

        return cls(step, queries=zero[()], rounds=longest + 1 if rounds is None else rounds)

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
        law = checked(self._step(bit, history, query), where, exact=self._exact)
        if checked(self._step(bit, history, query), where, exact=self._exact) != law:
            refuse(where, "gave two laws when called twice: it must depend on its arguments alone")
        return law


def _distinct(queries: Iterable[Query]) -> tuple[Query, ...]:
    distinct = tuple(dict.fromkeys(queries))
    if not distinct:
        raise ParameterError("queries", "must name at least one query")
    return distinct
