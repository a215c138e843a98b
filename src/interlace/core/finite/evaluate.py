"""What one fixed adversary reaches, by listing its transcripts: a check of ``worst_adversary``.

It shares nothing with the recursion that found the adversary: it asks the adversary for queries
and the pair for laws, multiplies, and adds up (FORMULAS 1.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from typing import Protocol

from interlace.core.errors import ParameterError
from interlace.core.exact import Real, rational
from interlace.core.interval import Interval

_History = tuple[tuple[Hashable, Hashable], ...]
_Found = tuple[_History, Fraction, Fraction]


class _Pair(Protocol):
    @property
    def exact(self) -> bool: ...

    def law(
        self, bit: int, history: _History, query: Hashable
    ) -> dict[Hashable, Fraction | float]: ...


class _Adversary(Protocol):
    @property
    def first(self) -> int: ...

    def __call__(self, history: _History, /) -> Hashable | None: ...


def transcripts(adversary: Callable[[_History], Hashable | None], pair: _Pair) -> Iterator[_Found]:
    """Every transcript that an adversary may end with, with its two probabilities: products of
    the laws as they are, exact for an exact pair and for floats read as the dyadic numbers that
    they are."""
    waiting: list[_Found] = [((), Fraction(1), Fraction(1))]
    while waiting:
        history, p, q = waiting.pop()
        query = adversary(history)
        if query is None:
            yield history, p, q
            continue
        first = pair.law(0, history, query) if p else {}
        second = pair.law(1, history, query) if q else {}
        waiting += [
            (
                (*history, (query, response)),
                p * Fraction(first.get(response, 0)),
                q * Fraction(second.get(response, 0)),
            )
            for response in {**first, **second}
        ]


def evaluate(
    adversary: _Adversary,
    pair: _Pair,
    *,
    epsilon: Real | None = None,
    exp_epsilon: Real | None = None,
    alpha: Real | None = None,
) -> Fraction | float:
    """The hockey stick at ``epsilon`` or at the factor ``exp_epsilon`` (FORMULAS 1.8), or the
    moment of order ``alpha`` (1.5), of the transcripts of one adversary in its order.

    A Fraction for an exact pair with a rational factor or a whole order, else the nearest float,
    not rounded in any direction. Raises ParameterError unless exactly one argument is given.
    """
    if sum(value is not None for value in (epsilon, exp_epsilon, alpha)) != 1:
        raise ParameterError("epsilon", "give exactly one of epsilon, exp_epsilon and alpha")
    seen = [(p, q) if adversary.first == 0 else (q, p) for _, p, q in transcripts(adversary, pair)]
    if alpha is not None:
        order = rational(alpha, "alpha", minimum=1, above=True)
        return _moment(seen, order, exact=pair.exact)
    if exp_epsilon is not None:
        factor = rational(exp_epsilon, "exp_epsilon", minimum=1)
    else:
        assert epsilon is not None
        factor = Fraction(Interval.of(rational(epsilon, "epsilon")).exp().lower)
    found = sum((max(p - factor * q, Fraction(0)) for p, q in seen), Fraction(0))
    return found if pair.exact and epsilon is None else float(found)


def _moment(
    seen: list[tuple[Fraction, Fraction]], order: Fraction, *, exact: bool
) -> Fraction | float:
    if any(p and not q for p, q in seen):
        return math.inf
    if exact and order.denominator == 1:
        n = int(order)
        return sum((p**n / q ** (n - 1) for p, q in seen if p), Fraction(0))
    a = float(order)
    return math.fsum(float(p) * math.exp((a - 1) * math.log(p / q)) for p, q in seen if p)
