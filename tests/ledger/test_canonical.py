"""Bodies have one text, events one byte string; no float enters."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlace.core.errors import LedgerCorrupt, ParameterError
from interlace.ledger.canonical import canonical, follow, genesis, link, parse
from interlace.ledger.interface import Head

BODIES = st.dictionaries(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.text("ab\n\"'\\", max_size=2), inner, max_size=3)
        ),
        max_leaves=8,
    ),
    max_size=4,
)
COLUMNS = st.lists(
    st.none() | st.integers() | st.text("ab1:n", max_size=4) | st.binary(max_size=4), max_size=4
)


def _shuffled(value: object) -> object:
    """The same body with its keys in another order and tuples for lists."""
    if isinstance(value, Mapping):
        return {key: _shuffled(value[key]) for key in reversed(list(value))}
    return tuple(map(_shuffled, value)) if isinstance(value, list) else value


@given(BODIES)
def test_a_body_comes_back_and_has_one_text(body: dict[str, object]) -> None:
    text = canonical(body)
    assert parse(text) == body
    assert canonical(parse(text)) == text
    again = _shuffled(body)
    assert isinstance(again, dict)
    assert canonical(again) == text
    text.encode()


def test_the_text_is_the_agreed_one() -> None:
    body = {"b": [1, True, None], "a": "ü\u2028\n", "B": {}}
    assert canonical(body) == '{"B":{},"a":"ü\u2028\\n","b":[1,true,null]}'


@pytest.mark.parametrize(
    "value", [0.5, 1.0, -0.0, math.nan, math.inf, Fraction(1, 2), Decimal(1), b"x", {1}, object()]
)
@pytest.mark.parametrize("place", ["body.x", "body.x[1]", "body.x.y"])
def test_what_is_not_exact_json_is_refused_where_it_stands(value: object, place: str) -> None:
    holder = {"body.x": value, "body.x[1]": [0, value], "body.x.y": {"y": value}}[place]
    with pytest.raises(ParameterError) as caught:
        canonical({"x": holder})
    assert caught.value.name == place
    assert repr(value) not in str(caught.value)


@pytest.mark.parametrize(
    "body", [{1: "x"}, {None: 1}, {"x": "\udc80"}, {"\ud800": 1}, {"x": 2**4097}]
)
def test_keys_surrogates_and_huge_integers_are_refused(body: dict[str, object]) -> None:
    with pytest.raises(ParameterError):
        canonical(body)


def test_a_body_without_end_is_refused() -> None:
    body: dict[str, object] = {}
    body["self"] = body
    with pytest.raises(ParameterError, match="nested deeper"):
        canonical(body)


@pytest.mark.parametrize("text", ["", "[]", "1", "{", "null", '{"a":}', "[" * 100_000])
def test_a_text_that_was_never_written_is_damage(text: str) -> None:
    with pytest.raises(LedgerCorrupt):
        parse(text)


@given(COLUMNS, COLUMNS)
def test_different_rows_have_different_hashes(
    first: list[int | str | bytes | None], second: list[int | str | bytes | None]
) -> None:
    start = genesis("x").hash
    same = [(type(a), a) for a in first] == [(type(b), b) for b in second]
    assert (link(start, first) == link(start, second)) == same


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["ab", "c"], ["a", "bc"]),
        (["1"], [1]),
        (["a"], [b"a"]),
        ([None], [""]),
        ([None], []),
        (["t1:a"], ["", "a"]),
    ],
)
def test_no_two_rows_share_their_bytes(
    first: list[int | str | bytes | None], second: list[int | str | bytes | None]
) -> None:
    start = genesis("x").hash
    assert link(start, first) != link(start, second)


def test_a_history_starts_from_its_own_ledger() -> None:
    assert genesis("a").hash != genesis("b").hash
    row = (1, "note")
    rows = [(*row, link(genesis("a").hash, row))]
    assert follow(genesis("a"), rows, None) == Head(1, rows[0][2])
    with pytest.raises(LedgerCorrupt, match="event 1"):
        follow(genesis("b"), rows, None)


def test_json_agrees_with_another_reader() -> None:
    body = {"z": 2**64, "a": ["\x7f", "\u0000"]}
    assert json.loads(canonical(body)) == body
