"""A child after a fork, for the tests of what it may and may not inherit."""

from __future__ import annotations

import os
from collections.abc import Callable


def in_a_child(work: Callable[[], bool]) -> bool:
    """Whether the work, in a child after a fork, says so."""
    child = os.fork()
    if child == 0:  # pragma: no cover  runs in the child
        status = 1
        try:
            status = int(not work())
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
