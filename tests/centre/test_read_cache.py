"""What one question of an account read is not read again for its next one."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from interlace.centre import read_cache
from interlace.centre.read_cache import ReadCache
from interlace.query.columns import Category, Integer
from interlace.query.parse import parse
from interlace.query.plan import Plan
from interlace.query.schema import Dataset, Table

CLINIC = Dataset(
    "clinic",
    "id",
    (Table("labs", {"lab": Category(["a", "b"]), "value": Integer(0, 9)}, rows_per_unit=3),),
)
ADA, BEN = ("ada", "clinic", 1), ("ben", "clinic", 1)


def reader(read: list[str]) -> Callable[[Plan], tuple[int, ...]]:
    """An engine that notes which parts it is asked for; a cell tells which it is."""

    def answer(plan: Plan) -> tuple[int, ...]:
        texts = [plan.text_of(part) for part in plan.parts]
        read.extend(texts)
        return tuple(
            hash((t, i)) for p, t in zip(plan.parts, texts, strict=True) for i in range(p.size)
        )

    return answer


def plan(sql: str) -> Plan:
    return parse(sql, CLINIC)


def test_parts_are_read_once_for_an_account_and_a_version() -> None:
    known, read = ReadCache(), list[str]()
    first = plan("SELECT AVG(value) FROM labs WHERE value > 3")
    second = plan("SELECT COUNT(*), STDDEV(value) AS s, AVG(value) FROM labs WHERE NOT value <= 3")
    known.read(ADA, first, reader(read))
    assert len(read) == 2
    found = known.read(ADA, second, reader(read))
    assert len(read) == 3  # the squares alone
    assert found == reader([])(second)  # in the plan's order, not in that of reading
    assert known.read(ADA, second, reader(read)) == found
    assert len(read) == 3
    known.read(BEN, first, reader(read))
    known.read(("ada", "clinic", 2), first, reader(read))
    assert len(read) == 7


@pytest.mark.parametrize(
    "other",
    [
        "SELECT COUNT(*) FROM labs WHERE value > 4 GROUP BY lab",
        "SELECT COUNT(*) FROM labs WHERE value > 3",
        "SELECT COUNT(DISTINCT id) FROM labs WHERE value > 3 GROUP BY lab",
        "SELECT CLAMP(COUNT(*), 0, 1) FROM labs WHERE value > 3 GROUP BY lab",
        "SELECT COUNT(*) FROM labs WHERE value > 3 GROUP BY lab, value",
    ],
)
def test_what_differs_is_read(other: str) -> None:
    known, read = ReadCache(), list[str]()
    known.read(ADA, plan("SELECT COUNT(*) FROM labs WHERE value > 3 GROUP BY lab"), reader(read))
    known.read(ADA, plan(other), reader(read))
    assert len(read) == 2


def test_a_failed_read_leaves_nothing() -> None:
    known, read = ReadCache(), list[str]()

    def fail(_: Plan) -> tuple[int, ...]:
        raise OSError

    with pytest.raises(OSError):  # noqa: PT011  ours
        known.read(ADA, plan("SELECT COUNT(*) FROM labs"), fail)
    known.read(ADA, plan("SELECT COUNT(*) FROM labs"), reader(read))
    known.clear()
    known.read(ADA, plan("SELECT COUNT(*) FROM labs"), reader(read))
    assert len(read) == 2


def test_only_so_many_numbers_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_cache, "MOST", 4)
    known, read = ReadCache(), list[str]()
    for bound in (1, 2, 3, 2, 1):  # two cells each: 1 went when 3 came
        sql = f"SELECT COUNT(*) FROM labs WHERE value > {bound} GROUP BY lab"
        known.read(ADA, plan(sql), reader(read))
    assert len(read) == 4
    assert known._size == 4


def test_threads_may_ask_at_once() -> None:
    known = ReadCache()
    plans = [
        plan(f"SELECT COUNT(*), SUM(value) FROM labs WHERE value > {i % 5}") for i in range(50)
    ]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda p: known.read(ADA, p, reader([])), plans * 4))
    assert found == [reader([])(p) for p in plans * 4]
    assert known._size == 10
