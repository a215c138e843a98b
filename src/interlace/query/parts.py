"""A query's noisy parts: what one unit adds to each, from metadata alone. Sees no data.

One unit has at most R rows and counts for at most g groups. Let c be the most that it adds to one
cell and T the most that it adds to all cells together. Then it moves the cells by at most
L0 = g, Linf = c, L1 = min(g c, T), and L2^2 is largest where as many cells as can be have c.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from interlace.core.queries import Sensitivity
from interlace.query.joins import Joined
from interlace.query.keys import Key, KeyLimit, key_limits, most_groups
from interlace.query.terms import Term

Kind = Literal["rows", "units", "sum"]


@dataclass(frozen=True)
class Part:
    """One number for each group: what each unit adds to it, clamped, then added up.

    ``kind`` says what a unit adds: its matching rows, 1 if it has any ("units"), or the sum of
    ``term`` over them. A unit without a matching row adds 0, whatever the bounds
    (FORMULAS 11). ``clamp`` is what the query itself asks for; ``bounds`` are what holds.
    """

    kind: Kind
    term: Term | None
    keys: tuple[Key, ...]
    clamp: tuple[int, int] | None
    limits: tuple[KeyLimit, ...] = field(compare=False)
    bounds: tuple[int, int] = field(compare=False)
    sensitivity: Sensitivity = field(compare=False)

    @property
    def size(self) -> int:
        """The number of cells: 1 without keys, else one for each combination of their codes."""
        return math.prod(len(key.codes) for key in self.keys)

    @property
    def digits(self) -> int:
        """The cells are in units of 10^-digits."""
        return 0 if self.term is None else self.term.kind.digits

    @property
    def per_unit(self) -> bool:
        """Whether rows must be brought together by unit before they are added up."""
        return self.clamp is not None or self.kind == "units" or not self.keys


def part(
    kind: Kind,
    joined: Joined,
    *,
    term: Term | None = None,
    keys: tuple[Key, ...] = (),
    clamp: tuple[int, int] | None = None,
) -> Part:
    """The part with its bounds. A ``clamp`` contains 0.

    >>> from interlace.query.schema import Table
    >>> part("rows", Joined((Table("labs", {}, rows_per_unit=60),))).sensitivity
    Sensitivity(l0=1, l1=60, l2_squared=3600, linf=60)
    """
    rows = joined.rows
    least, most = (1, 1) if term is None else term.kind.codes
    lower, upper = rows * min(least, 0), rows * max(most, 0)
    total = max(-lower, upper)
    limits = key_limits([key.term for key in keys], joined)
    groups = most_groups(keys, joined, limits)
    if kind == "units":
        lower, upper, total = 0, 1, groups
    if clamp is not None:
        lower, upper = max(lower, clamp[0]), min(upper, clamp[1])
    cell = max(-lower, upper)
    moved = _moved(groups, cell, min(total, groups * cell))
    return Part(kind, term, keys, clamp, limits, (lower, upper), moved)


def _moved(groups: int, cell: int, total: int) -> Sensitivity:
    """Of at most ``groups`` cells that move by at most ``cell`` each and ``total`` together. At
    least 1, so that noise always has a scale."""
    if min(groups, cell, total) < 1:
        return Sensitivity.scalar(1)
    full, rest = divmod(total, cell)
    return Sensitivity(groups, total, full * cell**2 + rest**2, cell)
