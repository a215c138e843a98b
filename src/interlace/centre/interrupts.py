"""Ctrl-C waits for what is short and must be one step.

A KeyboardInterrupt may come between any two instructions, also between taking a lock and noting
that it must be given back: then every other process would wait for this one.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Run a block before Ctrl-C takes effect, unless it is pressed again meanwhile.

    Python runs signal handlers in the main thread only; in others nothing is to be done.

    >>> try:
    ...     with uninterrupted():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("the block ends")
    ... except KeyboardInterrupt:
    ...     print("and then")
    the block ends
    and then
    """
    usual = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    pressed: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        if len(pressed) > 1:
            usual(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if len(pressed) == 1:
            usual(pressed[0], None)
