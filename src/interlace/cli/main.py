"""The commands of ``interlace``. Errors raised on purpose end in one line, others in a traceback,
both with status 2: to several commands status 1 is an answer, that a claim does not hold."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

import click
from rich.console import Console

import interlace
from interlace.cli.certify import certify, check
from interlace.cli.compose import compose
from interlace.cli.datasets import check_config, dummy, init, register
from interlace.cli.explain import explain
from interlace.cli.verify import verify as verify_command
from interlace.core.errors import InterlaceError

_INTERRUPTED = 130  # what shells report for Ctrl-C


class _Group(click.Group):
    """Prints an Interlace error as a line instead of a traceback; no error looks like an answer."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except InterlaceError as error:
            click.echo(f"{click.style('refused', fg='red', bold=True)} {error}", err=True)
            sys.exit(2)
        except KeyboardInterrupt:
            click.echo("Interrupted", err=True)
            sys.exit(_INTERRUPTED)
        except (click.ClickException, click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except Exception:  # noqa: BLE001  # a mechanism's own code may raise anything
            traceback.print_exc()
            sys.exit(2)


@click.group(cls=_Group)
@click.version_option(interlace.__version__, prog_name="interlace")
def main() -> None:
    """Interactive differential privacy: many analysts, one optimal guarantee."""


main.add_command(certify)
main.add_command(check)
main.add_command(check_config)
main.add_command(compose)
main.add_command(dummy)
main.add_command(explain)
main.add_command(init)
main.add_command(register)
main.add_command(verify_command)


@main.command()
@click.option(
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep the centre in this new folder (default: a temporary one).",
)
def demo(folder: Path | None) -> None:
    """Run the main job: two analysts, real medical data, one guarantee."""
    from interlace.cli.demo import run

    run(folder)


@main.group()
def ledger() -> None:
    """Look at a centre's ledger from disk."""


@ledger.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
def show(folder: Path) -> None:
    """Datasets, accounts, budgets, sessions; no secret is shown."""
    from interlace.cli.ledger import show_ledger

    show_ledger(folder, Console())


@ledger.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--head", help="SEQ:HASH printed by an earlier verify and kept elsewhere.")
def verify(folder: Path, head: str | None) -> None:
    """Recompute the hash chain, every account's spending and every session's state."""
    from interlace.cli.ledger import verify_ledger

    verify_ledger(folder, head, Console())


@ledger.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--delta", multiple=True, help="Report epsilon here, as 1e-6; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="For a program: exact numbers as text.")
@click.option("-o", "file", type=click.Path(path_type=Path, dir_okay=False), help="Write it here.")
def statement(folder: Path, delta: tuple[str, ...], as_json: bool, file: Path | None) -> None:
    """What the centre promises and what it does not, for a regulator: Markdown or JSON."""
    from interlace.cli.ledger import export, statement_text

    text = statement_text(folder, delta, as_json=as_json)
    if file is None:
        click.echo(text, nl=False)
        return
    try:
        export(text, file)
    except OSError as error:
        raise click.FileError(str(file), error.strerror) from None


@ledger.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
def rotate(folder: Path) -> None:
    """Seal with a new key from now on. What was sealed before stays under the older ones."""
    from interlace.cli.ledger import rotate_keys

    rotate_keys(folder, Console())


@ledger.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(folder: Path, yes: bool) -> None:
    """Go on with a FOLDER that is an older copy of what it was.

    What was answered and spent since the copy was made is not known, so every session of it
    becomes void and every account counts as spent. Stop all processes that use it first.
    """
    from interlace.cli.ledger import restore_folder

    if not yes:
        click.confirm("Void every session and spend every account for good?", abort=True)
    restore_folder(folder, Console())
