"""Exact numbers that an account's questions have read already, in this process's memory only.

By part: a count that one question read need not be read for the next one. Not for all accounts
together: how long a question takes would tell what others have asked. A snapshot does not change.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace

from interlace.query.parts import Part
from interlace.query.plan import Plan

#: So many numbers are remembered.
MOST = 200_000

Place = tuple[str, str, int]
"""An account, and the dataset and version that it asks."""
Cells = tuple[int, ...]


class ReadCache:
    """Forgets the least recently used parts first. Safe to share between threads."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[Place, str], Cells] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def read(self, place: Place, plan: Plan, read: Callable[[Plan], Cells]) -> Cells:
        """A plan's numbers, of which those that are not known are read at once."""
        found = {part: self._recall(place, plan, part) for part in plan.parts}
        missing = tuple(part for part, cells in found.items() if cells is None)
        if missing:
            new = _split(read(replace(plan, parts=missing)), missing)
            for part, cells in zip(missing, new, strict=True):
                found[part] = cells
                self._keep(place, plan, part, cells)
        return tuple(cell for part in plan.parts for cell in found[part] or ())

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._known.clear()
            self._size = 0

    def _recall(self, place: Place, plan: Plan, part: Part) -> Cells | None:
        key = place, plan.text_of(part)
        with self._lock:
            cells = self._known.get(key)
            if cells is not None:
                self._known.move_to_end(key)
            return cells

    def _keep(self, place: Place, plan: Plan, part: Part, cells: Cells) -> None:
        key = place, plan.text_of(part)
        with self._lock:
            if key not in self._known:
                self._known[key] = cells
                self._size += len(cells)
            while self._size > MOST:
                _, oldest = self._known.popitem(last=False)
                self._size -= len(oldest)


def _split(cells: Sequence[int], parts: Sequence[Part]) -> list[Cells]:
    """The cells of each part."""
    found, start = [], 0
    for part in parts:
        found.append(tuple(cells[start : start + part.size]))
        start += part.size
    return found
