"""``interlace demo``: the main job on real data, as its analysts and its custodian see it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from fractions import Fraction
from itertools import count
from pathlib import Path
from textwrap import indent
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table

import interlace as il
from interlace.centre import Account, Answer, Centre, Session
from interlace.cli import analysts, nafld
from interlace.cli.analysts import Ask, Script
from interlace.cli.progress import shown_progress
from interlace.core.errors import BudgetExceeded, InterlaceError, QueryRefused
from interlace.core.mechanisms.codec import Served
from interlace.query.columns import Column

DELTA = "1e-6"


class Stage:
    """Prints every step in the order in which it happened, from whichever thread."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._names: dict[str, str] = {}

    def act(self, title: str, text: str) -> None:
        self.console.print()
        self.console.rule(f"[bold]{title}")
        self.console.print(text, style="dim")
        self.console.print()

    def open(
        self, account: Account, name: str, mechanism: Served, delta: str | None = None
    ) -> Session:
        """Open a session and show what it was charged."""
        point = None if delta is None else Fraction(delta)
        session = account.open(mechanism, "nafld", delta=point)
        self._names[session.id] = name
        self.console.print(
            f"[cyan]{account.name}[/] opens [bold]{name}[/]: charged {session.charge}, "
            f"remaining {account.remaining}",
            highlight=False,
        )
        return session

    def ask(self, ask: Ask) -> Answer:
        """Put a question and show it with its answer, interval and cost."""
        answer = ask.put()
        with self._lock:
            number, session = next(self._numbers), ask.session
            label = f"{number:>3} [cyan]{session.account}[/] · {self._names[session.id]}"
            self.console.print(f"{label}: {ask}", highlight=False)
            self.console.print(
                f"      → [bold green]{_shown(answer)}[/]  [dim]cost 0[/]",
                highlight=False,
            )
            if len(answer.rows) > 1:
                self.console.print(indent(str(answer), 8 * " "), style="green", highlight=False)
        return answer

    def play(self, scripts: Iterable[Script]) -> None:
        """Interleave scripts: one question of each in turn."""
        waiting: list[tuple[Script, Answer | None]] = [(script, None) for script in scripts]
        while waiting:
            script, answer = waiting.pop(0)
            ask = _next(script, answer)
            if ask is not None:
                waiting.append((script, self.ask(ask)))

    def play_together(self, scripts: Iterable[Script]) -> None:
        """Play each script in a thread of its own, all at once."""
        with ThreadPoolExecutor() as pool:
            for done in [pool.submit(self.play, [script]) for script in scripts]:
                done.result()


def _next(script: Script, answer: Answer | None) -> Ask | None:
    try:
        return next(script) if answer is None else script.send(answer)
    except StopIteration:
        return None


def _shown(answer: Answer) -> str:
    if isinstance(answer.value, bool):
        return "yes" if answer.value else "no"
    return f"{len(answer.rows)} rows" if len(answer.rows) > 1 else str(answer)


def run(folder: Path | None) -> None:
    """Play the whole demo in ``folder`` (new), or in a temporary one."""
    console = Console(width=None if sys.stdout.isatty() else 110)
    with ExitStack() as stack:
        if folder is None:
            folder = _temporary(stack)
        elif folder.exists() and any(folder.iterdir()):
            raise il.ParameterError("--folder", "must be new or empty")
        centre = stack.enter_context(il.open(folder))
        stage = Stage(console)
        _register(centre, console)
        ada, ben = _accounts(centre, stage)
        _acts(stage, ada, ben)
        _tables(stage, ada)
        _guarantees(centre, stage)
        _second_process(centre, folder, stage)
        _refusals(stage, ada, ben)


def _temporary(stack: ExitStack) -> Path:
    """A new folder, and beside it a state directory for its key, which vanish together."""
    base = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    before = os.environ.copy()
    os.environ["XDG_STATE_HOME"] = str(base / "state")
    stack.callback(os.environ.update, before)
    if "XDG_STATE_HOME" not in before:
        stack.callback(os.environ.pop, "XDG_STATE_HOME")
    return base / "centre"


def _register(centre: Centre, console: Console) -> None:
    console.print(
        Panel(
            "A medical cohort: people, their lab results, their diagnoses. The privacy unit is a "
            "person with all of her rows in all three tables. (The data of this demo is public.)",
            title="[bold]Interlace: two analysts, one guarantee",
        )
    )
    with shown_progress() as progress, nafld.declaration() as path:
        frames = nafld.frames()
        made = centre.register(path, tables=frames, progress=progress)
    shown = Table("table", "rows in the source", "public bounds and domains", "rows per person")
    for table in made.dataset.tables:
        columns = ", ".join(f"{name}: {_domain(kind)}" for name, kind in table.columns)
        rows = f"{len(frames[table.name]):,}"
        shown.add_row(table.name, rows, columns, f"up to {table.rows_per_unit}")
    console.print(shown)
    console.print("What the rules of the declaration did, for the custodian's eyes only:")
    console.print(str(made.report), style="dim", highlight=False, markup=False)


def _domain(kind: Column) -> str:
    if isinstance(kind, il.Category):
        return f"one of {len(kind.values)}"
    return "yes or no" if isinstance(kind, il.Boolean) else f"{kind.lower} to {kind.upper}"


def _accounts(centre: Centre, stage: Stage) -> tuple[Account, Account]:
    stage.act(
        "Two quotas, fixed before any answer",
        "ada's is in zero-concentrated DP, ben's in (epsilon, delta).",
    )
    ada = centre.account("ada", quota=il.ZCDP(0.12))
    ben = centre.account("ben", quota=il.ApproxDP(1, 1e-7))
    for account in (ada, ben):
        stage.console.print(
            f"[cyan]{account.name}[/]: quota {account.quota}, filter {account.rule!r}",
            highlight=False,
        )
    return ada, ben


def _acts(stage: Stage, ada: Account, ben: Account) -> None:
    mechanisms = il.mechanisms
    stage.act(
        "Act 1: three conversations, interleaved",
        "A session is charged once, at opening; asking it costs nothing more. Ada hunts with a sparse vector and estimates "
        "what it finds with Gaussian noise; ben bisects for the median age and checks guesses.",
    )
    sieve = stage.open(
        ada, "sparse vector", mechanisms.SparseVector(epsilon=0.3, cutoff=7, monotone=True)
    )
    gauge = stage.open(ada, "gaussian", mechanisms.Gaussian(rho=0.0025, answers=20))
    counter = stage.open(ben, "laplace", mechanisms.Laplace(epsilon=0.025, answers=9))
    checker = stage.open(
        ben, "guess-and-check", mechanisms.GuessAndCheck(epsilon=0.08, tolerance=500, cutoff=4)
    )
    stage.play(
        [
            analysts.hunt(sieve, gauge, threshold=5000),
            analysts.median_age(counter),
            analysts.age_bands(checker, first_guess=2000),
        ]
    )
    stage.act(
        "Act 2: all at once, from threads",
        "Sessions need no common lock: each of these three runs in a thread of its own.",
    )
    late = stage.open(
        ben, "sparse vector", mechanisms.SparseVector(epsilon=0.2, cutoff=1, monotone=True)
    )
    point = stage.open(ben, "gaussian", mechanisms.Gaussian(rho=0.0002, answers=4), delta="1e-8")
    stage.play_together(
        [
            analysts.deaths(late, threshold=500),
            analysts.mean_weight(point),
            analysts.mean_weight(gauge),
        ]
    )


def _tables(stage: Stage, ada: Account) -> None:
    stage.act(
        "Act 3: whole tables, in one answer",
        "A row for every public group, also where nobody is in it; an average is made of a noisy sum "
        "and a noisy count. What it will cost and how exact it will be is known beforehand.",
    )
    table = stage.open(ada, "tables", il.mechanisms.Gaussian(rho=0.01, answers=2))
    stage.console.print(str(table.explain(analysts.BY_AGE)), style="dim", highlight=False)
    stage.play([analysts.tables(table)])


def _guarantees(centre: Centre, stage: Stage) -> None:
    stage.act(
        "What can they have learned?",
        "The quotas were fixed in advance, so they compose by the concurrent composition theorems, "
        "even if both pool everything. Beside it: what adding up would have charged.",
    )
    delta = Fraction(DELTA)
    table = Table("who", f"epsilon at delta {DELTA}", "adding up", "spent so far (a reading)")
    for coalition in (["ada"], ["ben"], ["ada", "ben"]):
        guarantee = centre.guarantee(coalition)
        spent = "; ".join(map(str, guarantee.spent))
        epsilon, added = guarantee.epsilon(delta), guarantee.added_up(delta)
        table.add_row(" + ".join(coalition), f"{epsilon:.4f}", f"{added:.4f}", spent)
    stage.console.print(table)
    stage.console.print(centre.guarantee().explain(delta), style="dim", highlight=False)
    crowd = il.compose([(il.ApproxDP(0.1, 1e-9), 200)])
    stage.console.print(
        f"The more analysts, the more it matters: 200 with a quota of (0.1, 1e-9) each can learn "
        f"[bold]{crowd.epsilon(delta):.4f}[/] together, by optimal composition, where adding up "
        "says 20."
    )


def _second_process(centre: Centre, folder: Path, stage: Stage) -> None:
    stage.act(
        "The ledger, from disk",
        "The chain of events is recomputed and every answer folded again; then a second process "
        "reads the same budgets.",
    )
    found = centre.audit()
    stage.console.print(
        f"[bold green]holds[/]: {found.head.seq} events, {found.sessions} sessions, "
        f"{found.answers} answers"
    )
    command = [sys.executable, "-m", "interlace.cli", "ledger", "show", str(folder)]
    width = {"COLUMNS": str(stage.console.width)}
    shown = subprocess.run(  # noqa: S603  this very interpreter
        command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | width
    )
    stage.console.print(shown.stdout, highlight=False, markup=False)


def _refusals(stage: Stage, ada: Account, ben: Account) -> None:
    stage.act(
        "Refused, politely",
        "Each refusal is decided from public facts alone and costs nothing.",
    )
    greedy = il.mechanisms.Gaussian(rho=0.01, answers=4)
    what = f"{ada.name} opens Gaussian(rho=0.01, answers=4)"
    _refused(stage, what, BudgetExceeded, lambda: ada.open(greedy, "nafld"))
    laplace = ben.sessions()[0]
    for sql in ("SELECT age FROM people WHERE id = 17", "SELECT COUNT(*) FROM salaries"):
        _refused(stage, f"{ben.name} asks {sql}", QueryRefused, lambda s=sql: laplace.ask(s))


def _refused(stage: Stage, what: str, kind: type[InterlaceError], attempt: Any) -> None:
    try:
        attempt()
    except kind as error:
        stage.console.print(f"{what}\n      → [bold red]refused[/] {error}", highlight=False)
    else:
        raise RuntimeError(f"{what}: this must be refused")
