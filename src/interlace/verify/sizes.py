"""How much there is to look at, said before the work is done.

Level by level: what the next answers will lead to is estimated from a sample of the histories
that are known, before all of them are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from statistics import median
from typing import NoReturn

from interlace.core.errors import ParameterError
from interlace.core.finite.graph import Node, Source

#: Answers that histories lead to, all rounds together, and histories that are kept: some minutes.
MOST_EDGES, MOST_NODES = 5_000_000, 2_000_000
#: Probabilities in the tables of all questions in all public states: what fits into memory.
MOST_ENTRIES = 20_000_000
#: Histories after which the rest is estimated, and by how much the estimate must be too large.
_SAMPLE, _SURELY = 32, 2
#: Random paths that are looked at ahead, where the first round has so many answers.
_PATHS, _WIDE = 5, 50


def bound(source: Source, rounds: int, limit: int, told: Callable[[str, int, int], None]) -> None:
    """Walk the histories of a source, a level at a time.

    Raises ParameterError with an estimate where they lead to more than MOST_EDGES answers, or
    are more than ``limit``; before the rest of a level is looked at, where that is clear."""
    ahead = _ahead(source, rounds)
    if ahead > _SURELY * MOST_EDGES:
        refuse(f"about {ahead:.2g} histories", rounds, MOST_EDGES)
    level, nodes, edges = [source.root()], 1, 0
    for depth in range(1, rounds + 1):
        below: dict[Node, None] = {}
        new = 0
        for i, node in enumerate(_spread(level), 1):
            for children in source.options(node)[1]:
                new += len(children)
                below.update(dict.fromkeys(children))
            total = edges + new * len(level) // i
            sampled = i % _SAMPLE == 0
            if edges + new > MOST_EDGES or (sampled and total > _SURELY * MOST_EDGES):
                refuse(f"about {total:.2g} histories", rounds, MOST_EDGES, depth)
            if nodes + len(below) > limit:
                refuse(f"about {total:.2g} histories", rounds, limit, depth)
            if sampled or i == len(level):
                told(f"histories of {depth} of {rounds} rounds", i, len(level))
        if not below:
            return
        level, nodes, edges = list(below), nodes + len(below), edges + new


def _ahead(source: Source, rounds: int) -> float:
    """About how many histories there are at the end, where one round has many answers: the
    product of what may follow along a random path, as if order never mattered."""
    draws, found = Random(0), []  # noqa: S311  an estimate, the same each time
    for _ in range(_PATHS):
        node, size, told = source.root(), 1.0, 0
        for _ in range(rounds):
            children = list(dict.fromkeys(c for after in source.options(node)[1] for c in after))
            if not children or (not told and len(children) < _WIDE):
                break
            told += len(children) > 1
            size = min(size * len(children) / max(told, 1), 1e300)
            node = draws.choice(children)
        found.append(size)
    return median(found)


def refuse(what: str, rounds: int, most: int, depth: int | None = None) -> NoReturn:
    """Raise the error for what is too large, where known in the first ``depth`` rounds."""
    part = f"{rounds} rounds" if depth is None else f"{depth} of {rounds} rounds"
    raise ParameterError(
        "rounds",
        f"{part} have {what}, and more than {most:,} would be looked at: ask fewer rounds "
        "(rounds=), fewer values (values=), or verify the mechanism with less noise (a smaller "
        "scale, a larger epsilon)",
    )


def _spread(level: Sequence[Node]) -> Iterator[Node]:
    """All of them, the first ones from everywhere: neighbours are alike."""
    stride = max(1, len(level) // _SAMPLE)
    for first in range(stride):
        yield from level[first::stride]
