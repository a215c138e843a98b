"""Ctrl-C waits for what is short and must be one step.

A KeyboardInterrupt may come between any two instructions, also between taking a lock and noting
that it must be given back: then every other process would wait for this one.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any


class _Later:
    """A handler that passes the signal on at the end of the block, or when it comes again."""

    def __init__(self, usual: Callable[[int, FrameType | None], Any]) -> None:
        self.usual = usual
        self.times = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        self.times += 1
        if self.times > 1:
            self.usual(number, frame)


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
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual):
        yield
        return
    later = _Later(usual)
    signal.signal(signal.SIGINT, later)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        if later.times == 1:
            usual(signal.SIGINT, None)


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Within an uninterrupted block, a part that may take long: Ctrl-C takes effect in it at
    once, and what was pressed before it as it begins."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    later = usual = signal.getsignal(signal.SIGINT)
    pressed = 0
    while isinstance(usual, _Later):
        pressed, usual.times, usual = pressed + usual.times, 0, usual.usual
    if later is usual:
        yield
        return
    signal.signal(signal.SIGINT, usual)
    try:
        if pressed and callable(usual):
            usual(signal.SIGINT, None)
        yield
    finally:
        signal.signal(signal.SIGINT, later)
