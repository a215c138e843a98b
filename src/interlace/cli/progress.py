"""How far a long command is, on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn


@contextmanager
def shown_progress() -> Iterator[Callable[[str, int, int], None]]:
    """A line of progress on a terminal, gone at the end."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as p:
        task = p.add_task("")

        def told(what: str, done: int, of: int) -> None:
            p.update(task, description=what, completed=done, total=of)

        yield told
