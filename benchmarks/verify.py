"""The exact verifier beside a plain recursion: merged histories, large trees, interleavings.

Run by `make bench`. Every figure is of this run; a plain recursion is measured on fewer rounds
and its time for all of them is worked out from the number of histories.
"""

from __future__ import annotations

import math
import multiprocessing
import resource
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from rich.console import Console
from rich.table import Table

from interlace.core.finite import FinitePair, fold, interleave

HALF = Fraction(1, 2)
QUERIES = ((0, 0), (0, 1), (1, 0), (1, 1))
E = Fraction(math.e)
CUTOFF, REACH = 2, 30
STATES, ASKED, ANSWERS, ROUNDS = 4, 2, 5, 8

Machine = tuple[Callable[..., Any], Callable[..., Any]]


def passes(threshold: int, value: int) -> Fraction:
    """P(value + noise >= threshold), geometric noise of ratio 1/2."""
    gap = threshold - value
    return HALF**gap / (1 + HALF) if gap > 0 else 1 - HALF ** (1 - gap) / (1 + HALF)


def sparse_vector(rounds: int, *, exact: bool) -> FinitePair:
    """Sparse vector of two passes over values 0 and 1: tails folded, or 61 thresholds in floats."""
    lead = (1 - HALF) / (1 + HALF)
    if exact:
        weights = {0: lead, 1: lead * HALF}
        for i, weight in enumerate(fold(HALF, HALF, rounds), 1):
            weights[1 + i], weights[-i] = lead * HALF * weight, lead * weight
    else:
        weights = {z: lead * HALF ** abs(z) for z in range(1 - REACH, REACH)}
        weights[REACH] = weights[-REACH] = HALF**REACH / (1 + HALF)
    number: type[Fraction | float] = Fraction if exact else float
    opening = {z: number(weight) for z, weight in weights.items()}

    def answer(bit: int, secret: int, passed: int, query: tuple[int, int]) -> dict[str, Any]:
        if passed == CUTOFF:
            return {"halted": number(1)}
        p = number(passes(secret, query[bit]))
        return {"pass": p, "fail": 1 - p}

    return FinitePair.one_secret(
        lambda _: opening,
        answer,
        queries=QUERIES,
        rounds=rounds,
        start=0,
        after=lambda passed, _query, response: passed + (response == "pass"),
    )


def machine() -> Machine:
    """Four hidden states, two queries, five responses, all probabilities different."""
    laws = {}
    for bit, hidden, query in product((0, 1), range(STATES), range(ASKED)):
        # Multiples of an irrational number, apart by up to a third between the bits.
        place = 20 * (ASKED * hidden + query)
        law = [1 + _spread(place + i) + bit * _spread(7 * (place + i)) / 3 for i in range(20)]
        laws[bit, hidden, query] = {
            (i % ANSWERS, i // ANSWERS): weight / sum(law) for i, weight in enumerate(law)
        }
    return (
        lambda _bit: dict.fromkeys(range(STATES), 1 / STATES),
        lambda bit, hidden, query: laws[bit, hidden, query],
    )


def _spread(i: int) -> float:
    return math.modf(i * math.sqrt(2))[0]


def plain(machine: Machine, rounds: int) -> float:
    """The recursion as one writes it down, over vectors of hidden states."""
    initial, transition = machine
    kernels = [
        [
            [
                [[transition(bit, i, x)[y, j] for i in range(STATES)] for j in range(STATES)]
                for y in range(ANSWERS)
            ]
            for x in range(ASKED)
        ]
        for bit in (0, 1)
    ]

    def at(p: list[float], q: list[float], left: int) -> float:
        if not left:
            return max(sum(p) - math.e * sum(q), 0.0)
        best = 0.0
        for first, second in zip(*kernels, strict=True):
            total = 0.0
            for one, other in zip(first, second, strict=True):
                total += at(
                    [sum(a * b for a, b in zip(row, p, strict=True)) for row in one],
                    [sum(a * b for a, b in zip(row, q, strict=True)) for row in other],
                    left - 1,
                )
            best = max(best, total)
        return best

    return at(list(initial(0).values()), list(initial(1).values()), rounds)


def timed(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def large_tree(found: multiprocessing.Queue[tuple[float, float, int]]) -> None:
    """In a process of its own, so that its memory can be told."""
    initial, transition = machine()
    pair = FinitePair.hidden(initial, transition, queries=range(ASKED), rounds=ROUNDS)
    start = time.perf_counter()
    delta = pair.delta(epsilon=HALF)
    seconds = time.perf_counter() - start
    found.put((seconds, float(delta), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024))


def merged(table: Table) -> None:
    """Sparse vectors of which most histories merge."""
    small = 4
    stepped = FinitePair(sparse_vector(small, exact=False).law, queries=QUERIES, rounds=small)
    each = timed(lambda: stepped.delta(exp_epsilon=E)) / 8**small
    for rounds, exact in ((10, False), (30, False), (10, True), (30, True)):
        pair = sparse_vector(rounds, exact=exact)
        first = timed(partial(pair.delta, exp_epsilon=E))
        again = timed(partial(pair.delta, exp_epsilon=2))
        table.add_row(
            f"sparse vector, T={rounds}, {'exact' if exact else '61 thresholds'}",
            f"{len(pair.graph()):,} nodes of {8.0**rounds:.1e}",
            f"{first:.3f}",
            f"{again:.3f} for another epsilon",
            f"{each * 8.0**rounds:.1e}",
        )
    pair = sparse_vector(10, exact=True)
    pair.graph()
    table.add_row("its whole profile", "", f"{timed(pair.profile):.3f}", "", "")
    table.add_row(
        "its epsilon at delta 0.01",
        "",
        f"{timed(lambda: sparse_vector(10, exact=True).epsilon(0.01)):.3f}",
        "with the graph",
        "",
    )


def concurrent(table: Table) -> None:
    """Two at once."""
    for rounds in (2, 3):
        both = interleave(*[sparse_vector(rounds, exact=True)] * 2)
        seconds = timed(partial(both.delta, exp_epsilon=2))
        table.add_row(
            f"two of them at once, T={rounds}", f"{len(both.graph()):,} tuples", f"{seconds:.3f}"
        )


def large(table: Table) -> None:
    """A tree in which nothing merges."""
    context = multiprocessing.get_context("spawn")
    found: multiprocessing.Queue[tuple[float, float, int]] = context.Queue()
    process = context.Process(target=large_tree, args=(found,))
    process.start()
    seconds, _, memory = found.get()
    process.join()
    small = 4
    each = timed(lambda: plain(machine(), small)) / (ASKED * ANSWERS) ** small
    size = (ASKED * ANSWERS) ** ROUNDS
    table.add_row(
        "a tree without equal histories",
        f"{size:.1e} leaves",
        f"{seconds:.3f}",
        f"{memory} MB in all",
        f"{each * size:.1e}",
    )


def main() -> None:
    """Measure and print."""
    table = Table("delta of", "size", "seconds", "", "plain recursion, seconds")
    # The large tree first: what a process holds at its start counts with its memory.
    for part in (large, merged, concurrent):
        part(table)
    Console().print(table)


if __name__ == "__main__":
    main()
