"""The engine against a second, slow evaluator, on random tables; and sensitivities on neighbours."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlace.engines.base import Snapshot
from interlace.engines.duckdb.engine import DuckDBEngine
from interlace.engines.duckdb.register import register
from interlace.query.columns import Column
from interlace.query.parse import parse
from interlace.query.schema import Dataset, Table
from tests.effort import examples
from tests.engines import strategies
from tests.engines.datasets import KEY, TYPES
from tests.engines.reference import Question, Raw, answer


@dataclass(frozen=True)
class Case:
    dataset: Dataset
    columns: Mapping[str, Column]
    rows: Mapping[str, list[Raw]]
    questions: list[tuple[str, Question]]
    leaver: int

    def without_leaver(self) -> dict[str, list[Raw]]:
        return {
            name: [row for row in rows if row["id"] != self.leaver]
            for name, rows in self.rows.items()
        }


@st.composite
def cases(draw: st.DrawFn) -> Case:
    declared = draw(strategies.columns())
    tables, rows, questions = [], {}, []
    for name in ("visits", "people"):
        most = 1 if name == "people" else draw(st.integers(1, 4)) + 1
        tables.append(Table(name, declared, most))
        rows[name] = draw(strategies.rows(one_per_unit=most == 1))
        asked = draw(st.lists(strategies.questions(name, declared, most), min_size=6, max_size=6))
        questions += [(name, question) for question in asked]
    dataset = Dataset("clinic", "id", tuple(tables))
    return Case(dataset, declared, rows, questions, draw(strategies.UNITS))


def _registered(case: Case, rows: Mapping[str, list[Raw]], folder: str) -> Snapshot:
    sources = {name: pa.Table.from_pylist(part, schema=TYPES) for name, part in rows.items()}
    return register(sources, case.dataset, Path(folder), KEY).snapshot


def _stored(snapshot: Snapshot) -> dict[str, list[tuple[Any, ...]]]:
    with duckdb.connect(str(snapshot.path), read_only=True) as connection:
        return {
            name: connection.execute(f"SELECT * FROM {name} ORDER BY ALL").fetchall()
            for name in ("t0", "t1")
        }


def _hashed(unit: int) -> int:
    text = KEY.hex().encode() + b":" + str(unit).encode()
    return int.from_bytes(hashlib.sha256(text).digest()[:8], "big")


def _check(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:
        snapshot = _registered(case, case.rows, folder)
        neighbour = _registered(case, case.without_leaver(), folder)
        # Other units' rows are the same, whether or not the leaver is there.
        left = {
            name: [row for row in rows if row[0] != _hashed(case.leaver)]
            for name, rows in _stored(snapshot).items()
        }
        assert left == _stored(neighbour)
        engine, other = DuckDBEngine(snapshot), DuckDBEngine(neighbour)
        for table, question in case.questions:
            plan = parse(question.sql, case.dataset)
            bounds = plan.parts[0].bounds
            (value,) = engine.read(plan)
            assert value == answer(question, case.rows[table], case.columns), question.sql
            (less,) = other.read(plan)
            assert abs(value - less) <= plan.sensitivity.linf == plan.sensitivity.l1
            assert bounds[0] <= value - less <= bounds[1]
            assert less <= value or not plan.monotone
            again = parse(plan.text, case.dataset)
            assert (again.text, again.parts, again.where) == (plan.text, plan.parts, plan.where)
        engine.close()
        other.close()


@settings(max_examples=examples(6), suppress_health_check=list(HealthCheck))
@given(case=cases())
def test_answers_are_exact_and_move_by_at_most_the_sensitivity(case: Case) -> None:
    _check(case)
