"""Histories as nodes: the tree of a pair, and the graph of its distinct nodes.

A node stands for all histories after which both systems go on in the same way and the
probabilities M^0(h), M^1(h) (FORMULAS 1.2) are the same. Everything that is maximised over
adversaries depends on the node alone.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn, Protocol

from interlace.core.errors import ParameterError
from interlace.core.finite.laws import Query, Response

Node = Any
"""What a source makes of a history; hashable where it merges."""


Move = tuple[Query, tuple[Response, ...], tuple[Node, ...]]
"""One question at a node: the query, what may be answered, the node after each answer."""


Labels = tuple[tuple[Query, tuple[Response, ...]], ...]
"""What may be asked at a node, and what may be answered."""
Options = tuple[Labels, Sequence[tuple[Node, ...]]]
"""The same, and the nodes after each answer to each query."""

END: Options = (), ()


class Source(Protocol):
    """Where nodes come from. Never a child of probability zero under both bits."""

    @property
    def merges(self) -> bool:
        """Whether different histories may give equal nodes."""

    @property
    def size(self) -> int:
        """About how many histories there are."""

    def root(self) -> Node: ...

    def options(self, node: Node) -> Options:
        """The questions that may matter; none at the end."""

    def masses(self, node: Node) -> tuple[Fraction, Fraction]:
        """M^0(h) and M^1(h)."""


class Graph(Protocol):
    """Nodes 0, 1, ... from the root; every child has a larger number than its parent."""

    @property
    def scales(self) -> tuple[int, int]:
        """What M^0(h) and M^1(h) are multiplied with to be integers."""

    def __len__(self) -> int: ...

    def options(self, node: int) -> Sequence[Sequence[int]]:
        """The children after each query; nothing at the end."""

    def moves(self, node: int) -> Sequence[Move]:
        """The same with names."""

    def masses(self, node: int) -> tuple[int, int]: ...

    def depth(self, node: int) -> int:
        """How many questions were asked."""


@dataclass(frozen=True)
class Expanded:
    """The graph of the distinct nodes of one source, all kept."""

    children: list[tuple[tuple[int, ...], ...]]
    names: list[Labels]
    depths: list[int]
    mass: list[tuple[int, int]]
    scales: tuple[int, int]

    def __len__(self) -> int:
        return len(self.children)

    def options(self, node: int) -> Sequence[Sequence[int]]:
        return self.children[node]

    def moves(self, node: int) -> Sequence[Move]:
        return [
            (query, responses, children)
            for (query, responses), children in zip(
                self.names[node], self.children[node], strict=True
            )
        ]

    def masses(self, node: int) -> tuple[int, int]:
        return self.mass[node]

    def depth(self, node: int) -> int:
        return self.depths[node]


def expand(source: Source, limit: int) -> Expanded | None:
    """The graph of a source's distinct nodes, or None where there are more than ``limit``."""
    if not source.merges and source.size > limit:
        return None
    options: list[tuple[tuple[int, ...], ...]] = []
    labels: list[Labels] = []
    depths: list[int] = []
    nodes: list[Node] = [source.root()]
    level, depth = range(1), 0
    while level:
        known: dict[Hashable, int] | None = {} if source.merges else None
        start = len(nodes)
        for i in level:
            names, found = source.options(nodes[i])
            options.append(tuple([_numbered(children, known, nodes) for children in found]))
            labels.append(names)
            if len(nodes) > limit:
                return None
        depths += [depth] * len(level)
        level, depth = range(start, len(nodes)), depth + 1
    masses, scales = _scaled([source.masses(node) for node in nodes])
    return Expanded(options, labels, depths, masses, scales)


def spreads(source: Source, nodes: int = 4000) -> bool:
    """Whether of that many histories hardly any two merge."""
    level, found, seen = [source.root()], 1, 1
    while level and found < nodes:
        children = [c for node in level for option in source.options(node)[1] for c in option]
        level = list(dict.fromkeys(children))
        found, seen = found + len(level), seen + len(children)
    return bool(level) and seen < 1.02 * found


def _numbered(
    children: tuple[Node, ...], known: dict[Hashable, int] | None, nodes: list[Node]
) -> tuple[int, ...]:
    if known is None:
        nodes += children
        return tuple(range(len(nodes) - len(children), len(nodes)))
    numbers = []
    for child in children:
        number = known.setdefault(child, len(nodes))
        if number == len(nodes):
            nodes.append(child)
        numbers.append(number)
    return tuple(numbers)


def rounded(graph: Expanded) -> Expanded:
    """The same graph with masses of few digits, each off by less than a part in 2**63."""
    digits = max(
        scale.bit_length() - min(pair[bit] for pair in graph.mass if pair[bit]).bit_length()
        for bit, scale in enumerate(graph.scales)
    )
    shift = digits + 65
    first, second = graph.scales
    masses = [((p << shift) // first, (q << shift) // second) for p, q in graph.mass]
    return replace(graph, mass=masses, scales=(1 << shift, 1 << shift))


def _scaled(
    masses: list[tuple[Fraction, Fraction]],
) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    columns, scales = [], []
    for column in zip(*masses, strict=True):
        # Sources hand out the same object for the same history of one system.
        distinct = {id(p): p for p in column}
        scale = math.lcm(*{p.denominator for p in distinct.values()})
        whole = {i: p.numerator * (scale // p.denominator) for i, p in distinct.items()}
        columns.append([whole[id(p)] for p in column])
        scales.append(scale)
    return list(zip(*columns, strict=True)), (scales[0], scales[1])


def refuse_size(histories: int, limit: int) -> NoReturn:
    """Raise the error for what is too large."""
    raise ParameterError(
        "limit",
        f"about {_about(histories)} histories, and more than {limit:,} of them would be kept or "
        "visited: ask for fewer rounds or queries, describe the system as a hidden-state machine "
        "so that equal histories merge, or give a larger limit",
    )


def _about(number: int) -> str:
    return f"{number:.2g}" if number < 10**300 else "more than 1e300"
