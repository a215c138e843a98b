"""``interlace compose``: what guarantees that are fixed in advance cost together.

It reads, asks the accountant, and shows; it computes nothing itself.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import click
from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from interlace.cli.comparison import Row, compared
from interlace.cli.expression import read_expression, read_number
from interlace.cli.listing import is_file, read_file
from interlace.core.composition import Composition, rules
from interlace.core.composition import compose as composed
from interlace.core.composition.terms import terms
from interlace.core.exact import rational

Number = Decimal | Fraction
_SHOWN = 20
"""Parts that are listed one by one."""


@dataclass(frozen=True)
class Answer:
    """One number that was asked for: ``of`` is "epsilon" or "delta", ``at`` where."""

    of: str
    at: str
    exact: Number
    lower: float
    upper: float
    rule: str

    @property
    def given(self) -> str:
        """What it was asked at."""
        return "delta" if self.of == "epsilon" else "epsilon"


@click.command()
@click.argument("expression", metavar="EXPRESSION|FILE")
@click.option("--delta", multiple=True, help="Report epsilon here, as 1e-6; may be repeated.")
@click.option("--epsilon", multiple=True, help="Report delta here; may be repeated.")
@click.option("--compare", is_flag=True, help="Basic, advanced, zCDP, Rényi DP and optimal.")
@click.option("--plot", type=click.Path(path_type=Path, dir_okay=False), help="Draw an SVG file.")
@click.option("--json", "as_json", is_flag=True, help="For a program.")
def compose(
    expression: str,
    *,
    delta: tuple[str, ...],
    epsilon: tuple[str, ...],
    compare: bool,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Compose guarantees that are fixed in advance.

    EXPRESSION joins items by "+". An item is epsilon, (epsilon,delta), zcdp(rho), gdp(mu),
    renyi(alpha,epsilon), tcdp(rho,omega), laplace(scale,shift), discrete_gaussian(sigma,shift),
    rounded_gaussian(sigma,shift), response(epsilon,categories) or bounded_range(eta); "100x" in
    front repeats it: "100x(0.1,1e-8) + zcdp(0.05)".

    FILE ends in .csv, with a header of notion, count, and the names above (epsilon,delta,count
    will do), or in .json: a list of expressions and of objects with such names.
    """
    if bool(delta) == bool(epsilon):
        raise click.UsageError("give either --delta (as 1e-6) or --epsilon")
    if compare and epsilon:
        raise click.UsageError("--compare goes with --delta")
    items = read_file(Path(expression)) if is_file(expression) else read_expression(expression)
    whole = composed(items)
    answers = [_epsilon(whole, text) for text in delta] + [_delta(whole, text) for text in epsilon]
    rows = [(a, compared(whole, _fraction(a.exact, "delta"))) for a in answers if compare]
    if as_json:
        click.echo(json.dumps(_json(whole, answers, rows), indent=2))
    else:
        _show(whole, answers, rows, Console())
    if plot is not None:
        _plot(plot, expression, whole, answers)


def _epsilon(whole: Composition, text: str) -> Answer:
    exact = read_number(text, "delta")
    lower, upper = whole.epsilon_interval(exact)
    told = rules.epsilon(terms(whole.parts), _fraction(exact, "delta")).rule
    return Answer("epsilon", text, exact, lower, upper, told)


def _delta(whole: Composition, text: str) -> Answer:
    exact = read_number(text, "epsilon")
    lower, upper = whole.delta_interval(exact)
    told = rules.delta(terms(whole.parts), _fraction(exact, "epsilon")).rule
    return Answer("delta", text, exact, lower, upper, told)


def _fraction(exact: Number, name: str) -> Fraction:
    return rational(exact, name, maximum=1 if name == "delta" else None)


def _show(
    whole: Composition,
    answers: Sequence[Answer],
    rows: Sequence[tuple[Answer, list[Row]]],
    console: Console,
) -> None:
    first = answers[0]
    alone = f"{first.of} alone at {first.given} {first.at}"
    parts = _table("count", "guarantee", escape(alone), title="Parts")
    for part, count in whole.parts[:_SHOWN]:
        single = Composition(((part, count),), whole.relation)
        value = single.epsilon(first.exact) if first.of == "epsilon" else single.delta(first.exact)
        parts.add_row(f"{count:,}", escape(str(part)), repr(value))
    if len(whole.parts) > _SHOWN:
        parts.add_row("", f"and {len(whole.parts) - _SHOWN:,} more kinds", "")
    title = f"Together: {_number(whole):,} mechanisms"
    found = _table(first.given, first.of, "the least possible lies in", title=title)
    for answer in answers:
        interval = f"\\[{answer.lower!r}, {answer.upper!r}]"
        found.add_row(escape(answer.at), repr(answer.upper), interval)
    console.print(parts, found)
    for answer in answers:
        line = f"{answer.of} at {answer.given} {answer.at}: {answer.rule}"
        console.print(line, markup=False, highlight=False)
    for answer, compared_rows in rows:
        _show_rows(answer, compared_rows, console)


def _show_rows(answer: Answer, rows: list[Row], console: Console) -> None:
    console.print()
    table = _table("rule", "epsilon", title=f"At delta {escape(answer.at)}")
    for row in rows:
        table.add_row(row.rule, "does not cover it" if row.epsilon is None else repr(row.epsilon))
    console.print(table)


def _table(*columns: str, title: str) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _number(whole: Composition) -> int:
    from interlace.core.composition import Batch

    return sum(n * (len(g.epsilons) if isinstance(g, Batch) else 1) for g, n in whole.parts)


def _json(
    whole: Composition, answers: Sequence[Answer], rows: Sequence[tuple[Answer, list[Row]]]
) -> dict[str, object]:
    """Numbers that JSON has no word for are text: "inf"."""
    by_answer = dict(rows)
    listed = []
    for answer in answers:
        told: dict[str, object] = {
            answer.given: answer.at,
            answer.of: _finite(answer.upper),
            "interval": [_finite(answer.lower), _finite(answer.upper)],
            "rule": answer.rule,
        }
        if answer in by_answer:
            told["compared"] = {
                row.rule: None if row.epsilon is None else _finite(row.epsilon)
                for row in by_answer[answer]
            }
        listed.append(told)
    parts = [{"guarantee": repr(part), "count": count} for part, count in whole.parts]
    return {"parts": parts, "relation": whole.relation.value, "answers": listed}


def _finite(value: float) -> float | str:
    return value if value < float("inf") else "inf"


def _plot(file: Path, title: str, whole: Composition, answers: Sequence[Answer]) -> None:
    from interlace.cli.profiles import draw

    depth = [float(a.exact) if a.of == "epsilon" else a.upper for a in answers]
    reach = [a.upper if a.of == "epsilon" else float(a.exact) for a in answers]
    try:
        file.write_text(draw(whole, title, min(depth), max(reach)), encoding="utf-8")
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror}") from None
