"""Does a centre slow down with its history? One admission and one answer after 10, 1,000 and
100,000 sessions in one account, beside the admissions of OpenDP's privacy filter.

Run by `make bench`. Prints medians of one process; compare only figures of one run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import opendp.prelude as dp
from rich.console import Console
from rich.progress import track
from rich.table import Table

from benchmarks._measure import COUNT, LEAST, median_ms, small_centre
from interlace import Account, Answer, Session

SIZES = (10, 1_000, 100_000)
#: OpenDP's filter adds up all children at each: 100,000 would take hours.
PEER_SIZES = (10, 1_000, 5_000)
ROUNDS = 100


def main() -> None:
    """Measure and print."""
    table = Table("sessions before", "open ms", "ask ms", "read what was spent, ms")
    with small_centre() as (_, account):
        opened = 0
        for size in SIZES:
            opened = fill(account, opened, size)
            admit = median_ms(lambda _: account.open(LEAST, "people"), ROUNDS)
            session = account.open(LEAST, "people")
            ask = median_ms(partial(asked, session), ROUNDS)
            spent = median_ms(lambda _: account.spent, ROUNDS)
            opened += ROUNDS + 11
            table.add_row(f"{size:,}", f"{admit:.2f}", f"{ask:.2f}", f"{spent:.2f}")
    peer = Table("children before", "OpenDP filter: one more, ms")
    for size, took in opendp_filter():
        peer.add_row(f"{size:,}", f"{took:.2f}")
    Console().print(table, peer)


def asked(session: Session, _: int) -> Answer:
    return session.ask(COUNT)


def fill(account: Account, opened: int, wanted: int) -> int:
    """Open sessions until there are as many, a thousand at a time; return how many there are."""
    plans = [min(1000, wanted - done) for done in range(opened, wanted, 1000)]
    for size in track(plans, f"opening {wanted:,} sessions", disable=len(plans) < 2):
        account.plan([LEAST] * size, "people")
    return max(opened, wanted)


def opendp_filter() -> Iterator[tuple[int, float]]:
    """Admissions of the peer's filter, in memory: nothing is made durable."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    odometer = dp.c.make_fully_adaptive_composition(*space, dp.max_divergence())
    filtered = dp.c.make_privacy_filter(odometer, d_in=1, d_out=1e9)
    queryable = filtered([1, 2, 3])
    count = space >> dp.t.then_count() >> dp.m.then_laplace(scale=1000.0)
    done = 0
    for size in PEER_SIZES:
        while done < size:
            queryable(count)
            done += 1
        start = time.perf_counter()
        for _ in range(10):
            queryable(count)
        done += 10
        yield size, (time.perf_counter() - start) / 10 * 1e3


if __name__ == "__main__":
    main()
