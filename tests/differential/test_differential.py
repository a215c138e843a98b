"""The query language on DuckDB against a slow evaluator, on random data and random queries: the
answers, and how far they move when one unit leaves with all its rows.
"""

from __future__ import annotations

import contextlib
import itertools
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.query.parse import parse
from interlace.query.plan import Plan
from interlace.query.predicates import Always
from interlace.query.schema import Dataset
from tests.differential import grammar, strategies
from tests.differential.evaluator import Data, Stored, listed, resolved, table
from tests.differential.printer import printed
from tests.differential.stated import moved, noisy_columns, stated
from tests.differential.support import check_table, data_of, exact, keyed, limits, snapshot_of
from tests.differential.syntax import Query, Value, within
from tests.effort import examples


@dataclass(frozen=True)
class Registered:
    """A world as it is registered."""

    dataset: Dataset
    data: Data
    engine: DuckDBEngine

    def numbers(self, plan: Plan) -> Sequence[int]:
        """The exact numbers, from which the mechanisms start."""
        found = self.engine.read(plan)
        assert len(found) == plan.size == sum(part.size for part in plan.parts)
        return found


@contextlib.contextmanager
def registered(world: strategies.World) -> Iterator[Registered]:
    with tempfile.TemporaryDirectory() as folder:
        snapshot = snapshot_of(world.dataset, world.rows, world.public, Path(folder))
        engine = DuckDBEngine(snapshot, threads=1)
        try:
            yield Registered(world.dataset, data_of(snapshot, world.rows, world.public), engine)
        finally:
            engine.close()


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
    asked = resolved(query, dataset)
    shown = check_keys(asked, plan)
    numbers, others = full.numbers(plan), less.numbers(plan)
    for found, world in ((numbers, full), (others, less)):
        rows = plan.shape.table(found, [(value, value) for value in found]).rows
        check_table(rows, table(asked, dataset, world.data, shown))
    check_moves(plan, numbers, others)
    again = parse(plan.text, dataset)
    assert (again.text, again.parts, again.where) == (plan.text, plan.parts, plan.where)
    assert full.numbers(again) == numbers
    columns = [column for column in noisy_columns(asked, dataset) if column.clamp is None]
    bounds = {stated(column, asked, dataset, len(shown)) for column in columns}
    assert bounds == {limits(part.sensitivity) for part in plan.parts if part.clamp is None}


def check_keys(query: Query, plan: Plan) -> list[tuple[Value, ...]]:
    """The keys that the plan lists: those of the specification, and only where WHERE says of a
    key more than that alone perhaps fewer, or where it holds nowhere all."""
    every = listed(replace(query, where=None), plan.dataset)
    wanted = listed(query, plan.dataset)
    found = list(itertools.product(*(map(exact, key.values) for key in plan.shape.keys)))
    if plan.where == Always(False):
        assert found == every
    elif found != wanted:
        assert any(within(key, query.where) for key in query.keys)
        assert found == [key for key in wanted if key in set(found)]
    return found


def everybody_else(data: Data, leaver: int) -> dict[str, list[Stored]]:
    """The rows of everybody else, in some order that is the same for the same rows."""
    return {
        name: sorted((row for row in rows if row.unit != keyed(leaver)), key=repr)
        for name, rows in data.tables.items()
    }


@settings(max_examples=examples(14), suppress_health_check=list(HealthCheck))
@given(drawn=st.data(), world=strategies.worlds())
def test_answers_are_exact_and_move_by_no_more_than_is_stated(
    drawn: st.DataObject, world: strategies.World
) -> None:
    with registered(world) as full, registered(world.without_leaver()) as less:
        # Nobody's rank depends on whether somebody else is there.
        assert everybody_else(full.data, world.leaver) == everybody_else(less.data, world.leaver)
        for _ in range(8):
            query = drawn.draw(grammar.queries(world.dataset))
            random = drawn.draw(st.randoms(use_true_random=False))
            sql = printed(query, world.dataset, random)
            check_query(query, sql, full, less)
