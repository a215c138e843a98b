"""What sampling finds of a sparse vector's loss, beside the exact worst case.

The sampler works as black-box testers do: a few fixed patterns of questions, many runs on each of
two neighbours, an event chosen from one half of the runs and judged by the other half. What it
states is a lower bound that is wrong with a probability of 1 in 1,000; the tester StatDP itself
could not be installed here.

Run by `make bench`. Compare only figures of one run.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.progress import track
from rich.table import Table

import interlace as il
from interlace.centre.noise import POOL
from interlace.core.mechanisms.play import openings, play, start
from interlace.core.mechanisms.protocol import Answer, Compare, Mechanism, Public, Secret
from interlace.core.queries import Comparison, Query, Sensitivity
from interlace.verify.questions import Plan

ROUNDS = (2, 4)
RUNS = 5_000
MISTAKE = 1e-3
#: Values on the two neighbours, next to a threshold of 0, as StatDP tries them.
PATTERNS: dict[str, Callable[[int], list[tuple[int, int]]]] = {
    "all up": lambda rounds: [(0, 1)] * rounds,
    "all down": lambda rounds: [(1, 0)] * rounds,
    "one up, the others down": lambda rounds: [(0, 1)] + [(1, 0)] * (rounds - 1),
    "one down, the others up": lambda rounds: [(1, 0)] + [(0, 1)] * (rounds - 1),
    "half and half": lambda rounds: [(0, 1)] * (rounds // 2) + [(1, 0)] * (rounds - rounds // 2),
    "the last one up": lambda rounds: [(1, 0)] * (rounds - 1) + [(0, 1)],
}
Transcript = tuple[object, ...]


def sampled(mechanism: il.mechanisms.SparseVector, values: Sequence[int]) -> Transcript:
    """One run of the production mechanism with fresh noise."""
    secrets, state, seen = openings(mechanism, POOL.draw), start(mechanism), []
    for value in values:
        if not mechanism.left(state.public):
            break

        def respond(
            leaf: Mechanism, secret: Secret, public: Public, query: Query, value: int = value
        ) -> Answer:
            move = leaf.move(public, query)
            assert isinstance(move.kernel, Compare)
            assert move.comparison is not None
            [noise] = POOL.draw(move.kernel.law)
            passed = move.comparison(value) + noise >= secret[0]
            return leaf.answer(secret, public, query, (int(passed),))

        query = Query(Plan(Sensitivity.scalar(1), monotone=False), Comparison.at_least(0))
        answer, state = play(mechanism, secrets, state, query, respond)
        seen.append(answer.value)
    return tuple(seen)


def found(mechanism: il.mechanisms.SparseVector, rounds: int) -> float:
    """The largest lower bound on epsilon of all patterns, both orders of the neighbours."""
    best = 0.0
    share = math.sqrt(math.log(4 * len(PATTERNS) / MISTAKE) / (2 * RUNS))  # Hoeffding
    for pattern in track(list(PATTERNS.values()), f"sampling {rounds} rounds", transient=True):
        pairs = pattern(rounds)
        counts = []
        for bit in (0, 1):
            values = [pair[bit] for pair in pairs]
            counts.append([Counter(sampled(mechanism, values) for _ in range(RUNS)) for _ in "ab"])
        for (chosen, judged), (other, others) in (counts, counts[::-1]):
            ratios = {t: chosen[t] / (other[t] + RUNS * share) for t in chosen}
            event = max(ratios, key=lambda t: ratios[t])
            p, q = judged[event] / RUNS - share, others[event] / RUNS + share
            best = max(best, math.log(p / q) if p > q else 0.0)
    return best


def main() -> None:
    """Measure and print."""
    mechanism = il.mechanisms.SparseVector(epsilon=1, cutoff=1)
    runs = f"{4 * RUNS * len(PATTERNS):,} sampled runs"
    table = Table("rounds", "exact epsilon", "seconds", f"{runs}: epsilon at least", "seconds")
    for rounds in ROUNDS:
        begin = time.perf_counter()
        low, high = il.verify(mechanism, rounds=rounds).points[-1].worst
        exact = time.perf_counter()
        bound = found(mechanism, rounds)
        seconds = time.perf_counter() - exact
        shown = f"{high:.9f}" if high - low < 1e-9 else f"{low} to {high}"
        table.add_row(str(rounds), shown, f"{exact - begin:.2f}", f"{bound:.4f}", f"{seconds:.1f}")
    Console().print(f"{mechanism!r} claims epsilon = 1", table)


if __name__ == "__main__":
    main()
