"""The commands about datasets: ``interlace init``, ``check-config``, ``register`` and ``dummy``.

What they need is imported as they run, so that the other commands start quickly.
"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from interlace.cli.progress import shown_progress


@click.command()
@click.argument(
    "schemas",
    metavar="SCHEMA...",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
)
@click.option(
    "-o", "out", type=click.Path(path_type=Path, dir_okay=False), help="Write it to this new file."
)
@click.option("--name", help="Of the dataset; that of the new file, if not given.")
@click.option("--unit", help="The column that says whose data a row is, in all tables.")
@click.option(
    "--public",
    multiple=True,
    metavar="SCHEMA",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Of tables about no unit, all of whose rows are public; may be repeated.",
)
@click.option("--dialect", help="Of a .sql file, by its name in sqlglot: postgres, mysql, ...")
def init(
    schemas: tuple[Path, ...],
    public: tuple[Path, ...],
    out: Path | None,
    name: str | None,
    unit: str | None,
    dialect: str | None,
) -> None:
    """Draft a declaration in TOML from a schema, never from data.

    SCHEMA is a Parquet file, of which names and types of columns are read; a CSV file, of which
    the first line is read; or a .sql file with CREATE TABLE statements. What only you can know
    is left to fill in: `interlace check-config` says what is missing, and why it matters.
    """
    from interlace.cli.declaring import drafted

    click.echo(drafted(schemas, public, out, name, unit, dialect), nl=False)


@click.command("check-config")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--json", "as_json", is_flag=True, help="For a program.")
def check_config(file: Path, as_json: bool) -> None:
    """Say what a declaration in TOML lacks, and why it matters.

    Of a complete one, say what one unit can do to the answers. Nothing but FILE is opened.
    Status 0: it is complete; 2: it is not.
    """
    from interlace.cli.declaring import checked

    if not checked(file, as_json=as_json):
        sys.exit(2)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("declaration", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--version", type=int, help="Of a name that is registered: which version this makes.")
def register(folder: Path, declaration: Path, version: int | None) -> None:
    """Register the dataset of a TOML DECLARATION in the centre in FOLDER.

    What is printed tells how many rows each rule touched. It is exact and therefore private to
    the custodian: it is kept nowhere, and whoever may not see the data may not see it.
    """
    from interlace.centre import Centre
    from interlace.core.errors import ParameterError

    if declaration.suffix != ".toml":
        raise ParameterError("declaration", "must be a .toml file: `interlace init` drafts one")
    with Centre(folder) as centre, shown_progress() as progress:
        made = centre.register(declaration, version=version, progress=progress)
    click.echo(str(made))


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("dataset")
@click.option(
    "-o",
    "out",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="A new or empty folder for the tables and their declaration.",
)
@click.option("--units", default=1000, show_default=True, help="How many units it has.")
@click.option("--seed", type=int, help="The same seed gives the same tables; one is drawn if not.")
def dummy(folder: Path, dataset: str, out: Path, units: int, seed: int | None) -> None:
    """Write a random DATASET of the same declaration, to rehearse queries on.

    It is made from the public declaration alone, never from the data, and may be given to
    anybody. The declaration that is written beside the tables registers them as they are.
    """
    from interlace.centre import Centre

    with Centre(folder, create=False) as centre:
        made = centre.dummy(dataset, units=units, seed=seed)
        file = made.write(out)
    click.echo(f"{file}: {made.units:,} units of dataset {dataset}, seed {made.seed}")
