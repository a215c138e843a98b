"""Every deterministic adversary and every event, listed: obviously right and very slow.

Nothing is tested here. Shares nothing with the code under test but ``law``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Protocol

History = tuple[tuple[Hashable, Hashable], ...]
Seen = list[tuple[Fraction, Fraction]]
"""The transcripts of one adversary: their probabilities under bit 0 and under bit 1."""


class Pair(Protocol):
    @property
    def queries(self) -> tuple[Hashable, ...]: ...

    @property
    def rounds(self) -> int: ...

    def law(
        self, bit: int, history: History, query: Hashable
    ) -> dict[Hashable, Fraction | float]: ...


def adversaries(pair: Pair, history: History = ()) -> Iterator[Seen]:
    """What every deterministic adversary sees, which asks by all answers so far."""
    if len(history) == pair.rounds:
        yield [(_probability(pair, 0, history), _probability(pair, 1, history))]
        return
    for query in pair.queries:
        after = [
            list(adversaries(pair, (*history, (query, response))))
            for response in responses(pair, history, query)
        ]
        for parts in product(*after):
            yield list(chain.from_iterable(parts))


def responses(pair: Pair, history: History, query: Hashable) -> list[Hashable]:
    """Those with a positive probability under a bit that can be there."""
    found: dict[Hashable, None] = {}
    for bit in (0, 1):
        if _probability(pair, bit, history):
            found |= dict.fromkeys(pair.law(bit, history, query))
    return list(found)


def _probability(pair: Pair, bit: int, history: History) -> Fraction:
    found = Fraction(1)
    for i, (query, response) in enumerate(history):
        if found:
            found *= Fraction(pair.law(bit, history[:i], query).get(response, 0))
    return found


def fixed(pair: Pair) -> Iterator[Seen]:
    """What every adversary sees that asks the same whatever was answered."""
    for queries in product(pair.queries, repeat=pair.rounds):
        found: list[History] = [()]
        for query in queries:
            found = [
                (*history, (query, response))
                for history in found
                for response in responses(pair, history, query)
            ]
        yield [(_probability(pair, 0, h), _probability(pair, 1, h)) for h in found]


def side_by_side(first: Iterator[Seen], second: Iterator[Seen]) -> Iterator[Seen]:
    """What is seen of two parts whose adversaries know nothing of each other."""
    seconds = list(second)
    for one in first:
        for other in seconds:
            yield [(p * x, q * y) for p, q in one for x, y in other]


def interleavings(
    parts: list[Pair], histories: tuple[History, ...], *, sequential: bool = False
) -> Iterator[Seen]:
    """What every adversary sees that names a part and a query each round, until all have ended;
    with ``sequential`` it stays with a part that was begun."""
    open_parts = [i for i, part in enumerate(parts) if len(histories[i]) < part.rounds]
    if sequential and any(histories[i] for i in open_parts):
        open_parts = [i for i in open_parts if histories[i]]
    if not open_parts:
        p = q = Fraction(1)
        for part, history in zip(parts, histories, strict=True):
            p *= _probability(part, 0, history)
            q *= _probability(part, 1, history)
        yield [(p, q)]
    for i in open_parts:
        for query in parts[i].queries:
            after = []
            for response in responses(parts[i], histories[i], query):
                longer = list(histories)
                longer[i] = (*histories[i], (query, response))
                rest = interleavings(parts, tuple(longer), sequential=sequential)
                after.append(list(rest))
            for combined in product(*after):
                yield list(chain.from_iterable(combined))


def best(found: Iterator[Seen], gain: Callable[[Fraction, Fraction], Fraction]) -> Fraction:
    """The greatest sum of ``gain(p, q)``, in either order."""
    total = Fraction(0)
    for seen in found:
        for sign in (1, -1):
            total = max(total, sum((gain(*pair[::sign]) for pair in seen), Fraction(0)))
    return total


def best_event(found: Iterator[Seen], factor: Fraction) -> Fraction:
    """The greatest P(S) - factor Q(S) over all events S, each of them tried, either order."""
    total = Fraction(0)
    for seen in found:
        for size in range(len(seen) + 1):
            for event in combinations(seen, size):
                p = sum((one for one, _ in event), Fraction(0))
                q = sum((other for _, other in event), Fraction(0))
                total = max(total, p - factor * q, q - factor * p)
    return total


def moment(alpha: int) -> Callable[[Fraction, Fraction], Fraction]:
    """P^alpha Q^(1-alpha), where that is finite."""
    return lambda p, q: p**alpha / q ** (alpha - 1) if p else Fraction(0)


def stick(factor: Fraction) -> Callable[[Fraction, Fraction], Fraction]:
    """max(P - factor Q, 0)."""
    return lambda p, q: max(p - factor * q, Fraction(0))
