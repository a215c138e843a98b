"""``interlace verify``, run as a user runs it."""

from __future__ import annotations

import importlib
import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from interlace.cli import main

LAPLACE = "interlace.mechanisms:Laplace(epsilon=1)"
SPARSE = "interlace.mechanisms:SparseVector(epsilon=2, cutoff=1)"
MINE = """
from dataclasses import dataclass
import interlace as il

@dataclass(frozen=True)
class Twice:
    inner: object

    def __getattr__(self, name):
        return getattr(self.inner, name)

class Raising(Twice):
    def move(self, public, query):
        raise ArithmeticError("no move")

bare = il.mechanisms.Laplace(epsilon=1)
"""


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["verify", *arguments], catch_exceptions=False)


def test_a_sound_mechanism_is_reported_with_status_0() -> None:
    shown = run(LAPLACE)
    assert shown.exit_code == 0
    assert "Laplace(scale=1, answers=1, sensitivity=1): tight" in shown.output
    assert "epsilon at delta 0: 1, claimed 1" in shown.output


def test_a_violated_claim_is_status_1_with_its_attack() -> None:
    shown = run(SPARSE, "--claim", "1", "--rounds", "3", "--values", "0,1 1,0")
    assert shown.exit_code == 1
    assert ": violated" in shown.output
    assert "attack: an event has probability" in shown.output


def test_a_program_reads_json() -> None:
    shown = run(LAPLACE, "--json", "--epsilon", "1/4", "--epsilon", "0.5", "--delta", "0.01")
    assert shown.exit_code == 0
    body = json.loads(shown.output)
    assert [(p["kind"], p["at"]) for p in body["points"]] == [
        ("delta", 0.0),
        ("delta", 0.25),
        ("delta", 0.5),
        ("delta", 1.0),
        ("epsilon", 0.01),
    ]


def test_the_curve_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "curve.svg"
    assert run(LAPLACE, "--plot", str(file)).exit_code == 0
    assert file.read_text(encoding="utf-8").startswith("<svg ")
    nowhere = run(LAPLACE, "--plot", str(tmp_path / "no" / "where.svg"))
    assert nowhere.exit_code == 2
    assert nowhere.output.startswith("Laplace(scale=1, answers=1, sensitivity=1): tight")
    assert "Traceback" not in nowhere.output


def test_a_mechanism_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE, encoding="utf-8")
    assert run(f"{file}:bare").exit_code == 0
    shown = run(f"{file}:Twice(il.mechanisms.Laplace(epsilon=1/2))")
    assert shown.exit_code == 0
    assert shown.output.startswith("Twice(inner=Laplace(scale=2, answers=1, sensitivity=1)): tight")


def test_a_file_imports_its_neighbours_and_takes_no_modules_place(tmp_path: Path) -> None:
    folder = tmp_path / "größe 1"
    folder.mkdir()
    (folder / "beside_it.py").write_text(MINE, encoding="utf-8")
    file = folder / "fractions.py"
    file.write_text("from beside_it import bare\n", encoding="utf-8")
    assert run(f"{file}:bare").exit_code == 0
    assert importlib.import_module("fractions").Fraction is Fraction


def test_an_error_in_a_mechanisms_code_is_no_verdict(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(MINE, encoding="utf-8")
    shown = run(f"{file}:Raising(il.mechanisms.Laplace(epsilon=1))")
    assert shown.exit_code == 2
    assert shown.output.splitlines()[-1] == "ArithmeticError: no move"
    assert f'File "{file}"' in shown.output
    broken = tmp_path / "broken.py"
    broken.write_text("def (", encoding="utf-8")
    shown = run(f"{broken}:Mine()")
    assert (shown.exit_code, "SyntaxError" in shown.output) == (2, True)
    broken.write_text("raise SystemExit(1)", encoding="utf-8")
    shown = run(f"{broken}:Mine()")
    assert shown.exit_code == 2
    assert "ends with status 1" in shown.output


def test_an_interrupt_is_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("interlace.cli.verify.verify_mechanism", interrupted)
    assert run(LAPLACE).exit_code == 130


def test_values_are_typed_with_what_is_asked() -> None:
    shown = run(SPARSE, "--values", "0,1>=0 1,0<=1 5,4>=-3", "--rounds", "1")
    assert shown.exit_code == 0
    assert "(0, 1) >= 0, (1, 0) <= 1, (5, 4) >= -3" in shown.output
    guessed = run(
        "interlace.mechanisms:GuessAndCheck(epsilon=4, tolerance=2)", "--values", "0,1~-2"
    )
    assert guessed.exit_code == 0
    assert "(0, 1) guess -2" in guessed.output


@pytest.mark.parametrize("name", ["theorem1", "theorem2", "theorem3", "corollary1"])
def test_a_theorem_in_place_of_a_mechanism(name: str) -> None:
    shown = run(name, "--trials", "2", "--seed", "3")
    assert shown.exit_code == 0
    assert name in shown.output


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("interlace.mechanisms:Nothing",), "mechanism"),
        (("interlace.mechanisms:Laplace",), 'call it, as in "interlace.mechanisms:Laplace()"'),
        (("interlace:compose",), "it has no guarantee, start, left, after"),
        (("interlace.mechanisms:Laplace(1)",), "too many positional arguments"),
        (("interlace.mechanisms:Laplace(epsilom=1)",), "unexpected keyword argument 'epsilom'"),
        (("interlace.mechanisms:Laplace(epsilon=1)()",), "cannot be called"),
        (("no.such.module:Laplace",), "mechanism"),
        (("no_such_file.py:Laplace",), "mechanism"),
        (("Laplace",), "mechanism"),
        (("interlace.mechanisms:Laplace(epsilon=",), "mechanism"),
        (("interlace.mechanisms:Laplace(epsilon=1+1)",), "mechanism"),
        (("interlace.mechanisms:Laplace(epsilon=__import__('os'))",), "mechanism"),
        (("interlace.mechanisms:Laplace(epsilon=1/0)",), "mechanism"),
        (("interlace.mechanisms:Laplace(**{})",), "mechanism"),
        (("interlace.mechanisms:[Laplace for _ in 3]",), "mechanism"),
        (("interlace.mechanisms:Laplace(epsilon=0)",), "epsilon"),
        ((LAPLACE, "--values", "0;1"), "values"),
        ((LAPLACE, "--epsilon", "x"), "epsilon"),
        ((LAPLACE, "--delta", "2"), "delta"),
        ((LAPLACE, "--claim", "x"), "expression"),
        ((LAPLACE, "--rounds", "0"), "rounds"),
        ((SPARSE, "--rounds", "60"), "rounds: 12 of 60 rounds"),
        ((LAPLACE, "--seed", "1"), "--seed goes with a theorem: leave it out"),
        (("theorem1", "--rounds", "3"), "--rounds goes with a mechanism: leave it out"),
        (("theorem1", "--json"), "--json goes with a mechanism: leave it out"),
    ],
)
def test_bad_input_ends_in_one_line(arguments: tuple[str, ...], named: str) -> None:
    shown = run(*arguments)
    assert shown.exit_code == 2
    assert named in shown.output
    assert "Traceback" not in shown.output
