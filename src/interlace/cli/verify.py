"""``interlace verify``: a mechanism against its claim, or a theorem on random systems.

The exit status tells a script what was found: 1 where a claim is violated.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable
from pathlib import Path

import click
from click.core import ParameterSource

from interlace.cli.expression import read_expression, read_number
from interlace.cli.progress import shown_progress
from interlace.cli.target import read_target
from interlace.core.composition import compose
from interlace.core.errors import ParameterError
from interlace.verify import Question
from interlace.verify import verify as verify_mechanism
from interlace.verify.experiments import EXPERIMENTS, run
from interlace.verify.plot import draw

_PAIR = re.compile(
    r"(?P<zero>-?\d{1,18}),(?P<one>-?\d{1,18})(?:(?P<form>>=|<=|~)(?P<by>-?\d{1,18}))?"
)
_FORMS = {">=": "at_least", "<=": "at_most", "~": "guess"}


@click.command()
@click.argument("target", metavar="MODULE:MECHANISM")
@click.option("--rounds", type=click.IntRange(1, 1000), help="Questions; 4 or less by default.")
@click.option("--epsilon", multiple=True, help="Report delta here too; may be repeated.")
@click.option("--delta", help="Report epsilon here.")
@click.option("--claim", help='Judge this in place of its own: "(1,1e-6)", "zcdp(0.1)".')
@click.option("--values", help='Pairs to ask for: "0,1 1,0", "0,1>=5 3,2<=0" or "0,1~-10".')
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw an SVG file.")
@click.option("--json", "as_json", is_flag=True, help="For a program.")
@click.option("--trials", default=100, help="Of a theorem.", type=click.IntRange(1))
@click.option("--seed", default=1, help="Of a theorem.", type=click.IntRange(0))
@click.pass_context
def verify(
    context: click.Context, /, target: str, trials: int, seed: int, as_json: bool, **options: object
) -> None:
    """Find the worst case of a mechanism against every adaptive adversary.

    MODULE is imported, or run where it is a path to a .py file. MECHANISM is a name in it or a
    call, as in interlace.mechanisms:SparseVector(epsilon=1,cutoff=2). Status 1: its claim is
    violated, and the attack is printed; 2: nothing was found out.

    In place of a mechanism: theorem1, theorem2, theorem3 or corollary1, on random systems.
    """
    theorem = target in EXPERIMENTS
    _fitting(context, () if theorem else ("trials", "seed"), "goes with a theorem")
    _fitting(context, (*options, "as_json") if theorem else (), "goes with a mechanism")
    if theorem:
        with shown_progress() as progress:
            outcome = run(target, trials, seed, progress)
        click.echo(str(outcome))
        sys.exit(0 if outcome.holds else 1)
    _mechanism(target, as_json, **options)  # type: ignore[arg-type]  # click has checked them


def _fitting(context: click.Context, names: Iterable[str], what: str) -> None:
    """Refuses options that were typed and would have no effect."""
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = f"--{name.removeprefix('as_')}"
            raise click.UsageError(f"{option} {what}: leave it out")


def _mechanism(
    target: str,
    as_json: bool,
    *,
    rounds: int | None,
    epsilon: tuple[str, ...],
    delta: str | None,
    claim: str | None,
    values: str | None,
    plot: Path | None,
) -> None:
    mechanism = read_target(target)
    if isinstance(mechanism, type):
        raise ParameterError("mechanism", f'{target!r} is a class: call it, as in "{target}()"')
    parts = ("guarantee", "start", "left", "after")
    if missing := [name for name in parts if not hasattr(mechanism, name)]:
        raise ParameterError(
            "mechanism", f"{target!r} is no mechanism: it has no {', '.join(missing)}"
        )
    with shown_progress() as progress:
        report = verify_mechanism(
            mechanism,
            rounds=rounds,
            epsilon=[read_number(e, "epsilon") for e in epsilon] or None,
            delta=None if delta is None else read_number(delta, "delta"),
            claim=None if claim is None else compose(read_expression(claim)),
            values=None if values is None else read_values(values),
            progress=progress,
        )
    # First what took long: a plot that cannot be written does not lose it.
    click.echo(json.dumps(report.json(), indent=2) if as_json else str(report))
    if plot is not None:
        try:
            plot.write_text(draw(report), encoding="utf-8")
        except OSError as error:
            # Not FileError: its status 1 is that of a violated claim.
            raise click.UsageError(f"{plot}: {error.strerror}") from None
    if report.verdict == "violated":
        sys.exit(1)


def read_values(text: str) -> list[tuple[int, int] | Question]:
    """The pairs of values that are typed for ``--values``.

    Raises ParameterError for other text.

    >>> read_values("0,1 3,2>=-5")
    [(0, 1), Question(zero=3, one=2, at_least=-5, at_most=None, guess=None)]
    """
    found: list[tuple[int, int] | Question] = []
    for part in text.split():
        match = _PAIR.fullmatch(part)
        if match is None:
            raise ParameterError(
                "values", f"cannot read {part!r}: it is 0,1 or 0,1>=5 or 0,1<=5 or 0,1~5 (a guess)"
            )
        zero, one = int(match["zero"]), int(match["one"])
        if match["form"] is None:
            found.append((zero, one))
        else:
            found.append(Question(zero, one, **{_FORMS[match["form"]]: int(match["by"])}))
    return found
