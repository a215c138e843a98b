"""What registration makes of each kind of source and value, and what it refuses to take."""

from __future__ import annotations

import datetime
import decimal
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlace.core.errors import DataError, ParameterError
from interlace.engines.base import Snapshot
from interlace.engines.duckdb.register import register
from interlace.query.columns import Boolean, Category, Column, Day, Decimal, Integer
from interlace.query.schema import Dataset, Table
from tests.effort import examples

KEY = bytes(range(32))
NAN, INF = float("nan"), float("inf")


def keyed(unit: str) -> int:
    """The stored id of a unit, computed apart: 64 bits of SHA-256(key : id)."""
    digest = hashlib.sha256(f"{KEY.hex()}:{unit}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


def one_table(source: Any, folder: Path, columns: Mapping[str, Column], rows: int = 99) -> Snapshot:
    dataset = Dataset("d", "id", (Table("t", dict(columns), rows),))
    return register({"t": source}, dataset, folder, KEY).snapshot


def stored(snapshot: Snapshot, table: str = "t0") -> list[tuple[Any, ...]]:
    """The rows without their ranks, in the order in which they lie."""
    with duckdb.connect(str(snapshot.path), read_only=True) as connection:
        columns = connection.execute(f"DESCRIBE {table}").fetchall()
        names = [row[0] for row in columns if row[0] != "rank" and not row[0].startswith("k")]
        return connection.execute(f"SELECT {', '.join(names)} FROM {table}").fetchall()


def codes(values: pa.Array, kind: Column, folder: Path) -> list[int]:
    """The codes of a column of values, in order; a dropped row leaves a gap."""
    source = pa.table({"id": pa.array(range(len(values))), "x": values})
    found: dict[int, int] = dict(stored(one_table(source, folder, {"x": kind})))
    return [found.get(keyed(str(i)), -999) for i in range(len(values))]


GONE = -999
NUMBERS = [
    # what the source holds, what Integer(-5, 500, missing=7) makes of it
    (pa.array([None, -6, 501, 3]), [7, -5, 500, 3]),
    (pa.array([2**63 - 1, -(2**63), 500, None]), [500, -5, 500, 7]),
    (pa.array([2**64 - 1, 0, None], pa.uint64()), [500, 0, 7]),
    (pa.array([NAN, INF, -INF, None, 2.5, 3.5, -2.5, 1e300, -1e300, -0.0]), [7, 500, -5, 7, 3, 4, -3, 500, -5, 0]),
    (pa.array([0.49999999999999994, 500.4, 500.6, -5.4], pa.float64()), [0, 500, 500, -5]),
    (pa.array([NAN, INF, 2.5, None], pa.float32()), [7, 500, 3, 7]),
    (pa.array([decimal.Decimal("2.50"), decimal.Decimal("-2.51"), None]), [3, -3, 7]),
    (pa.array([True, False, None]), [1, 0, 7]),
    (
        pa.array(["3", " 4 ", "2.5", "-2.5", "1e2", "1e999", "-inf", "nan", "NA", "", None, "1,5", "0x10", "1_0"]),
        [3, 4, 3, -3, 100, 500, -5, 7, 7, 7, 7, 7, 7, 7],
    ),
    (pa.array(["499.49999999999999999999999", "9007199254740993"]), [499, 500]),
    (pa.array([None, None], pa.null()), [7, 7]),
]  # fmt: skip


@pytest.mark.parametrize(("values", "expected"), NUMBERS)
def test_numbers_become_integers(values: pa.Array, expected: list[int], tmp_path: Path) -> None:
    assert codes(values, Integer(-5, 500, missing=7), tmp_path) == expected


def test_rows_are_dropped_where_the_rule_says_so(tmp_path: Path) -> None:
    values = pa.array([None, NAN, INF, -INF, 501.0, -6.0, 3.0])
    kept = [GONE, GONE, GONE, GONE, GONE, GONE, 3]
    assert codes(values, Integer(-5, 500, out_of_range="drop"), tmp_path) == kept
    clamped = [GONE, GONE, 500, -5, 500, -5, 3]
    assert codes(values, Integer(-5, 500), tmp_path) == clamped


def test_large_integers_keep_every_digit(tmp_path: Path) -> None:
    values = pa.array([2**62 - 1, 2**62 + 1, -(2**62) - 1])
    wide = Integer(-(2**62), 2**62)
    assert codes(values, wide, tmp_path) == [2**62 - 1, 2**62, -(2**62)]
    assert codes(pa.array([str(2**61 + 1)]), wide, tmp_path) == [2**61 + 1]


def test_decimals_are_read_as_they_print(tmp_path: Path) -> None:
    values = [1.005, 1.115, -1.115, 0.285, 1e-7, 99.0, -99.0, NAN, 2.0]
    expected = [101, 112, -112, 29, 0, 1000, -1000, GONE, 200]
    kind = Decimal(-10, 10, 2)
    assert codes(pa.array(values), kind, tmp_path) == expected
    assert codes(pa.array([str(value) for value in values]), kind, tmp_path) == expected
    assert codes(pa.array([1.1, 2.675], pa.float32()), kind, tmp_path) == [110, 268]
    assert codes(pa.array([decimal.Decimal("1.005"), None]), kind, tmp_path) == [101, GONE]
    assert codes(pa.array([3, 11, -(2**63)]), kind, tmp_path) == [300, 1000, -1000]


@settings(max_examples=examples(20), suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data(), digits=st.integers(1, 15))
def test_a_double_is_rounded_as_the_decimal_that_it_prints(
    data: st.DataObject, digits: int, tmp_path: Path
) -> None:
    most = 2**62 // 10**digits
    near = st.integers(-most, most).map(lambda n: (n + 0.5) / 10**digits)
    small = st.integers(-9999, 9999).map(lambda n: float(f"{n}5e{-digits - 1}"))
    values = data.draw(
        st.lists(st.floats(float(-most), float(most)) | near | small, min_size=1, max_size=99)
    )
    kind = Decimal(-most, most, digits)
    expected = [
        int(decimal.Decimal(repr(x)).scaleb(digits).to_integral_value(decimal.ROUND_HALF_UP))
        for x in values
    ]
    bounds = kind.codes
    clamped = [min(max(code, bounds[0]), bounds[1]) for code in expected]
    assert codes(pa.array(values, pa.float64()), kind, tmp_path) == clamped


def test_categories_are_matched_by_their_text(tmp_path: Path) -> None:
    kind = Category(["a", "7", "it's", "true"], missing="a", unknown="7")
    assert codes(pa.array(["a", "A", "it's", None, ""]), kind, tmp_path) == [0, 1, 2, 0, 0]
    assert codes(pa.array(["a", "it's"]).dictionary_encode(), kind, tmp_path) == [0, 2]
    assert codes(pa.array([7, 8]), Category(["7"]), tmp_path) == [0, GONE]
    assert codes(pa.array([7.0, 7.5, NAN, INF]), Category(["7"]), tmp_path) == [0, GONE, GONE, GONE]
    assert codes(pa.array([True, False]), Category(["false", "true"]), tmp_path) == [1, 0]


def test_days(tmp_path: Path) -> None:
    first, last = datetime.date(2020, 1, 1), datetime.date(2020, 12, 31)
    kind = Day(first, last, missing=first)
    low, high = 18262, 18627  # days since 1970-01-01
    days = [datetime.date(2020, 2, 1), datetime.date(1999, 1, 1), datetime.date(2999, 1, 1), None]
    assert codes(pa.array(days), kind, tmp_path) == [low + 31, low, high, low]
    times = [datetime.datetime(2020, 1, 1, 23, 59), None]  # noqa: DTZ001
    assert codes(pa.array(times), kind, tmp_path) == [low, low]
    texts = ["2020-02-01", "2020-02-30", "x", "", None, "infinity", "-infinity"]
    found = codes(pa.array(texts), kind, tmp_path)
    assert found == [low + 31, low, low, low, low, high, low]


def test_an_instant_lies_in_its_day_in_utc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")  # UTC+14
    zone = datetime.timezone(datetime.timedelta(hours=5))
    times = [
        datetime.datetime(2020, 1, 2, 4, 59, tzinfo=zone),
        datetime.datetime(2020, 1, 2, 5, 0, tzinfo=zone),
    ]
    kind = Day("2020-01-01", "2020-12-31", missing="2020-12-31")
    low = 18262
    expected = [low, low + 1, 18627]
    assert (
        codes(pa.array([*times, None], pa.timestamp("us", "Asia/Tokyo")), kind, tmp_path)
        == expected
    )
    for series in (pd.Series([*times, None]), pd.Series([*times, None], dtype=object)):
        frame = pd.DataFrame({"id": ["0", "1", "2"], "x": series})
        found = dict(stored(one_table(frame, tmp_path, {"x": kind})))
        assert [found[keyed(str(i))] for i in range(3)] == expected
    # A text says the day that it writes.
    texts = pa.array(["2020-01-02 04:59:00+05:00", "2020-01-02T23:00:00-11:00"])
    assert codes(texts, kind, tmp_path) == [low + 1, low + 1]


def test_a_text_is_one_text_in_every_normal_form(tmp_path: Path) -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    for member in (composed, decomposed):
        kind = Category([member, "K"], missing="K", unknown=member)
        assert kind.values == (composed, "K")
        assert [kind.place(composed), kind.place(decomposed), kind.place("\u212a")] == [0, 0, 1]
        values = pa.array([composed, decomposed, "cafe", "\u212a", None])  # the sign of kelvin
        assert codes(values, kind, tmp_path) == [0, 0, 0, 1, 1]
    with pytest.raises(ParameterError, match="twice"):
        Category([composed, decomposed])
    with pytest.raises(KeyError):
        Category([composed]).place("CAF\u00c9")  # binary: no case is folded


def test_a_unit_is_one_unit_in_every_normal_form(tmp_path: Path) -> None:
    composed, decomposed = "caf\u00e9", "cafe\u0301"
    source = pa.table({"id": [composed, decomposed, "cafe"], "x": [1, 2, 3]})
    rows = stored(one_table(source, tmp_path, {"x": Integer(0, 9)}))
    assert sorted(rows) == sorted([(keyed(composed), 1), (keyed(composed), 2), (keyed("cafe"), 3)])


def test_booleans(tmp_path: Path) -> None:
    kind = Boolean()
    assert codes(pa.array([True, False, None]), kind, tmp_path) == [1, 0, GONE]
    assert codes(pa.array([1.0, 0.0, 0.5, NAN, 2.0]), kind, tmp_path) == [1, 0, GONE, GONE, GONE]
    assert codes(pa.array([1, 0, -1]), Boolean(missing=True), tmp_path) == [1, 0, 1]
    assert codes(pa.array(["TRUE", "f", "1", "yes"]), kind, tmp_path) == [1, 0, 1, GONE]


def test_one_unit_has_one_id_whatever_its_type(tmp_path: Path) -> None:
    columns = {"x": Integer(0, 9)}
    ids = [
        pa.array([7, None]),
        pa.array([7.0, NAN, INF, None]),
        pa.array(["7", "7.0", "", None]),
        pa.array([decimal.Decimal("7.00")]),
        pa.array([7], pa.uint8()),
        pa.array(["7"]).dictionary_encode(),
    ]
    dataset = Dataset("d", "id", tuple(Table(f"n{i}", columns, 9) for i in range(len(ids))))
    sources = {f"n{i}": pa.table({"id": part, "x": [1] * len(part)}) for i, part in enumerate(ids)}
    snapshot = register(sources, dataset, tmp_path, KEY).snapshot
    rows = [stored(snapshot, f"t{i}") for i in range(len(ids))]
    assert rows == [[(keyed("7"), 1)] * count for count in (1, 1, 2, 1, 1, 1)]


def test_other_texts_are_other_units(tmp_path: Path) -> None:
    texts = ["007", "7 ", "+7", "7.5", "7e0", "Ä", "-0", "7.00x"]
    source = pa.table({"id": texts, "x": list(range(8))})
    units = {x: unit for unit, x in stored(one_table(source, tmp_path, {"x": Integer(0, 9)}))}
    assert units == {i: keyed("0" if text == "-0" else text) for i, text in enumerate(texts)}


def test_rows_lie_together_by_unit(tmp_path: Path) -> None:
    source = pd.DataFrame({"id": np.arange(3000) % 500, "x": np.arange(3000) % 7})
    rows = stored(one_table(source, tmp_path, {"x": Integer(0, 9)}))
    units = [row[0] for row in rows]
    assert units == sorted(units)
    assert len(set(units)) == 500


def _frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "id": pd.Series(["a", 7, None, 7.0, "b"], dtype=object),
            "x": pd.Series([1, "2", 3, None, NAN], dtype=object),
            "day": pd.Series([datetime.date(1970, 1, 3)] * 5, dtype=object),
            "kind": pd.Categorical(["u", "v", "u", "u", None]),
            "rest": [object()] * 5,
        }
    )


def test_a_pandas_column_of_objects_is_read_value_by_value(tmp_path: Path) -> None:
    columns: dict[str, Column] = {
        "x": Integer(0, 9, missing=0),
        "day": Day("1970-01-01", "1971-01-01"),
        "kind": Category(["u", "v"], missing="v"),
    }
    rows = stored(one_table(_frame(), tmp_path, columns))
    expected = [(keyed("a"), 1, 2, 0), (keyed("7"), 2, 2, 1), (keyed("7"), 0, 2, 0)]
    assert sorted(rows) == sorted([*expected, (keyed("b"), 0, 2, 1)])


def test_files(tmp_path: Path) -> None:
    columns: dict[str, Column] = {
        "x": Integer(0, 9, missing=9),
        "Name": Category(["it's, so", "NA"]),
    }
    text = 'id,extra,x,Name\r\n7,z,1,"it\'s, so"\r\n8,,NA,NA\r\n,z,1,NA\r\n'
    (tmp_path / "a.csv").write_text(text, encoding="utf-8-sig", newline="")
    (tmp_path / "b.tsv").write_text("x\tid\tNAME\n1\t7\tit's, so\n\t8\tNA\n", encoding="utf-8")
    frame = pd.DataFrame({"id": [7, 8], "x": [1.0, NAN], "name": ["it's, so", "NA"]})
    frame.to_parquet(tmp_path / "c.parquet")
    expected = sorted([(keyed("7"), 1, 0), (keyed("8"), 9, 1)])
    for source in ("a.csv", tmp_path / "b.tsv", tmp_path / "c.parquet"):
        snapshot = one_table(tmp_path / source, tmp_path / "snapshots", columns)
        assert stored(snapshot) == expected


def test_the_file_appears_whole_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    snapshot = one_table(pd.DataFrame({"id": [1], "x": [2]}), folder, {"x": Integer(0, 9)})
    assert os.listdir(folder) == [snapshot.path.name]  # noqa: PTH208 - hidden files too
    assert hashlib.sha256(snapshot.path.read_bytes()).hexdigest() == snapshot.digest
    assert snapshot.path.stat().st_mode & 0o777 == 0o400
    with pytest.raises(DataError):
        one_table(pd.DataFrame({"id": [1]}), folder, {"x": Integer(0, 9)})
    assert os.listdir(folder) == [snapshot.path.name]  # noqa: PTH208


SECRET = 31337
X: dict[str, Column] = {"x": Integer(0, 9)}
REFUSED: list[tuple[Any, dict[str, Column], str]] = [
    (pd.DataFrame({"id": [SECRET]}), X, "column 'x' is missing"),
    (pd.DataFrame({"x": [SECRET]}), X, "column 'id' is missing"),
    (pd.DataFrame([[1, 2, 3]], columns=["id", "x", "x"]), X, "more than once"),
    (pd.DataFrame([[1, 2, 3]], columns=["id", "X", "x"]), {"Χ": Boolean()}, "is missing"),
    (pa.table({"id": [b"31337"], "x": [1]}), X, "a unit is a number or a text"),
    (pa.table({"id": [True], "x": [1]}), X, "a unit is a number or a text"),
    (pa.table({"id": [1], "x": [[SECRET]]}), X, "declared Integer, but the source holds"),
    (pa.table({"id": [1], "x": [1]}), {"x": Day("2020-01-01", "2021-01-01")}, "declared Day"),
    (pa.table({"id": [1], "x": [datetime.date(2020, 1, 1)]}), X, "declared Integer"),
    (pa.table({"id": [2.0**53], "x": [1]}), X, "lose digits as floats"),
    (pa.table({"id": pa.array([2.0**24], pa.float32()), "x": [1]}), X, "lose digits as floats"),
    (pd.DataFrame({"id": [1], "x": [{"value": SECRET}]}), X, "objects of type dict"),
    ("nowhere.csv", X, "does not exist"),
    ("*.parquet", X, "may not hold"),
    (7, X, "must be a DataFrame"),
    ([SECRET], X, "must be a DataFrame"),
]


@pytest.mark.parametrize(("source", "columns", "message"), REFUSED)
def test_a_source_that_does_not_fit_is_refused_without_its_values(
    source: Any, columns: dict[str, Column], message: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=r"^table 't'") as caught:
        one_table(source, tmp_path, columns)
    assert message in str(caught.value)
    assert bare(caught.value)


def bare(error: BaseException) -> bool:
    """Whether no value of the data can be reached from an error."""
    assert str(SECRET) not in f"{error.args} {vars(error)}"
    return error.__cause__ is None and error.__context__ is None


def test_a_text_that_is_none_is_refused_without_it(tmp_path: Path) -> None:
    source = pd.DataFrame({"id": [1], "x": pd.Series([f"{SECRET}\ud800"], dtype=object)})
    with pytest.raises(DataError) as caught:
        one_table(source, tmp_path, X)
    assert bare(caught.value)
    assert not list(tmp_path.iterdir())


def test_unreadable_files_are_refused_without_their_values(tmp_path: Path) -> None:
    for name, content in [
        ("a.csv", b"id,x\n1,2\n31337,\xff\xfe\n"),
        ("a.csv", b"id,x\n1,2,31337\n"),
        ("a.csv", b'id,x\n1,"31337\n'),
        ("a.csv", b"id,id\n1,31337\n"),
        ("a.csv", b""),
        ("a.csv", b"\xff\xfe\n31337"),
        ("a.parquet", b"31337"),
        ("a.txt", b"31337"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError) as caught:
            one_table(tmp_path / name, tmp_path / "snapshots", X)
        assert bare(caught.value)


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b"id,x\n1,2\n3,31337,4\n", "as many fields as its first one"),
        (b"id,x\n1,2\n31337\n", "as many fields as its first one"),
        (b"id,x\n1,2\n\xff\xfe,31337\n", "all of it be UTF-8"),
        (b"id,x,x\n1,2,31337\n", "name every column once"),
    ],
)
def test_a_file_that_is_no_csv_table_is_refused_with_what_to_look_for(
    content: bytes, hint: str, tmp_path: Path
) -> None:
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(DataError, match=hint) as caught:
        one_table(tmp_path / "a.csv", tmp_path / "snapshots", X)
    assert bare(caught.value)


def test_a_table_of_one_row_per_unit_holds_one_row_per_unit(tmp_path: Path) -> None:
    source = pd.DataFrame({"id": [1, 1], "x": [2, 3]})
    with pytest.raises(DataError, match="rows_per_unit = 1, but a unit has more rows"):
        one_table(source, tmp_path, X, rows=1)
    # Rows that the declaration drops do not count.
    strict = {"x": Integer(0, 2, out_of_range="drop")}
    assert stored(one_table(source, tmp_path, strict, rows=1)) == [(keyed("1"), 2)]


def test_units_that_share_an_id_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = pd.DataFrame({"id": range(200), "x": [1] * 200})
    assert len(stored(one_table(source, tmp_path, X))) == 200
    monkeypatch.setattr("interlace.engines.duckdb.writing.HASH_DIGITS", 2)  # 256 ids only
    with pytest.raises(DataError, match="two units share an id"):
        one_table(source, tmp_path, X)


@pytest.mark.parametrize("key", [b"", bytes(15), "0" * 32, None])
def test_the_key_is_checked(key: Any, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="key"):
        register({"t": _frame()}, Dataset("d", "id", (Table("t", X),)), tmp_path, key)


def test_sources_are_those_of_the_declaration(tmp_path: Path) -> None:
    for sources in ({}, {"t": _frame(), "u": _frame()}, {"T": _frame()}):
        with pytest.raises(ParameterError, match="sources: must be given for exactly") as caught:
            register(sources, Dataset("d", "id", (Table("t", X),)), tmp_path, KEY)
        assert ("'t' has none" in str(caught.value)) == ("t" not in sources)
