"""The query language on DuckDB against a slow evaluator, on random data and random queries: the
answers, and how far they move when one unit leaves with all its rows.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlace.core.queries import Sensitivity
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.query.parse import parse
from interlace.query.plan import Plan
from interlace.query.schema import Dataset
from tests.differential import grammar, strategies
from tests.differential.evaluator import Data, Stored, table
from tests.differential.printer import printed
from tests.differential.stated import moved, noisy_columns, stated
from tests.differential.support import check_table, data_of, keyed, snapshot_of
from tests.differential.syntax import Query
from tests.effort import examples

Limits = tuple[int, int, int, int]


@dataclass(frozen=True)
class Registered:
    """A world as it is registered."""

    dataset: Dataset
    data: Data
    engine: DuckDBEngine

    def rows(self, plan: Plan) -> Sequence[Any]:
        """The table without noise."""
        values = self.engine.read(plan)
        assert len(values) == plan.size == sum(part.size for part in plan.parts)
        return plan.shape.table(values, [(value, value) for value in values]).rows


@contextlib.contextmanager
def registered(world: strategies.World) -> Iterator[Registered]:
    with tempfile.TemporaryDirectory() as folder:
        snapshot = snapshot_of(world.dataset, world.rows, world.public, Path(folder))
        engine = DuckDBEngine(snapshot, threads=1)
        try:
            yield Registered(world.dataset, data_of(snapshot, world.rows, world.public), engine)
        finally:
            engine.close()


def limits(sensitivity: Sensitivity) -> Limits:
    return sensitivity.l0, sensitivity.l1, sensitivity.l2_squared, sensitivity.linf


def check_moves(plan: Plan, before: Sequence[int], after: Sequence[int]) -> None:
    """Fails if the cells of a part, or all of them, move by more than is stated of them."""
    start = 0
    for part in plan.parts:
        end = start + part.size
        gaps = moved(before[start:end], after[start:end])
        assert all(a <= b for a, b in zip(gaps, limits(part.sensitivity), strict=True)), gaps
        start = end
    gaps = moved(before, after)
    assert all(a <= b for a, b in zip(gaps, limits(plan.sensitivity), strict=True)), gaps
    if plan.monotone:
        assert all(left >= right for left, right in zip(before, after, strict=True))


def check_query(query: Query, sql: str, full: Registered, less: Registered) -> None:
    dataset = full.dataset
    plan = parse(sql, dataset)
    check_table(full.rows(plan), table(query, dataset, full.data))
    check_table(less.rows(plan), table(query, dataset, less.data))
    numbers = full.engine.read(plan)
    check_moves(plan, numbers, less.engine.read(plan))
    again = parse(plan.text, dataset)
    assert (again.text, again.parts, again.where) == (plan.text, plan.parts, plan.where)
    assert full.engine.read(again) == numbers
    expected = sorted(
        stated(column, query, dataset) for column in noisy_columns(query) if column.clamp is None
    )
    found = sorted(limits(part.sensitivity) for part in plan.parts if part.clamp is None)
    assert found == [tuple(max(end, 1) for end in bounds) for bounds in expected]


def others(data: Data, leaver: int) -> dict[str, list[Stored]]:
    """The rows of everybody else, in some order that is the same for the same rows."""
    return {
        name: sorted((row for row in rows if row.unit != keyed(leaver)), key=repr)
        for name, rows in data.tables.items()
    }


@settings(max_examples=examples(40), suppress_health_check=list(HealthCheck))
@given(drawn=st.data(), world=strategies.worlds())
def test_answers_are_exact_and_move_by_no_more_than_is_stated(
    drawn: st.DataObject, world: strategies.World
) -> None:
    with registered(world) as full, registered(world.without_leaver()) as less:
        # Nobody's rank depends on whether somebody else is there.
        assert others(full.data, world.leaver) == others(less.data, world.leaver)
        for _ in range(8):
            query = drawn.draw(grammar.queries(world.dataset))
            random = drawn.draw(st.randoms(use_true_random=False))
            sql = printed(query, world.dataset, random)
            check_query(query, sql, full, less)
