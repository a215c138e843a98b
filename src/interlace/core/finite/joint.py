"""Several graphs side by side: nodes are tuples of nodes, numbered so that children come later.

The likelihood of an interleaved history is the product of those of its parts, however they were
interleaved: so tuples of histories are all that is ever looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from interlace.core.finite.graph import Graph, Move


class Joint:
    """The concurrent composition of graphs; a query is (part, query).

    With ``sequential`` a part that was begun must be ended before another one is begun: only
    tuples where at most one part is under way are reached.
    """

    def __init__(self, parts: Sequence[Graph], *, sequential: bool = False) -> None:
        self._parts, self._sequential = tuple(parts), sequential
        sizes = [len(part) for part in parts]
        self._strides = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
        self._size = math.prod(sizes)
        # By how much the number of a tuple grows with each answer.
        self._steps = [
            [
                [[(child - node) * stride for child in option] for option in part.options(node)]
                for node in range(len(part))
            ]
            for part, stride in zip(parts, self._strides, strict=True)
        ]
        self._masses = [[part.masses(node) for node in range(len(part))] for part in parts]

    @property
    def scales(self) -> tuple[int, int]:
        first, second = zip(*(part.scales for part in self._parts), strict=True)
        return math.prod(first), math.prod(second)

    def __len__(self) -> int:
        return self._size

    def options(self, node: int) -> Sequence[Sequence[int]]:
        return [
            [node + step for step in steps]
            for part, at in self._open(node)
            for steps in self._steps[part][at]
        ]

    def moves(self, node: int) -> Sequence[Move]:
        return [
            ((part, query), responses, tuple(node + step for step in steps))
            for part, at in self._open(node)
            for (query, responses, _), steps in zip(
                self._parts[part].moves(at), self._steps[part][at], strict=True
            )
        ]

    def masses(self, node: int) -> tuple[int, int]:
        p = q = 1
        for stride, masses in zip(self._strides, self._masses, strict=True):
            at, node = divmod(node, stride)
            p, q = p * masses[at][0], q * masses[at][1]
        return p, q

    def depth(self, node: int) -> int:
        return sum(self._parts[part].depth(at) for part, at in self._at(node))

    def _at(self, node: int) -> list[tuple[int, int]]:
        found = []
        for part, stride in enumerate(self._strides):
            at, node = divmod(node, stride)
            found.append((part, at))
        return found

    def _open(self, node: int) -> list[tuple[int, int]]:
        """The parts that may be asked, with their nodes."""
        at = self._at(node)
        if self._sequential:
            begun = [(part, n) for part, n in at if n and self._steps[part][n]]
            return begun[:1] or at
        return at
