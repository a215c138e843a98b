"""What is secret is sealed: by which keys, for which place, and with what refusals."""

from __future__ import annotations

import base64
import dataclasses
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interlace.centre.sealing import OVERHEAD, Place, Sealer, read_keys, rotate, seal, unseal
from interlace.core.errors import LedgerCorrupt, LedgerError
from interlace.ledger import Event
from tests.effort import examples

OLD, NEW, OTHER = (bytes([n]) * 32 for n in range(3))
PLACE = Place("session", "people", "ada", "s1")
BOUND = PLACE.bound("ledger1")


def event(secret: bytes | None, place: Place = PLACE) -> Event:
    return Event(
        7, place.kind, place.dataset, place.account, place.session, None, None, {}, secret, ""
    )


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("INTERLACE_KEY", raising=False)


@given(st.binary(max_size=200))
@settings(max_examples=examples(50))
def test_what_was_sealed_opens_again_and_is_longer_by_a_constant(secret: bytes) -> None:
    sealed = seal(NEW, secret, BOUND)
    assert unseal([NEW], sealed, BOUND) == secret
    assert len(sealed) == len(secret) + OVERHEAD
    assert sealed != seal(NEW, secret, BOUND)


def test_the_first_key_seals_and_all_open() -> None:
    sealed = seal(OLD, b"opening", BOUND)
    assert unseal([NEW, OLD], sealed, BOUND) == b"opening"
    assert unseal([NEW, OTHER], sealed, BOUND) is None


@pytest.mark.parametrize("place", range(len(seal(NEW, b"opening", BOUND))))
def test_a_changed_bit_anywhere_does_not_open(place: int) -> None:
    sealed = bytearray(seal(NEW, b"opening", BOUND))
    sealed[place] ^= 1
    assert unseal([NEW], bytes(sealed), BOUND) is None


def test_a_part_of_what_was_sealed_does_not_open() -> None:
    sealed = seal(NEW, b"opening", BOUND)
    assert [n for n in range(len(sealed)) if unseal([NEW], sealed[:n], BOUND) is not None] == []
    assert unseal([NEW], sealed + b"\0", BOUND) is None


@pytest.mark.parametrize("field", ["kind", "dataset", "account", "session"])
def test_what_was_moved_does_not_open(field: str) -> None:
    sealed = seal(NEW, b"opening", BOUND)
    moved = dataclasses.replace(PLACE, **{field: "elsewhere"})
    assert unseal([NEW], sealed, moved.bound("ledger1")) is None
    assert unseal([NEW], sealed, PLACE.bound("ledger2")) is None


def test_names_that_run_together_are_different_places() -> None:
    places = [
        Place("a", "b", "c"),
        Place("a", "bc", ""),
        Place("a", 'b","c'),
        Place("a", "b", "", "c"),
    ]
    assert len({place.bound("ledger1") for place in places}) == len(places)


def test_a_new_ledger_gets_a_key_of_this_users_alone(tmp_path: Path) -> None:
    sealer = Sealer("ledger1", tmp_path, new=True)
    [file] = tmp_path.glob("*key*")
    assert file.name == "ledger1.key"
    assert file.stat().st_mode & 0o777 == 0o600
    [key] = read_keys(file.read_text().split(), "file")
    assert len(key) == 32
    sealed = sealer.seal(b"opening", PLACE)
    assert unseal([key], sealed, BOUND) == b"opening"
    assert Sealer("ledger1", tmp_path, new=True).unseal(event(sealed)) == b"opening"


def test_a_missing_key_is_not_replaced(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"INTERLACE_KEY.*ledger1\.key") as refused:
        Sealer("ledger1", tmp_path, new=False)
    assert str(tmp_path) in str(refused.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_a_key_that_others_reach_is_refused(tmp_path: Path, mode: int) -> None:
    Sealer("ledger1", tmp_path, new=True)
    (tmp_path / "ledger1.key").chmod(mode)
    with pytest.raises(LedgerError, match=r"others.*chmod 600"):
        Sealer("ledger1", tmp_path, new=False)


def test_the_environments_keys_take_the_place_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INTERLACE_KEY", f"{NEW.hex()}, {base64.b64encode(OLD).decode()}")
    sealer = Sealer("ledger1", tmp_path, new=True)
    assert list(tmp_path.iterdir()) == []
    assert unseal([NEW], sealer.seal(b"opening", PLACE), BOUND) == b"opening"
    assert sealer.unseal(event(seal(OLD, b"opening", BOUND))) == b"opening"
    with pytest.raises(LedgerError, match="INTERLACE_KEY: put a new one in front"):
        rotate("ledger1", tmp_path)


@pytest.mark.parametrize("text", ["", "ab", "zz" * 32, NEW.hex() + ",", "é" * 44, "A" * 42 + "=="])
def test_keys_that_are_none_are_refused_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("INTERLACE_KEY", text)
    with pytest.raises(LedgerError, match="INTERLACE_KEY must hold keys of 32 bytes") as refused:
        Sealer("ledger1", tmp_path, new=True)
    assert len(text) < 3 or text not in str(refused.value)


def test_base64_of_both_alphabets_is_one_key() -> None:
    key = bytes([251, 255]) * 16
    texts = [base64.b64encode(key).decode(), base64.urlsafe_b64encode(key).decode()]
    assert texts[0] != texts[1]
    assert read_keys(texts, "here") == (key, key)


def test_after_a_rotation_the_new_key_seals_and_the_old_one_opens(tmp_path: Path) -> None:
    running = Sealer("ledger1", tmp_path, new=True)
    before = running.seal(b"before", PLACE)
    file = rotate("ledger1", tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600
    new, old = read_keys(file.read_text().split(), "file")
    after = Sealer("ledger1", tmp_path, new=False).seal(b"after", PLACE)
    assert unseal([old], before, BOUND) == b"before"
    assert unseal([old], after, BOUND) is None
    assert unseal([new], after, BOUND) == b"after"
    # A process that was there before looks again.
    assert running.unseal(event(after)) == b"after"
    assert running.unseal(event(before)) == b"before"


def test_a_rotation_without_a_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="is missing"):
        rotate("ledger1", tmp_path)
    assert list(tmp_path.glob("*key*")) == []


def test_rotations_at_once_lose_no_key(tmp_path: Path) -> None:
    sealer = Sealer("ledger1", tmp_path, new=True)
    sealed = event(sealer.seal(b"before", PLACE))
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: rotate("ledger1", tmp_path), range(24)))) == 1
    keys = read_keys((tmp_path / "ledger1.key").read_text().split(), "file")
    assert len(set(keys)) == 25
    assert Sealer("ledger1", tmp_path, new=False).unseal(sealed) == b"before"


def test_keys_that_a_dead_process_left_unfinished_are_taken_away(tmp_path: Path) -> None:
    Sealer("ledger1", tmp_path, new=True)
    (tmp_path / "ledger1.key.new").write_text("half a k")
    Sealer("ledger1", tmp_path, new=False)
    assert list(tmp_path.glob("*key*")) == [tmp_path / "ledger1.key"]


def test_what_does_not_open_is_named_without_its_contents(tmp_path: Path) -> None:
    sealer = Sealer("ledger1", tmp_path, new=True)
    moved = event(sealer.seal(b"opening", dataclasses.replace(PLACE, session="s2")))
    for bad in (moved, event(b"\x01" + b"opening" * 9), event(b""), event(None)):
        with pytest.raises(LedgerCorrupt, match="event 7: its secret does not open") as refused:
            sealer.unseal(bad)
        assert refused.value.event == 7
        assert "opening" not in str(refused.value)


@pytest.mark.parametrize("id", ["", "../x", "a/b", "a\0b", "x" * 65])
def test_an_id_that_leads_elsewhere_is_refused(tmp_path: Path, id: str) -> None:
    with pytest.raises(LedgerError, match="id"):
        Sealer(id, tmp_path, new=True)
    assert list(tmp_path.iterdir()) == []
