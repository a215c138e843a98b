"""``interlace certify`` and ``interlace check``: proofs and attacks for finite systems, as files.

The exit status tells a script what was found: 0 a certificate, 1 a counterexample, 2 neither.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import click

from interlace.cli.expression import read_number
from interlace.core.errors import ParameterError
from interlace.core.finite.certificate import Certificate
from interlace.core.finite.certificate import certify as certify_pair
from interlace.core.finite.check import LONGEST_TEXT, Checked
from interlace.core.finite.check import check as check_text
from interlace.core.finite.counterexample import Counterexample
from interlace.core.finite.reading import read_pair
from interlace.core.interval import Interval

_SHOWN_LINES = 60
_LONGEST = 24
_Existing = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.argument("system", type=_Existing)
@click.option("--epsilon", help="As 1 or 0.5: taken at e^epsilon, rounded up.")
@click.option("--exp-epsilon", help="Instead: e^epsilon itself, exactly, as 3 or 5/2.")
@click.option("--delta", required=True, help="As 0.01 or 1/100.")
@click.option("-o", "file", type=click.Path(path_type=Path, dir_okay=False), help="Write it here.")
def certify(
    system: Path, epsilon: str | None, exp_epsilon: str | None, delta: str, file: Path | None
) -> None:
    """Prove that the pair in SYSTEM is (epsilon, delta)-indistinguishable, or show an attack.

    SYSTEM is a JSON file: docs/certificates.md tells its form. What is found is checked before
    it is shown, and written to the file after -o. Status 0: a certificate; 1: a counterexample.
    """
    text = _text(system, "system")
    found = certify_pair(
        read_pair(text),
        epsilon=None if epsilon is None else read_number(epsilon, "epsilon"),
        exp_epsilon=None if exp_epsilon is None else read_number(exp_epsilon, "exp_epsilon"),
        delta=read_number(delta, "delta"),
    )
    written = found.to_json()
    # Against the file and not what was read from it: the referee reads it by itself.
    checked = check_text(written, text)
    # First what took long: a file that cannot be written does not lose it.
    _show(checked, found)
    if file is not None:
        _write(file, written + "\n")
    _end(checked)


@click.command()
@click.argument("claim", type=_Existing)
@click.option("--system", type=_Existing, help="The system that it must be about.")
def check(claim: Path, system: Path | None) -> None:
    """Verify the certificate or counterexample in the file CLAIM from its numbers alone.

    Without --system its own numbers are taken to be the mechanism's. Status 0: the certificate
    holds; 1: the counterexample does; 2: neither.
    """
    checked = check_text(_text(claim, "claim"), None if system is None else _text(system, "system"))
    _show(checked, None)
    if not checked.system:
        click.echo("About the system in it; with --system also about the one you mean.")
    _end(checked)


def _show(checked: Checked, found: Certificate | Counterexample | None) -> None:
    claim = f"({_epsilon(checked.exp_epsilon)}, {_short(checked.delta)})"
    seen = f"{checked.transcripts} transcripts of up to {checked.rounds} rounds, checked exactly"
    if checked.kind == "certificate":
        click.echo(f"{click.style('certificate', fg='green', bold=True)}: no adversary tells the")
        click.echo(f"two apart beyond (epsilon, delta) = {claim}; {seen}")
        return
    click.echo(f"{click.style('counterexample', fg='red', bold=True)}: an adversary exceeds")
    click.echo(f"(epsilon, delta) = {claim}; {seen}")
    if isinstance(found, Counterexample):
        lines = str(found).splitlines()
        click.echo("\n".join(lines[:_SHOWN_LINES] + ["…"] * (len(lines) > _SHOWN_LINES)))
        click.echo(
            f"It says {found.bit} with probability {_short(found.p)} where that is so, and "
            f"{_short(found.q)} where not: delta would have to be {_short(found.excess)}."
        )


def _end(checked: Checked) -> None:
    sys.exit(0 if checked.kind == "certificate" else 1)


def _epsilon(ratio: Fraction) -> str:
    if ratio == 1:
        return "0"
    value = f"≈ {Interval.of(ratio).log().up():.6g}"
    # A long ratio is what an epsilon was rounded up to, and says less than that.
    return f"log {ratio} {value}" if len(str(ratio)) <= _LONGEST else value


def _short(value: Fraction) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST else f"≈ {float(value):.9g}"


def _text(path: Path, name: str) -> str:
    try:
        # Counted before it is read: nothing larger than what a claim may be is loaded.
        if path.stat().st_size > 4 * LONGEST_TEXT:
            raise ParameterError(name, f"is longer than {LONGEST_TEXT} characters")
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ParameterError(name, "is not UTF-8 text") from None
    except OSError as error:
        raise _unusable(path, error) from None


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unusable(path, error) from None


def _unusable(path: Path, error: OSError) -> click.UsageError:
    # Not FileError: its status 1 is the counterexample's.
    return click.UsageError(f"{path}: {error.strerror}")
