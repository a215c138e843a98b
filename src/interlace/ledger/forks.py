"""What a child after a fork must forget: the locks, holds and waits of threads that it has not."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Forgets(Protocol):
    """Holds something that belongs to the threads of one process."""

    def forget(self) -> None:
        """Start afresh."""


_all: weakref.WeakSet[Forgets] = weakref.WeakSet()


def forget_at_fork(one: Forgets) -> None:
    """Have it forget in every child that is forked while it lives."""
    _all.add(one)


def _forget_all() -> None:
    for one in list(_all):
        one.forget()


os.register_at_fork(after_in_child=_forget_all)
