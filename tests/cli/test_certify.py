"""``interlace certify`` and ``interlace check``, run as a user runs them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from interlace.cli import main
from interlace.core.finite.documents import write_pair
from interlace.core.finite.pair import FinitePair
from tests.core.finite.random_pairs import randomised_response, sparse_vector


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)


def system(folder: Path, pair: FinitePair, name: str = "system.json") -> Path:
    file = folder / name
    file.write_text(write_pair(pair), encoding="utf-8")
    return file


def test_a_certificate_is_written_and_checks(tmp_path: Path) -> None:
    file, out = system(tmp_path, sparse_vector(2)), tmp_path / "cert.json"
    shown = run("certify", file, "--exp-epsilon", "2", "--delta", "4/63", "-o", out)
    assert shown.exit_code == 0
    assert "certificate" in shown.output
    assert "log 2 ≈ 0.693147, 4/63" in shown.output
    for options in ([], ["--system", str(file)]):
        checked = run("check", out, *options)
        assert checked.exit_code == 0
        assert "certificate" in checked.output
        assert ("--system" in checked.output) == (not options)


def test_a_counterexample_is_shown_with_its_adversary(tmp_path: Path) -> None:
    file, out = system(tmp_path, sparse_vector(2)), tmp_path / "attack.json"
    shown = run("certify", file, "--exp-epsilon", "2", "--delta", "0.06", "-o", out)
    assert shown.exit_code == 1
    assert "counterexample" in shown.output
    assert "ask (" in shown.output
    assert "delta would have to be 4/63" in shown.output
    checked = run("check", out, "--system", file)
    assert (checked.exit_code, "counterexample" in checked.output) == (1, True)


def test_epsilon_is_rounded_up_and_nothing_is_written_without_a_file(tmp_path: Path) -> None:
    file = system(tmp_path, randomised_response(Fraction(3), 1))
    shown = run("certify", file, "--epsilon", "1.0987", "--delta", "0")
    assert shown.exit_code == 0
    assert "(epsilon, delta) = (≈ 1.0987, 0)" in shown.output
    assert run("certify", file, "--epsilon", "1.0986", "--delta", "0").exit_code == 1
    assert run("certify", file, "--epsilon", "0", "--delta", "1/2").output.count("0, 1/2") == 1
    assert list(tmp_path.iterdir()) == [file]


def test_a_changed_certificate_and_one_about_another_system_are_refused(tmp_path: Path) -> None:
    file, out = system(tmp_path, randomised_response(Fraction(3), 2)), tmp_path / "cert.json"
    other = system(tmp_path, randomised_response(Fraction(2), 2), "other.json")
    assert run("certify", file, "--exp-epsilon", "9", "--delta", "0", "-o", out).exit_code == 0
    refused = run("check", out, "--system", other)
    assert refused.exit_code == 2
    assert "refused" in refused.output
    document = json.loads(out.read_text())
    document["tree"][0]["answers"][0]["n"][0] = "2/3"
    out.write_text(json.dumps(document))
    refused = run("check", out)
    assert refused.exit_code == 2
    assert "after" in refused.output


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "document"),
        (b"\xff\xfe", "system"),
        (b"{}", "document"),
        (b'{"format": "interlace-finite", "version": 1, "kind": "pair"}', "document"),
        (b"[" * 100_000, "document"),
    ],
)
def test_files_that_are_no_systems_end_in_one_line(
    tmp_path: Path, content: bytes, named: str
) -> None:
    file = tmp_path / "system.json"
    file.write_bytes(content)
    shown = run("certify", file, "--epsilon", "1", "--delta", "0")
    assert shown.exit_code == 2
    assert named in shown.output
    assert "Traceback" not in shown.output
    assert run("check", file).exit_code == 2


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--delta", "0"], "epsilon"),
        (["--epsilon", "1", "--exp-epsilon", "2", "--delta", "0"], "epsilon"),
        (["--epsilon", "1"], "delta"),
        (["--epsilon", "x", "--delta", "0"], "epsilon"),
        (["--exp-epsilon", "0.9", "--delta", "0"], "exp_epsilon"),
        (["--epsilon", "1", "--delta", "2"], "delta"),
    ],
)
def test_bad_options_end_in_one_line(tmp_path: Path, options: list[str], named: str) -> None:
    shown = run("certify", system(tmp_path, randomised_response(Fraction(3), 1)), *options)
    assert shown.exit_code == 2
    assert named in shown.output


def test_a_file_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    file = system(tmp_path, randomised_response(Fraction(3), 1))
    nowhere = tmp_path / "no" / "where.json"
    shown = run("certify", file, "--epsilon", "2", "--delta", "0", "-o", nowhere)
    assert shown.exit_code == 2
    assert shown.output.startswith("certificate: no adversary")
    assert "where.json" in shown.output
    assert "Traceback" not in shown.output
    assert run("check", nowhere).exit_code == 2
