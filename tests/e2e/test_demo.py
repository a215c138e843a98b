"""The main job, as `make demo` runs it."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def shown() -> str:
    done = subprocess.run(
        [sys.executable, "-m", "interlace.cli", "demo"],
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    )
    return done.stdout


def test_at_least_forty_questions_are_asked_and_answered(shown: str) -> None:
    numbers = [int(n) for n in re.findall(r"^ *(\d+) (?:ada|ben) · ", shown, re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) >= 40
    assert len(re.findall(r"cost\s+0", shown)) == len(numbers)


def test_both_analysts_interleave_sessions_of_all_kinds(shown: str) -> None:
    asked = re.findall(r"^ *\d+ (ada|ben) · ([a-z-]+(?: vector)?):", shown, re.MULTILINE)
    kinds = {"laplace", "gaussian", "sparse vector", "guess-and-check", "tables"}
    assert {kind for _, kind in asked} == kinds
    switches = sum(a != b for a, b in itertools.pairwise(asked))
    assert switches >= 20


def test_the_guarantee_is_below_adding_up_and_names_its_theorem(shown: str) -> None:
    row = re.search(r"ada \+ ben\s*│\s*([0-9.]+)\s*│\s*([0-9.]+)", shown)
    assert row is not None
    assert 0 < float(row[1]) < float(row[2])
    assert "Lyu 2022, Thm" in shown


def test_the_ledger_holds_and_a_second_process_shows_the_same_budgets(shown: str) -> None:
    assert re.search(r"holds: \d+ events, 7 sessions, \d+ answers", shown)
    # What each account printed as spent beside the guarantee, and as the second process read it.
    before, after = shown.split("The ledger, from disk")
    for spent in re.findall(r"│ (?:ada|ben) +│ [0-9.]+ +│ [0-9.]+ +│ (\S.*?) +│", before):
        # A long one is broken over lines of its cell.
        assert all(number in after for number in re.findall(r"≈?[0-9.e-]+", spent))


def test_what_does_not_fit_or_is_not_allowed_is_refused_politely(shown: str) -> None:
    refusals = shown.split("Refused, politely")[1]
    assert refusals.count("→ refused") == 3
    for reason in ("the budget does not hold this", "is no data", "unknown table"):
        assert reason in refusals


def test_tables_have_a_row_for_every_public_group(shown: str) -> None:
    tables = shown.split("Act 3")[1].split("What can they have learned?", maxsplit=1)[0]
    assert "L2^2" in tables  # the explanation
    # Ages 18 to 110 fall into buckets from 0 to 100, for women and men.
    assert (
        len(
            re.findall(
                r"^ +(?:0|20|40|60|80|100) +(?:True|False) +-?[0-9,]+ +[0-9.]+",
                tables,
                re.MULTILINE,
            )
        )
        == 12
    )
    assert all(event in tables for event in ("nafld", "cardiac arrest"))
