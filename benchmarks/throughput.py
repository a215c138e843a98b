"""Durable answers a second of one process with 64 threads, beside a bare group-commit writer.

Each thread has a session of its own and asks what the centre has read before, so that no
engine takes part. The bare writer takes rows of the same size from 64 threads, canonical
and chained by the same functions, and commits what is there in one transaction of SQLite.

Run by `make bench`. Compare only figures of one run.
"""

from __future__ import annotations

import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import interlace as il
from benchmarks._measure import COUNT, folder, small_centre
from interlace.ledger.canonical import canonical, link
from interlace.ledger.sqlite import schema

THREADS = 64
EACH = 200
RUNS = 3
#: As wide as the body of an answer.
BODY = {"question": {"sql": COUNT}, "answer": list(range(10)), "padding": "." * 420}


def main() -> None:
    """Measure and print."""
    table = Table("64 threads", *(f"run {i + 1}" for i in range(RUNS)))
    ours, bare = [], []
    for _ in range(RUNS):  # one after the other: the machine may change under them
        ours.append(centre_rate())
        bare.append(bare_rate())
    table.add_row("durable answers/s", *(f"{rate:,.0f}" for rate in ours))
    table.add_row("bare group-commit writer, rows/s", *(f"{rate:,.0f}" for rate in bare))
    table.add_row("ratio", *(f"{a / b:.0%}" for a, b in zip(ours, bare, strict=True)))
    Console().print(table)


def centre_rate() -> float:
    """Answers a second."""
    with small_centre() as (_, account):
        mechanism = il.mechanisms.Laplace(epsilon=0.001, answers=EACH + 1)
        sessions = account.plan([mechanism] * THREADS, "people")
        for session in sessions:
            session.ask(COUNT)
        return rate([partial(session.ask, COUNT) for session in sessions])


def rate(steps: Sequence[Callable[[], object]]) -> float:
    """Steps a second, each of them taken by a thread of its own over and over."""

    def work(step: Callable[[], object]) -> None:
        for _ in range(EACH):
            step()

    threads = [threading.Thread(target=work, args=(step,)) for step in steps]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(steps) * EACH / (time.perf_counter() - start)


def bare_rate() -> float:
    """Rows a second."""
    entries: queue.SimpleQueue[tuple[dict[str, Any], threading.Lock] | None] = queue.SimpleQueue()

    def step(session: str, rounds: list[int], done: threading.Lock) -> None:
        rounds[0] += 1
        row = {"kind": "answer", "dataset": "people", "account": "ada", "session": session}
        entries.put((row | {"round": rounds[0], "body": canonical(BODY)}, done))
        done.acquire()

    steps: list[Callable[[], object]] = []
    for number in range(THREADS):
        done = threading.Lock()
        done.acquire()
        steps.append(partial(step, str(number), [0], done))
    with folder() as base:
        schema.create(base / "bare.sqlite3")
        writer = threading.Thread(target=commit_all, args=(base / "bare.sqlite3", entries))
        writer.start()
        result = rate(steps)
        entries.put(None)
        writer.join()
    return result


def commit_all(path: Path, entries: queue.SimpleQueue[Any]) -> None:
    """The bare writer."""
    insert = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, NULL, ?, NULL, ?)"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as bare:
        bare.execute("PRAGMA synchronous = FULL")
        seq, head = 0, "0" * 64
        while (entry := entries.get()) is not None:
            batch = [entry]
            with contextlib.suppress(queue.Empty):
                while len(batch) < 256:
                    batch.append(entries.get_nowait())
            bare.execute("BEGIN IMMEDIATE")
            for row, _ in batch:
                seq, head = seq + 1, link(head, (seq, *row.values()))
                bare.execute(insert, (seq, *row.values(), head))
            bare.execute("COMMIT")
            for _, done in batch:
                done.release()


if __name__ == "__main__":
    main()
