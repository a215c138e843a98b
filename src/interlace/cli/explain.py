"""``interlace explain``: what a query costs, from its text and the declaration alone."""

from __future__ import annotations

import json
from pathlib import Path

import click

from interlace.cli.target import read_target
from interlace.core.mechanisms.codec import Served
from interlace.query.declarations.reading import read_declaration
from interlace.query.explain import EXAMPLES
from interlace.query.explain import explain as explained


@click.command()
@click.argument(
    "declaration", metavar="DECLARATION.toml", type=click.Path(path_type=Path, dir_okay=False)
)
@click.argument("sql")
@click.option(
    "--mechanism",
    "mechanisms",
    multiple=True,
    help='As "Laplace(epsilon=1/2)"; may be repeated.',
)
@click.option("--json", "as_json", is_flag=True, help="For a program.")
def explain(declaration: Path, sql: str, *, mechanisms: tuple[str, ...], as_json: bool) -> None:
    """Tell what a query comes to: EXPLAIN PRIVACY.

    The bounded plan, how far one unit moves each number, the noise of each mechanism, and what
    bounding may change. Reads no data.
    """
    dataset = read_declaration(declaration).dataset
    chosen: list[Served] = [read_target(f"interlace.mechanisms:{text}") for text in mechanisms]
    found = explained(sql, dataset, chosen or EXAMPLES)
    click.echo(json.dumps(found.to_dict(), ensure_ascii=False, indent=2) if as_json else str(found))
